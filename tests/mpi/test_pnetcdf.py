"""Real NetCDF files by PnetCDF: every form writes the same bytes, and what can't be is a line that leaves nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tramontane.study.points import DEFAULT_SYSTEM, SystemChoice
from tramontane.substrates.mpi import pnetcdf
from tramontane.substrates.mpi.build import missing_tools
from tramontane.substrates.mpi.libraries import found, library_of

FORMS = ["form=blocking", "form=nonblocking", "form=collective", "form=grouped group=2", "form=grouped group=4"]
CELLS, LEVELS, RANKS = 162, 3, 5
GRID = f"cells={CELLS} levels={LEVELS} run=4"


@pytest.fixture(scope="module", autouse=True)
def _there() -> None:
    if missing_tools() or pnetcdf.ENVIRONMENT not in {library.name for library in found()}:
        pytest.skip("no Open MPI or compiler found")
    library = library_of(SystemChoice(name=DEFAULT_SYSTEM, environment=pnetcdf.ENVIRONMENT))
    lacking = pnetcdf.missing(library)
    if lacking:
        pytest.skip(lacking)


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


def test_without_pnetcdf_a_line_says_what_installs_it() -> None:
    library = library_of(SystemChoice(name=DEFAULT_SYSTEM, environment=pnetcdf.ENVIRONMENT))
    assert pnetcdf.missing(replace(library, compiler="false")) == (
        "no PnetCDF found; installed by: apt-get install libpnetcdf-dev"
    )
