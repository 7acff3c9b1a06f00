"""A line on a terminal that says how far something is."""

import os
import sys
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import TextIO, TypeVar

from tramontane.support.formatting import about_seconds

T = TypeVar("T")

SOON = 1.0
"""What is expected to last less than this has no clock [s]."""


def can_change(stream: TextIO) -> bool:
    """Return whether a line that is written to a stream can change: not in a log, nor where no cursor moves."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def with_progress(things: Collection[T], what: str) -> Iterable[T]:
    """Return `things`, to go through them with a progress line.

    On a terminal, standard error shows how many are done and how long the rest takes; the line goes at the end.

    Parameters
    ----------
    things : collection
        What a loop goes through.
    what : str
        What the loop does, as the line says it.
    """
    if not can_change(sys.stderr):
        return things
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import track  # noqa: PLC0415

    return track(things, what, console=Console(stderr=True), transient=True)


def clock(what: str, expected: float | None = None) -> AbstractContextManager[object]:
    """Return a context in which a line says for how long it has lasted, beside how long it is expected to.

    It is for what can't tell how much of it is done. On a terminal, standard error shows it; the line goes at the end.

    Parameters
    ----------
    what : str
        What is done, as the line says it.
    expected : float, optional
        How long it is expected to last [s], where that is known.
    """
    if (expected is not None and expected < SOON) or not can_change(sys.stderr):
        return nullcontext()
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn  # noqa: PLC0415

    about = "" if expected is None else f"of about {about_seconds(expected)}"
    line = Progress(SpinnerColumn(), what, TimeElapsedColumn(), about, console=Console(stderr=True), transient=True)
    line.add_task(what)
    return line
