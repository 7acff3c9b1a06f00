"""Points chosen by an expression of their coordinates: a part of a campaign, today."""

from pathlib import Path

import pytest

from tramontane.campaign.driver import Options, header
from tramontane.campaign.plan import make_plan
from tramontane.errors import InputError


def test_only_points_with_such_coordinates_are_run(project: Path, other: Path) -> None:
    plan = make_plan(project, "smoke", where="ranks in (2, 8) and series != 'rec-2'")
    found = sorted((job.point.ranks, getattr(job.point.workload, "radix", None)) for job in plan.jobs)
    assert found == [(8, 3), (8, 4)]
    assert len(plan.points) == 7
    lines = list(header(plan, Options(cores=2, memory=None)))
    assert "5 points left out: not ranks in (2, 8) and series != 'rec-2'" in lines


def test_an_experiment_without_the_coordinate_has_no_such_point(project: Path, other: Path) -> None:
    other.write_text(other.read_text().replace("ranks: $processes", "start_jitter: [1 us]\n  ranks: $processes"))
    plan = make_plan(project, "smoke", where="start_jitter == '1 us'")
    assert {job.identity for job in plan.jobs} == set(plan.experiments[1].points)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("rank == 2", "did you mean 'ranks'?"),
        ("ranks + 1", "true or false"),
        ("ranks ==", "cannot be read"),
        ("ranks > 'x'", "cannot be evaluated"),
        ("ranks == '8'", "no point with ranks == '8'; allowed: an expression that holds for a point; ranks: 2, 4, 8"),
        ("series == 2", "allowed: an expression that holds for a point; series: 'rec-2', 'rec-3'"),
    ],
)
def test_a_mistake_is_one_line(project: Path, where: str, expected: str) -> None:
    with pytest.raises(InputError, match="--where") as caught:
        make_plan(project, "smoke", where=where)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
