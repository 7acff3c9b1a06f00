"""What a single check finds, or lacks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tramontane.claims.margins import Margin
from tramontane.support.formatting import count, rounded


@dataclass(frozen=True)
class Outcome:
    """What a check finds.

    Attributes
    ----------
    decided : Margin, bool or None
        What decides it: a margin, true or false of exact arithmetic, None where points lack.
    evidence : str
        The numbers that say so, or what lacks.
    fragile, compared : int
        At how many of the compared places the bands overlap, so that one run of each could have come out either way.
    curves, span : tuple of str, Span, optional
        What lacks: curves, and process counts.
    """

    decided: Margin | bool | None
    evidence: str
    fragile: int = 0
    compared: int = 0
    curves: tuple[str, ...] = ()
    span: "Span | None" = None

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None where points lack."""
        return self.decided.holds if isinstance(self.decided, Margin) else self.decided

    @property
    def margin(self) -> Margin | None:
        """How far it is from its turn; None where nothing is measured."""
        return self.decided if isinstance(self.decided, Margin) else None


class Lacking(Exception):
    """Points that a check needs are not there.

    Parameters
    ----------
    message : str
        What lacks.
    curves : tuple of str, optional
        Curves in which it lacks.
    span : Span, optional
        Process counts that would do.
    """

    def __init__(self, message: str, curves: tuple[str, ...] = (), span: "Span | None" = None) -> None:
        super().__init__(message)
        self.curves, self.span = curves, span


class Span(NamedTuple):
    """Process counts that a check is about.

    Attributes
    ----------
    first, last : float
        Both included; infinite where open.
    least : int
        How many of them are needed.
    decades : float
        How many decades of them are needed.
    """

    first: float
    last: float
    least: int = 1
    decades: float = 0

    def holds(self, counts: Iterable[float]) -> list[float]:
        """Return those of some process counts that lie inside."""
        return [count for count in counts if self.first <= count <= self.last]

    def suffices(self, counts: Iterable[float]) -> bool:
        """Return whether some process counts are enough."""
        inside = self.holds(counts)
        return len(inside) >= self.least and max(inside, default=1) >= 10**self.decades * min(inside, default=1)

    def __str__(self) -> str:
        """Return what is needed, in words."""
        if self.last == math.inf:
            text = f"at {count(self.first)} processes or more"
        elif self.first <= 1:
            text = f"at {count(self.last)} processes or fewer"
        else:
            text = f"at {count(self.first)} to {count(self.last)} processes"
        if self.decades:
            return f"{text}, over a decade" if self.decades == 1 else f"{text}, over {rounded(self.decades)} decades"
        return f"{text}, {self.least} counts" if self.least > 1 else text
