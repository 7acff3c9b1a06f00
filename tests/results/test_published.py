"""Records that come with the project spare their points, and say so."""

import dataclasses
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.campaign.driver import Options, header
from tramontane.campaign.plan import Plan, make_plan, write_plan
from tramontane.results.collate import collate_manifest
from tramontane.results.published import find_published, publish, take_over
from tramontane.results.revisions import newest, tally
from tramontane.results.store import PUBLISHED, Store
from tramontane.study import Point
from tramontane.substrates.simulator import Simulator

ROOT = Path(__file__).parents[2]

Execute = Callable[..., Plan]
OPTIONS = Options(cores=2, memory=None)
NOW = Simulator().newest_revision()
#: The revision that last changed the results of points whose ranks have one interface each, as they have here.
CHANGED = 2


def edit(store: Store, identity: str, revision: int) -> None:
    record = store.read(identity)
    record["result"]["model_revision"] = revision
    store.write(record)


def publish_all(project: Path, execute: Execute) -> set[str]:
    identities = set(execute(project).points)
    assert publish(project, identities, 0.0) == len(identities)
    shutil.rmtree(project / "results")
    return identities


def test_published_points_are_taken_over_and_not_run(project: Path, execute: Execute) -> None:
    identities = publish_all(project, execute)
    plan = make_plan(project, "smoke")
    assert plan.jobs == []
    assert plan.published == identities
    assert f"{len(identities)} points of those come with the project (published/)" in list(header(plan, OPTIONS))
    write_plan(plan)
    store, published = Store(project), Store(project, PUBLISHED)
    for identity in identities:
        taken = store.read(identity)
        assert taken["provenance"].pop("published") is True
        assert taken == published.read(identity)
    assert make_plan(project, "smoke").published == frozenset()


def test_a_matrix_of_congestion_goes_with_its_record(project: Path, execute: Execute) -> None:
    identity = sorted(execute(project).points)[0]
    store = Store(project)
    record = store.read(identity)
    ranks = record["point"]["ranks"]
    matrix = {"bins": 1, "ranks": ranks, "packets": [[5]], "sum_s": [[1e-6]], "max_s": [[3e-7]]}
    record["result"]["congestion"] = matrix
    store.write(record)
    publish(project, [identity], 0.0)
    shutil.rmtree(project / "results")
    take_over(project, [identity])
    assert store.read_congestion(identity) == matrix


def test_a_result_of_a_newer_model_revision_is_not_taken_over(project: Path, execute: Execute) -> None:
    changed = sorted(publish_all(project, execute))[0]
    edit(Store(project, PUBLISHED), changed, NOW + 1)
    assert {job.identity for job in make_plan(project, "smoke").jobs} == {changed}


def test_a_result_of_an_older_model_revision_is_taken_over_and_run_again_on_demand(
    project: Path, execute: Execute
) -> None:
    identities = publish_all(project, execute)
    old, other = sorted(identities)[:2]
    for identity in (old, other):
        edit(Store(project, PUBLISHED), identity, CHANGED - 1)
    plan = make_plan(project, "smoke")
    assert plan.jobs == []
    assert plan.published == identities
    said = f"2 results of model revision {CHANGED - 1}, marked as older than the simulator's {NOW}"
    assert f"{said}; REFRESH=1 runs them again" in list(header(plan, OPTIONS))

    refreshing = dataclasses.replace(OPTIONS, refresh=True)
    for _ in range(2):  # where nothing is there yet, and where the old records have been taken over
        again = make_plan(project, "smoke", refresh=True)
        assert {job.identity for job in again.jobs} == {old, other}
        assert not any("older" in line for line in header(again, refreshing))
        write_plan(plan)
    assert Store(project).read(old)["result"]["model_revision"] == CHANGED - 1
    assert list(header(make_plan(project, "smoke"), OPTIONS))[1].startswith(said)

    ranks = plan.points[old].ranks
    chosen = {i for i in (old, other) if plan.points[i].ranks == ranks}
    shutil.rmtree(project / "results")
    some = make_plan(project, "smoke", refresh=True, where=f"ranks == {ranks}")
    assert {job.identity for job in some.jobs} == chosen
    assert some.published == identities - chosen
    assert make_plan(project, "smoke", refresh=True, run=False).published == identities


