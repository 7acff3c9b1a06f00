"""The same points on several substrates: times and their ratios at the left, what each substrate costs at the right.

Colour and line say the substrate, in all figures the same; the marker says the machine. What was measured on a real
machine stands beside the others without a ratio: its network is none of theirs.
"""

from typing import TYPE_CHECKING

import xarray as xr

from analysis import caption, facts
from analysis.figures import axes as axis_tools
from analysis.figures import scaling
from analysis.figures.panel import Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import Table, figure_table, y_unit
from tramontane.comparison.substrates import REFERENCE, SUBSTRATE, compare, over_members, ratios
from tramontane.results.revisions import REVISION, label, newest
from tramontane.support import formatting

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Height over width of a panel: two pairs of axes, and a legend below them where it would cover too much of them.
ASPECT, LEGEND = 0.95, 0.17
#: So many series have their legend beside the lines.
FEW = 4
#: Axis text of the ratios.
RATIO = "Time / simulator's"
#: What stands where there is nothing to compare.
NOTHING = "–"


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return two panels: times above their ratios to the simulator's, and wall time above memory; and all as tables.

    Parameters
    ----------
    dataset
        A collated dataset with the dimension ``substrate``.
    spec
        Its ``figure`` block.

    Raises
    ------
    ValueError
        If the block names what the dataset lacks.
    """
    if SUBSTRATE not in dataset.dims:
        found = ", ".join(map(str, dataset.dims))
        raise ValueError(f"figure.kind: 'substrates' needs a dimension '{SUBSTRATE}', found {found}")
    rows, symbol = _rows(dataset, spec)
    with_ratios = _of_reference(dataset).assign(time_s=_all_ratios(dataset))
    below, _ = _rows(with_ratios, spec.changed(y_scale="linear"))
    wall, wall_symbol = _rows(dataset, spec.changed(y="wall_s"))
    memory, _ = _rows(_in_mb(dataset), spec.changed(y="peak_rss_bytes"))
    x_text = scaling.x_text(dataset, spec)

    below_axes = rows["series"].nunique() > FEW
    aspect = ASPECT + (LEGEND if below_axes else 0)

    def times(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        above, under, words = _axes(figure, cell, x_text, below_axes)
        above.set(ylabel=scaling.axis_text(dataset, spec.y, spec.y_label, symbol))
        under.set(ylabel=RATIO)
        if rows.empty:
            empty(above)
            return [Drawn(above), Drawn(under)]
        handles = scaling.draw_series(above, rows)
        scaling.set_scales(above, spec, rows)
        if not below.empty:
            scaling.draw_series(under, below, names=list(rows["series"].unique()))
        under.axhline(1, color="#333333", linewidth=0.8, zorder=1)
        axis_tools.set_log_axis(under.xaxis, *above.get_xlim(), values=sorted(rows["x"].unique()))
        values = [1.0, *below["y"]]
        reach = max(0.05, 0.15 * (max(values) - min(values)))
        under.set_ylim(min(values) - reach, max(values) + reach)
        if words is None:
            return [Drawn(above, handles), Drawn(under)]
        legend = words.legend(handles=handles, loc="center", ncols=2, frameon=False)
        legend.set_in_layout(False)  # it would narrow the axes above it
        return [Drawn(above), Drawn(under)]

    def costs(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        above, under, _ = _axes(figure, cell, x_text, below_axes)
        above.set(ylabel=f"Wall time of a point ({wall_symbol})")
        under.set(ylabel="Memory (MB)")
        for axes, drawn in ((above, wall), (under, memory)):
            if drawn.empty:
                empty(axes)
                continue
            scaling.draw_series(axes, drawn, names=list(rows["series"].unique()))
            scaling.set_scales(axes, spec.changed(y_scale="log"), drawn)
            axis_tools.set_log_axis(
                axes.xaxis, *axis_tools.padded(sorted(rows["x"].unique())), values=sorted(rows["x"].unique())
            )
        return [Drawn(above), Drawn(under)]

    panels = [
        Panel(times, spec.letter, _workload(dataset), note=caption.gap_note(dataset), aspect=aspect),
        Panel(costs, title="speed and memory", aspect=aspect),
    ]
    return Shown(panels, scaling.show(dataset, spec).numbers, _summaries(dataset))


def _summaries(dataset: xr.Dataset) -> list[Table]:
    """Return how far the substrates are apart, and what they cost, a row each."""
    found = compare(dataset)
    older = label(dataset[REVISION].values.ravel(), newest(dataset)) if REVISION in dataset else ""
    simulators = f"simulator's{f' of {older}' if older else ''}"
    apart = [
        [
            each.substrate,
            formatting.number(each.common),
            *(_ratio(value) for value in (each.median_ratio, each.least_ratio, each.largest_ratio)),
            f"{each.agreeing} of {each.orderings}" if each.orderings else NOTHING,
        ]
        for each in found
        if each.substrate != REFERENCE
    ]
    costs = [
        [
            each.substrate,
            formatting.number(each.own),
            NOTHING if each.wall_s is None else formatting.seconds(each.wall_s),
            _number(each.wall_ratio),
            NOTHING if each.memory_bytes is None else formatting.size(round(each.memory_bytes, -6)),
            _number(each.memory_ratio),
        ]
        for each in found
    ]
    return [
        Table(
            ["Substrate", "common points", "median", "least", "largest", "orderings alike"],
            apart,
            f"Communication time over the embedded {simulators}",
        ),
        Table(
            [
                "Substrate",
                "points",
                "wall time, median",
                "over the simulator's",
                "memory, most",
                "over the simulator's",
            ],
            costs,
            "Speed and memory: of the simulation alone, the embedded simulator's memory with Python's (some 60 MB), "
            "that of others without; of MPI, the job with the start of its ranks",
        ),
    ]


def _rows(dataset: xr.Dataset, spec: FigureSpec) -> "tuple[pd.DataFrame, str]":
    """Return what is drawn of a variable, in the unit in which it reads best, and that unit."""
    rows = figure_table(dataset, spec)
    symbol, factor = y_unit(dataset, spec, rows)
    drawn = rows[rows["y"].notna()].copy()
    drawn[["y", "low", "high"]] /= factor
    return drawn, symbol


def _all_ratios(dataset: xr.Dataset) -> xr.DataArray:
    """Return the ratios of all substrates but the reference, which would be a line at 1."""
    joined = over_members(dataset)
    own = [
        ratios(joined, str(name)).where(str(name) != REFERENCE).expand_dims({SUBSTRATE: [name]})
        for name in joined[SUBSTRATE].values
    ]
    together = xr.concat(own, SUBSTRATE).broadcast_like(dataset["time_s"]).transpose(*dataset["time_s"].dims)
    return together.assign_attrs(units="1")


def _of_reference(dataset: xr.Dataset) -> xr.Dataset:
    """Return a dataset whose points have the revision of the reference, on which their ratios rest."""
    if REVISION not in dataset or REFERENCE not in dataset[SUBSTRATE].values:
        return dataset
    own = dataset[REVISION]
    return dataset.assign(
        {REVISION: own.sel({SUBSTRATE: REFERENCE}, drop=True).broadcast_like(own).transpose(*own.dims)}
    )


def _in_mb(dataset: xr.Dataset) -> xr.Dataset:
    return dataset.assign(peak_rss_bytes=(dataset["peak_rss_bytes"] / 1e6).assign_attrs(units="MB"))


def _axes(figure: "Figure", cell: "SubplotSpec", x_text: str, with_legend: bool) -> "tuple[Axes, Axes, Axes | None]":
    """Return two pairs of axes with one horizontal axis, and below them room for a legend where it is wanted."""
    ratios = [1.8, 1, 3 * LEGEND] if with_legend else [1.8, 1]
    grid = cell.subgridspec(len(ratios), 1, height_ratios=ratios)
    above, under, *others = (figure.add_subplot(grid[row]) for row in range(len(ratios)))
    above.tick_params(labelbottom=False)
    under.set(xlabel=x_text)
    for axes in others:
        axes.set_axis_off()
    return above, under, others[0] if others else None


def _workload(dataset: xr.Dataset) -> str:
    return str(facts.base(dataset).get("workload", {}).get("kind", ""))


def _ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _number(value: float | None) -> str:
    return NOTHING if value is None else formatting.number(value, 3)
