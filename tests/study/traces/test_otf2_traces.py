"""Traces in OTF2: what we write comes back, what others write is read, and mistakes are one line."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tramontane.errors import InputError
from tramontane.study import Point
from tramontane.study.collectives.collective_calls import DEFAULT_ALGORITHMS
from tramontane.study.traces import otf2_traces, traces
from tramontane.study.traces.extrapolation import extrapolated
from tramontane.substrates.simulator import Simulator, schedule

otf2 = pytest.importorskip("otf2")
_otf2 = pytest.importorskip("_otf2")

pytestmark = pytest.mark.usefixtures("tables")

NET = {"topology": "torus", "geometry": [4, 2, 1], "nodes_per_switch": 1, "protocol": {"negligible_size": "0 B"}}
WORKLOADS = [
    {"kind": "collective", "operation": "alltoall", "algorithm": "bruck", "radix": 2, "count": 300},
    {
        "kind": "program",
        "grid": [48, 24, 6],
        "repeat": 2,
        "steps": [
            {"kind": "work", "time": "3 us", "imbalance": "30 %"},
            {"kind": "halo", "width": 2, "begin": "h"},
            {"kind": "work", "time": "7 us"},
            {"kind": "end", "of": "h"},
            {"kind": "allreduce", "algorithm": "recursive-doubling", "count": 900},
        ],
    },
]


def result(workload: dict[str, Any], ranks: int = 8, geometry: list[int] | None = None) -> dict[str, Any]:
    machine = NET | ({"geometry": geometry} if geometry else {})
    return Simulator().run(Point.model_validate({"ranks": ranks, "workload": workload, "machine": machine}))


@pytest.mark.parametrize("workload", WORKLOADS, ids=["collective", "program"])
def test_what_we_write_comes_back(tmp_path: Path, workload: dict[str, Any]) -> None:
    point = Point.model_validate({"ranks": 8, "workload": workload, "machine": NET})
    written = schedule(point.workload, 8)
    otf2_traces.write(written, 8, tmp_path / "x.otf2", "x")
    traces.write_goal(written, 8, tmp_path / "x.goal")
    own, other, goal = (
        result(each)
        for each in (
            workload,
            {"kind": "trace", "file": str(tmp_path / "x.otf2")},
            {"kind": "trace", "file": str(tmp_path / "x.goal")},
        )
    )
    for key in ("messages", "bytes", "packets"):
        assert own[key] == other[key] == goal[key]
    assert other["time_s"] == pytest.approx(own["time_s"], rel=1e-9)
    assert goal["time_s"] == pytest.approx(own["time_s"], rel=1e-3)  # whole nanoseconds


#: Debian's release of OTF2, its library and its tools, shares nothing with the one of the virtual environment.
DEBIAN = "apt-get install --no-install-recommends python3-otf2 otf2-tools"
SYSTEM_PYTHON = Path("/usr/bin/python3")


def test_what_debians_library_writes_is_read(tmp_path: Path) -> None:
    """Another release of OTF2 writes it in a process of its own; the same operations as a GOAL text by hand."""
    has_otf2 = [str(SYSTEM_PYTHON), "-c", "import otf2"]
    if not SYSTEM_PYTHON.exists() or subprocess.run(has_otf2, check=False, capture_output=True).returncode != 0:
        pytest.skip(f"Debian's python3-otf2 not found; installed by: {DEBIAN}")
    script = Path(__file__).with_name("written_by_debian.py")
    subprocess.run(
        [SYSTEM_PYTHON, script, tmp_path / "debian"], check=True, env={"PATH": "/usr/bin:/bin"}, cwd=tmp_path
    )
    text = """num_ranks 3
