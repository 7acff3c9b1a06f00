"""The comparison with LogGOPSim: both by hand, and LogGOPSim itself where it is installed."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_loggopsim", ROOT / "validation" / "compare_loggopsim.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


loggopsim = loaded()
CASES = [pytest.param(case, id=f"{case.name}-{case.ranks}-{case.size}") for case in loggopsim.CASES]


def test_the_table_has_every_case_with_the_time_that_follows_by_hand() -> None:
    rows = loggopsim.read_rows()
    assert list(rows) == loggopsim.CASES
    assert rows == {case: loggopsim.their_form(case) for case in rows}


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize("case", CASES)
def test_the_simulator_takes_the_time_that_follows_by_hand_for_the_same_file(case: Any, tmp_path: Path) -> None:
    file = tmp_path / "case.goal"
    loggopsim.write(case, file)
    found = loggopsim.ours(case.ranks, file)
    assert found == pytest.approx(loggopsim.our_form(case), rel=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_what_the_two_differ_by_is_known(case: Any) -> None:
    their, our = loggopsim.their_form(case), loggopsim.our_form(case)
    # LogGOPSim charges n - 1 of n bytes, and nothing for a rendezvous. Copies take 0.38 ps a byte.
    eager = case.size <= loggopsim.EAGER
    assert 1 < our / their < (1.0011 if eager else 1.022)


@pytest.mark.long
@pytest.mark.skipif(not loggopsim.is_installed(), reason="LogGOPSim is not installed: docs/validation.md")
def test_loggopsim_gives_what_the_table_says(tmp_path: Path) -> None:
    assert dict(loggopsim.measured(tmp_path)) == loggopsim.read_rows()
