"""How long packets between each pair of processes waited for others: a matrix for each series, on one colour scale.

The family of Zheng & Marguinaud 2018, Fig. 7. Processes are joined to at most a few hundred groups of consecutive
ranks, since a picture has no more pixels and 10^4 x 10^4 cells no reader.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from analysis import caption
from analysis.figures.panel import Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import Table, ranks_of, series_labels, series_names
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from numpy.typing import NDArray

SOURCE, DESTINATION = "source_bin", "destination_bin"
MEAN, PACKETS = "congestion_mean", "congestion_packets"
COLOURS = "rocket_r"
#: Largest over smallest median of the matrices from which colours are logarithmic: below, differences would be lost.
WIDE = 8.0


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return a panel for each series, lettered in order from the experiment's own letter, and a row of numbers.

    Parameters
    ----------
    dataset
        Variable ``congestion_mean`` with the dimensions ``source_bin`` and ``destination_bin``; members are averaged.
    spec
        What makes the panels (``lines``).

    Raises
    ------
    ValueError
        If the dataset has no such matrix.
    """
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415 - slow to import
    from seaborn import color_palette  # noqa: PLC0415

    series = _matrices(dataset, MEAN, spec)
    unit, factor = _unit([values for _, values in series])
    norm = _norm([values / factor for _, values in series])
    colours = ScalarMappable(norm, color_palette(COLOURS, as_cmap=True))
    words = f"Mean delay of a packet ({unit})"
    ranks, labels = ranks_of(dataset), series_labels(dataset, spec)

    def panel(place: int, key: str, values: "NDArray[np.float64]") -> Panel:
        def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
            axes = figure.add_subplot(cell)
            axes.grid(visible=False)
            if not np.isfinite(values).any():
                empty(axes)
                return [Drawn(axes)]
            edges = np.linspace(0, ranks or len(values), len(values) + 1)
            axes.set_facecolor("#f2f2f2")
            axes.pcolormesh(edges, edges, values / factor, norm=norm, cmap=colours.cmap, rasterized=True)
            axes.set(aspect="equal", xlabel="Destination", ylabel="Source")
            axes.invert_yaxis()
            axes.tick_params(direction="out", top=False, right=False)
            return [Drawn(axes, colours=colours, colour_label=words)]

        letter = chr(ord(spec.letter or "a") + place) if spec.letter or len(series) > 1 else ""
        return Panel(draw, letter, title=labels[key] if len(series) > 1 else "", aspect=0.86)

    result = [panel(place, key, values) for place, (key, values) in enumerate(series)]
    note = caption.gap_note(dataset)
    found = [*result[:-1], *(replace(last, note=note) for last in result[-1:])]
    packets = dict(_matrices(dataset, PACKETS, spec))
    return Shown(found, _numbers([(labels[key], values / factor, packets[key]) for key, values in series], unit))


def _numbers(series: "Sequence[tuple[str, NDArray[np.float64], NDArray[np.float64]]]", unit: str) -> Table:
    """How high and how even congestion is: a row for each series.

    The mean delay is that of all packets, so that each pair of groups counts by those it exchanges. All else is over
    the pairs that exchange anything; the unevenness is their coefficient of variation.
    """
    rows = []
    for label, values, packets in series:
        there = np.isfinite(values)
        found = values[there]
        if not found.size:
            rows.append([label, "missing", *[""] * 4])
            continue
        mean = np.average(found, weights=packets[there])
        uneven = found.std() / found.mean() if found.mean() > 0 else math.nan
        statistics = [mean, np.median(found), np.quantile(found, 0.95), found.max(), uneven]
        rows.append([label, *(formatting.number(float(value), 3) for value in statistics)])
    words = ("mean of packets", "median of pairs", "95 % of pairs", "largest of pairs")
    return Table(["Series", *(f"{word}, {unit}" for word in words), "unevenness of pairs"], rows)


def _matrices(dataset: xr.Dataset, name: str, spec: FigureSpec) -> "list[tuple[str, NDArray[np.float64]]]":
    """Return a variable's matrix for each series, with source first, averaged over members."""
    if name not in dataset:
        raise ValueError(f"figure.kind: 'congestion-matrix' needs the variable {name}, which the dataset lacks")
    kept = (SOURCE, DESTINATION)
    # Of few processes there are fewer groups than the dataset has places.
    own = slice(ranks_of(dataset))
    return [
        (
            key,
            chosen.mean([dim for dim in chosen.dims if dim not in kept], skipna=True).transpose(*kept).values[own, own],
        )
        for key, chosen in series_names(dataset[name], spec.line_dimensions, dataset)
    ]


def _unit(values: "Sequence[NDArray[np.float64]]") -> tuple[str, float]:
    found = np.concatenate([matrix[np.isfinite(matrix) & (matrix > 0)] for matrix in values] or [np.empty(0)])
    return formatting.time_unit([float(np.median(found))] if found.size else [])


def _norm(values: "Sequence[NDArray[np.float64]]") -> "Normalize":
    """One scale for all matrices: from zero, or logarithmic where the series lie far apart."""
    from matplotlib.colors import LogNorm, Normalize  # noqa: PLC0415 - slow to import

    positive = [matrix[np.isfinite(matrix) & (matrix > 0)] for matrix in values]
    positive = [matrix for matrix in positive if matrix.size]
    if not positive:
        return Normalize(0, 1)
    medians = [float(np.median(matrix)) for matrix in positive]
    joined = np.concatenate(positive)
    high = float(np.quantile(joined, 0.999))
    if max(medians) / min(medians) > WIDE:
        return LogNorm(float(np.quantile(joined, 0.01)), high)
    return Normalize(0, high)