rank 0 {
w: calc 11000
a: send 2000b to 1 tag 1
a requires w
v: calc 5000
v irequires a
b: send 600b to 2 tag 2
b requires v
u: calc 1000
u requires a
u requires b
c: send 80b to 1 tag 3
c requires u
d: recv 80b from 1 tag 3
d requires c
z: calc 19000
z requires d
}
rank 1 {
w: calc 3000
a: recv 2000b from 0 tag 1
a requires w
v: calc 13000
v irequires a
b: send 40b to 2 tag 4
b requires a
b requires v
u: calc 1000
u requires b
c: recv 80b from 0 tag 3
c requires u
d: recv 80b from 2 tag 3
d requires c
e: send 80b to 2 tag 3
e requires c
f: send 80b to 0 tag 3
f requires d
f requires e
z: calc 19000
z requires f
}
rank 2 {
w: calc 2000
a: recv 600b from 0 tag 2
a requires w
v: calc 17000
v requires a
b: recv 40b from 1 tag 4
b requires v
u: calc 1000
u requires b
c: recv 80b from 1 tag 3
c requires u
d: send 80b to 1 tag 3
d requires u
z: calc 19000
z requires c
z requires d
}
"""
    (tmp_path / "x.goal").write_text(text)
    files = (tmp_path / "debian" / "traces.otf2", tmp_path / "x.goal")
    debian, by_hand = (result({"kind": "trace", "file": str(file)}, 3) for file in files)
    assert (debian["messages"], debian["bytes"]) == (7, 2000 + 600 + 40 + 4 * 80)
    assert debian["steps"][0]["work_s"] == pytest.approx(
        (36e-6 + 36e-6 + 39e-6) / 3, rel=1e-12
    )  # without what is inside
    for key in ("time_s", "messages", "bytes", "packets", "control_packets"):
        assert debian[key] == by_hand[key], key
    # Its work is of whole nanoseconds, so that GOAL says it all.
    point = Point.model_validate({"ranks": 3, "workload": {"kind": "trace", "file": str(files[0])}, "machine": NET})
    traces.write_goal(schedule(point.workload, 3), 3, tmp_path / "again.goal")
    again = result({"kind": "trace", "file": str(tmp_path / "again.goal")}, 3)
    assert again["time_s"] == debian["time_s"]
    with pytest.raises(ValueError, match=r"workload.kind: found 'trace', allowed: any other in OTF2; a trace can be"):
        otf2_traces.write(schedule(point.workload, 3), 3, tmp_path / "again.otf2", "again")


def test_what_we_write_is_read_by_otf2_print(tmp_path: Path) -> None:
    if shutil.which("otf2-print") is None:
        pytest.skip(f"otf2-print not found; installed by: {DEBIAN}")
    point = Point.model_validate({"ranks": 8, "workload": WORKLOADS[1], "machine": NET})
    written = schedule(point.workload, 8)
    otf2_traces.write(written, 8, tmp_path / "x.otf2", "x")
    printed = subprocess.run(["otf2-print", tmp_path / "x.otf2"], check=True, capture_output=True, text=True)
    lines = [line.split() for line in printed.stdout.splitlines()]
    counts = Counter(words[0] for words in lines if words)
    sent = sum(int(words[words.index("Length:") + 1].rstrip(",")) for words in lines if words[:1] == ["MPI_ISEND"])
    own = result(WORKLOADS[1])
    assert printed.stderr == ""
    assert (counts["MPI_ISEND"], sent) == (own["messages"], own["bytes"])
    for what in ("MPI_ISEND_COMPLETE", "MPI_IRECV_REQUEST", "MPI_IRECV"):
        assert counts[what] == own["messages"]
    assert counts["ENTER"] == counts["LEAVE"]


class Program:
    """Writes a trace of ranks in OTF2, by the library alone: times in ns, a region of MPI for each call."""

    def __init__(self, file: Path, ranks: int) -> None:
        self.trace = otf2.writer.Writer(str(file.parent / "written"), timer_resolution=10**9)
        self.file = file.parent / "written" / "traces.otf2"
        new = self.trace.definitions
        node = new.system_tree_node("node")
        self.ranks = [
            new.location(f"Master {i}", group=new.location_group(f"process {i}", system_tree_parent=node))
            for i in range(ranks)
        ]
        new.group("", group_type=otf2.GroupType.COMM_LOCATIONS, paradigm=otf2.Paradigm.MPI, members=tuple(self.ranks))
        self.world = self.communicator(*range(ranks))
        alone = new.group("self", group_type=otf2.GroupType.COMM_SELF, paradigm=otf2.Paradigm.MPI, members=())
        self.self = new.comm("MPI_COMM_SELF", group=alone)
        self.clock = [1000 * (i + 1) for i in range(ranks)]

    def communicator(self, *members: int) -> Any:
        new = self.trace.definitions
        places = tuple(self.ranks[i] for i in members)
        kind = otf2.GroupType.COMM_GROUP
        group = new.group(f"{members}", group_type=kind, paradigm=otf2.Paradigm.MPI, members=places)
        return new.comm(f"{members}", group=group)

    def call(self, rank: int, name: str, *events: tuple[Any, ...], work: int = 0, inside: int = 500) -> None:
        out = self.trace.event_writer_from_location(self.ranks[rank])
        region = self.trace.definitions.region(name, paradigm=otf2.Paradigm.MPI)
        self.clock[rank] += work
        out.enter(self.clock[rank], region)
        self.clock[rank] += inside
        for what, *values in events:
            getattr(out, what)(self.clock[rank], *values)
        out.leave(self.clock[rank], region)

    def aside(self, rank: int, what: str, time: int, *before: Any) -> None:
        """Tell of the tool itself, outside of calls, which takes some time."""
        out = self.trace.event_writer_from_location(self.ranks[rank])
        begin = self.clock[rank]
        self.clock[rank] += time
        getattr(out, what)(begin, *(before or (self.clock[rank],)))

    def clock_offsets(self, rank: int, *offsets: tuple[int, int]) -> None:
        """Say what is to be added to times of a rank, as tools do that compare the clocks of nodes."""
        definitions = self.trace.event_writer_from_location(self.ranks[rank])._def_handle
        for time, offset in offsets:
            _otf2.DefWriter_WriteClockOffset(definitions, time, offset, 0.0)

    def workload(self) -> dict[str, Any]:
        self.trace.close()
        return {"kind": "trace", "file": str(self.file)}


def test_calls_of_others_are_read(tmp_path: Path) -> None:
    """The same as a GOAL text by hand: work, an open receive, tags in two communicators, a message to oneself."""
    program = Program(tmp_path / "x", 3)
    pair = program.communicator(2, 0)
    for rank in range(3):
        program.call(rank, "MPI_Init", work=77, inside=9999)
    program.call(0, "MPI_Isend", ("mpi_isend", 0, pair, 5, 1000, 1), work=2000)
    program.call(0, "MPI_Send", ("mpi_send", 2, program.world, 5, 3000), work=100)
    program.call(0, "MPI_Sendrecv", ("mpi_send", 0, program.world, 1, 8), ("mpi_recv", 0, program.world, 1, 8))
    program.call(0, "MPI_Wait", ("mpi_isend_complete", 1), work=400)
    program.call(2, "MPI_Irecv", ("mpi_irecv_request", 7))
    program.call(2, "MPI_Recv", ("mpi_recv", 0, program.world, 5, 3000), work=50)
    program.call(2, "MPI_Test", ("mpi_request_test", 7), work=900)
    program.call(2, "MPI_Test", ("mpi_irecv", 1, pair, 5, 1000, 7), work=10_000)  # no work: it polls
    program.call(1, "MPI_Finalize", work=60)
    text = """num_ranks 3
