"""The default decomposition against a search through all pairs, and the paper's counts."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramontane.study.decomposition import block, bounds, nearest_square, violated

PAPER = (28800, 14400, 256)
extents = st.integers(1, 60)


@given(st.integers(1, 400), st.tuples(extents, extents, extents), st.sampled_from(["transposition", "halo"]))
def test_nearest_square_is_the_best_pair_of_all(ranks: int, grid: tuple[int, int, int], kind: str) -> None:
    nx, ny, nz = grid
    pairs = [(cx, ranks // cx) for cx in range(1, ranks + 1) if ranks % cx == 0]
    if kind == "transposition":
        fitting = [(cx, cy) for cx, cy in pairs if cx <= min(nx, ny, nz) and cy <= min(nx, ny)]
    else:
        fitting = [(cx, cy) for cx, cy in pairs if cx <= nx and cy <= ny]
    best = min(fitting, key=lambda pair: (round(abs(log(pair[0] / pair[1])), 12), pair[0] > pair[1]), default=None)
    assert nearest_square(ranks, bounds(kind, grid)) == best


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        (100, (10, 10)),
        (200, (10, 20)),
        (10_000, (100, 100)),
        (65_536, (256, 256)),
        (90_000, (250, 360)),
        (200_000, (250, 800)),
        (900_000, (250, 3600)),
        (1_000_000, (250, 4000)),
        (9_973, (1, 9973)),
        (3_686_400, (256, 14_400)),
    ],
)
def test_counts_of_the_paper(ranks: int, expected: tuple[int, int]) -> None:
    assert nearest_square(ranks, bounds("transposition", PAPER)) == expected


def test_every_count_of_the_paper_can_be_cut() -> None:
    counts = [step * 10**power for power in range(2, 7) for step in range(1, 10)]
    assert all(nearest_square(count, bounds("transposition", PAPER)) for count in counts if count <= 3_686_400)


def test_the_largest_count_of_table_3() -> None:
    """Table 3: at most 3,686,400 processes, that is ny * nz."""
    limits = bounds("transposition", PAPER)
    assert violated((256, 14_400), limits) is None
    assert violated((257, 14_400), limits) == ("cx", "nz", 256)
    assert violated((256, 14_401), limits) == ("cy", "ny", 14_400)


@given(st.integers(1, 200), st.integers(1, 200))
def test_blocks_cover_the_grid(extent: int, parts: int) -> None:
    sizes = [block(extent, parts, index) for index in range(parts)]
    assert sum(sizes) == extent
    assert sorted(sizes, reverse=True) == sizes
    assert sizes[0] - sizes[-1] <= 1
