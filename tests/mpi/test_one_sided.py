"""Puts into real windows: every byte checked, faults found, the messages of the simulator."""

from typing import Any

import pytest

from tests.mpi.conftest import Program
from tramontane.study import Point
from tramontane.substrates.mpi.program import workload_arguments
from tramontane.substrates.simulator import schedule

RANKS = 7
WAYS: list[dict[str, str]] = [
    {"synchronisation": "fence"},
    {"synchronisation": "fence", "opens": "after"},
    {"synchronisation": "fence", "scope": "neighbours"},
    {"synchronisation": "fence", "scope": "neighbours", "opens": "after"},
    {"synchronisation": "post-start"},
    {"synchronisation": "post-start", "opens": "after"},
    {"synchronisation": "passive"},
    {"synchronisation": "passive", "scope": "all"},
    {"synchronisation": "lock"},
    {"synchronisation": "lock", "scope": "neighbours"},
]


def program(one_sided: dict[str, str], ranks: int, **more: Any) -> Point:
    """Return a program with a halo of odd sizes, whole and in split phase, wide enough to reach several neighbours."""
    halo = {"kind": "halo", "width": 3, "grid": [13, 11, 3], "one_sided": one_sided}
    steps = [
        halo,
        {
            "overlap": {
                "exchange": halo | {"width": 1, "name": "narrow"},
                "work": {"time": "20 us", "imbalance": "50 %"},
            }
        },
        {"allreduce": {"algorithm": "ring", "count": 5}},
        {"halo": {"width": 2, "grid": [21, 20, 1], "decomposition": "bisection", "one_sided": one_sided}},
    ]
    workload = {"kind": "program", "steps": steps, "repeat": 3, **more}
    return Point.model_validate({"ranks": ranks, "workload": workload, "substrate": "mpi"})


def line(point: Point) -> str:
    return " ".join(workload_arguments(point.workload))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
def test_every_byte_is_put_where_it_belongs(mpi: Program, way: dict[str, str]) -> None:
    point = program(way, RANKS)
    printed = mpi(RANKS, line(point))
    assert printed["verified"] is True
    assert printed["elements_wrong"] == 0
    totals = schedule(point.workload, RANKS).totals().values()
    assert printed["messages"] == sum(messages for messages, _ in totals)
    assert printed["bytes"] == sum(length for _, length in totals)
    # All words in the checked execution, and the last ones of the timed one.
    assert printed["bytes"] <= 8 * printed["elements_checked"] <= 2 * printed["bytes"]


def test_notifications_arrive(mpi: Program) -> None:
    """Ranks run ahead of each other, so that some are notified again before they have seen the first time."""
    rows = {"rows": {"consecutive": 3}}
    steps = [
        {"notify": {"offsets": [1, -1, 5]}},
        {"notify": {"offsets": [1], "communicator": "rows", "begin": "n"}},
        {"work": {"time": "50 us", "imbalance": "90 %"}},
        {"end": {"of": "n"}},
        {"halo": {"width": 2, "grid": [13, 11, 3], "one_sided": {"synchronisation": "passive"}}},
    ]
    point = program({}, RANKS, steps=steps, communicators=rows, repeat=20)
    printed = mpi(RANKS, line(point))
    assert printed["verified"] is True
    totals = schedule(point.workload, RANKS).totals()
    assert totals["notify"] == (20 * (3 * RANKS + 6), 0)  # the last row has one rank, which has nobody to notify
    assert printed["messages"] == sum(messages for messages, _ in totals.values())


@pytest.mark.slow
@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.long)], indirect=True)
def test_many_repetitions_keep_halves_apart(mpi: Program) -> None:
    """Ranks run ahead of each other: who puts again must not overwrite what is being read."""
    for way in WAYS:
        done = mpi.start(4, *line(program(way, 4, repeat=5)).split(), "warmup=1", "repetitions=2")
        assert done.status == 0, done.stderr
        assert '"verified": true' in done.stdout


@pytest.mark.parametrize("fault", ["value", "place", "missing"])
@pytest.mark.parametrize("synchronisation", ["fence", "post-start", "passive", "lock"])
def test_wrong_data_are_noticed(any_mpi: Program, synchronisation: str, fault: str) -> None:
    words = line(program({"synchronisation": synchronisation}, 6)).split()
    assert "is not what was sent" in any_mpi.complaint(6, words, fault)


def test_without_data_puts_go_too(any_mpi: Program) -> None:
    printed = any_mpi(5, f"{line(program({'synchronisation': 'passive'}, 5))} data=null")
    assert printed["verified"] is None


@pytest.mark.parametrize("communicator", ["rows", "heads"])
def test_a_fence_of_some_ranks(mpi: Program, communicator: str) -> None:
    """MPI's fence is of all ranks of a window: here neighbours synchronise, and messages of our own do the rest."""
    groups = {"rows": {"consecutive": 3}, "heads": {"leaders": 2}}
    halo = {"kind": "halo", "width": 1, "grid": [13, 11, 3], "communicator": communicator}
    steps = [halo | {"one_sided": {"synchronisation": "fence"}}] * 2
    point = program({}, RANKS, steps=steps, communicators=groups)
    printed = mpi(RANKS, line(point))
    assert printed["verified"] is True
    assert printed["messages"] == sum(messages for messages, _ in schedule(point.workload, RANKS).totals().values())


def test_a_loop_has_its_windows_once(mpi: Program) -> None:
    """More rounds of puts than an MPI library has windows for."""
    halo = {"kind": "halo", "width": 1, "grid": [13, 11, 3], "one_sided": {"synchronisation": "post-start"}}
    point = program({}, 2, steps=[{"loop": {"times": 270, "steps": [halo]}}], repeat=1)
    printed = mpi(2, line(point))
    assert printed["verified"] is True
    assert printed["messages"] == sum(messages for messages, _ in schedule(point.workload, 2).totals().values())


def test_too_many_windows_are_a_line(any_mpi: Program) -> None:
    step = ["kind=halo", "width=1", "grid=8x8x8", "one_sided.synchronisation=fence"]
    words = [f"steps.{number}.{word}" for number in range(251) for word in step]
    done = any_mpi.start(2, "kind=program", *words)
    assert done.status == 2
    assert "workload.steps: found 502 rounds of puts, those of a loop counted once" in done.stderr
