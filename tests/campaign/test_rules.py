"""What the rules ask: files by name, resources from the estimate, and whether anything is out of date."""

import json
import math
import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tramontane.campaign import rules as rules_module
from tramontane.campaign import slurm
from tramontane.campaign.plan import Plan, Resources, make_plan, write_plan
from tramontane.campaign.rules import Rules, Step, figure_outputs, sheet_outputs, study_outputs
from tramontane.campaign.slurm import limits
from tramontane.errors import InputError
from tramontane.study.points.cost import rates
from tramontane.substrates import devices
from tramontane.support.layout import CODE, SCHEMATICS_OF, Layout


def touch(path: Path, time: int) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.utime(path, ns=(time, time))
    return path


def test_a_step_is_fresh_if_all_outputs_are_newer_than_all_inputs(tmp_path: Path) -> None:
    inputs = (touch(tmp_path / "a", 10), touch(tmp_path / "b", 20))
    assert not Step(inputs, (tmp_path / "c",)).is_fresh()
    assert Step(inputs, (touch(tmp_path / "c", 20), touch(tmp_path / "d", 30))).is_fresh()
    assert not Step(inputs, (touch(tmp_path / "c", 15), tmp_path / "d")).is_fresh()
    assert not Step((tmp_path / "none",), inputs).is_fresh()


def test_a_folder_in_the_place_of_any_file_is_told(project: Path) -> None:
    """Snakemake takes it for the file, and what is out of date for fresh."""
    write_plan(make_plan(project, "smoke", resources=Resources(cores=1)))
    rules = Rules(project)
    rules.check_outputs("smoke")
    outputs = [path for step in rules.steps("smoke") for path in step.outputs]
    assert Layout(project, "smoke").report in outputs
    for path in outputs:
        path.mkdir(parents=True)
        with pytest.raises(InputError, match=rf"{re.escape(path.name)}: found a folder; allowed: a file, or nothing"):
            rules.check_outputs("smoke")
        path.rmdir()


def test_resources_of_a_batch_follow_its_estimate(project: Path) -> None:
    plan = make_plan(project, "smoke", resources=Resources(cores=1, memory=10**12))
    write_plan(plan)
    rules = Rules(project)
    for batch in plan.batches:
        wildcards = SimpleNamespace(scale="smoke", batch=batch.identity)
        # A point may exceed its estimate, and Snakemake (twice) and Python take their part.
        assert rules.memory(wildcards) == math.ceil((1.3 * batch.memory + 300e6) / 1e6)
        assert rules.runtime(wildcards) >= 10 + batch.seconds / 60
        assert rules.priority(wildcards) >= batch.seconds
        # Tried again on one machine, it runs with all that is allowed, and so alone.
        assert rules.memory(wildcards, attempt=2) == 10**6
        assert rules.runtime(wildcards, attempt=2) == rules.runtime(wildcards)


def test_what_is_measured_starts_before_what_takes_longer(project: Path) -> None:
    plan = make_plan(project, "smoke", resources=Resources(cores=1))
    write_plan(plan)
    contents = json.loads(plan.layout.plan.read_text(encoding="utf-8"))
    name, batch = next(iter(contents["batches"].items()))
    contents["batches"] = {name: batch, "quiet": {**batch, "measured": True, "seconds": batch["seconds"] / 2}}
    plan.layout.plan.write_text(json.dumps(contents), encoding="utf-8")
    rules = Rules(project)
    simulated, measured = (SimpleNamespace(scale="smoke", batch=name) for name in contents["batches"])
    assert rules.priority(measured) > rules.priority(simulated)


ENDINGS = {
    ("OUT_OF_MEMORY",): (2, 1),
    ("FAILED", "OUT_OF_MEMORY"): (3, 1),
    ("TIMEOUT",): (1, 2),
    ("TIMEOUT", "OUT_OF_MEMORY"): (2, 2),
    ("CANCELLED",): (1, 1),
    ("NODE_FAIL", "PREEMPTED", "CANCELLED"): (1, 1),
    (): (2, 1),  # Slurm has forgotten it
}


