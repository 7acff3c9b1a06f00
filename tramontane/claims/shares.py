"""Over which share of the machines a statement holds, and which parameter decides: statistics of margins."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tramontane.claims.boxes import Box, find_box
from tramontane.claims.draws import Tried
from tramontane.claims.matching import from_base, taken
from tramontane.study.sampling.sampling import Parameter

Floats = NDArray[np.float64]
Wholes = NDArray[np.int_]

LEVEL = 0.95
PAWN = "PAWN index"
"""What figures call the index."""
RESAMPLES = 40
"""Bootstrap samples of an index of sensitivity."""
ORDERS = 100
"""Random orders of the margins that tell what chance gives."""
_FEWEST = 20
"""Machines from which on an index says anything."""
_FEW = 8
"""Values of a parameter that are held one by one; the range of more is cut in slices."""


@dataclass(frozen=True)
class Influence:
    """How much a parameter decides.

    PAWN's median distance of the margins' distributions (Pianosi and Wagener 2015), or a mean effect (screening.py).

    Attributes
    ----------
    parameter : str
        Name.
    index, low, high : float
        The index, and a bootstrap interval of 95 %.
    """

    parameter: str
    index: float
    low: float
    high: float


@dataclass(frozen=True)
class Share:
    """What the machines say of a statement.

    Attributes
    ----------
    tried : Tried
        Its margins.
    holds, of : int
        On how many machines it holds, of how many that can decide it.
    interval, together : tuple of float
        Wilson's interval of the share at 95 %, and the wider one that holds for all statements together (Bonferroni).
    influences : tuple of Influence
        All parameters, the one that decides most first; empty where too few machines decided.
    chance : float
        What the largest index of parameters that do nothing stays below in 95 % of cases: what is below may be chance.
    box : Box, optional
        Where it holds at 95 %.
    turn : int, optional
        The draw nearest to our own machine on which the verdict is the other one.
    """

    tried: Tried
    holds: int
    of: int
    interval: tuple[float, float]
    together: tuple[float, float]
    influences: tuple[Influence, ...]
    chance: float
    box: Box | None
    turn: int | None

    @property
    def decides(self) -> Influence | None:
        """The parameter that decides most, if that is more than chance."""
        first = self.influences[0] if self.influences else None
        return first if first is not None and first.index > self.chance else None


Index = Callable[[Floats, Floats, Mapping[str, Parameter]], tuple[tuple[Influence, ...], float]]
"""From places, margins and parameters to how much each parameter decides, and what chance gives."""


def shares(
    found: Sequence[Tried], places: Floats, parameters: Mapping[str, Parameter], index: Index | None = None
) -> list[Share]:
    """Return what the machines say of each statement.

    Parameters
    ----------
    found : sequence of Tried
        Statements with their margins.
    places : array
        Where the machines lie, of shape (machines, parameters), between 0 and 1.
    parameters : mapping
        The parameters by name, with what the project's own machine has (`base`).
    index : callable, optional
        How much each parameter decides; by default `influence`.
    """
    columns = [taken(each, column) for each, column in zip(parameters.values(), places.T, strict=True)]
    values = np.column_stack(columns)  # so that no side of a box lies between places that have the same whole number
    return [_share(own, places, values, parameters, len(found), index or influence) for own in found]


def wilson(holds: int, of: int, level: float = LEVEL) -> tuple[float, float]:
    """Return Wilson's interval of a share (Wilson 1927)."""
    from scipy.stats import binomtest  # noqa: PLC0415 - slow to import

    if of == 0:
        return 0.0, 1.0
    interval = binomtest(holds, of).proportion_ci(level, "wilson")
    return float(interval.low), float(interval.high)


