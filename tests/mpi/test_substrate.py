"""The substrate `mpi`: what is there, what is said where something is missing or goes wrong, what a run returns."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mpi.conftest import Program
from tests.waiting import wait_for
from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.study.points.points import SystemChoice
from tramontane.substrates import mpi as substrate
from tramontane.substrates.mpi import build, launch, libraries, program
from tramontane.substrates.mpi.libraries import library_of
from tramontane.support.layout import BUILDS, SHARE

pytestmark = pytest.mark.slow

POINT = """
ranks: 6
workload: {kind: transposition, algorithm: ring-k, radix: 2, grid: [24, 16, 8]}
substrate: mpi
"""


@pytest.fixture
def point(tmp_path: Path) -> Callable[..., Point]:
    def write(old: str = "", new: str = "") -> Point:
        file = tmp_path / "point.yaml"
        file.write_text(POINT.replace(old, new, 1) if old else POINT)
        return load_point(file)

    return write


def test_without_a_library_the_line_that_installs_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tools = {"cmake", "c++"}
    for module in (libraries, build):
        monkeypatch.setattr(module, "find_command", lambda name, **_: name if name in tools else None)
    said = substrate.Mpi().available()
    assert said == f"no MPI library found; installed by: {libraries.INSTALL}"
    tools.clear()
    assert "cmake not found; installed by: apt-get install" in str(substrate.Mpi().available())


def test_a_wheel_does_not_take_the_place_of_a_machines_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder, names in (("own", ("mpicxx", "mpirun", "cmake")), ("system", ("mpicxx", "cmake"))):
        (tmp_path / folder).mkdir()
        for name in names:
            (tmp_path / folder / name).touch(0o755)
    monkeypatch.setattr(libraries, "BIN", tmp_path / "own")
    monkeypatch.setenv("PATH", str(tmp_path / "system"))
    assert libraries.find_command("mpicxx") == str(tmp_path / "system" / "mpicxx")
    assert libraries.find_command("mpirun") == str(tmp_path / "own" / "mpirun")
    assert libraries.find_command("cmake", own_first=True) == str(tmp_path / "own" / "cmake")


def test_a_library_of_no_name_is_used_only_where_no_other_is(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"mpicxx", "mpirun"}
    monkeypatch.setattr(libraries, "find_command", lambda name: f"bin/{name}" if name in there else None)
    assert [library.name for library in libraries.found()] == ["mpi"]
    there |= {"mpicxx.mpich", "mpirun.mpich"}
    assert [library.name for library in libraries.found()] == ["mpich"]
    assert library_of(SystemChoice(name="generic")).mpirun == ("bin/mpirun.mpich", "-np")


@pytest.mark.parametrize(
    ("choice", "said"),
    [
        ({"name": "generic", "environment": "mpch"}, "system.environment: found 'mpch'; allowed: openmpi, mpich, mpi"),
        ({"name": "generic", "partition": "gpu"}, "system.partition: found 'gpu'; allowed: cores"),
        ({"name": "template-cray-slingshot"}, "found 'template-cray-slingshot', a template"),
        ({"name": "slurm-local"}, "this is not a job of Slurm"),
    ],
)
def test_a_choice_that_can_not_be(monkeypatch: pytest.MonkeyPatch, choice: dict[str, str], said: str) -> None:
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    with pytest.raises(ValueError, match=said):
        library_of(SystemChoice.model_validate(choice))


def test_a_run_gives_what_all_substrates_give(any_mpi: Program, point: Callable[..., Point]) -> None:
    measured = point()
    assert measured.machine is None
    result = substrate.Mpi().run(measured)
    measured = result["measurement"]
    assert result["substrate"] == "mpi"
    assert result["verified"] is True
    assert result["time_s"] == measured["time_s"]["median"]
    assert list(result["phases"]) == ["a-b", "b-c", "c-d"]
    assert (result["messages"], result["hops"]) == (measured["messages"], None)
    assert len(measured["repetitions"]) == program.REPETITIONS
    assert result["system"] == {"name": "generic", "environment": any_mpi.library.name}
    assert result["build"]["by"] == "cmake"
    assert result["build"]["compiler"] == any_mpi.library.compiler


@pytest.mark.parametrize("algorithm", ["library", "library-nonblocking", "library-persistent"])
def test_the_library_is_an_algorithm(any_mpi: Program, point: Callable[..., Point], algorithm: str) -> None:
    result = substrate.Mpi().run(point("ring-k, radix: 2", algorithm))
    assert result["measurement"]["implementation"] == program.IMPLEMENTATIONS[algorithm]
    assert result["verified"] is True


def test_the_launcher_of_another_library_is_noticed(built: Callable[[str], Program]) -> None:
    mine, other = built("openmpi"), built("mpich")
    crossed = replace(mine.library, mpirun=other.library.mpirun)
    with pytest.raises(ValueError, match="ranks: found that 1 was started, allowed: 2"):
        substrate.measure(crossed, mine.path, 2, ["kind=allreduce", "algorithm=ring"])


def test_wrong_data_are_a_failure(any_mpi: Program) -> None:
    arguments = ["kind=allreduce", "algorithm=ring", "repeats=1", "fault=value"]
    with pytest.raises(RuntimeError, match=r"^data arrived wrong: rank . allreduce 0, element"):
        substrate.measure(any_mpi.library, any_mpi.path, 4, arguments)


def test_launches_side_by_side_share_no_folder_of_the_library(tmp_path: Path) -> None:
    """Each leaves what it likes below a folder of its own, which goes with it."""
    launcher = tmp_path / "mpirun"
    launcher.write_text('#!/bin/sh\nmkdir -p "$OMPI_MCA_orte_tmpdir_base/ompi.host" && env')
    launcher.chmod(0o755)
    library = libraries.Library("generic", "openmpi", "mpicxx", (str(launcher),), {})
    seen = set()
    for _ in range(2):
        ended = launch.start(library, 2, [])
        folders = {line.partition("=")[2] for line in ended.stdout.splitlines() if line.startswith(launch.SESSIONS)}
        assert len(folders) == 1, ended
        seen |= folders
    assert len(seen) == 2
    assert not any(Path(folder).exists() for folder in seen)


@pytest.mark.parametrize("mpi", ["openmpi", pytest.param("mpich", marks=pytest.mark.long)], indirect=True)
def test_a_run_that_hangs_ends_with_a_line(mpi: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(launch.LIMIT, "6")
    ranks = tmp_path / "ranks"
    ranks.mkdir()
    with pytest.raises(RuntimeError, match="with 2 ranks did not end within 6 s and was stopped; TRAM"):
        launch.start(mpi.library, 2, ["sh", "-c", f"touch {ranks}/$$; exec sleep 600"])
    left = [int(file.name) for file in ranks.iterdir()]
    assert len(left) == 2
    wait_for(lambda: not any(_runs(number) for number in left))


def _runs(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_a_limit_that_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in ("soon", "-5", "0", "nan", "inf"):
        monkeypatch.setenv(launch.LIMIT, text)
        with pytest.raises(ValueError, match=f"TRAMONTANE_MPI_LIMIT: found '{text}', allowed: seconds, more than 0"):
            launch.limit()


def test_the_command_prints_one_object(any_mpi: Program, tmp_path: Path) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(POINT.replace("substrate: mpi", "machine: torus-S"))
    command = [sys.executable, "-m", "tramontane", "run", str(file), "--substrate", "mpi"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=dict(os.environ))
    assert json.loads(done.stdout)["id"] == load_point(file, "mpi").id != load_point(file).id


def test_the_program_is_built_by_hand_too(any_mpi: Program, capsys: pytest.CaptureFixture[str]) -> None:
    assert build.main([any_mpi.library.name]) == 0
    assert capsys.readouterr().out.strip() == str(any_mpi.path)
    assert build.main(["openmp"]) == 2
    assert "system.environment: found 'openmp'; allowed: openmpi" in capsys.readouterr().err
    assert build.main([]) == 2


def test_environments_of_two_systems_share_no_folder() -> None:
    assert build.folder_of("openmpi") == BUILDS / "mpi-openmpi"  # as docs/mpi.md says
    places = [(name, system) for name in ("a", "b", "a-b") for system in ("generic", "a", "b", "a-b")]
    assert len({build.folder_of(*place) for place in places}) == len(places)


def test_a_build_begins_anew_with_any_cmake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that knows no --fresh, and in a folder that another compiler has left its cache in."""
    cmake = tmp_path / "cmake"
    cmake.write_text(
        '#!/bin/sh\ncase "$*" in *--fresh*) exit 1 ;; *--build*) touch "$2/tramontane-mpi" ;;'
        ' *) test ! -e "$4/CMakeCache.txt" -a ! -e "$4/CMakeFiles" ;; esac\n'
    )
    cmake.chmod(0o755)
    monkeypatch.setattr(build, "find_command", lambda *_, **__: str(cmake))
    monkeypatch.setattr(build, "BUILDS", tmp_path / "build")
    folder = build.folder_of("x", "site")
    (folder / "CMakeFiles").mkdir(parents=True)
    (folder / "CMakeCache.txt").touch()
    assert build.build_with("x", "mpicxx", "site") == folder / "tramontane-mpi"


