"""Programs with real MPI: an example of each step, with the messages of the simulator, every byte checked."""

from typing import Any

import pytest

from tests.mpi.conftest import Program
from tramontane import _simulator
from tramontane.study.points import Point
from tramontane.substrates.mpi.program import workload_arguments
from tramontane.substrates.simulator import Simulator

RANKS = 12
HALO = {"kind": "halo", "width": 2, "grid": [26, 13, 3]}
WIDE = {"kind": "halo", "width": 9, "grid": [26, 13, 3]}  # over several neighbours
TRANSPOSITION = {"kind": "transposition", "algorithm": "ring-k", "radix": 2, "grid": [37, 23, 12]}
ALLREDUCE = {"kind": "allreduce", "algorithm": "rabenseifner", "count": 50}
WORK = {"kind": "work", "time": "20 us", "imbalance": "10 %", "noise": "10 %"}
ROWS: dict[str, Any] = {"rows": {"consecutive": 5}, "columns": {"every": 4}, "heads": {"leaders": 3}}
EXAMPLES: dict[str, list[Any]] = {
    "halo": [WIDE],
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
}


def point(steps: list[Any]) -> Point:
    workload = {"kind": "program", "repeat": 2, "steps": steps, "communicators": ROWS}
    machine = {"topology": "torus", "geometry": [4, 3, 1], "nodes_per_switch": 1}
    return Point.model_validate({"ranks": RANKS, "workload": workload, "machine": machine})


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_step_has_the_messages_of_the_simulator(mpi: Program, name: str) -> None:
    """Every byte says which message it belongs to and where: what arrives is what the schedule lists."""
    described = point(EXAMPLES[name])
    printed = mpi(RANKS, " ".join(workload_arguments(described.workload)))
    assert printed["verified"] is True
    assert printed["elements_wrong"] == 0
    simulated = Simulator().run(described)
    assert (printed["messages"], printed["bytes"]) == (simulated["messages"], simulated["bytes"])
    totals = _simulator.schedule.Schedule(described.workload.schedule_keys(), RANKS).totals()
    assert printed["messages"] == sum(messages for messages, _ in totals.values())
    # All words in the checked execution, and the last ones of the timed one.
    assert printed["bytes"] <= 8 * printed["elements_checked"] <= 2 * printed["bytes"]


@pytest.mark.parametrize("fault", ["value", "place", "missing"])
@pytest.mark.parametrize("name", ["halo", "begin and end", "communicators"])
def test_wrong_messages_are_noticed(any_mpi: Program, name: str, fault: str) -> None:
    arguments = workload_arguments(point(EXAMPLES[name]).workload)
    done = any_mpi.start(RANKS, *arguments, "warmup=0", "repetitions=1", f"fault={fault}")
    assert done.status == 1
    assert '"verified": false' in done.stdout
    complaints = [text for text in done.stderr.splitlines() if text.startswith("tramontane-mpi: ")]
    assert len(complaints) == 1
    assert "is not what was sent" in complaints[0]


def test_work_takes_its_time(any_mpi: Program) -> None:
    """At least the time that is asked for; how much more, the machine decides."""
    arguments = workload_arguments(point([{"kind": "work", "time": "3 ms"}]).workload)
    printed = any_mpi(1, " ".join(arguments))
    assert printed["time_s"]["min"] > 2 * 1.5e-3
