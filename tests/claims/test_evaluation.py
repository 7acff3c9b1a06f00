"""From statements and datasets to verdicts."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tramontane.claims import VERDICTS, Verdict, evaluate, pages
from tramontane.errors import InputError
from tramontane.results import datasets, manifest
from tramontane.study import expand, load_experiment
from tramontane.support.layout import Layout

from .data import dataset

ROOT = Path(__file__).parents[2]

CLAIMS = """\
paper: Z
claims:
  faster:
    where: Fig. 1
    about: transposition
    statement: a is faster than b, and much faster than c from 1e5 processes on.
    experiment: tiny
    along: series
    checks:
      - {kind: slower, of: b, than: a}
      - {kind: slower, of: c, than: a, by: 2, between: [5000, null]}
  chosen:
    where: Fig. 2
    about: transposition
    statement: The routing of our choice is faster than b.
    experiment: tiny
    curves:
      own: {select: {series: $routing}}
      b: {select: {series: b}}
    checks:
      - {kind: slower, of: b, than: own}
    choices:
      textbook: {routing: a}
      as published: {routing: c}
  sums:
    where: Table 3
    about: arithmetic
    statement: The grids have 10 * 4^n + 2 cells.
    checks:
      - {kind: computed, what: cells, printed: {"7": 163842}}
  far:
    where: Fig. 6
    about: one-sided
    statement: It is fast on another machine.
    out_of_reach: another machine
  none:
    where: section 5
    about: overlap
    statement: The order of additions matters.
    lacks: a workload
"""

EXPERIMENT = """\
title: Tiny
question: Which?
description: Three lines.
cross: {series: [a, b, c], ranks: $processes}
variants: {series: {a: {seed: 1}, b: {seed: 2}, c: {seed: 3}}}
base:
  machine: {topology: torus, geometry: [30, 30, 30], nodes_per_switch: 8}
  workload: {kind: allreduce, algorithm: ring}
