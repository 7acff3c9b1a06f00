"""Grids on which ranks lie, those along the last dimension one after the other: offsets, places, and communicators.

A line of ranks is a grid of one row.
"""

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Grid = tuple[int, ...]
"""How many ranks there are along each dimension."""
Offset = tuple[int, ...]
"""How far a rank is from another one along each dimension."""
Kinds = frozenset[Offset]
"""Of neighbours."""
Place = tuple[tuple[int, int], ...]
"""How many ranks there are before and after a rank along each dimension, counted as far as messages reach."""
Group = tuple[bool, ...]
"""Of a communicator: along which dimensions its ranks lie, as MPI_Cart_sub is told; empty for none."""
Ranks = npt.NDArray[np.int64]
DIMENSIONS = (2, 3)


def told(grid: Grid) -> str:
    """Return how many ranks there are along each dimension, in words."""
    return " x ".join(map(str, grid))


def grids(ranks: int) -> list[Grid]:
    """Return the grids of so many ranks: first those of two dimensions, and of these the squarest.

    Those of more have two ranks or more along each.
    """
    found = [grid for dims in DIMENSIONS for grid in _grids(ranks, dims) if dims == DIMENSIONS[0] or min(grid) > 1]
    return sorted(found, key=lambda grid: (len(grid), math.log(max(grid) / min(grid)), grid))


