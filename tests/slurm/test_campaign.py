"""A campaign through Slurm: batches as jobs, and jobs that outlive the deaths of a node and of the controller."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("slurm")]

#: Points of about a second each, so that something is under way when a daemon dies.
EXPERIMENT = """\
title: Bursts on a small torus
question: What does a campaign do when parts of the cluster die?
description: Transpositions that take a while.
base:
  machine: {topology: torus, geometry: [4, 4, 4], nodes_per_switch: 2}
  workload: {kind: transposition, algorithm: burst, grid: [512, 512, 128]}
  ranks: 128
cross:
  seed: [1, 2, 3, 4, 5, 6, 7, 8]
scales:
  smoke: {}
figure: {x: seed, x_scale: linear, y_scale: linear, caption: Time of a transposition.}
"""


def use_profile(project: Path) -> None:
    """Give a project the profile of this checkout, with less patience."""
    text = (ROOT / "workflow" / "profiles" / "slurm" / "profile.yaml").read_text()
    for before, after in [
        ("slurm-init-seconds-before-status-checks: 10", "slurm-init-seconds-before-status-checks: 2"),
        ("max-status-checks-per-second: 0.5", "max-status-checks-per-second: 1"),
        ("latency-wait: 60", "latency-wait: 5"),
    ]:
        assert before in text
        text = text.replace(before, after)
    folder = project / "workflow" / "profiles" / "slurm"
    folder.mkdir(parents=True)
    (folder / "profile.yaml").write_text(text)


def records(project: Path) -> list[Path]:
    return sorted((project / "results" / "points").glob("??/*.json"))


def lost_jobs(slurm: Any) -> set[str]:
    """Return the jobs that failed: NODE_FAIL, or FAILED if the dead node was to start a step just then."""
    return {job for job, state in slurm.jobs().items() if state in {"NODE_FAIL", "FAILED"}}


def test_a_campaign_outlives_a_node_and_the_controller(slurm: Any, project: Path) -> None:
    (project / "configs" / "experiments" / "tiny.yaml").write_text(EXPERIMENT)
    use_profile(project)
    campaign = subprocess.Popen(
        [sys.executable, "-m", "tramontane", "reproduce", "--scale", "smoke", "--profile", "slurm", "--cores", "1"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**slurm.environment, "PYTHONPATH": str(ROOT)},
        start_new_session=True,
    )
    try:
        # A node dies with a job on it: that job is lost, and sent again.
        slurm.wait_for(lambda: "n2" in slurm.ask("squeue", "-h", "-t", "RUNNING", "-o", "%N"), 90)
        slurm.tell("kill n2")
        slurm.wait_for(lambda: lost_jobs(slurm), 90)
        lost = lost_jobs(slurm)
        # The controller dies and comes back, while a job runs on the other node.
        slurm.wait_for(lambda: "RUNNING" in slurm.jobs().values(), 60)
        before = slurm.jobs()
        slurm.tell("kill slurmctld")
        assert slurm.jobs() == {}
        assert campaign.poll() is None
        slurm.tell("start slurmctld")
        slurm.wait_for(lambda: slurm.jobs().keys() >= before.keys(), 60)
        slurm.tell("start n2")
        out, err = campaign.communicate(timeout=240)
    finally:
        if campaign.poll() is None:
            os.killpg(campaign.pid, 9)
    log = (project / "results" / "smoke" / "logs" / "snakemake.log").read_text()
    assert campaign.returncode == 0, f"{err}\n{log}"
    assert err.splitlines()[-1].split() == ["tiny", "8", "0", "0"]
    assert out == "results/smoke/report.html\n"
    assert len(records(project)) == 8
    with xr.open_dataset(project / "results" / "smoke" / "datasets" / "tiny.nc") as dataset:
        assert dataset["status"].values.tolist() == ["ok"] * 8
    # Every batch was a job of Slurm's, and asked for what it was estimated to need.
    jobs = slurm.jobs()
    assert list(jobs.values()).count("COMPLETED") == 4
    assert lost <= lost_jobs(slurm)
    # It asked for what it was estimated to need, and the one that was sent again for twice as much.
    plan = json.loads((project / "results" / "smoke" / "plan" / "plan.json").read_text())
    needed = max(batch["memory_bytes"] for batch in plan["batches"].values()) / 1e6
    asked = set(slurm.ask("squeue", "--states=all", "-h", "-o", "%l %m").splitlines())
    assert {f"11:00 {math.ceil(needed)}M", f"22:00 {math.ceil(2 * needed)}M"} <= asked
