"""Programs with real MPI: an example of each step, with the messages of the simulator, every byte checked."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.mpi.conftest import Program
from tests.mpi.test_one_sided import WAYS
from tramontane import _simulator
from tramontane.study.points.points import Point
from tramontane.study.reading.messages import submodels, tag
from tramontane.study.workloads import schedules
from tramontane.study.workloads.programs import SYNCHRONISATIONS, Notify, PutStep, Step
from tramontane.study.workloads.workloads import COLLECTIVES
from tramontane.substrates.mpi.program import workload_arguments
from tramontane.substrates.simulator import Simulator

pytestmark = pytest.mark.slow

RANKS = 12
HALO = {"kind": "halo", "width": 2, "grid": [26, 13, 3]}
WIDE = {"kind": "halo", "width": 9, "grid": [26, 13, 3]}  # over several neighbours
TRANSPOSITION = {"kind": "transposition", "algorithm": "ring-k", "radix": 2, "grid": [37, 23, 12]}
ALLREDUCE = {"kind": "allreduce", "algorithm": "rabenseifner", "count": 50}
WORK = {"kind": "work", "time": "20 us", "imbalance": "10 %", "noise": "10 %"}
ROWS: dict[str, Any] = {
    "rows": {"consecutive": 5},
    "columns": {"every": 4},
    "heads": {"leaders": 3},
    "odd": {"range": [3, 7]},
}
TABLE = "messages.csv"
MESSAGES = [(rank, (rank + hop) % RANKS, 997 * hop, hop, hop % 2) for rank in range(RANKS) for hop in (1, 4, 5)]


def twice(operation: str, *algorithms: dict[str, Any]) -> list[Any]:
    """Return a collective by each algorithm: of all ranks, then begun and ended by seven, no power of two either."""
    steps: list[Any] = []
    for keys in algorithms:
        size = {} if operation == "barrier" else {"count": 11}
        step = {"kind": "collective", "operation": operation, **size, **keys}
        steps += [step, step | {"communicator": "odd"}]
        if keys["algorithm"] != "sliding-window":  # it waits before it has posted all, and so can't be begun
            steps[-1]["begin"] = "part"
            steps += [WORK, {"end": {"of": "part"}}]
    return steps


def put_in_all_ways(exchange: dict[str, Any]) -> list[Any]:
    """Return an exchange by puts in each way: at once, and begun and ended."""
    steps: list[Any] = []
    for number, way in enumerate(WAYS):
        step = {**exchange, "one_sided": way, "name": f"way-{number}"}
        steps += [step, {**step, "begin": "puts"}, WORK, {"end": {"of": "puts"}}]
    return steps


VARIABLE = {"spread": "30 %", "seed": 3}
WEIGHED = {"count": 40, "spread": "0 %", "senders": [1, 2, 3], "receivers": [5, 0, 1], "groups": [3, 1, 2, 0]}
"""Blocks by their ends and by the group of three that they are in; some are empty."""
EXAMPLES: dict[str, list[Any]] = {
    "halo": [WIDE],
    **{f"halo by {calls}": [{**WIDE, "calls": calls}] for calls in schedules.words("halo", "calls")},
    "transposition": [TRANSPOSITION],
    "allreduce": [{**ALLREDUCE, "repeats": 2}],
    "collective": [{"broadcast": {"algorithm": "binomial", "count": 9, "root": 3, "communicator": "heads"}}],
    "barrier": [{"barrier": {}}, {"barrier": {"algorithm": "tree", "communicator": "columns"}}],
    "work": [WORK, {"kind": "work", "per_point": "10 ns", "grid": [26, 13, 3]}, HALO],
    "overlap": [{"overlap": {"exchange": HALO, "work": {"time": "30 us"}}}],
    "begin and end": [{**HALO, "begin": "a"}, WORK, {**WIDE, "begin": "b"}, {"end": {"of": "a"}}, {"end": {"of": "b"}}],
    "loop": [{"loop": {"times": 3, "steps": [HALO, ALLREDUCE]}}],
    "communicators": [
        {**ALLREDUCE, "communicator": "rows"},  # the last has two ranks
        {**ALLREDUCE, "communicator": "columns", "begin": "sum"},
        {**TRANSPOSITION, "communicator": "heads"},
        {"end": {"of": "sum"}},
    ],
    "barriers": twice(
        "barrier",
        {"algorithm": "dissemination"},
        {"algorithm": "tree"},
        {"algorithm": "linear"},
        {"algorithm": "recursive-doubling"},
    ),
    "from a root": [
        *twice(
            "broadcast",
            {"algorithm": "binomial", "root": 2},
            {"algorithm": "scatter-allgather", "root": 2},
            {"algorithm": "scatter-doubling", "root": 2},
            {"algorithm": "chain", "root": 6, "segments": 3},
            {"algorithm": "linear", "root": 2},
            {"algorithm": "binary", "root": 5},
            {"algorithm": "k-nomial", "root": 2, "radix": 3},
            {"algorithm": "binomial-ascending", "root": 5},
        ),
        *twice("scatter", {"algorithm": "linear", "root": 2}, {"algorithm": "binomial", "root": 5}),
    ],
    "to a root": [
        *twice(
            "reduce",
            {"algorithm": "binomial", "root": 2},
            {"algorithm": "rabenseifner", "root": 1},
            {"algorithm": "linear", "root": 2},
            {"algorithm": "binary", "root": 5},
            {"algorithm": "chain", "root": 6, "segments": 3},
        ),
        *twice("gather", {"algorithm": "linear", "root": 2}, {"algorithm": "binomial", "root": 5}),
    ],
    "to all": [
        *twice(
            "allgather",
            {"algorithm": "ring"},
            {"algorithm": "bruck", "radix": 3},
            {"algorithm": "recursive-doubling"},
            {"algorithm": "neighbour-exchange"},
        ),
        *twice(
            "allreduce",
            {"algorithm": "recursive-k", "radix": 3, "remainder": "adjacent"},
            {"algorithm": "recursive-doubling"},
            {"algorithm": "ring"},
            {"algorithm": "rabenseifner"},
            {"algorithm": "rabenseifner-pairs"},
            {"algorithm": "hierarchical", "group": 3},
        ),
    ],
    "all to all": twice(
        "alltoall",
        {"algorithm": "ring-k", "radix": 2},
        {"algorithm": "burst"},
        {"algorithm": "burst-ascending"},
        {"algorithm": "bruck", "radix": 3},
        {"algorithm": "pairwise"},
        {"algorithm": "sliding-window", "radix": 2},
        {"algorithm": "leaders", "group": 5},
        {"algorithm": "multi-leader", "group": 5},
    ),
    "blocks of any size": [
        *twice(
            "alltoallv",
            {"algorithm": "ring-k", "radix": 2, **VARIABLE},
            {"algorithm": "burst", **VARIABLE},
            {"algorithm": "burst-ascending", **VARIABLE},
            {"algorithm": "bruck", **VARIABLE},
            {"algorithm": "pairwise", **VARIABLE},
            {"algorithm": "sliding-window", "radix": 2, **VARIABLE},
        ),
        {"alltoallv": {**WEIGHED, "algorithm": "burst", "communicator": "columns"}},
        {"alltoallv": {**WEIGHED, **VARIABLE, "algorithm": "bruck", "communicator": "columns", "begin": "some"}},
        WORK,
        {"end": {"of": "some"}},
    ],
    "neighbourhood": [
        {"neighbourhood": {"algorithm": "direct", "count": 11, "dims": [4, 3]}},
        {"neighbourhood": {"algorithm": "sweeps", "count": 11, "dims": [2, 3, 2], "begin": "wide"}},
        {"end": {"of": "wide"}},
        {"neighbourhood": {"algorithm": "sweeps", "count": 11, "dims": [7], "communicator": "odd"}},
        {
            "neighbourhood": {
                "algorithm": "direct",
                "count": 11,
                "dims": [2, 2],
                "communicator": "heads",
                "begin": "few",
            }
        },
        {"end": {"of": "few"}},
    ],
    "notify": [
        {"notify": {"offsets": [1, -1, 5]}},
        {"notify": {"offsets": [1], "communicator": "rows", "begin": "told"}},
        WORK,
        {"end": {"of": "told"}},
    ],
    "pattern": [
        {"pattern": {"file": TABLE, "repeats": 2}},
        {"pattern": {"file": TABLE, "begin": "table"}},
        WORK,
        {"end": {"of": "table"}},
    ],
    "puts of a halo": put_in_all_ways(WIDE),
    "puts of some ranks": put_in_all_ways({**HALO, "communicator": "odd"}),
    "puts of a table": put_in_all_ways({"kind": "pattern", "file": TABLE}),
}


ROLES: dict[str, Any] = {
    "model": {
        "others": True,
        "steps": [
            HALO,
            {"receive": {"source": "reader"}},
            {
                "loop": {
                    "times": 2,
                    "steps": [
                        {"send": {"target": "servers", "bytes": "40001 B", "begin": "out"}},
                        WORK,
                        {"end": {"of": "out"}},
                    ],
                }
            },
        ],
    },
    "reader": {
        "ranks": [5],
        "steps": [{"send": {"target": "model", "total": "1 MB"}}, {"receive": {"source": "servers"}}],
    },
    "servers": {
        "every": 4,
        "group": 2,
        "steps": [
            {"receive": {"source": "model"}},
            {**ALLREDUCE, "communicator": "pairs"},
            {"receive": {"source": "model"}},
            {"send": {"target": "reader", "bytes": "0 B"}},
        ],
        "communicators": {"pairs": {"consecutive": 2}},
    },
}
"""A reader that scatters, a model that sends while it works, and servers with a collective of their own."""


@pytest.fixture(autouse=True)
def table(tables: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the table of messages where examples find it: without a YAML file that is the working directory."""
    lines = ["source,target,bytes,tag,step", *(",".join(map(str, row)) for row in MESSAGES)]
    (tables / TABLE).write_text("\n".join(lines))
    monkeypatch.chdir(tables)


