"""Plans: what is missing and nothing else, and no file is touched without a reason."""

import dataclasses
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.campaign.driver import Options, header
from tramontane.campaign.overview import describe, forecast
from tramontane.campaign.plan import (
    Needed,
    Plan,
    Resources,
    find_needed,
    find_outdated,
    make_job,
    make_jobs,
    make_plan,
    select,
    write_plan,
)
from tramontane.campaign.rules import Rules
from tramontane.errors import InputError
from tramontane.results.collate import collate_manifest
from tramontane.results.datasets import RECORDS, read, write
from tramontane.results.proof import sealed
from tramontane.results.store import Store
from tramontane.study import Point
from tramontane.support import host
from tramontane.support.files import dump, write_atomically
from tramontane.support.layout import plan_of, root_of

Execute = Callable[..., Plan]


def missing(plan: Plan) -> set[str]:
    return {job.identity for job in plan.jobs}


def times(root: Path) -> dict[str, int]:
    return {
        str(path.relative_to(root)): path.stat().st_mtime_ns for path in (root / "results").rglob("*") if path.is_file()
    }


def test_a_point_of_two_experiments_is_run_once(project: Path, other: Path) -> None:
    plan = make_plan(project, "smoke")
    assert [experiment.name for experiment in plan.experiments] == ["tiny", "tiny_again"]
    assert [len(experiment.points) for experiment in plan.experiments] == [5, 5]
    assert len(plan.points) == len(plan.jobs) == len(missing(plan)) == 7


def test_the_same_command_again_plans_nothing(project: Path, other: Path, execute: Execute) -> None:
    execute(project)
    assert make_plan(project, "smoke").batches == []


def test_adding_one_value_to_one_list_schedules_exactly_the_new_points(
    project: Path, other: Path, execute: Execute
) -> None:
    before = set(execute(project).points)
    file = project / "configs" / "experiments" / "tiny.yaml"
    text = file.read_text()
    file.write_text(text.replace("smoke: {processes: [2, 4, 8]", "smoke: {processes: [2, 4, 5, 8]"))
    assert file.read_text() != text

    plan = make_plan(project, "smoke")
    scheduled = [job.point for job in plan.jobs]
    assert {point.ranks for point in scheduled} == {5}
    assert sorted(getattr(point.workload, "radix", 0) for point in scheduled) == [2, 3]
    assert missing(plan) == set(plan.points) - before
    # The new manifest, and nothing else, is what the workflow sees.
    unchanged = times(project)
    write_plan(plan)
    changed = {name for name, time in times(project).items() if unchanged.get(name) != time}
    assert {name for name in changed if "batches" not in name} == {
        "results/smoke/plan/experiments/tiny.json",
        "results/smoke/plan/plan.json",
    }


def test_a_change_of_words_runs_nothing(project: Path, execute: Execute) -> None:
    execute(project)
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text().replace("Time of an allreduce", "How long an allreduce takes"))
    plan = make_plan(project, "smoke")
    assert plan.jobs == []
    before = times(project)
    write_plan(plan)
    changed = {name for name, time in times(project).items() if before.get(name) != time}
    assert "results/smoke/plan/experiments/tiny.json" in changed  # so the figure is drawn anew


def test_planning_again_touches_nothing_but_the_mark_of_the_start(project: Path, other: Path, execute: Execute) -> None:
    plan = make_plan(project, "smoke")
    write_plan(plan)
    before = times(project)
    write_plan(make_plan(project, "smoke"))
    after = times(project)
    mark = "results/smoke/plan/plan.json"
    assert after.pop(mark) > before.pop(mark)
    assert after == before


def test_scales_are_planned_apart_but_share_points(project: Path, execute: Execute) -> None:
    execute(project, "smoke")
    plan = make_plan(project, "laptop")
    assert {job.point.ranks for job in plan.jobs} == {16}


def test_failed_points_are_tried_again(project: Path, execute: Execute, fake: Any) -> None:
    fake.FAILING = 8
    execute(project, substrate=fake)
    plan = make_plan(project, "smoke")
    assert {job.point.ranks for job in plan.jobs} == {8}
    fake.FAILING = -1
    execute(project, substrate=fake)
    assert make_plan(project, "smoke").jobs == []


