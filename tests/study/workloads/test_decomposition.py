"""The default decomposition against a search through all pairs, and the paper's counts."""

from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from tramontane.study.workloads.workloads import Halo, Transposition

PAPER = (28800, 14400, 256)
extents = st.integers(1, 60)


def workload(kind: str, grid: tuple[int, int, int]) -> Transposition | Halo:
    data = {"kind": kind, "grid": grid}
    if kind == "halo":
        return Halo.model_validate(data | {"width": 1})
    return Transposition.model_validate(data | {"algorithm": "burst"})


def decomposition(ranks: int, kind: str = "transposition", grid: tuple[int, int, int] = PAPER) -> object:
    try:
        return workload(kind, grid).for_ranks(ranks).decomposition
    except PydanticCustomError:
        return None


@given(st.integers(1, 400), st.tuples(extents, extents, extents), st.sampled_from(["transposition", "halo"]))
def test_nearest_square_is_the_best_pair_of_all(ranks: int, grid: tuple[int, int, int], kind: str) -> None:
    nx, ny, nz = grid
    pairs = [(cx, ranks // cx) for cx in range(1, ranks + 1) if ranks % cx == 0]
    if kind == "transposition":
        fitting = [(cx, cy) for cx, cy in pairs if cx <= min(nx, ny, nz) and cy <= min(nx, ny)]
    else:
        fitting = [(cx, cy) for cx, cy in pairs if cx <= nx and cy <= ny]
    best = min(fitting, key=lambda pair: (round(abs(log(pair[0] / pair[1])), 12), pair[0] > pair[1]), default=None)
    assert decomposition(ranks, kind, grid) == best


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
    assert decomposition(ranks) == expected


def test_every_count_of_the_paper_can_be_cut() -> None:
    counts = [step * 10**power for power in range(2, 7) for step in range(1, 10)]
    assert all(decomposition(count) for count in counts if count <= 3_686_400)


def test_the_largest_count_of_table_3() -> None:
    """Table 3: at most 3,686,400 processes, that is ny * nz."""
    largest = workload("transposition", PAPER)
    assert largest.limits == (256, 14_400)
    for cx, cy, said in ((257, 14_400, "cx = 257 > nz = 256"), (256, 14_401, "cy = 14401 > ny = 14400")):
        with pytest.raises(PydanticCustomError, match=said):
            largest.changed(decomposition=(cx, cy)).for_ranks(cx * cy)


@pytest.mark.parametrize(
    ("kind", "cx", "cy", "expected"),
    [
        # Largest over mean, of the layouts that divide (x, y), (z, y), (z, x) and (y, x) by (cx, cy).
        ("transposition", 3, 4, max(4 * 3 * 12 / (10 * 12), 3 * 3 * 12 / (7 * 12), 3 * 3 * 12 / 70, 4 * 3 * 12 / 120)),
        ("halo", 3, 5, 4 * 3 * 15 / (10 * 12)),
    ],
)
def test_imbalance_is_that_of_the_worst_layout(kind: str, cx: int, cy: int, expected: float) -> None:
    halo = workload(kind, (10, 12, 7)).changed(decomposition=(cx, cy))
    assert halo.imbalance(cx * cy) == pytest.approx(expected, rel=1e-12)
