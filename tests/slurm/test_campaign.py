"""A campaign through Slurm: batches as jobs, and jobs that outlive the deaths of a node and of the controller."""

import contextlib
import json
import math
import os
import re
import resource
import subprocess
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pytest
import xarray as xr

from tests.faults import campaign as bursts
from tramontane import _simulator
from tramontane.campaign.driver import POINTS_FAILED
from tramontane.substrates import devices
from tramontane.substrates.checkpoints import MINUTES

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("slurm")]

#: Of points of about a second each, so that something is under way when a daemon dies.
GRID = (512, 512, 128)


def use_profile(project: Path, partition: str = "debug") -> None:
    """Give a project the profile of this checkout, with less patience."""
    text = (ROOT / "workflow" / "profiles" / "slurm" / "profile.yaml").read_text()
    for before, after in [
        ("slurm-init-seconds-before-status-checks: 10", "slurm-init-seconds-before-status-checks: 2"),
        ("max-status-checks-per-second: 0.5", "max-status-checks-per-second: 1"),
        ("latency-wait: 60", "latency-wait: 5"),
        ('# slurm_partition: "compute"', f'slurm_partition: "{partition}"'),
    ]:
        assert before in text
        text = text.replace(before, after)
    folder = project / "workflow" / "profiles" / "slurm"
    folder.mkdir(parents=True)
    (folder / "profile.yaml").write_text(text)


def records(project: Path) -> list[Path]:
    return sorted((project / "results" / "points").glob("??/*.json"))


def jobs_since(slurm: Any, earlier: Collection[str]) -> dict[str, str]:
    """Return the jobs, with their states, that are not those of earlier tests."""
    return {job: state for job, state in slurm.jobs().items() if job not in earlier}


def requeued_jobs(slurm: Any, earlier: Collection[str]) -> set[str]:
    """Return the jobs that Slurm has sent again."""
    return {job for job in jobs_since(slurm, earlier) if "Restarts=1" in slurm.ask("scontrol", "show", "job", job)}


def running_steps(slurm: Any) -> set[str]:
    """Return what runs within jobs, beside their scripts."""
    return {step for step in slurm.ask("squeue", "-s", "-h", "-o", "%i").split() if step.split(".")[-1].isdigit()}


def asked(slurm: Any, what: str, earlier: Collection[str]) -> set[str]:
    """Return what jobs have asked for, in a format of squeue."""
    rows = [row.split(maxsplit=1) for row in slurm.ask("squeue", "--states=all", "-h", "-o", f"%i {what}").splitlines()]
    return {words for job, words in rows if job not in earlier}