COSTS = dict.fromkeys(sorted({*Notify.costs, *(cost for costs in SYNCHRONISATIONS.values() for cost in costs)}), "0 ns")


def point(steps: list[Any] | dict[str, Any]) -> Point:
    program = steps if isinstance(steps, dict) else {"repeat": 2, "steps": steps, "communicators": ROWS}
    workload = {"kind": "program", **program}
    storage = {"bandwidth": "1 GB/s", "node_bandwidth": "1 GB/s", "latency": "1 ms"}
    net = {"topology": "torus", "geometry": [4, 3, 1], "nodes_per_switch": 1}
    machine = {**net, "storage": storage, "one_sided": COSTS}
    return Point.model_validate({"ranks": RANKS, "workload": workload, "machine": machine})


PROGRAMS: dict[str, Any] = {**EXAMPLES, "roles": {"roles": ROLES, "repeat": 3}}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_step_has_the_messages_of_the_simulator(mpi: Program, name: str) -> None:
    """Every byte says which message it belongs to and where: what arrives is what the schedule lists."""
    described = point(PROGRAMS[name])
    printed = mpi(RANKS, " ".join(workload_arguments(described.workload)))
    assert printed["verified"] is True
    assert printed["elements_wrong"] == 0
    simulated = Simulator().run(described)
    assert (printed["messages"], printed["bytes"]) == (simulated["messages"], simulated["bytes"])
    totals = _simulator.schedule.Schedule(described.workload.schedule_keys(), RANKS).totals()
    assert printed["messages"] == sum(messages for messages, _ in totals.values())
    whole = printed["time_s"]["max"]
    assert all(0 <= times["min"] <= times["max"] <= whole + 1e-6 for times in printed["phases"].values())
    # All words in the checked execution, and the last ones of the timed one.
    assert printed["bytes"] <= 8 * printed["elements_checked"] <= 2 * printed["bytes"]


