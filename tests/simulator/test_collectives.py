"""The catalogue of collectives on the simulator: all of it runs, what is sent is what the schedule says, and times."""

from __future__ import annotations

from typing import Any

import pytest

from tests.schedules.test_collectives import any_workloads, shown
from tramontane import _simulator
from tramontane.study import Point, estimate

from .points import copy_ns, machine, point

LINK = 300
"""Latency between nodes of neighbouring switches [ns]: injection, link, ejection."""


def small(n: int) -> float:
    """Time of an eager message of n bytes between neighbours, with its copies [ns]."""
    return copy_ns(n) + LINK + n / 10 + copy_ns(n)


def ring(ranks: int) -> dict[str, Any]:
    """As many switches in a ring, with a node each: the next rank is one link away."""
    return machine(geometry=(ranks, 1, 1))


def seconds(ranks: int, workload: dict[str, Any], net: dict[str, Any] | None = None) -> float:
    return float(_simulator.simulate(point(ranks, {"kind": "collective", **workload}, net or ring(ranks)))["time_s"])


@pytest.mark.parametrize("ranks", [1, 16, 21])
def test_all_of_the_catalogue_runs(ranks: int) -> None:
    for workload in any_workloads(ranks, ranks // 2):
        net = machine("dragonfly", (2, 3, 2), 2)
        result = _simulator.simulate(point(ranks, workload, net))
        totals = _simulator.schedule.Schedule(workload, ranks).totals()
        assert list(result["phases"]) == list(totals), shown(workload)
        assert result["messages"] == sum(messages for messages, _ in totals.values()), shown(workload)
        assert result["bytes"] == sum(length for _, length in totals.values()), shown(workload)


def test_planning_counts_what_is_sent() -> None:
    for workload in any_workloads(24, 5):
        torus = {"topology": "torus", "geometry": [3, 2, 2], "nodes_per_switch": 2}
        made = Point.model_validate({"ranks": 24, "workload": workload, "machine": torus})
        cost, counted = estimate(made), _simulator.simulate(made.canonical())
        for name in ("messages", "bytes"):
            assert getattr(cost, name) == counted[name], shown(workload)


@pytest.mark.parametrize("ranks", [2, 3, 4, 7, 16])
@pytest.mark.parametrize("count", [1, 8, 50])
def test_a_ring_allgather_takes_p_minus_1_messages(ranks: int, count: int) -> None:
    """Every link has one message at a time, so each stage takes as long as one."""
    took = seconds(ranks, {"operation": "allgather", "algorithm": "ring", "count": count})
    assert took * 1e9 == pytest.approx((ranks - 1) * small(8 * count), abs=0.1 * ranks)


@pytest.mark.parametrize("ranks", [3, 4, 7])
@pytest.mark.parametrize("segments", [1, 2, 5])
def test_a_chain_takes_a_message_for_each_segment_and_each_rank_beyond_two(ranks: int, segments: int) -> None:
    chain = {"operation": "broadcast", "algorithm": "chain", "count": 5 * 10, "segments": segments}
    took = seconds(ranks, chain)
    n = 8 * 50 // segments
    last = (ranks - 1) * small(n)
    assert last - 0.1 <= took * 1e9 <= last + (segments - 1) * small(n) + 0.1
    if segments == 1:
        assert took * 1e9 == pytest.approx(last, abs=0.1 * ranks)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_a_barrier_takes_its_latencies(levels: int) -> None:
    """An empty message is negligible: it takes the latency of leaving and entering nodes, and no hop on one switch."""
    net = machine(geometry=(1, 1, 1), nodes_per_switch=16)
    for algorithm, stages in (("dissemination", levels), ("tree", 2 * levels)):
        took = seconds(2**levels, {"operation": "barrier", "algorithm": algorithm}, net)
        assert took * 1e9 == pytest.approx(100 * stages, abs=0.1 * stages)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_a_binomial_tree_takes_its_levels(operation: str, levels: int) -> None:
    net = machine(geometry=(1, 1, 1), nodes_per_switch=16)
    took = seconds(2**levels, {"operation": operation, "algorithm": "binomial", "count": 10, "root": 1}, net)
    assert took * 1e9 == pytest.approx(levels * (small(80) - 100), abs=0.1 * levels)
