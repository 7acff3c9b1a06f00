"""Busy links and waiting: the largest x, medians of members, only what carried something, and links by name."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from matplotlib.patches import Rectangle

from analysis.figures import draw, links, show
from analysis.spec import FigureSpec, spec_of

from .drawn import LONG, assert_names_have_room

CAUSES = ["late sender", "network"]


@pytest.fixture
def dataset() -> xr.Dataset:
    """Two machines at 10 and 100 ranks, two classes of links each."""
    shape = (2, 2, 3)
    rows = np.arange(np.prod(shape), dtype=float).reshape(shape) / 100
    rows[1, :, 2] = np.nan  # a class that the second has not
    figure = {"kind": "links", "x": "ranks", "y": "time_s", "lines": "machine"}
    of_link = {name: (("machine", "ranks", "link"), rows * factor) for name, factor in
               (("link_used_load", 0.5), ("link_max_load", 1.0), ("link_peak_queue", 1e5))}  # fmt: skip
    coords = {"machine": ["torus-S", "fattree-S"], "ranks": [10, 100], "link": ["ejection", "a", "b"]}
    return xr.Dataset(of_link, coords, {"figure_json": json.dumps(figure)}).assign(
        status=(("machine", "ranks"), np.full((2, 2), "ok"))
    )


@pytest.fixture
def waiting(dataset: xr.Dataset) -> xr.Dataset:
    """The same with two cases of each machine, of which the second machine has one; with causes and single links."""
    both = xr.concat([dataset, dataset], xr.DataArray(["ring-4", "burst"], dims="case", name="case"))
    both = both.transpose("machine", "case", ...)
    both["status"] = both["status"].astype(object)
    both["status"][1, 1] = "excluded"
    both["link_max_load"][1, 1] = both["link_used_load"][1, 1] = np.nan
    time = np.array([[1.0, 2.0], [4.0, np.nan]])[:, :, None] * np.ones(2)
    both["time_s"] = (("machine", "case", "ranks"), time, {"units": "s"})
    waited = time[..., None, None] * np.array([[0.2, 0.4], [0.5, 0.5]])  # of two bins of ranks
    both["waiting_s"] = (("machine", "case", "ranks", "cause", "rank_bin"), waited, {"units": "s"})
    over = ("machine", "case", "ranks", "single_link")
    shape = (2, 2, 2, 3)
    told = {
        "single_link_name": np.broadcast_to(["ejection link, x", "a link, switch 1 to 2", "b link, z"], shape),
        "single_link_class": np.broadcast_to(["ejection", "a", "b"], shape),
        "single_link_load": np.broadcast_to([0.5, 0.4, 0.0], shape),
        "single_link_peak_queue": np.broadcast_to([1e3, 2e3, 0.0], shape),
    }
    both = both.assign({name: (over, values) for name, values in told.items()}).assign_coords(cause=CAUSES)
    figure = json.loads(dataset.attrs["figure_json"]) | {
        "lines": ["machine", "case"],
        "labels": {"burst": "all at once"},
    }
    return both.assign_attrs(figure_json=json.dumps(figure))


def test_rows_are_of_the_largest_x(dataset: xr.Dataset) -> None:
    rows = links.link_table(dataset, spec_of(dataset))
    assert set(rows["x"]) == {100.0}
    assert list(rows["link"]) == ["ejection", "a", "b", "ejection", "a"]
    assert rows["max_load"].tolist() == pytest.approx([0.03, 0.04, 0.05, 0.09, 0.10])
    assert rows["used_load"].tolist() == pytest.approx([0.015, 0.02, 0.025, 0.045, 0.05])


def test_the_table_says_percent_and_kilobytes(dataset: xr.Dataset) -> None:
    assert [row[2:] for row in show(dataset).numbers.rows][1] == ["a", "2.0", "4.0", "4.0"]


def test_no_single_links_are_refused(dataset: xr.Dataset) -> None:
    with pytest.raises(ValueError, match="no point tells single links"):
        links.link_table(dataset.drop_vars("link_max_load"), FigureSpec(kind="links", x="ranks", y="time_s"))


def test_without_causes_and_names_there_are_loads_only(dataset: xr.Dataset) -> None:
    axes = draw(dataset).axes
    assert [own.get_title(loc="left") for own in axes] == ["load of links"]
    assert [text.get_text() for text in axes[0].get_yticklabels()] == ["torus-S", "fattree-S"]
    marks = [each for each in axes[0].collections if np.ravel(each.get_linewidth())[0] == 1]
    means = [float(np.asarray(each.get_paths()[0].vertices)[0, 0]) for each in marks]
    assert means == pytest.approx([1.5, 4.5]), "of the first class, machine by machine"
    assert not show(dataset).summaries


def test_each_machine_has_its_loads_beside_its_causes(waiting: xr.Dataset) -> None:
    axes = draw(waiting).axes
    assert [own.get_title(loc="left") for own in axes] == [
        "torus-S: load of links",
        "torus-S: why ranks wait",
        "fattree-S: load of links",
        "fattree-S: why ranks wait",
    ]
    for loads, causes in (axes[:2], axes[2:]):
        assert loads.get_ylim() == causes.get_ylim(), "rows of one series stand side by side"
        assert [text.get_text() for text in loads.get_yticklabels()] == [
            text.get_text() for text in causes.get_yticklabels()
        ]
    assert axes[0].get_xlim() == axes[2].get_xlim(), "loads of networks can be compared"
    assert [text.get_text() for text in axes[1].get_yticklabels()] == ["ring-4", "all at once"]
    assert [text.get_text() for text in axes[3].get_yticklabels()] == ["ring-4"]
    bars = [patch for patch in axes[1].patches if isinstance(patch, Rectangle)]
    assert [bar.get_width() for bar in bars[:3]] == pytest.approx([30, 50, 20])
    assert [text.get_text() for text in axes[1].texts] == ["1 s", "2 s"]


def test_long_names_of_rows_take_several_lines(waiting: xr.Dataset) -> None:
    figure = draw(waiting.assign_coords(case=list(LONG[:2])))
    assert_names_have_room(figure)
    rows = [text.get_text() for text in figure.axes[0].get_yticklabels()]
    assert [row.replace("\n", " ") for row in rows] == list(LONG[:2])


@pytest.mark.parametrize("swept", [True, False])
def test_each_rank_counts_once_however_many_are_in_a_bin(waiting: xr.Dataset, swept: bool) -> None:
    """Of 3 ranks in 2 bins, ranks r with the same floor(r 2 / 3), the last is alone, and waits all the time."""
    one = waiting.isel(case=0, ranks=[0]).assign_coords(ranks=[3])
    one["waiting_s"] = xr.zeros_like(one["waiting_s"]) + one["time_s"] * xr.DataArray([0.0, 1.0], dims="rank_bin")
    if not swept:
        one = one.isel(ranks=0, drop=True).expand_dims(side=[1]).assign_attrs(base_json='{"ranks": 3}')
    spec = spec_of(one).model_copy(update={"x": "ranks" if swept else "side", "lines": "machine"})
    assert links.waiting_table(one, spec)["share"].tolist() == pytest.approx([1 / 3] * 4)


def test_causes_and_the_busiest_links_are_tables(waiting: xr.Dataset) -> None:
    causes, busiest = show(waiting).summaries
    assert causes.headings == ["Series", "Communication time", "late sender, %", "network, %"]
    assert causes.rows == [
        ["torus-S, ring-4", "1 s", "30.0", "50.0"],
        ["torus-S, all at once", "2 s", "30.0", "50.0"],
        ["fattree-S, ring-4", "4 s", "30.0", "50.0"],
    ]
    assert busiest.rows[0] == ["torus-S, ring-4", "a", "1 to 2: 40.0 %, 2 KB", "", ""], "links to nodes are not named"


def test_what_has_carried_nothing_is_an_empty_panel(dataset: xr.Dataset) -> None:
    dataset["link_max_load"] = 0 * dataset["link_max_load"]
    assert len(show(dataset).panels) == 1
    assert [text.get_text() for text in draw(dataset).axes[0].texts] == ["no results yet"]


def test_parts_of_the_time_of_an_ensemble_are_means_and_add_up(waiting: xr.Dataset) -> None:
    members = xr.concat([waiting] * 3, "member", data_vars="all")
    members["waiting_s"][:] = 0
    for member, cause in enumerate((0, 0, 1)):  # a rank waits all the time, now for this and now for that
        members["waiting_s"][member, :, :, :, cause] = members["time_s"][member]
    own = links.waiting_table(members, spec_of(members))
    first = own[(own["group"] == "torus-S") & (own["label"] == "ring-4")]
    assert first["share"].tolist() == pytest.approx([2 / 3, 1 / 3])
    words = "The busiest links between switches of the first of 3 members, from switch to switch"
    assert show(members).summaries[1].title.startswith(words), "whose loads are not the medians of the figure"
