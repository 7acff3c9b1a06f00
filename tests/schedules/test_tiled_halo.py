"""Halo exchange of an irregular decomposition, by recursive bisection."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tramontane import _simulator

from .machine import Workload, matched, slices

Schedule = _simulator.schedule.Schedule


def compiled(nx: int, ny: int, ranks: int, width: int = 1) -> Any:
    workload = {"kind": "halo", "width": width, "grid": [nx, ny, 2], "decomposition": "bisection"}
    return _simulator.schedule.Workload(workload, ranks)


def widest(nx: int, ny: int, ranks: int) -> int:
    """Return the widest halo without a process's own points; 0 if there is no bisection."""
    with pytest.raises(ValueError, match=r"at most|too many to bisect") as error:
        compiled(nx, ny, ranks, nx + ny)
    found = re.search(r"at most (\d+)", str(error.value))
    return int(found[1]) if found else 0


@st.composite
def workloads(draw: st.DrawFn) -> tuple[Workload, int]:
    """Halos narrower than a tile and wider than several, on grids of any shape."""
    nx, ny = draw(st.integers(2, 24)), draw(st.integers(2, 24))
    ranks = draw(st.integers(2, 40))
    most = widest(nx, ny, ranks)
    assume(most >= 1)
    width = draw(st.integers(1, most))
    return {"kind": "halo", "width": width, "grid": [nx, ny, 2], "decomposition": "bisection"}, ranks


@given(workloads())
def test_tiles_are_the_grid_and_as_large_as_said(given_: tuple[Workload, int]) -> None:
    workload, ranks = given_
    nx, ny, _ = workload["grid"]
    schedule = Schedule(workload, ranks)
    held = np.zeros((nx, ny), dtype=int)
    tiles = [schedule.held(rank, 0) for rank in range(ranks)]
    for x, y, _ in tiles:
        held[slice(*x), slice(*y)] += 1
    assert (held == 1).all()
    sides = [(x[1] - x[0], y[1] - y[0]) for x, y, _ in tiles]
    assert widest(nx, ny, ranks) == min(nx - max(x for x, _ in sides), ny - max(y for _, y in sides))
    assert compiled(nx, ny, ranks).imbalance == max(x * y for x, y in sides) * ranks / (nx * ny)


@given(workloads())
def test_every_point_of_a_halo_arrives_once_with_the_right_value(given_: tuple[Workload, int]) -> None:
    workload, ranks = given_
    width, (nx, ny, nz) = workload["width"], workload["grid"]
    schedule = Schedule(workload, ranks)
    field = np.arange(nx * ny * nz, dtype=float).reshape(nx, ny, nz)
    full = [schedule.held(rank, 1) for rank in range(ranks)]
    own = [schedule.held(rank, 0) for rank in range(ranks)]
    values = [np.full([b - a for a, b in box], np.nan) for box in full]
    filled = [np.zeros(each.shape, dtype=int) for each in values]
    for rank in range(ranks):
        assert full[rank] == (*((a - width, b + width) for a, b in own[rank][:2]), own[rank][2])
        values[rank][slices(own[rank], full[rank])] = field[slices(own[rank])]
        filled[rank][slices(own[rank], full[rank])] += 1
    for message in matched(schedule, 0):
        (sent,), (received,) = message.sent, message.received
        source, target = message.source, message.destination
        assert all(a >= c and b <= d for (a, b), (c, d) in zip(sent.box, own[source], strict=True))
        values[target][slices(received.box, full[target])] = field[slices(sent.box)]
        filled[target][slices(received.box, full[target])] += 1
    for rank in range(ranks):
        assert (filled[rank] == 1).all()
        (x, y, _) = full[rank]
        assert (values[rank] == field[np.ix_(np.arange(*x) % nx, np.arange(*y) % ny, np.arange(nz))]).all()


def test_tiles_are_alike_for_any_number_of_processes() -> None:
    for ranks in (97, 100, 1000, 9973):  # primes among them, which leave others 1 x P
        assert compiled(1440, 720, ranks).imbalance < 1.15


@pytest.mark.parametrize(
    ("grid", "ranks", "width", "line"),
    [
        ([2, 2, 1], 5, 1, "ranks: found 5, too many to bisect"),
        ([8, 8, 1], 4, 5, "workload.width: found 5, allowed: at most 4"),
        ([8, 8, 1], 1, 1, "workload.width: found 1, allowed: at most 0"),
    ],
)
def test_what_cannot_be_is_refused(grid: list[int], ranks: int, width: int, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Schedule({"kind": "halo", "width": width, "grid": grid, "decomposition": "bisection"}, ranks)


def test_only_a_bisection_has_something_to_share() -> None:
    halo = {"kind": "halo", "width": 1, "grid": [8, 8, 1]}
    assert _simulator.schedule.Workload(halo | {"decomposition": [2, 2]}, 4).setup() == b""
    assert len(_simulator.schedule.Workload(halo | {"decomposition": "bisection"}, 4).setup()) > 0
