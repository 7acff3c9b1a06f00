"""Values of an older model revision are marked wherever they are shown, and no line joins them with others."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from analysis import report
from analysis.caption import caption
from analysis.figures import draw, show
from analysis.page import interactive
from analysis.spec import spec_of
from analysis.table import figure_table
from tramontane.results import datasets

from .conftest import Factory
from .drawn import legend_texts, xs, ys

RANKS = (100, 300, 1000, 3000, 10_000)


def with_revisions(dataset: xr.Dataset, *older: dict[str, Any]) -> xr.Dataset:
    """Return a dataset of model revision 2, but for the points at some places, which are of 1."""
    dataset["model_revision"] = xr.full_like(dataset["time_s"], 2.0).where(dataset["status"] == "ok")
    for place in older:
        dataset["model_revision"].loc[place] = 1.0
    return dataset


@pytest.fixture
def mixed(factory: Factory) -> xr.Dataset:
    """The last two of five points of `burst` are of revision 1, and all of `bruck` are of 2."""
    places = ({"series": "burst", "ranks": number} for number in RANKS[-2:])
    return with_revisions(factory(("burst", "bruck"), RANKS), *places)


def lines(figure: Figure) -> list[list[float]]:
    """Return where the drawn lines have points, without hollow markers."""
    return [xs(line).tolist() for line in figure.axes[0].lines if line.get_linestyle() != "None" and len(xs(line))]


def hollow(figure: Figure) -> list[list[float]]:
    return [xs(line).tolist() for line in figure.axes[0].lines if line.get_markerfacecolor() == "white"]


def test_rows_say_which_revision_they_rest_on_and_end_a_run_where_it_changes(mixed: xr.Dataset) -> None:
    rows = figure_table(mixed, spec_of(mixed)).groupby("series", sort=False)
    burst, bruck = (rows.get_group(name) for name in ("burst", "bruck"))
    assert burst["older"].tolist() == ["", "", "", "revision 1", "revision 1"]
    assert [len(run) for _, run in burst.groupby("run")] == [3, 2]
    assert set(bruck["older"]) == {""}
    assert bruck["run"].nunique() == 1


def test_no_line_joins_two_revisions_and_older_markers_are_hollow(mixed: xr.Dataset) -> None:
    figure = draw(mixed)
    assert sorted(lines(figure)) == [[100, 300, 1000], list(RANKS), [3000, 10_000]]
    assert hollow(figure) == [[3000, 10_000]]
    assert legend_texts(figure.axes[0])[-1] == "hollow: model revision 1"


def test_without_an_older_revision_nothing_is_marked(factory: Factory) -> None:
    dataset = with_revisions(factory(("burst", "bruck"), RANKS))
    figure = draw(dataset)
    assert hollow(figure) == []
    assert not any("hollow" in text for text in legend_texts(figure.axes[0]))
    assert "revision 1" not in caption(dataset) + show(dataset).numbers.markdown() + interactive.plot(dataset)


def test_a_dataset_all_of_an_older_revision_than_the_simulators_is_marked(factory: Factory) -> None:
    dataset = with_revisions(factory(("burst",), RANKS, attrs={"current_revision": 3}, figure={"lines": []}))
    figure = draw(dataset)
    assert hollow(figure) == lines(figure) == [list(RANKS)]
    assert legend_texts(figure.axes[0])[-1] == "hollow: model revision 2"
    assert "Of 5 points 5 are of model revision 2, older than 3: hollow" in caption(dataset)


def test_an_ensemble_shows_the_members_of_its_newest_revision(factory: Factory) -> None:
    dataset = factory(("burst",), RANKS, members=5)
    dataset["time_s"] = dataset["time_s"] * (1 + dataset["member"])
    of_old: list[dict[str, Any]] = [{"ranks": 300, "member": [0, 1, 2]}, {"ranks": 1000}]
    dataset = with_revisions(dataset, *of_old)
    plain = dataset["time_s"].sel(series="burst")
    cells = dict(show(dataset).numbers.rows)
    figure = draw(dataset)
    assert hollow(figure) == [[1000]]
    assert lines(figure)[0] == [100, 300]
    first, second = ys(figure.axes[0].lines[0])
    kept = plain.sel(ranks=300, member=[3, 4])
    assert second / first == pytest.approx(float(kept.median() / plain.sel(ranks=100).median()))
    assert "revision" not in cells["300"]
    assert cells["1000"].endswith("(revision 1)")
    assert "Of 25 points 8 are of model revision 1, older than 2: hollow" in caption(dataset)
    assert "of an ensemble only the members of the newest revision are shown" in caption(dataset)
    assert "medians of 2 to 5 members" in caption(dataset)


def test_the_best_of_several_rests_on_all_of_them(factory: Factory) -> None:
    figure = {"best": [{"series": "ring", "of": "ring-*", "label": "ring"}]}
    dataset = with_revisions(factory(("ring-1", "ring-4"), RANKS, figure=figure), {"series": "ring-4", "ranks": 300})
    rows = figure_table(dataset, spec_of(dataset)).set_index("x")
    assert rows.loc[300, "older"] == "revisions 1 and 2"
    assert set(rows.drop(index=300)["older"]) == {""}
    assert dict(show(dataset).numbers.rows)["300"].endswith("(ring-1; revisions 1 and 2)")


def test_tables_and_the_interactive_plot_are_marked(mixed: xr.Dataset) -> None:
    rows = {row[0]: row[1:] for row in show(mixed).numbers.rows}
    assert "revision" not in rows["1000"][0]
    assert rows["3000"][0].endswith(" (revision 1)")
    assert "revision" not in rows["3000"][1]
    burst, bruck = json.loads(interactive.plot(mixed))["data"]
    assert [symbol.endswith("-open") for symbol in burst["marker"]["symbol"]] == [False] * 3 + [True] * 3
    assert [x for x, y in zip(burst["x"], burst["y"], strict=True) if y is None] == [3000]
    assert "model revision 1" in burst["customdata"][-1]
    assert isinstance(bruck["marker"]["symbol"], str)


def test_names_of_series_are_marked_where_there_are_no_markers(factory: Factory) -> None:
    places = ({"series": "burst", "ranks": 100},)
    delays = with_revisions(factory(("burst", "bruck"), (100,), figure={"kind": "delay-distribution"}), *places)
    counts = np.ones((2, 1, 3))
    delays["delay_packets"] = (("series", "ranks", "delay_bin"), counts)
    delays = delays.assign_coords(
        delay_lower=("delay_bin", [0.0, 1e-6, 1e-5]), delay_upper=("delay_bin", [1e-6, 1e-5, 1e-4])
    )
    names = [row[0] for row in show(delays).numbers.rows]
    assert [name.endswith(" (revision 1)") for name in names] == [True, False]
    assert [text.endswith(" (revision 1)") for text in legend_texts(draw(delays).axes[0])] == [True, False]

    matrices = with_revisions(factory(("burst", "bruck"), (100,), figure={"kind": "congestion-matrix"}), *places)
    dims = ("series", "ranks", "source_bin", "destination_bin")
    ones = np.ones((2, 1, 4, 4))
    matrices = matrices.assign(congestion_mean=(dims, ones, {"units": "s"}), congestion_packets=(dims, ones))
    assert [row[0].endswith(" (revision 1)") for row in show(matrices).numbers.rows] == [True, False]
    titles = [axes.get_title(loc="left") for axes in draw(matrices).axes[:2]]
    assert [title.endswith(" (revision 1)") for title in titles] == [True, False]


def test_best_radices_are_hollow_where_any_that_was_searched_is_older(factory: Factory) -> None:
    dataset = factory((2, 4, 8), RANKS, lines="radix", figure={"kind": "radix"})
    dataset = with_revisions(dataset, {"radix": 8, "ranks": 300})
    figure = draw(dataset)
    assert [places for places in hollow(figure) if places] == [[300]]
    rows = {row[0]: row[1] for row in show(dataset).numbers.rows}
    assert rows["300"].endswith("(revisions 1 and 2)")
    assert "revision" not in rows["1000"]
    assert rows["median"].endswith("(revisions 1 and 2)")


def test_ratios_to_an_older_simulator_are_marked(factory: Factory) -> None:
    dataset = factory(
        ("simulator", "simgrid"), RANKS, lines="substrate", figure={"kind": "substrates", "lines": ["substrate"]}
    )
    dataset["peak_rss_bytes"] = xr.full_like(dataset["time_s"], 1e8)
    dataset = with_revisions(dataset, {"substrate": "simulator", "ranks": 300})
    dataset["model_revision"].loc[{"substrate": "simgrid"}] = np.nan
    _, under = draw(dataset).axes[:2]
    assert [xs(line).tolist() for line in under.lines if line.get_markerfacecolor() == "white"] == [[300]]
    assert show(dataset).summaries[0].title.endswith("simulator's of revisions 1 and 2")


def test_the_report_says_at_the_top_how_many_points_are_of_which_revision(mixed: xr.Dataset, tmp_path: Path) -> None:
    files = []
    for name in ("a", "b"):
        files.append(tmp_path / "results" / "smoke" / "datasets" / f"{name}.nc")
        files[-1].parent.mkdir(parents=True, exist_ok=True)
        datasets.write(mixed, files[-1])
    out = tmp_path / "results" / "smoke" / "report.html"
    report.write(files, out, "smoke", "make reproduce")
    head = out.read_text().split("</header>")[0]
    assert ">16 of model revision 2</span>" in head
    assert '<span class="bad">4 of model revision 1 (older)</span>' in head
    assert "<code>REFRESH=1</code>" in head