@pytest.mark.parametrize("endings", list(ENDINGS))
def test_a_job_is_sent_again_with_more_of_what_it_lacked(
    project: Path, monkeypatch: pytest.MonkeyPatch, endings: tuple[str, ...]
) -> None:
    plan = make_plan(project, "smoke", resources=Resources(cores=1, cluster=True))
    write_plan(plan)
    batch = plan.batches[0].identity
    here = Path.cwd()
    said = [
        f"{number}|{state}|rule_run_batch_wildcards_smoke_{batch}|None|{here}"
        for number, state in enumerate(endings, 9)
    ]
    others = ["3|TIMEOUT|rule_run_batch_wildcards_smoke_0123456789abcdef", f"99|RUNNING|{batch}", "5|FAILED|(null)"]
    elsewhere = f"98|TIMEOUT|rule_run_batch_wildcards_smoke_{batch}|None|{here}/other|checkout"
    asked: list[tuple[str, ...]] = []

    def ask(*command: str, patience: float) -> str:
        asked.append(command)
        return "\n".join([*(f"{line}|None|{here}" for line in others), *said, elsewhere])

    monkeypatch.setattr(slurm, "_ask", ask)
    wildcards = SimpleNamespace(scale="smoke", batch=batch)
    rules, attempt = Rules(project), max(len(endings), 1) + 1
    memory, time = ENDINGS[endings]
    assert rules.memory(wildcards, attempt) == pytest.approx(memory * rules.memory(wildcards), abs=2)
    assert rules.runtime(wildcards, attempt) == time * rules.runtime(wildcards)
    assert all("--me" in command for command in asked)
    assert asked


