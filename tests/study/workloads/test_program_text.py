"""Programs and jobs in words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tramontane.study.patterns import patterns
from tramontane.study.workloads.jobs import Jobs
from tramontane.study.workloads.program_text import Origins, lines, lines_of_jobs
from tramontane.study.workloads.programs import Program


def sentence(step: dict[str, Any], origins: Origins | None = None) -> str:
    """Return what a step is in words, as the only one of a program."""
    head, line = lines(Program.model_validate({"kind": "program", "steps": [step]}), origins)
    assert head == "once:"
    return line.removeprefix("  1. ")


@pytest.mark.parametrize("share", ["10 %", "12.5 %", "0.0001 %", "0 %", "99.9999 %", "100 %"])
def test_shares_are_told_as_they_are_written(share: str) -> None:
    blocks = {"alltoallv": {"algorithm": "burst", "count": 1, "spread": share, "seed": 7}}
    assert sentence(blocks) == f"alltoallv (algorithm burst, count 1, spread {share}, seed 7)"


def test_weights_are_told_by_how_far_they_go() -> None:
    blocks = {"algorithm": "burst", "count": 9, "spread": "0 %", "senders": [1, 2, 3, 2], "groups": [7]}
    told = "senders of 4 weights, 0.5 to 1.5 times their mean, groups of 1 weights, 1 to 1 times their mean"
    assert sentence({"alltoallv": blocks}) == f"alltoallv (algorithm burst, count 9, spread 0 %, {told})"


def test_shares_of_work_are_told_as_they_are_written() -> None:
    work = {"time": "10 us", "imbalance": "12.5 %", "noise": "0.25 %"}
    assert sentence({"work": work}) == "work for 10 us, imbalance 12.5 %, noise 0.25 %"


def test_a_table_is_told_by_what_it_was_made_from(tables: Path) -> None:
    file = tables / "own.csv"
    file.write_text("source,target,bytes\n0,1,100\n")
    made = {"source": np.array([0]), "target": np.array([2]), "bytes": np.array([8])}
    read, kept = patterns.kept(file), patterns.kept_messages(made, "elements of a sphere")
    steps = [{"kind": "pattern", "table": digest} for digest in (read, kept)]
    origins = patterns.origins(tables, steps)
    assert [sentence(step, origins) for step in steps] == [
        "pattern (file own.csv, repeats 1)",
        "pattern (table from elements of a sphere, repeats 1)",
    ]
    overlap = {"overlap": {"exchange": steps[0], "work": {"time": "1 us"}}}
    assert sentence(overlap, origins) == "pattern (file own.csv, repeats 1), and meanwhile work for 1 us"
    roles = {"model": {"others": True, "steps": [{"loop": {"times": 2, "steps": [steps[0]]}}]}}
    assert list(lines(Program.model_validate({"kind": "program", "roles": roles}), origins))[-1] == (
        "       1. pattern (file own.csv, repeats 1)"
    )
    assert sentence(steps[0]) == f"pattern (table {read[:12]}, repeats 1)"

    file.write_text("source,target,bytes\n0,1,200\n")
    changed = {"kind": "pattern", "table": patterns.kept(file)}
    origins = patterns.origins(tables, [*steps, changed])
    assert sentence(steps[0], origins) == f"pattern (file own.csv, table {read[:12]}, repeats 1)"
    assert sentence(changed, origins) != sentence(steps[0], origins)


def test_jobs_are_told_with_their_workloads_or_programs(tables: Path) -> None:
    (tables / "own.csv").write_text("source,target,bytes\n0,1,100\n")
    digest = patterns.kept(tables / "own.csv")
    program = {
        "kind": "program",
        "communicators": {"pairs": {"consecutive": 2}},
        "steps": [{"barrier": {"communicator": "pairs"}}, {"pattern": {"table": digest}}],
    }
    blocks = {"kind": "collective", "operation": "alltoallv", "algorithm": "burst", "count": 3, "spread": "10 %"}
    jobs = Jobs.model_validate(
        {
            "kind": "jobs",
            "jobs": [
                {"name": "model", "ranks": 4, "start": "100 us", "workload": program},
                {"name": "one", "ranks": 1, "allocation": "random", "workload": blocks},
                {"name": "other", "ranks": 2, "allocation": {"nodes": [3, 5]}, "workload": program | {"repeat": 2}},
            ],
        }
    )
    assert list(lines_of_jobs(jobs, "first-available", {digest: {"file": "own.csv"}})) == [
        "model (4 ranks, start 100 us, allocation first-available):",
        "  pairs: groups of 2 consecutive ranks",
        "  once:",
        "    1. barrier among pairs (algorithm dissemination)",
        "    2. pattern (file own.csv, repeats 1)",
        "one (1 rank, start 0 ns, allocation random): alltoallv (algorithm burst, count 3, spread 10 %)",
        "other (2 ranks, start 0 ns, allocation a list of nodes):",
        "  pairs: groups of 2 consecutive ranks",
        "  2 times:",
        "    1. barrier among pairs (algorithm dissemination)",
        "    2. pattern (file own.csv, repeats 1)",
    ]
