"""Predictions beside what was measured: measured over predicted against the size, for each machine and operation.

The data are those of `tramontane compare --predictions --dataset`. Each row is a dot with the predicted interval's
width through it: a line that crosses 1 is an interval that held. The shaded bands are a factor of 1.25 and 2.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from analysis import style
from analysis.figures import axes as axis_tools
from analysis.figures.agreement import numbers_of, texts
from analysis.figures.panel import Drawn, Panel, Shown
from analysis.spec import FigureSpec
from analysis.table import Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.lines import Line2D

#: Factors of the shaded bands, with their colours.
BANDS = ((2.0, "#eeeeee"), (1.25, "#dddddd"))
#: Looks of the libraries' algorithms that `series.yaml` knows by another name.
LOOKS = {"pairwise": "ring-1", "linear": "burst", "linear-sync": "ring-4"}
#: Dots of one size and several algorithms stand beside each other, over this part of a factor 2.
SPREAD = 0.6


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return a panel for each machine and operation, and measured over predicted by algorithm as numbers.

    Parameters
    ----------
    dataset
        Variables ``machine``, ``operation``, ``algorithm``, ``bytes``, ``measured_s``, ``predicted_s``, ``low_s`` and
        ``high_s`` over the dimension ``row``.
    spec
        Its ``figure`` block.
    """
    place = _groups(dataset)

    def panel(number: int, name: str) -> Panel:
        def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
            axes = figure.add_subplot(cell)
            handles = _draw(axes, dataset.isel(row=np.flatnonzero(place == name)))
            axes.set(xlabel=spec.x_label or "Size (B)", ylabel=spec.y_label or "Measured / predicted")
            return [Drawn(axes, handles)]

        return Panel(draw, chr(ord("a") + number), title=name)

    algorithms, ratio, names = texts(dataset, "algorithm"), _ratio(dataset), sorted(set(place))
    rows = [
        numbers_of(f"{name}, {algorithm}", ratio[(place == name) & (algorithms == algorithm)])
        for name in names
        for algorithm in sorted(set(algorithms[place == name]))
    ]
    headings = ["Machine, operation, algorithm", "rows", "median", "least", "largest"]
    return Shown([panel(number, name) for number, name in enumerate(names)], Table(headings, rows))


def _groups(dataset: xr.Dataset) -> "np.ndarray[Any, np.dtype[np.object_]]":
    return np.asarray(texts(dataset, "machine") + ", " + texts(dataset, "operation"), dtype=object)


def _ratio(dataset: xr.Dataset) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.asarray(dataset["measured_s"].values / dataset["predicted_s"].values, dtype=np.float64)


def _draw(axes: "Axes", own: xr.Dataset) -> "list[Line2D]":
    """Draw the rows of one panel; return the legend's entries."""
    size, ratio, algorithms = np.asarray(own["bytes"].values, float), _ratio(own), texts(own, "algorithm")
    ends = [np.asarray(own["measured_s"].values / own[name].values, float) for name in ("high_s", "low_s")]
    for factor, colour in BANDS:
        axes.axhspan(1 / factor, factor, color=colour, linewidth=0, zorder=0)
    axes.axhline(1, color="#333333", linewidth=0.8, zorder=1)
    handles = []
    present = sorted(set(algorithms))
    for number, name in enumerate(present):
        look, here = style.series_style(LOOKS.get(name, name)), algorithms == name
        shifted = size[here] * 2 ** (SPREAD * ((number + 0.5) / len(present) - 0.5))
        axes.vlines(shifted, ends[0][here], ends[1][here], color=look.colour, linewidth=0.6, alpha=0.5, zorder=2)
        handles += axis_tools.dots(axes, shifted, ratio[here], look, name)
    axis_tools.set_log_axis(axes.xaxis, *axis_tools.padded(list(size)))
    widest = BANDS[0][0]
    axis_tools.set_log_axis(axes.yaxis, *axis_tools.padded([*ratio, *np.concatenate(ends), 1 / widest, widest]))
    return handles
