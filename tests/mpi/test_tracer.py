"""Programs that are traced: each form of call, in C and Fortran, with each MPI library; and what is wrong in traces."""

import contextlib
import os
import platform
import shutil
import struct
import subprocess
import sys
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from tests.messages import Messages
from tests.messages import messages as all_messages
from tests.mpi.conftest import Program
from tramontane.cli import app
from tramontane.errors import InputError
from tramontane.study import Point
from tramontane.study.traces import mpi_traces, traces
from tramontane.substrates.mpi import libraries, tracing
from tramontane.substrates.mpi.build import build_tracer
from tramontane.substrates.mpi.libraries import Library
from tramontane.substrates.mpi.program import workload_arguments
from tramontane.substrates.simulator import Simulator, schedule

HERE = Path(__file__).parent
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("tables")]
NET = {"topology": "torus", "geometry": [4, 2, 1], "nodes_per_switch": 1, "protocol": {"negligible_size": "0 B"}}
#: Tags of what is not a message of MPI_COMM_WORLD: of collectives, and of other communicators.
OTHERS = 1 << 30
SEVERAL_THREADS = (
    "found calls of several threads with MPI_THREAD_MULTIPLE; allowed: those of one, or MPI_THREAD_SERIALIZED"
)


@pytest.fixture
def traced(mpi: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that runs a command on ranks and returns the folder of its trace."""
    for name, value in mpi.library.variables.items():
        monkeypatch.setenv(name, value)

    def run(ranks: int, *command: str, strip: bool = False, status: int = 0) -> Path:
        folder = tmp_path / "trace"
        words = [*mpi.library.mpirun, str(ranks), *command]
        assert tracing.trace(words, folder, mpi.library.name, strip=strip) == (status, True)
        return folder

    return run


def compiled(library: Library, source: Path, where: Path, *more: str) -> str:
    """Return a program of C or Fortran, compiled with the library and more words."""
    wrapper = library.compiler
    if source.suffix == ".f90":
        wrapper = wrapper.replace("mpicxx", "mpifort")
        if shutil.which(wrapper) is None or shutil.which("gfortran") is None:
            pytest.skip("gfortran not found; installed by: apt-get install gfortran")
    language = ["-x", "c"] if source.suffix == ".c" else []
    program = where / source.stem
    words = [wrapper, *language, "-w", "-O1", "-pthread", *more, str(source), "-o", str(program)]
    subprocess.run(words, check=True, cwd=where)
    return str(program)


def point(folder: Path, ranks: int, **keys: Any) -> Point:
    workload = {"kind": "trace", "file": str(folder), **keys}
    machine = NET | {"geometry": [4, 2, -(-ranks // 8)]}
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": machine})


def messages(of: Point) -> Messages:
    """Return source, target, tag and bytes of all messages."""
    return all_messages(schedule(of.workload, of.ranks))


def sends(of: Point) -> list[list[tuple[int, int]]]:
    """Return target and bytes of the messages of each rank, in order."""
    told = schedule(of.workload, of.ranks)
    return [
        [
            (sent.peer, sent.bytes)
            for round_ in range(told.rounds)
            for sent in (told.send(rank, round_, i) for i in range(told.round(rank, round_).sends))
        ]
        for rank in range(of.ranks)
    ]


def as_goal(of: Point, file: Path) -> Path:
    traces.write_goal(schedule(of.workload, of.ranks), of.ranks, file)
    return file


def world(found: Messages) -> Messages:
    """Return those of MPI_COMM_WORLD."""
    return Counter({message: count for message, count in found.items() if message[2] < OTHERS})


def test_a_program_that_loads_mpi_later(
    mpi: Program, traced: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Python with mpi4py does: the library is none of those that the program is linked with."""
    monkeypatch.delenv("LD_PRELOAD", raising=False)  # what else these tests load first looks among those
    library = compiled(mpi.library, HERE / "late.c", tmp_path, "-shared", "-fPIC")
    folder = traced(3, sys.executable, "-c", f"import ctypes; ctypes.CDLL('{library}').run()")
    found = messages(point(folder, 3))
    assert world(found) == Counter({(rank, (rank + 1) % 3, 5, 4): 1 for rank in range(3)})
    assert sorted((a, b) for a, b, tag, _ in found if tag >= OTHERS) == [(0, 1), (1, 0)]


def test_a_program_of_another_library_is_refused(
    mpi: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Before it is taken for one whose handles are of other types."""
    other = next((library for library in libraries.found() if library.name != mpi.library.name), None)
    if other is None:
        pytest.skip("no second MPI library found; installed by: apt-get install mpich libopenmpi-dev")
    for name, value in mpi.library.variables.items():
        monkeypatch.setenv(name, value)
    program = compiled(mpi.library, HERE / "grid.c", tmp_path)
    status, written = tracing.trace([*mpi.library.mpirun, "2", program], tmp_path / "trace", other.name, strip=False)
    assert status != 0
    assert not written
    assert not (tmp_path / "trace").exists()
    kind = "Open MPI" if other.name == "openmpi" else "MPICH or its kin"
    assert f"tramontane-trace: found another MPI library, allowed: {kind}, as this" in capfd.readouterr().err


def test_each_form_of_call_in_c(mpi: Program, traced: Any, tmp_path: Path) -> None:
    folder = traced(4, compiled(mpi.library, HERE / "forms.c", tmp_path))
    found = messages(point(folder, 4))
    ring = {(1, 101): 1, (1, 102): 1, (3, 208): 1, (4, 209): 1, (5, 301): 1, (6, 302): 1, (7, 310): 3, (7, 311): 1}
    ring |= {(7, 312): 1, (8, 320): 1, (8, 321): 1, (8, 322): 1, (9, 330): 3, (10, 340): 1, (11, 341): 1, (12, 84): 1}
    expected: Messages = Counter()
    for rank in range(4):
        for (tag, size), count in ring.items():
            if tag > 1 or rank % 2 == 0:
                expected[rank, (rank + 1) % 4, tag, size] = count
        if rank % 2 == 1:
            expected[rank, rank - 1, 2, 103] = 1
    assert world(found) == expected
    others = Counter({(a, b, size): count for (a, b, tag, size), count in found.items() if tag >= OTHERS})
    for rank in range(4):
        after, before, next_but_one = (rank + 1) % 4, (rank + 3) % 4, (rank + 2) % 4
        assert others[rank, next_but_one, 401] == 1  # in halves, which are ordered backwards
        # Between halves, of which the i-th from the end meet: 2 and 3, 0 and 1.
        assert others[rank, rank ^ 1, 402] == 1
        for size, target in ((410, after), (410, before), (411, after), (412, before), (413, after), (414, after)):
            assert others[rank, target, size] == 1
        assert others[rank, after, 8 * (rank + 1) * (after + 1)] >= 2  # alltoallv, in both forms
    # Sums of collectives: broadcast, reduce and two allreduces, gathers and scatters of blocks of 16 B and 24 B, ...
    assert sum(count for (*_, size), count in others.items() if size == 800) == 3 + 3 + 8
    assert sum(count for (*_, size), count in others.items() if size == 40) >= 12  # alltoall
    assert Simulator().run(point(folder, 4))["messages"] == sum(found.values())


def test_one_sided_calls_and_those_of_mpi_4(mpi: Program, traced: Any, tmp_path: Path) -> None:
    folder = traced(4, compiled(mpi.library, HERE / "windows.c", tmp_path))
    of = point(folder, 4)
    found = Counter({(a, b, size): count for (a, b, _, size), count in messages(of).items() if size >= 80})
    expected: Counter[tuple[int, int, int]] = Counter()
    for rank in range(4):
        after, before = (rank + 1) % 4, (rank + 3) % 4
        # Puts leave from who calls; what is got, from the rank that has it.
        after_sizes, before_sizes = [501, 511, 512, 521, 523], [502, 503, 522, 524]
        if mpi.library.name.startswith("mpich"):
            after_sizes.append(531)
            expected[rank, after, 536] = 2  # in partitions, two of 268 B or four of 134 B, twice
            for distance in (1, 2):  # recursive doubling, three times
                expected[rank, rank ^ distance, 560] = 3
            for other in range(4):
                if other != rank:
                    expected[rank, other, 80] = 1
        expected.update({(rank, after, size): 1 for size in after_sizes})
        expected.update({(rank, before, size): 1 for size in before_sizes})
    assert found == expected
    result = Simulator().run(of)
    assert result["messages"] == sum(messages(of).values())
    assert list(result["phases"]) == ["trace", "region-1", "region-7"]
    assert all(time > 0 for time in result["phases"].values())


def test_calls_of_fortran(mpi: Program, traced: Any, tmp_path: Path) -> None:
    folder = traced(3, compiled(mpi.library, HERE / "forms.f90", tmp_path))
    ring = [(5, 80), (5, 160), (5, 240), (6, 28), (8, 400)]
    expected = Counter({(rank, (rank + 1) % 3, *each): 1 for rank in range(3) for each in ring})
    found = messages(point(folder, 3))
    assert world(found) == expected
    sizes = Counter(size for *_, tag, size in found.elements() if tag >= OTHERS)
    assert sizes.keys() == {8, 800}  # reductions of an integer, which is rounded up, and of 100 numbers


@pytest.fixture
def corner(mpi: Program, traced: Any, tmp_path: Path) -> Any:
    """Return a function that runs a part of corners.c and returns the folder of its trace."""

    def run(*words: str, ranks: int = 2) -> Path:
        folder = traced(ranks, compiled(mpi.library, HERE / "corners.c", tmp_path), *words)
        assert isinstance(folder, Path)
        return folder

    return run


def sizes(found: Messages) -> Counter[int]:
    return Counter(size for *_, size in found.elements())


def refusal(folder: Path) -> str:
    with pytest.raises(InputError) as told:
        traces.pack(folder)
    return str(told.value)


def test_nothing_may_be_of_no_type(mpi: Program, corner: Any) -> None:
    if not mpi.library.name.startswith("mpich"):
        pytest.skip("Open MPI asks for a type of nothing, too")
    assert sizes(messages(point(corner("no-type"), 2))) == {16: 4}


def test_a_type_may_be_larger_than_an_int_says(mpi: Program, corner: Any) -> None:
    if mpi.library.name.startswith("mpich"):
        pytest.skip("takes a quarter of a minute with MPICH")
    assert sizes(messages(point(corner("large-type"), 2))) == {40000 << 16: 1}


def test_calls_that_have_been_forgotten_are_told_again(corner: Any) -> None:
    assert world(messages(point(corner("distinct"), 2))) == {(0, 1, 7, 101): 9}


def test_messages_that_are_probed_keep_their_order(corner: Any) -> None:
    assert world(messages(point(corner("probed"), 2))) == {(0, 1, 7, size): 1 for size in range(101, 105)}


def test_requests_outlive_their_communicator(corner: Any) -> None:
    found = messages(point(corner("freed"), 2))
    assert sizes(found) == {100: 1, 50: 1, 101: 3, 51: 3}
    assert len({tag for _, _, tag, _ in found}) == 4, "one of each communicator"


@pytest.mark.parametrize("how", ["copied", "copied-in-turn"])
def test_communicators_are_numbered_when_they_begin_to_be_copied(corner: Any, how: str) -> None:
    assert sizes(messages(point(corner(how), 2))) == {101: 1, 102: 1}


def test_requests_that_share_a_handle_end_one_by_one(corner: Any) -> None:
    """On a network where each message waits for its receive: a wait for another send would never end."""
    waits = {"eager_limit": "0 B", "short_limit": "0 B", "negligible_size": "0 B"}
    result = replayed(corner("shared"), protocol=waits)
    assert (result["messages"], result["bytes"]) == (7, sum((101, 102, 104, 105, 106, 106, 108)))


def test_buffered_sends_wait_for_nobody(corner: Any) -> None:
    assert Simulator().run(point(corner("buffered"), 2))["messages"] == 6


def test_work_after_a_question_that_was_answered_is_work(corner: Any) -> None:
    assert Simulator().run(point(corner("asked"), 2))["time_s"] > 0.0999


def test_persistent_collectives_meet_in_the_order_in_which_they_are_made(corner: Any) -> None:
    """Of Open MPI 4 those that are an extension."""
    of = point(corner("persistent"), 2)
    assert sizes(messages(of)) == {800: 4, 24: 2, 16: 4}
    assert Simulator().run(of)["messages"] == 10


def test_messages_in_partitions_meet_no_others(mpi: Program, corner: Any) -> None:
    if not mpi.library.name.startswith("mpich"):
        pytest.skip("Debian's Open MPI has no messages in partitions")
    found = messages(point(corner("partitioned"), 2))
    assert world(found) == {(0, 1, 9, 30): 1}
    assert sizes(found) == {100: 1, 30: 1}


def test_messages_in_partitions_meet_in_the_order_in_which_they_are_made(mpi: Program, corner: Any) -> None:
    if not mpi.library.name.startswith("mpich"):
        pytest.skip("Debian's Open MPI has no messages in partitions")
    found = messages(point(corner("partitioned-in-turn"), 2))
    assert sizes(found) == {101: 1, 102: 1}
    assert world(found) == {}


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("large-windows", {100: 1, 101: 1, 0: 4}),
        ("large-probed", {101: 1, 102: 1, 103: 1}),
        ("of-groups", {101: 1, 102: 1}),
    ],
)
def test_calls_of_mpi_4(mpi: Program, corner: Any, what: str, expected: dict[int, int]) -> None:
    if not mpi.library.name.startswith("mpich"):
        pytest.skip("Debian's Open MPI is of MPI 3.1")
    assert sizes(messages(point(corner(what), 2))) == expected


def test_synchronous_sends_are_answered(corner: Any) -> None:
    """Each but the second one, by an empty message."""
    of = point(corner("synchronous"), 2)
    found = messages(of)
    assert world(found) == {(0, 1, 7, size): 1 if size < 104 else 2 for size in range(101, 105)}
    assert [(*ends, size) for *ends, tag, size in found.elements() if tag >= OTHERS] == [(1, 0, 0)] * 4
    assert Simulator().run(of)["messages"] == 9


@pytest.mark.parametrize("how", ["alone", "beside"])
def test_receives_that_are_too_small_are_refused(corner: Any, how: str) -> None:
    assert "rank 1, call " in (line := refusal(corner("truncated", how)))
    assert "found a receive that has failed; allowed: receives that are as large as what is sent" in line


def test_calls_that_a_library_refuses_leave_the_trace_whole(corner: Any) -> None:
    assert world(messages(point(corner("mistaken"), 2))) == {(0, 1, 7, 101): 1, (1, 0, 7, 101): 1}


def test_a_handler_of_errors_may_throw(mpi: Program, traced: Any, tmp_path: Path) -> None:
    folder = traced(2, compiled(mpi.library, HERE / "thrown.cpp", tmp_path))
    assert world(messages(point(folder, 2))) == {(0, 1, 7, 101): 1, (1, 0, 7, 101): 1}


def test_a_handler_of_errors_that_jumps_is_refused(corner: Any) -> None:
    """What comes after it seems to be within the call that it has left."""
    line = refusal(corner("jumped"))
    assert "found a call that had not come back, by longjmp; allowed: handlers of errors that return, or throw" in line


def test_mpi_may_end_when_the_program_does(corner: Any) -> None:
    folder = corner("ends-last")
    assert world(messages(point(folder, 2))) == {(0, 1, 7, 101): 1, (1, 0, 7, 101): 1}
    assert mpi_traces.summary(folder).cut == 0


def test_to_let_go_of_a_buffer_is_no_work(corner: Any) -> None:
    """Of two ranks, one sleeps for 0.3 s, which counts as work."""
    folder = corner("detached")
    assert b"Buffer_detach" in (folder / "rank-0000000.trace").read_bytes()
    assert sizes(messages(point(folder, 2))) == {100000: 1}


def test_what_a_library_sends_for_files_is_its_own(corner: Any, tmp_path: Path) -> None:
    assert messages(point(corner("writes", str(tmp_path)), 2)) == {}
    assert (tmp_path / "written").stat().st_size == 4000


def test_persistent_messages_with_nobody_are_none(corner: Any) -> None:
    assert messages(point(corner("to-nobody"), 2)) == {}


def test_puts_to_nobody_keep_nobody_waiting(mpi: Program, corner: Any) -> None:
    if not mpi.library.name.startswith("mpich"):
        pytest.skip("Open MPI refuses to lock and flush what nobody has")

    def time_without_work(how: str) -> float:
        of = point(corner("windows-of-nobody", how), 2, work_scale="0 %")
        return float(Simulator().run(of)["time_s"])

    assert time_without_work("waits") == pytest.approx(time_without_work("none"), rel=1e-9)


def test_a_receive_may_be_let_go_when_it_has_ended(corner: Any) -> None:
    assert world(messages(point(corner("let-go", "known"), 2))) == {(0, 1, 7, 100): 1}
    # The other one was cancelled once, and started again.
    for which, number in (("unknown", 5), ("cancelled-before", 6)):
        found = f"rank 1, call {number}: found a receive whose request is freed before it has ended; allowed: a wait"
        assert found in refusal(corner("let-go", which))


def test_sizes_between_groups_are_not_looked_at(corner: Any) -> None:
    assert "found a collective between two groups; allowed: collectives within one" in refusal(
        corner("between", ranks=4)
    )


@pytest.mark.parametrize("how", ["second", "many"])
def test_calls_of_a_second_thread_are_refused(corner: Any, how: str) -> None:
    """Also where the first thread is in a call all the time, and where they call at once."""
    folder = corner("threads", how)
    assert SEVERAL_THREADS in refusal(folder)
    for file in folder.iterdir():
        assert mpi_traces.header(file).ranks == 2


def test_threads_may_call_in_turn(corner: Any) -> None:
    found = messages(point(corner("serialized"), 2))
    assert found == Counter({(rank, 1 - rank, 1, size): 1 for rank in range(2) for size in range(101, 105)})


def test_ranks_that_are_spawned_are_refused(mpi: Program, corner: Any, capfd: pytest.CaptureFixture[str]) -> None:
    if mpi.library.name.startswith("mpich"):
        pytest.skip("Debian's MPICH spawns none under its mpirun")
    folder = corner("spawn")
    assert capfd.readouterr().out.split() == ["done"]
    assert "found ranks that are spawned, or of another program; allowed: ranks that all start" in refusal(folder)


def test_a_program_may_close_what_it_has_not_opened(
    corner: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = corner("closes", str(tmp_path))
    assert sorted(capfd.readouterr().out.split()) == ["6", "6", "B", "B", "done"]
    told = mpi_traces.summary(folder)
    assert (told.calls, told.cut) == (800000, 0)
    assert told.files_bytes > 2 << 20, "more than is reserved at once"


def test_a_second_program_leaves_the_trace_of_the_first_alone(
    mpi: Program, traced: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = compiled(mpi.library, HERE / "corners.c", tmp_path)
    start = " ".join(mpi.library.mpirun)
    both = f"{start} 2 {program} copied && {start} 3 {program} nothing"
    assert tracing.trace(["sh", "-c", both], tmp_path / "trace", mpi.library.name, strip=False) == (0, True)
    assert capfd.readouterr().err.count("can't be written (File exists); there will be no trace") == 1
    assert sizes(messages(point(tmp_path / "trace", 2))) == {101: 1, 102: 1}


#: Starts a command on another host, with an environment of a login of its own.
LOGIN = """\
#!/bin/sh
shift
exec env -i PATH="$PATH" HOME="$HOME" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 sh -c "$*"
"""


@pytest.mark.parametrize("own", [{}, {"OMPI_MCA_mca_base_env_list": "LD_PRELOAD;TRAMONTANE_TRACE"}])
def test_ranks_on_other_hosts_are_traced(built: Any, tmp_path: Path, own: dict[str, str]) -> None:
    """Open MPI hands on its own variables only; without the others all ranks would wait for ever."""
    library = built("openmpi").library
    version = subprocess.run([library.mpirun[0], "--version"], capture_output=True, text=True, check=True).stdout
    if "(OpenRTE)" not in version:
        pytest.skip("later releases start other hosts by other options")
    program = compiled(library, HERE / "corners.c", tmp_path)
    login = tmp_path / "login"
    login.write_text(LOGIN)
    login.chmod(0o755)
    options = ["--mca", "plm", "rsh", "--mca", "plm_rsh_agent", str(login), "--mca", "btl", "tcp,self"]
    there = ["--host", "another:1", "-n", "1", program, "copied"]
    words = [library.mpirun[0], *options, "--host", f"{platform.node()}:1", "-n", "1", program, "copied", ":", *there]
    command = [sys.executable, "-m", "tramontane", "trace", "--output", "told", "--", *words]
    variables = os.environ | library.variables | own
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert sizes(messages(point(tmp_path / "told", 2))) == {101: 1, 102: 1}


def test_where_one_rank_cannot_write_none_does(
    mpi: Program, traced: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = compiled(mpi.library, HERE / "corners.c", tmp_path)
    there = tmp_path / "trace" / "rank-0000001.trace"
    both = f"echo other > {there} && {' '.join(mpi.library.mpirun)} 3 {program} nothing"
    assert tracing.trace(["sh", "-c", both], tmp_path / "trace", mpi.library.name, strip=False) == (0, True)
    assert [part.read_text() for part in there.parent.iterdir()] == ["other\n"]
    assert f"tramontane-trace: {there} can't be written (File exists)" in capfd.readouterr().err


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with space for one rank's file and a half: a tmpfs, or else the test is skipped."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1536k", "tmpfs", str(place)], check=False).returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_named_and_an_older_trace_stays(mpi: Program, traced: Any, small: Path, tmp_path: Path) -> None:
    program = compiled(mpi.library, HERE / "corners.c", tmp_path)
    older = small / "trace" / "rank-0000000.trace"
    older.parent.mkdir()
    older.write_text("older")
    words = [*mpi.library.mpirun, "2", program, "nothing"]
    command = [sys.executable, "-m", "tramontane", "trace", "--environment", mpi.library.name, "--output"]
    done = subprocess.run([*command, str(older.parent), "--", *words], capture_output=True, text=True, check=False)
    told = [line for line in done.stderr.splitlines() if line.startswith("tramontane")]
    assert told == [
        f"tramontane-trace: {small}/trace/rank-0000001.trace can't be written (No space left on device); "
        "there will be no trace",
        "tramontane trace: found no trace of a rank; allowed: a program that calls MPI_Init, "
        "of that MPI library as a shared one, and a folder with space for it",
    ]
    assert done.returncode == 2
    assert older.read_text() == "older"
    assert [part.name for part in small.rglob("*")] == ["trace", older.name]


def test_a_trace_that_meets_a_full_disk_is_whole_up_to_there(
    mpi: Program, traced: Any, small: Path, tmp_path: Path
) -> None:
    program = compiled(mpi.library, HERE / "corners.c", tmp_path)
    words = [*mpi.library.mpirun, "1", program, "closes", str(tmp_path)]
    command = [sys.executable, "-m", "tramontane", "trace", "--environment", mpi.library.name, "--output"]
    done = subprocess.run([*command, str(small / "trace"), "--", *words], capture_output=True, text=True, check=False)
    first, last = (line for line in done.stderr.splitlines() if line.startswith(("tramontane-", "1 rank")))
    assert first == f"tramontane-trace: {small}/trace/rank-0000000.trace ends here (No space left on device)"
    assert last.endswith(" s; without the end of 1 rank, so what others expected then is left out")
    assert done.returncode == 0
    assert mpi_traces.summary(small / "trace").cut == 1


def test_an_empty_folder_is_none(mpi: Program, traced: Any, tmp_path: Path) -> None:
    """A job script may leave the variable empty; files would lie in the root of the file system."""
    program = compiled(mpi.library, HERE / "corners.c", tmp_path)
    variables = os.environ | {"LD_PRELOAD": str(build_tracer(mpi.library)), tracing.FOLDER: ""}
    words = [*mpi.library.mpirun, "2", program, "nothing"]
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True)
    written = list(Path("/").glob("rank-*.trace"))
    for file in written:
        file.unlink()
    assert (written, "tramontane-trace" in done.stderr) == ([], False)


def test_our_own_program_does_what_the_schedule_says(mpi: Program, traced: Any, tmp_path: Path) -> None:
    workload = {"kind": "transposition", "grid": [24, 12, 6], "algorithm": "ring-k", "radix": 2}
    asked = Point.model_validate({"ranks": 6, "workload": workload, "machine": NET})
    line = [*workload_arguments(asked.workload), "warmup=0", "repetitions=2", "ranks=6", "data=real", "verify=1"]
    folder = traced(6, str(mpi.path), *line)
    for rank, (said, found) in enumerate(zip(sends(asked), sends(point(folder, 6)), strict=True)):
        theirs = [each for each in found if each in set(said)]  # beside those that measure
        executions, rest = divmod(len(theirs), len(said))
        assert (executions >= 2, rest) == (True, 0)
        assert theirs == said * executions, f"rank {rank}: one by one, in order"
    replayed, again = point(folder, 6), point(as_goal(point(folder, 6), tmp_path / "again.goal"), 6)
    assert again.id == replayed.id
    assert Simulator().run(again)["time_s"] == Simulator().run(replayed)["time_s"]


def written(
    folder: Path, version: int = mpi_traces.VERSIONS[0], run: int = 7, r0: bytes = b"", r1: bytes = b""
) -> Path:
    """Write a trace of two ranks by hand: what they say after their headers and first calls."""
    return written_by_ranks(folder, [r0, r1], version, run)


def written_by_ranks(folder: Path, records: list[bytes], version: int = mpi_traces.VERSIONS[0], run: int = 7) -> Path:
    """Write one of some ranks, less than 100."""
    folder.mkdir()
    ranks = len(records)
    for rank, own in enumerate(records):
        head = struct.pack("<8s4I3q", b"TRMTRACE", version, rank, ranks, 0, run, 0, 0)
        everybody = bytes([10, 0, ranks, *[0] * ranks, 0])
        first = b"\x01" + bytes([5 + len(everybody)]) + b"\x04Init" + everybody + b"\x04\x00\x00"
        (folder / f"rank-{rank:07}.trace").write_bytes(head + first + own + b"\x03\x00\x00")
    return folder


def call(number: int, *did: int, name: bytes = b"Call") -> bytes:
    """Return the definition of a call, which is the number-th, and a call that does so."""
    content = bytes([len(name)]) + name + bytes(did)
    return bytes([1, len(content)]) + content + bytes([4 + number, 100, 100])


SEND, RECEIVE = call(1, 1, 0, 1, 5, 64), call(1, 2, 0, 0, 5, 64)


def test_what_is_written_by_hand_is_read(tmp_path: Path) -> None:
    folder = written(tmp_path / "x", r0=SEND + bytes([5, 100, 100]), r1=RECEIVE + bytes([5, 100, 100]))
    assert messages(point(folder, 2)) == {(0, 1, 5, 64): 2}
    told = mpi_traces.summary(folder)
    assert (told.ranks, told.calls, told.cut) == (2, 6, 0)
    assert told.time_s == pytest.approx(400e-9)


def replayed(folder: Path, **machine: Any) -> dict[str, Any]:
    workload = {"kind": "trace", "file": str(folder)}
    return Simulator().run(Point.model_validate({"ranks": 2, "workload": workload, "machine": NET | machine}))


def test_puts_between_fences_take_the_time_of_a_one_sided_step(tmp_path: Path) -> None:
    """Two ranks put 64 kB to each other, as a trace and as a program of ours."""
    fence = (13, 3, 0)
    puts = [call(1, *fence) + call(2, 13, 1, 0, 0, other, 128, 128, 4) + bytes([5, 0, 0]) for other in (1, 0)]
    puts = [each.replace(bytes([100, 100]), bytes([0, 0])) for each in puts]
    found = replayed(written(tmp_path / "x", r0=puts[0], r1=puts[1]))
    table = tmp_path / "x.csv"
    table.write_text("source,target,bytes\n0,1,65536\n1,0,65536\n")
    step = {"kind": "pattern", "file": str(table), "one_sided": {"synchronisation": "fence", "scope": "all"}}
    asked = {"ranks": 2, "workload": {"kind": "program", "steps": [step]}}
    free = {"one_sided": {"put": "0 ns", "fence": "0 ns"}}
    wanted = Simulator().run(Point.model_validate(asked | {"machine": NET | free}))
    assert found["time_s"] == pytest.approx(wanted["time_s"], rel=1e-9)
    assert (found["messages"], found["bytes"]) == (wanted["messages"], wanted["bytes"])
    with pytest.raises(
        ValueError, match=r"^workload.file: found one-sided calls, allowed: messages of two sides: GOAL"
    ):
        as_goal(point(tmp_path / "x", 2), tmp_path / "x.goal")
    assert not (tmp_path / "x.goal").exists()


def test_what_is_got_needs_no_rank_at_its_source(tmp_path: Path) -> None:
    """Rank 1 works for 50 us; who gets from it waits for the network only, and who puts to it, too."""
    lock, unlock = call(1, 13, 8, 0), call(3, 13, 9, 0, 0)
    for what in (1, 2):
        works = call(1, name=b"Barrier").replace(bytes([100, 100]), bytes([208, 134, 3, 0]))  # 50 us before it
        own = lock + call(2, 13, what, 0, 0, 1, 128, 128, 4) + unlock
        own = own.replace(bytes([100, 100]), bytes([0, 0]))
        result = replayed(written(tmp_path / f"{what}", r0=own, r1=works))
        assert result["time_s"] == pytest.approx(50e-6, rel=1e-3), "nobody waits for rank 0, and it for nobody"
        assert result["bytes"] == 65536
        late = written(tmp_path / f"late-{what}", r0=own)
        assert 1e-6 < replayed(late)["time_s"] < 40e-6


def test_time_after_a_question_in_vain_is_no_work(tmp_path: Path) -> None:
    """And that after one that was answered is, whether or not a request has ended."""
    for name, did, time in (("vain", [15], 200e-9), ("answered", [], 300e-9)):
        asks = call(1, *did, name=b"Test").replace(bytes([100, 100]), bytes([100, 0]))
        own = asks + bytes([5, 100, 0]) + call(2, name=b"Barrier").replace(bytes([100, 100]), bytes([100, 0]))
        assert replayed(written(tmp_path / name, r0=own))["time_s"] == pytest.approx(time)


def test_what_is_probed_comes_when_it_is_received(tmp_path: Path) -> None:
    """A large message, 50 us of work between, and a smaller one, which overtakes it or not."""
    wait = bytes([208, 134, 3, 0])
    sends = call(1, 1, 0, 1, 5, 128, 128, 64) + call(2, 1, 0, 1, 5, 64)
    large = call(1, 2, 0, 0, 5, 128, 128, 64).replace(bytes([100, 100]), wait) + call(2, 2, 0, 0, 5, 64)
    probe, later = call(1, 17, 1, 0), call(2, 18, 1, 6, 1, 0, 5, 128, 128, 64).replace(bytes([100, 100]), wait)
    one = replayed(written(tmp_path / "one", r0=sends, r1=large))
    other = replayed(written(tmp_path / "other", r0=sends, r1=probe + later + call(3, 2, 0, 0, 5, 64)))
    assert other["time_s"] == pytest.approx(one["time_s"] + 100e-9)


def test_a_send_may_be_cancelled(tmp_path: Path) -> None:
    folder = written(
        tmp_path / "x",
        r0=call(1, 3, 1, 0, 1, 5, 64) + call(2, 7, 1) + call(3, 1, 0, 1, 5, 32),
        r1=call(1, 2, 0, 0, 5, 32),
    )
    assert messages(point(folder, 2)) == {(0, 1, 5, 32): 1}


def varint(number: int) -> list[int]:
    """Return the bytes of a number in a trace."""
    return [number & 127 | 128, *varint(number >> 7)] if number > 127 else [number]


def late(number: int, *did: int, name: bytes = b"Call") -> bytes:
    """Return what `call` does, after 1 ms of work."""
    return call(number, *did, name=name)[:-2] + bytes([*varint(10**6), 100])


@pytest.mark.parametrize(
    ("send", "waits"),
    [
        ([(b"Send", 1, 0, 1, 5, 64)], False),
        ([(b"Ssend", 1, 0, 1, 5, 64)], True),
        ([(b"Ssend_c", 1, 0, 1, 5, 64)], True),
        ([(b"Isend", 3, 1, 0, 1, 5, 64), (b"Wait", 5, 1)], False),
        ([(b"Issend", 3, 1, 0, 1, 5, 64), (b"Wait", 5, 1)], True),
        ([(b"Issend", 3, 1, 0, 1, 5, 64)], False),
        ([(b"Start", 3, 1, 0, 1, 5, 64), (b"Wait", 5, 1)], False),
        ([(b"Start", 19, 1, 0, 1, 5, 64), (b"Wait", 5, 1)], True),
        # One that is cancelled before, by which places in the order change.
        ([(b"Issend", 3, 1, 0, 1, 5, 8), (b"Ssend", 1, 0, 1, 5, 64), (b"Wait", 7, 1)], True),
        # One whose request is let go, and is then that of a receive which is cancelled.
        ([(b"Isend", 3, 1, 0, 1, 5, 64), (b"Irecv", 4, 1, 0), (b"Wait", 7, 1)], False),
    ],
)
def test_a_synchronous_send_waits_for_its_receive(tmp_path: Path, send: list[tuple[Any, ...]], waits: bool) -> None:
    """The receiver comes after 1 ms, and the sender works for 1 ms when its send has ended."""
    calls = b"".join(call(1 + i, *did, name=name) for i, (name, *did) in enumerate(send))
    folder = written(tmp_path / "x", r0=calls + late(1 + len(send)), r1=late(1, 2, 0, 0, 5, 64))
    assert replayed(folder)["time_s"] == pytest.approx(2e-3 if waits else 1e-3, rel=0.01)
    assert sizes(messages(point(folder, 2))) == ({64: 1, 0: 1} if b"Issend" in calls or waits else {64: 1})


def test_the_right_receive_answers(tmp_path: Path) -> None:
    """Of three messages with one tag the second is synchronous; the receives end the other way round."""
    r0 = call(1, 1, 0, 1, 5, 10) + call(2, 1, 0, 1, 5, 20, name=b"Ssend") + call(3, 1, 0, 1, 5, 30)
    r1 = call(1, 4, 1, 0, 4, 2, 0, 4, 3, 0) + b"".join(call(5 - i, 6, i, 0, 5, 10 * i) for i in (3, 2, 1))
    folder = written(tmp_path / "x", r0=r0, r1=r1)
    assert sends(point(folder, 2)) == [[(1, 10), (1, 20), (1, 30)], [(0, 0)]]
    text = as_goal(point(folder, 2), tmp_path / "x.goal")
    lines = text.read_text().split("rank 1")[1].splitlines()
    second = next(line for line in lines if "recv 20b" in line).split(":")[0].strip()
    answer = next(line for line in lines if "send 0b" in line).split(":")[0].strip()
    assert f"{answer} requires {second}" in [line.strip() for line in lines]
    assert point(text, 2).id == point(folder, 2).id


def test_of_a_killed_run_synchronous_sends_may_lack_an_answer(tmp_path: Path) -> None:
    """The second one has begun, and nobody has received it."""
    issend = call(1, 3, 1, 0, 1, 5, 64, name=b"Issend") + call(2, 5, 1, name=b"Wait")
    folder = written(tmp_path / "x", r0=issend + bytes([5, 100, 100]), r1=RECEIVE)
    file = folder / "rank-0000001.trace"
    file.write_bytes((file.read_bytes()[:-3] + bytes(4096))[:4096])
    assert sizes(messages(point(folder, 2))) == {64: 1, 0: 1}


def test_to_let_go_of_a_buffer_waits_for_what_is_in_it(tmp_path: Path) -> None:
    """The sender works for 1 ms before or after its large message has left, for which the receiver comes after 1 ms."""
    bsend, times = call(1, 3, 0, 0, 1, 5, *varint(10**6), name=b"Bsend"), []
    for name in (b"Other", b"Buffer_detach"):
        r0 = bsend + call(2, name=name) + late(3)
        folder = written(tmp_path / name.decode(), r0=r0, r1=late(1, 2, 0, 0, 5, *varint(10**6)))
        times.append(replayed(folder)["time_s"])
    assert times[1] == pytest.approx(times[0] + 1e-3, rel=0.01)


def test_work_before_the_end_is_work(tmp_path: Path) -> None:
    """1 ms of one rank between its last call and the end of its use of MPI."""
    folder = written(tmp_path / "x", r0=SEND, r1=RECEIVE)
    before, file = replayed(folder)["time_s"], folder / "rank-0000001.trace"
    file.write_bytes(file.read_bytes()[:-2] + bytes([*varint(10**6), 0]))
    assert replayed(folder)["time_s"] == pytest.approx(before + 1e-3)
    assert mpi_traces.summary(folder).time_s == pytest.approx(1e-3, rel=0.01)


def test_work_may_take_long(tmp_path: Path) -> None:
    """1001 s, which are more than an operation may take."""
    time, digits = 1001 * 10**9, []
    while time > 127:
        digits.append(time & 127 | 128)
        time >>= 7
    own = call(1, name=b"Barrier").replace(bytes([100, 100]), bytes([*digits, time, 0]))
    assert replayed(written(tmp_path / "x", r0=own))["time_s"] == pytest.approx(1001)


def test_regions_are_phases(tmp_path: Path) -> None:
    """Work of 100 ns in each of: the rest, region 5, the rest, region 5 again, region 2."""
    own = b"".join(call(1 + i, 11, level) for i, level in enumerate((5, 0, 5, 2))) + bytes([4, 100, 0])
    result = replayed(written(tmp_path / "x", r0=own))
    assert list(result["phases"]) == ["trace", "region-2", "region-5"]
    by_name = {step["name"]: step["work_s"] for step in result["steps"]}
    assert by_name == pytest.approx({"trace": 100e-9, "region-2": 50e-9, "region-5": 100e-9})
    with pytest.raises(ValueError, match=r"^workload.file: found regions, allowed: a trace without: GOAL has none"):
        as_goal(point(tmp_path / "x", 2), tmp_path / "x.goal")


def test_collectives_are_expanded_as_a_point_says(tmp_path: Path) -> None:
    calls = call(1, 8, 0, 0, 0, 9, *b"allreduce", 1, 80) + call(2, 8, 0, 0, 0, 5, *b"bcast", 1, 24)
    folder = written(tmp_path / "x", r0=calls, r1=calls)
    ordinary, other = (
        Point.model_validate({"ranks": 2, "workload": {"kind": "trace", "file": str(folder), **more}, "machine": NET})
        for more in ({}, {"collectives": {"allreduce": {"algorithm": "ring"}}})
    )
    word = point(folder, 2, collectives={"allreduce": "ring"})
    assert word.canonical() == other.canonical()
    assert ordinary.canonical() != other.canonical()
    assert "collectives" not in other.canonical()["workload"]
    assert sorted(size for *_, size in messages(ordinary).elements()) == [24, 80, 80]
    assert sorted(size for *_, size in messages(other).elements()) == [24, 40, 40, 40, 40]


@pytest.mark.parametrize(
    ("collectives", "expected"),
    [
        ({"library": "mpich"}, [24, 80, 80, 4096, 4096, 4096, 4096]),  # of 8 KiB, halves are scattered and gathered
        (
            {"library": "mpich", "broadcast": {"algorithm": "chain", "segments": 1}},
            [24, 80, 80, 4096, 4096, 4096, 4096],
        ),
        ({"library": "mpich", "allreduce": "recursive-doubling"}, [24, 80, 80, 8192, 8192]),
        ({"library": "open-mpi"}, [24, 80, 80, 8192, 8192]),
        (None, [24, 80, 80, 8192, 8192]),
    ],
)
def test_a_library_chooses_by_size(tmp_path: Path, collectives: object, expected: list[int]) -> None:
    sums = [call(1 + i, 8, 0, 0, 0, 9, *b"allreduce", 1, *size) for i, size in enumerate([(80,), (128, 64)])]
    calls = b"".join(sums) + call(3, 8, 0, 0, 0, 5, *b"bcast", 1, 24)
    folder = written(tmp_path / "x", r0=calls, r1=calls)
    keys = {} if collectives is None else {"collectives": collectives}
    assert sorted(size for *_, size in messages(point(folder, 2, **keys)).elements()) == expected


def test_a_library_may_do_one_operation_after_the_other(tmp_path: Path) -> None:
    """Open MPI's allreduce of fewer elements than ranks: all send to the first rank, which sends to all."""
    ranks, size, calls = 40, 160, call(1, 8, 0, 0, 0, 9, *b"allreduce", 1, 160, 1)
    folder = written_by_ranks(tmp_path / "x", [calls] * ranks)
    found = messages(point(folder, ranks, collectives={"library": "open-mpi"}))
    pairs = [(rank, 0) for rank in range(1, ranks)] + [(0, rank) for rank in range(1, ranks)]
    assert Counter((source, target, sent) for source, target, _, sent in found.elements()) == Counter(
        (source, target, size) for source, target in pairs
    )


@pytest.mark.parametrize(
    ("collectives", "line"),
    [
        ({"library": 3}, "found 3; allowed: mpich"),
        ({"sum": {}}, "found 'sum'; allowed: barrier, broadcast, "),
        ({"allreduce": 3}, "found 3; allowed: an algorithm, or a mapping of keys to values"),
        ({"allreduce": {"algorithm": "burst"}}, "found 'burst'; allowed: recursive-k, "),
        ({"allreduce": {"algorithm": "ring", "k": 4}}, "unknown key 'k'; allowed: algorithm, radix, "),
        (["ring"], "algorithms of barrier, broadcast, "),
    ],
)
def test_algorithms_that_can_not_be(tmp_path: Path, collectives: object, line: str) -> None:
    folder = written(tmp_path / "x")
    with pytest.raises(ValidationError) as told:
        point(folder, 2, collectives=collectives)
    assert line in str(told.value)


@pytest.mark.parametrize(
    ("records", "line"),
    [
        ({"r0": SEND}, "rank 0, call 2: found a send to rank 1 with tag 5, which receives none; "),
        ({"r1": RECEIVE}, "rank 1, call 2: found a receive from rank 0 with tag 5, which sends none; "),
        ({"r0": call(1, 5, 9)}, "found the end of request 9; allowed: requests that a call has begun"),
        ({"r0": call(1, 1, 3, 1, 5, 64)}, "found communicator 3; allowed: those that a call has made"),
        ({"r0": call(1, 1, 0, 2, 5, 64)}, "found a message of rank 2; allowed: 0 to 1"),
        ({"r0": call(1, 99)}, "rank 0, call 2: found action 99 of a call; allowed: 1 to "),
        ({"r0": call(1, 12)}, f"rank 0, call 2: {SEVERAL_THREADS}"),
        ({"r0": call(1, 14)}, "rank 0, call 2: found MPI_Isendrecv, or MPI_Isendrecv_replace; allowed: MPI_Isend and"),
        (
            {"r0": call(1, 16)},
            "rank 0, call 2: found ranks that are spawned, or of another program; allowed: ranks that",
        ),
        ({"r0": call(1, 21, 5, 9)}, "rank 0, call 2: found communicator 9; allowed: those that a call has made"),
        ({"r0": call(1, 18, 9)}, "found the end of request 9; allowed: requests that a probe has begun"),
        (
            {"r0": call(1, 3, 9, 0, 1, 5, 64, 18, 9), "r1": RECEIVE},
            "rank 0, call 2: found a message of request 9, which receives none; allowed: requests that a probe has",
        ),
        (  # of a communicator of one rank, before anything that a call could wait for
            {"r0": call(1, 10, 1, 1, 0, 0, 8, 9, 1, 0, 7, *b"barrier", 0, 18, 9)[:-2] + bytes(2)},
            "rank 0, call 2: found a message of request 9, which receives none; allowed: requests that a probe has",
        ),
        (
            {"r0": SEND, "r1": call(1, 4, 9, 0, 18, 9, 6, 9, 0, 5, 64)},
            "rank 1, call 2: found a message of request 9, which receives none; allowed: requests that a probe has",
        ),
        (
            {"r0": SEND, "r1": call(1, 17, 9, 0, 6, 9, 0, 5, 64)},
            "rank 1, call 2: found a message of request 9, which receives none; allowed: requests that a receive has",
        ),
        (
            {"r0": call(1, 10, 1, 2, 0, *[255] * 8, 127, 0)},
            "rank 0, call 2: found rank -4611686018427387903 of a communicator; allowed: 0 to 1",
        ),
        (
            {f"r{i}": call(1, 8, 0, 0, 0, 5, *b"bcast", 1, *[128] * 7, 1) for i in range(2)},
            "rank 0, call 2: found workload.count 70368744177664; allowed: an integer from 1 to 2147483647",
        ),
        ({"r0": call(1, 13, 11, 0)}, "rank 0, call 2: found one-sided call 11; allowed: 1 to 10"),
        ({"r0": call(1, 13, 3, 7)}, "rank 0, call 2: found communicator 7; allowed: those that a call has made"),
        ({"r0": call(1, 13, 1, 0, 0, 1, 8)}, "found one-sided data to rank 1, which receives none; allowed: a receive"),
        ({"r0": call(1, 13, 1, 0, 0, 2, 8)}, "rank 0, call 2: found a message of rank 2; allowed: 0 to 1"),
        ({"r0": call(1, 13, 3, 0)}, "rank 0, call 2: found collective 1 of its communicator, which rank 1"),
        ({"r0": call(1, 11, 255, 255, 255, 1)}, "rank 0, call 2: found level 4194303; allowed: 0 to 1048576"),
        ({"r0": bytes([9, 1, 1])}, "rank 0, call 2: found record 9; allowed: 1 to 4"),
        ({"r0": bytes([2, 9, 1, 1])}, "rank 0, call 2: found record 9; allowed: 1 to 3"),
        (
            {"r0": bytes([1, 3, 9, 65, 66, 5, 1, 1])},
            "rank 0, call 2: found a part of what the call did; allowed: all that it did",
        ),
        ({"r1": call(1, 8, 0, 0, 0, 7, *b"barrier", 0)}, "rank 1, call 2: found collective 1 of its"),
        (
            {"r0": call(1, 8, 0, 0, 0, 5, *b"bcast", 1, 8), "r1": call(1, 8, 0, 0, 0, 7, *b"barrier", 0)},
            "found bcast at rank 0 and barrier at rank 1; allowed: one call, and one root",
        ),
        (
            {f"r{i}": call(1, 8, 0, 0, 1 - i, 5, *b"bcast", 1, 8) for i in range(2)},
            "rank 0, call 2: found bcast with root 1 at rank 0 and bcast with root 0 at rank 1; allowed: one call, and",
        ),
        (
            {f"r{i}": call(1, 8, 0, 0, 7, 5, *b"bcast", 1, 8) for i in range(2)},
            "rank 0, call 2: found root 7; allowed: 0 to 1",
        ),
        (
            {f"r{i}": call(1, 8, 0, 0, 0, 9, *b"alltoallv", 1, 8) for i in range(2)},
            "rank 0, call 2: found 1 sizes of alltoallv; allowed: 2",
        ),
        (
            {f"r{i}": call(1, 8, 0, 0, 0, 3, *b"b\xff!", 1, 8) for i in range(2)},
            "rank 0, call 2: found a collective whose name is not UTF-8; allowed: one of MPI-3",
        ),
        (
            {f"r{i}": call(1, 8, 0, 0, 0, 3, *b"b\0!", 1, 8) for i in range(2)},
            "rank 0, call 2: found a collective whose name has a zero byte; allowed: one of MPI-3",
        ),
        ({"r0": call(1, 14, name=b"Startall")}, "rank 0, call 2: found the start of a request that is not known; "),
        ({"r0": call(1, 20)}, "rank 0, call 2: found a receive that has failed; allowed: receives that are as large"),
        (
            {"r0": call(1, 8, 0, 0, 0, 3, *b"b\xff!", 1, 8), "r1": call(1, 8, 0, 0, 0, 7, *b"barrier", 0)},
            "rank 0, call 2: found b\\xff! at rank 0 and barrier at rank 1; allowed: one call, and one root",
        ),
        ({"r0": bytes([3, 0, 0])}, "found more after its end"),
        (
            {"r0": bytes([4, *[255] * 8, 127, 0])},
            "rank 0, call 2: found 9223372036854775807 ns more; allowed: up to 1000000000000000 ns in all",
        ),
    ],
)
def test_mistakes_are_one_line(tmp_path: Path, records: dict[str, bytes], line: str) -> None:
    with pytest.raises(InputError) as told:
        traces.pack(written(tmp_path / "x", r0=records.get("r0", b""), r1=records.get("r1", b"")))
    assert line in str(told.value)
    assert "\n" not in str(told.value)


def test_a_header_takes_no_memory_for_what_is_not_there(tmp_path: Path) -> None:
    folder = written(tmp_path / "x")
    file = sorted(folder.iterdir())[1]
    content = file.read_bytes()
    file.write_bytes(content[:20] + b"\xff" * 4 + content[24:])
    tracemalloc.start()
    try:
        line = refusal(folder)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "rank 1: found the end of the file; allowed: a header that is whole" in line
    assert most < 2**24


@pytest.mark.parametrize("place", [0, 1])
def test_no_byte_of_a_file_can_change(tmp_path: Path, place: int) -> None:
    """Its checksum is FNV-1a, without the last bit."""
    folder = written(tmp_path / "x", version=mpi_traces.VERSIONS[-1], r0=SEND, r1=RECEIVE)
    for file in folder.iterdir():
        checksum = 0xCBF29CE484222325
        for byte in file.read_bytes():
            checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
        groups = [checksum >> (1 + 7 * i) & 127 for i in range(9)]
        file.write_bytes(file.read_bytes() + bytes([group | 128 for group in groups[:-1]] + groups[-1:]))
    assert messages(point(folder, 2)) == {(0, 1, 5, 64): 1}
    changed = sorted(folder.iterdir())[place]
    content = changed.read_bytes()
    for at in range(len(content)):
        changed.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        with pytest.raises(InputError):
            traces.pack(folder)
    changed.write_bytes(content[:75] + bytes([content[75] ^ 1]) + content[76:])
    assert "found content that has changed; allowed: a file as tramontane trace has written it" in refusal(folder)


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    folder, other = written(tmp_path / "x"), written(tmp_path / "y", run=8)
    assert "found version 1; allowed: 2" in refusal(written(tmp_path / "z", version=1))
    first, second = sorted(folder.iterdir())
    shutil.copy(sorted(other.iterdir())[1], second)
    assert "found another run's; allowed: files of the run of rank-0000000.trace" in refusal(folder)
    again = folder / "rank-1.trace"
    shutil.copy(second, again)
    assert "x/rank-1.trace: found a second file of rank 1, beside rank-0000001.trace; allowed: one" in refusal(folder)
    again.rename(folder / "rank-\N{ARABIC-INDIC DIGIT ONE}.trace")  # no number of ours
    shutil.copy(first, second)
    assert "rank: found rank 0; allowed: 1, as its name says" in refusal(folder)
    second.unlink()
    assert "found no file of rank 1; allowed: files of ranks 0 to 1" in refusal(folder)
    first.write_bytes(first.read_bytes()[:-1])
    known = first.read_bytes()
    for content in (b"something else", known[:20], b"OTHER" + known[5:]):
        second.write_bytes(content)
        assert "found another one; allowed: a file that tramontane trace has written" in refusal(folder)
    second.write_bytes(bytes(4096))
    assert "found zeros: the program ended in MPI_Init; allowed: a file that tramontane trace has" in refusal(folder)
    first.write_bytes(struct.pack("<8s4I3q", b"TRMTRACE", mpi_traces.VERSIONS[0], 0, 2 * 10**8, 0, 7, 0, 0))
    second.unlink()
    assert "found no file of rank 1; allowed: files of ranks 0 to 199999999" in refusal(folder)
    assert "x/rank-0000000.trace: found the trace of one rank; allowed: the folder that it lies in" in refusal(first)
    second.symlink_to("nowhere")
    assert "x/rank-0000001.trace: found a link that leads nowhere; allowed: a file that tram" in refusal(folder)
    second.unlink()
    second.mkdir()
    assert "x/rank-0000001.trace: found a folder; allowed: a file that tramontane trace has" in refusal(folder)
    second.rmdir()
    os.mkfifo(second)
    assert "x/rank-0000001.trace: found what is no file; allowed: a file that tramontane tra" in refusal(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    assert "found no rank-*.trace" in refusal(folder)
    cut = written(tmp_path / "cut", r0=SEND, r1=RECEIVE)
    file = cut / "rank-0000000.trace"
    file.write_bytes(file.read_bytes()[:-4])
    assert f"rank 0, byte {file.stat().st_size}: found the end of the file; allowed: a record that is whole" in refusal(
        cut
    )
    file.write_bytes(file.read_bytes()[: 1 - len(SEND)])
    assert "found the end of the file; allowed: the end of the program, or whole pages of 4096 bytes" in refusal(cut)


def test_a_folder_may_have_any_name(tmp_path: Path) -> None:
    """Also one that is no text."""
    folder = written(Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff")), r0=SEND, r1=RECEIVE)
    assert mpi_traces.summary(folder).calls == 4
    assert len(traces.pack(folder)) > 0


def test_a_trace_of_a_program_that_was_killed_ends_where_it_was(tmp_path: Path) -> None:
    """What has one end only is left out: the second send, and a barrier that one rank has not called."""
    barrier = call(2, 8, 0, 0, 0, 7, *b"barrier", 0)
    folder = written(tmp_path / "x", r0=SEND + bytes([5, 100, 100]) + barrier, r1=RECEIVE)
    file = folder / "rank-0000001.trace"
    file.write_bytes((file.read_bytes()[:-3] + bytes(4096))[:4096])  # no end, and the rest of a page
    assert messages(point(folder, 2)) == {(0, 1, 5, 64): 1}
    assert mpi_traces.summary(folder).cut == 1


KILLED = """
#include <mpi.h>
#include <signal.h>
int main(int argc, char** argv) {
    int rank, ranks, number = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 100; ++i) {
        if (i == 50 && rank == 0) raise(SIGKILL);
        MPI_Sendrecv_replace(&number, 1, MPI_INT, (rank + 1) % ranks, 1, (rank + ranks - 1) % ranks, 1, MPI_COMM_WORLD,
                             MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
}
"""


SESSION_LINE = (
    "tramontane-trace: found MPI_Session_init; allowed: MPI_Init: what is done outside of MPI_Init and MPI_Finalize "
    "is not told"
)


@pytest.mark.parametrize("with_init", [False, True])
def test_a_program_with_sessions_runs_unharmed(
    built: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, with_init: bool
) -> None:
    """MPICH has sessions, and Debian's Open MPI none; the line comes once, of all processes and sessions."""
    library = built("mpich").library
    for name, value in library.variables.items():
        monkeypatch.setenv(name, value)
    program = compiled(library, HERE / "session.c", tmp_path)
    words = [*library.mpirun, "2", program, *(["with MPI_Init"] if with_init else [])]
    command = [sys.executable, "-m", "tramontane", "trace", "--environment", "mpich", "--output", "told", "--", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    printed = done.stdout.splitlines()
    assert printed[:2] == 2 * ["sums 3 3"]
    assert done.stderr.splitlines().count(SESSION_LINE) == 1
    assert done.stderr.count("Session_init") == 1
    if with_init:
        assert (done.returncode, printed[2:]) == (0, ["told"])
        found = messages(point(tmp_path / "told", 2))
        assert world(found) == {(0, 1, 7, 4): 1}
        assert sum(found.values()) == 3  # the second session's allreduce
    else:
        assert done.returncode == 2
        assert printed[2:] == []
        assert done.stderr.splitlines()[-1] == (
            "tramontane trace: found no trace of a rank; allowed: a program that calls MPI_Init, "
            "of that MPI library as a shared one, and a folder with space for it"
        )
        assert not (tmp_path / "told").exists()


def test_a_killed_run_leaves_a_trace(
    built: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = built("openmpi")
    for name, value in program.library.variables.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "killed.c").write_text(KILLED)
    command = compiled(program.library, tmp_path / "killed.c", tmp_path)
    folder = tmp_path / "trace"
    words = [*program.library.mpirun, "2", command]
    assert tracing.trace(words, folder, None, strip=True)[0] != 0
    capfd.readouterr()
    assert messages(point(folder, 2)) == {(0, 1, 1, 4): 50, (1, 0, 1, 4): 50}
    assert mpi_traces.summary(folder).cut == 2
    assert not any(word in (folder / "rank-0000000.trace").read_bytes() for word in (b"killed", b"Open MPI"))


@pytest.mark.parametrize(
    ("output", "command", "line"),
    [
        ("file/x", ["true"], "--output: found 'file/x': Not a directory; allowed: a place to write to"),
        ("new/" + "x" * 300, ["true"], "': File name too long; allowed: a place to write to"),
        (".", ["true"], "--output: found '.'; allowed: a new folder, or one with nothing but a trace"),
        ("other", ["true"], "--output: found 'other'; allowed: a new folder, or one with nothing but a trace"),
        ("new/x", ["nowhere"], "tramontane trace: found 'nowhere'; allowed: a command that starts MPI programs"),
        ("new/x", ["./script"], "tramontane trace: found './script': Exec format error; allowed: a command that"),
    ],
)
def test_what_can_not_be_traced_is_one_line_and_leaves_nothing(
    any_mpi: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str, command: list[str], line: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "script").touch(mode=0o755)
    (tmp_path / "script").write_text("true\n")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "of-another-tool.trace").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError) as told:
        tracing.trace(command, Path(output), any_mpi.library.name, strip=False)
    assert line in str(told.value)
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "other" / "of-another-tool.trace").exists()


def test_an_older_trace_is_named_that_a_killed_run_has_left(any_mpi: Program, tmp_path: Path) -> None:
    """Nobody can clean up who is killed by SIGKILL."""
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "rank-0000000.trace").write_text("older")
    called = f"trace(['sh', '-c', 'kill -KILL $PPID'], Path('trace'), {any_mpi.library.name!r}, strip=False)"
    words = f"from pathlib import Path; from tramontane.substrates.mpi.tracing import trace; {called}"
    subprocess.run([sys.executable, "-c", words], cwd=tmp_path, check=False)
    [aside] = [each for each in tmp_path.iterdir() if each.name != "trace"]
    assert f"found no rank-*.trace (an older trace lies in {aside}); " in refusal(tmp_path / "trace")
    told = CliRunner().invoke(
        app, ["trace", "--output", str(tmp_path / "trace"), "--", *any_mpi.library.mpirun, "1", "true"]
    )
    assert told.stderr.splitlines()[0] == f"{aside} has an older trace, which a run that was killed has left there"


def test_two_runs_do_not_trace_into_one_folder(any_mpi: Program, tmp_path: Path) -> None:
    """The second one would take what the first one has written so far for an older trace."""
    name = any_mpi.library.name
    second = (
        f"{sys.executable} -m tramontane trace --environment {name} --output trace -- true 2> told; echo $? >> told"
    )
    first = f"echo first > $TRAMONTANE_TRACE/rank-0000000.trace; {second}"
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "rank-0000000.trace").write_text("older")
    with contextlib.chdir(tmp_path):
        assert tracing.trace(["sh", "-c", first], Path("trace"), name, strip=False) == (0, True)
    assert (tmp_path / "told").read_text().splitlines() == [
        "--output: another run traces into 'trace'; allowed: another folder, or to wait for its end",
        "2",
    ]
    assert (tmp_path / "trace" / "rank-0000000.trace").read_text() == "first\n"


