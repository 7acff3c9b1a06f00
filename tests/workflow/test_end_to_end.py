"""A tiny campaign on the real simulator through the real workflow: run, run again, change, kill, go on, fail."""

import functools
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import xarray as xr

from tests.faults import campaign
from tests.waiting import PATIENCE, wait_for

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def write_heavy(project: Path) -> None:
    """Points of about a second each, so that a campaign of them can be killed half way."""
    campaign.write(project, "tiny", 12, (512, 512, 128))


def start(project: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tramontane", "reproduce", "--scale", "smoke", *arguments],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def reproduce(project: Path, *arguments: str) -> tuple[int, str, str]:
    process = start(project, *arguments)
    out, err = process.communicate(timeout=900)
    return process.returncode, out, err


def records(project: Path) -> dict[str, int]:
    """Return when each record was written."""
    return {path.name: path.stat().st_mtime_ns for path in (project / "results" / "points").glob("??/*.json")}


def outputs(project: Path) -> dict[str, int]:
    """Return when each dataset, figure and report was written."""
    folder = project / "results" / "smoke"
    files = [*folder.glob("datasets/*"), *folder.glob("figures/*"), folder / "report.html"]
    return {path.name: path.stat().st_mtime_ns for path in files}


def test_a_campaign_runs_to_its_report_once_and_grows_by_what_is_new(project: Path) -> None:
    status, out, err = reproduce(project)
    assert status == 0, err
    assert out.splitlines()[-1] == "results/smoke/report.html"
    assert out.count("\n") == 1
    assert (project / "results" / "smoke" / "report.html").stat().st_size > 1000
    first_line, *_, last_line = err.splitlines()
    assert re.match(r"smoke: 1 experiment, 5 points, 0 done, 5 to run in \d batch(es)?; about ", first_line)
    assert last_line.split() == ["tiny", "5", "0", "0"]
    first_records, first_outputs = records(project), outputs(project)
    assert len(first_records) == 5
    drawn = {f"tiny.{form}" for form in ("svg", "png", "pdf", "txt", "md")}
    assert set(first_outputs) == {"tiny.nc", *drawn, "report.html"}
    with xr.open_dataset(project / "results" / "smoke" / "datasets" / "tiny.nc") as dataset:
        assert dataset["status"].values.ravel().tolist().count("ok") == 5

    # The same command again does nothing, says so, and starts no Snakemake, which would take seconds to find that out.
    log = project / "results" / "smoke" / "logs" / "snakemake.log"
    begun = log.stat().st_mtime_ns
    status, out, err = reproduce(project)
    assert log.stat().st_mtime_ns == begun
    assert status == 0
    assert out == "results/smoke/report.html\n"
    assert err.splitlines()[-1] == "nothing to do: all 5 points are done"
    assert records(project) == first_records
    assert outputs(project) == first_outputs

    # Snakemake agrees that there is nothing to do.
    dry = subprocess.run(
        [
            *(sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(project)),
            *("--profile", str(ROOT / "workflow" / "profiles" / "default"), "--config", "scale=smoke", "--dry-run"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Nothing to be done" in dry.stdout + dry.stderr

    # One value more in one list: exactly the new points, and everything that shows them.
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text().replace("smoke: {processes: [2, 4, 8]", "smoke: {processes: [2, 4, 5, 8]"))
    status, out, err = reproduce(project, "--device", "host")
    assert status == 0, err
    assert "7 points, 5 done, 2 to run" in err.splitlines()[0]
    new = [path for path in (project / "results" / "points").glob("??/*.json") if path.name not in first_records]
    assert [json.loads(path.read_text())["provenance"]["engine"] for path in new] == ["host", "host"]
    assert {name: records(project)[name] for name in first_records} == first_records
    assert len(records(project)) == 7
    assert all(outputs(project)[name] > time for name, time in first_outputs.items())
    with xr.open_dataset(project / "results" / "smoke" / "datasets" / "tiny.nc") as dataset:
        assert dataset["ranks"].values.tolist() == [2, 4, 5, 8]

    # A figure that was lost is drawn again, and nothing is run for it.
    (project / "results" / "smoke" / "figures" / "tiny.pdf").unlink()
    before = records(project)
    assert reproduce(project)[0] == 0
    assert records(project) == before
    assert (project / "results" / "smoke" / "figures" / "tiny.pdf").exists()


def test_a_campaign_that_is_killed_goes_on_where_it_was(project: Path) -> None:
    write_heavy(project)
    process = start(project, "--cores", "2")
    wait_for(lambda: len(records(project)) >= 2 or process.poll() is not None)
    assert process.poll() is None, process.communicate()
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(2)  # what it had started ends with it
    survivors = records(project)
    assert 2 <= len(survivors) < 12
    assert list((project / "results").rglob("*.tmp")) == []
    time.sleep(1.5)
    assert records(project) == survivors

    status, out, err = reproduce(project, "--cores", "2")
    assert status == 0, err
    assert f"12 points, {len(survivors)} done, {12 - len(survivors)} to run" in err.splitlines()[0]
    assert out == "results/smoke/report.html\n"
    assert len(records(project)) == 12
    assert {name: records(project)[name] for name in survivors} == survivors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_campaign_that_is_stopped_says_so_in_one_line(project: Path, number: signal.Signals) -> None:
    write_heavy(project)
    process = start(project, "--cores", "1")
    wait_for(lambda: records(project))
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 128 + number
    assert out == ""
    assert err.splitlines()[-1].startswith("stopped with ")
    assert err.splitlines()[-1].endswith(" of 12 points done; the same command goes on from there")
    assert "Traceback" not in err
    stopped = records(project)
    time.sleep(1.5)
    assert records(project) == stopped


def test_points_that_fail_leave_a_report_and_an_exit_status(project: Path) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    # They take longer than a simulated day: found only when the point runs.
    slow = "{workload.radix: 3, workload.repeats: 100000, machine.link.latency: 1 s}"
    file.write_text(file.read_text().replace("{workload.radix: 3}", slow))
    status, out, err = reproduce(project)
    assert status == 3, err
    assert out == "results/smoke/report.html\n"
    *_, table, last = err.splitlines()
    assert table.split() == ["tiny", "5", "2", "0"]
    assert last == "2 points failed; the report says why, and the same command tries again"
    assert "the simulated time exceeds a day" in (project / "results" / "smoke" / "report.html").read_text()
    assert len(list((project / "results" / "points").glob("??/*.failed.json"))) == 2
    # So it is ever again, also where something else was planned in between, and the manifest is what it was.
    text = file.read_text()
    file.write_text(text.replace("title: ", "title: Another "))
    subprocess.run([sys.executable, "-m", "tramontane", "plan", "--scale", "smoke"], cwd=project, check=True)
    file.write_text(text)
    for _ in range(2):
        assert reproduce(project)[0] == 3


def test_only_one_run_at_a_time(project: Path) -> None:
    from tramontane.campaign.lock import only_one

    with only_one(project) as first:
        assert first is not None
        with only_one(project, patience=0.1) as second:
            assert second is None
    with only_one(project, patience=0.1) as third:
        assert third is not None


def test_a_step_that_fails_is_named_with_its_log(project: Path) -> None:
    references = project / "configs" / "references.yaml"
    references.mkdir()  # in the way of the file
    status, out, err = reproduce(project)
    assert status == 1
    assert out == ""
    last = err.splitlines()[-1]
    assert last.startswith("write_report failed: ")
    assert "references.yaml" in last  # what the job said last
    assert last.endswith("; see results/smoke/logs/report.log, results/smoke/logs/snakemake.log")
    assert len(records(project)) == 5
    references.rmdir()
    assert reproduce(project)[0] == 0


@pytest.mark.long
def test_a_figure_that_can_not_be_drawn_stops_no_other(project: Path, other: Path) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    text = file.read_text()
    changes = {  # names that are no formulas, but one when they stand beside each other
        "rec-2": "'2 $'",
        "  ranks: $processes": "  ranks: $processes\n  luck: ['x_{$', other]",
        "variants:": "variants:\n  luck: {'x_{$': {seed: 1}, other: {seed: 2}}",
        "lines: series": "lines: [series, luck]",
    }
    file.write_text(functools.reduce(lambda made, old: made.replace(old, changes[old]), changes, text))
    for _ in range(2):  # also where nothing is to be done
        status, out, err = reproduce(project)
        assert (status, out) == (3, "results/smoke/report.html\n"), err
        assert err.splitlines()[-1].startswith("figure tiny could not be drawn: ")
    page = (project / "results" / "smoke" / "report.html").read_text()
    assert page.count("The figure could not be drawn: ") == 1
    status, _, err = reproduce(project, "--experiments", "tiny_again")
    assert status == 0, err
    file.write_text(text)
    assert reproduce(project)[0] == 0
    assert "could not be drawn" not in (project / "results" / "smoke" / "report.html").read_text()