def limit_login_node() -> None:
    """Limit the processor time of a process, as login nodes do; far beyond what a campaign takes here."""
    resource.setrlimit(resource.RLIMIT_CPU, (5000, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def processor_time_of_batches(project: Path) -> set[str]:
    """Return the limits of processor time of the processes that run batches of a project."""
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "cwd").readlink() == project and b"run-batch" in (process / "cmdline").read_bytes():
                found |= set(re.findall(r"^Max cpu time +(\S+)", (process / "limits").read_text(), flags=re.MULTILINE))
    return found


@contextlib.contextmanager
def started(project: Path, slurm: Any, **environment: str) -> Iterator["subprocess.Popen[str]"]:
    """Start a campaign, which does not outlive the test."""
    campaign = subprocess.Popen(
        [sys.executable, "-m", "tramontane", "reproduce", "--scale", "smoke", "--profile", "slurm", "--cores", "1"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**slurm.environment, MINUTES: "0.01", **environment},
        start_new_session=True,
        preexec_fn=limit_login_node,  # noqa: PLW1509 (there are no threads)
    )
    try:
        yield campaign
    finally:
        if campaign.poll() is None:
            os.killpg(campaign.pid, 9)


def ended(campaign: "subprocess.Popen[str]", project: Path, *statuses: int) -> tuple[str, str, str]:
    """Wait for a campaign to end with one of these statuses; return its output, its messages, and Snakemake's log."""
    out, err = campaign.communicate(timeout=900)
    log = (project / "results" / "smoke" / "logs" / "snakemake.log").read_text()
    assert campaign.returncode in (statuses or (0,)), f"{err}\n{log}"
    return out, err, log


def test_a_campaign_outlives_a_node_and_the_controller(slurm: Any, project: Path) -> None:
    """In a folder whose name a shell would take for something else, were it to see it."""
    project = project.rename(project.with_name('$HOME `id` "x"'))
    bursts.write(project, "tiny", 8, GRID)
    use_profile(project)
    earlier = set(slurm.jobs())
    with started(project, slurm) as campaign:
        # A node dies with a job on it: Slurm sends that job again.
        slurm.wait_for(lambda: "n2" in slurm.ask("squeue", "-h", "-t", "RUNNING", "-o", "%N"))
        slurm.tell("kill n2")
        slurm.wait_for(lambda: requeued_jobs(slurm, earlier))
        slurm.wait_until_saved(min(requeued_jobs(slurm, earlier)))
        # The controller dies and comes back, while a job runs on the other node. Not while the job asks for its step:
        # then it would wait until its time is over, and be sent again after minutes.
        slurm.wait_for(lambda: running_steps(slurm))
        before = slurm.jobs()
        slurm.tell("kill slurmctld")
        assert slurm.jobs() == {}
        assert campaign.poll() is None
        slurm.tell("start slurmctld")
        slurm.wait_for(lambda: slurm.jobs().keys() >= before.keys())
        slurm.tell("start n2")
        out, err, _ = ended(campaign, project)
    assert err.splitlines()[-1].split() == ["tiny", "8", "0", "0"]
    assert out == "results/smoke/report.html\n"
    assert len(records(project)) == 8
    with xr.open_dataset(project / "results" / "smoke" / "datasets" / "tiny.nc") as dataset:
        assert dataset["status"].values.tolist() == ["ok"] * 8
    # Every batch was one job, which asked for what it was estimated to need, and what Snakemake and Python take.
    batches = list((project / "results" / "smoke" / "plan" / "batches").glob("*.json"))
    assert 2 <= len(batches) == list(jobs_since(slurm, earlier).values()).count("COMPLETED")
    plan = json.loads((project / "results" / "smoke" / "plan" / "plan.json").read_text())
    needed = max(batch["memory_bytes"] for batch in plan["batches"].values())
    assert asked(slurm, "%l %m", earlier) == {f"11:00 {math.ceil((1.3 * needed + 300e6) / 2**20)}M"}


def test_jobs_that_a_killed_campaign_has_left_do_not_run_beside_those_of_the_next(slurm: Any, project: Path) -> None:
    bursts.write(project, "tiny", 2, (4096, 4096, 256))
    use_profile(project)
    others = set(slurm.jobs())
    alien = slurm.ask("sbatch", "--parsable", "--mem=10", "--output=/dev/null", "--wrap=sleep 600").strip()
    with started(project, slurm) as campaign:
        slurm.wait_for(lambda: running_steps(slurm))
        slurm.wait_for(lambda: processor_time_of_batches(project))
        assert "5000" not in processor_time_of_batches(project)  # that is the login node's
        campaign.kill()
        campaign.communicate(timeout=900)
    left = jobs_since(slurm, {*others, alien})
    with started(project, slurm) as campaign:
        _, err, _ = ended(campaign, project)
    assert re.fullmatch(r"\d+ jobs? of a run that was killed cancelled", err.splitlines()[0])
    later = slurm.jobs()
    assert "CANCELLED" in {later[job] for job in left}
    assert later[alien] == "RUNNING"
    slurm.ask("scancel", alien)
    assert len(records(project)) == 2


def gpu_is_here() -> bool:
    try:
        _simulator.accelerator()
    except ValueError:
        return False
    return True


def test_what_is_left_to_gpus_asks_for_nodes_that_have_one(slurm: Any, project: Path) -> None:
    """The private Slurm believes that a node has one. Mostly the driver knows better, and each point says so."""
    bursts.write(project, "tiny", 2, GRID)
    use_profile(project)
    earlier = set(slurm.jobs())
    with started(project, slurm, **{devices.VARIABLE: "gpu"}) as campaign:
        _, err, log = ended(campaign, project, 0, POINTS_FAILED)
    assert err.splitlines()[0].endswith(" to run in 1 batch; less than 1 s on a GPU"), f"{err}\n{log}"
    (job,) = jobs_since(slurm, earlier)
    told = slurm.ask("scontrol", "show", "job", job)
    assert "TresPerJob=gres:gpu:1" in told
    assert "NodeList=n1" in told
    (file,) = (project / "results" / "smoke" / "logs" / "batches").glob("*.log")
    failed = bool(re.findall(r"failed: (.*), allowed: cpu", file.read_text()))
    assert failed != gpu_is_here(), file.read_text()
    assert campaign.returncode == (POINTS_FAILED if failed else 0)


@pytest.mark.long
def test_a_campaign_that_is_stopped_or_whose_jobs_are_goes_on_where_memory_is_enforced(
    slurm: Any, project: Path
) -> None:
    """The private Slurm kills what holds more than it has asked for."""
    bursts.write(project, "tiny", 4, GRID)
    use_profile(project)
    others = set(slurm.jobs())
    earlier = set(others)
    with started(project, slurm) as campaign:
        slurm.wait_for(lambda: records(project))
        campaign.terminate()
        _, err, _ = ended(campaign, project, 143)
    assert err.splitlines()[-1].endswith("the same command goes on from there")
    next(iter(records(project))).unlink()  # something is left to do, however quick the jobs were
    # The same command: the jobs before were no account's.
    earlier |= slurm.jobs().keys()
    with started(project, slurm) as campaign:
        slurm.wait_for(lambda: slurm.jobs().keys() - earlier)
        cancelled, *_ = slurm.jobs().keys() - earlier
        slurm.ask("scancel", cancelled)
        _, err, log = ended(campaign, project)
    assert "Guessed SLURM account" not in log
    assert len(records(project)) == 4
    later = jobs_since(slurm, earlier)
    assert later[cancelled] in {"CANCELLED", "COMPLETED"}
    assert "OUT_OF_MEMORY" not in later.values()
    # Who was cancelled asks for no more the next time.
    assert asked(slurm, "%l", others) == {"11:00"}
