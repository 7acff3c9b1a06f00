"""Compiling on demand: once, told in a line, and nobody's processor time."""

from pathlib import Path
from typing import Any

import pytest

from tramontane.study import Point
from tramontane.substrates import building
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
