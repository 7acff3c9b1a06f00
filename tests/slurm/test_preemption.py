"""A long point through jobs of Slurm that end before it does: preempted, or out of time."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults import campaign as bursts
from tests.slurm.test_campaign import ended, jobs_since, records, requeued_jobs, started, use_profile

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("slurm")]

#: The private Slurm has partitions for it.
PREEMPTION = True


def resumed_once(project: Path) -> bool:
    """Return whether the one point went on from its checkpoint once, and its checkpoint is gone."""
    [record] = records(project)
    assert not list(record.parent.glob("*checkpoint*"))
    return bool(json.loads(record.read_text())["provenance"].get("resumed") == 1)


def test_a_long_point_outlives_a_preemption(slurm: Any, project: Path) -> None:
    bursts.write(project, "tiny", 1, (4096, 4096, 256))
    use_profile(project)
    earlier = set(slurm.jobs())
    with started(project, slurm) as campaign:
        slurm.wait_for(lambda: list(project.glob("results/points/??/*.checkpoint")))
        slurm.ask("sbatch", "--partition=urgent", "--exclusive", "--nodes=2", "--output=/dev/null", "--wrap=sleep 2")
        slurm.wait_for(lambda: requeued_jobs(slurm, earlier))
        _, err, _ = ended(campaign, project)
    assert err.splitlines()[-1].split() == ["tiny", "1", "0", "0"]
    assert resumed_once(project)


@pytest.mark.long
def test_a_point_that_takes_longer_than_a_job_may_ends_in_the_next_one(slurm: Any, project: Path) -> None:
    bursts.write(project, "tiny", 1, (8192, 8192, 1024))
    use_profile(project, "short")
    earlier = set(slurm.jobs())
    with started(project, slurm) as campaign:
        ended(campaign, project)
    assert "TIMEOUT" in jobs_since(slurm, earlier).values()
    [record] = records(project)
    assert json.loads(record.read_text())["provenance"]["resumed"] >= 1
    assert json.loads(record.read_text())["result"]["wall_s"] > 60
