"""Real NetCDF files by PnetCDF: every form writes the same bytes, and what can't be is a line that leaves nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.preload import preloaded
from tests.waiting import wait_for
from tramontane.study.points.points import DEFAULT_SYSTEM, SystemChoice
from tramontane.substrates.mpi import pnetcdf
from tramontane.substrates.mpi.build import missing_tools
from tramontane.substrates.mpi.launch import LIMIT
from tramontane.substrates.mpi.libraries import Library, found, library_of

pytestmark = pytest.mark.slow

FORMS = ["form=blocking", "form=nonblocking", "form=collective", "form=grouped group=2", "form=grouped group=4"]
CELLS, LEVELS, RANKS = 162, 3, 5
GRID = f"cells={CELLS} levels={LEVELS} run=4"

#: After so many writes of a rank to a file that is not whole yet, the disk takes half of one, and then nothing; or that
#: rank ends, or waits forever. FAULT_RANK: only on this rank.
FAULT = """\
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static int ours(int file) {
    char link[64], name[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, name, sizeof name);
    return length > 5 && memcmp(name + length - 5, ".part", 5) == 0;
}

static size_t taken(int file, size_t bytes) {
    static int writes;
    const char* only = getenv("FAULT_RANK");
    const char* rank = getenv("OMPI_COMM_WORLD_RANK");
    if (!rank || (only && strcmp(only, rank) != 0) || !ours(file)) return bytes;
    int later = __sync_fetch_and_add(&writes, 1) - atoi(getenv("FAULT_AFTER"));
    if (later < 0) return bytes;
    if (getenv("FAULT_KILLS")) kill(getpid(), SIGKILL);
    while (getenv("FAULT_WAITS")) pause();
    return later == 0 ? bytes / 2 : 0;
}

typedef ssize_t (*Pieces)(int, const struct iovec*, int, off_t);

static ssize_t put(const char* by, int file, const void* data, size_t bytes, off_t at) {
    size_t some = taken(file, bytes);
    if (some > 0 || bytes == 0) return NEXT(ssize_t (*)(int, const void*, size_t, off_t), by)(file, data, some, at);
    errno = ENOSPC;
    return -1;
}

ssize_t pwrite(int file, const void* data, size_t bytes, off_t at) { return put("pwrite", file, data, bytes, at); }
ssize_t pwrite64(int file, const void* data, size_t bytes, off_t at) { return put("pwrite64", file, data, bytes, at); }
ssize_t pwritev(int file, const struct iovec* pieces, int number, off_t at) {
    if (taken(file, 1) == 1) return NEXT(Pieces, "pwritev")(file, pieces, number, at);
    errno = ENOSPC;
    return -1;
}
"""


def here() -> Library:
    return library_of(SystemChoice(name=DEFAULT_SYSTEM, environment=pnetcdf.ENVIRONMENT))


@pytest.fixture(scope="module", autouse=True)
def _there() -> None:
    if missing_tools() or pnetcdf.ENVIRONMENT not in {library.name for library in found()}:
        pytest.skip("no Open MPI or compiler found")
    lacking = pnetcdf.missing(here())
    if lacking:
        pytest.skip(lacking)
    pnetcdf.build(here())  # which has a line of its own


@pytest.fixture(scope="module")
def fault(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return preloaded(tmp_path_factory.mktemp("fault"), FAULT)


@pytest.fixture(params=["romio", "ompio"])
def _ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of Open MPI to files; the first one is what the program chooses."""
    if request.param == "ompio":
        monkeypatch.setenv("OMPI_MCA_io", "ompio")


def failing(monkeypatch: pytest.MonkeyPatch, fault: dict[str, str], **how: object) -> None:
    for name, value in {**fault, **{f"FAULT_{key.upper()}": str(value) for key, value in how.items()}}.items():
        monkeypatch.setenv(name, value)


def run(line: str) -> dict[str, object]:
    return pnetcdf.run(RANKS, line.split())


def test_all_forms_write_the_same_bytes_and_read_each_others(tmp_path: Path) -> None:
    """Values are 1, 2, ... in the order of the file, big-endian, behind its header."""
    values = np.arange(1, 2 * CELLS * LEVELS + 1, dtype=">f8").tobytes()
    files = []
    for number, form in enumerate(FORMS):
        file = tmp_path / f"{number}.nc"
        printed = run(f"do=write {form} {GRID} file={file}")
        assert printed["verified"] is True
        assert printed["values"] == 2 * CELLS * LEVELS
        files.append(file.read_bytes())
        assert files[-1].endswith(values)
        # 41 runs of 4 cells: eight rounds of all ranks, and one of rank 0 alone; those of a group touch in a round.
        expected = {"form=grouped group=2": 2 * 25, "form=grouped group=4": 2 * 17}.get(form, 2 * 41)
        assert printed["write_requests"] == printed["read_requests"] == expected
    assert len(set(files)) == 1
    assert run(f"do=read form=grouped group=3 {GRID} file={tmp_path / '1.nc'}")["verified"] is True
    assert len(list(tmp_path.iterdir())) == len(FORMS)


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("do=read form=grouped group=2 variables=3", 2, "file: found no variable 'field_2' in "),
        ("do=read form=blocking cells=163", 2, "file: found 'field_0' of another type or shape than 163 x 3 doubles"),
        ("do=read form=collective fault=value", 1, "5 of 972 values in "),
        ("do=write form=blocking cells=900000000000", 2, "without room (No space left on device); allowed: one in a"),
        ("do=write form=nonblocking fault=value", 1, "5 of 972 values in "),
        ("do=write form=grouped group=0", 2, "group: found '0', allowed: an integer from 1"),
        ("do=write form=grouped group=6", 2, "group: found 6, allowed: at most 5, all ranks"),
        (
            "do=write form=blocking group=2",
            2,
            "group: found '2', but form blocking has none, allowed: only with grouped",
        ),
    ],
)
def test_what_can_not_be_is_a_line_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, status: int, said: str
) -> None:
    there = tmp_path / "there.nc"
    if "do=read" in line:
        run(f"do=write form=blocking {GRID} file={there}")
    given = {word.split("=")[0] for word in line.split()}
    grid = [word for word in GRID.split() if word.split("=")[0] not in given]
    assert pnetcdf.main([str(RANKS), *line.split(), *grid, f"file={there}"]) == status
    told = capsys.readouterr().err.strip()
    assert said in told
    assert "\n" not in told
    assert [file.name for file in tmp_path.iterdir()] == (["there.nc"] if "do=read" in line else [])


