"""Which links are busy: for each series and class of links, the load of the busiest one, and the mean of those used.

The largest value along the horizontal dimension is drawn: that is where a network is fullest.
"""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import xarray as xr

from analysis import caption
from analysis.figures.panel import Drawn, Panel, empty
from analysis.spec import FigureSpec
from analysis.table import Table, figure_table
from tramontane.study.quantities import LINKS
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

_SHOWN = ("used_load", "max_load", "peak_queue")


def panels(dataset: xr.Dataset, spec: FigureSpec) -> list[Panel]:
    """Return bars of the busiest link of each class, and marks at the mean of those that carry something.

    Parameters
    ----------
    dataset
        A collated dataset of points with ``statistics: {links: hottest}``.
    spec
        Its ``figure`` block.

    Raises
    ------
    ValueError
        If no point tells single links.
    """
    rows = link_table(dataset, spec)

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        import seaborn  # noqa: PLC0415 - slow to import

        axes = figure.add_subplot(cell)
        used = rows[rows["max_load"] > 0]
        names = list(dict.fromkeys(used["label"]))
        if not names:
            empty(axes)
            return [Drawn(axes)]
        handles: list[Artist] = []
        ticks: list[tuple[float, str]] = []
        at = 0.0
        for name, colour in zip(names, seaborn.color_palette("colorblind", len(names)), strict=True):
            own = used[used["label"] == name]
            places = at + np.arange(len(own))
            handles.append(axes.bar(places, 100 * own["max_load"], 0.85, color=colour, label=name).patches[0])
            handles[-1].set_label(name)
            axes.hlines(100 * own["used_load"], places - 0.4, places + 0.4, color="black", linewidth=1)
            ticks += zip(places.tolist(), own["link"], strict=True)
            at = float(places[-1]) + 2
        handles += axes.plot([], [], color="black", linewidth=1, label="mean of those used")
        axes.set_xticks([place for place, _ in ticks], [text for _, text in ticks], rotation=60, ha="right")
        axes.tick_params(axis="x", which="minor", bottom=False)
        axes.set(ylabel="Load of the busiest link (%)", ylim=(0, 1.1 * max(100 * rows["max_load"].max(), 1e-9)))
        return [Drawn(axes, handles)]

    return [Panel(draw, spec.letter, note=caption.gap_note(dataset))]


def numbers(dataset: xr.Dataset, spec: FigureSpec) -> Table:
    """Return the same as a table, with the longest queues."""
    rows = link_table(dataset, spec)
    cells = [
        [
            str(row["label"]),
            formatting.number(row["x"]),
            str(row["link"]),
            f"{100 * row['used_load']:.1f}",
            f"{100 * row['max_load']:.1f}",
            f"{row['peak_queue'] / 1000:.1f}",
        ]
        for _, row in rows.iterrows()
    ]
    return Table(
        ["Series", spec.x_label or spec.x, "Links", "Mean load of used ones, %", "Busiest, %", "Longest queue, kB"],
        cells,
    )


def link_table(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows ``label, x, link, used_load, max_load, peak_queue [B]`` of each series at its largest x; medians."""
    variables = {key: LINKS[key].name for key in _SHOWN}
    if variables["max_load"] not in dataset:
        raise ValueError("figure.kind: found 'links', but no point tells single links, allowed: another kind")
    parts = []
    for link in dataset["link"].values:
        of_link = dataset.sel(link=link, drop=True)
        columns = {}
        for key, name in variables.items():
            columns[key] = figure_table(of_link, spec.model_copy(update={"y": name, "y_scale": "linear"}))
        rows = columns["used_load"][["series", "label", "x"]].assign(link=str(link))
        parts.append(rows.assign(**{key: table["y"].to_numpy() for key, table in columns.items()}))
    rows = pd.concat(parts).dropna(subset=["used_load"])
    order = {label: place for place, label in enumerate(dict.fromkeys(rows["label"]))}
    rows = rows[rows["x"] == rows.groupby("label")["x"].transform("max")]
    return rows.assign(order=rows["label"].map(order)).sort_values("order", kind="stable").drop(columns="order")
