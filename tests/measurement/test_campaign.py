"""Measured and simulated points of one experiment: one command, one dataset, one figure."""

import io
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TextIO

import pytest
import xarray as xr

from tramontane.campaign.batch import run_batch
from tramontane.campaign.packing import pack_all
from tramontane.campaign.plan import make_plan, write_plan
from tramontane.measurement.settings import Site
from tramontane.results.store import Store
from tramontane.study import Point, load_system
from tramontane.study.points.points import SystemChoice
from tramontane.substrates.mpi.build import folder_of

ROOT = Path(__file__).parents[2]

needs_openmpi = pytest.mark.skipif(
    shutil.which("mpicxx.openmpi") is None, reason="Debian: apt-get install libopenmpi-dev openmpi-bin"
)


def test_what_is_measured_never_shares_a_batch_with_what_is_simulated(here: Path) -> None:
    from tramontane.campaign.plan import make_job, plan_experiment
    from tramontane.study import load_experiment

    planned = plan_experiment(load_experiment(here / "configs/experiments/pair.yaml"), "smoke", Store(here))
    batches = pack_all([make_job(point) for point in planned.points.values()], 2)
    assert sorted(len(batch.jobs) for batch in batches if batch.measured) == [2]
    assert sum(len(batch.jobs) for batch in batches if not batch.measured) == 2


@pytest.mark.slow
@needs_openmpi
def test_one_command_measures_and_simulates(here: Path) -> None:
    (ROOT / "build").mkdir(exist_ok=True)
    (here / "build").symlink_to(ROOT / "build")  # where other tests need the same program
    command = [sys.executable, "-m", "tramontane", "reproduce", "--scale", "smoke"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1].split() == ["pair", "4", "0", "0"]
    with xr.open_dataset(here / "results" / "smoke" / "datasets" / "pair.nc") as dataset:
        assert (dataset["status"] == "ok").all()
        assert (dataset["time_s"] > 0).all()
        # Both count the same data: it is one schedule.
        assert (dataset["bytes"].sel(where="measured") == dataset["bytes"].sel(where="simulated")).all()
        assert (dataset["messages"].sel(where="measured") == dataset["messages"].sel(where="simulated")).all()
    records = [json.loads(path.read_text()) for path in (here / "results" / "points").glob("??/*.json")]
    measured = [record["result"] for record in records if record["result"]["substrate"] == "mpi"]
    assert len(measured) == 2
    assert all(each["measurement"]["verified"] for each in measured)
    assert {each["system"]["partition"] for each in measured} == {"cores"}


@pytest.mark.slow
@needs_openmpi
def test_a_point_that_cannot_be_measured_is_recorded_as_failed(here: Path) -> None:
    file = here / "configs" / "experiments" / "pair.yaml"
    file.write_text(file.read_text().replace("ranks: [2, 4]", "ranks: [2, 16]"))
    plan = make_plan(here, "smoke")
    write_plan(plan)
    [batch] = [batch for batch in plan.batches if batch.measured]
    assert run_batch(plan.layout.batch(batch.identity), here, log=io.TextIOWrapper((here / "log").open("wb"))) == 1
    [failed] = [job.identity for job in batch.jobs if job.point.ranks == 16]
    assert "16 ranks, at most 8 here" in Store(here).read_failure(failed)["message"]
    assert all(Store(here).has(job.identity) for job in batch.jobs if job.point.ranks == 2)


