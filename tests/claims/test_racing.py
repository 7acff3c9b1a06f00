"""Comparisons that end early say what all process counts would have said."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tramontane.claims import draws
from tramontane.claims.draws import Drawn, Tried, whole
from tramontane.claims.evaluation import outcomes
from tramontane.claims.racing import ended, may_end_early
from tramontane.study.experiments.claims import Claim, load_judgement
from tramontane.study.experiments.studies import Size

from .data import dataset

ROOT = Path(__file__).parents[2]
JUDGEMENT = load_judgement(ROOT)
COUNTS = (100, 300, 1000)


def claim(*checks: dict[str, Any]) -> Claim:
    own = {"where": "Fig. 1", "about": "halo", "statement": "A", "experiment": "tiny", "along": "series"}
    return Claim.model_validate({**own, "checks": list(checks)})


SLOWER = {"kind": "slower", "of": "b", "than": "a"}
BOTH = claim(SLOWER, {"kind": "coincide", "curves": ["a", "c"]}, {"kind": "trend", "of": "a", "way": "falls"})


@pytest.mark.parametrize("seed", range(60))
def test_what_ends_early_fails_with_all_process_counts_and_by_no_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    whole = dataset({name: rng.uniform(1, 2, 3).tolist() for name in "abc"}, COUNTS, members=1)
    early = ended(BOTH, Drawn(ROOT, "laptop", {"tiny": whole.isel(ranks=[0])}), JUDGEMENT)
    full = outcomes(BOTH, Drawn(ROOT, "laptop", {"tiny": whole}), JUDGEMENT)
    if early is not None:
        assert not all(own.holds for own in full)
        assert early[0] <= 0
        assert min(own.margin.value for own in full if own.margin) <= early[0]


def test_what_holds_or_is_not_compared_at_the_smallest_count_is_open() -> None:
    apart = dataset({"a": [1, 1, 1], "b": [5, 1, 1], "c": [1, 5, 5]}, COUNTS, members=1)
    assert ended(BOTH, Drawn(ROOT, "laptop", {"tiny": apart.isel(ranks=[0])}), JUDGEMENT) is None
    later = claim({**SLOWER, "between": [300, None]})
    level = dataset({"a": [1, 1, 1], "b": [1, 1, 1]}, COUNTS, members=1)
    assert ended(later, Drawn(ROOT, "laptop", {"tiny": level.isel(ranks=[0])}), JUDGEMENT) is None
    share = ended(claim(SLOWER), Drawn(ROOT, "laptop", {"tiny": level.isel(ranks=[0])}), JUDGEMENT)
    assert share is not None
    assert share[1] == 0


def test_of_many_process_counts_the_first_decides_nothing() -> None:
    assert may_end_early(BOTH, 3, JUDGEMENT)
    assert not may_end_early(BOTH, 4, JUDGEMENT)  # three of four are most of them
    assert not may_end_early(BOTH, 1, JUDGEMENT)
    assert not may_end_early(claim({"kind": "trend", "of": "a", "way": "falls"}), 2, JUDGEMENT)


def test_a_machine_whose_points_lack_is_left_out_of_what_failed_early_too() -> None:
    def tried(margins: list[float], early: list[bool]) -> Tried:
        own = np.array(margins)
        return Tried("A", own, np.where(np.isnan(own), np.nan, own > 0), np.array(early), 1, 1, "share", 1, 1, (1, 1))

    nowhere = tried([np.nan] * 3, [False] * 3)
    found = whole([tried([1, -1, -1], [False, False, True]), tried([1, 1, np.nan], [False] * 3), nowhere])
    assert np.isfinite(found[0].margins).tolist() == [True, True, False]
    assert found[0].early.tolist() == [False] * 3
    assert found[0].holds.tolist() == [True, False, False]
    assert whole([nowhere]) == [nowhere]


OF_B = claim(SLOWER)


def study(processes_of: dict[str, list[int]] | None = None) -> Any:
    size = Size(size=1, race=True, processes=[100, 1000], processes_of=processes_of or {})
    return SimpleNamespace(scales={"laptop": size}, sample=SimpleNamespace(places=lambda size: np.zeros((size, 1))))


def raced(monkeypatch: pytest.MonkeyPatch, own: Any, ours: xr.Dataset, drawn: xr.Dataset) -> Tried:
    monkeypatch.setattr(draws, "chosen", lambda study, root: [("A", OF_B)])
    monkeypatch.setattr(draws, "own_machine", lambda *asked: {"tiny": ours})
    monkeypatch.setattr(draws, "drawn", lambda *asked: [])
    monkeypatch.setattr(draws, "machines", lambda *asked: [{"tiny": drawn}])
    [found] = draws.tried(own, ROOT, "laptop", 1)[0]
    return found


def test_our_own_machine_does_not_race(monkeypatch: pytest.MonkeyPatch) -> None:
    data = dataset({"a": [1, 1], "b": [0.9, 0.5]}, (100, 1000))
    found = raced(monkeypatch, study(), data, data)
    assert found.early.tolist() == [True]
    assert found.margins[0] == pytest.approx(np.log(0.9 * 0.98 / 1.02), abs=0.05)
    assert found.base == pytest.approx(np.log(0.5 * 0.98 / 1.02), abs=0.05)
    assert found.base < found.margins[0]


def test_an_experiment_with_more_process_counts_of_its_own_ends_by_those(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = [100, 200, 500, 1000]
    data = dataset({"a": [1] * 4, "b": [0.9, 2, 2, 2]}, counts)  # slower at three of four, which are most
    found = raced(monkeypatch, study({"tiny": counts}), data, data)
    assert (found.early.tolist(), found.holds.tolist(), found.base_holds) == ([False], [True], True)
