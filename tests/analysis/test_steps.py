"""Bars of time steps: parts of one role, and bars one below the other where there is one number of processes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from analysis.figures import draw, steps
from analysis.figures.panel import compose
from analysis.spec import FigureSpec, spec_of

from .conftest import Factory
from .drawn import LONG, assert_names_have_room, legend, legend_texts

#: A model and its disk: two phases of an exchange are one step.
PHASES = ("model work", "model halo x-sweep", "model halo y-sweep", "disk write")
TIMES = (0.5, 0.2, 0.1, 0.7)


def forecast(factory: Factory, ranks: tuple[int, ...], role: str | None = "model", slower: float = 2.0) -> xr.Dataset:
    """Two series, of which the second takes twice as long, or so many times."""
    figure = {"kind": "steps"} | ({} if role is None else {"role": role})
    dataset = factory(("old", "new"), ranks, figure=figure)
    dims = (*dataset["time_s"].dims, "step")
    times = np.multiply.outer([[1.0] * len(ranks), [slower] * len(ranks)], TIMES)
    work = np.where(np.arange(len(PHASES)) == 0, times, 0.0)
    units = {"units": "s", "long_name": "time of a step"}
    return dataset.assign_coords(step=list(PHASES)).assign(
        step_time_s=(dims, times, units), step_work_s=(dims, work, units)
    )


def test_a_role_has_its_own_steps_only(factory: Factory) -> None:
    dataset = forecast(factory, (64,))
    table = steps.show(dataset, spec_of(dataset)).numbers
    assert table.headings == ["Series", "Number of MPI processes", "Time in all steps, ms", "work, %", "halo, %"]
    assert [row[-3:] for row in table.rows] == [["800", "62.5", "37.5"], ["1600", "62.5", "37.5"]]


def test_a_table_says_along_what_bars_stand(factory: Factory) -> None:
    dataset = forecast(factory, (64,)).rename(ranks="nodes")
    dataset["nodes"].attrs = {}
    dataset.attrs["figure_json"] = '{"kind": "steps", "x": "nodes", "role": "model"}'
    assert steps.show(dataset, spec_of(dataset)).numbers.headings[1] == "Nodes"


def test_bars_of_an_ensemble_add_up_to_the_mean_of_its_times(factory: Factory) -> None:
    """Each member is slow in another step: medians of the steps would show a time that no member takes."""
    dataset = factory(("old",), (64,), members=3, figure={"kind": "steps"})
    dims = (*dataset["time_s"].dims, "step")
    times = np.array([[4.0, 1.0, 1.0], [1.0, 4.0, 1.0], [1.0, 1.0, 4.0]]).reshape(1, 1, 3, 3)
    dataset = dataset.assign_coords(step=["work", "halo", "solve"]).assign(
        step_time_s=(dims, times, {"units": "s"}), step_work_s=(dims, 0 * times, {"units": "s"})
    )
    assert steps.show(dataset, spec_of(dataset)).numbers.rows == [["old", "64", "6000", "33.3", "33.3", "33.3"]]


def test_without_a_role_the_first_word_is_the_step(factory: Factory) -> None:
    dataset = forecast(factory, (64,), role=None)
    assert steps.show(dataset, spec_of(dataset)).numbers.headings[-2:] == ["model, %", "disk, %"]


@pytest.mark.parametrize("number", [10, 11, 23])
def test_each_step_has_a_colour_of_its_own(number: int) -> None:
    shares = pd.DataFrame({"step": [f"step {i}" for i in range(number)], "work": False})
    assert len({look["facecolor"] for look in steps._looks(shares).values()}) == number


def test_a_role_that_is_not_there_is_refused(factory: Factory) -> None:
    dataset = forecast(factory, (64,), role="modle")
    with pytest.raises(ValueError, match=r"figure\.role: found 'modle', allowed: model, disk"):
        steps.show(dataset, spec_of(dataset))


def test_steps_of_several_jobs_are_refused(factory: Factory) -> None:
    dataset = forecast(factory, (64,), role=None).assign_coords(job=["model", "disk"])
    with pytest.raises(ValueError, match=r"figure\.kind: found 'steps', of several jobs, which pass side by side"):
        steps.show(dataset, spec_of(dataset))


@pytest.mark.parametrize(("ranks", "panels", "bars"), [((64,), 1, 4), ((64, 256), 2, 8)])
def test_one_number_of_processes_has_bars_alone(
    factory: Factory, ranks: tuple[int, ...], panels: int, bars: int
) -> None:
    dataset = forecast(factory, ranks)
    spec: FigureSpec = spec_of(dataset)
    drawn = steps.show(dataset, spec).panels
    assert len(drawn) == panels
    assert drawn[0].letter == spec.letter
    figure = compose(drawn)
    axes = figure.axes[-1]
    bars_drawn = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert len(bars_drawn) == bars
    lengths = [patch.get_width() for patch in bars_drawn] if len(ranks) == 1 else []
    assert sum(lengths[:2]) in (0, pytest.approx(50))
    assert sum(lengths[2:]) in (0, pytest.approx(100))
    plt.close(figure)


@pytest.mark.parametrize(("slower", "height"), [(3.9, 100 / 3.9), (4.1, 100)])
def test_bars_that_would_be_short_are_shares_of_their_own_time(factory: Factory, slower: float, height: float) -> None:
    dataset = forecast(factory, (64, 256), slower=slower)
    figure = compose(steps.show(dataset, spec_of(dataset)).panels)
    axes = figure.axes[-1]
    first = [patch for patch in axes.patches if isinstance(patch, Rectangle)][:2]
    assert sum(patch.get_height() for patch in first) == pytest.approx(height)
    assert axes.get_ylabel() == f"Part of {'a rank' if height == 100 else 'the slowest'}'s time (%)"
    plt.close(figure)


def test_numbers_of_many_bars_do_not_overlap() -> None:
    rows = [
        {"label": f"series {i}", "x": x, "step": "work", "time": 1.0, "share": 100.0, "part": 100.0, "work": True}
        for i in range(8)
        for x in (64, 256, 1024, 4096, 16384, 65536, 262144)
    ]
    figure, (_, axes) = plt.subplots(1, 2, figsize=(6.7, 2.2))
    figure.subplots_adjust(left=0.08, right=0.98, wspace=0.1)  # as wide as in a report
    steps._draw_bars(axes, pd.DataFrame(rows), "ranks")
    figure.canvas.draw()
    boxes = sorted((text.get_window_extent() for text in axes.texts), key=lambda box: box.x0)
    assert len(boxes) == 56
    assert all(before.x1 <= after.x0 + 0.5 for before, after in pairwise(boxes))
    plt.close(figure)


def named(factory: Factory, names: list[str], ranks: tuple[int, ...]) -> xr.Dataset:
    dataset = forecast(factory, ranks, role=None)
    many = xr.concat([dataset] * 4, "series").isel(series=range(len(names)))
    return many.assign_coords(series=names).assign_attrs(dataset.attrs)


#: Names of four and five lines in a legend.
LONGER = [
    "plain, with a blocking allreduce of two numbers after the product, which every solver has",
    "pipelined, with the product of $A r$ while the sums of two numbers are under way, and with a preconditioner",
    "without any",
]


def test_names_of_bars_stay_in_the_figure_and_apart(factory: Factory) -> None:
    figure = draw(named(factory, LONGER, (64,)))
    figure.canvas.draw()
    axes = figure.axes[0]
    assert axes.bbox.width > 0.8 * figure.bbox.width
    names = [text for text in axes.texts if text.get_text()]
    assert [text.get_text().replace("\n", " ") for text in names] == LONGER
    bars = [patch.get_window_extent() for patch in axes.patches if isinstance(patch, Rectangle)]
    for text in names:
        box = text.get_window_extent()
        assert axes.bbox.x0 <= box.x0
        assert box.x1 <= axes.bbox.x1
        assert not any(box.padded(-1).overlaps(bar) for bar in bars)
        assert box.y1 <= axes.bbox.y1


def test_legends_of_many_lines_lie_inside_the_figure(factory: Factory) -> None:
    figure = draw(named(factory, LONGER, (64, 256)))
    figure.canvas.draw()
    for axes in figure.axes:
        box = legend(axes).get_window_extent()
        assert min(box.x0, box.y0) >= 0
        assert box.x1 <= figure.bbox.width
        assert axes.bbox.height > 80


def test_a_legend_below_a_panel_leaves_other_rows_as_high_as_their_legends_found_them(factory: Factory) -> None:
    figure = draw(named(factory, ["one", "two"], (64, 256)), named(factory, LONGER, (64, 256)))
    figure.canvas.draw()
    assert legend(figure.axes[3]).get_window_extent().y1 < figure.axes[3].bbox.y0, "this one stands below"
    heights = [axes.bbox.height for axes in figure.axes]
    assert heights == pytest.approx([heights[0]] * 4)


@pytest.mark.parametrize("more", [(), ("some", "more", "series", "still")])
def test_long_names_take_several_lines_in_the_panels_or_below_them(factory: Factory, more: tuple[str, ...]) -> None:
    names = [*LONG, *more]
    dataset = named(factory, names, (64, 256))
    figure = compose(steps.show(dataset, spec_of(dataset)).panels, "page", 2)
    curves, bars = figure.axes
    assert [text.replace("\n", " ") for text in legend_texts(curves)] == names
    assert f"1: {LONG[0]}" in [text.replace("\n", " ") for text in legend_texts(bars)]
    assert_names_have_room(figure)
    plt.close(figure)