def test_a_job_never_asks_for_more_time_than_the_partition_allows(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(project, "smoke", resources=Resources(cores=1, cluster=True, minutes=15))
    write_plan(plan)
    wildcards = SimpleNamespace(scale="smoke", batch=plan.batches[0].identity)
    monkeypatch.setattr(slurm, "attempts", lambda batch, number: slurm.Attempts(time=number))
    assert [Rules(project).runtime(wildcards, attempt) for attempt in (1, 2, 3)] == [11, 15, 15]


def test_a_batch_takes_as_many_cores_as_a_point_has_threads(project: Path) -> None:
    for threads in (1, 3):
        plan = make_plan(project, "smoke", resources=Resources(cores=6, threads=threads))
        assert len(plan.batches) <= 24 // threads  # so many run side by side
        write_plan(plan)
        for batch in plan.batches:
            wildcards = SimpleNamespace(scale="smoke", batch=batch.identity)
            assert Rules(project).threads(wildcards) == threads


def test_a_batch_of_points_left_to_a_gpu_asks_for_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def gpus(device: str) -> list[int]:
        plan = make_plan(project, "smoke", resources=Resources(cores=4, device=device))
        write_plan(plan)
        return [Rules(project).gpus(SimpleNamespace(scale="smoke", batch=each.identity)) for each in plan.batches]

    assert set(gpus("cpu")) == set(gpus("host")) == set(gpus("auto")) == {0}
    assert gpus("gpu") == [1]
    # What is quicker on a GPU goes there, the rest to cores.
    ranks = sorted(point.ranks for point in make_plan(project, "smoke").points.values())
    monkeypatch.setattr(devices, "LEAST_RANKS", ranks[-1])
    assert set(gpus("auto")) == {0, 1}
    plan = make_plan(project, "smoke", resources=Resources(device="auto"))
    assert {job.point.ranks for job in plan.jobs if job.on_gpu} == {ranks[-1]}
    assert plan.gpu_seconds > 0
    of_lanes = rates()["gpu_memory"]["lanes"] * rates()["gpu_memory"]["bytes_per_lane"]
    assert all(job.gpu_memory > of_lanes for job in plan.jobs if job.on_gpu)
    assert plan.seconds + plan.gpu_seconds == pytest.approx(sum(job.seconds for job in plan.jobs))


def test_a_batch_never_asks_for_more_memory_than_the_plan_allows(project: Path) -> None:
    plan = make_plan(project, "smoke", resources=Resources(cores=1, memory=95_000_000))
    write_plan(plan)
    assert plan.batches
    wildcards = SimpleNamespace(scale="smoke", batch=plan.batches[0].identity)
    assert Rules(project).memory(wildcards, attempt=4) == 95


def test_a_job_asks_for_mebibytes_as_slurm_counts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And so never for more than the largest node has, whose memory Slurm tells in MiB as well."""
    node = 256_000
    plan = make_plan(
        project,
        "smoke",
        resources=Resources(cores=1, cluster=True, memory=limits([("a*", "30:00", str(node), "")]).memory),
    )
    write_plan(plan)
    batch = plan.batches[0]
    wildcards = SimpleNamespace(scale="smoke", batch=batch.identity)
    monkeypatch.setattr(slurm, "attempts", lambda batch, number: slurm.Attempts(memory=number))
    assert Rules(project).memory(wildcards) == math.ceil((1.3 * batch.memory + 300e6) / 2**20)
    assert Rules(project).memory(wildcards, attempt=10**6) == node


def test_a_campaign_is_fresh_when_everything_is_there_in_order(
    project: Path, other: Path, execute: Callable[..., Plan]
) -> None:
    layout = execute(project).layout
    rules = Rules(project)
    assert not rules.is_fresh("smoke")  # batches are planned
    write_plan(make_plan(project, "smoke"))
    assert not rules.is_fresh("smoke")  # nothing is collated
    future = time.time_ns()  # newer than all the code
    for name in ("tiny", "tiny_again"):
        touch(layout.dataset(name), future)
        for path in layout.figures(name):
            touch(path, future + 1)
    touch(layout.report, future + 2)
    assert rules.is_fresh("smoke")
    touch(layout.figures("tiny")[0], future + 3)  # somebody has drawn a figure anew
    assert not rules.is_fresh("smoke")
    touch(layout.report, future + 4)
    assert rules.is_fresh("smoke")
    layout.figures("tiny_again")[1].unlink()
    assert not rules.is_fresh("smoke")


def test_code_from_the_future_makes_nothing_out_of_date(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for room in ("tramontane", "analysis"):
        shutil.copytree(CODE / room, tmp_path / room, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    monkeypatch.setattr(rules_module, "CODE", tmp_path)
    file = tmp_path / "tramontane" / "results" / "collate.py"
    assert str(file) in Rules().code_of_analysis()
    touch(file, time.time_ns() + 2 * 10**14)
    assert str(file) not in Rules().code_of_analysis()
    assert str(tmp_path / "tramontane" / "results" / "store.py") in Rules().code_of_analysis()


def test_a_new_plan_is_noticed(project: Path) -> None:
    rules = Rules(project)
    write_plan(make_plan(project, "smoke"))
    before = rules.outline("smoke")
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text().replace("[2, 4, 8]", "[2, 4, 8, 16]"))
    write_plan(make_plan(project, "smoke"))
    assert rules.outline("smoke") != before


@pytest.mark.parametrize("name", ["code_of_analysis", "code_of_studies"])
def test_the_code_that_matters_exists(name: str) -> None:
    files = [Path(file) for file in getattr(Rules(), name)()]
    assert files
    assert all(file.is_file() and file.is_relative_to(CODE) for file in files)


def test_figures_are_drawn_in_three_forms_and_have_a_caption() -> None:
    assert [Path(name).suffix for name in figure_outputs()] == [".svg", ".png", ".pdf", ".txt", ".md"]


def test_experiments_that_name_one_figure_are_drawn_together_too(project: Path, other: Path) -> None:
    folder = project / "configs" / "experiments"
    for letter, name in (("b", "tiny"), ("a", "tiny_again")):
        text = (folder / f"{name}.yaml").read_text()
        panel = f"figure: {{panel: {{figure: fig99, letter: {letter}}}, "
        (folder / f"{name}.yaml").write_text(text.replace("figure: {", panel))
    write_plan(make_plan(project, "smoke"))
    rules, layout = Rules(project), Layout(project, "smoke")
    assert rules.sheets("smoke") == {"fig99": ["tiny", "tiny_again"]}
    wildcards = SimpleNamespace(scale="smoke", sheet="fig99")
    assert rules.datasets_of_sheet(wildcards) == [str(layout.dataset(name)) for name in ("tiny", "tiny_again")]
    assert {str(path) for path in layout.sheet("fig99")} <= set(rules.figures(wildcards))
    expected = [name.format(scale="smoke", sheet="fig99") for name in sheet_outputs()]
    assert [str(path.relative_to(project)) for path in layout.sheet("fig99")] == expected
    # One that leaves the figure makes no file newer but the list.
    (step,) = (step for step in rules.steps("smoke") if set(layout.sheet("fig99")) == set(step.outputs))
    assert layout.shown in step.inputs
    assert json.loads(layout.shown.read_text())["sheets"] == {"fig99": ["tiny", "tiny_again"]}


def test_a_figure_of_one_experiment_is_drawn_once(project: Path, other: Path) -> None:
    write_plan(make_plan(project, "smoke"))
    assert Rules(project).sheets("smoke") == {}


def test_what_is_published_of_a_study_is_drawn_for_the_report_of_its_scale_alone(project: Path) -> None:
    write_plan(make_plan(project, "smoke"))
    rules, layout = Rules(project), Layout(project, "smoke")
    touch(project / "published" / "studies" / "own-laptop.json", 1)
    before = rules.figures(SimpleNamespace(scale="smoke"))
    summary = touch(project / "published" / "studies" / "own-smoke.json", 1)
    drawn = [str(path) for path in layout.study("own")]
    assert set(rules.figures(SimpleNamespace(scale="smoke"))) - set(before) == set(drawn)
    assert set(drawn) <= set(rules.targets("smoke"))
    assert [str(Path(name).relative_to(project)) for name in drawn] == [
        name.format(scale="smoke", study="own") for name in study_outputs()
    ]
    [step] = [step for step in rules.steps("smoke") if str(step.outputs[0]) == drawn[0]]
    assert summary in step.inputs
    assert {Path(name).name for name in rules.code_of_studies()} >= {"shares.py", "margins.py", "machine_lines.py"}


def be_of_the_paper(project: Path) -> None:
    """Let the experiment reproduce the paper whose Figs. 3 and 4 show schedules."""
    with (project / "configs" / "experiments" / "tiny.yaml").open("a", encoding="utf-8") as stream:
        stream.write(f"paper: {{figure: 5a, doi: {SCHEMATICS_OF}}}\n")


def test_schedules_are_drawn_for_experiments_of_the_paper_that_draws_them(project: Path) -> None:
    schedules = {str(path) for path in Layout(project, "smoke").schematics()}
    write_plan(make_plan(project, "smoke"))
    assert not schedules & set(Rules(project).targets("smoke"))
    be_of_the_paper(project)
    write_plan(make_plan(project, "smoke"))
    assert schedules <= set(Rules(project).targets("smoke"))


def test_a_change_of_code_remakes_what_it_made_and_nothing_else(
    project: Path, execute: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    for room in ("tramontane", "analysis"):
        shutil.copytree(CODE / room, code / room, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    touch(code / "skeleton-src" / "schedule.hpp", 1)
    monkeypatch.setattr(rules_module, "CODE", code)
    monkeypatch.setattr(rules_module, "SHARE", code)
    be_of_the_paper(project)
    layout = execute(project).layout
    write_plan(make_plan(project, "smoke"))
    future = time.time_ns()  # newer than all the code
    touch(layout.dataset("tiny"), future)
    for path in (*layout.figures("tiny"), *layout.schematics()):
        touch(path, future + 10)
    touch(layout.report, future + 20)

    def remade(name: str) -> set[str]:
        """Return what is out of date after a change of a file, which is then taken back."""
        file, before = code / name, (code / name).stat().st_mtime_ns
        touch(file, future + 30)
        outputs = [step.outputs[0].name for step in Rules(project).steps("smoke") if not step.is_fresh()]
        touch(file, before)
        return set(outputs)

    assert Rules(project).is_fresh("smoke")
    drawn, report = {"tiny.nc", "fig03.svg"}, {"report.html"}
    for name in ("results/collate.py", "results/manifest.py", "results/store.py", "results/published.py"):
        assert remade(f"tramontane/{name}") - report == drawn, name
    for name in ("study/points/points.py", "study/workloads/workloads.py", "study/networks/network.py"):
        assert remade(f"tramontane/{name}") == drawn | report, name
    for name in ("analysis/spec.py", "tramontane/support/formatting.py", "skeleton-src/schedule.hpp"):
        assert remade(name) == drawn | report, name
    for name in ("tramontane/claims/bands.py", "analysis/page/papers.py", "analysis/report.py"):
        assert remade(name) == report, name
    for name in ("tramontane/cli/list.py", "tramontane/calibration/fit.py", "tramontane/archive/crate.py"):
        assert remade(name.replace("cli/list", "cli/listing")) == set(), name
