"""What the program does with real MPI: more ranks than processors, small sizes, every element checked."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.mpi.conftest import Program
from tests.preload import preloaded
from tramontane import _simulator
from tramontane.study.workloads import schedules

pytestmark = pytest.mark.slow

RANKS = 16
TRANSPOSITION = "kind=transposition grid=37x23x9"  # nothing divides anything
HALO = "kind=halo grid=26x13x3 decomposition=8x2"
BISECTED = "kind=halo grid=26x13x3 width=5 decomposition=bisection"
BY_DATATYPES = [
    f"{HALO} width=1",
    *(f"{HALO} width=7 calls={calls}" for calls in schedules.words("halo", "calls")),  # over several neighbours
    f"{HALO} width=40",  # around the grid, and further
    BISECTED,
    f"{BISECTED} calls=isend-recv",
]
ALLREDUCE = "kind=allreduce count=7 repeats=3"
LIBRARY = ("library", "nonblocking", "persistent")

WEIGHTS = f"senders={','.join(map(str, range(16)))} receivers={','.join(str(i % 5) for i in range(16))}"

COLLECTIVES = [
    *(f"operation=barrier algorithm={name}" for name in ("dissemination", "tree", "linear", "recursive-doubling")),
    *(f"operation=broadcast count=50 root=3 algorithm={name}" for name in ("binomial", "scatter-allgather")),
    *(f"operation=broadcast count=50 root=3 algorithm={name}" for name in ("scatter-doubling", "linear", "binary")),
    *(f"operation=broadcast count=50 root=3 algorithm={name}" for name in ("k-nomial radix=3", "binomial-ascending")),
    *(f"operation={name} count=50 root=3 algorithm=chain segments=4" for name in ("broadcast", "reduce")),
    *(
        f"operation=reduce count=50 root=3 algorithm={name}"
        for name in ("binomial", "rabenseifner", "linear", "binary")
    ),
    *(f"operation={name} count=5 root=3 algorithm=linear" for name in ("gather", "scatter")),
    *(f"operation={name} count=5 root=3 algorithm=binomial" for name in ("gather", "scatter")),
    *(
        f"operation=allgather count=5 algorithm={name}"
        for name in ("ring", "bruck", "bruck radix=3", "neighbour-exchange")
    ),
    *(f"operation=alltoall count=5 algorithm={name}" for name in ("ring-k radix=2", "burst", "bruck", "pairwise")),
    *(
        f"operation=alltoallv count=5 spread=900000 algorithm={name}"
        for name in ("ring-k radix=2", "burst", "bruck radix=3", "pairwise", "sliding-window radix=2")
    ),
    *(f"operation=alltoall count=5 algorithm={name} group=4" for name in ("leaders", "multi-leader radix=1")),
    *(
        f"operation=allreduce count=50 algorithm={name}"
        for name in ("ring", "rabenseifner", "rabenseifner-pairs", "hierarchical group=4")
    ),
    *(f"operation=neighbourhood count=3 dims=P algorithm={name}" for name in ("direct", "sweeps")),
]
WORKLOADS = [
    *(f"{TRANSPOSITION} algorithm={name}" for name in ("burst", "bruck", "ring-k radix=1", "ring-k radix=4")),
    f"{TRANSPOSITION} algorithm=burst-ascending",
    *(f"{TRANSPOSITION} algorithm={name}" for name in ("pairwise", "bruck radix=3", "sliding-window radix=2")),
    *(f"{TRANSPOSITION} implementation={name}" for name in LIBRARY),
    f"{HALO} width=1",
    f"{HALO} width=7",  # over several neighbours
    f"{HALO} width=40",  # around the grid, and further
    *(f"{HALO} width=7 implementation={name}" for name in LIBRARY),
    BISECTED,
    *(f"{line} buffers=datatypes" for line in BY_DATATYPES),
    *(f"{ALLREDUCE} algorithm={name}" for name in ("recursive-doubling", "ring", "rabenseifner")),
    *(f"{ALLREDUCE} algorithm=recursive-k radix={radix}" for radix in (2, 3, 16)),
    *(f"{ALLREDUCE} implementation={name}" for name in LIBRARY),
    "kind=collective operation=allgather algorithm=recursive-doubling count=5",
    "kind=collective operation=neighbourhood count=3 dims=4x2x2 algorithm=sweeps",
    "kind=collective operation=alltoall count=5 algorithm=multi-leader group=4 radix=1",
    *(
        f"kind=collective operation=alltoallv count=50 spread={spread} {WEIGHTS} algorithm={name}"
        for spread, name in ((0, "ring-k radix=3"), (200000, "bruck"))
    ),
]


@pytest.mark.parametrize(
    ("mpi", "line"),
    [
        *(("openmpi", line) for line in WORKLOADS),
        *(
            pytest.param("mpich", line, marks=[] if n % 3 == 0 else pytest.mark.long)
            for n, line in enumerate(WORKLOADS)
        ),
    ],
    indirect=["mpi"],
)
def test_every_element_arrives_where_it_belongs(mpi: Program, line: str) -> None:
    printed = mpi(RANKS, line)
    assert printed["verified"] is True
    assert printed["elements_wrong"] == 0
    assert printed["ranks"] == RANKS
    assert sum(printed["hosts"].values()) == RANKS
    assert printed["time_s"]["min"] > 0


@pytest.mark.parametrize("line", COLLECTIVES)
def test_collectives_arrive_on_any_number_of_ranks(any_mpi: Program, line: str) -> None:
    for ranks, root in ((1, 0), (7, 3), (12, 11)):
        words = line.replace("root=3", f"root={root}").replace("dims=P", f"dims={ranks}")
        assert any_mpi(ranks, f"kind=collective {words}")["verified"] is True


@pytest.mark.parametrize(
    ("line", "elements"),
    [
        # A checked execution and a timed one: layouts b, c, d, and d again.
        (f"{TRANSPOSITION} algorithm=burst", 4 * 37 * 23 * 9),
        # 8 blocks in x and 2 in y, each with 2 times 7 points more: after one sweep, after both, and that again.
        (f"{HALO} width=7", 3 * (26 + 8 * 14) * (13 + 2 * (13 + 2 * 14))),
        (f"{HALO} width=7 buffers=datatypes", 3 * (26 + 8 * 14) * (13 + 2 * (13 + 2 * 14))),
        (f"{ALLREDUCE} algorithm=ring", 4 * 7 * RANKS),
        (f"{ALLREDUCE} implementation=library", 4 * 7 * RANKS),
        # What all ranks have in the end, twice; of the leaders, what they hold between the phases, too.
        ("kind=collective operation=broadcast algorithm=binomial count=50 root=3", 2 * 50 * RANKS),
        ("kind=collective operation=reduce algorithm=rabenseifner count=50 root=3", 2 * 50),
        ("kind=collective operation=gather algorithm=binomial count=5 root=3", 2 * 5 * (2 * RANKS - 1)),
        ("kind=collective operation=scatter algorithm=binomial count=5 root=3", 2 * 5 * RANKS),
        ("kind=collective operation=allgather algorithm=bruck count=5", 2 * 5 * RANKS**2),
        ("kind=collective operation=alltoall algorithm=leaders group=4 count=5", 4 * 5 * RANKS**2),
        ("kind=collective operation=allreduce algorithm=hierarchical group=4 count=50", 2 * 50 * RANKS),
        ("kind=collective operation=neighbourhood algorithm=sweeps dims=4x4 count=3", 2 * 3 * 9 * RANKS),
    ],
)
def test_nothing_is_left_unchecked(any_mpi: Program, line: str, elements: int) -> None:
    assert any_mpi(RANKS, line)["elements_checked"] == elements


@pytest.mark.parametrize("fault", ["value", "place", "missing"])
@pytest.mark.parametrize(
    "line",
    [
        f"{TRANSPOSITION} algorithm=ring-k radix=4",
        f"{TRANSPOSITION} algorithm=bruck",
        f"{TRANSPOSITION} implementation=library",
        "kind=halo grid=26x13x3 width=7",
        "kind=halo grid=26x13x3 width=7 implementation=library",
        "kind=halo grid=26x24x3 width=4 decomposition=bisection",
        "kind=halo grid=26x13x3 width=7 buffers=datatypes",
        "kind=halo grid=26x13x3 width=7 buffers=datatypes calls=sendrecv",
        "kind=halo grid=26x24x3 width=4 buffers=datatypes decomposition=bisection",
        f"{ALLREDUCE} algorithm=recursive-k radix=3",
        f"{ALLREDUCE} algorithm=rabenseifner",
        f"{ALLREDUCE} implementation=library",
        "kind=collective operation=scatter algorithm=binomial count=5 root=3",
        "kind=collective operation=alltoall algorithm=multi-leader group=2 count=5",
        "kind=collective operation=neighbourhood algorithm=sweeps dims=3x2 count=5",
        "kind=collective operation=reduce algorithm=rabenseifner count=50 root=0",
    ],
)
def test_wrong_data_are_noticed(any_mpi: Program, line: str, fault: str) -> None:
    assert "expected" in any_mpi.complaint(6, line.split(), fault)


def test_a_complaint_says_what_is_where(any_mpi: Program) -> None:
    line = f"{TRANSPOSITION} algorithm=burst warmup=0 repetitions=1 fault=missing"
    done = any_mpi.start(4, *line.split())
    # Of a row of two, rank 1 had the levels from 5 on; all of layout a's column (0, 0) was rank 0's.
    said = "rank 0 after phase c-d, point (0, 0, 5): found nothing, expected what rank 0 had at (0, 0, 5)"
    assert said in done.stderr


@pytest.mark.parametrize(
    ("line", "workload"),
    [
        ("algorithm=bruck", {"algorithm": "bruck"}),
        ("algorithm=ring-k radix=4", {"algorithm": "ring-k", "radix": 4}),
        ("implementation=library", {"algorithm": "burst"}),  # each block travels once
    ],
)
def test_messages_are_those_of_the_schedule(any_mpi: Program, line: str, workload: dict[str, Any]) -> None:
    printed = any_mpi(RANKS, f"{TRANSPOSITION} {line}")
    schedule = _simulator.schedule.Schedule(
        {"kind": "transposition", "grid": [37, 23, 9], "decomposition": [4, 4], **workload}, RANKS
    )
    totals = list(schedule.totals().values())
    assert printed["messages"] == sum(messages for messages, _ in totals)
    assert printed["bytes"] == sum(length for _, length in totals)


@pytest.mark.parametrize("line", BY_DATATYPES)
def test_datatypes_carry_the_messages_of_explicit_buffers(any_mpi: Program, line: str) -> None:
    packed, typed = (any_mpi(RANKS, f"{line} buffers={buffers}") for buffers in ("explicit", "datatypes"))
    for key in ("messages", "bytes", "elements_checked"):
        assert packed[key] == typed[key] > 0


#: Counts types that are made and freed; what a handle is differs between libraries, but not how it is handed on.
COUNTS_TYPES = """\
#include <stdio.h>
static long made, committed, freed;
int MPI_Type_create_hvector(int count, int length, long stride, void* of, void* type) {
    ++made;
    return NEXT(int (*)(int, int, long, void*, void*), "MPI_Type_create_hvector")(count, length, stride, of, type);
}
int MPI_Type_commit(void* type) {
    ++committed;
    return NEXT(int (*)(void*), "MPI_Type_commit")(type);
}
int MPI_Type_free(void* type) {
    ++freed;
    return NEXT(int (*)(void*), "MPI_Type_free")(type);
}
int MPI_Finalize(void) {
    fprintf(stderr, "types: %ld made, %ld committed, %ld freed\\n", made, committed, freed);
    return NEXT(int (*)(void), "MPI_Finalize")();
}
"""


@pytest.mark.parametrize("repetitions", [1, 3])
def test_a_message_has_one_type_at_either_end_until_all_is_done(
    any_mpi: Program, tmp_path: Path, repetitions: int
) -> None:
    library = replace(any_mpi.library, variables=any_mpi.library.variables | preloaded(tmp_path, COUNTS_TYPES))
    line = f"{HALO} width=7 calls=sendrecv warmup=1 repetitions={repetitions}"
    counts = {}
    for buffers in ("explicit", "datatypes"):
        done = Program(library, any_mpi.path).start(RANKS, *line.split(), f"buffers={buffers}")
        assert done.status == 0, done.stderr
        told = re.findall(r"types: (\d+) made, (\d+) committed, (\d+) freed", done.stderr)
        assert len(told) == RANKS
        counts[buffers] = [sum(map(int, numbers)) for numbers in zip(*told, strict=True)]
    ends = 2 * json.loads(done.stdout)["messages"]
    assert counts == {"explicit": [0, 0, 0], "datatypes": [2 * ends, ends, 2 * ends]}  # a type of planes for each


def test_times_are_those_of_phases_and_ranks(any_mpi: Program) -> None:
    line = f"{TRANSPOSITION} algorithm=burst warmup=1 repetitions=4"
    done = any_mpi.start(RANKS, *line.split())
    assert done.status == 0
    printed = json.loads(done.stdout)
    assert len(printed["repetitions"]) == 4
    for entry in printed["repetitions"]:
        ranks = entry["rank_time_s"]
        assert 0 < ranks["min"] <= ranks["median"] <= ranks["max"] == pytest.approx(entry["time_s"])
        assert max(entry["phases"].values()) <= entry["time_s"] * (1 + 1e-9) <= 1.01 * sum(entry["phases"].values())
        assert 0 <= entry["copy_s"]["max"] <= ranks["max"]
    times = sorted(entry["time_s"] for entry in printed["repetitions"])
    assert printed["time_s"]["median"] == pytest.approx((times[1] + times[2]) / 2)
    assert (printed["time_s"]["min"], printed["time_s"]["max"]) == (times[0], times[-1])


def test_without_data_nothing_is_verified(any_mpi: Program) -> None:
    for line in (
        f"{TRANSPOSITION} algorithm=bruck",
        f"{HALO} width=7 implementation=library",
        f"{HALO} width=7 buffers=datatypes",
        f"{ALLREDUCE} algorithm=ring",
    ):
        printed = any_mpi(RANKS, f"{line} data=null")
        assert printed["verified"] is None
        assert printed["elements_checked"] == 0
        assert printed["copy_s"]["max"] < 1e-3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "kind: found nothing, allowed: transposition, halo, allreduce, collective"),
        (
            "kind=pingpon",
            "found 'pingpon', allowed: transposition, halo, allreduce, collective, pattern, trace, "
            "random-shifts, program, jobs, pingpong",
        ),
        ("kind=collective operation=gather algorithm=ring count=1", "found 'ring', allowed: linear, binomial"),
        ("kind=collective operation=gather algorithm=linear count=1 root=2", "workload.root: found 2, allowed: a rank"),
        ("kind=halo algorith=x width=1 grid=8x8x8", "algorith: found an unknown key, allowed: the keys"),
        ("transposition", "arguments: found 'transposition', allowed: key=value"),
        ("kind=halo width=0 grid=8x8x8", "width: found '0', allowed: an integer from 1"),
        ("kind=halo width=1 grid=8x8", "workload.grid: found '8x8', allowed: three integers from 1"),
        ("kind=halo width=1 grid=8x8x8 decomposition=3x1", "workload.decomposition: found [3, 1], that is 3 processes"),
        ("kind=halo width=1 grid=8x8x8 buffers=packed", "buffers: found 'packed', allowed: explicit, datatypes"),
        (
            "kind=halo width=1 grid=8x8x8 buffers=datatypes implementation=library",
            "buffers: found datatypes with implementation=library, allowed: explicit, or implementation=schedule",
        ),
        (
            "kind=program steps.0.kind=halo steps.0.width=1 steps.0.grid=8x8x8 steps.0.buffers=datatypes",
            "workload.steps.0.buffers: found datatypes in a step, whose messages are of no field, allowed: explicit",
        ),
        ("kind=transposition algorithm=ring grid=8x8x8", "algorithm: found 'ring', allowed: ring-k, burst, bruck"),
        ("kind=allreduce algorithm=ring ranks=3", "ranks: found that 2 were started, allowed: 3"),
        ("kind=allreduce algorithm=ring repetitions=0", "repetitions: found '0', allowed: an integer from 1"),
        ("kind=allreduce algorithm=ring data=null verify=1", "verify: found 1 with data=null"),
        ("kind=halo kind=halo", "kind: found it twice, allowed: each key once"),
    ],
)
def test_a_mistake_is_one_line(any_mpi: Program, line: str, said: str) -> None:
    done = any_mpi.start(2, *line.split())
    assert done.status == 2
    assert done.stdout == ""
    complaints = [text for text in done.stderr.splitlines() if text.startswith("tramontane-mpi: ")]
    assert len(complaints) == 1
    assert said in complaints[0]


@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.long)], indirect=True)
def test_single_messages_are_timed_and_checked(mpi: Program) -> None:
    done = mpi.start(2, "kind=pingpong", "sizes=0,1,64,1024,65536", "repetitions=5", "warmup=1", "window=4")
    assert done.status == 0, done.stderr
    printed = json.loads(done.stdout)
    assert printed["verified"] is True
    assert [entry["bytes"] for entry in printed["sizes"]] == [0, 1, 64, 1024, 65536]
    for entry in printed["sizes"]:
        for key in ("one_way_s", "gap_s", "send_s"):
            assert 0 < entry[key]["min"] <= entry[key]["median"] <= entry[key]["max"]
        assert (entry["receive_s"] is None) == (entry["bytes"] > 1024)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "sizes: found nothing, allowed: integers from 0"),
        ("sizes=1,,2", "sizes: found '1,,2', allowed: integers from 0"),
        ("sizes=8 windw=2", "windw: found an unknown key, allowed: the keys kind, sizes, window"),
    ],
)
def test_mistakes_in_what_to_time(any_mpi: Program, line: str, said: str) -> None:
    done = any_mpi.start(2, "kind=pingpong", *line.split())
    assert done.status == 2
    assert f"tramontane-mpi: {said}" in done.stderr
