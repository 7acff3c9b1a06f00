"""The lower bound without contention: no simulation is faster, and one without contention is as fast."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study import Point
from tramontane.substrates.search import lower_bound
from tramontane.substrates.simulator import earliest_ends

from .points import NS, allreduce, copy_ns, machine, point, without_costs
from .test_invariants import machines, workloads

RANKS = 24


def tree_of_three_levels() -> dict[str, Any]:
    tree = machine("fattree", routing="round-robin")
    sizes = {"nodes_per_leaf": 4, "leaves_per_subtree": 3, "subtrees": 3}
    return {key: value for key, value in tree.items() if key != "nodes_per_switch"} | {"geometry": sizes}


def circulant(routing: str) -> dict[str, Any]:
    return machine("dragonfly1d", (4, 5), 2, routing) | {"global_links": 2, "arrangement": "circulant"}


@settings(max_examples=80, deadline=None)
@given(machines(), workloads(RANKS), st.integers(1, 100), st.sampled_from([0, 1, 1000]), st.booleans())
def test_no_simulation_is_faster(
    network: dict[str, Any], workload: dict[str, Any], seed: int, jitter: int, direct: bool
) -> None:
    if direct:
        network["protocol"] |= {"expected_eager": "direct"}
    given = point(RANKS, workload, network, seed, jitter * NS)
    first, last = _simulator.earliest_ends(given)
    assert len(first) == len(last) == workload.get("repeats", 1)
    assert first == sorted(first)
    assert all(one <= other for one, other in zip(first, last, strict=True))
    assert last[-1] <= _simulator.simulate(given)["time_s"] * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(machines(), st.integers(2, RANKS), st.integers(2, 9), st.integers(1, 7), st.integers(1, 8))
def test_a_bound_by_parts_is_one_too(network: dict[str, Any], ranks: int, radix: int, repeats: int, part: int) -> None:
    described = {key: value for key, value in network.items() if key != "nodes_per_switch"}  # a tree's geometry says it
    made = Point.from_canonical(point(ranks, allreduce(radix, repeats=repeats), described, start_jitter=100 * NS))
    whole = lower_bound(made, earliest_ends)
    time = _simulator.simulate(made.canonical())["time_s"]
    assert lower_bound(made, earliest_ends, part) <= whole * (1 + 1e-12)
    assert whole <= time * (1 + 1e-12)


@settings(max_examples=40, deadline=None)
@given(machines(), st.integers(2, RANKS), st.integers(2, 9), st.integers(0, 120), st.sampled_from([0, 50_000]))
def test_a_run_ends_early_only_where_it_takes_longer(
    network: dict[str, Any], ranks: int, radix: int, percent: int, steady: int
) -> None:
    given = point(ranks, allreduce(radix, repeats=20), network, start_jitter=100 * NS) | {"steady": {"error": steady}}
    _, last = _simulator.earliest_ends(given)
    whole = _simulator.simulate(given)
    most = whole["time_s"] * (1 + whole.get("steady_error", 0)) * (1 + 1e-12)
    longest = whole["time_s"] * percent / 100
    found = _simulator.simulate(given, 1, longest, [0.0, *last[:-1]])
    if "at_least_s" in found:
        assert longest < found["at_least_s"] <= most
    else:
        said = without_costs(whole)
        assert {key: found[key] for key in said} == said


def test_a_much_lower_limit_ends_a_run_at_once() -> None:
    given = point(24, allreduce(24, repeats=50), machine("torus", (3, 3, 3)))
    _, last = _simulator.earliest_ends(given)
    found = _simulator.simulate(given, 1, last[-1] / 2, [0.0, *last[:-1]])
    assert found["at_least_s"] > last[-1] / 2
    assert set(found) == {"at_least_s", "threads", "wall_s", "setup_s"}


def test_a_limit_needs_a_bound_of_each_number_of_repeats() -> None:
    with pytest.raises(ValueError, match=r"more_s: 2 bounds, allowed: 10"):
        _simulator.simulate(point(8, allreduce(2, repeats=10), machine("torus", (2, 2, 2))), 1, 1e-6, [0.0, 1.0])


@pytest.mark.parametrize("network", [tree_of_three_levels(), *map(circulant, ("minimal", "valiant", "ugal", "par"))])
@pytest.mark.parametrize("radix", [2, 5, 24])
def test_the_networks_of_sst_macro_are_not_faster_either(network: dict[str, Any], radix: int) -> None:
    given = point(24, allreduce(radix, repeats=10), network)
    assert _simulator.earliest_ends(given)[1][-1] <= _simulator.simulate(given)["time_s"]


def test_scattered_ranks_are_not_faster() -> None:
    for rule in ("random", "round-robin-groups"):
        given = point(24, allreduce(4, repeats=5), machine("dragonfly", (3, 3, 4), 3)) | {"allocation": rule}
        assert _simulator.earliest_ends(given)[1][-1] <= _simulator.simulate(given)["time_s"]


def test_two_ranks_exchange_as_fast_as_the_bound() -> None:
    given = point(2, allreduce(2), machine(geometry=(2, 1, 1)))
    by_hand = (2 * copy_ns(24) + 300 + 2.4) * 1e-9
    [first], [last] = _simulator.earliest_ends(given)
    assert (first, last) == pytest.approx((by_hand, by_hand))
    assert _simulator.simulate(given)["time_s"] == pytest.approx(by_hand)


def test_a_bound_is_close_where_little_waits() -> None:
    """Else it would exclude nothing: a small allreduce is a chain of latencies."""
    for radix in (2, 3, 4):
        given = point(64, allreduce(radix, repeats=10), machine("dragonfly", (4, 4, 4), 1))
        assert _simulator.earliest_ends(given)[1][-1] >= 0.9 * _simulator.simulate(given)["time_s"]


def test_other_models_have_no_bound() -> None:
    with pytest.raises(ValueError, match="default only"):
        _simulator.earliest_ends(point(8, allreduce(2), machine("torus", (2, 2, 2), model="pisces-16")))
