"""Algorithms that the rules of an MPI library choose: a point is the same as one that names what they choose."""

from collections.abc import Callable
from typing import Any

import pytest

from tramontane import simulate
from tramontane.errors import InputError
from tramontane.study import Point
from tramontane.study.collectives.collective_calls import DEFAULTS
from tramontane.study.collectives.library_choice import LIBRARIES, chosen

MACHINE = {"topology": "torus", "geometry": [6, 6, 6]}


def workload(keys: dict[str, Any], ranks: int, **others: Any) -> dict[str, Any]:
    """Return the canonical form of a workload of a point."""
    point = Point.model_validate({"machine": MACHINE, "ranks": ranks, "workload": keys} | others)
    return dict(point.canonical()["workload"])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("operation", sorted(DEFAULTS))
@pytest.mark.parametrize("ranks", [1, 2, 7, 8, 130])
def test_a_collective_is_the_one_that_rules_choose(library: str, operation: str, ranks: int) -> None:
    for count in [None] if operation == "barrier" else [1, 40, 1000, 10**6]:
        asked = {"kind": "collective", "operation": operation, "count": count}
        steps = (
            chosen(library, operation, 8 * (count or 0), ranks) if ranks > 1 else ((operation, DEFAULTS[operation]),)
        )
        if len(steps) > 1:
            with pytest.raises(ValueError, match=f"found {library}, which takes a reduce and a broadcast for this"):
                workload(asked | {"algorithm": library}, ranks)
            continue
        assert workload(asked | {"algorithm": library}, ranks) == workload(asked | steps[0][1], ranks)


@pytest.mark.parametrize(
    ("communicators", "name", "of"),
    [
        ({}, None, 128),
        ({"rows": {"consecutive": 16}}, "rows", 16),
        ({"rows": {"consecutive": "node"}}, "rows", 4),
        ({"columns": {"every": 10}}, "columns", 13),
        ({"heads": {"leaders": 10}}, "heads", 13),
        ({"some": {"range": [3, 70]}}, "some", 70),
    ],
)
def test_a_step_is_chosen_by_the_ranks_of_its_communicator(
    communicators: dict[str, Any], name: str | None, of: int
) -> None:
    step = {"kind": "collective", "operation": "alltoall", "count": 30}
    step |= {"communicator": name} if name else {}
    program = {"kind": "program", "communicators": communicators}
    [(_, keys)] = chosen("open-mpi", "alltoall", 240, of)
    node = {"latency": "500 ns", "bandwidth": "10 GB/s"}
    here = {"ranks_per_node": 4, "machine": MACHINE | {"node": node}}
    asked = workload(program | {"steps": [step | {"algorithm": "open-mpi"}]}, 128, **here)
    assert asked == workload(program | {"steps": [step | keys]}, 128, **here)


def test_what_is_a_reduce_and_a_broadcast_becomes_two_steps_of_one_phase() -> None:
    asked = {"allreduce": {"algorithm": "open-mpi", "count": 1, "repeats": 2}}
    steps = [asked, {"loop": {"times": 3, "steps": [asked]}}]
    parts = [
        {"kind": "collective", "operation": "reduce", "algorithm": "binomial", "count": 1, "name": "allreduce"},
        {"kind": "collective", "operation": "broadcast", "algorithm": "binary", "count": 1, "name": "allreduce"},
    ]
    named = [*parts * 2, {"loop": {"times": 3, "steps": parts * 2}}]
    assert workload({"kind": "program", "steps": steps}, 128) == workload({"kind": "program", "steps": named}, 128)


