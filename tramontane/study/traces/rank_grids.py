"""Grids of two dimensions on which ranks lie, row after row: neighbours, places, and communicators of rows and columns.

A line of ranks is a grid of one row.
"""

import math
from collections.abc import Sequence

Grid = tuple[int, int]
"""Rows and columns."""
Place = tuple[bool, bool, bool, bool]
"""Whether a rank is in the first and last row, and in the first and last column."""
EVERYBODY, ROW, COLUMN = "all ranks", "a row", "a column"
"""Communicators that every number of ranks has."""


def grids(ranks: int) -> list[Grid]:
    """Return the grids of so many ranks, the squarest first."""
    found = [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]
    return sorted(found, key=lambda grid: (abs(math.log(grid[0] / grid[1])), grid[0]))


def is_line(grid: Grid) -> tuple[bool, bool]:
    """Return whether there is one row, and whether there is one column."""
    return grid[0] == 1, grid[1] == 1


def like(known: Sequence[Grid], ranks: int) -> Grid | None:
    """Return the squarest grid of so many ranks that lies as those that are known; None if there is none.

    Where all of these are as wide as they are high, or wider, it is so, too; and the same with high ones.
    """
    wide = all(rows <= columns for rows, columns in known)
    high = all(rows >= columns for rows, columns in known) and not wide
    for grid in grids(ranks):
        if (
            is_line(grid) == is_line(known[-1])
            and not (high and grid[0] < grid[1])
            and not (wide and grid[0] > grid[1])
        ):
            return grid
    return None


def _step(difference: int, size: int) -> int:
    """Return the way to a neighbour, around the end where that is shorter; of two there is no such way."""
    return (difference + size // 2) % size - size // 2 if size > 2 else difference


def offset(grid: Grid, source: int, target: int) -> tuple[int, int]:
    """Return how many rows and columns away a rank is from another one."""
    rows, columns = grid
    return (
        _step(target // columns - source // columns, rows),
        _step(target % columns - source % columns, columns),
    )


def neighbour(grid: Grid, rank: int, away: tuple[int, int]) -> int:
    """Return the rank that is so many rows and columns away, around the ends of the grid."""
    row, column = divmod(rank, grid[1])
    return (row + away[0]) % grid[0] * grid[1] + (column + away[1]) % grid[1]


def place(grid: Grid, rank: int) -> Place:
    """Return at which ends of the grid a rank is."""
    row, column = divmod(rank, grid[1])
    return row == 0, row == grid[0] - 1, column == 0, column == grid[1] - 1


def told(at: Place) -> str:
    """Return in words at which ends of a grid a rank is."""
    row, column = (("an inner", "the last", "the first", "the only")[2 * at[i] + at[i + 1]] for i in (0, 2))
    return f"in {row} row and {column} column"


def members(grid: Grid, group: str, rank: int) -> range:
    """Return the ranks of the communicator of a kind that a rank is in."""
    rows, columns = grid
    row, column = divmod(rank, columns)
    if group == EVERYBODY:
        return range(rows * columns)
    return range(row * columns, (row + 1) * columns) if group == ROW else range(column, rows * columns, columns)


def group_of(grid: Grid, ranks: Sequence[int]) -> str | None:
    """Return which kind of communicator has these ranks, in this order; None if it is another one."""
    for group in (EVERYBODY, ROW, COLUMN):
        if list(members(grid, group, ranks[0])) == list(ranks):
            return group
    return None


def may_be_of_a_grid(ranks: Sequence[int], number: int) -> bool:
    """Return whether some grid of so many ranks has these as a row, as a column, or all together."""
    length = len(ranks)
    found = ((number // length, length), (length, number // length)) if number % length == 0 else ()
    return any(group_of(grid, ranks) is not None for grid in found)