rank 0 {
w: calc 2000
a: send 1000b to 2 tag 1
a requires w
v: calc 100
v irequires a
b: send 3000b to 2 tag 2
b requires v
u: calc 400
u requires b
}
rank 1 {
w: calc 60
}
rank 2 {
a: recv 1000b from 0 tag 1
w: calc 50
w irequires a
b: recv 3000b from 0 tag 2
b requires w
v: calc 900
v requires b
}
"""
    (tmp_path / "x.goal").write_text(text)
    ours, theirs = result(program.workload(), 3), result({"kind": "trace", "file": str(tmp_path / "x.goal")}, 3)
    assert ours["time_s"] == theirs["time_s"]
    assert (ours["messages"], ours["bytes"]) == (2, 4000)


def test_time_after_a_test_is_work_where_nothing_is_open(tmp_path: Path) -> None:
    """After a test of nothing, of 10 us; one in vain is followed by none. In a trace of 1001 s in all."""
    program = Program(tmp_path / "x", 2)
    program.call(0, "MPI_Init")
    program.call(0, "MPI_Testall", work=10**12)
    program.call(0, "MPI_Testall", work=10**9)
    program.call(0, "MPI_Irecv", ("mpi_irecv_request", 7))
    program.call(0, "MPI_Test", ("mpi_request_test", 7), work=2000)
    program.call(0, "MPI_Wait", ("mpi_irecv", 1, program.world, 5, 10, 7), work=10**9)
    program.call(1, "MPI_Init")
    program.call(1, "MPI_Send", ("mpi_send", 0, program.world, 5, 10))
    assert result(program.workload(), 2)["time_s"] == pytest.approx(1001 + 2e-6, abs=1e-8)


@pytest.mark.parametrize("name", ["MPI_Initialized", "MPI_Init", "PMPI_Init_thread", "mpi_init_f08ts_", "MPI_Init()"])
def test_work_before_mpi_is_there_is_none(tmp_path: Path, name: str) -> None:
    """But a program that asks whether it is there has begun to work."""
    program = Program(tmp_path / "x", 1)
    program.call(0, "MPI_Comm_rank")
    program.call(0, name, work=3000)
    program.call(0, "MPI_Finalize")
    work = 3e-6 if name == "MPI_Initialized" else 0
    assert result(program.workload(), 1)["time_s"] == pytest.approx(work, rel=1e-12)


@pytest.mark.parametrize(("name", "work"), [("MPI_Test_cancelled", 5e-6), ("mpi_test_", 0), ("MPI_Testany()", 0)])
def test_what_is_a_test(tmp_path: Path, name: str, work: float) -> None:
    """To ask whether a message was cancelled is no poll."""
    program = Program(tmp_path / "x", 2)
    program.call(0, "MPI_Irecv", ("mpi_irecv_request", 7))
    program.call(0, name)
    program.call(0, "MPI_Wait", ("mpi_irecv", 1, program.world, 5, 10, 7), work=5000)
    program.call(1, "MPI_Send", ("mpi_send", 0, program.world, 5, 10))
    assert result(program.workload(), 2)["steps"][0]["work_s"] == pytest.approx(work / 2, rel=1e-12)


def test_what_each_rank_does_alone(tmp_path: Path) -> None:
    """In MPI_COMM_SELF, which is one in the trace: some ranks call collectives there, and send to themselves."""
    program = Program(tmp_path / "x", 3)
    none = (1 << 32) - 1
    for rank in range(3):
        program.call(rank, "MPI_Init")
    for _ in range(2):
        program.call(
            0, "MPI_Allreduce", ("mpi_collective_end", otf2.CollectiveOp.ALLREDUCE, program.self, none, 80, 80)
        )
    program.call(2, "MPI_Bcast", ("mpi_collective_end", otf2.CollectiveOp.BCAST, program.self, 0, 80, 80), work=2000)
    program.call(1, "MPI_Isend", ("mpi_isend", 0, program.self, 3, 100, 5))
    program.call(1, "MPI_Recv", ("mpi_recv", 0, program.self, 3, 100))
    program.call(1, "MPI_Wait", ("mpi_isend_complete", 5), work=1000)
    found = result(program.workload(), 3)
    assert found["messages"] == 0
    assert found["time_s"] == pytest.approx(2e-6, rel=1e-12)


def test_what_the_tool_does_is_no_work(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 1)
    program.call(0, "MPI_Init")
    program.aside(0, "buffer_flush", 10**9)
    program.aside(0, "measurement_on_off", 0, otf2.MeasurementMode.ON)
    program.call(0, "MPI_Comm_rank", work=2000)
    program.aside(0, "buffer_flush", 10**6)
    program.call(0, "MPI_Finalize", work=1000)
    assert result(program.workload(), 1)["time_s"] == pytest.approx(3e-6, rel=1e-12)


def test_a_clock_that_its_offsets_turn_back_is_one_line(tmp_path: Path) -> None:
    """They are added to the times that are written, linearly between two of them."""
    for name, last in (("faster", 500), ("back", -20_000)):
        program = Program(tmp_path / name / "x", 1)
        program.call(0, "MPI_Init")
        program.call(0, "MPI_Finalize", work=2000)
        program.clock_offsets(0, (0, 10**6), (10**4, 10**6 + last))
        program.trace.close()
        if last > 0:
            assert result({"kind": "trace", "file": str(program.file)}, 1)["time_s"] == pytest.approx(2.1e-6, rel=1e-3)
            continue
        line = "rank 0, event 2: found a time before that of the last event; allowed: clock offsets that turn no clock"
        with pytest.raises(InputError, match=line):
            otf2_traces.read(program.file, DEFAULT_ALGORITHMS)


def test_messages_that_are_probed_are_received_later(tmp_path: Path) -> None:
    """They have their places among others of the same line from the probe on: the same as a GOAL text by hand."""
    none = (1 << 64) - 1
    program = Program(tmp_path / "x", 2)
    world = program.world
    for rank in range(2):
        program.call(rank, "MPI_Init")
    for size in (80, 160, 240, 320):
        program.call(0, "MPI_Send", ("mpi_send", 1, world, 7, size))
    program.call(1, "MPI_Mprobe", ("mpi_probe", 0, world, 7, 31), work=1000)
    program.call(1, "MPI_Recv", ("mpi_recv", 0, world, 7, 160), work=2000)
    program.call(1, "MPI_Improbe", ("mpi_probe", 0, world, 7, 32))
    program.call(1, "MPI_Mrecv", ("mpi_mrecv", 31, 80), work=3000)
    program.call(1, "MPI_Imrecv", ("mpi_imrecv_request", 32, 5), work=4000)
    program.call(1, "MPI_Iprobe", work=5000)
    program.call(1, "MPI_Iprobe", ("mpi_probe", 0, world, 7, none), work=6000)  # no work: it has asked in vain
    program.call(1, "MPI_Wait", ("mpi_imrecv", 5, 240), work=7000)
    program.call(1, "MPI_Recv", ("mpi_recv", 0, world, 7, 320))
    program.call(1, "MPI_Finalize", work=8000)
    text = """num_ranks 2