@pytest.mark.parametrize(
    ("loaded", "said"),
    [
        ("", "environment gnu: modules gcc/13, mpi are not loaded; load them, or use a campaign or ReFrame, which do"),
        (
            "gcc/13.2:mpi2/4",
            "environment gnu: module mpi is not loaded; load it, or use a campaign or ReFrame, which do",
        ),
        ("gcc/13.2:mpi/4", ""),
    ],
)
@pytest.mark.parametrize("environment", ["gnu", None])
def test_an_environment_of_modules_that_are_not_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loaded: str, said: str, environment: str | None
) -> None:
    file = tmp_path / "configs" / "systems" / "site.yaml"
    file.parent.mkdir(parents=True)
    (tmp_path / "configs" / "experiments").mkdir()
    file.write_text(
        "description: x\nhosts: [x]\nmodules_system: lmod\n"
        "environments: {gnu: {compiler: CC, modules: [gcc/13, mpi]}}\n"
        "partitions: {login: {environments: [gnu], ranks_per_node: 4}}\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(libraries, "find_command", lambda name: f"bin/{name}")
    monkeypatch.setenv("LOADEDMODULES", loaded)
    choice = SystemChoice(name="site", environment=environment)
    if said:
        with pytest.raises(ValueError, match=r"^system site, ") as refused:
            library_of(choice)
        assert str(refused.value).endswith(said)
    else:
        assert library_of(choice).system == "site"


def test_variables_of_a_system_stand_for_others_as_in_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "configs" / "systems" / "site.yaml"
    file.parent.mkdir(parents=True)
    (tmp_path / "configs" / "experiments").mkdir()
    text = (
        "description: x\nhosts: [x]\nenvironments: {gnu: {compiler: CC, variables: {A: $PLACE/a, B: '$C:$A'}}}\n"
        "partitions: {login: {environments: [gnu], ranks_per_node: 4, variables: {C: c}}}\n"
    )
    file.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(libraries, "find_command", lambda name: f"bin/{name}")
    monkeypatch.setenv("PLACE", "/here")
    assert library_of(SystemChoice(name="site")).variables == {"C": "c", "A": "/here/a", "B": "c:/here/a"}
    file.write_text(text.replace("$PLACE/a", "'${'"))
    with pytest.raises(InputError, match=r"configs/systems/site.yaml: environments.gnu.variables: .*\$NAME is another"):
        library_of(SystemChoice(name="site"))


def test_building_by_hand_warns_of_nothing() -> None:
    command = [sys.executable, "-m", "tramontane.substrates.mpi.build"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == "usage: python -m tramontane.substrates.mpi.build ENVIRONMENT [COMPILER SYSTEM]\n"


def test_sources_that_can_not_be_built_are_a_line(
    any_mpi: Program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(build, "SHARE", tmp_path)
    monkeypatch.setattr(build, "BUILDS", tmp_path / "build")
    (tmp_path / "CMakeLists.txt").write_text("message(FATAL_ERROR no)\n")
    with pytest.raises(RuntimeError, match=r"building tramontane-mpi with .* failed; see .*build/mpi-.*/build.log"):
        build.build_program(any_mpi.library)


def test_the_workflow_has_a_rule_that_builds(any_mpi: Program) -> None:
    target = f"build/mpi-{any_mpi.library.name}/{program.NAME}"
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--forcerun", "build_program", "--quiet", "--", target]
    done = subprocess.run(command, cwd=SHARE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
