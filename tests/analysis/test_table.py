from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from analysis.caption import caption
from analysis.figures import scaling
from analysis.spec import spec_of
from analysis.table import figure_table

from .conftest import Factory


def table(dataset: xr.Dataset) -> pd.DataFrame:
    return figure_table(dataset, spec_of(dataset))


def test_a_row_for_each_series_and_x_in_order_of_the_dataset(factory: Factory) -> None:
    dataset = factory()
    rows = table(dataset)
    assert list(rows["series"].unique()) == ["burst", "bruck", "ring-1", "ring-4"]
    assert len(rows) == dataset["time_s"].size
    burst = rows[rows["series"] == "burst"]
    np.testing.assert_array_equal(burst["x"], dataset["ranks"])
    np.testing.assert_array_equal(burst["y"], dataset["time_s"].sel(series="burst"))


def test_order_of_dimensions_does_not_matter(factory: Factory) -> None:
    dataset = factory()
    turned = dataset.transpose("ranks", "series")
    assert table(turned)[["series", "x", "y"]].equals(table(dataset)[["series", "x", "y"]])


def test_gaps_have_no_value_and_start_a_new_run(factory: Factory) -> None:
    gaps = {("burst", 1000): "failed", ("bruck", 100): "missing", ("ring-1", 100_000): "excluded"}
    rows = table(factory(gaps=gaps)).set_index(["series", "x"])
    runs = rows["run"].to_dict()
    for (name, ranks), status in gaps.items():
        assert np.isnan(rows["y"].to_dict()[name, ranks])
        assert rows.loc[(name, ranks), "status"] == status
    assert runs["burst", 300] != runs["burst", 3000]
    assert runs["burst", 100] == runs["burst", 300]
    assert runs["bruck", 300] == runs["bruck", 100_000]


def test_runs_never_reach_from_one_series_to_the_next(factory: Factory) -> None:
    assert table(factory()).groupby("run")["series"].nunique().eq(1).all()


def test_times_of_sampled_stages_have_their_interval_as_range(factory: Factory) -> None:
    dataset = factory(members=2)
    dataset["steady_error"] = xr.full_like(dataset["time_s"], 0.1)
    dataset["stages_left_out"] = xr.zeros_like(dataset["time_s"])
    plain = table(dataset)
    dataset["stages_left_out"][{"series": 0, "ranks": 0}] = 40
    sampled = table(dataset)
    row, own = sampled.iloc[0], dataset["time_s"][{"series": 0, "ranks": 0}].values
    assert (row["y"], row["low"], row["high"]) == pytest.approx((np.median(own), 0.9 * own.min(), 1.1 * own.max()))
    # Other points, and other quantities, keep the range of their members.
    assert sampled[1:].equals(plain[1:])
    wall = factory(members=2, figure={"kind": "scaling", "x": "ranks", "y": "wall_s", "lines": "series"})
    told = table(wall.assign(steady_error=dataset["steady_error"], stages_left_out=dataset["stages_left_out"]))
    assert told.equals(table(wall))


@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan])
def test_what_a_logarithmic_axis_cannot_show_is_missing(factory: Factory, bad: float) -> None:
    dataset = factory()
    dataset["time_s"][0, 2] = bad
    row = table(dataset).iloc[2]
    assert np.isnan(row["y"])
    assert row["status"] == "missing"


def test_a_linear_axis_shows_zero(factory: Factory) -> None:
    dataset = factory(figure={"y_scale": "linear"})
    dataset["time_s"][0, 2] = 0.0
    assert table(dataset).iloc[2]["y"] == 0.0


def test_members_become_median_and_range(factory: Factory) -> None:
    dataset = factory(members=3)
    rows = table(dataset)
    expected = dataset["time_s"].isel(series=1, ranks=2)
    row = rows[(rows["series"] == "bruck") & (rows["x"] == 1000)].iloc[0]
    assert row["y"] == pytest.approx(float(expected.median()))
    assert (row["low"], row["high"]) == (float(expected.min()), float(expected.max()))
    assert row["members"] == 3


def test_a_failed_member_leaves_the_others(factory: Factory) -> None:
    dataset = factory(members=2)
    dataset["status"][0, 0, 1] = "failed"
    row = table(dataset).iloc[0]
    assert row["members"] == 1
    assert row["status"] == "ok"
    assert row["y"] == float(dataset["time_s"][0, 0, 0])


BEST = {"best": [{"series": "recursive-k", "of": "recursive-*", "label": "recursive-k (best radix)"}]}


def best_dataset(factory: Factory, **options: Any) -> xr.Dataset:
    dataset = factory(("library", "recursive-2", "recursive-8", "transposition"), (16, 64, 256), figure=BEST, **options)
    dataset["time_s"].loc[{"series": "recursive-2"}] = [1.0, 3.0, 5.0]
    dataset["time_s"].loc[{"series": "recursive-8"}] = [2.0, 2.0, 4.0]
    return dataset


def test_the_best_of_a_group_is_one_line_that_says_which(factory: Factory) -> None:
    rows = table(best_dataset(factory))
    assert list(rows["series"].unique()) == ["library", "recursive-k", "transposition"]
    best = rows[rows["series"] == "recursive-k"]
    assert list(best["y"]) == [1.0, 2.0, 4.0]
    assert list(best["choice"]) == ["recursive-2", "recursive-8", "recursive-8"]
    assert set(best["label"]) == {"recursive-k (best radix)"}
    assert set(rows[rows["series"] == "library"]["choice"]) == {""}