rank 0 {
a: send 80b to 1 tag 7
b: send 160b to 1 tag 7
b requires a
c: send 240b to 1 tag 7
c requires b
d: send 320b to 1 tag 7
d requires c
}
rank 1 {
t: calc 1000
a: recv 80b from 0 tag 7
u: calc 2000
u requires t
b: recv 160b from 0 tag 7
b requires u
c: recv 240b from 0 tag 7
v: calc 3000
v requires b
a requires v
w: calc 4000
w requires a
c requires w
x: calc 5000
x irequires c
y: calc 7000
y requires x
d: recv 320b from 0 tag 7
d requires y
d requires c
z: calc 8000
z requires d
}
"""
    (tmp_path / "x.goal").write_text(text)
    ours, theirs = result(program.workload(), 2), result({"kind": "trace", "file": str(tmp_path / "x.goal")}, 2)
    for key in ("time_s", "messages", "bytes", "steps"):
        assert ours[key] == theirs[key], key
    assert (ours["messages"], ours["bytes"]) == (4, 800)
    assert ours["time_s"] > 30e-6


def test_a_message_that_no_probe_has_found_is_one_line(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 1)
    program.call(0, "MPI_Mrecv", ("mpi_mrecv", 31, 80))
    with pytest.raises(InputError, match=r"rank 0, event 2: found the receive of message 31; allowed: messages that a"):
        traces.pack(Path(program.workload()["file"]))


def test_synchronous_sends_end_with_their_receives(tmp_path: Path) -> None:
    """With an empty message, which waits until the receiver is free: the same as a GOAL text by hand."""
    program = Program(tmp_path / "x", 2)
    world = program.world
    for rank in range(2):
        program.call(rank, "MPI_Init")
    program.call(0, "MPI_Ssend", ("mpi_send", 1, world, 7, 80))
    program.call(0, "MPI_Send", ("mpi_send", 1, world, 7, 160), work=1000)
    program.call(0, "MPI_Issend", ("mpi_isend", 1, world, 7, 240, 4))
    program.call(0, "MPI_Wait", ("mpi_isend_complete", 4), work=2000)
    program.call(0, "MPI_Issend", ("mpi_isend", 1, world, 7, 8, 5))
    program.call(0, "MPI_Wait", ("mpi_request_cancelled", 5))
    program.call(0, "MPI_Finalize", work=3000)
    for size in (80, 160, 240):
        program.call(1, "MPI_Recv", ("mpi_recv", 0, world, 7, size), work=50_000)
    program.call(1, "MPI_Finalize", work=60_000)
    text = """num_ranks 2
