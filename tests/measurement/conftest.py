"""A small project with points for a real machine, and ReFrame to run them; without an MPI library tests are skipped."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
CHECKS = ROOT / "reframe-checks"

#: Two measured points and two simulated ones.
EXPERIMENT = """\
title: A transposition, measured and simulated
question: Do both stand in one dataset?
description: One small transposition.
base:
  workload: {kind: transposition, algorithm: burst, grid: [64, 48, 16]}
cross:
  where: [measured, simulated]
  ranks: [2, 4]
variants:
  where:
    measured: {substrate: mpi, system: generic}
    simulated: {machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 2}}
scales:
  smoke: {}
figure: {lines: where, caption: Time of a transposition.}
"""

SYSTEM = """\
description: This machine.
hosts: [".*"]
environments:
  openmpi:
    compiler: mpicxx.openmpi
    mpirun: mpirun.openmpi -np
    variables: {OMPI_ALLOW_RUN_AS_ROOT: 1, OMPI_ALLOW_RUN_AS_ROOT_CONFIRM: 1, OMPI_MCA_rmaps_base_oversubscribe: 1,
                OMPI_MCA_mpi_yield_when_idle: 1}
partitions:
  cores: {environments: [openmpi], ranks_per_node: 8, features: [CI]}
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The root of a project with an experiment and a system of its own called `generic`."""
    project = tmp_path / "project"
    for folder, name, text in (("experiments", "pair.yaml", EXPERIMENT), ("systems", "generic.yaml", SYSTEM)):
        (project / "configs" / folder).mkdir(parents=True)
        (project / "configs" / folder / name).write_text(text)
    return project


class Run:
    """What came of a run of ReFrame."""

    def __init__(self, done: "subprocess.CompletedProcess[str]", report: Path) -> None:
        self.status = done.returncode
        self.said = done.stdout + done.stderr
        self.tests: list[dict[str, Any]] = (
            json.loads(report.read_text())["runs"][-1]["testcases"] if report.exists() else []
        )

    @property
    def cases(self) -> list[dict[str, Any]]:
        """The cases, without the builds."""
        return [test for test in self.tests if not test["fixture"]]


@pytest.fixture
def reframe(tmp_path: Path) -> Callable[..., Run]:
    """A function that runs the checks as the documentation says, in a folder of one's choice."""

    def run(folder: Path, *arguments: str, to_report: bool = True, **environment: str) -> Run:
        report = tmp_path / "report.json"
        report.unlink(missing_ok=True)
        command = [sys.executable, str(Path(sys.executable).with_name("reframe")), "--nocolor"]
        command += ["-C", str(CHECKS / "config.py"), "-c", str(CHECKS), "-R"]
        command += ["--report-file", str(report)] if to_report else []
        command += ["--stage", str(tmp_path / "stage"), "--output", str(tmp_path / "output"), *arguments]
        variables = {**os.environ, "TRAMONTANE_PROJECT": str(folder), **environment}
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, env=variables, timeout=600
        )
        return Run(done, report)

    return run
