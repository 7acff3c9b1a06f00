"""Arithmetic statements: as printed they come out as they do; with another number they come out the other way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.claims import arithmetic, tables
from tramontane.study.experiments import claims
from tramontane.study.experiments.claims import statements
from tramontane.study.workloads.workloads import Transposition
from tramontane.substrates.simulator import schedule

GAINS = ("dynamics", "dynamics waiting", "physics", "physics waiting")
ROOT = Path(__file__).parents[2]
CLAIMS = {name: claim for name, (_, claim) in statements(ROOT)}


def printed(name: str) -> tuple[Callable[..., Any], dict[str, Any]]:
    (check,) = CLAIMS[name].checks
    assert isinstance(check, claims.Computed)
    return arithmetic.COMPUTATIONS[check.what], check.printed


def test_the_data_may_name_every_computation() -> None:
    assert set(arithmetic.COMPUTATIONS) == set(claims.COMPUTATIONS)


@pytest.mark.parametrize(
    ("name", "holds", "parts"),
    [
        ("Z-T1", False, ["30 of 32", "dragonfly-SL: 15,625 printed, 78,125", "dragonfly-LS: 15,625 printed, 78,125"]),
        ("Z-T1", False, ["fattree-M 46,875 switches by the paper's three layers, 62,500 as built"]),
        ("Z-T2", True, ["all 46 schedules"]),
        ("Z-T3", True, ["106,168,320,000 points", "849 GB", "3,686,400 processes", "250 x 4000"]),
        ("Z-A1", True, ["50 allreduces for 25 iterations", "all 54 schedules", "would send to -72"]),
        ("Z-H1", True, ["4.32 intervals of 1,389 m, so 5 points", "7 points"]),
        ("Z-9d", True, ["the sweep in x reaches 1 process to either side", "bands of"]),
        ("W-T3", True, ["G9 2,621,442 cells"]),
        ("B-F8", False, ["0 of 4 ratios", "2,048 to 4,096: 0.5 printed, 0.673 by the halos (392 to 264 KiB"]),
        ("B-F9", True, ["all 5 rows", "32,768 processes 32/16/2 KiB"]),
        ("J-T1", True, ["16 of 16"]),
        ("D-3", True, ["all 3 statements", "89.7 s missing in the old column"]),
        ("D-4", True, ["all 3"]),
        ("D-5", True, ["all 3"]),
        ("D-6", True, ["all 2"]),
    ],
)
def test_what_the_papers_print(name: str, holds: bool, parts: list[str]) -> None:
    compute, numbers = printed(name)
    outcome = compute(numbers, ROOT)
    assert outcome.holds is holds
    for part in parts:
        assert part in outcome.evidence


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("Z-T3", {"processes": 3686401}),
        ("Z-T3", {"points": 2e11}),
        ("Z-A1", {"allreduces": 25}),
        ("Z-H1", {"width": 6}),
        ("Z-H1", {"step": 60}),
        ("Z-9d", {"ranks": 7}),
        ("W-T3", {"7": 163840}),
        ("B-F9", {"corner_columns": 4}),
        ("B-F9", {"depth": 1}),
        ("J-T1", {"60": {"338": [63, 63.9]}}),
        ("D-5", {"facts": {"the LME is within 900 s": "lme['output'] <= 900"}}),
        ("D-6", {"columns": {"gain": {"output": 1, "total": 3} | dict.fromkeys(GAINS, 0)}}),
    ],
)
def test_another_number_does_not_follow(name: str, wrong: dict[str, Any]) -> None:
    compute, numbers = printed(name)
    assert compute({**numbers, **wrong}, ROOT).holds is False


def test_elements_are_those_of_the_edges_that_are_asked_for() -> None:
    outcome = arithmetic.elements({"30": {"5": [1080]}}, ROOT)
    assert outcome.evidence == "1 of 1 numbers follow from 5,400 elements"


def test_volumes_that_follow_the_surfaces_hold() -> None:
    compute, numbers = printed("B-F8")
    surfaces = {"2048": 392.0, "4096": 264.0, "8192": 200.0, "16384": 136.0, "32768": 104.0}
    assert compute({**numbers, "megabytes": surfaces}, ROOT).holds is True


def test_a_wrong_schedule_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    right = schedule

    def wrong(workload: Transposition, ranks: int) -> Any:
        return right(workload.changed(radix=1) if workload.radix else workload, ranks)

    monkeypatch.setattr(tables, "schedule", wrong)
    outcome = arithmetic.stages({}, ROOT)
    assert outcome.holds is False
    assert "ring-k 2 among 3: 2 instead of 1" in outcome.evidence


def test_a_wrong_table_shows(tmp_path: Path) -> None:
    table = tmp_path / "configs" / "paper" / "table1.yaml"
    table.parent.mkdir(parents=True)
    text = (ROOT / "configs" / "paper" / "table1.yaml").read_text()
    table.write_text(text.replace("  nodes_per_switch: 5\n  nodes: 390625", "  nodes_per_switch: 5\n  nodes: 78125"))
    assert "28 of 32" in arithmetic.networks({}, tmp_path).evidence
    table.write_text(
        text.replace(
            "geometry: [25, 25, 125]\n  switches: 15625", "geometry: [25, 25, 125]\n  switches: 78125"
        ).replace("geometry: [125, 125, 5]\n  switches: 15625", "geometry: [125, 125, 5]\n  switches: 78125")
    )
    assert arithmetic.networks({}, tmp_path).holds is True