rank 0 {
a: send 80b to 1 tag 7
A: recv 0b from 1 tag 8
w: calc 1000
w requires a
w requires A
b: send 160b to 1 tag 7
b requires w
c: send 240b to 1 tag 7
c requires b
C: recv 0b from 1 tag 8
C requires b
v: calc 2000
v irequires c
u: calc 3000
u requires v
u requires c
u requires C
}
rank 1 {
w: calc 50000
a: recv 80b from 0 tag 7
a requires w
A: send 0b to 0 tag 8
A requires a
v: calc 50000
v requires a
b: recv 160b from 0 tag 7
b requires v
u: calc 50000
u requires b
c: recv 240b from 0 tag 7
c requires u
C: send 0b to 0 tag 8
C requires c
t: calc 60000
t requires c
}
"""
    (tmp_path / "x.goal").write_text(text)
    ours, theirs = result(program.workload(), 2), result({"kind": "trace", "file": str(tmp_path / "x.goal")}, 2)
    assert ours["time_s"] == theirs["time_s"] > 210e-6
    for key in ("messages", "bytes", "packets", "control_packets", "steps"):
        assert ours[key] == theirs[key], key
    assert (ours["messages"], ours["bytes"]) == (5, 480)


def test_a_synchronous_send_that_nobody_receives_is_named(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 2)
    program.call(0, "MPI_Ssend", ("mpi_send", 1, program.world, 7, 80))
    program.call(1, "MPI_Finalize")
    with pytest.raises(InputError, match=r"rank 0, event 2: found a send to rank 1 with tag 7, which receives none"):
        traces.pack(Path(program.workload()["file"]))


def test_a_broken_clock_is_one_line(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 2)
    for rank in range(2):
        program.call(rank, "MPI_Init")
    program.call(0, "MPI_Barrier", work=10**15 - 1)
    program.call(0, "MPI_Finalize", work=1)
    program.call(1, "MPI_Barrier", work=10**15)
    program.call(1, "MPI_Finalize", work=1000)
    with pytest.raises(InputError, match=r"rank 1, event 5: found 1e\+06 s outside of calls; allowed: up to 1000000 s"):
        traces.pack(Path(program.workload()["file"]))


@pytest.mark.parametrize(
    ("told", "event", "what"), [(b"\x0c\x00", 1, "region"), (b"\x01\x01\x00\x01\x05", 4, "communicator")]
)
def test_what_is_not_defined_is_one_line(tmp_path: Path, told: bytes, event: int, what: str) -> None:
    """A byte of a rank's events has changed: region 0 of Enter, communicator 0 of MpiSend to none."""
    program = Program(tmp_path / "x", 2)
    program.call(0, "MPI_Init")
    program.call(0, "MPI_Send", ("mpi_send", 1, program.world, 5, 3000))
    program.call(1, "MPI_Finalize")
    file = Path(program.workload()["file"])
    events = file.parent / "traces" / "0.evt"
    before = events.read_bytes()
    assert before.count(told) == 1
    events.write_bytes(before.replace(told, told.replace(b"\x00", b"\xff")))
    with pytest.raises(InputError, match=f"rank 0, event {event}: found a {what} without a definition; allowed: those"):
        traces.pack(file)


