"""How a network's parameters fit what messages took: times over sizes, and below them the residuals of the fit.

The data are those of `tramontane calibrate`: one-way times between two ranks, of which the shortest repetitions were
fitted. The step of the fitted line is the eager limit. A stage of small allreduces is a message, too, one for each
number of ranks that share no processor.
"""

import json
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from analysis import style
from analysis.figures import axes as axis_tools
from analysis.figures.panel import Drawn, Panel, Shown
from analysis.spec import FigureSpec
from analysis.table import Table
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Height over width: two pairs of axes.
ASPECT = 0.95
#: Sizes with a tick, where they lie inside the axis.
SIZES = tuple(4**power for power in range(15))


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return a calibration as one panel of two axes, and times and residual by size of message.

    Parameters
    ----------
    dataset
        Variables ``one_way_s``, ``one_way_median_s``, ``fitted_s`` and ``residual`` over the dimension ``size``.
    spec
        Its ``figure`` block.
    """
    size, best, median, fitted, residual = _columns(dataset)
    stage_size, stage, stage_residual = _stages(dataset)
    limit = json.loads(dataset.attrs["parameters_json"])["eager_limit"]

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        grid = cell.subgridspec(2, 1, height_ratios=[2.4, 1])
        times, below = (figure.add_subplot(grid[row]) for row in range(2))
        unit, seconds = formatting.time_unit([*best, *fitted])
        shortest, usual = style.series_style("ring-k"), style.series_style("burst")
        dots = axis_tools.DOTS
        handles = [
            *times.plot(size, median / seconds, marker=usual.marker, color="#bbbbbb", label="median", **dots),
            *times.plot(size, best / seconds, marker=shortest.marker, color=shortest.colour, label="shortest", **dots),
        ]
        eager = size <= limit
        for part in (eager, ~eager):
            (line,) = times.plot(size[part], fitted[part] / seconds, color="#333333", linewidth=1.0, label="fit")
        handles.append(line)
        if len(stage):
            look = style.series_style("recursive-doubling")
            handles += times.plot(
                stage_size,
                stage / seconds,
                marker=look.marker,
                color=look.colour,
                label="stage of an allreduce",
                **dots,
            )
            below.plot(stage_size, 100 * stage_residual, marker=look.marker, color=look.colour, **dots)
        below.axhline(0, color="#333333", linewidth=0.8)
        below.plot(size, 100 * residual, marker=shortest.marker, color=shortest.colour, **dots)
        for axes in (times, below):
            if not eager.all():
                axes.axvline(limit * np.sqrt(2), color="#999999", linewidth=0.8, linestyle=(0, (4, 2)))
            axis_tools.set_log_axis(axes.xaxis, *axis_tools.padded(list(size)))
            ticks = [tick for tick in SIZES if size.min() <= tick <= size.max()]
            axes.set_xticks(ticks, [formatting.size(tick) for tick in ticks], rotation=30, ha="right")
            axes.set_xticks([], minor=True)
        times.tick_params(labelbottom=False)
        drawn = np.concatenate([best, median, fitted, stage]) / seconds
        axis_tools.set_log_axis(times.yaxis, *axis_tools.padded([*drawn]))
        times.set(ylabel=f"One-way time ({unit})")
        reach = 1.25 * max(5.0, float(np.abs(100 * np.concatenate([residual, stage_residual])).max()))
        below.set(xlabel="Message size", ylabel="Residual (%)", ylim=(-reach, reach))
        return [Drawn(times, handles), Drawn(below)]

    return Shown([Panel(draw, spec.letter, aspect=ASPECT)], _numbers(dataset))


def _numbers(dataset: xr.Dataset) -> Table:
    rows = [
        [
            formatting.size(int(size)),
            *(formatting.seconds(value) for value in (best, median, fitted)),
            formatting.difference(residual),
        ]
        for size, best, median, fitted, residual in zip(*_columns(dataset), strict=True)
    ]
    for number, own in zip(_numbers_of_ranks(dataset), zip(*_stages(dataset), strict=True), strict=True):
        size, best, residual = own
        name = f"{formatting.size(int(size))}, stage of an allreduce of {number} ranks"
        rows.append(
            [
                name,
                formatting.seconds(best),
                "",
                formatting.seconds(best * (1 + residual)),
                formatting.difference(residual),
            ]
        )
    return Table(["Message", "shortest", "median", "fit", "residual"], rows)


def _columns(dataset: xr.Dataset) -> "tuple[np.ndarray, ...]":
    names = ("size", "one_way_s", "one_way_median_s", "fitted_s", "residual")
    return tuple(np.asarray(dataset[name].values, dtype=np.float64) for name in names)


def _stages(dataset: xr.Dataset) -> "tuple[np.ndarray, ...]":
    """Return size, time and residual of stages of allreduces; empty where there are none."""
    names = ("stage_size", "stage_s", "stage_residual")
    return tuple(np.asarray(dataset[name].values if name in dataset else [], dtype=np.float64) for name in names)


def _numbers_of_ranks(dataset: xr.Dataset) -> list[int]:
    return [int(number) for number in dataset["ranks"].values] if "ranks" in dataset.coords else []
