"""What is wrong with one file harms no other: not the campaign of another experiment, nor its report."""

from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import report
from tramontane import cli
from tramontane.campaign.plan import Plan, write_plan
from tramontane.campaign.rules import Rules
from tramontane.results import datasets
from tramontane.results.collate import collate_manifest
from tramontane.results.store import Store


def collate(plan: Plan) -> None:
    """Make the datasets of a plan, as the workflow does."""
    for experiment in plan.experiments:
        dataset = plan.layout.dataset(experiment.name)
        datasets.write(collate_manifest(experiment.manifest, Store(plan.root)), dataset)


@pytest.mark.parametrize("content", ["{}", "[]", "", '{"name": "tiny_again"', '{"figure": {}, "sha256": "0"}'])
def test_a_damaged_manifest_of_another_experiment_is_told_and_left_out(
    project: Path, other: Path, execute: Callable[..., Plan], capfd: pytest.CaptureFixture[str], content: str
) -> None:
    collate(execute(project))
    plan = execute(project, experiments=["tiny"])
    assert list(Rules(project).outline("smoke")["experiments"]) == ["tiny", "tiny_again"]
    plan.layout.manifest("tiny_again").write_text(content)
    capfd.readouterr()
    write_plan(plan)
    told = capfd.readouterr().err.splitlines()
    assert told
    assert all("tiny_again.json: " in line and "left out of the report" in line for line in told)
    assert list(Rules(project).outline("smoke")["experiments"]) == ["tiny"]
    assert list(Rules(project).steps("smoke"))


@pytest.mark.parametrize(("name", "content"), [("bad", "title: ["), ("a b", "title: x")])
def test_a_bad_experiment_is_no_part_of_the_report_of_others(
    project: Path, execute: Callable[..., Plan], name: str, content: str
) -> None:
    plan = execute(project)
    collate(plan)
    (project / "configs" / "experiments" / f"{name}.yaml").write_text(content)
    report.write([plan.layout.dataset("tiny")], plan.layout.report, "smoke", "make reproduce", root=project)
    assert plan.layout.report.exists()


def test_a_bad_experiment_is_listed_after_the_others(
    project: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (project / "configs" / "experiments" / "bad.yaml").write_text("title: [")
    monkeypatch.chdir(project)
    monkeypatch.setattr("sys.argv", ["tramontane", "list"])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capfd.readouterr()
    assert ended.value.code == 2
    assert "tiny" in out
    assert err.startswith("configs/experiments/bad.yaml: not YAML")
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["estimate", "tiny", "--scale", "smoke"], "5 points, 4 done, 1 to run"),
        (["list"], " 4/5 "),
        (["plan", "--scale", "smoke"], "5 points, 1 to run in 1 batch"),
    ],
)
def test_a_damaged_record_is_missing_for_every_command(
    project: Path,
    execute: Callable[..., Plan],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: list[str],
    said: str,
) -> None:
    record = Store(project).path(min(execute(project).points))
    record.write_text(record.read_text().replace('"time_s": ', '"time_s": 1'))
    monkeypatch.chdir(project)
    monkeypatch.setattr("sys.argv", ["tramontane", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capfd.readouterr()
    assert not ended.value.code
    assert f"{record.name}: the checksum differs; set aside as {record.name}.damaged-1" in err
    assert said in out + err