@pytest.mark.parametrize("event", [("mpi_isend_complete", 3), ("non_blocking_collective_request", 3)])
def test_calls_of_other_threads_are_one_line(tmp_path: Path, event: tuple[Any, ...]) -> None:
    program = Program(tmp_path / "x", 1)
    program.ranks.append(program.trace.definitions.location("thread 1", group=program.ranks[0].group))
    program.clock.append(1000)
    program.call(0, "MPI_Init")
    program.call(1, "MPI_X", event)
    with pytest.raises(
        InputError, match=r"location 'thread 1': found calls of MPI; allowed: those of one thread a rank"
    ):
        traces.pack(Path(program.workload()["file"]))


def test_a_part_that_is_missing_is_one_line(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 2)
    for rank in range(2):
        program.call(rank, "MPI_Init")
    file = Path(program.workload()["file"])
    for part in (file.parent / "traces" / "1.evt", file.with_suffix(".def")):
        part.unlink()
        with pytest.raises(
            InputError, match=r"allowed: an OTF2 archive that is whole, with traces.def, and with events of each loc"
        ):
            traces.pack(file)


def test_ranks_that_can_not_be_are_one_line(tmp_path: Path) -> None:
    def refusal(where: str, *members: int) -> str:
        (tmp_path / where).mkdir()
        program = Program(tmp_path / where / "x", 2)
        new = program.trace.definitions
        regions = new.group("work", group_type=otf2.GroupType.REGIONS, members=(new.region("work"),))
        group = program.communicator(*members) if members else new.comm("regions", group=regions)
        for rank in range(2):
            sums = ("mpi_collective_end", otf2.CollectiveOp.ALLREDUCE, group, (1 << 32) - 1, 80, 80)
            program.call(rank, "MPI_Allreduce", sums)
        with pytest.raises(InputError) as told:
            traces.pack(Path(program.workload()["file"]))
        return str(told.value).partition("traces.otf2: ")[2]

    assert refusal("a", 1) == (
        "rank 0, event 2: found a communicator that the rank is not in; allowed: those that it is in"
    )
    assert refusal("b") == (
        "rank 0, event 2: found a communicator of more than ranks of MPI; allowed: those of ranks of MPI"
    )


def test_a_size_that_can_not_be_is_one_line(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 2)
    program.call(0, "MPI_Send", ("mpi_send", 1, program.world, 5, (1 << 64) - 1))
    program.call(1, "MPI_Recv", ("mpi_recv", 0, program.world, 5, (1 << 64) - 1))
    with pytest.raises(InputError, match=r"rank 0, event 2: found \d{19} B; allowed: 0 to \d{13} B"):
        traces.pack(Path(program.workload()["file"]))


