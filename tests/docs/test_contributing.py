"""The walk-throughs of CONTRIBUTING.md: their changes are made in a copy of the checkout, their commands run there."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tramontane.extension import simulator
from tramontane.substrates import Substrate

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WALKS = re.findall(r"^## (Add .*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.DOTALL | re.MULTILINE)
#: Those that compile the simulator, or run a campaign, take longest.
LONGEST = ("Add a collective", "Add a workload", "Add a figure")
ROOMS = ("analysis", "benchmarks", "configs", "simulator", "skeleton-src", "tramontane", "workflow")
#: What the installed checkout puts before everything else would hide what a walk-through adds.
NOT_THE_CHECKOUT = """\
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if "Redirecting" not in type(finder).__name__]
"""
STEP = re.compile(
    r"^    (?P<command>\S[^\n]*)$|^```(?P<kind>diff|cpp|python) (?P<file>\S+)\n(?P<text>.*?)^```$",
    flags=re.MULTILINE | re.DOTALL,
)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A copy of the sources with the compiled extension, in which `.venv/bin/tramontane` is the command."""
    for room in ROOMS:
        shutil.copytree(ROOT / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "Snakefile", tmp_path)
    shutil.copy(str(simulator().__file__), tmp_path / "tramontane")
    (tmp_path / "sitecustomize.py").write_text(NOT_THE_CHECKOUT)
    command = tmp_path / ".venv" / "bin" / "tramontane"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tramontane "$@"\n')
    command.chmod(0o755)
    return tmp_path


def change(file: Path, text: str) -> None:
    """Replace what stands after - by what stands after +; the former is part of the file once."""
    old, new = ("\n".join(line[1:] for line in text.splitlines() if line[0] == sign) for sign in "-+")
    before = file.read_text(encoding="utf-8")
    assert before.count(old) == 1, f"{file.name} does not have this once:\n{old}"
    file.write_text(before.replace(old, new), encoding="utf-8")


def follow(walk: str, scratch: Path, only: str = "") -> str:
    """Make a walk-through's changes and files, run its commands, or those with a word only, return what these say."""
    path = os.pathsep.join((str(scratch / ".venv" / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = {**os.environ, "PYTHONPATH": str(scratch), "PATH": path}
    said = ""
    for step in STEP.finditer(walk):
        if step["kind"] == "diff":
            change(scratch / step["file"], step["text"])
        elif step["kind"]:
            file = scratch / step["file"]
            assert not file.exists()
            file.write_text(step["text"], encoding="utf-8")
        elif only in step["command"]:
            done = subprocess.run(
                ["sh", "-c", step["command"]],
                cwd=scratch,
                capture_output=True,
                text=True,
                check=False,
                env=environment,
                timeout=600,
            )
            assert done.returncode == 0, f"{step['command']}\n{done.stdout}{done.stderr}"
            said += done.stdout
    return said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "walk"),
    [pytest.param(title, walk, id=title, marks=pytest.mark.long if title in LONGEST else []) for title, walk in WALKS],
)
def test_a_walk_through_works(title: str, walk: str, scratch: Path) -> None:
    said = follow(walk, scratch)
    for line in re.findall(r"^It prints `([^`]+)`", walk, flags=re.MULTILINE):
        assert line in said.splitlines()
    for figure in re.findall(r"^The figure is `([^`]+)`", walk, flags=re.MULTILINE):
        assert (scratch / figure).stat().st_size > 0


@pytest.mark.parametrize("title", LONGEST)
def test_the_changes_of_a_walk_through_fit_the_files(title: str, scratch: Path) -> None:
    follow(dict(WALKS)[title], scratch, only="new-experiment")


def test_there_is_a_walk_through_with_commands_for_all_that_is_added() -> None:
    assert [title for title, _ in WALKS] == [
        f"Add a {what}" for what in ("network", "collective", "workload", "substrate", "figure")
    ]
    assert all(any(step["command"] for step in STEP.finditer(walk)) for _, walk in WALKS)


def test_the_substrate_that_is_added_has_the_methods_of_one() -> None:
    walk = dict(WALKS)["Add a substrate"]
    names: dict[str, Any] = {}
    exec(next(step["text"] for step in STEP.finditer(walk) if step["kind"] == "python"), names)

    def methods(of: type) -> dict[str, list[str]]:
        found = inspect.getmembers(of, inspect.isfunction)
        return {name: list(inspect.signature(method).parameters) for name, method in found if name[0] != "_"}

    assert methods(names["Bound"]) == methods(Substrate)
    assert names["Bound"].name == "bound"
