"""Job allocation: which nodes ranks get, seen in how far their packets travel."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .points import allreduce, machine, point

TORUS = machine("torus", (4, 4, 4), 2)


def hops(ranks: int, allocation: object, net: dict[str, Any] = TORUS, seed: int = 1) -> int:
    """Switch visits of an allreduce by all ranks at once, each rank's message to each other."""
    p = point(ranks, allreduce(ranks), net, seed) | {"allocation": allocation}
    return int(_simulator.simulate(p)["hops"])


def visits(nodes: list[int], net: dict[str, Any]) -> int:
    return sum(len(_simulator.minimal_route(net, a, b)) for a in nodes for b in nodes if a != b)


def test_first_available_is_the_default() -> None:
    ordinary = point(8, allreduce(8), TORUS)
    unsaid = {key: value for key, value in ordinary.items() if key != "allocation"}
    given_nodes = ordinary | {"allocation": {"nodes": list(range(8))}}
    times = {_simulator.simulate(p)["time_s"] for p in (ordinary, unsaid, given_nodes)}
    assert len(times) == 1
    assert hops(8, "first-available") == visits(list(range(8)), TORUS)


@given(nodes=st.lists(st.integers(0, 127), min_size=2, max_size=9, unique=True))
@settings(max_examples=40, deadline=None)
def test_ranks_are_where_they_are_put(nodes: list[int]) -> None:
    assert hops(len(nodes), {"nodes": nodes}) == visits(nodes, TORUS)


@pytest.mark.parametrize(
    ("net", "groups", "size"),
    [
        (TORUS, 4, 32),
        (machine("fattree", (3, 4)), 4, 16),
        (machine("fattree", (3, 2, 5)), 5, 6),
        (machine("dragonfly", (3, 2, 4), 2), 4, 12),
        (machine("dragonfly1d", (4, 9), 2, global_links=2), 9, 8),
    ],
    ids=lambda value: value["topology"] if isinstance(value, dict) else str(value),
)
def test_round_robin_goes_over_the_groups(net: dict[str, Any], groups: int, size: int) -> None:
    nodes = [rank % groups * size + rank // groups for rank in range(11)]
    by_rule, listed = (
        _simulator.simulate(point(11, allreduce(3), net) | {"allocation": allocation})
        for allocation in ("round-robin-groups", {"nodes": nodes})
    )
    assert (by_rule["time_s"], by_rule["hops"]) == (listed["time_s"], listed["hops"])


def test_a_single_switch_is_one_group_however_many_interfaces_its_nodes_have() -> None:
    """Groups of less than a node would put all ranks on the first one."""
    net = machine("fattree", (1, 4)) | {"node": {"nics": 2, "memory_bandwidth": 10**12}}
    times = {
        _simulator.simulate(point(2, allreduce(2, 10_000), net) | {"allocation": allocation})["time_s"]
        for allocation in ("first-available", "round-robin-groups", {"nodes": [0, 1]})
    }
    assert len(times) == 1


def test_a_single_switch_became_one_group_in_revision_7() -> None:
    two = point(2, allreduce(2), machine("fattree", (1, 4)) | {"node": {"nics": 2, "memory_bandwidth": 10**12}})
    one = point(2, allreduce(2), machine("fattree", (1, 4)))
    of_jobs = {"jobs": [{"nodes": 2, "allocation": "round-robin-groups"}]}
    assert _simulator.model_revision(two | {"allocation": "round-robin-groups"}) == 7
    assert _simulator.model_revision(two | {"allocation": of_jobs}) == 7
    assert _simulator.model_revision(two) == 2
    assert _simulator.model_revision(one | {"allocation": "round-robin-groups"}) == 2


def test_random_is_drawn_from_the_seed() -> None:
    found = [hops(8, "random", seed=seed) for seed in range(8)]
    assert found == [hops(8, "random", seed=seed) for seed in range(8)]
    assert len(set(found)) > 4
    # Far apart on average: 4 switches a pair instead of the first nodes' 2.
    assert min(found) > hops(8, "first-available")
    # All nodes, in any order: every pair communicates once, whoever is who.
    assert hops(128, "random") == visits(list(range(128)), TORUS)


def test_any_node_may_be_the_first_of_a_random_order() -> None:
    nodes, seeds = 5, 1000
    first = Counter(int(_simulator.random_order(nodes, seed)[0]) for seed in range(seeds))
    assert first.keys() == set(range(nodes))
    assert all(abs(count - seeds / nodes) < 4 * (seeds * 0.2 * 0.8) ** 0.5 for count in first.values())


@pytest.mark.parametrize(
    ("allocation", "message"),
    [
        ("best", "allocation: 'best' is unknown"),
        ({"nodes": [1, 2, 3]}, "allocation.nodes: 3 nodes for a job of 2"),
        ({"nodes": [5, 5]}, "allocation.nodes: node 5 twice"),
        ({"nodes": [5, 128]}, "allocation.nodes: no node 128"),
    ],
)
def test_an_impossible_allocation_is_refused(allocation: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        hops(2, allocation)
