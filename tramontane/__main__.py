"""The command ``tramontane``, and ``python -m tramontane``."""

import os
import signal
import sys
from types import FrameType

_INTERRUPTED = 130
"""Exit status of a command that SIGINT has ended."""

_MISTAKE = 2


def main() -> None:
    """Run the command line and exit; SIGINT ends it in one line from here on, while it is being loaded, too."""
    _stand_in_for_closed_streams()
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else whoever started this wants none
        signal.signal(signal.SIGINT, _interrupt)
    try:
        from tramontane.cli import main as run_command  # noqa: PLC0415 (takes a tenth of a second)

        run_command()
    except KeyboardInterrupt:
        _stop()


def _stand_in_for_closed_streams() -> None:
    """Keep what is said on a closed stream out of the next one, and the stream's number from files and children.

    Where no answer can be given, none is worth working for.
    """
    for number, name, mode in ((0, "stdin", "r"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            os.set_inheritable(number, True)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    if sys.stdout is None:
        print("standard output: closed; allowed: a file, a pipe, or /dev/null", file=sys.stderr)
        sys.exit(_MISTAKE)


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