STORED: dict[str, Any] = {
    "repeat": 3,
    "roles": {
        "model": {
            "others": True,
            "steps": [{"read": {"total": "1000001 B"}}, {"send": {"target": "io", "bytes": "9 B"}}],
        },
        "io": {"every": 4, "group": 2, "steps": [{"receive": {"source": "model"}}, {"write": {"bytes": "70003 B"}}]},
    },
}


def steps_in(data: Any) -> Iterator[dict[str, Any]]:
    """Yield the steps of a program that is spelled out, those inside of others, too."""
    inside = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    if isinstance(data, dict) and "kind" in data:
        yield data
    for each in inside:
        yield from steps_in(each)


def test_every_kind_of_step_has_an_example() -> None:
    """What the description and the catalogue know, the tests above and below do; no MPI library is needed to tell."""
    models = {str(tag(model)): model for model in submodels(Step)}
    wanted: set[tuple[str, ...]] = {(kind,) for kind in models}
    wanted |= {("collective", operation) for operation in COLLECTIVES}
    for operation in COLLECTIVES:
        algorithms = schedules.words("collective", "algorithm", ("operation", operation))
        wanted |= {("collective", operation, algorithm) for algorithm in algorithms}
    putting = [kind for kind, model in models.items() if issubclass(model, PutStep)]
    wanted |= {(kind, "one-sided", way) for kind in putting for way in SYNCHRONISATIONS}
    wanted |= {(kind, "two-sided") for kind in putting}
    had: set[tuple[str, ...]] = set()
    for example in [*PROGRAMS.values(), STORED]:
        for step in steps_in(point(example).workload.canonical()):
            kind = step["kind"]
            had.add((kind,))
            if kind == "collective":
                had |= {(kind, step["operation"]), (kind, step["operation"], step["algorithm"])}
            if kind in putting:
                puts = step.get("one_sided")
                had.add((kind, "one-sided", puts["synchronisation"]) if puts else (kind, "two-sided"))
    assert not sorted(" ".join(missing) for missing in wanted - had)