scales:
  smoke: {processes: [2, 4]}
  laptop: {processes: {decades: [100, 10000]}}
  paper: {processes: {decades: [100, 200000]}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with five statements and one experiment."""
    for name in ("experiments", "claims"):
        (tmp_path / "configs" / name).mkdir(parents=True)
    (tmp_path / "configs" / "experiments" / "tiny.yaml").write_text(EXPERIMENT)
    (tmp_path / "configs" / "claims" / "made-up.yaml").write_text(CLAIMS)
    shutil.copy(ROOT / "configs" / "claims" / "judgement.yaml", tmp_path / "configs" / "claims")
    shutil.copy(ROOT / "configs" / "references.yaml", tmp_path / "configs")
    return tmp_path


@pytest.fixture
def store(root: Path) -> Callable[..., None]:
    """Write the dataset of the experiment."""

    def write(data: xr.Dataset, scale: str = "laptop") -> None:
        path = root / "results" / scale / "datasets" / "tiny.nc"
        path.parent.mkdir(parents=True, exist_ok=True)
        datasets.write(data, path)

    return write


def lines(a: float = 1, b: float = 2, c: float = 3, **options: Any) -> xr.Dataset:
    return dataset({"a": [a] * 7, "b": [b] * 7, "c": [c] * 7}, **options)


def by_name(verdicts: list[Verdict]) -> dict[str, Verdict]:
    return {verdict.id: verdict for verdict in verdicts}


def test_before_any_campaign_nothing_is_evaluated(root: Path) -> None:
    verdicts = evaluate(root, "laptop")
    assert [verdict.id for verdict in verdicts] == ["faster", "chosen", "sums", "far", "none"]
    assert {verdict.verdict for verdict in verdicts} == {"not evaluated"}
    assert all(verdict.command == "tramontane reproduce --scale laptop" for verdict in verdicts)


def test_what_is_asked_for_by_name_is_computed_before_any_campaign(root: Path) -> None:
    verdicts = by_name(evaluate(root, "laptop", ["sums", "faster", "far"]))
    assert {name: verdict.verdict for name, verdict in verdicts.items()} == {
        "faster": "not evaluated",
        "sums": "reproduced",
        "far": "out of reach",
    }
    with pytest.raises(InputError, match="no statement 'fastr'; did you mean 'faster'"):
        evaluate(root, "laptop", ["fastr"])


def test_each_of_the_four_verdicts(root: Path, store: Callable[..., None]) -> None:
    store(lines())
    verdicts = by_name(evaluate(root, "laptop"))
    assert {name: verdict.verdict for name, verdict in verdicts.items()} == {
        "faster": "reproduced",
        "chosen": "reproduced",
        "sums": "reproduced",
        "far": "out of reach",
        "none": "not evaluated",
    }
    assert {verdict.verdict for verdict in verdicts.values()} <= set(VERDICTS)
    # Bands of 2 %: ln(2 / 1.02 / (1 / 0.98)) apart; c is 3 times a, where 2 is asked for, so that is the nearer turn.
    margins = {name: verdict.margin for name, verdict in verdicts.items() if verdict.margin is not None}
    assert list(margins) == ["faster", "chosen"]
    assert [margin.value for margin in margins.values()] == pytest.approx(
        [np.log(1.5 * 0.98 / 1.02), np.log(2 * 0.98 / 1.02)]
    )
    assert margins["faster"].ranks == (5000.0, 10000.0)
    assert verdicts["far"].evidence == "needs another machine"
    assert verdicts["none"].evidence == "lacks a workload"
    faster = verdicts["faster"]
    assert faster.experiments == ("tiny",)
    assert faster.evidence.startswith("scale laptop: b over a: 2 to 2, median 2, at 100 to 10,000 processes")
    assert faster.evidence.endswith("Ensembles of 5 members; any single runs would have decided alike")
    json.dumps([verdict.as_data() for verdict in verdicts.values()])


def test_a_statement_of_which_a_part_fails_is_not_reproduced(root: Path, store: Callable[..., None]) -> None:
    store(lines(b=0.5))
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "not reproduced"
    assert "fails: b over a: 0.5 to 0.5" in verdict.evidence
    assert "holds: c over a: 3 to 3" in verdict.evidence


def test_points_that_lack_are_named_with_the_command_that_runs_them(root: Path, store: Callable[..., None]) -> None:
    text = (root / "configs" / "claims" / "made-up.yaml").read_text()
    (root / "configs" / "claims" / "made-up.yaml").write_text(text.replace("5000", "1.0e+5"))
    store(lines())
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "not evaluated"
    assert "lacks c and a at 100,000 processes or more (there: 100 to 10,000)" in verdict.evidence
    assert verdict.command == "tramontane reproduce --scale paper --experiments 'tiny'"
    # A part that fails decides the statement, whatever lacks.
    store(lines(b=0.5))
    assert by_name(evaluate(root, "laptop"))["faster"].verdict == "not reproduced"


def test_points_that_were_planned_here_are_run_here(root: Path, store: Callable[..., None]) -> None:
    store(dataset({"a": [1, np.nan, np.nan], "b": [2, 2, 2], "c": [3, 3, 3]}, x=[100, 1000, 10000]))
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "not evaluated"
    assert verdict.command == "tramontane reproduce --scale laptop --experiments 'tiny'"


def test_choices_of_ours_are_all_shown(root: Path, store: Callable[..., None]) -> None:
    store(lines())
    verdict = by_name(evaluate(root, "laptop"))["chosen"]
    assert [(choice.choice, choice.verdict) for choice in verdict.choices] == [
        ("textbook", "reproduced"),
        ("as published", "not reproduced"),
    ]
    assert verdict.verdict == "reproduced"
    assert "under textbook: reproduced" in verdict.evidence
    assert "under as published: not reproduced" in verdict.evidence
    assert by_name(evaluate(root, "laptop"))["faster"].choices == ()


def of_revisions(data: xr.Dataset, older: dict[str, Any] | None = None) -> xr.Dataset:
    """Return results of model revision 2, and of 1 at some places; beside them a newer simulator's 2."""
    data["model_revision"] = xr.full_like(data["time_s"], 2.0)
    if older is not None:
        data["model_revision"].loc[older] = 1.0
    return data


def test_a_verdict_says_which_model_revisions_it_rests_on(root: Path, store: Callable[..., None]) -> None:
    store(of_revisions(lines()))
    for verdict in evaluate(root, "laptop", ["faster", "chosen"]):
        assert verdict.revisions == (2,)
        assert verdict.older == ""
        assert "revision" not in verdict.evidence

    store(of_revisions(lines(), {"series": "c", "ranks": 10000}))
    verdicts = by_name(evaluate(root, "laptop"))
    own, choice = verdicts["faster"], verdicts["chosen"].choices[1]
    assert own.revisions == choice.revisions == (1, 2)
    assert own.older == choice.older == "revisions 1 and 2"
    for evidence in (own.evidence, choice.evidence):
        assert "Rests on results of model revisions 1 and 2, the simulator's is 2" in evidence
    # The other choice does not rest on that curve, and what is computed on no results at all.
    assert verdicts["chosen"].revisions == verdicts["chosen"].choices[0].revisions == (2,)
    assert verdicts["sums"].revisions == ()
    assert verdicts["faster"].marked == "reproduced (revisions 1 and 2)"
    assert "| reproduced (revisions 1 and 2) |" in pages.table_of([verdicts["faster"]])
    assert json.loads(json.dumps(verdicts["faster"].as_data()))["revisions"] == [1, 2]


def test_results_older_than_the_simulator_are_marked_though_they_are_all_alike(
    root: Path, store: Callable[..., None]
) -> None:
    data = of_revisions(lines())
    data.attrs["current_revision"] = 3
    store(data)
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "reproduced"
    assert verdict.older == "revision 2"


def test_an_ensemble_is_judged_by_the_members_of_its_newest_revision(root: Path, store: Callable[..., None]) -> None:
    data = of_revisions(lines(), {"series": "b", "member": [0, 1, 2]})
    data["time_s"] = data["time_s"].where(data["model_revision"] == 2, 0.5)
    store(data)
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "reproduced"
    assert verdict.revisions == (2,)
    assert "Ensembles of 2 to 5 members" in verdict.evidence


def test_it_is_said_when_single_runs_could_not_have_decided(root: Path, store: Callable[..., None]) -> None:
    one_count_in_doubt = dataset({"a": [1] * 7, "b": [1.03, 2, 2, 2, 2, 2, 2], "c": [3] * 7})
    store(one_count_in_doubt)
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "reproduced"
    assert "single runs could not have decided it at 1 of 9 places" in verdict.evidence


def test_single_runs_are_read_with_a_band(root: Path, store: Callable[..., None]) -> None:
    store(lines(b=1.2, members=1))
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "not reproduced"  # 20 % is no more than single runs differ by
    assert "Single runs, read with a band of -10 to +17 %" in verdict.evidence


def test_a_statement_counts_only_on_its_grid(root: Path, store: Callable[..., None]) -> None:
    file = root / "configs" / "claims" / "made-up.yaml"
    file.write_text(file.read_text().replace("    along: series\n", "    along: series\n    grid: paper\n"))
    (root / "configs" / "workloads").mkdir()
    shutil.copy(ROOT / "configs" / "workloads" / "grids.yaml", root / "configs" / "workloads")
    store(lines().assign_attrs(grids_json="[[720, 360, 64]]"))
    verdict = by_name(evaluate(root, "laptop"))["faster"]
    assert verdict.verdict == "not evaluated"
    assert "grid 720 x 360 x 64: lacks results on the grid 28800 x 14400 x 256" in verdict.evidence
    store(lines().assign_attrs(grids_json="[[28800, 14400, 256]]"))
    assert by_name(evaluate(root, "laptop"))["faster"].verdict == "reproduced"


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("kind: slower", "kind: slwer", ["claims.faster.checks[0].kind", "'slwer'", "did you mean 'slower'?"]),
        ("about: one-sided", "about: onesided", ["claims.far.about", "did you mean 'one-sided'?"]),
        ("    out_of_reach: another machine\n", "", ["claims.far.checks", "one of them"]),
        ("paper: Z", "paper: Y", ["paper", "'Y'"]),
        ("where: Fig. 1", "wher: Fig. 1", ["claims.faster.wher", "did you mean 'where'?"]),
        ("what: cells", "what: cell", ["claims.sums.checks[0].what", "did you mean 'cells'?"]),
        ("by: 2,", "by: 0,", ["claims.faster.checks[1].by", "found 0"]),
        ("of: b, than: a", "of: b, than: b", ["claims.faster.checks[0].than: found 'b' twice", "different curves"]),
        ("{series: b}}", "{series: b}, variable: foo}", ["claims.chosen.curves.b.variable: found 'foo'", "time_s"]),
    ],
)
def test_a_mistake_in_the_statements_is_one_line(root: Path, old: str, new: str, parts: list[str]) -> None:
    file = root / "configs" / "claims" / "made-up.yaml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        evaluate(root, "laptop", ["sums"])
    for part in ["made-up.yaml", *parts]:
        assert part in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_statement_stands_in_one_file(root: Path) -> None:
    shutil.copy(root / "configs" / "claims" / "made-up.yaml", root / "configs" / "claims" / "again.yaml")
    with pytest.raises(InputError, match=r"claims.faster: also in .*again.yaml"):
        evaluate(root, "laptop")


