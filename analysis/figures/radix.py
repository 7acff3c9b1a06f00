"""The radix with which an allreduce is fastest, at each number of processes, and what is typical of it.

The family of Zheng & Marguinaud 2018, Fig. 10c: least, largest, median and mean of the best radices; beside them, what
the paper leaves out: which radix it was where, and how many others came as close as the ensemble can tell.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from analysis import caption, revisions
from analysis.figures import axes as axis_tools
from analysis.figures import scaling
from analysis.figures.panel import Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import ENSEMBLE_DIMS, Table
from tramontane.results.members import middle
from tramontane.results.revisions import REVISION, label, newest
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

VARIABLE = "best_radix"
COLOUR, SPREAD, BOX = "#4477AA", "#bbccdd", "#dfe6ed"
#: Statistics, from top to bottom where they fall together.
STATISTICS = ("max", "median", "mean", "min")


def radix_table(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows of a figure: one for each number of processes.

    Parameters
    ----------
    dataset
        Either the variable ``best_radix`` or times over the dimension ``radix``.
    spec
        ``x`` and ``y``.

    Returns
    -------
    DataFrame
        Columns ``x``, ``best`` (median over members; NaN without result), ``low`` and ``high``: the range over members,
        or, of times over radices, the least and the largest radix whose fastest member is not slower than the slowest
        member of the best one, which a single run may take for the best. ``older`` as in `analysis.table`.

    Raises
    ------
    ValueError
        If the dataset has neither.
    """
    return _radices(dataset, spec).assign(older=_older(dataset, spec))


def _older(dataset: xr.Dataset, spec: FigureSpec) -> list[str]:
    """Return what marks the best radix at each number of processes, which rests on all points that were searched."""
    if REVISION not in dataset:
        return [""] if spec.x not in dataset.dims else [""] * dataset.sizes[spec.x]
    found, now = dataset[REVISION], newest(dataset)
    if spec.x not in found.dims:
        return [label(found.values.ravel(), now)]
    return [label(found.isel({spec.x: place}).values.ravel(), now) for place in range(found.sizes[spec.x])]