def test_steps_of_roles_are_chosen_by_the_ranks_of_the_role() -> None:
    step = {"kind": "collective", "operation": "barrier"}
    rules: dict[str, dict[str, Any]] = {
        "a": {"consecutive": 20, "group": 0},
        "b": {"range": [20, 30]},
        "c": {"ranks": [50, 51, 52, 60]},
        "d": {"others": True},
    }
    sizes = {"a": 20, "b": 30, "c": 4, "d": 10}

    def roles(algorithms: Callable[[str], str]) -> dict[str, Any]:
        return {name: rule | {"steps": [step | {"algorithm": algorithms(name)}]} for name, rule in rules.items()}

    named = roles(lambda name: chosen("open-mpi", "barrier", 0, sizes[name])[0][1]["algorithm"])
    asked = {"kind": "program", "roles": roles(lambda name: "open-mpi")}
    assert len({str(role["steps"]) for role in named.values()}) > 1
    assert workload(asked, 64) == workload({"kind": "program", "roles": named}, 64)


def test_every_seventh_rank_is_a_role() -> None:
    step = {"kind": "collective", "operation": "barrier", "algorithm": "open-mpi"}
    every = {"every": 7, "group": 3, "steps": [step]}
    program = workload({"kind": "program", "roles": {"a": every, "b": {"others": True, "steps": [step]}}}, 25)
    [a], [b] = (program["roles"][name]["steps"] for name in "ab")
    assert a["algorithm"] == chosen("open-mpi", "barrier", 0, 4)[0][1]["algorithm"]
    assert b["algorithm"] == chosen("open-mpi", "barrier", 0, 21)[0][1]["algorithm"]


def test_an_overlapped_step_is_chosen_too_and_runs() -> None:
    def program(keys: dict[str, Any]) -> dict[str, Any]:
        exchange = {"kind": "collective", "operation": "allgather", "count": 100} | keys
        return {"kind": "program", "steps": [{"overlap": {"exchange": exchange, "work": {"time": "1 us"}}}]}

    [(_, keys)] = chosen("mpich", "allgather", 800, 12)
    by_rules, named = (
        simulate({"machine": MACHINE, "ranks": 12, "workload": program(own)}) for own in ({"algorithm": "mpich"}, keys)
    )
    assert by_rules.time_s == named.time_s > 0


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        (
            {"kind": "allreduce", "algorithm": "open-mpi", "radix": 4},
            "workload.radix: found 4 with open-mpi, which chooses; allowed: none, or an algorithm that has it",
        ),
        (
            {"kind": "collective", "operation": "alltoallv", "algorithm": "mpich", "count": 3, "spread": "1 %"},
            "workload.algorithm: found 'mpich'; allowed: ring-k, burst, bruck,",
        ),
        (
            {"kind": "collective", "operation": "reduce", "algorithm": "open_mpi", "count": 3},
            "workload.algorithm: found 'open_mpi'; did you mean 'open-mpi'? allowed: binomial,",
        ),
        (
            {"kind": "allreduce", "algorithm": "open-mpi", "count": 1},
            "workload.algorithm: found open-mpi, which takes a reduce and a broadcast for this; allowed: an algorithm",
        ),
        (
            {
                "kind": "program",
                "steps": [
                    {"barrier": {}},
                    {"allreduce": {"algorithm": "open-mpi", "count": 1, "begin": "sum"}},
                    {"end": {"of": "sum"}},
                ],
            },
            "workload.steps[1].algorithm: found open-mpi, which takes a reduce and a broadcast for this; allowed: an "
            "algorithm, or a step that is not begun",
        ),
        (
            {"kind": "program", "steps": [{"allreduce": {"algorithm": "open-mpi", "count": 1, "repeats": 10**12}}]},
            "workload.steps[0].repeats: found open-mpi, which takes a reduce and a broadcast for this; allowed: at "
            "most 5000 repeats, or a loop",
        ),
        (
            {
                "kind": "program",
                "roles": {
                    "r": {
                        "range": [0, 128],
                        "steps": [
                            {
                                "overlap": {
                                    "exchange": {"kind": "allreduce", "algorithm": "open-mpi", "count": 1},
                                    "work": {"time": "1 us"},
                                }
                            }
                        ],
                    }
                },
            },
            "workload.roles.r.steps[0].exchange.algorithm: found open-mpi, which takes a reduce and a broadcast",
        ),
    ],
)
def test_what_rules_can_not_choose_is_one_line(keys: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        simulate({"machine": MACHINE, "ranks": 128, "workload": keys})
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