def _grids(ranks: int, dims: int) -> list[Grid]:
    if dims == 1:
        return [(ranks,)]
    sides = (side for side in range(1, ranks + 1) if ranks % side == 0)
    return [(side, *others) for side in sides for others in _grids(ranks // side, dims - 1)]


def like(known: Sequence[Grid], ranks: int) -> Grid | None:
    """Return the squarest grid of so many ranks that lies as those that are known; None if there is none.

    Where all of these are as long along a dimension, it is so, too, and where one dimension of all of these is as long
    as another one, or longer.
    """
    same = [(dim, set(sides)) for dim, sides in enumerate(zip(*known, strict=True)) if len(set(sides)) == 1]
    pairs = list(itertools.combinations(range(len(known[0])), 2))
    rises = [pair for pair in pairs if all(grid[pair[0]] <= grid[pair[1]] for grid in known)]
    falls = [pair for pair in pairs if pair not in rises and all(grid[pair[0]] >= grid[pair[1]] for grid in known)]
    for grid in grids(ranks):
        if (
            len(grid) == len(known[0])
            and all(grid[dim] in sides for dim, sides in same)
            and [side == 1 for side in grid] == [side == 1 for side in known[-1]]
            and all(grid[a] <= grid[b] for a, b in rises)
            and all(grid[a] >= grid[b] for a, b in falls)
        ):
            return grid
    return None


def coordinates(grid: Grid, rank: int) -> tuple[int, ...]:
    """Return where a rank lies along each dimension."""
    found: list[int] = []
    for side in reversed(grid):
        rank, at = divmod(rank, side)
        found.append(at)
    return tuple(reversed(found))


def _around(steps: Sequence[int], grid: Grid) -> Offset:
    """Return the ways around the ends where these are shorter; of two ranks there is no such way."""
    return tuple(
        (step + side // 2) % side - side // 2 if side > 2 else step for step, side in zip(steps, grid, strict=True)
    )


def _straight(grid: Grid, sources: Ranks, targets: Ranks) -> tuple[list[Offset], npt.NDArray[np.int64]]:
    """Return the ways of messages if none goes around an end, and by message which of them it goes."""
    sides = np.array(grid)[:, np.newaxis]
    steps = np.stack(np.unravel_index(targets, grid)) - np.stack(np.unravel_index(sources, grid))
    widths = tuple(2 * side - 1 for side in grid)
    numbers, which = np.unique(np.ravel_multi_index(tuple(steps + sides - 1), widths), return_inverse=True)
    return list(map(tuple, (np.stack(np.unravel_index(numbers, widths)) - sides + 1).T.tolist())), which


def kinds(grid: Grid, sources: Ranks, targets: Ranks) -> list[Kinds]:
    """Return which kinds of neighbours messages may go to: along each dimension around its ends, or never so."""
    ways = [(steps, _around(steps, grid)) for steps in _straight(grid, sources, targets)[0]]
    found = (
        frozenset(tuple(way[is_closed] for is_closed, *way in zip(closed, *both, strict=True)) for both in ways)
        for closed in itertools.product((True, False), repeat=len(grid))
    )
    return list(dict.fromkeys(found))


def offsets(grid: Grid, sources: Ranks, targets: Ranks, known: Kinds) -> list[Offset]:
    """Return which of the kinds of neighbours each message goes to, straight on where that is one."""
    ways, which = _straight(grid, sources, targets)
    both = (itertools.product(*zip(steps, _around(steps, grid), strict=True)) for steps in ways)
    told = [next(offset for offset in each if offset in known) for each in both]
    return [told[way] for way in which.tolist()]


def neighbour(grid: Grid, rank: int, away: Offset) -> int:
    """Return the rank at an offset, around the ends of the grid."""
    found = 0
    for at, step, side in zip(coordinates(grid, rank), away, grid, strict=True):
        found = found * side + (at + step) % side
    return found


def reach(known: Kinds, dims: int) -> tuple[int, ...]:
    """Return how far messages go along each dimension: ranks at its ends, so far, may do something else than others."""
    return tuple(max([1, *(abs(away[dim]) for away in known)]) for dim in range(dims))


def place(grid: Grid, rank: int, far: Sequence[int]) -> Place:
    """Return at which ends of the grid a rank is; see :func:`reach`."""
    return tuple(
        (min(at, most), min(side - 1 - at, most))
        for at, side, most in zip(coordinates(grid, rank), grid, far, strict=True)
    )


def told_place(at: Place, far: Sequence[int]) -> str:
    """Return in words at which ends of a grid a rank is."""
    return "place (" + ", ".join(_told(*ends, most) for ends, most in zip(at, far, strict=True)) + ")"


def _told(before: int, after: int, most: int) -> str:
    if before == after == 0:
        return "only"
    if before == 0 or after == 0:
        return "first" if before == 0 else "last"
    if before < most:
        return f"number {before + 1}"
    return f"last but {after}" if after < most else "inner"


def groups(dims: int) -> list[Group]:
    """Return the kinds of communicators that every grid has: all ranks first, and lines last."""
    every = itertools.product((False, True), repeat=dims)
    return sorted((group for group in every if any(group)), key=sum, reverse=True)


def told_group(group: Group) -> str:
    """Return in words whose a communicator is."""
    if all(group):
        return "of all ranks"
    along = [str(dim + 1) for dim, is_along in enumerate(group) if is_along]
    return f"along dimension{'s' * (len(along) > 1)} {' and '.join(along)}"


def members(grid: Grid, group: Group, rank: int) -> Sequence[int]:
    """Return the ranks of the communicator of a kind that a rank is in."""
    here = coordinates(grid, rank)
    strides = [math.prod(grid[dim + 1 :]) for dim in range(len(grid))]
    along = [dim for dim, is_along in enumerate(group) if is_along]
    first = rank - sum(here[dim] * strides[dim] for dim in along)
    if along[-1] - along[0] == len(along) - 1:  # each rank asks for these, and a list of all ranks may be long
        stride = strides[along[-1]]
        return range(first, first + math.prod(grid[dim] for dim in along) * stride, stride)
    ways = (range(0, grid[dim] * strides[dim], strides[dim]) for dim in along)
    return tuple(first + sum(steps) for steps in itertools.product(*ways))


def group_of(grid: Grid, ranks: Sequence[int]) -> Group | None:
    """Return which kind of communicator has these ranks, in this order; None if it is another one."""
    for group in groups(len(grid)):
        found = members(grid, group, ranks[0])
        if len(found) == len(ranks) and all(a == b for a, b in zip(found, ranks, strict=True)):
            return group
    return None


@functools.lru_cache(maxsize=1024)
def may_be_of_a_grid(ranks: tuple[int, ...], number: int) -> bool:
    """Return whether some grid of so many ranks has these along some of its dimensions."""
    return any(group_of(grid, ranks) is not None for grid in grids(number))
