"""Records that come with the project spare their points, and say so."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tramontane.campaign.driver import Options, header
from tramontane.campaign.plan import Plan, make_plan, write_plan
from tramontane.results.published import find_published, publish
from tramontane.results.store import PUBLISHED, Store
from tramontane.study import Point

ROOT = Path(__file__).parents[2]

Execute = Callable[..., Plan]


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
    assert f"{len(identities)} points of those come with the project (published/)" in list(
        header(plan, Options(cores=2, memory=None))
    )
    write_plan(plan)
    store, published = Store(project), Store(project, PUBLISHED)
    for identity in identities:
        taken = store.read(identity)
        assert taken["provenance"].pop("published") is True
        assert taken == published.read(identity)
    assert make_plan(project, "smoke").published == frozenset()


def test_a_result_of_another_model_revision_is_not_taken_over(project: Path, execute: Execute) -> None:
    identities = publish_all(project, execute)
    changed = sorted(identities)[0]
    path = Store(project, PUBLISHED).path(changed)
    record = json.loads(path.read_text())
    record["result"]["model_revision"] += 1
    path.write_text(json.dumps(record))
    assert {job.identity for job in make_plan(project, "smoke").jobs} == {changed}


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


def test_nothing_published_is_nothing_found(project: Path) -> None:
    assert find_published(project, ["0" * 16], 1) == set()


def test_records_that_come_with_the_project_are_what_they_say() -> None:
    store = Store(ROOT, PUBLISHED)
    for identity in store.identities():
        record = store.read(identity)
        assert Point.from_canonical(record["point"]).id == record["id"] == identity
        assert record["result"]["substrate"] == record["point"]["substrate"] == "simulator"
        assert record["provenance"]["git_dirty"] is False
        assert record["provenance"]["model_revision"] == record["result"]["model_revision"]
