"""What may happen to a campaign on a shared machine: nothing is lost, nothing is wrong, and a line says why."""

import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import campaign
from tests.preload import preloaded
from tests.waiting import wait_for
from tramontane.campaign.batch import run_batch
from tramontane.campaign.plan import Resources, make_plan, write_plan
from tramontane.results.store import Store
from tramontane.substrates.checkpoints import MINUTES

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("faults")]

#: Seconds of a campaign's life in which it is killed, and how often.
MOMENTS, WITHIN = 50, 20.0


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign that nobody has disturbed."""
    project = campaign.write(tmp_path_factory.mktemp("clean"))
    status, _, err = campaign.run(project)
    assert status == 0, err
    return project


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A project whose results lie in a file system of their own, of 300 kB: a tmpfs, or else the test is skipped."""
    project = campaign.write(tmp_path / "full")
    place = project / "results"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(place)], check=False)
    if mounted.returncode:
        pytest.skip("mounting a tmpfs needs root")
    yield project
    campaign.end_all(project)
    subprocess.run(["umount", "-l", str(place)], check=True)


def recovered(project: Path, clean: Path) -> None:
    """Check that the same command ends with the dataset of the clean run, with nothing half written."""
    status, _, err = campaign.run(project)
    assert status == 0, err
    assert err.splitlines()[-1].split() == ["hurt", "8", "0", "0"] or "nothing to do" in err
    assert len(campaign.records(project)) == 8
    campaign.assert_whole(project)
    campaign.assert_same(campaign.values(project), campaign.values(clean))


@pytest.mark.long  # that of a preemption, which Slurm makes, is not
def test_a_long_point_goes_on_where_its_campaign_was_killed(tmp_path: Path) -> None:
    clean, hurt = (campaign.write(tmp_path / name, points=1, grid=(2048, 1024, 128)) for name in ("clean", "hurt"))
    often = {MINUTES: "0.005"}
    assert campaign.run(clean)[0] == 0
    process = campaign.start(hurt, environment=often)
    wait_for(lambda: list(hurt.glob("results/points/??/*.checkpoint")))
    for each in campaign.working_in(hurt):
        campaign.kill(each)
    process.communicate()
    assert not campaign.records(hurt)
    status, _, err = campaign.run(hurt, environment=often)
    assert status == 0, err
    campaign.assert_same(campaign.values(hurt), campaign.values(clean))
    (record,) = campaign.records(hurt)
    assert Store(hurt).read(record.stem)["provenance"]["resumed"] == 1
    assert not list(hurt.glob("results/points/??/*checkpoint*"))


@pytest.mark.long
@pytest.mark.parametrize("seed", range(MOMENTS))
def test_a_campaign_that_is_killed_at_any_moment_loses_nothing(clean: Path, tmp_path: Path, seed: int) -> None:
    """The whole group, or its driver, Snakemake, a batch or a drawing alone."""
    draw = random.Random(seed)
    project = campaign.write(tmp_path / "project")
    process = campaign.start(project)
    until = time.monotonic() + draw.uniform(0, WITHIN)
    while process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
    if process.poll() is None:
        chosen = campaign.hurt(project, process, draw)
        if chosen in {"group", "driver"}:
            wait_for(lambda: not campaign.working_in(project))
        else:
            process.wait(300)
    process.communicate()
    campaign.assert_whole(project)
    recovered(project, clean)


@pytest.mark.long
def test_a_full_disk_is_named_and_loses_nothing(full: Path, clean: Path) -> None:
    """Stand-in: a tmpfs of 300 kB."""
    status, out, err = campaign.run(full)
    assert (status, out) == (1, "")
    assert "No space left on device" in err.splitlines()[-1]
    assert "Traceback" not in err
    subprocess.run(["mount", "-o", "remount,size=100m", str(full / "results")], check=True)
    recovered(full, clean)


@pytest.mark.long
def test_a_file_that_may_not_grow_is_named(tmp_path: Path, clean: Path) -> None:
    """Stand-in for a quota: RLIMIT_FSIZE, below what a figure takes; Python then raises "File too large"."""
    project = campaign.write(tmp_path / "project")
    command = f"ulimit -f 20; trap '' XFSZ; exec {sys.executable} -m tramontane reproduce --scale smoke --cores 2"
    done = subprocess.run(["bash", "-c", command], cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "File too large" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr
    recovered(project, clean)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_results_that_are_read_only_are_one_line(tmp_path: Path) -> None:
    """Stand-in: a tmpfs mounted read-only."""
    project = campaign.write(tmp_path / "project")
    (project / "results").mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=1m", "tmpfs", str(project / "results")]
    if subprocess.run(mount, check=False).returncode:
        pytest.skip("mounting a tmpfs is not allowed here")
    try:
        status, out, err = campaign.run(project)
    finally:
        subprocess.run(["umount", "-l", str(project / "results")], check=True)
    assert (status, out) == (1, "")
    assert err == "results/smoke: Read-only file system\n"


@pytest.mark.long
def test_results_in_another_file_system(clean: Path, tmp_path: Path) -> None:
    """A link to /dev/shm, which is one of its own."""
    project = campaign.write(tmp_path / "project")
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="tramontane-") as scratch:
        (Path(scratch) / "deep").mkdir()
        (project / "results").symlink_to(Path(scratch) / "deep")
        recovered(project, clean)
        assert {path.name for path in Path(scratch).iterdir()} == {"deep"}
        assert 'href="figures/hurt.svg"' in (project / "results" / "smoke" / "report.html").read_text()