def test_a_project_without_statements_has_no_verdicts(tmp_path: Path) -> None:
    assert evaluate(tmp_path, "laptop") == []


def test_nothing_is_asked_by_name_of_a_project_without_statements(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no statement 'faster'; allowed: none: no file there has statements"):
        evaluate(tmp_path, "laptop", ["faster"])


def test_an_experiment_that_was_changed_and_not_run_again_decides_nothing(
    root: Path, store: Callable[..., None]
) -> None:
    file = root / "configs" / "experiments" / "tiny.yaml"
    experiment = load_experiment(file)
    planned = Layout(root, "laptop").manifest("tiny")
    planned.parent.mkdir(parents=True)
    planned.write_text(manifest.dump(manifest.manifest(experiment, expand(experiment, "laptop"))))
    store(lines())
    assert by_name(evaluate(root, "laptop"))["faster"].verdict == "reproduced"
    file.write_text(file.read_text().replace("title: Tiny", "title: Small"))
    assert by_name(evaluate(root, "laptop"))["faster"].verdict == "reproduced"
    file.write_text(file.read_text().replace("algorithm: ring", "algorithm: recursive-doubling"))
    found = by_name(evaluate(root, "laptop"))["faster"]
    assert found.verdict == "not evaluated"
    assert "lacks experiment tiny as it is now: its dataset is older at scale laptop" in found.evidence
    assert found.command == "tramontane reproduce --scale laptop --experiments 'tiny'"


def test_a_damaged_dataset_is_one_line(root: Path, store: Callable[..., None]) -> None:
    store(lines())
    path = root / "results" / "laptop" / "datasets" / "tiny.nc"
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(InputError, match=r"tiny\.nc: damaged, or no dataset .* allowed: a dataset as"):
        evaluate(root, "laptop")


def test_the_command_is_of_a_scale_that_has_the_coordinates(root: Path, store: Callable[..., None]) -> None:
    """A curve that smoke has not is not run by running smoke again, whatever else of it lacks."""
    file = root / "configs" / "experiments" / "tiny.yaml"
    text = file.read_text().replace("series: [a, b, c],", "series: $series,")
    for scale, names in (("smoke", "a, b"), ("laptop", "a, b"), ("paper", "a, b, c")):
        text = text.replace(f"{scale}: {{", f"{scale}: {{series: [{names}], ")
    file.write_text(text)
    data = dataset({"a": [1, np.nan], "b": [2, 2]}, x=[2, 4])
    store(data, "smoke")
    verdict = by_name(evaluate(root, "smoke"))["faster"]
    assert verdict.command == "tramontane reproduce --scale paper --experiments 'tiny'"


def test_the_command_is_of_a_scale_with_enough_process_counts_though_nothing_has_run(root: Path) -> None:
    (verdict,) = evaluate(root, "smoke", ["chosen"])
    assert "no dataset at scale smoke" in verdict.evidence
    assert verdict.command == "tramontane reproduce --scale laptop --experiments 'tiny'"


def test_the_command_is_of_a_scale_that_does_not_exclude_what_lacks(root: Path, store: Callable[..., None]) -> None:
    file = root / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text() + "exclude: [series == 'a' and ranks >= 1000 and many]\n")
    text = file.read_text().replace("smoke: {", "smoke: {many: true, ").replace("laptop: {", "laptop: {many: true, ")
    file.write_text(text.replace("paper: {", "paper: {many: false, "))
    store(dataset({"b": [2, 2]}, x=[2, 4]), "smoke")
    verdict = by_name(evaluate(root, "smoke"))["faster"]
    assert verdict.command == "tramontane reproduce --scale paper --experiments 'tiny'"


