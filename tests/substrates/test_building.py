"""Compiling on demand: once, told in a line, and nobody's processor time."""

import itertools
import os
import subprocess
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tramontane.study import Point
from tramontane.substrates import building, sstmacro
from tramontane.substrates import simgrid as smpi
from tramontane.substrates.isolation import run_forked


def busy(seconds: float) -> None:
    """Use the processor for so long."""
    from tramontane.support.processes import processor_time

    end = processor_time() + seconds
    while processor_time() < end:
        pass


def test_compiling_is_told_once_and_costs_no_point(
    tmp_path: Path, fake: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "simgrid" / "0123"

    class Compiled(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            building.once(folder, lambda place: busy(0.6))
            return {"time_s": 1.0}

    machine = {"topology": "torus", "geometry": [2, 2, 2], "nodes_per_switch": 2}
    point = Point.model_validate(
        {"ranks": 4, "machine": machine, "workload": {"kind": "allreduce", "algorithm": "ring"}}
    )
    assert run_forked(point, Compiled())["cpu_s"] < 0.4
    assert capfd.readouterr().err == "compiling simgrid, once; this may take some minutes\n"
    run_forked(point, Compiled())
    assert capfd.readouterr().err == ""
    assert folder.is_dir()


@pytest.mark.parametrize(
    ("module", "build"),
    [
        (smpi, smpi.build_program),
        (smpi, smpi.build_platform),
        (sstmacro, sstmacro.build_application),
        (sstmacro, sstmacro.build_plugin),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_every_file_that_goes_in_tells_builds_apart(
    module: Any, build: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[Path] = []
    told: list[str] = []

    def noted(files: Iterable[Path], words: Iterable[str]) -> str:
        known.extend(files)
        told.extend(words)
        return "0123"

    monkeypatch.setattr(module, "digest", noted)
    monkeypatch.setattr(module, "once", lambda folder, make: folder)
    monkeypatch.setattr(module, "version", lambda: "of none")
    build()
    included = [word for pair in itertools.pairwise(told) if pair[0] == "-include" for word in pair]
    folders = [word for word in told if word.startswith("-I")]
    sources = [str(file) for file in known if file.suffix == ".cpp"]
    # What is not here, such as SimGrid's headers, is no file of ours.
    command = [os.environ.get("CXX", "c++"), "-std=c++20", "-MM", "-MG", *included, *folders, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = {Path(word).resolve() for word in done.stdout.split() if word.endswith(".hpp")}
    assert len(found) > 10
    assert {file for file in found if file.exists()} <= {file.resolve() for file in known}
