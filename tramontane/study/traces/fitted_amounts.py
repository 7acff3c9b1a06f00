"""Amounts on grids of several numbers of ranks, and what they are on another one.

An amount is constant, or a share of something: it is divided among the ranks along some dimensions. Sizes may be
sums of these, as those of halos with corners are. Blocks of collectives may also be divided twice, as in
transpositions, or grow with the ranks, as tables with an entry for each do.
"""

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tramontane.study.traces.rank_grids import Grid

Shares = Callable[[Grid], tuple[float, ...]]
Amounts = npt.NDArray[np.float64]
_EXACT = 1e-9
"""Of sizes, relative."""
_TIE = 1e-12
"""Of what work is off by, relative."""


def of_messages(grid: Grid) -> tuple[float, ...]:
    """Return by what a message, or work, may be divided: nothing, or the ranks along some dimensions."""
    some = (sides for number in range(len(grid) + 1) for sides in itertools.combinations(grid, number))
    return tuple(float(math.prod(sides)) for sides in some)


def of_collectives(grid: Grid) -> tuple[float, ...]:
    """Return by what a block may be divided: as messages, by all ranks too, or it is multiplied by these."""
    once = of_messages(grid)
    return *once, *(once[-1] * some for some in once[1:]), *(1 / some for some in once[1:])


def work(grids: Sequence[Grid], times: Amounts, wanted: Grid) -> tuple[float, Amounts]:
    """Return work on another grid, and that which is known as it is fitted.

    Where several dimensions fit alike, as on squares, all divide it by the same factor.

    Parameters
    ----------
    grids : sequence of Grid
        Those that are known.
    times : array, shape (grids,)
        On each of them.
    wanted : Grid
        The other one.
    """
    found: list[float] = []
    best, least = times, math.inf
    for divisors, divisor in _divisors(grids, wanted, of_messages):
        mean = float((times * divisors).mean())
        worst = float(np.abs(times * divisors - mean).max()) / mean if mean else 0.0
        if worst < least - _TIE:
            best, least, found = mean / divisors, worst, []
        if worst < least + _TIE:
            found.append(mean / divisor)
    return math.prod(found) ** (1 / len(found)), best


def sizes(grids: Sequence[Grid], known: Amounts, wanted: Grid, shares: Shares) -> list[float]:
    """Return which sizes [B] it may be on another grid: none if nothing fits, several if these fit alike.

    Parameters
    ----------
    grids : sequence of Grid
        Those that are known.
    known : array, shape (grids,)
        On each of them [B].
    wanted : Grid
        The other one.
    shares : function
        By what sizes may be divided; they may be sums of such shares.
    """
    whole = [
        mean / divisor
        for divisors, divisor in _divisors(grids, wanted, shares)
        for mean in [float((known * divisors).mean())]
        if _agree(mean / divisors, known)
    ]
    if whole:
        return _distinct(whole)
    terms = 1 / np.array([shares(grid) for grid in grids])
    there = 1 / np.array(shares(wanted))
    for sums in _sums(len(wanted), len(there)):
        fits = [
            fit for each in sums if (fit := _summed(terms[:, each], known, there[each])) is not None and not fit < 0
        ]
        if fits:
            return _distinct(fits)
    return []


def _sums(dims: int, shares: int) -> list[list[list[int]]]:
    """Return of which shares a size may be a sum, the likely ones first.

    That is what is divided along some dimensions, with what is divided along one more; then a part that is the same
    everywhere with any share, and what is divided along two dimensions with a rim on all sides.
    """
    along = [set(some) for number in range(dims + 1) for some in itertools.combinations(range(dims), number)]
    within = [[a for a, some in enumerate(along) if some <= more] for more in along]
    one_more = [[a, b] for b, more in enumerate(along) for a in within[b] if len(more) == len(along[a]) + 1]
    others = [[0, share] for share in range(1, shares)] + [each for each in within if len(each) == 4]
    return [one_more, [each for each in others if each not in one_more]]


def _summed(terms: Amounts, known: Amounts, there: Amounts) -> float | None:
    """Return the sum of shares on another grid if it fits those that are known: NaN if these do not tell it, or None.

    Parts fit anything if there are not more grids that differ in their shares.
    """
    parts, _, rank, _ = np.linalg.lstsq(terms, known)
    if rank >= len(np.unique(terms, axis=0)) or not _agree(terms @ parts, known):
        return None
    return float(parts @ there) if np.linalg.matrix_rank(np.vstack([terms, there])) == rank else math.nan


def _divisors(grids: Sequence[Grid], wanted: Grid, shares: Shares) -> list[tuple[Amounts, float]]:
    """Return by what amounts may be divided, each on the grids that are known and on the other one."""
    return list(zip(np.array([shares(grid) for grid in grids]).T, shares(wanted), strict=True))


def _agree(told: Amounts, known: Amounts) -> bool:
    return bool(np.abs(told - known).max() <= _EXACT * known.max())


def _distinct(found: Sequence[float]) -> list[float]:
    """Return those that differ by half a byte or more; what is not told differs from all."""
    distinct: list[float] = []
    for size in found:
        if all(not abs(size - other) < 0.5 for other in distinct):
            distinct.append(size)
    return distinct


def rounding(size: float) -> float:
    """Return by how much a size differs from whole bytes, relative to it; 0 where that is no more than arithmetic."""
    off = abs(size - round(size)) / size if size else 0.0
    return off if off > _EXACT else 0.0


def root(lengths: Sequence[int], roots: Sequence[int], wanted: int) -> int | None:
    """Return the place of a root in a communicator of another length; None if nothing fits.

    Parameters
    ----------
    lengths, roots : sequence of int
        Of communicators, and places in them.
    wanted : int
        The other length.
    """
    if len(set(roots)) == 1 and roots[0] < wanted:
        return roots[0]
    from_last = {length - place for length, place in zip(lengths, roots, strict=True)}
    return wanted - min(from_last) if len(from_last) == 1 and min(from_last) <= wanted else None
