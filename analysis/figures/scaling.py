"""Time (or any other result) against the number of processes, one line for each series.

The family of Zheng & Marguinaud 2018, Figs. 5, 9a-c and 10a-b: logarithmic axes, and a marker at each simulated number
of processes. Where a point failed, is missing or was excluded the line is interrupted.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import caption, printed, revisions, style
from analysis.figures import axes as axis_tools
from analysis.figures.panel import Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import ALL, Table, figure_table, plain_unit, x_heading, y_unit
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.lines import Line2D

#: Axis texts of well known quantities, where the experiment gives none.
DEFAULT_LABELS = {"ranks": "Number of MPI processes", "time_s": "Communication time"}

#: Colour and width in points of the rim that keeps overlapping markers apart.
EDGE = ("white", 0.4)


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return the scaling curves of a dataset as one panel, and their numbers.

    Parameters
    ----------
    dataset
        A collated dataset.
    spec
        Its ``figure`` block.

    Returns
    -------
    Shown
        A panel with one ``Line2D`` for each uninterrupted run of a series. Markers are hollow where a value is of
        an older model revision.

    Raises
    ------
    ValueError
        If the block names what the dataset lacks.
    """
    rows = figure_table(dataset, spec)
    symbol, factor = y_unit(dataset, spec, rows)
    drawn = rows[rows["y"].notna()].copy()
    drawn[["y", "low", "high"]] /= factor

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        axes = figure.add_subplot(cell)
        axes.set(
            xlabel=x_text(dataset, spec),
            ylabel=axis_text(dataset, spec.y, spec.y_label, symbol),
        )
        if drawn.empty:
            empty(axes, *(["all values are zero"] if (rows["status"] == "zero").any() else []))
            return [Drawn(axes)]
        handles = draw_series(axes, drawn)
        marks = printed.marks(dataset, spec)
        marks = marks[marks["series"].isin(drawn["series"])].assign(y=lambda own: own["y"] / factor)
        handles += printed.draw(axes, marks, style.series_styles(list(drawn["series"].unique())))
        set_scales(axes, spec, pd.concat([drawn, marks.assign(low=marks["y"], high=marks["y"])]))
        # A single series needs no name, but the legend says what hollow markers are.
        return [Drawn(axes, handles if list(rows["series"].unique()) != [ALL] else handles[1:])]

    panel = Panel(draw, spec.letter, note=caption.gap_note(dataset))
    return Shown([panel], _numbers(rows, x_heading(dataset, spec), symbol, factor))


def _numbers(rows: pd.DataFrame, heading: str, unit: str, factor: float) -> Table:
    """Numbers of the curves: a row for each x, a column for each series; gaps say why they are gaps."""
    # A series that the experiment leaves out everywhere would be a column without a number.
    rows = rows[rows.groupby("series")["status"].transform(lambda known: (known != "excluded").any())]
    suffix = f", {unit}" if unit else ""
    labels: dict[str, str] = dict(zip(rows["series"], rows["label"], strict=True))
    values = (rows[["y", "low", "high"]] / factor).to_numpy(dtype=float)
    columns = (rows[name] for name in ("choice", "older", "status"))
    texts = [_cell(*value, *rest) for value, *rest in zip(values, *columns, strict=True)]
    cells = dict(zip(zip(rows["series"], rows["x"], strict=True), texts, strict=True))
    return Table(
        headings=[heading, *(f"{label}{suffix}" for label in labels.values())],
        rows=[
            [formatting.number(x), *(cells.get((name, x), "") for name in labels)] for x in sorted(rows["x"].unique())
        ],
    )


def _cell(value: float, low: float, high: float, choice: str, older: str, status: str) -> str:
    if not np.isfinite(value):
        return "0" if status == "zero" else status
    text = formatting.number(value)
    if high > low:
        text += f" [{formatting.number(low)}–{formatting.number(high)}]"
    notes = "; ".join(note for note in (choice, older) if note)
    return f"{text} ({notes})" if notes else text


def draw_series(axes: "Axes", drawn: pd.DataFrame, names: Sequence[str] = ()) -> "list[Line2D]":
    """Draw lines, markers and bands; return the legend's entries: the series in order, then what hollow markers mean.

    Parameters
    ----------
    axes
        Where to draw.
    drawn
        Rows of `analysis.table.figure_table` that have a value.
    names
        All series of the figure, where other axes of it show more than these rows: it decides the looks.
    """
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow to import

    looks = style.series_styles(names or list(drawn["series"].unique()))
    labels = drawn.drop_duplicates("series").set_index("series")["label"]
    entries = []
    for name, own in drawn.groupby("series", sort=False):
        look = looks[str(name)]
        line: dict[str, Any] = {
            "color": look.colour,
            "marker": look.marker,
            "linestyle": (0, look.dashes) if look.dashes else "-",
            "markeredgecolor": EDGE[0],
            "markeredgewidth": EDGE[1],
        }
        # Lines of a run only: across a gap nothing was measured.
        for _, run in own.sort_values("x").groupby("run"):
            axes.plot(run["x"], run["y"], zorder=3, **line)
        entries.append(Line2D([], [], label=labels[name], **line))
    for _, run in drawn.groupby("run"):
        if (run["high"] > run["low"]).any():
            colour = looks[run["series"].iloc[0]].colour
            axes.fill_between(run["x"], run["low"], run["high"], color=colour, alpha=0.2, linewidth=0, zorder=2)
    for name, own in drawn[drawn["older"] != ""].groupby("series"):
        look = looks[str(name)]
        revisions.hollow(axes, own["x"], own["y"], look.colour, look.marker)
    return [*entries, *revisions.legend(drawn["older"])]


def set_scales(axes: "Axes", spec: FigureSpec, drawn: pd.DataFrame) -> None:
    """Give axes the scales that a ``figure`` block asks for, with limits around the rows."""
    x = sorted(drawn["x"].unique())
    y = [each for each in (*drawn["low"], *drawn["high"]) if each > 0 or spec.y_scale != "log"]
    if spec.x_scale == "log":
        axis_tools.set_log_axis(axes.xaxis, *axis_tools.padded(x), values=x)
    if spec.y_scale == "log":
        axis_tools.set_log_axis(axes.yaxis, *axis_tools.padded(y))
    else:
        axes.set_ylim(bottom=min(0.0, *y))


def x_text(dataset: xr.Dataset, spec: FigureSpec) -> str:
    """Text of the horizontal axis."""
    return axis_text(dataset, spec.x, spec.x_label, plain_unit(dataset, spec.x))


def axis_text(dataset: xr.Dataset, name: str, given: str | None, unit: str) -> str:
    """Text of an axis: as given, else what the quantity is known as, else the dataset's own; with the unit."""
    text = given or DEFAULT_LABELS.get(name) or str(dataset[name].attrs.get("long_name", name))
    return f"{text[:1].upper()}{text[1:]}{f' ({unit})' if unit else ''}"
