"""How far a check is from its turn: the number that its verdict is the sign of.

A check computes a margin and nothing else: whether it holds is read from the margin alone, so the two agree.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tramontane.support.formatting import count

LOG_RATIO = "log ratio"
SLOPE = "slope"
SHARE = "share"
RADIX = "radix"


@dataclass(frozen=True)
class Margin:
    """A distance from the turn of a check.

    Attributes
    ----------
    value : float
        Positive where the check holds, negative where it does not, zero at the turn. Infinite where no data could
        turn it.
    unit : str
        `LOG_RATIO` (natural logarithm), `SLOPE` (power of the process count), `SHARE` or `RADIX`.
    ranks : tuple of float
        First and last process count that it was taken at.
    inclusive : bool
        Whether the turn itself holds.
    """

    value: float
    unit: str
    ranks: tuple[float, float]
    inclusive: bool = False

    @property
    def holds(self) -> bool:
        """Whether the check holds."""
        return self.value > 0 or (self.inclusive and self.value == 0)

    @property
    def finite(self) -> bool:
        """Whether it says how far the turn is."""
        return math.isfinite(self.value)

    def __str__(self) -> str:
        """Return value, unit and process counts, in words."""
        first, last = self.ranks
        places = count(first) if first == last else f"{count(first)} to {count(last)}"
        return f"{self.value:+.3g} {self.unit} at {places} processes"


def least(margins: Iterable[Margin]) -> Margin:
    """Return the margin of what holds if all hold: the smallest; of equal ones that whose turn does not hold."""
    return min(margins, key=lambda own: (own.value, own.inclusive))


def log_ratio(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """Return ln(first / second) of numbers from 0 on, whose sign is exactly that of first - second.

    A quotient of two neighbouring numbers may round to 1 only where it is above 1, so the smaller is divided.
    """
    one, other = (np.asarray(values, dtype=np.float64) for values in (first, second))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        small = np.log(np.where(one < other, one / other, other / one))
    return np.asarray(np.where(one == other, 0.0, np.where(one < other, small, -small)))


def within(value: float, bounds: tuple[float | None, float | None], *, logarithmic: bool) -> float:
    """Return how far inside a range a number is; negative outside, infinite if the range has no ends."""
    first, last = bounds
    sides = [] if first is None else [(value, first)]
    sides += [] if last is None else [(last, value)]
    if logarithmic:
        return min((float(log_ratio(*side)) for side in sides), default=math.inf)
    return min((high - low for high, low in sides), default=math.inf)


def at_most_places(margins: NDArray[np.float64], most: float) -> float:
    """Return the margin of what holds where it does at a share `most` of the places: that of the last one needed."""
    needed = next((number for number in range(margins.size) if number / margins.size >= most), margins.size)
    return float(np.sort(margins)[margins.size - needed]) if needed else math.inf
