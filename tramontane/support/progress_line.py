"""A line on a terminal that says how far something is."""

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, TextIO, TypeVar

from tramontane.support.formatting import about_seconds

if TYPE_CHECKING:
    from rich.progress import Progress, Task

T = TypeVar("T")

SOON = 1.0
"""What is expected to last less than this has no clock [s]."""

EVERY = 0.1
"""Time between two looks at how far it is [s]."""

MOST = 0.99
"""Part that is said to be done of what has not ended, where parts are estimated."""


def can_change(stream: TextIO) -> bool:
    """Return whether a line that is written to a stream can change: not in a log, nor where no cursor moves."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


@contextmanager
def with_progress(things: Collection[T], what: str) -> Iterator[Iterable[T]]:
    """Give `things`, to go through them with a progress line.

    On a terminal, standard error shows how many are done and how long the rest takes; the line goes at the end of the
    context, also by an error, whose own line must not come into it.

    Parameters
    ----------
    things : collection
        What a loop goes through.
    what : str
        What the loop does, as the line says it.
    """
    if not _is_free():
        yield things
        return
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import Progress  # noqa: PLC0415

    line = Progress(console=Console(stderr=True), transient=True, auto_refresh=False)
    task = line.add_task(what, total=len(things))

    def each() -> Iterator[T]:
        for thing in things:
            yield thing
            line.advance(task)

    with _shown(line):
        yield each()


def clock(
    what: str, expected: float | None = None, share: Callable[[], float] | None = None
) -> AbstractContextManager[object]:
    """Return a context in which a line says for how long it has lasted, beside how long it is expected to.

    On a terminal, standard error shows it; the line goes at the end.

    Parameters
    ----------
    what : str
        What is done, as the line says it.
    expected : float, optional
        How long it is expected to last [s], where that is known.
    share : callable, optional
        Says which part of it is done, 0 ... 1, where that can be told, or 0 as long as it can't. Then the line says
        that, and how long the rest takes at the pace so far.
    """
    if (expected is not None and expected < SOON) or not _is_free():
        return nullcontext()
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415 - slow to import

    about = "" if expected is None else f"of about {about_seconds(expected)}"
    pace = Pace()

    class Rest(TextColumn):
        def render(self, task: "Task") -> Text:
            return Text(pace.rest(share() if share else 0.0, task.elapsed or 0.0) or about)

    columns = SpinnerColumn(), what, TimeElapsedColumn(), Rest("")
    line = Progress(*columns, console=Console(stderr=True), transient=True, auto_refresh=False)
    line.add_task(what)
    return _shown(line)


def _is_free() -> bool:
    """Return whether a line may be shown: on a terminal, where no other one is, which stands for standard error."""
    return can_change(sys.stderr) and type(sys.stderr).__name__ != "FileProxy"


@contextmanager
def _shown(line: "Progress") -> Iterator[None]:
    """Show a line in a context, and leave no thread behind: what comes next may fork."""
    ended = threading.Event()

    def refresh() -> None:
        while not ended.wait(EVERY):
            line.refresh()

    thread = threading.Thread(target=refresh, daemon=True)
    with line:
        line.refresh()
        with suppress(RuntimeError):  # where the system grants no thread, the line stands still
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if thread.is_alive():
                thread.join()


class Pace:
    """How fast something gets done, since a part of it was first seen to be: the beginning may take its own time."""

    def __init__(self) -> None:
        self._first: tuple[float, float] | None = None

    def rest(self, share: float, elapsed: float) -> str:
        """Return which part is done, and how long the rest takes, once that can be told; empty before.

        Parameters
        ----------
        share : float
            The part that is done, 0 ... 1; it may be estimated, and become more than all.
        elapsed : float
            Time since the beginning [s].
        """
        if share <= 0:
            return ""
        if self._first is None:
            self._first = share, elapsed
        share = min(share, MOST)
        done, lasted = share - self._first[0], elapsed - self._first[1]
        if done <= 0 or lasted <= 0:
            return ""
        return f"about {100 * share:.0f} %, {about_seconds(lasted / done * (1 - share))} left"