def test_storage_has_what_was_written(mpi: Program, tmp_path: Path) -> None:
    described = point(STORED)
    printed = mpi(RANKS, f"{' '.join(workload_arguments(described.workload))} directory={tmp_path}")
    assert printed["verified"] is True
    simulated = Simulator().run(described)
    assert (printed["messages"], printed["bytes"]) == (simulated["messages"], simulated["bytes"]) == (3 * 9, 3 * 9 * 9)
    # Every access in the checked execution, and the last ones of the timed one.
    assert 8 * printed["elements_checked"] >= 4 * (1_000_001 + 3 * 70_003)
    assert not list(tmp_path.iterdir())


def test_what_storage_lost_is_noticed(any_mpi: Program, tmp_path: Path) -> None:
    for steps in ([{"write": {"bytes": "17 B"}}], [{"read": {"total": "1 kB"}}]):
        arguments = workload_arguments(point(steps).workload)
        done = any_mpi.start(3, *arguments, "warmup=0", "repetitions=1", "fault=value", f"directory={tmp_path}")
        assert done.status == 1
        assert "in storage: word 0 is not what was written" in done.stderr


@pytest.mark.parametrize(("step", "where"), [("bytes=1000000000000000", "."), ("bytes=1", "nowhere")])
def test_storage_without_room_is_a_line(any_mpi: Program, tmp_path: Path, step: str, where: str) -> None:
    words = f"kind=program steps.0.kind=write steps.0.{step} directory={tmp_path / where}"
    done = any_mpi.start(2, *words.split())
    assert done.status == 2
    (complaint,) = [text for text in done.stderr.splitlines() if text.startswith("tramontane-mpi: ")]
    assert "directory: found '" in complaint
    assert "allowed: a folder with room" in complaint
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("fault", ["value", "place", "missing"])
@pytest.mark.parametrize("name", ["halo", "begin and end", "communicators", "roles"])
def test_wrong_messages_are_noticed(any_mpi: Program, name: str, fault: str) -> None:
    arguments = workload_arguments(point(PROGRAMS[name]).workload)
    assert "is not what was sent" in any_mpi.complaint(RANKS, arguments, fault)


def test_work_takes_its_time(any_mpi: Program) -> None:
    """Work is done, and about as much as is asked for; a busy machine makes its calibration slow, or the work."""
    arguments = workload_arguments(point([{"kind": "work", "time": "3 ms"}]).workload)
    printed = any_mpi(1, " ".join(arguments))
    assert printed["time_s"]["min"] > 0.1 * 3e-3
