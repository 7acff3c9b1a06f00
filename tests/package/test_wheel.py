"""The package without a checkout: what a wheel brings, and a study folder that works with it."""

import json
import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
POINT = "ranks: 64\nmachine: torus-S\nworkload: {kind: halo, width: 3, grid: [64, 64, 16]}\n"

Tramontane = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it; what it depends on is that of the checkout's environment."""
    folder = tmp_path_factory.mktemp("wheel")
    quiet = ("-q", "--disable-pip-version-check", "--no-deps")
    wheel = [sys.executable, "-m", "pip", "wheel", *quiet, "--no-build-isolation", "-w", str(folder), str(ROOT)]
    subprocess.run(wheel, check=True, capture_output=True)
    environment = folder / "environment"
    venv.create(environment)
    (found,) = environment.glob("lib/python*/site-packages")
    (found / "dependencies.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
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
    small = ("reproduce", "--scale", "smoke", "--experiments", "my-question", "--where", "ranks == 16")
    done = tramontane(*small, folder="study", status=0)
    report = tmp_path / "study" / done.stdout.strip()
    page = report.read_text(encoding="utf-8")
    assert "tramontane reproduce --scale smoke" in page
    assert "Routings of a halo exchange" in page


def test_a_study_folder_takes_the_place_of_nothing(tramontane: Tramontane, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes").touch()
    told = tramontane("init", "full", status=2).stderr
    assert told == "full: is there already; allowed: a folder that is empty or does not exist\n"
    (tmp_path / "empty").mkdir()
    tramontane("init", "empty")
    assert (tmp_path / "empty" / "Snakefile").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {"full", "empty"}


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
