"""How far two sets of times are apart, and whether they rank the same things alike."""

import itertools
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

#: A ratio this close to 1 is near; the target is 95 % of the rows.
NEAR = 0.05
#: Reference times that differ by less say nothing about an order.
MARGIN = 0.05
#: What two rows of an ordering may differ in.
AXES = ("algorithm", "topology", "routing")


@dataclass(frozen=True)
class Summary:
    """Ratios of ours to theirs in few numbers; None where there is no row.

    Attributes
    ----------
    n : int
        Number of rows.
    median_ratio : float
        Median of ours/theirs.
    p90_deviation, p95_deviation, worst_deviation : float
        Percentiles (linear interpolation) and maximum of ``|ours/theirs - 1|``.
    near : float
        Share of the rows with ``|ours/theirs - 1| <= NEAR``.
    """

    n: int
    median_ratio: float | None = None
    p90_deviation: float | None = None
    p95_deviation: float | None = None
    worst_deviation: float | None = None
    near: float | None = None


def summarise(ratios: Sequence[float]) -> Summary:
    """Return the summary of some ratios of ours to theirs."""
    if not ratios:
        return Summary(0)
    values = np.asarray(ratios, dtype=np.float64)
    deviations = np.abs(values - 1)
    ninety, ninety_five = np.percentile(deviations, [90, 95])
    near = float(np.mean(deviations <= NEAR))
    return Summary(
        len(ratios), float(np.median(values)), float(ninety), float(ninety_five), float(deviations.max()), near
    )


@dataclass(frozen=True)
class Entry:
    """A row as orderings see it.

    Parameters
    ----------
    algorithm, topology, routing : str
        What it may differ in from another row; the algorithm with its radix.
    setting : hashable
        Everything else that two rows must have in common.
    crossbars : tuple
        Bandwidth of a switch, and the same per port and link bandwidth. Networks have switches of different size, so
        between two topologies either may agree; else both do.
    ours, theirs : float
        Times [s].
    """

    algorithm: str
    topology: str
    routing: str
    setting: Hashable
    crossbars: tuple[Hashable, Hashable]
    ours: float
    theirs: float

    @property
    def place(self) -> tuple[str, str, str]:
        """Where it stands along the axes."""
        return self.algorithm, self.topology, self.routing


@dataclass(frozen=True)
class Ordering:
    """Two rows that differ in one axis and clearly in their reference times.

    Attributes
    ----------
    axis : str
        What they differ in, one of `AXES`.
    first, second : int
        Positions of the rows.
    agrees : bool
        Whether ours puts the same one first.
    """

    axis: str
    first: int
    second: int
    agrees: bool


def orderings(entries: Sequence[Entry], margin: float = MARGIN) -> list[Ordering]:
    """Return all pairs that differ in exactly one axis and by more than `margin` in their reference times.

    The difference is relative to the shorter of the two times. Two of our times that are equal agree with no order.
    """
    alike: dict[Hashable, list[int]] = {}
    for position, entry in enumerate(entries):
        alike.setdefault(entry.setting, []).append(position)
    pairs = itertools.chain.from_iterable(itertools.combinations(group, 2) for group in alike.values())
    found = []
    for first, second in pairs:
        a, b = entries[first], entries[second]
        axis = _axis(a, b)
        if axis and max(a.theirs, b.theirs) > (1 + margin) * min(a.theirs, b.theirs):
            alike_ordered = a.ours != b.ours and (a.ours < b.ours) == (a.theirs < b.theirs)
            found.append(Ordering(axis, first, second, alike_ordered))
    return found


def agreement(pairs: Iterable[Ordering]) -> float | None:
    """Return the share of orderings that agree, or None if there are none."""
    verdicts = [pair.agrees for pair in pairs]
    return sum(verdicts) / len(verdicts) if verdicts else None


def _axis(a: Entry, b: Entry) -> str | None:
    """Return the one axis in which two rows of the same setting differ, if it is one."""
    different = [axis for axis, x, y in zip(AXES, a.place, b.place, strict=True) if x != y]
    if len(different) != 1:
        return None
    same = [x == y for x, y in zip(a.crossbars, b.crossbars, strict=True)]
    return different[0] if all(same) or (different[0] == "topology" and any(same)) else None
