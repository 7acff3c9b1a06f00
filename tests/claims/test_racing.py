"""Comparisons that end early say what all process counts would have said."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tramontane.claims.draws import Drawn, Tried, whole
from tramontane.claims.evaluation import outcomes
from tramontane.claims.racing import ended, may_end_early
from tramontane.study.experiments.claims import Claim, load_judgement

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
