"""What a single check finds, and how numbers are written in its evidence."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class Outcome:
    """What a check finds.

    Attributes
    ----------
    holds : bool or None
        None where points lack.
    evidence : str
        The numbers that say so, or what lacks.
    fragile, compared : int
        At how many of the compared places the bands overlap, so that one run of each could have come out either way.
    curves, span : tuple of str, Span, optional
        What lacks: curves, and process counts.
    """

    holds: bool | None
    evidence: str
    fragile: int = 0
    compared: int = 0
    curves: tuple[str, ...] = ()
    span: "Span | None" = None


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
            return f"{text}, over a decade" if self.decades == 1 else f"{text}, over {number(self.decades)} decades"
        return f"{text}, {self.least} counts" if self.least > 1 else text


def count(number: float) -> str:
    """Return a process count as text, e.g. "20,000"."""
    return f"{number:,.0f}"


def time(seconds: float) -> str:
    """Return a time with three digits and a fitting unit, e.g. "1.23 ms"."""
    factor, unit = next(((factor, unit) for factor, unit in _UNITS if seconds >= factor), _UNITS[-1])
    return f"{number(seconds / factor)} {unit}"


def number(value: float) -> str:
    """Return a number with three digits, e.g. "0.0123", "12.3", "1,230"."""
    return f"{float(f'{value:.3g}'):,.10g}"


def listed(names: Iterable[str]) -> str:
    """Return names as one text, e.g. "a, b and c"; each once."""
    *others, last = dict.fromkeys(names)
    return f"{', '.join(others)} and {last}" if others else last


def percent(share: float) -> str:
    """Return a share as text, e.g. "21 %"."""
    return f"{number(100 * share)} %"
