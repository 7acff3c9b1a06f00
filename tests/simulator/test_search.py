"""The search of the best radix: it finds what running every radix finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane.study import Point
from tramontane.study.workloads.workloads import Allreduce
from tramontane.substrates.search import search, with_radix
from tramontane.substrates.simulator import Simulator

from .points import allreduce, machine, point

FOUR = machine("torus", (2, 2, 1))


def radix_of(point: Point) -> int:
    radix = allreduce_of(point).radix
    assert isinstance(radix, int)
    return radix


def allreduce_of(point: Point) -> Allreduce:
    assert isinstance(point.workload, Allreduce)
    return point.workload


def made(*arguments: Any, **more: Any) -> Point:
    return Point.from_canonical(point(*arguments) | more)


def optimal(*, exhaustive: bool = False, radices: tuple[int, int] = (2, 12), **more: Any) -> dict[str, Any]:
    """An allreduce of which the best radix is wanted."""
    workload = {"kind": "allreduce", "algorithm": "recursive-k", "radix": "optimal", "count": 3, "repeats": 10}
    return workload | {"radices": list(radices), "exhaustive": exhaustive} | more


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9)), min_size=1, max_size=8))
def test_any_true_bounds_lead_to_the_best(table: list[tuple[int, int]]) -> None:
    times = {radix: time for radix, (time, _) in enumerate(table, start=2)}
    bounds = {radix: time - min(gap, time) for radix, (time, gap) in enumerate(table, start=2)}
    given = made(4, optimal(radices=(2, len(table) + 1), repeats=1), FOUR)
    runs: list[int] = []

    def run(chosen: Point, longest: float = float("inf"), more: object = ()) -> dict[str, Any]:
        runs.append(radix_of(chosen))
        time, costs = float(times[runs[-1]]), {"wall_s": 1.0, "setup_s": 0.5}
        return ({"at_least_s": time - 0.5} if time > longest + 1 else {"time_s": time}) | costs

    def earliest_ends(chosen: Point) -> tuple[list[float], list[float]]:
        return [0.0], [float(bounds[radix_of(chosen)])]

    result = search(given, run, earliest_ends)
    best = min(times, key=lambda radix: (times[radix], radix))
    assert result["best_radix"] == best
    assert result["time_s"] == times[best]
    early = result["search"]["ended_early"]
    assert result["search"]["tried"] == {str(radix): times[radix] for radix in sorted(runs) if radix not in early}
    excluded = {r: bounds[r] for r in times if r not in runs} | {r: times[r] - 0.5 for r in early}
    assert result["search"]["excluded"] == {str(r): excluded[r] for r in sorted(excluded)}
    assert (result["wall_s"], result["setup_s"]) == (len(runs), 0.5 * len(runs))
    assert all(bound > times[best] for bound in result["search"]["excluded"].values())
    everything = search(given.changed(workload=allreduce_of(given).changed(exhaustive=True)), run, earliest_ends)
    assert everything["best_radix"] == best
    assert set(everything["search"]["tried"]) == {str(radix) for radix in times}


@pytest.mark.parametrize("ranks", [7, 16, 25, 36, 60])
@pytest.mark.parametrize(
    ("topology", "geometry"), [("torus", (3, 3, 2)), ("fattree", (3, 4)), ("dragonfly", (3, 3, 3))]
)
def test_the_simulator_searches_as_if_it_ran_everything(ranks: int, topology: str, geometry: tuple[int, ...]) -> None:
    network = machine(topology, geometry, 4)
    found = Simulator().run(made(ranks, optimal(), network, start_jitter=100_000))
    every = Simulator().run(made(ranks, optimal(exhaustive=True), network, start_jitter=100_000))
    assert not every["search"]["excluded"]
    assert (found["best_radix"], found["time_s"]) == (every["best_radix"], every["time_s"])
    assert found["messages"] == every["messages"]
    times = every["search"]["tried"]
    assert found["search"]["tried"].items() <= times.items()
    assert found["search"]["excluded"], "nothing was spared"
    assert {str(radix) for radix in found["search"]["ended_early"]} <= set(found["search"]["excluded"])
    assert set(times) == set(found["search"]["tried"]) | set(found["search"]["excluded"])
    assert all(bound <= times[radix] for radix, bound in found["search"]["excluded"].items())


@pytest.mark.parametrize(("cut_short", "left_out"), [(True, [3, 5]), (False, [])])
def test_what_seems_far_slower_is_left_out_where_repeats_may_be_cut_short(cut_short: bool, left_out: list[int]) -> None:
    once = {2: 1.0, 3: 1.3, 4: 1.2, 5: 2.0}
    runs = []

    def run(chosen: Point, *_: object) -> dict[str, Any]:
        radix, repeats = radix_of(chosen), allreduce_of(chosen).repeats
        runs.append((radix, repeats))
        return {"time_s": once[radix] * repeats, "wall_s": 1.0, "setup_s": 0.0}

    given = made(4, optimal(radices=(2, 5)), FOUR, **({"steady": {"error": 10_000}} if cut_short else {}))
    result = search(given, run, lambda chosen: ([0.0] * 10, [0.0] * 10))
    assert runs == [(radix, 1) for radix in once] + [
        (radix, 10) for radix in sorted(once, key=once.__getitem__) if radix not in left_out
    ]
    assert result["search"]["one_repeat"] == {str(radix): time for radix, time in once.items()}
    assert result["search"]["unlikely"] == left_out
    assert (result["best_radix"], result["wall_s"]) == (2, len(runs))


@settings(max_examples=25, deadline=None)
@given(
    st.integers(8, 64),
    st.sampled_from([("torus", (3, 3, 2)), ("fattree", (3, 4)), ("dragonfly", (3, 3, 3))]),
    st.integers(1, 5),
)
def test_what_is_best_does_not_seem_slow_in_one_repeat(
    ranks: int, network: tuple[str, tuple[int, ...]], seed: int
) -> None:
    """The experience on which leaving out rests."""
    given = made(ranks, optimal(exhaustive=True), machine(*network, 4), seed, 1_000_000)
    every = Simulator().run(given)["search"]["tried"]
    once = given.changed(workload=allreduce_of(given).changed(repeats=1))
    first = Simulator().run(once)["search"]["tried"]
    best = min(every, key=every.__getitem__)
    assert first[best] <= 1.25 * min(first.values())


def test_a_model_without_a_bound_runs_everything() -> None:
    network = machine("torus", (2, 2, 2), model="pisces-16")
    assert set(Simulator().run(made(8, optimal(radices=(2, 4)), network))["search"]["tried"]) == {"2", "3", "4"}


def test_a_run_is_that_of_the_plain_point() -> None:
    """What a search tries is what a point with that radix would be, and its times are the same."""
    given = made(20, optimal(radices=(4, 4)), machine("torus", (3, 3, 3)))
    plain = with_radix(given, 4)
    assert plain == made(20, allreduce(4, repeats=10), machine("torus", (3, 3, 3)))
    assert Simulator().run(given)["time_s"] == Simulator().run(plain)["time_s"]
