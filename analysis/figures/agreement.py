"""How well two sets of times agree: one dot for each measured row, by network and routing.

The data are those of `tramontane compare --dataset`: rows with their ratio ours over theirs. Exact agreement is a
column of dots on the line at 1; the shaded band is 5 % to both sides.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from analysis import style
from analysis.figures import axes as axis_tools
from analysis.figures.panel import Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import Table
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.lines import Line2D

#: Half width of the shaded band.
BAND = 0.05
#: Height of a line of dots and of everything else, in inches.
LINE, FRAME = 0.27, 0.75
#: Part of a line's height over which its operations are spread.
SPREAD = 0.6
#: Ticks on both sides of 1, for axes that reach from low to high by the factor at the left and more.
TICKS = (
    (6.0, (0.01, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 100.0)),
    (2.2, (0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)),
    (1.0, (0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 1.8)),
)
#: Looks of the operations, as `series.yaml` names them.
LOOKS = {"transpose": "transposition", "halo": "halo-20", "allreduce": "recursive-doubling"}


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return the ratios of a comparison as one panel, and how many they are, their median and their ends.

    Parameters
    ----------
    dataset
        Variables ``topology``, ``routing``, ``workload`` and ``ratio`` over the dimension ``row``.
    spec
        Its ``figure`` block.

    Returns
    -------
    Shown
        A panel; from top to bottom the pairs of network and routing, in order of their names.
    """
    lines = _lines(dataset)
    names = sorted(set(lines))

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        axes = figure.add_subplot(cell)
        axes.set(xlabel=spec.x_label or "Time on our simulator / reference time")
        if not names:
            empty(axes)
            return [Drawn(axes)]
        return [Drawn(axes, _draw_dots(axes, dataset, lines, names))]

    ratio = np.asarray(dataset["ratio"].values, dtype=np.float64)
    rows = [numbers_of(name, ratio[lines == name]) for name in names]
    headings = ["Network and routing", "rows", "median", "least", "largest"]
    return Shown([Panel(draw, spec.letter, height=FRAME + LINE * max(len(names), 3))], Table(headings, rows))


def numbers_of(name: str, ratio: "np.ndarray") -> list[str]:
    """Return a row of a table: what ratios are of, how many they are, their median and their ends."""
    ends = (formatting.number(value, 3) for value in (np.median(ratio), ratio.min(), ratio.max()))
    return [name, formatting.number(len(ratio)), *ends]


def texts(dataset: xr.Dataset, name: str) -> "np.ndarray[Any, np.dtype[np.object_]]":
    """Return a variable of rows as texts."""
    return np.array([str(value) for value in dataset[name].values], dtype=object)


def _lines(dataset: xr.Dataset) -> "np.ndarray":
    """Return network and routing of each row, which name its line."""
    pairs = zip(texts(dataset, "topology"), texts(dataset, "routing"), strict=True)
    return np.array([f"{topology}, {routing}" for topology, routing in pairs], dtype=object)


def _draw_dots(axes: "Axes", dataset: xr.Dataset, lines: "np.ndarray", names: list[str]) -> "list[Line2D]":
    """Draw the band and a series of dots for each operation; return the legend's entries."""
    ratio = np.asarray(dataset["ratio"].values, dtype=np.float64)
    workload = texts(dataset, "workload")
    place = np.array([names.index(line) for line in lines], dtype=np.float64)
    present = [name for name in LOOKS if name in workload] + sorted(set(workload) - set(LOOKS))
    axes.axvspan(1 - BAND, 1 + BAND, color="#dddddd", linewidth=0, zorder=0)
    axes.axvline(1, color="#333333", linewidth=0.8, zorder=1)
    handles = []
    for number, name in enumerate(present):
        look = style.series_style(LOOKS.get(name, name))
        own = workload == name
        shift = SPREAD * ((number + 0.5) / len(present) - 0.5)
        handles += axis_tools.dots(axes, ratio[own], place[own] + shift, look, name)
    _set_ticks(axes, *axis_tools.padded([*ratio, 1 - BAND, 1 + BAND], least=1.5))
    axes.set(yticks=range(len(names)), yticklabels=names, ylim=(len(names) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    return handles


def _set_ticks(axes: "Axes", low: float, high: float) -> None:
    """Give the axis of ratios its limits and ticks: a reader looks for 1 and for how far left and right of it."""
    axis_tools.set_log_axis(axes.xaxis, low, high)
    ticks = next(ticks for reach, ticks in TICKS if high / low >= reach)
    inside = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(inside, [f"{tick:g}" for tick in inside])
    axes.set_xticks([], minor=True)
