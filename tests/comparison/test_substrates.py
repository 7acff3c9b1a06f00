"""Substrates beside each other: ratios, orderings, speed and memory of the same points."""

import numpy as np
import pytest
import xarray as xr

from tramontane.comparison.substrates import compare

NOTHING = np.nan


def dataset(**times: list[list[float]]) -> xr.Dataset:
    """Return times [s] of substrates over two machines and two numbers of ranks; each costs ten times the last."""
    dims = ("substrate", "machine", "ranks")
    time = xr.DataArray(
        list(times.values()),
        dims=dims,
        coords={"substrate": list(times), "machine": ["torus", "dragonfly"], "ranks": [4, 16]},
    )
    cost = xr.DataArray([10.0**place for place in range(len(times))], dims="substrate").broadcast_like(time)
    cost = cost.where(time.notnull())
    return xr.Dataset({"time_s": time, "wall_s": cost, "peak_rss_bytes": 1e6 * cost})


def test_ratios_orderings_and_costs_are_those_of_common_points() -> None:
    found = compare(
        dataset(
            simulator=[[1.0, 2.0], [1.02, 4.0]],
            # Slower on the torus with 16 ranks than on the dragonfly: one of the orderings is lost.
            sstmacro=[[1.1, 4.0], [1.02, 3.0]],
            simgrid=[[0.5, NOTHING], [NOTHING, NOTHING]],
        )
    )
    simulator, sstmacro, simgrid = found
    assert [each.substrate for each in found] == ["simulator", "sstmacro", "simgrid"]
    assert (simulator.median_ratio, simulator.wall_ratio) == (1, 1)
    assert (sstmacro.own, sstmacro.common) == (4, 4)
    assert (sstmacro.least_ratio, sstmacro.largest_ratio) == (0.75, 2)
    assert sstmacro.median_ratio == pytest.approx((1.0 + 1.1) / 2)
    # Of four pairs one differs by 2 % on the simulator, and says nothing.
    assert (sstmacro.orderings, sstmacro.agreeing) == (3, 2)
    assert (sstmacro.wall_ratio, sstmacro.memory_bytes) == (10, 1e7)
    assert (simgrid.own, simgrid.common, simgrid.median_ratio, simgrid.orderings) == (1, 1, 0.5, 0)


def test_points_cost_their_median_time_and_the_most_memory() -> None:
    data = dataset(simulator=[[1.0] * 2] * 2, sstmacro=[[1.0] * 2] * 2)
    for name, unit in (("wall_s", 1), ("peak_rss_bytes", 10**6)):
        data[name].loc[{"substrate": "sstmacro"}] = np.array([[1, 2], [3, 10]]) * unit
    found = compare(data)[1]
    assert (found.wall_s, found.wall_ratio, found.memory_bytes, found.memory_ratio) == (2.5, 2.5, 10**7, 2.5)


def test_what_was_measured_elsewhere_is_compared_with_nothing() -> None:
    found = compare(dataset(simulator=[[1.0, 2.0], [NOTHING] * 2], mpi=[[NOTHING] * 2, [1.0, 2.0]]))
    assert (found[1].own, found[1].common, found[1].median_ratio) == (2, 0, None)
    assert found[1].wall_ratio is None
    assert found[1].wall_s == 10


def test_substrates_without_results_are_left_out_and_none_is_needed() -> None:
    assert [each.substrate for each in compare(dataset(simulator=[[1.0] * 2] * 2, simgrid=[[NOTHING] * 2] * 2))] == [
        "simulator"
    ]
    alone = compare(dataset(simgrid=[[1.0] * 2] * 2))
    assert (alone[0].own, alone[0].common) == (4, 0)


def test_members_count_by_their_median() -> None:
    members = [dataset(simulator=[[1.0] * 2] * 2, sstmacro=[[ratio] * 2] * 2) for ratio in (1.0, 1.2, 9.0)]
    _, sstmacro = compare(xr.concat(members, "member"))
    assert (sstmacro.common, sstmacro.largest_ratio) == (4, 1.2)
