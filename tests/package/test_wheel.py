"""The package without a checkout: what a wheel brings, and a study folder that works with it."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from tramontane.substrates.mpi.build import missing_tools
from tramontane.substrates.mpi.libraries import INSTALL, found

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
POINT = "ranks: 64\nmachine: torus-S\nworkload: {kind: halo, width: 3, grid: [64, 64, 16]}\n"

Tramontane = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it, beside what it depends on, which is that of the checkout's environment."""
    folder = tmp_path_factory.mktemp("wheel")
    quiet = ("-q", "--disable-pip-version-check", "--no-deps")
    wheel = [sys.executable, "-m", "pip", "wheel", *quiet, "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(wheel, check=True, capture_output=True)
    environment = folder / "environment"
    venv.create(environment)
    (found,) = environment.glob("lib/python*/site-packages")
    for there in Path(sysconfig.get_path("purelib")).iterdir():
        if "tramontane" not in there.name and not (found / there.name).exists():
            (found / there.name).symlink_to(there)
    python = environment / "bin" / "python"
    (file,) = folder.glob("*.whl")
    install = [sys.executable, "-m", "pip", f"--python={python}", "install", *quiet, "--ignore-installed", str(file)]
    subprocess.run(install, check=True, capture_output=True)
    return environment


@pytest.fixture
def tramontane(installed: Path, tmp_path: Path) -> Tramontane:
    """The command of that environment, in a folder where nothing is."""

    def run(*arguments: str, folder: str = ".", status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [installed / "bin" / "tramontane", *arguments],
            cwd=tmp_path / folder,
            env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done

    return run


def written_below(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"}


def test_points_measured_rows_and_claims_need_no_checkout(
    installed: Path, tramontane: Tramontane, tmp_path: Path
) -> None:
    before = written_below(installed)
    (tmp_path / "point.yaml").write_text(POINT, encoding="utf-8")
    assert json.loads(tramontane("run", "point.yaml").stdout)["messages"] == 256
    rows = (ROOT / "validation" / "sstmacro-16.0.csv").read_text(encoding="utf-8").splitlines()
    (tmp_path / "rows.csv").write_text("\n".join(rows[:8]), encoding="utf-8")
    assert json.loads(tramontane("compare", "rows.csv", "--json").stdout)["n"] > 0
    assert {claim["verdict"] for claim in json.loads(tramontane("claims", "--json").stdout)} <= {
        "not evaluated",
        "out of reach",
        "reproduced",
        "not reproduced",
    }
    assert (tmp_path / "results" / "points").is_dir(), "what is written lies in the working directory"
    assert written_below(installed) == before


def test_campaigns_run_in_a_study_folder(tramontane: Tramontane, tmp_path: Path) -> None:
    assert "made by: tramontane init DIR" in tramontane("reproduce", "--scale", "smoke", status=2).stderr
    tramontane("init", "study")
    tramontane("validate", folder="study")
    assert (tmp_path / "study" / "workflow" / "schemas" / "experiment.schema.json").is_file()
    small = ("reproduce", "--scale", "smoke", "--experiments", "my-question", "--where", "ranks == 16")
    done = tramontane(*small, folder="study", status=0)
    report = tmp_path / "study" / done.stdout.strip()
    page = report.read_text(encoding="utf-8")
    assert "tramontane reproduce --scale smoke" in page
    assert "Routings of a halo exchange" in page


def test_the_pages_come_with_the_wheel(tramontane: Tramontane, tmp_path: Path) -> None:
    tramontane("init", "study")
    first = (tmp_path / "study" / "configs" / "experiments" / "my-question.yaml").read_text(encoding="utf-8")
    named = re.findall(r"tramontane docs ([a-z-]+)", first)
    assert named
    for page in named:
        shown = tramontane("docs", page, folder="study")
        assert shown.stdout == (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        assert Path(shown.stderr.strip()).is_file(), "where it lies"


def test_a_study_folder_takes_the_place_of_nothing(tramontane: Tramontane, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    told = tramontane("init", "full", status=2).stderr
    assert told == "full: is there already; allowed: a folder that is empty or does not exist\n"
    (tmp_path / "empty").mkdir()
    tramontane("init", "empty")
    assert (tmp_path / "empty" / "Snakefile").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"full", "empty"}


#: A ring of messages, and a sum.
RING = """
#include <mpi.h>
int main(int argc, char** argv) {
    static double out[500], in[500];
    double sum = 0;
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Sendrecv(out, 500, MPI_DOUBLE, (rank + 1) % ranks, 1, in, 500, MPI_DOUBLE, (rank + ranks - 1) % ranks, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Allreduce(in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def test_a_program_is_traced_and_replayed(
    installed: Path, tramontane: Tramontane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library that traces is compiled from what the wheel brings, into the user's cache."""
    there = found()
    if missing_tools() or not there:
        pytest.skip(f"no compiler or MPI library found; installed by: {INSTALL}")
    library = there[0]
    for name, value in library.variables.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "ring.c").write_text(RING, encoding="utf-8")
    subprocess.run([library.compiler, "-x", "c", "ring.c", "-o", "ring"], cwd=tmp_path, check=True, capture_output=True)
    before = written_below(installed)
    words = ("--environment", library.name, "--output", "traced", "--", *library.mpirun, "4", "./ring")
    assert "4 ranks, 8 calls" in tramontane("trace", *words).stderr
    (tmp_path / "p.yaml").write_text("ranks: 4\nmachine: torus-S\nworkload: {kind: trace, file: traced}\n")
    result = json.loads(tramontane("run", "p.yaml").stdout)
    assert (result["messages"], result["bytes"]) == (4 + 8, 4 * 4000 + 8 * 8)  # the sum by recursive doubling
    tramontane("utilisation", "p.yaml")
    assert json.loads((tmp_path / "p-utilisation.json").read_text(encoding="utf-8"))["links"]
    assert list(tmp_path.glob("p-utilisation.svg"))
    assert written_below(installed) == before


def test_schedules_are_compiled_for_mpi_outside_the_package(
    installed: Path, tramontane: Tramontane, tmp_path: Path
) -> None:
    code = "from tramontane.support.layout import BUILDS, SHARE; print(BUILDS, SHARE)"
    done = subprocess.run(
        [installed / "bin" / "python", "-c", code],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    builds, share = map(Path, done.stdout.split())
    assert builds.is_relative_to(tmp_path / "cache")
    assert share.is_relative_to(installed)
    for needed in ("CMakeLists.txt", "skeleton-src/workload.cpp", "reframe-checks/config.py", "workflow/envs"):
        assert (share / needed).exists(), needed
