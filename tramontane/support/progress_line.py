"""A line on a terminal that says how far something is."""

import sys
from collections.abc import Collection, Iterable
from typing import TypeVar

T = TypeVar("T")


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
    if not sys.stderr.isatty():
        return things
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import track  # noqa: PLC0415

    return track(things, what, console=Console(stderr=True), transient=True)