def test_a_collective_that_otf2_has_not_is_one_line(tmp_path: Path) -> None:
    """A byte of a rank's events has changed: which collective an MpiCollectiveEnd is of."""
    program = Program(tmp_path / "x", 1)
    program.call(0, "MPI_Scan", ("mpi_collective_end", otf2.CollectiveOp.SCAN, program.world, 0, 8, 8))
    file = Path(program.workload()["file"])
    events = file.parent / "traces" / "0.evt"
    kind = events.read_bytes().rpartition(b"\x17")
    events.write_bytes(kind[0] + kind[1] + kind[2][:1] + b"\x7f" + kind[2][2:])
    with pytest.raises(InputError, match=r"rank 0, event 2: found collective 127; allowed: those that OTF2 has"):
        traces.pack(file)


def test_a_send_may_be_cancelled(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 2)
    program.call(0, "MPI_Isend", ("mpi_isend", 1, program.world, 7, 1000, 4))
    program.call(0, "MPI_Cancel")
    program.call(0, "MPI_Wait", ("mpi_request_cancelled", 4))
    program.call(0, "MPI_Send", ("mpi_send", 1, program.world, 7, 30))
    program.call(1, "MPI_Recv", ("mpi_recv", 0, program.world, 7, 30))
    found = result(program.workload(), 2)
    assert (found["messages"], found["bytes"]) == (1, 30)


@pytest.mark.parametrize(
    ("operation", "sizes", "keys"),
    [
        ("ALLREDUCE", (4 * 800, 4 * 800), {"operation": "allreduce", "algorithm": "recursive-doubling", "count": 100}),
        ("BARRIER", (0, 0), {"operation": "barrier", "algorithm": "dissemination"}),
        ("ALLTOALL", (4 * 80, 4 * 80), {"operation": "alltoall", "algorithm": "ring-k", "radix": 1, "count": 10}),
        ("ALLGATHER", (4 * 80, 4 * 80), {"operation": "allgather", "algorithm": "ring", "count": 10}),
    ],
)
@pytest.mark.parametrize("immediate", [False, True])
def test_collectives_are_our_algorithms(
    tmp_path: Path, operation: str, sizes: tuple[int, int], keys: dict[str, Any], immediate: bool
) -> None:
    program = Program(tmp_path / "x", 4)
    told = (getattr(otf2.CollectiveOp, operation), program.world, 0, *sizes)
    for rank in range(4):
        if immediate:
            program.call(rank, "MPI_Iall", ("non_blocking_collective_request", 3))
            program.call(rank, "MPI_Wait", ("non_blocking_collective_complete", *told, 3))
        else:
            program.call(rank, "MPI_All", ("mpi_collective_begin",), ("mpi_collective_end", *told))
    ours, theirs = result(program.workload(), 4), result({"kind": "collective", **keys}, 4)
    assert [ours[key] for key in ("messages", "bytes")] == [theirs[key] for key in ("messages", "bytes")]
    assert ours["time_s"] == pytest.approx(theirs["time_s"], rel=1e-9)


def test_uneven_blocks_and_roots(tmp_path: Path) -> None:
    program = Program(tmp_path / "x", 3)
    for rank in range(3):
        program.call(
            rank, "MPI_Gatherv", ("mpi_collective_end", otf2.CollectiveOp.GATHERV, program.world, 1, 80 * rank, 0)
        )
        sent, received = (2400, 0) if rank == 2 else (0, 800)
        program.call(
            rank, "MPI_Bcast", ("mpi_collective_end", otf2.CollectiveOp.BCAST, program.world, 2, sent, received)
        )
    found = result(program.workload(), 3)
    assert found["bytes"] == 160 + 2 * 800


