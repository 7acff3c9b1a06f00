"""A line on a terminal that says how far something is."""

import sys
from collections.abc import Collection, Iterable
from typing import TypeVar

T = TypeVar("T")


def told(things: Collection[T], what: str) -> Iterable[T]:
    """Return `things`, one after another.

    On a terminal a line on standard error says meanwhile `what` is done, with how many of them, and how long the rest
    will take; it goes when the last one is done.

    Parameters
    ----------
    things : collection
        What is done something with.
    what : str
        What that is.
    """
    if not sys.stderr.isatty():
        return things
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.progress import track  # noqa: PLC0415

    return track(things, what, console=Console(stderr=True), transient=True)