def test_marks_of_earlier_batches_are_removed(project: Path, execute: Execute, fake: Any) -> None:
    fake.FAILING = 8
    plan = execute(project, substrate=fake)
    assert len(list(plan.layout.done.iterdir())) == len(plan.batches)
    again = make_plan(project, "smoke")
    write_plan(again)
    assert list(again.layout.done.iterdir()) == []
    assert {path.stem for path in again.layout.batches.iterdir()} == {batch.identity for batch in again.batches}


def collated(plan: Plan) -> Path:
    """Make the dataset of the experiment `tiny`."""
    (experiment,) = plan.experiments
    write(collate_manifest(experiment.manifest, Store(plan.root)), plan.layout.dataset("tiny"))
    return plan.layout.dataset("tiny")


def replaced(store: Store, identity: str) -> None:
    """Write another record in the place of one, as another experiment, or a run that was killed, would have."""
    record = store.read(identity)
    store.write({**record, "result": {**record["result"], "wall_s": 17.0}})


def removed(store: Store, identity: str) -> None:
    store.path(identity).unlink()


def turned_into_a_failure(store: Store, identity: str) -> None:
    record = store.read(identity)
    write_atomically(
        store.failure_path(identity),
        dump(sealed({"id": identity, "point": record["point"], "message": "m", "provenance": record["provenance"]})),
    )


@pytest.mark.parametrize("change", [replaced, removed, turned_into_a_failure])
@pytest.mark.parametrize("age", [-(10**12), 0, 10**9])
def test_other_records_than_those_of_a_dataset_put_it_out_of_date_whatever_their_times(
    project: Path, execute: Execute, change: Callable[[Store, str], None], age: int
) -> None:
    """They may have been copied from elsewhere with the times they had there."""
    plan = execute(project)
    dataset, store = collated(plan), Store(project)
    write_plan(make_plan(project, "smoke"))
    assert dataset.exists()

    identity = next(iter(plan.points))
    change(store, identity)
    for path in (store.path(identity), store.failure_path(identity)):
        if path.exists():
            os.utime(path, ns=(path.stat().st_atime_ns, dataset.stat().st_mtime_ns + age))
    write_plan(make_plan(project, "smoke", run=False))
    assert not dataset.exists()


def test_a_record_that_is_written_again_changes_nothing(project: Path, execute: Execute) -> None:
    plan = execute(project)
    dataset, store = collated(plan), Store(project)
    store.write(store.read(next(iter(plan.points))))
    write_plan(make_plan(project, "smoke"))
    assert dataset.exists()


def test_a_dataset_that_does_not_say_of_which_records_it_was_made_is_made_anew(project: Path, execute: Execute) -> None:
    plan = execute(project)
    dataset = collated(plan)
    known = read(dataset)
    del known.attrs[RECORDS]
    write(known, dataset)
    write_plan(make_plan(project, "smoke"))
    assert not dataset.exists()


def test_an_experiment_that_goes_puts_the_report_out_of_date(project: Path, other: Path, execute: Execute) -> None:
    """Nothing else that the report shows is newer then."""
    plan = execute(project)
    for experiment in plan.experiments:
        plan.layout.dataset(experiment.name).parent.mkdir(exist_ok=True)
        plan.layout.dataset(experiment.name).touch()
        for file in plan.layout.figures(experiment.name):
            file.parent.mkdir(exist_ok=True)
            file.touch()
    plan.layout.report.touch()
    write_plan(dataclasses.replace(make_plan(project, "smoke"), batches=[]))
    assert Rules(project).is_fresh("smoke")
    other.unlink()
    write_plan(dataclasses.replace(make_plan(project, "smoke"), batches=[]))
    assert not Rules(project).is_fresh("smoke")