def test_mistakes_are_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def refusal(events: list[tuple[int, str, tuple[Any, ...]]], where: Path) -> str:
        where.mkdir()
        program = Program(where / "x", 2)
        for rank, name, event in events:
            program.call(
                rank,
                name,
                tuple(program.world if isinstance(each, str) and each == "world" else each for each in event),
            )
        program.call(0, "MPI_Finalize")
        program.call(1, "MPI_Finalize")
        with pytest.raises(InputError) as told:
            traces.pack(Path(program.workload()["file"]))
        return str(told.value).partition("traces.otf2: ")[2]

    barrier, broadcast = (getattr(otf2.CollectiveOp, name) for name in ("BARRIER", "BCAST"))
    assert refusal([(0, "MPI_Send", ("mpi_send", 1, "world", 5, 8))], tmp_path / "a").startswith(
        "rank 0, event 2: found a send to rank 1 with tag 5, which receives none"
    )
    assert refusal([(1, "MPI_Wait", ("mpi_isend_complete", 4))], tmp_path / "b") == (
        "rank 1, event 2: found the end of request 4; allowed: requests that a send has begun"
    )
    assert refusal([(1, "MPI_Barrier", ("mpi_collective_end", barrier, "world", 0, 0, 0))], tmp_path / "c") == (
        "rank 1, event 2: found collective 1 of its communicator, which rank 0 does not call; "
        "allowed: calls of all 2 ranks"
    )
    mixed = [
        (rank, "MPI_X", ("mpi_collective_end", what, "world", 0, 8, 8)) for rank, what in ((0, barrier), (1, broadcast))
    ]
    assert refusal(mixed, tmp_path / "d") == (
        "rank 0, event 2: found BARRIER at rank 0 and BCAST with root 0 at rank 1; allowed: one call, and one root"
    )
    roots = [(rank, "MPI_Bcast", ("mpi_collective_end", broadcast, "world", 1 - rank, 8, 8)) for rank in (0, 1)]
    assert refusal(roots, tmp_path / "e") == (
        "rank 0, event 2: found BCAST with root 1 at rank 0 and BCAST with root 0 at rank 1; "
        "allowed: one call, and one root"
    )
    outside = [(rank, "MPI_Bcast", ("mpi_collective_end", broadcast, "world", 7, 8, 8)) for rank in (0, 1)]
    assert refusal(outside, tmp_path / "f") == "rank 0, event 2: found root 7; allowed: 0 to 1"
    off = [(1, "MPI_Pcontrol", ("measurement_on_off", otf2.MeasurementMode.OFF))]
    assert refusal(off, tmp_path / "g") == (
        "rank 1, event 2: found measurement that is switched off; allowed: a trace of all that ranks do"
    )
    (tmp_path / "no.otf2").write_text("num_ranks 2")
    with pytest.raises(InputError, match=r"no.otf2: can't be read"):
        traces.pack(tmp_path / "no.otf2")
    assert capfd.readouterr().err == "", "the library tells of it, too"


def on_a_grid(folder: Path, rows: int, columns: int) -> Path:
    """Write a model: a halo in a communicator of its own, and collectives of all ranks and of rows."""
    ranks = rows * columns
    program = Program(folder / f"{ranks}" / "x", ranks)
    grid = program.communicator(*range(ranks))
    lines = [program.communicator(*range(row * columns, (row + 1) * columns)) for row in range(rows)]
    operations = otf2.CollectiveOp
    for rank in range(ranks):
        row, column = divmod(rank, columns)
        near = [
            (row + down) * columns + column + right
            for down, right in ((1, 0), (-1, 0), (0, 1), (0, -1))
            if 0 <= row + down < rows and 0 <= column + right < columns
        ]
        program.call(rank, "MPI_Init")
        for _ in range(2):
            for request, peer in enumerate(near):
                program.call(rank, "MPI_Irecv", ("mpi_irecv_request", request), work=100)
                program.call(rank, "MPI_Isend", ("mpi_isend", peer, grid, 7, 800, 10 + request))
            ends: list[Any] = [("mpi_irecv", peer, grid, 7, 800, request) for request, peer in enumerate(near)]
            ends += [("mpi_isend_complete", 10 + request) for request in range(len(near))]
            program.call(rank, "MPI_Waitall", *ends, work=5000)
            sums = ("mpi_collective_end", operations.ALLREDUCE, program.world, 0, 80 * ranks, 80 * ranks)
            program.call(rank, "MPI_Allreduce", sums, work=200)
            told = (2400 * (columns - 1), 0) if column == 0 else (0, 2400)
            program.call(rank, "MPI_Bcast", ("mpi_collective_end", operations.BCAST, lines[row], 0, *told))
            program.call(rank, "MPI_Barrier", ("mpi_collective_end", operations.BARRIER, program.world, 0, 0, 0))
        program.call(rank, "MPI_Finalize", work=70)
    return Path(program.workload()["file"])


def test_more_ranks_than_were_traced(tmp_path: Path) -> None:
    for ranks in (9, 12, 16, 20):
        (tmp_path / f"{ranks}").mkdir()
    known = [on_a_grid(tmp_path, *grid) for grid in ((3, 3), (3, 4), (4, 4))]
    whole, foretold = on_a_grid(tmp_path, 4, 5), tmp_path / "foretold.goal"
    foretold.write_text("".join(extrapolated(known, 20).texts()))
    ours, theirs = (result({"kind": "trace", "file": str(file)}, 20, [5, 4, 1]) for file in (foretold, whole))
    assert [ours[key] for key in ("messages", "bytes")] == [theirs[key] for key in ("messages", "bytes")]
    assert ours["time_s"] == pytest.approx(theirs["time_s"], rel=1e-9)
