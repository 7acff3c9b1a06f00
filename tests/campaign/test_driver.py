"""What the driver says, and how it starts the workflow."""

import dataclasses
import math
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.campaign import driver
from tramontane.campaign.driver import Options, find_profile, header, snakemake_command, summary
from tramontane.campaign.plan import Plan, Resources, make_plan
from tramontane.errors import InputError
from tramontane.results import datasets
from tramontane.results.collate import collate_manifest
from tramontane.results.store import Store
from tramontane.support.layout import CODE

Execute = Callable[..., Plan]
OPTIONS = Options(cores=2, memory=10**10)


def test_the_header_says_what_is_there_and_what_is_to_be_run(project: Path, execute: Execute) -> None:
    [line] = header(make_plan(project, "smoke", resources=Resources(cores=2)), OPTIONS)
    assert re.match(r"smoke: 1 experiment, 5 points, 0 done, 5 to run in \d batch(es)?; about ", line)
    assert line.endswith(" of processor time on 2 cores")
    # Cores of the login node do nothing for a campaign on a cluster.
    cluster = make_plan(project, "smoke", resources=Resources(cluster=True))
    [line] = header(cluster, dataclasses.replace(OPTIONS, threads=4))
    assert line.endswith(" of processor time in jobs of Slurm, 4 cores for each point")
    [line] = header(make_plan(project, "smoke", resources=Resources(device="gpu")), OPTIONS)
    assert re.search(r"5 to run in 1 batch; about [^,]* on a GPU$", line)
    execute(project)
    assert list(header(make_plan(project, "smoke"), OPTIONS)) == ["smoke: 1 experiment, 5 points, 5 done"]


def test_the_header_says_which_results_are_old(project: Path, execute: Execute, fake: Any) -> None:
    known = dict(zip(sorted(execute(project, substrate=fake).points), (1, 1, 2, 1, 2), strict=True))
    plan = dataclasses.replace(make_plan(project, "smoke"), outdated=known, revision=3)
    found = "3 results of model revision 1 and 2 results of model revision 2, marked as older than the simulator's 3"
    assert list(header(plan, OPTIONS))[1] == f"{found}; REFRESH=1 runs them again"
    # Those that can't be run again stay.
    assert list(header(plan, dataclasses.replace(OPTIONS, refresh=True)))[1] == found


def test_the_header_says_which_points_do_not_fit(project: Path) -> None:
    first, second = header(make_plan(project, "smoke", resources=Resources(memory=1_000_000)), OPTIONS)
    assert first == "smoke: 1 experiment, 5 points, 0 done"
    assert second.startswith("5 points left out: up to ")
    assert "of memory needed, 1 MB there" in second


def test_the_summary_counts_failures(project: Path, execute: Execute, fake: Any) -> None:
    fake.FAILING = 8
    plan = execute(project, substrate=fake)
    removed = next(identity for identity, point in plan.points.items() if point.ranks == 4)
    Store(project).path(removed).unlink()
    assert [line.split() for line in summary(plan, Store(project)).splitlines()] == [
        ["experiment", "points", "failed", "missing"],
        ["tiny", "5", "2", "1"],
    ]