def test_without_an_mpi_library_the_others_run_and_the_missing_one_is_named(
    here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    plan = make_plan(here, "smoke")
    assert {job.point.substrate for job in plan.jobs} == {"simulator"}
    [(reason, identities)] = plan.absent.items()
    assert len(identities) == 2
    assert reason.startswith(
        "substrate mpi: system generic: nothing of it can be used here: generic, environment openmpi"
    )
    assert reason.endswith("(Debian: apt-get install libopenmpi-dev openmpi-bin)")


def test_what_had_passed_before_a_kill_is_not_measured_again(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever kills all of it leaves no time to take over what the checks have noted."""
    from tramontane.measurement import execution
    from tramontane.measurement.reframe_report import note_passed

    workload = {"kind": "allreduce", "algorithm": "ring"}
    points = [
        Point.model_validate({"ranks": ranks, "workload": workload, "substrate": "mpi"}) for ranks in (2, 3, 4, 5)
    ]
    wanted = {point.id: point for point in points[:3]}
    site = Site({"generic": load_system("generic", here)}, [])
    monkeypatch.setattr(execution, "look_around", lambda _: site)
    monkeypatch.setattr(execution, "result_of", lambda point, measured, where: {"ranks": point.ranks, **measured})
    cases = here / "measured" / "cases.json"
    for point, environment in zip(points, ("openmpi", "mpich", "openmpi", "openmpi"), strict=True):
        place = {"partition": "cores", "environ": environment}
        note_passed(cases, {"case": point.id, "measured": '{"before": true}', "built_by": "cmake", **place})
    ran: list[list[str]] = []

    def run(command: object, cases: Path, *_: object) -> int:
        ran.append([entry["id"] for entry in json.loads(cases.read_text())["points"]])
        return 1

    monkeypatch.setattr(execution, "_run_reframe", run)
    found = dict(execution.measure(wanted, here / "measured", here, (here / "log").open("w")))
    assert ran == [[points[1].id]]  # which another library had measured
    assert set(found) == set(wanted)
    assert {each["ranks"] for each in found.values() if isinstance(each, dict)} == {2, 4}
    assert not list(cases.with_name("passed").iterdir())
    # A calibration measures anew.
    note_passed(cases, {"case": points[0].id, "measured": "{}", "partition": "cores", "environ": "openmpi"})
    list(execution.run_cases(wanted, SystemChoice(name="generic"), here / "measured", here, (here / "log").open("w")))
    assert ran[1] == list(wanted)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("left out: x\nERROR: no sane Lmod\nERROR: Traceback\n", ": no sane Lmod; see the batch's log"),
        ("nothing", " and without a word on this point; see the batch's log"),
    ],
)
def test_what_reframe_says_of_itself_is_the_reason(
    here: Path, monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    from tramontane.measurement import execution

    def run(command: object, cases: object, root: object, log: TextIO) -> int:
        print(said, end="", file=log, flush=True)
        return 1

    site = Site({"generic": load_system("generic", here)}, [])
    monkeypatch.setattr(execution, "look_around", lambda _: site)
    monkeypatch.setattr(execution, "_run_reframe", run)
    with (here / "log").open("a") as log:
        print("ERROR: of an earlier run", file=log)
        [(_, failure)] = execution.run_cases({"a": None}, SystemChoice(name="generic"), here / "measured", here, log)
    assert failure == f"ReFrame ended with status 1{reason}"


@pytest.mark.slow
@needs_openmpi
def test_a_build_that_fails_is_the_reason(here: Path) -> None:
    from tramontane.measurement import execution

    file = here / "configs" / "systems" / "generic.yaml"
    file.write_text(file.read_text().replace("mpicxx.openmpi", "'false'").replace("openmpi", "broken"))
    point = Point.model_validate(
        {"ranks": 2, "workload": {"kind": "allreduce", "algorithm": "ring"}, "substrate": "mpi"}
    )
    try:
        [(_, said)] = execution.measure({point.id: point}, here / "measured", here, (here / "log").open("w"))
    finally:
        shutil.rmtree(folder_of("broken"))
    assert isinstance(said, str)
    assert said.startswith("Program")
    assert " with broken: " in said


@pytest.mark.slow
@needs_openmpi
def test_what_was_measured_before_a_stop_is_kept(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """ReFrame reports in the end only; whoever stops it between two cases keeps the first."""
    from tramontane.measurement import execution

    points = [
        Point.model_validate(
            {"ranks": ranks, "workload": {"kind": "allreduce", "algorithm": "recursive-doubling"}, "substrate": "mpi"}
        )
        for ranks in (2, 4)
    ]
    wanted = {point.id: point for point in points}

    class StoppedError(BaseException):
        pass

    run = execution._run_reframe

    def stopped(*arguments: object) -> int:
        run(*arguments)  # type: ignore[arg-type]
        passed = sorted((here / "measured" / "passed").iterdir())
        assert len(passed) == 2
        passed[1].unlink()  # as if it had been stopped before
        raise StoppedError

    monkeypatch.setattr(execution, "_run_reframe", stopped)
    found = execution.measure(wanted, here / "measured", here, (here / "log").open("w"))
    identity, result = next(found)
    assert identity in {point.id for point in points}
    assert isinstance(result, dict)
    assert result["measurement"]["verified"]
    assert result["build"] == {"by": "cmake"}
    with pytest.raises(StoppedError):
        next(found)