def _radices(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    x = np.atleast_1d(dataset[spec.x].values).astype(float) if spec.x in dataset.coords else np.array([np.nan])
    if VARIABLE in dataset:
        best = dataset[VARIABLE]
        others = [dim for dim in best.dims if dim != spec.x]
        columns = {"best": middle(best, others), "low": best.min(others), "high": best.max(others)}
        return pd.DataFrame({"x": x, **{name: np.atleast_1d(part.values) for name, part in columns.items()}})
    if "radix" not in dataset.dims or spec.y not in dataset:
        raise ValueError(f"figure.kind: 'radix' needs the variable {VARIABLE}, or {spec.y} over the dimension radix")
    times = dataset[spec.y].where(dataset["status"] == "ok") if "status" in dataset else dataset[spec.y]
    times = times.sortby("radix")  # of equally good ones the smallest, in whatever order they are listed
    members = [dim for dim in times.dims if dim in ENSEMBLE_DIMS]
    times_of = middle(times, members), times.min(members), times.max(members)
    radices = times["radix"].values.astype(float)
    rows = []
    for place, value in enumerate(x):
        here = [part.isel({spec.x: place}) if spec.x in part.dims else part for part in times_of]
        mid, least, most = (part.values for part in here)
        if not np.isfinite(mid).any():
            rows.append((value, np.nan, np.nan, np.nan))
            continue
        best_place = int(np.nanargmin(mid))
        close = radices[np.nan_to_num(least, nan=np.inf) <= most[best_place]]
        rows.append((value, radices[best_place], close.min(), close.max()))
    return pd.DataFrame(rows, columns=["x", "best", "low", "high"])


def statistics(best: "pd.Series[float]") -> dict[str, float]:
    """Return least, largest, median and mean of the best radices that there are."""
    return {name: float(best.dropna().agg(name)) for name in STATISTICS}


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return the best radices of a dataset as one panel, and as numbers with statistics over all of them.

    Parameters
    ----------
    dataset, spec
        As in `radix_table`.
    """
    rows = radix_table(dataset, spec)

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        grid = cell.subgridspec(1, 2, width_ratios=(4, 1), wspace=0.02)
        axes = figure.add_subplot(grid[0])
        axes.set(xlabel=scaling.x_text(dataset, spec), ylabel=spec.y_label or "Best radix k")
        found = rows.dropna(subset=["best"])
        if found.empty:
            empty(axes)
            return [Drawn(axes)]
        side = figure.add_subplot(grid[1], sharey=axes)
        handles = _draw_points(axes, found, _spread(dataset))
        _draw_box(side, found)
        top = 1.06 * max(found["high"].max(), found["best"].max())
        axes.set_ylim(0, top)
        return [Drawn(axes, handles if len(handles) > 1 else ()), Drawn(side)]

    return Shown([Panel(draw, spec.letter, note=caption.gap_note(dataset))], _numbers(rows, dataset))


def _numbers(rows: pd.DataFrame, dataset: xr.Dataset) -> Table:
    """Best radix at each number of processes, and statistics over all of them."""
    values = rows[["x", "best", "low", "high"]].to_numpy(dtype=float).tolist()
    table = [
        [
            formatting.number(x),
            revisions.marked(formatting.number(best), older),
            f"{formatting.number(low)}–{formatting.number(high)}",
        ]
        if np.isfinite(best)
        else [formatting.number(x), "missing", ""]
        for (x, best, low, high), older in zip(values, rows["older"], strict=True)
    ]
    if rows["best"].notna().any():
        together = label(dataset[REVISION].values.ravel(), newest(dataset)) if REVISION in dataset else ""
        table += [
            [name, revisions.marked(formatting.number(value), together), ""]
            for name, value in statistics(rows["best"]).items()
        ]
    return Table(["Processes", "Best radix", _spread(dataset).capitalize()], table)


def _spread(dataset: xr.Dataset) -> str:
    """Name what ``low`` and ``high`` are."""
    return "range of the members" if VARIABLE in dataset else "not to be told from it"


def _draw_points(axes: "Axes", found: pd.DataFrame, spread: str) -> "list[Artist]":
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow to import

    axes.vlines(found["x"], found["low"], found["high"], color=SPREAD, linewidth=2.2, zorder=2)
    axes.plot(found["x"], found["best"], "o", color=COLOUR, markeredgecolor="white", zorder=3)
    x = sorted(found["x"])
    axis_tools.set_log_axis(axes.xaxis, *axis_tools.padded(x), values=x)
    old = found[found["older"] != ""]
    revisions.hollow(axes, old["x"], old["best"], COLOUR, "o")
    handles: list[Artist] = [Line2D([], [], linestyle="none", marker="o", color=COLOUR, label="best")]
    if (found["high"] > found["low"]).any():
        handles.append(Line2D([], [], color=SPREAD, linewidth=2.2, label=spread))
    return [*handles, *revisions.legend(found["older"])]


def _draw_box(axes: "Axes", found: pd.DataFrame) -> None:
    """Draw least, quartiles, median, mean and largest, with their numbers."""
    line = {"color": "#333333", "linewidth": 0.8}
    axes.boxplot(
        found["best"],
        whis=(0, 100),
        widths=0.45,
        patch_artist=True,
        boxprops={"facecolor": BOX, "edgecolor": line["color"], "linewidth": line["linewidth"]},
        medianprops=line | {"solid_capstyle": "butt"},
        whiskerprops=line | {"solid_capstyle": "butt"},
        capprops=line,
        showmeans=True,
        meanprops={"marker": "D", "markerfacecolor": "#EE6677", "markeredgecolor": "white", "markersize": 4.5},
    )
    values = statistics(found["best"])
    lines = [f"{name} {formatting.number(round(value, 1))}" for name, value in values.items()]
    axes.set(xticks=[], ylabel="", xlabel="\n".join(lines))
    axes.xaxis.label.set_fontsize(6.5)
    axes.tick_params(labelleft=False)
    axes.grid(visible=False, axis="x")