def _share(
    own: Tried, places: Floats, values: Floats, parameters: Mapping[str, Parameter], together: int, index: Index
) -> Share:
    there = own.there
    margins, at = own.margins[there], places[there]
    holds = own.holds[there]
    influences, chance = index(at, margins, parameters)
    steps = {number: len(each.choice) for number, each in enumerate(parameters.values()) if each.choice}
    return Share(
        own,
        int(holds.sum()),
        int(there.sum()),
        wilson(int(holds.sum()), int(there.sum())),
        wilson(int(holds.sum()), int(there.sum()), 1 - (1 - LEVEL) / together),
        influences,
        chance,
        find_box(values[there], holds, steps) if holds.any() and not holds.all() else None,
        nearest_turn(own, places, parameters),
    )


def influence(
    places: Floats, margins: Floats, parameters: Mapping[str, Parameter]
) -> tuple[tuple[Influence, ...], float]:
    """Return how much each parameter decides, the most first, and what chance alone may give the largest of them."""
    if margins.size < _FEWEST or margins.min() == margins.max():
        return (), math.inf
    rng = np.random.default_rng(1)
    values = _values(places, parameters)
    index = _pawn(places, values, margins)
    samples = rng.integers(0, margins.size, (RESAMPLES, margins.size))
    again = [_pawn(places[rows], values[rows], margins[rows]) for rows in samples]
    low, high = np.nanpercentile(np.array(again), [2.5, 97.5], axis=0)
    found = [Influence(name, *map(float, row)) for name, row in zip(parameters, np.c_[index, low, high], strict=True)]
    chance = _chance(places.tobytes(), values.tobytes(), places.shape)
    return tuple(sorted(found, key=lambda each: -each.index)), chance


def _values(places: Floats, parameters: Mapping[str, Parameter]) -> Wholes:
    """Return which of its values each parameter has on each machine, by number; -1 for all of one that has many."""
    numbers = np.full(places.shape, -1)
    for column, each in enumerate(parameters.values()):
        own = [str(each.value(at)) for at in places[:, column].tolist()]
        known = sorted(set(own))
        if each.choice is not None or len(known) <= _FEW:
            numbers[:, column] = [known.index(value) for value in own]
    return numbers


@cache
def _chance(places: bytes, values: bytes, shape: tuple[int, int]) -> float:
    """Return what the largest index stays below in 95 % of random orders of the machines' margins.

    The index knows the margins by their order alone, so that this is the same for all statements.
    """
    at, numbers = np.frombuffer(places).reshape(shape), np.frombuffer(values, dtype=int).reshape(shape)
    rng = np.random.default_rng(2)
    largest = [np.nanmax(_pawn(at, numbers, rng.permutation(shape[0]).astype(float))) for _ in range(ORDERS)]
    return float(np.quantile(largest, LEVEL))


def _pawn(places: Floats, values: Wholes, margins: Floats) -> Floats:
    """Return PAWN's index of each column: held at each of its few values, or in slices of its range.

    Slices of equal size would mix neighbouring choices, and tell of a choice among three less than there is.
    """
    from SALib.analyze import pawn  # noqa: PLC0415 - slow to import
    from scipy.stats import ks_2samp  # noqa: PLC0415

    index = np.empty(places.shape[1])
    ranges = np.flatnonzero(values[0] < 0)
    if ranges.size:
        problem: dict[str, Any] = {
            "num_vars": ranges.size,
            "names": list(map(str, ranges)),
            "bounds": [[0.0, 1.0]] * ranges.size,
        }
        with np.errstate(all="ignore"):
            found = pawn.analyze(problem, places[:, ranges], margins, S=4 if margins.size < 100 else 8)
        index[ranges] = found["median"]
    for column in np.flatnonzero(values[0] >= 0):
        own = values[:, column]
        apart = [ks_2samp(margins[own == value], margins, method="asymp").statistic for value in np.unique(own)]
        index[column] = np.median(apart)
    return index


def nearest_turn(own: Tried, places: Floats, parameters: Mapping[str, Parameter]) -> int | None:
    """Return the draw nearest to our own machine whose verdict is the other one; a distance of 1 is a whole range."""
    if math.isnan(own.base):
        return None
    other = own.there & (own.holds != own.base_holds)
    if not other.any():
        return None
    return int(np.where(other, from_base(places, parameters), np.inf).argmin())