def test_a_point_that_failed_puts_the_dataset_out_of_date(project: Path, execute: Execute) -> None:
    plan = execute(project)
    dataset = plan.layout.dataset("tiny")
    dataset.parent.mkdir()
    dataset.touch()
    store = Store(project)
    identity = next(iter(plan.points))
    store.path(identity).unlink()
    before = dataset.stat().st_mtime_ns
    os.utime(dataset, ns=(before + 10**9, before + 10**9))
    again = make_plan(project, "smoke")
    assert missing(again) == {identity}
    write_plan(again)
    assert not dataset.exists()


def test_a_point_that_failed_is_tried_again_though_the_manifest_is_newer(project: Path, execute: Execute) -> None:
    """Snakemake compares its content: it may have been planned otherwise in between, and be what it was before."""
    plan = execute(project)
    dataset, manifest = plan.layout.dataset("tiny"), plan.layout.manifest("tiny")
    dataset.parent.mkdir()
    dataset.touch()
    Store(project).path(next(iter(plan.points))).unlink()
    after = dataset.stat().st_mtime_ns + 10**9
    os.utime(manifest, ns=(after, after))
    write_plan(make_plan(project, "smoke"))
    assert not dataset.exists()


def test_results_of_an_older_revision_are_run_again_only_on_demand(
    project: Path, execute: Execute, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tramontane.campaign.plan.get", lambda name: fake)
    identities = set(execute(project, substrate=fake).points)
    old = fake.newest_revision()
    assert dict(find_outdated(dict.fromkeys(identities, old), Store(project))) == {}
    fake._revision = old + 1
    plan = make_plan(project, "smoke")
    assert plan.outdated == dict.fromkeys(identities, old)
    assert plan.jobs == []
    assert missing(make_plan(project, "smoke", refresh=True)) == identities
    execute(project, substrate=fake, refresh=True)
    assert make_plan(project, "smoke", refresh=True).jobs == []


OLD = {"old": 1, "old, offered": 1, "offered old": 2}


@pytest.mark.parametrize(
    ("again", "wanted", "published", "outdated"),
    [
        (set(), {"none"}, {"offered", "offered old"}, OLD),
        ({"old"}, {"none", "old"}, {"offered", "offered old"}, OLD),
        ({"old, offered"}, {"none"}, {"offered", "offered old", "old, offered"}, {"old": 1, "offered old": 2}),
        ({"offered old", "offered"}, {"none", "offered old"}, {"offered"}, OLD),
    ],
)
def test_a_point_is_run_unless_what_is_published_spares_it(
    again: set[str], wanted: set[str], published: set[str], outdated: dict[str, int]
) -> None:
    """Revision 3 has changed all of these."""
    missing, old = {"none", "offered", "offered old"}, {"old": 1, "old, offered": 1}
    offered = {"offered": 3, "offered old": 2, "old, offered": 3}
    found = find_needed(missing, old, offered, dict.fromkeys([*missing, *old], 3), again)
    assert found == Needed(wanted, frozenset(published), outdated)


def test_points_that_do_not_fit_are_left_out(project: Path) -> None:
    everything = make_plan(project, "smoke")
    sizes = sorted(job.memory for job in everything.jobs)
    plan = make_plan(project, "smoke", resources=Resources(memory=sizes[0] - 1))
    assert plan.jobs == []
    assert len(plan.too_large) == 5
    assert make_plan(project, "smoke", resources=Resources(memory=sizes[-1])).too_large == []


def test_points_of_an_absent_substrate_are_left_out_and_said(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSTMACRO_ROOT", str(project))
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text().replace("cross:\n", "cross:\n  substrate: [simulator, sstmacro]\n"))
    plan = make_plan(project, "smoke")
    assert len(plan.jobs) == 5
    assert {job.point.substrate for job in plan.jobs} == {"simulator"}
    [(reason, identities)] = plan.absent.items()
    assert len(identities) == plan.left_out == 5
    assert reason.startswith("substrate sstmacro: ")
    assert "install" in reason
    write_plan(plan)
    lines = list(header(plan, Options(cores=1, memory=None)))
    assert lines[0].startswith("smoke: 1 experiment, 10 points, 0 done, 5 to run in ")
    assert lines[1] == f"5 points left out: {reason}"


def test_batches_are_files_that_say_all_that_a_job_needs(project: Path) -> None:
    plan = make_plan(project, "smoke")
    write_plan(plan)
    for batch in plan.batches:
        written = json.loads(plan.layout.batch(batch.identity).read_text())
        assert [point["id"] for point in written["points"]] == [job.identity for job in batch.jobs]
        assert written["done"] == f"results/smoke/batches/{batch.identity}.done"


def test_experiments_wait_for_their_own_batches_only(project: Path, other: Path, execute: Execute) -> None:
    execute(project, experiments=["tiny"])
    plan = make_plan(project, "smoke")
    write_plan(plan)
    outline = Rules(project).outline("smoke")
    assert outline["experiments"]["tiny"] == []
    assert set(outline["experiments"]["tiny_again"]) == {batch.identity for batch in plan.batches}


def test_the_report_keeps_experiments_that_are_not_asked_for(project: Path, other: Path, execute: Execute) -> None:
    plan = execute(project, experiments=["tiny"])
    outline = Rules(project).outline("smoke")
    assert list(outline["experiments"]) == ["tiny"]
    assert outline["command"] == 'tramontane reproduce --scale smoke --experiments "tiny"'
    plan.layout.dataset("tiny").parent.mkdir()
    plan.layout.dataset("tiny").touch()
    execute(project, experiments=["tiny_again"])
    outline = Rules(project).outline("smoke")
    assert list(outline["experiments"]) == ["tiny", "tiny_again"]
    assert outline["command"] == "tramontane reproduce --scale smoke"


@pytest.mark.parametrize(
    ("names", "selected"),
    [
        (["all"], ["tiny", "tiny_again"]),
        (["none"], []),
        (["tiny_a"], ["tiny_again"]),
        (["tiny"], ["tiny"]),
        (["tiny_again", "tiny", "tiny"], ["tiny", "tiny_again"]),
    ],
)
def test_experiments_are_chosen_by_name(project: Path, other: Path, names: list[str], selected: list[str]) -> None:
    assert sorted(path.stem for path in select(project, names)) == selected


def test_words_that_several_names_begin_with_stand_for_all_of_them(project: Path, other: Path) -> None:
    folder = project / "configs" / "experiments"
    for old, new in (("tiny", "few-a"), ("tiny_again", "few-b")):
        (folder / f"{old}.yaml").rename(folder / f"{new}.yaml")
    assert [path.stem for path in select(project, ["few"])] == ["few-a", "few-b"]
    with pytest.raises(InputError, match="begins several names"):
        select(project, ["fe"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tinny", "experiment: unknown experiment 'tinny'; did you mean 'tiny'? allowed: tiny, tiny_again, all, none"),
        ("t", "experiment: 't' begins several names; allowed: tiny, tiny_again"),
    ],
)
def test_an_unknown_experiment_is_named_with_those_there_are(
    project: Path, other: Path, name: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        make_plan(project, "smoke", [name])
    assert str(caught.value) == message


def test_an_unknown_scale_is_named_with_those_there_are(project: Path) -> None:
    with pytest.raises(
        InputError, match=r"--scale: found 'smok'; did you mean 'smoke'\? allowed: smoke, laptop, paper"
    ):
        make_plan(project, "smok")


def test_files_from_the_future_count_as_made_now(project: Path, execute: Callable[..., Plan]) -> None:
    """As after a clock was wrong: else Snakemake finds outputs older than inputs, for days."""
    layout = execute(project).layout
    store = Store(project)
    files = [path for path in (project / "results").rglob("*") if path.is_file()]
    later = time.time_ns() + 2 * 86400 * 10**9
    for path in files:
        os.utime(path, ns=(later, later))
    plan = make_plan(project, "smoke")
    write_plan(plan)
    now = time.time_ns()
    assert all(path.stat().st_mtime_ns <= now for path in files if path.exists() and path.name != ".lock")
    assert all(store.changed_at(identity) <= layout.plan.stat().st_mtime_ns for identity in plan.points)


def test_results_may_lie_in_another_file_system(project: Path, execute: Callable[..., Plan], tmp_path: Path) -> None:
    """On a cluster they often do, by a link; whoever is given a batch finds the checkout, not what is linked to."""
    (tmp_path / "scratch" / "deep").mkdir(parents=True)
    (project / "results").symlink_to(tmp_path / "scratch" / "deep")
    plan = execute(project)
    file = plan.layout.batch(plan.batches[0].identity)
    assert root_of(file) == project
    assert plan_of(file) == plan.layout.plan
    command = [sys.executable, "-m", "tramontane", "run-batch", str(file.relative_to(project))]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert all(Store(project).has(identity) for identity in plan.points)
    assert sorted(path.name for path in tmp_path.rglob("points")) == ["points"]  # pathlib follows no links here


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("exclude:", 'derive: {ranks: "8"}\nexclude:', r"derive.ranks: 'ranks' is a dimension; allowed: what no"),
        ("lines: series", "lines: series, kind: link-map", r"figure.kind: found 'link-map'; allowed: another, or poi"),
        ("lines: series", "lines: series, y: slowdown", r"figure.y: found 'slowdown'; allowed: another, or points"),
    ],
)
def test_what_validate_refuses_is_not_run(project: Path, other: Path, old: str, new: str, line: str) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text().replace(old, new))
    asked: list[Callable[[], object]] = [
        lambda: make_plan(project, "smoke", ["tiny"]),
        lambda: forecast(project, ["tiny"], "smoke"),
        lambda: describe(project, "tiny", "smoke"),
    ]
    for ask in asked:
        with pytest.raises(InputError, match=line):
            ask()
    assert len(make_plan(project, "smoke", ["tiny_again"]).points) == 5  # nobody has asked for the other one


