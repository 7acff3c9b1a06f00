"""Which links are busy and why ranks wait: for each series the load of the busiest link of each class, and its causes.

Of several dimensions that make lines, each value of the first has panels of its own. On the left are loads: a bar is
that of the busiest link of a class, the mark in it the mean of those that carry something. On the right is what part of
the communication time a rank waits, by cause, and beside it that time. The largest value along the horizontal dimension
is drawn: that is where a network is fullest.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import caption, style, table
from analysis.figures.axes import in_lines
from analysis.figures.panel import SOFT, Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import Table, figure_table, x_heading
from tramontane.results.revisions import MEMBER
from tramontane.study.networks.link_names import INJECTION
from tramontane.study.values.quantities import LINKS, SINGLE_LINKS, WAITING_TIME
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

_SHOWN = ("used_load", "max_load", "peak_queue")
_SHARE = "share"
CLASS = "single_link_class"
_TOLD = ("single_link_name", CLASS, SINGLE_LINKS["load"].name, SINGLE_LINKS["peak_queue"].name)
#: The classes of links to nodes and from them, and their colours.
OF_NODES = {"ejection": "#888888", INJECTION: "#bbbbbb"}
#: Causes of less than this part of the time have no entry in the legend.
_LEAST = 0.001
#: Links of a series that are named.
NAMED = 3
#: Height of a series' bars, of a line of its name, and of the words around a panel [in].
ROW, TEXT, AROUND = 0.27, 0.13, 0.75
#: Characters of a line of a series' name.
NAME = 22
#: Height of a line of a legend, in heights of a series; a legend's columns, one less beside names of several lines.
LINE, COLUMNS = 0.55, 3
#: Part of a row that bars take.
ROOM = 0.82
#: Colours of link classes, from dark to light; more classes than these can tell apart take others.
SHADES, MOST_SHADES = "mako", 6
#: Colour of means.
MEAN = "#EE6677"
#: The rest of the time, in which a rank does not wait.
NOT_WAITING, PALE = "not waiting", "#dddddd"


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return panels of loads, each followed by one of waiting if that was counted, and all as tables.

    Parameters
    ----------
    dataset
        A collated dataset of points with ``statistics: {links: hottest}``, and ``waiting: 1`` for the causes.
    spec
        Its ``figure`` block.

    Raises
    ------
    ValueError
        If no point tells single links.
    """
    loads = link_table(dataset, spec)
    waits = waiting_table(dataset, spec)
    note = caption.gap_note(dataset)
    used = loads[loads["max_load"] > 0]
    most = 100 * float(used["max_load"].max()) if len(used) else 100.0
    found = []
    for place, group in enumerate(list(dict.fromkeys(used["group"])) or [""]):
        own, waiting = used[used["group"] == group], waits[waits["group"] == group]
        lines = max((in_lines(str(label), NAME).count("\n") + 1 for label in own["label"]), default=1)
        row, columns = max(ROW, TEXT * lines), COLUMNS if lines == 1 else COLUMNS - 1
        # Legends of both panels take the same room above the bars, so that bars of one series stand side by side.
        entries = max(own["link"].nunique() + 1, waiting["cause"].nunique() + 1 if len(waiting) else 0)
        room = (0.3 + LINE * -(-entries // columns)) * ROW / row
        height = AROUND + row * (max(own["label"].nunique(), 2) + room)
        titles = (f"{group}: {words}" if group else words for words in ("load of links", "why ranks wait"))
        letter, gaps = (spec.letter, note) if place == 0 else ("", "")
        found.append(
            Panel(_loads(own, room, columns, most), letter, next(titles), "" if len(waiting) else gaps, height)
        )
        if len(waiting):
            found.append(Panel(_waits(waiting, room, columns), "", next(titles), gaps, height))
    names = hottest_table(dataset, spec)
    return Shown(
        found, _numbers(loads, x_heading(dataset, spec)), _summaries(waits, names, dataset.sizes.get(MEMBER, 1))
    )


def _numbers(rows: pd.DataFrame, x_name: str) -> Table:
    """Return the loads as a table, with the longest queues."""
    cells = [
        [
            _series(row),
            formatting.number(row["x"]),
            str(row["link"]),
            f"{100 * row['used_load']:.1f}",
            f"{100 * row['max_load']:.1f}",
            f"{row['peak_queue'] / 1000:.1f}",
        ]
        for _, row in rows.iterrows()
    ]
    return Table(
        ["Series", x_name, "Links", "Mean load of used ones, %", "Busiest, %", "Longest queue, KB"],
        cells,
    )


def _summaries(waits: pd.DataFrame, names: pd.DataFrame, members: int) -> list[Table]:
    """Return why ranks wait, and which links are the busiest, as tables; those that were counted."""
    found = []
    if len(waits):
        causes = list(dict.fromkeys(waits["cause"]))
        rows = []
        for (_, _), own in waits.groupby(["group", "label"], sort=False):
            shares = own.set_index("cause")["share"]
            first = own.iloc[0]
            time = formatting.seconds(float(first["time"]))
            rows.append([_series(first), time, *(f"{100 * shares[cause]:.1f}" for cause in causes)])
        headings = ["Series", "Communication time", *(f"{cause}, %" for cause in causes)]
        found.append(Table(headings, rows, "Why ranks wait, mean over all, in parts of the communication time"))
    if len(names):
        rows = []
        for (_, _), own in names.groupby(["group", "label"], sort=False):
            first = own.iloc[0]
            cells = [
                f"{row['name']}: {100 * row['load']:.1f} %, {row['queue'] / 1000:.0f} KB" for _, row in own.iterrows()
            ]
            rows.append([_series(first), str(first["link"]), *cells, *[""] * (NAMED - len(cells))])
        headings = ["Series", "Links", "Busiest", *("Next",) * (NAMED - 1)]
        whose = f" of the first of {members} members" if members > 1 else ""
        title = f"The busiest links between switches{whose}, from switch to switch: load and longest queue"
        found.append(Table(headings, rows, title))
    return found


def link_table(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows ``group, label, x, link, used_load, max_load, peak_queue [B]`` of each series at its largest x; medians."""
    variables = {key: LINKS[key].name for key in _SHOWN}
    if variables["max_load"] not in dataset:
        raise ValueError("figure.kind: found 'links', but no point tells single links, allowed: another kind")
    parts = []
    for group, of_group, own in _groups(dataset, spec):
        for link in of_group["link"].values:
            of_link = of_group.sel(link=link, drop=True)
            columns = {
                key: figure_table(of_link, own.model_copy(update={"y": name, "y_scale": "linear"}))
                for key, name in variables.items()
            }
            rows = columns["used_load"][["label", "x"]].assign(group=group, link=str(link))
            parts.append(rows.assign(**{key: found["y"].to_numpy() for key, found in columns.items()}))
    return _largest(pd.concat(parts).dropna(subset=["used_load"]))


def waiting_table(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows ``group, label, x, cause, share, time [s]``: the part of the time for each cause; none if not counted."""
    if WAITING_TIME.name not in dataset:
        return pd.DataFrame({"group": [], "label": []})
    parts = []
    for group, of_group, own in _groups(dataset, spec):
        linear = own.model_copy(update={"y_scale": "linear"})
        times = figure_table(of_group, linear)["y"].to_numpy()
        shares = _mean_over_ranks(of_group) / of_group["time_s"]
        for cause in dataset["cause"].values:
            of_cause = of_group.assign({_SHARE: shares.sel(cause=cause, drop=True)})
            rows = figure_table(of_cause, linear.model_copy(update={"y": _SHARE}), part=True)
            parts.append(rows[["label", "x"]].assign(group=group, cause=str(cause), share=rows["y"], time=times))
    return _largest(pd.concat(parts).dropna(subset=["share"]))


def _mean_over_ranks(dataset: xr.Dataset) -> xr.DataArray:
    """Return how long ranks waited, the mean of all: bins hold as many ranks only where these can be shared evenly."""
    waited = dataset[WAITING_TIME.name]
    bins = waited.notnull().sum("rank_bin").clip(min=1)
    ranks = dataset["ranks"] if "ranks" in dataset.coords else table.ranks_of(dataset) or bins
    begins = -(-xr.DataArray(np.arange(waited.sizes["rank_bin"] + 1), dims="rank_bin") * ranks // bins)
    return waited.weighted(begins.diff("rank_bin")).mean("rank_bin")


def hottest_table(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Rows ``group, label, x, link, name, load, queue [B]``: of each series the links between switches that carry most.

    They are those of the first member, of the class of the busiest one; names are those of their switches.
    """
    rows = []
    if SINGLE_LINKS["load"].name not in dataset:
        return pd.DataFrame({"group": [], "label": []})
    for group, of_group, own in _groups(dataset, spec):
        first = of_group.isel({MEMBER: 0}, drop=True) if MEMBER in of_group.dims else of_group
        series = [table.series_names(first[name], own.line_dimensions, first) for name in _TOLD]
        for told in zip(*series, strict=True):
            label = table.line_label(told[0][0], spec)
            variables = dict(zip(_TOLD, (variable for _, variable in told), strict=True))
            for place, x in enumerate(first[spec.x].values.tolist()):
                name, kind, load, queue = (
                    variable.isel({spec.x: place}).squeeze(drop=True).to_numpy() for variable in variables.values()
                )
                between = np.flatnonzero(~np.isin(kind, list(OF_NODES)) & (load > 0))
                for at in between[kind[between] == kind[between[:1]]][:NAMED]:
                    words = str(name[at]).removeprefix(f"{kind[at]} link, ").removeprefix("switch ")
                    rows.append((group, label, x, str(kind[at]), words, load[at], queue[at]))
    return _largest(pd.DataFrame(rows, columns=["group", "label", "x", "link", "name", "load", "queue"]))


def _groups(dataset: xr.Dataset, spec: FigureSpec) -> Iterator[tuple[str, xr.Dataset, FigureSpec]]:
    """Yield what has panels of its own: its name, its part of the dataset, and what makes lines within it."""
    first, *rest = spec.line_dimensions or ("",)
    if not rest or first not in dataset.dims:
        yield "", dataset, spec
        return
    for place, value in enumerate(dataset[first].values.tolist()):
        name = table.line_label(table.series_name(dataset, first, value), spec)
        yield name, dataset.isel({first: place}, drop=True), spec.model_copy(update={"lines": rest})


def _largest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of each series at its largest x, series by series in their order."""
    keys = ["group", "label"]
    rows = rows[rows["x"] == rows.groupby(keys)["x"].transform("max")]
    order = {
        key: place for place, key in enumerate(rows.drop_duplicates(keys)[keys].itertuples(index=False, name=None))
    }
    places = [order[key] for key in rows[keys].itertuples(index=False, name=None)]
    return rows.assign(order=places).sort_values("order", kind="stable").drop(columns="order").reset_index(drop=True)


def _series(row: "pd.Series[Any]") -> str:
    return ", ".join(text for text in (str(row["group"]), str(row["label"])) if text)


def _loads(
    rows: pd.DataFrame, room: float, columns: int, most: float
) -> "Callable[[Figure, SubplotSpec], list[Drawn]]":
    """Return what draws the bars of each series below one another, a bar for each class."""

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        import seaborn  # noqa: PLC0415 - slow to import

        axes = figure.add_subplot(cell)
        if rows.empty:
            empty(axes)
            return [Drawn(axes)]
        classes = list(dict.fromkeys(rows["link"]))
        between = [name for name in classes if name not in OF_NODES]
        palette = SHADES if len(between) <= MOST_SHADES else "husl"
        colours: dict[str, Any] = {name: colour for name, colour in OF_NODES.items() if name in classes}
        colours |= dict(zip(between, seaborn.color_palette(palette, len(between)), strict=True))
        for place, (_, own) in enumerate(rows.groupby("label", sort=False)):
            high = ROOM / len(own)
            at = place - ROOM / 2 + high * (np.arange(len(own)) + 0.5)
            axes.barh(at, 100 * own["max_load"], 0.9 * high, color=[colours[name] for name in own["link"]])
            means = 100 * own["used_load"]
            axes.vlines(means, at - 0.45 * high, at + 0.45 * high, color="white", linewidth=2)
            axes.vlines(means, at - 0.45 * high, at + 0.45 * high, color=MEAN, linewidth=1)
        axes.set(xlabel="Load of the busiest link (%)", xlim=(0, min(1.05 * most, 102)))
        mark = axes.plot([], [], color=MEAN, linewidth=1, label="mean")
        _name_rows(axes, list(dict.fromkeys(rows["label"])), room, columns, [*_entries(colours), *mark])
        return [Drawn(axes)]

    return draw


def _waits(rows: pd.DataFrame, room: float, columns: int) -> "Callable[[Figure, SubplotSpec], list[Drawn]]":
    """Return what draws for each series a bar of causes, and its time beside it."""

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        axes = figure.add_subplot(cell)
        causes = list(dict.fromkeys(rows["cause"]))
        colours = dict(zip(causes, style.colours(len(causes)), strict=True))
        for place, (_, own) in enumerate(rows.groupby("label", sort=False)):
            shares = 100 * own["share"].to_numpy()
            left = np.cumsum(shares) - shares
            axes.barh(place, shares, ROOM, left, color=[colours[cause] for cause in own["cause"]])
            axes.barh(place, max(100 - shares.sum(), 0), ROOM, shares.sum(), color=PALE)
            time = formatting.seconds(float(own["time"].iloc[0]))
            axes.annotate(
                time, (100, place), (3, 0), textcoords="offset points", va="center", fontsize="small", color=SOFT
            )
        axes.set(xlabel="Part of the communication time (%)", xlim=(0, 100))
        met = {cause: colours[cause] for cause in causes if rows.loc[rows["cause"] == cause, "share"].max() > _LEAST}
        entries = _entries({**met, NOT_WAITING: PALE})
        _name_rows(axes, list(dict.fromkeys(rows["label"])), room, columns, entries)
        return [Drawn(axes)]

    return draw


def _name_rows(axes: "Axes", labels: list[str], room: float, columns: int, entries: "Sequence[Artist]") -> None:
    """Name the rows of a panel, and put its legend of so many columns into the room above them."""
    axes.set_yticks(range(len(labels)), [in_lines(label, NAME) for label in labels])
    axes.tick_params(axis="y", which="both", length=0)
    axes.set_ylim(len(labels) - 0.5, -0.5 - room)
    axes.grid(visible=False, axis="y")
    looks = {"frameon": False, "fontsize": "small", "handlelength": 1, "handletextpad": 0.4, "columnspacing": 0.8}
    axes.legend(handles=entries, loc="upper left", ncols=min(columns, len(entries)), **looks)


def _entries(colours: "Mapping[str, Any]") -> "list[Artist]":
    from matplotlib.patches import Patch  # noqa: PLC0415 - slow to import

    return [Patch(facecolor=colour, label=name) for name, colour in colours.items()]
