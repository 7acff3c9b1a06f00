"""Times that a paper prints stand beside ours: in the curve's colour, and as bars of their own."""

from __future__ import annotations

import json

import matplotlib.colors
import numpy as np
import xarray as xr
from matplotlib.patches import Rectangle

from analysis import printed, style
from analysis.caption import caption
from analysis.figures import draw, steps
from analysis.figures.panel import compose
from analysis.spec import spec_of

from . import drawn
from .conftest import Factory
from .test_steps import forecast


def told(dataset: xr.Dataset, *times: tuple[str, dict[str, str], dict[str, float]]) -> xr.Dataset:
    entries = [{"variable": variable, "select": select, "seconds": seconds} for variable, select, seconds in times]
    return dataset.assign_attrs(printed_json=json.dumps(entries))


def test_printed_times_are_crosses_of_the_curves_colour(factory: Factory) -> None:
    dataset = factory()
    name = str(dataset["series"].values[0])
    first, second = (int(ranks) for ranks in dataset["ranks"].values[:2])
    # One process count of the four that the paper has is not simulated; a curve that is not drawn has no crosses.
    seconds = {str(first): 0.25, str(second): 0.5, "3": 9.0}
    dataset = told(dataset, ("time_s", {"series": name}, seconds), ("wall_s", {"series": name}, {str(first): 7.0}))
    axes = draw(dataset).axes[0]
    (marks,) = [
        line for line in axes.get_lines() if line.get_marker() == printed.MARK["marker"] and len(drawn.xs(line)) > 1
    ]
    np.testing.assert_allclose(drawn.xs(marks), [first, second])
    np.testing.assert_allclose(drawn.ys(marks), [250, 500])
    assert matplotlib.colors.to_hex(marks.get_color()) == style.series_style(name).colour.lower()
    assert printed.LABEL in drawn.legend_texts(axes)
    assert "Times as printed are those of the paper" in caption(dataset)


def test_without_printed_times_nothing_is_said_of_them(factory: Factory) -> None:
    dataset = factory()
    assert printed.LABEL not in drawn.legend_texts(draw(dataset).axes[0])
    assert "as printed" not in caption(dataset)
    elsewhere = told(dataset, ("time_s", {"series": str(dataset["series"].values[0])}, {"3": 9.0}))
    assert "as printed" not in caption(elsewhere)


def test_printed_steps_are_a_bar_below_that_of_their_series(factory: Factory) -> None:
    """In the order and the colours of the simulated steps, as parts of the same whole."""
    dataset = told(
        forecast(factory, (64,)),
        ("step_time_s", {"series": "old", "step": "model halo"}, {"64": 0.4}),
        ("step_time_s", {"series": "old", "step": "model work"}, {"64": 0.8}),
        ("step_time_s", {"series": "old", "step": "disk write"}, {"64": 5.0}),
    )
    axes = compose(steps.show(dataset, spec_of(dataset)).panels).axes[-1]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert [text.get_text() for text in axes.texts] == ["old", "old, as printed", "new"]
    # The slowest series takes 2 x 0.8 s in these steps.
    np.testing.assert_allclose([bar.get_width() for bar in bars], [31.25, 18.75, 50.0, 25.0, 62.5, 37.5])
    np.testing.assert_allclose([bar.get_x() for bar in bars[2:4]], [0, 50])
    assert bars[0].get_facecolor() == bars[2].get_facecolor() != bars[1].get_facecolor()
    assert "Times as printed" in caption(dataset)


def test_printed_steps_stand_below_a_series_by_whatever_the_legend_calls_it_and_are_not_cut_off(
    factory: Factory,
) -> None:
    dataset = told(forecast(factory, (64,)), ("step_time_s", {"series": "old", "step": "model work"}, {"64": 3.2}))
    figure = json.loads(dataset.attrs["figure_json"]) | {"labels": {"old": "as it was"}}
    dataset = dataset.assign_attrs(figure_json=json.dumps(figure))
    axes = compose(steps.show(dataset, spec_of(dataset)).panels).axes[-1]
    assert [text.get_text() for text in axes.texts] == ["as it was", "as it was, as printed", "new"]
    bars = [patch for patch in axes.patches if isinstance(patch, Rectangle)]
    assert max(bar.get_width() for bar in bars) == 200
    assert axes.get_xlim()[1] > 200