def test_a_mistake_of_another_scale_stops_nobody(project: Path) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    text = file.read_text().replace("laptop: {processes: [2, 4, 8, 16]", "laptop: {processes: [2, 2]")
    file.write_text(text.replace("{lines: series", "{lines: series, labels: {rec-2: Two}"))
    assert len(make_plan(project, "smoke").points) == 5
    with pytest.raises(InputError, match="found 2 twice"):
        make_plan(project, "laptop")


def test_an_axis_of_words_is_refused_before_points_run(project: Path) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    text = file.read_text(encoding="utf-8").split("figure:")[0]
    file.write_text(f"{text}figure: {{x: series, lines: ranks}}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"figure\.x: found 'series'; allowed: a dimension whose values are numbers"):
        make_plan(project, "smoke")


def test_all_experiments_are_at_least_one(project: Path) -> None:
    """A campaign of nothing would look as if all were done."""
    with pytest.raises(InputError, match=r"^--scale: no experiment has scale 'paper'; allowed: smoke, laptop$"):
        make_plan(project, "paper")
    with pytest.raises(InputError, match="paper"):
        make_plan(project, "paper", ["tiny"])
    for file in (project / "configs" / "experiments").glob("*.yaml"):
        file.unlink()
    with pytest.raises(
        InputError, match=r"experiments: no \*\.yaml that can be read there; allowed: an experiment, as"
    ):
        make_plan(project, "smoke")
    assert make_plan(project, "smoke", ["none"]).experiments == []


@pytest.mark.parametrize("cores", [1, 3])
def test_points_are_estimated_in_their_order_by_any_number_of_processes(
    monkeypatch: pytest.MonkeyPatch, cores: int
) -> None:
    monkeypatch.setattr(host, "cores", lambda: cores)
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest has some of its own
    machines = [{"topology": "torus", "geometry": [4, 4, width], "nodes_per_switch": 4} for width in (1, 2, 3)]
    points = [
        Point.model_validate({
            "ranks": 2 + i % 13,
            "machine": machines[i % 3],
            "workload": {"kind": "allreduce", "algorithm": "ring", "count": 1 + i % 7},
        })
        for i in range(60)
    ]  # fmt: skip
    assert make_jobs(points) == [make_job(point) for point in points]
    assert make_jobs(points, "gpu") == [make_job(point, "gpu") for point in points]
    assert make_jobs([]) == []