def test_without_a_rank_no_folder_stays(any_mpi: Program, tmp_path: Path) -> None:
    assert tracing.trace(["true"], tmp_path / "a" / "b", any_mpi.library.name, strip=False) == (0, False)
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(("size", "words"), [(54_123, "54.1 KB"), (6_291_456, "6.29 MB")])
def test_a_trace_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch, size: int, words: str) -> None:
    monkeypatch.setattr(tracing, "trace", lambda *_, **__: (0, True))
    monkeypatch.setattr(mpi_traces, "summary", lambda _: mpi_traces.Summary(8, 7304, size, 0.25, cut=0))
    told = CliRunner().invoke(app, ["trace", "--", "mpirun"])
    assert (told.exit_code, told.stderr) == (0, f"8 ranks, 7304 calls, {words}, 0.25 s\n")


@pytest.mark.parametrize("named", ["older", "link", "."])
def test_an_older_trace_stays_until_a_rank_writes(
    any_mpi: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    older = tmp_path / "older"
    older.mkdir()
    for rank in range(2):
        (older / f"rank-{rank:07d}.trace").write_text("older")
    (tmp_path / "link").symlink_to("older")
    (tmp_path / "script").touch(mode=0o755)
    monkeypatch.chdir(older if named == "." else tmp_path)

    def traced(*command: str) -> tuple[int, bool]:
        return tracing.trace([*command], Path(named), any_mpi.library.name, strip=False)

    assert traced("true") == (0, False)
    with pytest.raises(InputError, match="Exec format error"):
        traced(str(tmp_path / "script"))
    assert [part.read_text() for part in sorted(older.iterdir())] == ["older"] * 2
    assert traced("sh", "-c", "echo newer > rank; mv rank $TRAMONTANE_TRACE/rank-0000000.trace; exit 3") == (3, True)
    assert [part.read_text() for part in older.iterdir()] == ["newer\n"]
    assert sorted(part.name for part in tmp_path.iterdir()) == ["link", "older", "script"]


def test_whoever_is_asked_to_end_ends_the_program_and_keeps_what_is_newer(any_mpi: Program, tmp_path: Path) -> None:
    (tmp_path / "trace").mkdir()
    (tmp_path / "trace" / "rank-0000000.trace").write_text("older")
    program = "echo newer > $TRAMONTANE_TRACE/rank-0000001.trace; kill -TERM $PPID; exec sleep 600"
    called = f"trace({['sh', '-c', program]}, Path('trace'), {any_mpi.library.name!r}, strip=False)"
    words = f"from pathlib import Path; from tramontane.substrates.mpi.tracing import trace; {called}"
    ended = subprocess.run([sys.executable, "-c", words], cwd=tmp_path, check=False)
    assert ended.returncode == 128 + 15
    assert [part.name for part in (tmp_path / "trace").iterdir()] == ["rank-0000001.trace"]
    assert [part.name for part in tmp_path.iterdir()] == ["trace"]


@pytest.mark.parametrize(
    ("command", "before"),
    [
        ("kill -TERM $PPID; exec sleep 600", ""),
        ("exec sleep 5", "import os; os.register_at_fork(after_in_parent=lambda: os.kill(os.getpid(), 15)); "),
    ],
    ids=["while-it-runs", "while-it-starts"],
)
def test_whoever_is_asked_to_end_before_a_rank_has_begun_leaves_nothing(
    any_mpi: Program, tmp_path: Path, command: str, before: str
) -> None:
    """As `timeout` asks, or a batch system at the end of a job's time."""
    called = f"trace(['sh', '-c', {command!r}], Path('trace'), {any_mpi.library.name!r}, strip=False)"
    words = f"{before}from pathlib import Path; from tramontane.substrates.mpi.tracing import trace; {called}"
    (tmp_path / "tmp").mkdir()
    variables = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    ended = subprocess.run([sys.executable, "-c", words], cwd=tmp_path, env=variables, check=False)
    assert ended.returncode == 128 + 15
    assert [part.name for part in tmp_path.rglob("*")] == ["tmp"]
