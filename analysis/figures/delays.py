"""How long packets waited for others: share of packets by delay, one line for each series.

The family of Zheng & Marguinaud 2018, Fig. 8. Above, the share of packets in each bin; the bins are of equal width on
the logarithmic axis, so that equal areas are equal shares. Below, the share that waited less than so long, where a
statement such as "20 % wait less than 10 us" can be read. A delay is the time a packet lost against an empty network.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from analysis import caption, style
from analysis.figures import axes as axis_tools
from analysis.figures.panel import Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import Table, series_labels, series_names
from tramontane.results.delays import share_below
from tramontane.results.revisions import MEMBER
from tramontane.support import formatting

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

VARIABLE, BIN = "delay_packets", "delay_bin"
LOWER, UPPER = "delay_lower", "delay_upper"
#: Share in per cent below which the ends of a distribution are not drawn.
LEAST = 0.02
#: Delays in seconds whose cumulative shares the table gives.
MARKS = (1e-6, 1e-5, 3e-5, 5e-5, 1e-4, 1e-3)
#: Height over width of a panel: two pairs of axes.
ASPECT = 0.95


def delay_table(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows of a figure: one for each series and bin.

    Parameters
    ----------
    dataset
        Variable ``delay_packets`` with the dimension ``delay_bin`` and its bounds ``delay_lower`` and ``delay_upper``
        in seconds.
    spec
        What makes the lines.

    Returns
    -------
    DataFrame
        Columns ``series``, ``label``, ``lower``, ``upper`` (seconds), ``share`` and ``below``: per cent of the packets
        in the bin, and of those that waited less than ``upper``. ``below`` is the median of the members, as in the
        statements of papers, and ``share`` what it grows by. Packets of whatever else is no line are counted together;
        a series without a result has no rows.

    Raises
    ------
    ValueError
        If the dataset has no delays.
    """
    lower, upper = _bounds(dataset)
    labels = series_labels(dataset, spec)
    tables = []
    for name, packets in _packets(dataset, spec):
        below = np.median(100 * packets.cumsum(axis=1) / packets.sum(axis=1, keepdims=True), axis=0)
        columns: dict[str, Any] = {"series": name, "label": labels[name], "lower": lower, "upper": upper}
        tables.append(pd.DataFrame({**columns, "share": np.diff(below, prepend=0.0), "below": below}))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame({"series": [], "label": []})


def _bounds(dataset: xr.Dataset) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the lower and upper bounds of the bins (ValueError if there are none)."""
    if VARIABLE not in dataset:
        raise ValueError(f"figure.kind: 'delay-distribution' needs the variable {VARIABLE}, which the dataset lacks")
    lower, upper = (np.asarray(dataset[name].values, dtype=float) for name in (LOWER, UPPER))
    return lower, upper


def _packets(dataset: xr.Dataset, spec: FigureSpec) -> "Iterator[tuple[str, NDArray[np.float64]]]":
    """Yield the name of each series that has a result, and the packets of each of its members in each bin."""
    for name, chosen in series_names(dataset[VARIABLE], spec.line_dimensions, dataset):
        kept = [dim for dim in (MEMBER, BIN) if dim in chosen.dims]
        of_members = chosen.sum([dim for dim in chosen.dims if dim not in kept], skipna=True).transpose(*kept)
        packets = np.atleast_2d(np.nan_to_num(of_members.values.astype(float)))
        if (packets := packets[packets.sum(axis=1) > 0]).size:
            yield name, packets


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return the delays of a dataset as one panel of two pairs of axes, and a row of numbers for each series.

    Parameters
    ----------
    dataset, spec
        As in `delay_table`.
    """
    rows = delay_table(dataset, spec)

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        if rows.empty:
            axes = figure.add_subplot(cell)
            empty(axes)
            return [Drawn(axes)]
        grid = cell.subgridspec(2, 1)
        above = figure.add_subplot(grid[0])
        below = figure.add_subplot(grid[1], sharex=above)
        handles = _draw_shares(above, below, rows)
        above.tick_params(labelbottom=False)
        above.set(ylabel="Packets per bin (%)", xlabel="")
        below.set(ylabel="Delayed less (%)", xlabel=spec.x_label or "Delay of a packet (µs)")
        return [Drawn(above, handles), Drawn(below)]

    panel = Panel(draw, spec.letter, note=caption.gap_note(dataset), aspect=ASPECT)
    return Shown([panel], _numbers(dataset, spec))


def _numbers(dataset: xr.Dataset, spec: FigureSpec) -> Table:
    """Shares of the packets that waited less than some round times: a row for each series."""
    bounds, labels = _bounds(dataset), series_labels(dataset, spec)
    rows = []
    for name, packets in _packets(dataset, spec):
        below = (100 * float(np.median(share_below(*bounds, packets, mark))) for mark in MARKS)
        rows.append([labels[name], *(formatting.number(share, 3) for share in below)])
    return Table(["Series", *(f"below {formatting.seconds(mark)}, %" for mark in MARKS)], rows)


def _draw_shares(above: "Axes", below: "Axes", rows: pd.DataFrame) -> list[Any]:
    """Draw both curves of all series; return the legend's entries."""
    import seaborn  # noqa: PLC0415 - slow to import
    from matplotlib.lines import Line2D  # noqa: PLC0415

    names = list(rows["series"].unique())
    looks = style.series_styles(names)
    drawn = rows[(rows["lower"] > 0)].copy()
    drawn["at"] = drawn["lower"] * 1e6
    drawn["end"] = np.where(drawn["upper"] < 1e3, drawn["upper"], drawn["lower"]) * 1e6
    for axes, x, y in ((above, "at", "share"), (below, "end", "below")):
        seaborn.lineplot(
            drawn,
            x=x,
            y=y,
            hue="series",
            style="series",
            estimator=None,
            hue_order=names,
            style_order=names,
            palette={name: look.colour for name, look in looks.items()},
            dashes={name: look.dashes or "" for name, look in looks.items()},
            drawstyle="steps-post" if y == "share" else "default",
            legend=False,
            zorder=3,
            ax=axes,
        )
    for name in names:
        own = drawn[drawn["series"] == name]
        above.fill_between(own["at"], own["share"], step="post", color=looks[name].colour, alpha=0.12, linewidth=0)
    seen = drawn[drawn["share"] >= LEAST]
    seen = drawn if seen.empty else seen
    axis_tools.set_log_axis(above.xaxis, seen["at"].min() / 1.3, seen["end"].max() * 1.3)
    above.set_ylim(0, drawn["share"].max() * 1.08 or 1)
    below.set_ylim(0, 103)
    labels = rows.drop_duplicates("series").set_index("series")["label"]
    return [
        Line2D([], [], color=look.colour, linestyle=(0, look.dashes) if look.dashes else "-", label=labels[name])
        for name, look in looks.items()
    ]
