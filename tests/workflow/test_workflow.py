"""The workflow's files: clean by Snakemake's own judgement, profiles that mean something, pins that agree."""

import os
import pty
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PROFILES = ROOT / "workflow" / "profiles"

#: Names that conda-forge spells differently.
CONDA = {"matplotlib-base": "matplotlib", "snakemake-minimal": "snakemake"}


def read(path: Path) -> dict[str, object]:
    data: dict[str, object] = YAML(typ="safe").load(path.read_text())
    return data


def snakemake(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_snakemake_finds_nothing_to_improve(tmp_path: Path) -> None:
    done = snakemake("--snakefile", str(ROOT / "Snakefile"), "--lint", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Congratulations" in done.stdout + done.stderr


def test_the_rules_are_formatted() -> None:
    files = [str(ROOT / "Snakefile"), *(str(path) for path in (ROOT / "workflow" / "rules").glob("*.smk"))]
    done = subprocess.run(
        [sys.executable, "-m", "snakefmt", "--check", *files], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_rules_hold_no_logic() -> None:
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        text = path.read_text()
        assert not re.search(r"^\s*(def|for|if|while|lambda|run:)\b|\blambda\b", text, flags=re.MULTILINE), path
    assert len((ROOT / "Snakefile").read_text().splitlines()) <= 60


@pytest.mark.parametrize("name", ["default", "slurm"])
def test_profiles_hold_options_that_snakemake_has(name: str) -> None:
    known = set(re.findall(r"--([a-z][a-z0-9-]+)", snakemake("--help", cwd=ROOT).stdout))
    options = read(PROFILES / name / "profile.yaml")
    assert {option for option in options if not option.startswith("slurm-")} <= known
    assert options["rerun-triggers"] == ["mtime"]
    assert options["rerun-incomplete"] is True
    assert options["keep-going"] is True


def test_batches_are_sized_for_a_batch_system() -> None:
    options = read(PROFILES / "slurm" / "profile.yaml")
    assert options["executor"] == "slurm"
    text = (ROOT / "workflow" / "rules" / "simulate.smk").read_text()
    assert "mem_mb=files.memory" in text
    assert "runtime=files.runtime" in text


def test_only_batches_are_sent_to_a_batch_system() -> None:
    local = (ROOT / "Snakefile").read_text().split("localrules:")[1].split("\n\n")[0]
    rules = [path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk")]
    names = {name for text in rules for name in re.findall(r"^rule (\w+):", text, flags=re.MULTILINE)}
    assert names - set(re.findall(r"\w+", local)) == {"run_batch"}


def test_pins_of_the_environments_are_those_of_the_lock() -> None:
    locked = re.findall(r"^([a-z0-9._-]+)==([^ \\;]+)", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE)
    for path in (ROOT / "workflow" / "envs").glob("*.yaml"):
        dependencies = read(path)["dependencies"]
        assert isinstance(dependencies, list)
        pins = [entry.split(" =") for entry in dependencies if " =" in entry and not entry.startswith("python ")]
        assert len(pins) >= 5
        for name, version in pins:
            assert (CONDA.get(name, name), version) in locked


@pytest.mark.parametrize(
    ("answers", "lacking"),
    [
        ("exit 1", ["Python 3.11 or later"]),
        ('case "$2" in *ensurepip*) exit 1;; esac; exit 0', ["python3-venv"]),
        ('case "$2" in *Python.h*) exit 1;; esac; exit 0', ["python3-dev"]),
        ('case "$2" in *ensurepip*|*Python.h*) exit 1;; esac; exit 0', ["python3-venv", "python3-dev"]),
    ],
)
def test_set_up_names_the_packages_that_a_minimal_system_lacks(
    tmp_path: Path, answers: str, lacking: list[str]
) -> None:
    python = tmp_path / "fake-python"
    python.write_text(f"#!/bin/sh\n{answers}\n")
    python.chmod(0o755)
    done = set_up(tmp_path, PYTHON=str(python), CXX="no-such-compiler")
    assert done.returncode == 1
    for part in (*lacking, "no-such-compiler", "apt-get install g++"):
        assert part in done.stderr
    assert list(tmp_path.iterdir()) == [python]


def test_set_up_refuses_a_compiler_without_coroutines(tmp_path: Path) -> None:
    compiler = tmp_path / "clang++-13"
    compiler.write_text("#!/bin/sh\n! grep -q '<coroutine>'\n")
    compiler.chmod(0o755)
    done = set_up(tmp_path, PYTHON="no-such-python", CXX=str(compiler))
    assert f"a C++20 compiler ({compiler} is none) (Debian: apt-get install g++)" in done.stderr


def test_set_up_names_a_python_that_is_not_there(tmp_path: Path) -> None:
    done = set_up(tmp_path, PYTHON="no-such-python")
    assert done.returncode == 1
    assert "no-such-python (Debian: apt-get install python3 python3-venv python3-dev)" in done.stderr


@pytest.mark.parametrize("letter", '":;|$`[]*?<\\\n')
def test_set_up_refuses_a_folder_whose_path_is_taken_for_something_else(tmp_path: Path, letter: str) -> None:
    folder = tmp_path / f"my{letter}checkout"
    folder.mkdir()
    for name in ("Makefile", "requirements.lock", "workflow"):
        (folder / name).symlink_to(ROOT / name)
    done = subprocess.run(
        ["make", "-C", ".", "setup", "PYTHON=no-such-python", "SOURCES="],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PWD": str(folder), "MAKEFLAGS": ""},
    )
    assert done.returncode == 2
    allowed = 'a path without line breaks and " \\ ; | : $ ` [ ] * ? <'
    assert f"this folder: found '{folder}'; allowed: {allowed}\n" in done.stderr
    assert not (folder / ".venv").exists()


@pytest.fixture
def read_only(tmp_path: Path) -> Iterator[Path]:
    """A folder of a file system that is read only, or else the test is skipped: root may write to any other."""
    place = tmp_path / "checkout"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "ro,size=4k", "tmpfs", str(place)], check=False).returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("step", ["packages", "simulator"])
def test_set_up_refuses_a_folder_that_it_can_t_write_to(read_only: Path, step: str) -> None:
    done = set_up(read_only, step)
    allowed = "one that can, as .venv and build are made in it"
    assert (done.returncode, done.stderr) == (1, f"this folder: '{read_only}' can't be written; allowed: {allowed}\n")


@pytest.mark.parametrize("before", ["1", "hip"])
@pytest.mark.parametrize(("asked", "on"), [("0", set()), ("1", {"CUDA"}), ("hip", {"HIP"})])
def test_set_up_switches_off_the_driver_of_other_gpus_which_cmake_remembers(
    tmp_path: Path, before: str, asked: str, on: set[str]
) -> None:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\necho "$@" >>{tmp_path}/called\n')
    python.chmod(0o755)
    (tmp_path / ".venv" / ".gpu").write_text(before)
    done = set_up(tmp_path, "simulator", GPU=asked, CUDACXX="nvcc")
    assert done.returncode == 0, done.stderr
    told = dict(re.findall(r"define\.TRAMONTANE_(CUDA|HIP)=(ON|OFF)", (tmp_path / "called").read_text()))
    assert told == {name: "ON" if name in on else "OFF" for name in ("CUDA", "HIP")}


@pytest.mark.parametrize("step", ["packages", "simulator"])
def test_set_up_refuses_another_gpu_before_it_does_anything(tmp_path: Path, step: str) -> None:
    done = set_up(tmp_path, step, GPU="foo")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "GPU: found 'foo', allowed: 0, 1 (CUDA), hip\n"
    assert not list(tmp_path.iterdir())


def set_up(folder: Path, step: str = "packages", **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(ROOT / "workflow" / "scripts" / "setup.sh"), step],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


@pytest.mark.parametrize(("ends", "told"), [(0, ""), (1, "set-up failed: ")])
def test_a_terminal_shows_how_far_set_up_is_and_a_log_does_not(tmp_path: Path, ends: int, told: str) -> None:
    folder = tmp_path / ".venv" / "bin"
    folder.mkdir(parents=True)
    python = folder / "python"
    build = f'echo "[3/8] Building"; sleep 2; echo "[7/8] Linking"; sleep 2; exit {ends}'
    python.write_text(f'#!/bin/sh\ncase "$*" in *pip*) {build} ;; esac\n')
    python.chmod(0o755)
    line = "compiling the simulator (details in .venv/setup.log)"
    plain = set_up(tmp_path, "simulator", TERM="xterm")
    assert plain.stderr.splitlines()[0] == line
    assert plain.stderr.count("\n") == (4 if ends else 1)
    assert "steps" not in plain.stderr
    (tmp_path / ".venv" / "setup.log").unlink()

    leader, follower = pty.openpty()
    command = ["sh", str(ROOT / "workflow" / "scripts" / "setup.sh"), "simulator"]
    environment = {**os.environ, "TERM": "xterm"}
    status = subprocess.run(command, cwd=tmp_path, stderr=follower, check=False, env=environment).returncode
    os.close(follower)
    shown = os.read(leader, 65536).decode()
    os.close(leader)
    assert status == ends
    assert shown.startswith(line)
    assert re.search(r"\r\x1b\[K\d+ s, 3 of 8 steps, about \d+ s left\r", shown)
    assert re.search(r"\r\x1b\[K\d+ s, 7 of 8 steps, linking\r", shown)
    behind = shown.rpartition("\r\x1b[K")[2]  # the line, which goes at the end
    assert told in behind
    assert bool(behind) == bool(ends)
