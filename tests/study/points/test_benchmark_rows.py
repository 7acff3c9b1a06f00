"""Rows of the table of benchmarks that follow from several points."""

import pytest

from benchmarks import __main__ as table
from tramontane.study import load_point
from tramontane.study.workloads.programs import AllreduceStep, HaloStep, Program, Work

STEP, PARTS = "step-1e5", ("step-1e5-halo", "step-1e5-allreduce")
ROW = f"{STEP} over its parts"


def test_a_program_is_held_against_the_sum_of_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "hours", lambda *_: 1.0)
    monkeypatch.setattr(table, "idle_rank_bytes", lambda _: 1.0)
    rows: dict[str, table.Row] = {STEP: {"cpu_s": 3.0}, PARTS[0]: {"cpu_s": 2.0}, PARTS[1]: {"cpu_s": 0.5}}
    derived = table.derive(rows)[ROW]
    assert derived == {"parts_growth": pytest.approx(1.2)}
    targets = table.read("targets.yaml")[ROW]
    assert table.judge(derived, targets) == "x cost of parts <= 1.05: no"
    assert table.judge({"parts_growth": 1.05}, targets) == "x cost of parts <= 1.05: yes"
    for name in rows:
        assert ROW not in table.derive({other: row for other, row in rows.items() if other != name})


def test_the_parts_are_what_the_program_exchanges() -> None:
    whole, *parts = (load_point(table.HERE / "points" / f"{name}.yaml") for name in (STEP, *PARTS))
    assert isinstance(whole.workload, Program)
    halo, work, allreduce = whole.workload.steps
    assert isinstance(halo, HaloStep)
    assert isinstance(work, Work)
    assert isinstance(allreduce, AllreduceStep)
    for step, part in zip((halo, allreduce), parts, strict=True):
        given = {key: value for key, value in part.workload.schedule_keys().items() if key != "decomposition"}
        assert step.schedule_keys() == given
        assert part.changed(workload=whole.workload) == whole  # same ranks, machine and start