@pytest.mark.long
def test_files_from_the_future_do_not_block_a_campaign(clean: Path, tmp_path: Path) -> None:
    """As after a run under a clock two days ahead: every file of the results, by os.utime."""
    project = tmp_path / "project"
    shutil.copytree(clean, project)
    later = time.time() + 2 * 86400
    for path in (project / "results").rglob("*"):
        os.utime(path, (later, later))
    records = campaign.records(project)
    records[0].unlink()
    recovered(project, clean)
    status, _, err = campaign.run(project)
    assert status == 0
    assert "nothing to do" in err


@pytest.mark.long
def test_a_plan_beside_a_running_campaign_is_refused(clean: Path, tmp_path: Path) -> None:
    project = campaign.write(tmp_path / "project")
    process = campaign.start(project)
    try:
        wait_for(lambda: campaign.records(project))
        command = [sys.executable, "-m", "tramontane", "plan", "--scale", "smoke", "-e", "none"]
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        _, err = process.communicate(timeout=900)
        assert process.returncode == 0, err
    finally:
        campaign.end_all(project)
    campaign.assert_same(campaign.values(project), campaign.values(clean))


@pytest.mark.long
def test_two_campaigns_at_once_wait_for_each_other(clean: Path, tmp_path: Path) -> None:
    project = campaign.write(tmp_path / "project")
    processes = [campaign.start(project) for _ in range(2)]
    try:
        statuses = []
        for process in processes:
            process.communicate(timeout=900)
            statuses.append(process.returncode)
    finally:
        campaign.end_all(project)
    assert 0 in statuses  # the other one has waited, or has said that one is going on
    assert set(statuses) <= {0, 1}
    recovered(project, clean)


@pytest.mark.long
def test_a_batch_that_is_killed_for_memory_is_tried_again(clean: Path, tmp_path: Path) -> None:
    """Stand-in for the system's killer: a batch is killed by its id, with the point in hand."""
    project = campaign.write(tmp_path / "project")
    process = campaign.start(project)
    try:
        batch: list[int] = []

        def found() -> bool:
            batch[:] = [each for each, words in campaign.working_in(project).items() if "run-batch" in words]
            return bool(batch) and bool(campaign.records(project))

        wait_for(found)
        campaign.kill(batch[0])
        _, err = process.communicate(timeout=900)
    finally:
        campaign.end_all(project)
    assert process.returncode == 0, err
    assert len(campaign.records(project)) == 8
    campaign.assert_same(campaign.values(project), campaign.values(clean))


@pytest.mark.long
def test_points_that_can_not_fit_are_recorded_with_their_prediction(tmp_path: Path) -> None:
    """Stand-in for memory that lacks: RLIMIT_DATA, below what a point of this size takes."""
    project = campaign.write(tmp_path / "project", points=2)
    file = project / "configs" / "experiments" / "hurt.yaml"
    file.write_text(file.read_text().replace("[4, 4, 4]", "[32, 32, 32]").replace("ranks: 128", "ranks: 16384"))
    limit = 400 * 2**20
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    plan = make_plan(project, "smoke", resources=Resources(cores=1))
    write_plan(plan)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))
    try:
        for planned in plan.batches:
            run_batch(plan.layout.batch(planned.identity), project)
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
    failures = [Store(project).read_failure(identity)["message"] for identity in plan.points]
    assert len(failures) == 2
    for message in failures:
        assert message.startswith("out of memory; ")
        assert message.endswith(" were predicted")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("delay", [0.7, 1.5, 8.0])
def test_whoever_is_stopped_says_so_and_leaves_nobody_behind(
    tmp_path: Path, number: signal.Signals, delay: float
) -> None:
    project = campaign.write(tmp_path / "project")
    process = campaign.start(project)
    time.sleep(delay)
    process.send_signal(number)
    _, err = process.communicate(timeout=900)
    assert process.returncode in {128 + number, -number}
    if process.returncode > 0:
        assert "stopped" in err.splitlines()[-1]
        assert "Traceback" not in err
    wait_for(lambda: not campaign.working_in(project))


@pytest.mark.long
def test_what_is_drawn_from_the_same_data_is_the_same_byte_for_byte(clean: Path, tmp_path: Path) -> None:
    """Figures, captions, tables and the report, at another time and in another process."""
    project = tmp_path / "project"
    shutil.copytree(clean, project)
    folder = project / "results" / "smoke"
    forms = {".svg", ".png", ".pdf", ".txt", ".md", ".html"}
    names = sorted(path for path in folder.rglob("*") if path.suffix in forms)
    before = {path: path.read_bytes() for path in names}
    assert {path.suffix for path in names} == forms
    for path in names:
        path.unlink()
    time.sleep(1.1)  # a date of a second's resolution would differ
    status, _, err = campaign.run(project)
    assert status == 0, err
    assert [path.name for path in names if path.read_bytes() != before[path]] == []


#: Lets every rename, with which files appear here, take a while.
LATE = """\
#include <time.h>
int rename(const char* from, const char* to) {
    struct timespec wait = {0, 300000000};
    nanosleep(&wait, 0);
    return NEXT(int (*)(const char*, const char*), "rename")(from, to);
}
"""


@pytest.mark.long
def test_a_file_system_that_answers_late_only_delays(clean: Path, tmp_path: Path) -> None:
    """Stand-in: a preloaded library, with which every rename takes 0.3 s."""
    project = campaign.write(tmp_path / "project")
    status, _, err = campaign.run(project, environment=preloaded(tmp_path, LATE))
    assert status == 0, err
    recovered(project, clean)