@pytest.mark.usefixtures("_ways")
@pytest.mark.parametrize(
    "form",
    [
        *(pytest.param(form, marks=pytest.mark.long) for form in ("blocking", "nonblocking")),
        *("collective", "grouped group=2"),
    ],
)
@pytest.mark.parametrize(
    "how",
    [
        {"after": 0},  # the header
        {"after": 1},
        {"after": 1, "rank": 0},  # who gathers what all write together; others don't see it
    ],
)
def test_a_disk_that_fills_up_meanwhile_is_a_line_and_leaves_nothing(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: dict[str, str],
    form: str,
    how: dict[str, int],
) -> None:
    failing(monkeypatch, fault, **how)
    there = tmp_path / "there.nc"
    assert pnetcdf.main([str(RANKS), "do=write", *f"form={form} {GRID} file={there}".split()]) == 2
    assert capsys.readouterr().err == (
        f"file: found '{there}' without room (No space left on device); "
        "allowed: one in a folder with room, that can be written\n"
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_ways")
@pytest.mark.parametrize("form", ["nonblocking", "collective"])
def test_nobody_waits_for_a_rank_whose_disk_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: dict[str, str], form: str
) -> None:
    """More than a rank gathers at a time: both libraries leave the others in the next round (with 16, and 32 MiB)."""
    failing(monkeypatch, fault, after=1, rank=0)
    monkeypatch.setenv(LIMIT, "60")
    with pytest.raises(ValueError, match="without room"):
        run(f"do=write form={form} cells=150000 levels=30 run=30000 variables=1 file={tmp_path / 'there.nc'}")
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("_ways")
@pytest.mark.parametrize("form", ["blocking", "grouped group=2"])
def test_a_run_after_one_that_was_killed_has_its_file(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    fault: dict[str, str],
    form: str,
) -> None:
    there = tmp_path / "there.nc"
    words = [str(RANKS), "do=write", *f"form={form} {GRID} file={there}".split()]
    monkeypatch.setenv(LIMIT, "60")
    with monkeypatch.context() as context:
        failing(context, fault, after=2, rank=2, kills=1)
        assert pnetcdf.main(words) == 1
        assert capsys.readouterr().err == "tramontane-pnetcdf was ended by SIGKILL\n"
        assert not list(tmp_path.iterdir())
    assert pnetcdf.main(words) == 0
    assert [file.name for file in tmp_path.iterdir()] == ["there.nc"]


@pytest.mark.usefixtures("_ways")
def test_what_a_killed_run_left_in_shared_memory_keeps_nobody_waiting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Stand-in: the semaphore, by the name of the file, that Open MPI's OMPIO leaves behind taken."""
    there = tmp_path / f"{os.getpid()}.nc"
    name = f"/OMPIO_{there.name}.part".encode()
    libc = ctypes.CDLL(None)
    libc.sem_open.restype = ctypes.c_void_p
    assert libc.sem_open(name, os.O_CREAT, 0o600, 0)
    monkeypatch.setenv(LIMIT, "60")
    try:
        assert run(f"do=write form=blocking {GRID} file={there}")["verified"] is True
    finally:
        libc.sem_unlink(name)


def test_a_run_that_hangs_is_a_line_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: dict[str, str]
) -> None:
    failing(monkeypatch, fault, after=2, rank=2, waits=1)
    monkeypatch.setenv(LIMIT, "5")
    with pytest.raises(RuntimeError, match="did not end within 5 s"):
        run(f"do=write form=blocking {GRID} file={tmp_path / 'there.nc'}")
    assert not list(tmp_path.iterdir())


def test_a_run_that_is_asked_to_end_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: dict[str, str]
) -> None:
    failing(monkeypatch, fault, after=2, rank=2, waits=1)
    words = [str(RANKS), "do=write", *f"form=blocking {GRID} file={tmp_path / 'there.nc'}".split()]
    with subprocess.Popen([sys.executable, "-m", "tramontane.substrates.mpi.pnetcdf", *words]) as command:
        try:
            wait_for((tmp_path / "there.nc.part").exists)
            command.terminate()
            assert command.wait(timeout=30) == 128 + signal.SIGTERM
        finally:
            command.kill()
    assert not list(tmp_path.iterdir())


def test_without_pnetcdf_a_line_says_what_installs_it() -> None:
    assert pnetcdf.missing(replace(here(), compiler="false")) == (
        "no PnetCDF found; installed by: apt-get install libpnetcdf-dev"
    )
