"""A line on a terminal that says how far something is."""

import os
import sys
from collections.abc import Collection, Iterable
from typing import TextIO, TypeVar

T = TypeVar("T")


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