def test_the_command_is_of_a_scale_with_the_process_count_that_a_check_names(root: Path) -> None:
    file = root / "configs" / "claims" / "made-up.yaml"
    delays = "{kind: share, of: a, ranks: 20000, above: 1 us, share: [0.5, 1]}"
    file.write_text(file.read_text().replace("{kind: slower, of: b, than: a}", delays))
    (verdict,) = evaluate(root, "smoke", ["faster"])
    assert verdict.command == "tramontane reproduce --scale paper --experiments 'tiny'"
    file.write_text(file.read_text().replace("20000", "65"))
    (verdict,) = evaluate(root, "smoke", ["faster"])
    assert verdict.command == ""


def test_what_printed_times_lack_is_said_with_the_curve_once(root: Path, store: Callable[..., None]) -> None:
    file = root / "configs" / "claims" / "made-up.yaml"
    times = "{kind: printed, of: a, seconds: {'7': 1.0}, within: 0.1}"
    file.write_text(file.read_text().replace("{kind: slower, of: b, than: a}", times))
    store(lines())
    assert "lacks a at 7 processes" in by_name(evaluate(root, "laptop"))["faster"].evidence


def test_a_statement_may_hold_every_ratio_in_a_range(root: Path, store: Callable[..., None]) -> None:
    file = root / "configs" / "claims" / "made-up.yaml"
    check = "{kind: apart, of: b, than: a, ratio: [1.5, 2.5]}"
    file.write_text(file.read_text().replace("{kind: slower, of: b, than: a}", check, 1))
    store(dataset({"a": [1] * 7, "b": [1, 2, 2, 2, 2, 2, 2], "c": [3] * 7}))
    assert by_name(evaluate(root, "laptop"))["faster"].verdict == "reproduced"
    file.write_text(file.read_text().replace("2.5]}", "2.5], every: true}"))
    assert by_name(evaluate(root, "laptop"))["faster"].verdict == "not reproduced"
