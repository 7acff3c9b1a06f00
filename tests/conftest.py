"""A tiny project for tests that need one: its own configs, its own results, next to nothing to simulate."""

import io
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.campaign.batch import run_batch
from tramontane.campaign.plan import Plan, make_plan, write_plan

TINY = """\
title: Allreduces on a small torus
question: Does anything run at all?
description: One allreduce on a few processes.
base:
  machine: $machine
  workload: {kind: allreduce, algorithm: recursive-k, repeats: 1}
cross:
  series: [rec-2, rec-3]
  ranks: $processes
variants:
  series:
    rec-2: {workload.radix: 2}
    rec-3: {workload.radix: 3}
exclude:
  - series == 'rec-3' and ranks == 2
scales:
  smoke: {processes: [2, 4, 8], machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 2}}
  laptop: {processes: [2, 4, 8, 16], machine: {topology: torus, geometry: [2, 2, 2], nodes_per_switch: 2}}
figure: {lines: series, caption: Time of an allreduce.}
"""

#: Shares the points of radix 2 with the other one.
OTHER = (
    TINY.replace("small torus", "small torus, again")
    .replace("rec-3", "rec-4")
    .replace("workload.radix: 3", "workload.radix: 4")
)


class Fake:
    """A substrate for tests of everything around one: known numbers, and ranks that make it fail in every way."""

    name = "simulator"
    FAILING, CRASHING, SLOW = 13, 14, 15

    def __init__(self, revision: int = 1) -> None:
        self._revision = revision

    def available(self) -> str | None:
        return None

    def refusal(self, point: dict[str, Any]) -> None:
        return None

    def revision(self) -> int | None:
        return self._revision

    def compiler(self) -> str | None:
        return "none"

    def run(self, point: dict[str, Any]) -> dict[str, Any]:
        ranks = point["ranks"]
        if ranks == self.FAILING:
            raise RuntimeError("deadlock: rank 0 waits for\nrank 1")
        if ranks == self.CRASHING:
            os.kill(os.getpid(), signal.SIGKILL)
        if ranks == self.SLOW:
            time.sleep(60)
        return {
            "time_s": 1e-6 * ranks,
            "phases": {"first": 4e-7 * ranks, "second": 6e-7 * ranks},
            "messages": ranks,
            "packets": 2 * ranks,
            "control_packets": 0,
            "bytes": 100 * ranks,
            "hops": 6 * ranks,
            "wall_s": 0.01,
            "setup_s": 0.001,
            "imbalance": 1.0,
            "substrate": self.name,
            "model_revision": self._revision,
        }


@pytest.fixture
def fake() -> Fake:
    return Fake()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The root of a project with one experiment, `tiny`, of five points at scale smoke."""
    experiments = tmp_path / "project" / "configs" / "experiments"
    experiments.mkdir(parents=True)
    (experiments / "tiny.yaml").write_text(TINY, encoding="utf-8")
    return tmp_path / "project"


@pytest.fixture
def other(project: Path) -> Path:
    """A second experiment, `tiny_again`, in the same project; three of its five points are also `tiny`'s."""
    file = project / "configs" / "experiments" / "tiny_again.yaml"
    file.write_text(OTHER, encoding="utf-8")
    return file


@pytest.fixture
def execute(fake: Fake) -> Callable[..., Plan]:
    """A function that plans a project's campaign and runs its batches on the fake substrate, without the workflow."""

    def run(root: Path, scale: str = "smoke", substrate: Fake = fake, **options: Any) -> Plan:
        plan = make_plan(root, scale, **options)
        write_plan(plan)
        for batch in plan.batches:
            run_batch(plan.layout.batch(batch.identity), root, lambda name: substrate, io.StringIO())
        return plan

    return run
