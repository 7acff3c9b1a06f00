"""The command ``tramontane``, and ``python -m tramontane``."""

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130
"""Exit status of a command that SIGINT has ended."""


def main() -> None:
    """Run the command line and exit; SIGINT ends it in one line from here on, while it is being loaded, too."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started this wants none
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from tramontane.cli import main as run_command  # noqa: PLC0415 (takes a tenth of a second)

        run_command()
    except KeyboardInterrupt:
        _stop()


def _interrupt(number: int, frame: FrameType | None) -> None:
    """End as Python does, or at once where modules are imported.

    Compiled ones swallow what is raised there (pandas), or turn it into another error (pydantic).
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _stop()
        frame = frame.f_back
    signal.default_int_handler(number, frame)


def _stop() -> None:
    print("stopped", file=sys.stderr, flush=True)
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