def test_the_best_says_what_it_could_not_be_chosen_from(factory: Factory) -> None:
    dataset = best_dataset(factory, gaps={("recursive-8", 64): "failed"})
    best = table(dataset).query("series == 'recursive-k'")
    assert list(best["y"]) == [1.0, 3.0, 4.0]
    assert list(best["choice"]) == ["recursive-2", "recursive-2; 1 without result", "recursive-8"]


def test_the_best_of_nothing_is_a_gap(factory: Factory) -> None:
    dataset = best_dataset(factory, gaps={("recursive-8", 64): "failed", ("recursive-2", 64): "missing"})
    row = table(dataset).query("series == 'recursive-k' and x == 64").iloc[0]
    assert np.isnan(row["y"])
    assert row["status"] == "failed"


def test_the_best_of_an_ensemble_is_chosen_by_medians(factory: Factory) -> None:
    dataset = factory(("recursive-2", "recursive-8"), (16,), members=3, figure=BEST)
    dataset["time_s"][0, 0] = [1.0, 9.0, 9.0]  # the fastest single member, but slow as a rule
    dataset["time_s"][1, 0] = [4.0, 5.0, 6.0]
    row = table(dataset).iloc[0]
    assert (row["low"], row["y"], row["high"]) == (4.0, 5.0, 6.0)
    assert row["choice"] == "recursive-8"


@pytest.mark.parametrize(("how", "place"), [("min", 0), ("median", 1), ("max", 2)])
def test_a_dimension_is_reduced_and_its_value_noted(factory: Factory, how: str, place: int) -> None:
    dataset = factory(extra={"radix": (2, 4, 8)}, figure={"reduce": {"radix": how}})
    rows = table(dataset)
    assert len(rows) == dataset.sizes["series"] * dataset.sizes["ranks"]
    assert rows.iloc[0]["y"] == float(dataset["time_s"][0, 0, place])
    assert rows.iloc[0]["choice"] == str((2, 4, 8)[place])


def test_of_an_even_number_the_lower_median_stands_and_those_without_result_are_counted(factory: Factory) -> None:
    dataset = factory(extra={"radix": (2, 3, 4, 8, 16, 32)}, figure={"reduce": {"radix": "median"}})
    for place, status in enumerate(("failed", "missing", "excluded")):
        dataset["status"][0, 1, place] = status
        dataset["time_s"][0, 1, place] = np.nan
    first, second = (row for _, row in table(dataset).iloc[:2].iterrows())
    assert (first["y"], first["choice"]) == (float(dataset["time_s"][0, 0, 2]), "4")
    assert (second["y"], second["choice"]) == (float(dataset["time_s"][0, 1, 4]), "16; 2 without result")


def test_two_dimensions_are_reduced_one_after_the_other(factory: Factory) -> None:
    dataset = factory(extra={"radix": (2, 4), "packet": (1, 2)}, figure={"reduce": {"radix": "min", "packet": "max"}})
    row = table(dataset).iloc[0]
    assert row["y"] == float(dataset["time_s"][0, 0].min("radix").max("packet"))
    assert row["choice"] == "2, 2"


def test_a_dimension_that_the_figure_does_not_name_makes_lines_of_its_own(factory: Factory) -> None:
    rows = table(factory(("ring-1", "ring-4"), extra={"routing": ("minimal", "ugal")}))
    assert list(rows["series"].unique()) == ["ring-1, minimal", "ring-1, ugal", "ring-4, minimal", "ring-4, ugal"]


def test_numeric_lines_are_named_with_their_unit(factory: Factory) -> None:
    rows = table(factory((1_000_000_000, 10_000_000_000), lines="bandwidth", units="B/s"))
    assert list(rows["series"].unique()) == ["1 GB/s", "10 GB/s"]
    assert list(table(factory((3, 10), lines="width"))["series"].unique()) == ["width-3", "width-10"]


def test_labels_of_the_experiment_go_before_those_of_the_mapping(factory: Factory) -> None:
    names = ("halo-3", "halo-10", "ring-4")
    labels = table(factory(names, figure={"labels": {"halo-3": "narrow"}})).drop_duplicates("series")["label"]
    assert list(labels) == ["narrow", "halo, 10 points", "ring-4"]


@pytest.mark.parametrize(
    ("figure", "message"),
    [
        ({"x": "rank"}, "figure.x: found 'rank', allowed: series, ranks"),
        ({"y": "hops"}, "figure.y: found 'hops', allowed: packets, setup_s, time_s, wall_s"),
        ({"lines": "algorithm"}, "figure.lines: found 'algorithm', allowed: series, ranks"),
        ({"reduce": {"radix": "min"}}, "figure.reduce: found 'radix', allowed: series, ranks"),
        ({"reduce": {"series": "least"}}, "figure.reduce.series: found 'least', allowed: min, max, median"),
        ({"y_scale": "logit"}, "figure.y_scale: found 'logit', allowed: log, linear"),
        ({"x": "series", "lines": "ranks"}, "figure.x: 'series' has no numbers; a scaling figure needs them"),
    ],
)
def test_a_block_that_does_not_fit_the_dataset_says_what_is_allowed(
    factory: Factory, figure: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole text is compared
        table(factory(figure=figure))
    assert str(error.value) == message


def test_a_zero_that_no_logarithmic_axis_has_is_told(factory: Factory) -> None:
    dataset = factory()
    dataset["time_s"][0, 2] = 0.0
    row = table(dataset).iloc[2]
    assert np.isnan(row["y"])
    assert row["status"] == "zero"
    assert [line[1] for line in scaling.show(dataset, spec_of(dataset)).numbers.rows][2] == "0"
    assert "At 1 point the value is zero, not drawn." in caption(dataset)
    assert "zero" not in caption(factory())
