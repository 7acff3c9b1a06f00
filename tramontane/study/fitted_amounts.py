"""Amounts on grids of several numbers of ranks, and what they are on another one.

An amount is constant, or a share of something: it is divided among the rows, the columns, or all ranks. Sizes may have
a part of both kinds, as those of halos with corners have. Blocks of collectives may also be divided twice, as in
transpositions, or grow with the ranks, as tables with an entry for each do.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from tramontane.study.rank_grids import Grid

Shares = Callable[[Grid], tuple[float, ...]]
Amounts = npt.NDArray[np.float64]
_EXACT = 1e-9
"""Of sizes, relative."""


def of_messages(grid: Grid) -> tuple[float, ...]:
    """Return by what a message, or work, may be divided: nothing, the rows, the columns, all ranks."""
    rows, columns = grid
    return 1.0, float(rows), float(columns), float(rows * columns)


def of_collectives(grid: Grid) -> tuple[float, ...]:
    """Return by what a block may be divided: as messages, by two of these, or it is multiplied by one of them."""
    rows, columns = grid
    ranks = float(rows * columns)
    return *of_messages(grid), ranks * rows, ranks * columns, ranks * ranks, 1 / rows, 1 / columns, 1 / ranks


def fitted(
    grids: Sequence[Grid], amounts: Amounts, wanted: Grid, shares: Shares = of_messages
) -> tuple[float, Amounts]:
    """Return an amount on another grid, and those known as they are fitted.

    Parameters
    ----------
    grids : sequence of Grid
        Those that are known.
    amounts : array, shape (grids,)
        On each of them, in bytes or time.
    wanted : Grid
        The other one.
    shares : function
        By what amounts may be divided.
    """
    best, least = (0.0, amounts), math.inf
    for which in range(len(shares(wanted))):
        divisors = np.array([shares(grid)[which] for grid in grids])
        mean = float((amounts * divisors).mean())
        worst = float(np.abs(amounts * divisors - mean).max()) / mean if mean else 0.0
        if worst < least - 1e-12:
            best, least = (mean / shares(wanted)[which], mean / divisors), worst
    return best


def size(grids: Sequence[Grid], sizes: Amounts, wanted: Grid, shares: Shares = of_messages) -> float | None:
    """Return a size [B] on another grid, which may have a part that is the same everywhere; None if nothing fits.

    Parameters
    ----------
    grids, sizes, wanted, shares
        As in :func:`fitted`.
    """
    found, told = fitted(grids, sizes, wanted, shares)
    if _agree(told, sizes):
        return found
    for which in range(1, len(shares(wanted))):
        whole = shares(grids[0])[which]
        known = np.array([[1.0, whole / shares(grid)[which]] for grid in grids])
        parts, *_ = np.linalg.lstsq(known, sizes)
        found = float(parts @ (1.0, whole / shares(wanted)[which]))
        if found >= 0 and _agree(known @ parts, sizes):
            return found
    return None


def _agree(told: Amounts, sizes: Amounts) -> bool:
    return bool(np.abs(told - sizes).max() <= _EXACT * sizes.max())


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