def test_datasets_of_an_experiment_that_is_no_more_are_told(
    project: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = execute(project)
    datasets.write(collate_manifest(plan.experiments[0].manifest, Store(project)), plan.layout.dataset("tiny"))
    assert list(driver.left_over(plan.layout)) == []
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.rename(file.with_name("other.yaml"))
    monkeypatch.chdir(project)
    [line] = driver.left_over(plan.layout)
    assert line == "results/smoke/datasets/tiny.nc: of no experiment any more; it and its figures stay as they are"


def test_the_workflow_is_started_with_what_it_may_use(project: Path) -> None:
    plan = make_plan(project, "smoke", resources=Resources(memory=10**10))
    command = snakemake_command(plan, CODE / "workflow" / "profiles" / "default", OPTIONS)
    assert command[command.index("--cores") + 1] == "2"
    assert command[command.index("--resources") + 1] == "mem_mb=10000"
    assert command[command.index("--config") + 1] == "scale=smoke"
    plan = make_plan(project, "smoke")
    command = snakemake_command(plan, CODE / "workflow" / "profiles" / "slurm", Options(2, None, "slurm"))
    assert "--cores" not in command
    assert "--resources" not in command
    gpu = make_plan(project, "smoke", resources=Resources(device="gpu"))
    command = snakemake_command(gpu, CODE / "workflow" / "profiles" / "default", OPTIONS)
    assert command[command.index("--resources") + 1] == "gpu=1"
    # On a cluster it is a limit for each job, and not for all of them together.
    plan = make_plan(project, "smoke", resources=Resources(memory=10**10, cluster=True))
    assert "--resources" not in snakemake_command(plan, CODE / "workflow" / "profiles" / "slurm", OPTIONS)


def test_a_profile_of_the_checkout_comes_first(project: Path) -> None:
    assert find_profile(project, "default") == CODE / "workflow" / "profiles" / "default"
    own = project / "workflow" / "profiles" / "default"
    own.mkdir(parents=True)
    assert find_profile(project, "default") == own
    with pytest.raises(InputError, match="default, slurm"):
        find_profile(project, "none")


def test_without_a_checkout_one_line_says_so(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "SHARE", tmp_path / "site-packages")
    with pytest.raises(InputError, match=r"no workflow/profiles here; allowed: a checkout of Tramontane"):
        find_profile(project, "default")
    with pytest.raises(InputError, match=r"Snakefile: no such file; allowed: a checkout of Tramontane"):
        snakemake_command(make_plan(project, "smoke"), tmp_path, OPTIONS)


def test_a_figure_that_can_not_be_read_is_drawn_again(
    project: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """The report, which shows it, would fail in this campaign and in every later one."""
    figure, sound = execute(project).layout.figures("tiny")[0], project / "results/smoke/sheets/fig99.svg"
    for path, content in ((figure, "<svg><g>"), (sound, "<svg><g/></svg>")):
        path.parent.mkdir()
        path.write_text(content)
    monkeypatch.setattr(driver, "_run", lambda *_: int(figure.exists()))
    assert driver.reproduce(project, "smoke", ["tiny"], OPTIONS) == 0
    assert (
        "figures/tiny.svg: not an SVG file (no element found: line 1, column 8); drawn anew" in capfd.readouterr().err
    )
    assert sound.exists()


def test_a_dataset_that_is_not_as_it_was_written_is_made_again(
    project: Path, execute: Execute, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Although its time says that nothing is to be done."""
    plan = execute(project)
    dataset = plan.layout.dataset("tiny")
    datasets.write(collate_manifest(plan.experiments[0].manifest, Store(project)), dataset)
    times = dataset.stat().st_atime_ns, dataset.stat().st_mtime_ns
    dataset.write_bytes(dataset.read_bytes()[:-300])
    os.utime(dataset, ns=times)
    monkeypatch.setattr(driver, "_run", lambda *_: int(dataset.exists()))
    assert driver.reproduce(project, "smoke", ["tiny"], OPTIONS) == 0
    assert "tiny.nc: damaged, or no dataset (OSError); " in capfd.readouterr().err


def test_a_signal_is_kept_for_who_waits_for_it() -> None:
    with driver._ends_on_signals() as signals:
        signals.awaited = True
        os.kill(os.getpid(), signal.SIGTERM)
        signals.sleep(math.inf)
        assert signals.number == signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL


def test_the_workflow_can_be_stopped_whoever_starts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A script ignores SIGINT for what it runs in the background; users of containers may have no name, and no home."""
    monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(driver, "cache", lambda: tmp_path)
    names = "os.environ['LOGNAME'], os.environ['XDG_CACHE_HOME']"
    asked = f"print({names}, signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with (tmp_path / "log").open("w") as log:
            command = [sys.executable, "-c", f"import os, signal; {asked}"]
            assert driver._start(command, [], log, log.fileno()).wait() == 0
    finally:
        signal.signal(signal.SIGINT, before)
    assert (tmp_path / "log").read_text() == f"{os.getuid()} {tmp_path} True\n"


def test_what_takes_next_to_nothing_is_not_about_less_than_a_second(project: Path) -> None:
    line = next(iter(header(make_plan(project, "smoke", where="ranks == 2"), OPTIONS)))
    assert line.endswith("; less than 1 s of processor time on 2 cores")


@pytest.mark.parametrize("name", ["50%u", "a\\b", "'$HOME'", "a\"b'"])
def test_a_path_that_jobs_of_slurm_would_not_find_is_refused(project: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"--profile: found .* in the path .*; allowed: a path without"):
        driver.reproduce(project.rename(project.with_name(name)), "smoke", ["tiny"], Options(2, None, "slurm"))
