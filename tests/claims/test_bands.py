"""Curves out of datasets: ensembles, single runs, the best of several series."""

from pathlib import Path

import numpy as np
import pytest

from tramontane.claims.bands import band
from tramontane.claims.outcome import Lacking
from tramontane.study.experiments.claims import load_judgement

from .data import COUNTS, dataset

JUDGEMENT = load_judgement(Path(__file__).parents[2])


def test_an_ensemble_has_a_median_and_a_range() -> None:
    own = band(dataset({"a": [1.0] * 7}, members=5, spread=0.1), "a", {"series": "a"}, "time_s", JUDGEMENT)
    assert (own.members.tolist(), own.name) == ([5] * 7, "a")
    assert own.x.tolist() == list(COUNTS)
    assert [own.low[0], own.median[0], own.high[0]] == pytest.approx([0.9, 1.0, 1.1])


def test_of_an_even_number_of_members_the_best_radix_is_one_of_theirs() -> None:
    data = dataset({"a": [1.0] * 7}, members=4)
    of_members = [[3.0] * 7, [4.0] * 7, [16.0] * 7, [25.0] * 7]
    data["best_radix"] = (("member", "ranks"), of_members)
    own = band(data.isel(series=0), "a", {}, "best_radix", JUDGEMENT)
    assert own.median.tolist() == [4] * 7
    assert own.high.tolist() == [25] * 7


def test_a_single_run_stands_for_a_range() -> None:
    own = band(dataset({"a": [1.0] * 7}, members=1), "a", {"series": "a"}, "time_s", JUDGEMENT)
    assert own.members.tolist() == [1] * 7
    # A run may be 10 % below or 17 % above the median, so the median is that much above or below the run.
    assert [own.low[0], own.high[0]] == pytest.approx([1 / 1.17, 1 / 0.9])


def test_times_of_sampled_stages_bring_their_intervals() -> None:
    data = dataset({"a": [1.0] * 7}, members=3, spread=0.1)
    data["stages_left_out"] = data["time_s"].copy(data=np.broadcast_to([0.0, 0.0, 9.0], data["time_s"].shape))
    data["steady_error"] = data["time_s"].copy(data=np.broadcast_to([0.5, 0.0, 0.2], data["time_s"].shape))
    own = band(data, "a", {"series": "a"}, "time_s", JUDGEMENT)
    assert [own.low[0], own.median[0], own.high[0]] == pytest.approx([0.88, 1.0, 1.1 * 1.2])


def test_a_point_with_fewer_members_than_others_keeps_its_own_band() -> None:
    data = dataset({"a": [1.0] * 7}, members=3, spread=0.1)
    data["time_s"][{"ranks": 6, "member": slice(1, None)}] = np.nan
    own = band(data, "a", {"series": "a"}, "time_s", JUDGEMENT)
    assert own.members.tolist() == [3] * 6 + [1]
    assert [own.low[0], own.high[0]] == pytest.approx([0.9, 1.1])
    assert [own.low[6], own.high[6]] == pytest.approx([0.9 / 1.17, 0.9 / 0.9])


def test_a_pattern_takes_the_fastest_at_each_process_count() -> None:
    lines: dict[str, list[float]] = {"k-2": [1, 2, 3, 4, 5, 6, 7], "k-4": [7, 6, 5, 4.5, 3, 2, 1], "other": [0.1] * 7}
    own = band(dataset(lines), "k", {"series": "k-*"}, "time_s", JUDGEMENT)
    assert own.median.tolist() == pytest.approx([1, 2, 3, 4, 3, 2, 1])
    lines["k-2"][0] = lines["k-4"][3] = lines["k-2"][6] = lines["k-4"][6] = np.nan  # one of them is enough
    own = band(dataset(lines), "k", {"series": "k-*"}, "time_s", JUDGEMENT)
    assert own.median.tolist() == pytest.approx([7, 2, 3, 4, 3, 2])
    assert list(own.lacking) == [COUNTS[6]]
    assert own.name == "the best of k-2, k-4"


def test_points_without_result_are_told_from_excluded_ones() -> None:
    data = dataset({"a": [1, 1, np.nan, 1, 1, np.nan, 1]})
    data["status"] = data["status"].astype("<U8")
    data["status"][{"ranks": 5}] = "excluded"
    own = band(data, "a", {"series": "a"}, "time_s", JUDGEMENT)
    assert own.x.tolist() == [100, 200, 1000, 2000, 10000]
    assert own.lacking == (500,)


@pytest.mark.parametrize(
    ("select", "variable", "text"),
    [
        ({"series": "c"}, "time_s", "series c .there: a, b."),
        ({"machine": "c"}, "time_s", "the dimension machine"),
        ({"series": "a"}, "best_radix", "the variable best_radix"),
        ({}, "time_s", "one value of each of series"),
    ],
)
def test_what_a_dataset_lacks_is_said(select: dict[str, str], variable: str, text: str) -> None:
    with pytest.raises(Lacking, match=text):
        band(dataset({"a": [1] * 7, "b": [2] * 7}), "a", select, variable, JUDGEMENT)


def test_an_experiment_at_one_process_count_is_a_curve_of_one_point() -> None:
    data = dataset({"a": [1] * 7}).isel(ranks=3, drop=True)
    own = band(data.assign_attrs(base_json='{"ranks": 1000}'), "a", {"series": "a"}, "time_s", JUDGEMENT)
    assert (own.x.tolist(), own.median.tolist()) == ([1000], [1])
    with pytest.raises(Lacking, match="the dimension ranks"):
        band(data, "a", {"series": "a"}, "time_s", JUDGEMENT)
