"""What Spack has built: asked for by name, found in its environment, told from other builds by what it wrote down."""

import json
import subprocess
from pathlib import Path

import pytest

from tramontane.campaign.driver import Options, reproduce
from tramontane.errors import InputError
from tramontane.substrates import get, spack
from tramontane.substrates.mpi import build, program
from tramontane.substrates.mpi.libraries import Library

ROOT = Path(__file__).parents[2]
LIBRARY = Library("generic", "openmpi", "mpicxx", ("mpirun", "-np"), {})


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Return the skeleton program as an environment of Spack shows it: a link into the package's own folder."""
    package = tmp_path / "opt" / "tramontane-skeleton-main-abcdefghij"
    (package / ".spack").mkdir(parents=True)
    node = {"name": "tramontane-skeleton", "version": "main", "hash": "abcdefghij"}
    (package / ".spack" / "spec.json").write_text(json.dumps({"spec": {"nodes": [node, {"name": "gcc"}]}}))
    (package / ".spack" / "install_environment.json").write_text(json.dumps({"spack_version": "1.1.1 (c6a7992)"}))
    (package / "bin").mkdir()
    (package / "bin" / program.NAME).write_text("#!/bin/sh\n")
    shown = tmp_path / "environment" / ".spack-env" / "view" / "bin" / program.NAME
    shown.parent.mkdir(parents=True)
    shown.symlink_to(package / "bin" / program.NAME)
    return shown


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for Spack, with a command of that name that does nothing, and an environment that is activated."""
    command = tmp_path / "bin" / "spack"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/said\n')
    command.chmod(0o755)
    monkeypatch.setenv(spack.BUILD, "spack")
    monkeypatch.setenv("SPACK", f"{command} -C site")
    monkeypatch.setenv("SPACK_ENV", str(tmp_path / "environment"))


def test_cmake_builds_unless_asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(spack.BUILD, raising=False)
    assert not spack.asked()
    monkeypatch.setenv(spack.BUILD, "make")
    with pytest.raises(InputError, match=r"TRAMONTANE_BUILD: found 'make'; allowed: cmake, spack"):
        spack.asked()


def test_a_campaign_without_spack_is_refused_before_anything_is_written(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(spack.BUILD, "spack")
    monkeypatch.setenv("SPACK", "no-such-spack")
    with pytest.raises(InputError, match=r"no command no-such-spack; `tramontane docs spack` .*allowed: cmake"):
        reproduce(project, "smoke", ["all"], Options(cores=1, memory=None))
    assert not (project / "results").exists()


def test_make_takes_one_of_two_and_says_what_is_missing(tmp_path: Path) -> None:
    def make(*words: str) -> str:
        done = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        return done.stderr.splitlines()[0]

    assert make("help", "BUILD=hand").endswith("BUILD: found 'hand', allowed: cmake, spack.  Stop.")
    said = make("reproduce", "BUILD=spack", "SPACK=no-such-spack", f"SPACK_ENV={tmp_path}")
    assert said.startswith("BUILD=spack: no command no-such-spack (docs/spack.md); without BUILD=spack everything")
    assert list(tmp_path.iterdir()) == []


def test_make_installs_once_and_runs_the_campaign_from_the_view(tmp_path: Path) -> None:
    place = tmp_path / "environment"
    place.mkdir()
    command = tmp_path / "spack"
    campaign = '#!/bin/sh\necho "$TRAMONTANE_BUILD $PATH $@"\n'
    command.write_text(
        f"""#!/bin/sh
echo "$@" >>{tmp_path}/said
mkdir -p {place}/.spack-env/view/bin
printf '%s' '{campaign}' >{place}/.spack-env/view/bin/tramontane
chmod +x {place}/.spack-env/view/bin/tramontane
"""
    )
    command.chmod(0o755)

    def make() -> str:
        words = ["reproduce", "BUILD=spack", f"SPACK={command} -C site", f"SPACK_ENV={place}", "SCALE=smoke"]
        done = subprocess.run(["make", "-s", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = make()
    assert said.startswith(f"spack {place}/.spack-env/view/bin:")
    assert " reproduce --scale smoke --experiments all --profile default" in said
    steps = f"-C site -e {place} concretize\n-C site -e {place} install\n"
    assert (tmp_path / "said").read_text() == steps
    assert make() == said
    assert (tmp_path / "said").read_text() == steps, "what is installed is not installed again"
    command.write_text("#!/bin/sh\necho ==\\> Error: no such compiler\nexit 1\n")
    (place / ".spack-env" / ".installed").unlink()
    words = ["reproduce", "BUILD=spack", f"SPACK={command}", f"SPACK_ENV={place}"]
    done = subprocess.run(["make", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[1:3] == [
        "==> Error: no such compiler",
        f"BUILD=spack: spack concretize failed; all of it in {place}/.spack-env/install.log",
    ]


def test_a_file_of_spack_is_known_by_its_package(installed: Path) -> None:
    assert spack.origin(installed) == "tramontane-skeleton@main/abcdefg by Spack 1.1.1"
    assert spack.origin(Path(__file__)) is None


@pytest.mark.usefixtures("ask")
def test_the_program_of_the_environment_is_used_and_named(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "folder_of", lambda *_: tmp_path / "build")
    executable = build.build_program(LIBRARY)
    assert executable == tmp_path / "build" / program.NAME
    assert executable.resolve() == installed.resolve()
    assert build.provenance(LIBRARY, executable) == {"by": "tramontane-skeleton@main/abcdefg by Spack 1.1.1"}
    assert not (tmp_path / "said").exists(), "what is there is not installed again"


@pytest.mark.usefixtures("ask")
def test_an_environment_without_the_program_is_installed_and_then_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "folder_of", lambda *_: tmp_path / "build")
    with pytest.raises(RuntimeError, match=r"tramontane-mpi is not in the view of Spack.s environment .*: add"):
        build.build_program(LIBRARY)
    where = f"-C site -e {tmp_path / 'environment'}"
    assert (tmp_path / "said").read_text() == f"{where} concretize\n{where} install\n"


def test_the_simulator_of_this_checkout_was_built_with_cmake() -> None:
    assert get("simulator").builder() == "cmake"
