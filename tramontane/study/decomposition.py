"""How ranks share a grid: blocks, bounds and the default decomposition.

A decomposition `[cx, cy]` places rank r at column ``r % cx`` and row ``r // cx``. For the transposition the bounds
follow from the four layouts of the paper's Fig. 3 (Zheng & Marguinaud 2018, section 3.1): x is divided by cx, then z
by cx, then x by cy, then y by cx; so cx may exceed none of nx, nz, ny and cy neither ny nor nx.

A halo exchange may also be decomposed by recursive bisection (Berger & Bokhari 1987; `skeleton-src/bisection.hpp`).
"""

from collections.abc import Iterator
from functools import lru_cache
from math import isqrt
from typing import NamedTuple

Grid = tuple[int, int, int]
Bound = tuple[str, str, int]
"""The side it limits ("cx" or "cy"), the grid extent that limits it ("nz") and its value."""


def bounds(kind: str, grid: Grid) -> list[Bound]:
    """Return what limits cx and cy for a workload of `kind` on `grid`."""
    nx, ny, nz = grid
    if kind == "transposition":
        return [("cx", "nx", nx), ("cx", "nz", nz), ("cx", "ny", ny), ("cy", "ny", ny), ("cy", "nx", nx)]
    return [("cx", "nx", nx), ("cy", "ny", ny)]


def violated(decomposition: tuple[int, int], limits: list[Bound]) -> Bound | None:
    """Return the first bound that `decomposition` violates, or None."""
    sides = {"cx": decomposition[0], "cy": decomposition[1]}
    return next((bound for bound in limits if sides[bound[0]] > bound[2]), None)


def divisor_pairs(ranks: int) -> Iterator[tuple[int, int]]:
    """Yield all (cx, cy) with cx * cy = ranks, the nearest to square first, cx <= cy before its mirror image."""
    for small in range(isqrt(ranks), 0, -1):
        large, remainder = divmod(ranks, small)
        if remainder == 0:
            yield small, large
            if small != large:
                yield large, small


def nearest_square(ranks: int, limits: list[Bound]) -> tuple[int, int] | None:
    """Return the default decomposition: the pair of divisors nearest to a square that respects all `limits`.

    Every rank gets a block, whatever the count: for counts with few divisors the pair is elongated (a prime P is cut
    into 1 x P), and None is returned where even that is impossible. With the paper's grid cx <= nz = 256 binds above
    65,536 ranks: 9e5 becomes 250 x 3600, 1e6 becomes 250 x 4000.
    """
    return next((pair for pair in divisor_pairs(ranks) if violated(pair, limits) is None), None)


def block(extent: int, parts: int, index: int) -> int:
    """Return the size of part `index` when `extent` points are divided: the first ``extent % parts`` get one more."""
    return extent // parts + (index < extent % parts)


BISECTION = "bisection"


class Largest(NamedTuple):
    """Largest extents and area [points] among the tiles of a bisection, not all of the same tile."""

    x: int
    y: int
    area: int


@lru_cache(maxsize=4096)
def bisected(x: int, y: int, ranks: int) -> Largest | None:
    """Return how large tiles get when `x` times `y` points are bisected for `ranks`; None where that is impossible."""
    if ranks == 1:
        return Largest(x, y, x * y)
    below, above = ranks // 2, ranks - ranks // 2
    for along_x in (x >= y, x < y):
        side, across = (x, y) if along_x else (y, x)
        least, most = -(-below // across), side - -(-above // across)
        if least > most:
            continue
        cut = min(max((2 * side * below + ranks) // (2 * ranks), least), most)
        parts = [
            bisected(*((length, across) if along_x else (across, length)), count)
            for length, count in ((cut, below), (side - cut, above))
        ]
        found = [part for part in parts if part is not None]
        return Largest(*map(max, zip(*found, strict=True))) if len(found) == len(parts) else None
    return None