def test_what_a_revision_has_not_changed_is_not_older(project: Path, execute: Execute) -> None:
    identities = publish_all(project, execute)
    for identity in identities:
        edit(Store(project, PUBLISHED), identity, CHANGED)
    plan = make_plan(project, "smoke", refresh=True)
    assert plan.published == identities
    assert not plan.jobs
    assert not plan.outdated
    write_plan(plan)
    dataset = collate_manifest(plan.experiments[0].manifest, Store(project))
    assert tally(dataset) == {NOW: len(identities)}
    assert newest(dataset) == NOW > CHANGED


def test_refreshing_takes_over_what_was_published_with_the_models_revision(project: Path, execute: Execute) -> None:
    identities = publish_all(project, execute)
    write_plan(make_plan(project, "smoke"))
    old = sorted(identities)[0]
    edit(Store(project), old, CHANGED - 1)
    assert make_plan(project, "smoke").published == frozenset()
    plan = make_plan(project, "smoke", refresh=True)
    assert plan.jobs == []
    assert plan.published == {old}
    assert plan.outdated == {}
    write_plan(plan)
    assert Store(project).read(old)["result"]["model_revision"] == NOW


def test_publishing_replaces_records_of_an_older_revision_only(project: Path, execute: Execute) -> None:
    identities = set(execute(project).points)
    publish(project, identities, 0.0)
    older, newer = sorted(identities)[:2]
    published = Store(project, PUBLISHED)
    edit(published, older, CHANGED - 1)
    edit(published, newer, NOW + 1)
    assert publish(project, identities, 0.0) == 1
    found = [published.read(identity)["result"]["model_revision"] for identity in (older, newer)]
    assert found == [NOW, NOW + 1]


def test_quick_points_and_those_of_other_substrates_are_not_published(project: Path, execute: Execute) -> None:
    identities = sorted(execute(project).points)
    store = Store(project)
    changed: list[dict[str, Any]] = [{"wall_s": 100.0}, {"wall_s": 0.1}, {"wall_s": 100.0, "substrate": "mpi"}]
    for identity, changes in zip(identities, changed, strict=False):
        record = store.read(identity)
        store.write({**record, "result": {**record["result"], **changes}})
    assert publish(project, identities[:3], 60.0) == 1
    assert list(Store(project, PUBLISHED).identities()) == [identities[0]]
    assert publish(project, identities[:3], 60.0) == 0


@pytest.mark.parametrize("how", ["cut", "unreadable"])
def test_a_damaged_published_record_is_told_and_its_point_is_run(
    project: Path, execute: Execute, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    identities = publish_all(project, execute)
    victim = min(identities)
    path = Store(project, PUBLISHED).path(victim)
    content = path.read_bytes()
    path.unlink()
    if how == "cut":
        path.write_bytes(content[:-100])
    else:
        path.mkdir()  # root may read any file
    plan = make_plan(project, "smoke")
    assert {job.identity for job in plan.jobs} == {victim}
    assert plan.published == identities - {victim}
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{path}: ")
    assert line.endswith("; ignored")


def test_a_damaged_record_is_not_published(project: Path, execute: Execute) -> None:
    identities = set(execute(project).points)
    victim = min(identities)
    path = Store(project).path(victim)
    path.write_bytes(path.read_bytes()[:-100])
    assert publish(project, identities, 0.0) == len(identities) - 1
    assert set(Store(project, PUBLISHED).identities()) == identities - {victim}


def test_nothing_published_is_nothing_found(project: Path) -> None:
    assert find_published(project, ["0" * 16], 1) == {}


def test_records_that_come_with_the_project_are_what_they_say() -> None:
    store = Store(ROOT, PUBLISHED)
    for identity in store.identities():
        record = store.read(identity)
        assert Point.from_canonical(record["point"]).id == record["id"] == identity
        assert record["result"]["substrate"] == record["point"]["substrate"] == "simulator"
        assert record["provenance"]["git_dirty"] is False
        assert record["provenance"]["model_revision"] == record["result"]["model_revision"]
        assert Simulator().revision(Point.from_canonical(record["point"])) == CHANGED
