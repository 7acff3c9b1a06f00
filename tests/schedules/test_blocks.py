"""Blocks of a dimension, and the shapes of process grids."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramontane import _simulator

from .machine import cut

schedule = _simulator.schedule


@given(points=st.integers(0, 300), parts=st.integers(1, 60))
def test_blocks_tile_the_dimension_and_the_first_are_longer(points: int, parts: int) -> None:
    assert [schedule.block(points, parts, part) for part in range(parts)] == cut(points, parts)


@given(points=st.integers(1, 300), parts=st.integers(1, 400))
def test_owner_is_the_block_that_holds_the_index(points: int, parts: int) -> None:
    owners = [schedule.block_owner(points, parts, index) for index in range(points)]
    assert owners == [part for part, (first, last) in enumerate(cut(points, parts)) for _ in range(first, last)]


@given(points=st.integers(1, 2**31 - 1), parts=st.integers(1, 2**31 - 1), data=st.data())
def test_owner_of_large_dimensions(points: int, parts: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, points - 1))
    first, last = schedule.block(points, parts, schedule.block_owner(points, parts, index))
    assert first <= index < last


@given(ranks=st.integers(1, 4000), max_cx=st.integers(1, 4000), max_cy=st.integers(1, 4000))
def test_nearest_square_is_the_best_of_all_pairs(ranks: int, max_cx: int, max_cy: int) -> None:
    pairs = [
        (cx, ranks // cx) for cx in range(1, ranks + 1) if ranks % cx == 0 and cx <= max_cx and ranks // cx <= max_cy
    ]
    # Exact in place of |log(cx / cy)|: with a given product the larger factor grows with it.
    best = min(pairs, key=lambda pair: (max(pair), pair[0] > pair[1]), default=None)
    assert schedule.nearest_square(ranks, max_cx, max_cy) == best
    if best is not None:
        assert all(abs(math.log(best[0] / best[1])) <= abs(math.log(cx / cy)) + 1e-12 for cx, cy in pairs)


PAPER_GRID = (28800, 14400, 256)  # Zheng & Marguinaud 2018, Table 3


def test_paper_grid_admits_ny_times_nz_processes() -> None:
    """Claim Z-T3: z is divided by cx, so at most ny * nz processes, and cy > cx above 65,536."""
    transposition = {"kind": "transposition", "algorithm": "burst", "grid": PAPER_GRID}
    halo = {"kind": "halo", "width": 20, "grid": PAPER_GRID}

    def default(workload: dict[str, Any], ranks: int) -> Any:
        return schedule.Workload(workload, ranks).values["decomposition"]

    assert default(transposition, 14400 * 256) == [256, 14400]
    with pytest.raises(ValueError, match="cx <= nz = 256 and cy <= ny = 14400"):
        default(transposition, 14400 * 257)
    assert default(transposition, 65536) == [256, 256]
    assert default(transposition, 10**6) == [250, 4000]
    assert default(halo, 10**6) == [1000, 1000]


def test_nearest_square_refuses_a_square_that_leaves_no_choice() -> None:
    assert schedule.nearest_square(7, 6, 6) is None
    assert schedule.nearest_square(6, 2, 3) == (2, 3)
    assert schedule.nearest_square(6, 3, 2) == (3, 2)
    assert schedule.nearest_square(6, 6, 6) == (2, 3)  # a tie prefers cx <= cy


def test_helpers_check_their_range() -> None:
    with pytest.raises(IndexError):
        schedule.block(10, 3, 3)
    with pytest.raises(IndexError):
        schedule.block_owner(10, 3, 10)
    with pytest.raises(ValueError, match="parts"):
        schedule.block(10, 0, 0)
    with pytest.raises(ValueError, match="points"):
        schedule.block(2**31, 1, 0)
