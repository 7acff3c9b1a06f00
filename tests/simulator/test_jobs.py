"""Jobs side by side: each as if it were alone where it shares nothing, slower where it does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tramontane.results.critical_path import critical_path
from tramontane.study import Point
from tramontane.study.networks.mapping import ALLOCATIONS
from tramontane.substrates.checkpoints import Checkpoint
from tramontane.substrates.simulator import Simulator

from .points import without_costs

US = 1e-6
TORUS = {"topology": "torus", "geometry": [4, 4, 2], "nodes_per_switch": 2}
LINE = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 4}
TRANSPOSITION = {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": [64, 64, 32]}
HALO = {"kind": "halo", "width": 1, "grid": [8, 8, 8]}
SHIFTS = {"kind": "random-shifts", "bytes": "100 KB", "rounds": 3}


def job(name: str, ranks: int, workload: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "ranks": ranks, "workload": workload, **more}


def point(*jobs: dict[str, Any], machine: dict[str, Any] | None = None, **more: Any) -> Point:
    ranks = more.pop("ranks", sum(each["ranks"] for each in jobs))
    workload = {"kind": "jobs", "jobs": list(jobs)}
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": machine or TORUS, **more})


def alone(workload: dict[str, Any], ranks: int, machine: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    described = {"ranks": ranks, "workload": workload, "machine": machine or TORUS, **more}
    return Simulator().run(Point.model_validate(described))


def test_a_job_is_what_it_is_as_a_point() -> None:
    """On the first nodes and in the same order it has the same time, to the last bit."""
    result = Simulator().run(point(job("a", 16, TRANSPOSITION), job("b", 8, SHIFTS)))
    by_itself = alone(TRANSPOSITION, 16)
    assert result["jobs"][0]["alone_s"] == by_itself["time_s"]
    assert result["messages"] == by_itself["messages"] + 3 * 8
    given = alone(SHIFTS, 8, allocation={"nodes": list(range(16, 24))})
    assert result["jobs"][1]["alone_s"] == given["time_s"]


def test_a_job_takes_what_is_free_in_the_order_of_its_rule() -> None:
    """Two groups of 32 nodes, in turn; the first 16 nodes may be another job's."""
    in_turn = [each % 2 * 32 + each // 2 for each in range(64)]
    for others, free in ((0, in_turn), (16, [node for node in in_turn if node >= 16])):
        before = [job("first", others, SHIFTS, allocation="first-available")] if others else []
        made = point(*before, job("own", 24, SHIFTS, allocation="round-robin-groups"))
        assert Simulator().nodes(made)[others:] == free[:24]


def test_two_jobs_on_one_link_take_twice_the_time() -> None:
    """Each sends 100 KB a round from one switch to the other, by the only link between them."""
    one = job("one", 2, SHIFTS, allocation={"nodes": [0, 4]})
    other = job("other", 2, SHIFTS, allocation={"nodes": [1, 5]})
    result = Simulator().run(point(one, other, machine=LINE))
    transfer = 100_000 / 10e9
    assert result["jobs"][0]["alone_s"] == pytest.approx(3 * transfer, rel=0.15)
    for each in result["jobs"]:
        assert each["slowdown"] == pytest.approx(2, rel=0.1)
    assert result["slowdown"] == result["jobs"][0]["slowdown"]


def test_a_job_that_starts_later_meets_nobody() -> None:
    jobs = [job("one", 2, SHIFTS, allocation={"nodes": [0, 4]}), job("other", 2, SHIFTS, start="1 ms")]
    result = Simulator().run(point(*jobs, machine=LINE))
    assert [each["slowdown"] for each in result["jobs"]] == [1, 1]
    assert result["time_s"] == pytest.approx(1000 * US + result["jobs"][1]["time_s"], rel=1e-9)


@pytest.mark.parametrize("workload", [TRANSPOSITION, HALO, SHIFTS])
def test_a_job_takes_as_long_whenever_it_starts(workload: dict[str, Any]) -> None:
    soon, late = (
        Simulator().run(point(job("a", 16, workload, start=start), start_jitter="1 us"))["jobs"][0]["time_s"]
        for start in ("0 s", "1 ms")
    )
    assert soon == late


def test_each_job_alone_is_simulated_and_kept_as_all_of_them_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = point(job("a", 16, TRANSPOSITION), job("b", 8, SHIFTS))
    engines: list[str] = []
    simulate = Checkpoint.simulate

    def tell(self: Checkpoint, *arguments: Any) -> dict[str, Any]:
        result = simulate(self, *arguments)
        engines.append(result["engine"])
        return result

    monkeypatch.setattr(Checkpoint, "simulate", tell)
    by_lanes = Simulator(1, tmp_path / "x.checkpoint", "host").run(made)
    assert engines == ["host"] * 3
    assert by_lanes["jobs"] == Simulator().run(made)["jobs"]


def starting(start: str) -> list[dict[str, Any]]:
    return [job("one", 8, SHIFTS), job("other", 8, SHIFTS, start=start)]


@pytest.mark.parametrize("device", ["cpu", "host"])
def test_noise_does_not_put_off_a_start(device: str) -> None:
    """Starts that are whole periods of the noise apart differ in nothing else, although it takes half of the time."""
    noise = {"duration": "25 us", "period": "50 us"}
    soon, late = (Simulator(1, device=device).run(point(*starting(start), noise=noise)) for start in ("5 ms", "10 ms"))
    assert late["phases"]["other"] == pytest.approx(soon["phases"]["other"], rel=1e-9)
    assert late["time_s"] - soon["time_s"] == pytest.approx(5e-3, rel=1e-9)
    assert late["phases"]["before"] <= 10e-3 + 25 * US


def test_nothing_is_on_the_critical_path_before_a_job_starts() -> None:
    made = point(*starting("10 ms"), statistics={"waiting": 1})
    result, stretches = Simulator().timeline(made, range(made.ranks))
    assert all(each.what != "work" for each in stretches)
    first, *others = critical_path(stretches, result["span_s"])
    assert (first.what, first.begin, first.end) == ("nothing", 0, 10e-3)
    assert all(part.what != "nothing" for part in others)


@given(
    allocation=st.sampled_from(ALLOCATIONS),
    own=st.sampled_from([*ALLOCATIONS, None]),
    ranks=st.lists(st.integers(1, 12), min_size=1, max_size=4),
    start=st.sampled_from(["0 s", "10 us"]),
    seed=st.integers(0, 99),
)
def test_threads_never_matter_and_every_byte_arrives(
    allocation: str, own: str | None, ranks: list[int], start: str, seed: int
) -> None:
    jobs = [
        job(f"job-{number}", size, SHIFTS | {"bytes": "10 KB"}, **({"allocation": own} if number == 1 and own else {}))
        for number, size in enumerate(ranks)
    ]
    jobs[-1]["start"] = start
    made = point(*jobs, allocation=allocation, seed=seed, start_jitter="1 us")
    first, second = Simulator(1).run(made), Simulator(3).run(made)
    assert without_costs(first) == without_costs(second)
    assert first["messages"] == 3 * sum(size for size in ranks if size > 1)
    assert first["bytes"] == 10_000 * first["messages"]


def test_ranks_of_a_node_are_of_one_job() -> None:
    machine = TORUS | {"node": {"latency": "500 ns", "bandwidth": "10 GB/s"}}
    result = Simulator().run(point(job("a", 8, SHIFTS), job("b", 12, SHIFTS), machine=machine, ranks_per_node=4))
    assert result["jobs"][1]["time_s"] > 0
    with pytest.raises(ValidationError, match="found 6; allowed: a multiple of ranks_per_node, 4"):
        point(job("a", 6, SHIFTS), job("b", 2, SHIFTS), machine=machine, ranks_per_node=4)


@pytest.mark.parametrize(
    ("jobs", "more", "found", "allowed"),
    [
        ([job("a", 4, SHIFTS)], {"ranks": 5}, "found 5", "4, the ranks of all jobs"),
        ([job("a", 4, SHIFTS), job("a", 4, SHIFTS)], {}, "found 'a' twice", "each name once"),
        ([job("a", 4, SHIFTS)], {"allocation": {"nodes": [1, 2, 3, 4]}}, "found a list of nodes beside jobs", "random"),
        ([job("a", 4, SHIFTS)], {"mapping": {"nodes": [0, 1, 2, 3]}}, "found some, beside jobs", "block"),
        ([job("a", 4, {"kind": "jobs", "jobs": []})], {}, "jobs", "random-shifts"),
        ([job("a", 4, TRANSPOSITION | {"algorithm": "library", "radix": None})], {}, "found 'library'", "ring-k"),
        ([job("a", 4, HALO | {"buffers": "datatypes"})], {}, "found datatypes in a job", "explicit"),
        (
            [job("a", 4, SHIFTS)],
            {"substrate": "sstmacro"},
            "found jobs with substrate sstmacro",
            "only with simulator or simgrid",
        ),
    ],
)
def test_what_can_not_be_is_refused(jobs: list[Any], more: dict[str, Any], found: str, allowed: str) -> None:
    with pytest.raises(ValidationError) as caught:
        point(*jobs, **more)
    assert found in str(caught.value)
    assert allowed in str(caught.value)


@pytest.mark.parametrize(("nodes", "found"), [([0], "found 0"), ([1, 2, 3], "found 3 nodes"), ([64], "found 64")])
def test_nodes_that_a_job_can_not_have_are_refused(nodes: list[int], found: str) -> None:
    other = job("b", 1, SHIFTS, allocation={"nodes": nodes})
    with pytest.raises(ValidationError) as refused:
        point(job("a", 1, SHIFTS), other)
    assert f"  {found}; allowed: " in str(refused.value)
    assert refused.value.errors()[0]["ctx"]["key"] == "workload.jobs.[1].allocation.nodes"
