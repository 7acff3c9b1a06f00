"""What the links of a network did in one run: ``python -m analysis.utilisation POINT.yaml RESULT.json STEM``.

Four panels: the groups of the network with what links them and one group with its links, coloured by their load; the
load of each class of links over time; and why ranks waited. Where switches and lines stand is as in a machine's picture
(:mod:`analysis.picture`).
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from analysis import style
from analysis.figures.panel import SOFT, Drawn, Panel, compose
from analysis.picture import (
    MOST_DRAWN,
    NOBODY,
    Layout,
    Places,
    Switches,
    bare,
    between_groups,
    chosen_of,
    curve,
    inside,
    make_room,
    mark_groups,
    places_of_groups,
    some,
    some_groups,
    status,
)
from tramontane.errors import InputError
from tramontane.results.timeline import CAUSES
from tramontane.study import load_point
from tramontane.study.networks.machines import Machine
from tramontane.study.points.points import counts_each
from tramontane.study.reading.reading import read_json
from tramontane.support.formatting import time_unit

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

Loads = NDArray[np.float64]
COLOURS = "magma_r"
KEYS = frozenset({"time_s", "links", "single_links", "bin_s", "waiting"})
"""Of a result, those that are drawn."""
LIGHTEST = 0.15
"""Where in these colours a load of 0 is: before that a line is hardly seen."""
LABEL = "Load, of the busiest link between two"


def loads_of(layout: Layout, result: dict[str, Any]) -> Loads:
    """Return the load of each of the layout's links; 0 of those that no packet went by."""
    of_switches = [link for link in result["single_links"] if "switch" in link]
    return by_place(layout, {(link["switch"], link["port"]): link["load"] for link in of_switches})


def by_place(layout: Layout, known: Mapping[tuple[int, int], float]) -> Loads:
    """Return the load of each of the layout's links, where loads are known by switch and port; 0 of others."""
    ends = zip(layout.links.source.tolist(), layout.links.port.tolist(), strict=True)
    return np.array([known.get(end, 0.0) for end in ends])


def bounds_of_bins(result: dict[str, Any], late: float = 0.0) -> Loads:
    """Return the bounds of the bins of time, none beyond the run's end [s].

    Bins begin with the point, and the time with the first rank, which may start later by `late` (`start_jitter`).
    """
    bounds = np.arange(len(result["links"][0]["bytes_in_bins"]) + 1) * result["bin_s"]
    return np.asarray(np.minimum(bounds, result["time_s"] + late))


def load_over_time(link: dict[str, Any], result: dict[str, Any], late: float = 0.0) -> Loads:
    """Return the load in each bin of time of a class of links, or of a single one; of the last one until its end."""
    carried = np.asarray(link["bytes_in_bins"], dtype=float)
    if link["load"] == 0:
        return np.zeros(len(carried))
    capacity = link["bytes"] / (link["load"] * result["time_s"])
    lengths = np.diff(bounds_of_bins(result, late))
    return np.asarray(np.divide(carried, capacity * lengths, out=np.zeros(len(carried)), where=lengths > 0))


def draw(machine: Machine, result: dict[str, Any], late: float = 0.0) -> "Figure":
    """Return the figure of a result of a point with `statistics` links, bins and waiting; without a map if not each.

    The first rank may start later than the point by `late` [s].
    """
    if not counts_each(machine):
        return compose(_totals(result, late, "ab"), width="page", columns=2)
    layout = Layout(machine)
    loads = loads_of(layout, result)
    between, within = maps(layout, loads, colours_up_to(float(loads.max(initial=0.0))))
    panels = [replace(between, letter="a"), replace(within, letter="b"), *_totals(result, late, "cd")]
    return compose(panels, width="page", columns=2)


def maps(layout: Layout, loads: Loads, colours: "ScalarMappable", name: str = "") -> tuple[Panel, Panel]:
    """Return the panels of the links between the groups of a network, and of those in its busiest group.

    Parameters
    ----------
    layout
        Where switches and links stand.
    loads
        Of each of its links.
    colours
        Of loads; panels with the same have one colour bar.
    name
        Of the network, for the titles.
    """
    titles = (f"{name}: {words}" if name else words for words in ("between groups", "in the busiest group"))
    return (
        Panel(lambda figure, cell: _groups(figure, cell, layout, loads, colours), title=next(titles), aspect=0.9),
        Panel(lambda figure, cell: _group(figure, cell, layout, loads, colours), title=next(titles), aspect=0.9),
    )


def _totals(result: dict[str, Any], late: float, letters: str) -> list[Panel]:
    """Return the panels that need no map of the network."""
    return [
        Panel(lambda figure, cell: _over_time(figure, cell, result, late), letters[0], "load over time"),
        Panel(lambda figure, cell: _waiting(figure, cell, result), letters[1], "why ranks wait"),
    ]


def colours_up_to(most: float) -> "ScalarMappable":
    """Return the colours of loads from 0 to `most`."""
    from matplotlib import colormaps  # noqa: PLC0415
    from matplotlib.cm import ScalarMappable  # noqa: PLC0415 - slow to import
    from matplotlib.colors import ListedColormap, Normalize  # noqa: PLC0415

    seen = colormaps[COLOURS](np.linspace(LIGHTEST, 1, 256))  # on white
    return ScalarMappable(Normalize(0, most or 1), ListedColormap(seen))


def _lines(axes: "Axes", lines: list[Places], loads: Loads, colours: "ScalarMappable", width: float) -> None:
    from matplotlib.collections import LineCollection  # noqa: PLC0415 - slow to import

    order = np.argsort(loads, kind="stable")  # the busiest on top
    shades = [colours.to_rgba(load) for load in loads[order]]
    drawn = [lines[place] for place in order]
    widths = np.where(loads[order] > 0, width, 0.3 * width)
    axes.add_collection(LineCollection(drawn, colors=shades, linewidths=widths, zorder=1))


def _groups(
    figure: "Figure", cell: "SubplotSpec", layout: Layout, loads: Loads, colours: "ScalarMappable"
) -> list[Drawn]:
    place = places_of_groups(layout)
    known, from_, to = between_groups(layout, place)
    ends = np.column_stack([np.minimum(from_, to), np.maximum(from_, to)])
    pairs, of_pair = np.unique(ends, axis=0, return_inverse=True)
    busiest = np.zeros(len(pairs))
    np.maximum.at(busiest, of_pair.ravel(), loads[known])
    axes = bare(figure, cell, some_groups(layout))
    lines = [np.array([place[a], place[b]]) for a, b in pairs.tolist()]
    _lines(axes, lines, busiest, colours, 1.6 if len(pairs) < 100 else 0.6)
    mark_groups(axes, place, "above")
    return [Drawn(axes, colours=colours, colour_label=LABEL)]


def _group(
    figure: "Figure", cell: "SubplotSpec", layout: Layout, loads: Loads, colours: "ScalarMappable"
) -> list[Drawn]:
    links = layout.links
    within = (layout.group[links.source] == layout.group[links.target]) & (layout.group[links.source] != NOBODY)
    group = int(layout.group[links.source[np.argmax(np.where(within, loads, -1.0))]]) if within.any() else 0
    members = np.flatnonzero(layout.group == group)
    chosen = chosen_of(layout, members)
    place = dict(zip(chosen.tolist(), inside(layout, chosen), strict=True))
    shown: Switches = np.flatnonzero(np.isin(links.source, chosen) & np.isin(links.target, chosen))
    if len(shown) > MOST_DRAWN:
        shown = shown[np.argsort(-loads[shown], kind="stable")[:MOST_DRAWN]]
    axes = bare(figure, cell, f"group {group}: {some(len(chosen), len(members), 'switch')}")
    ends = zip(links.source[shown].tolist(), links.target[shown].tolist(), strict=True)
    _lines(axes, [curve(place[a], place[b]) for a, b in ends], loads[shown], colours, 1.4 if len(shown) < 100 else 0.7)
    at = np.array([place[switch] for switch in chosen.tolist()])
    axes.plot(
        at[:, 0], at[:, 1], "o", color="#333333", markersize=float(np.clip(20 / np.sqrt(len(at)), 1, 5)), zorder=3
    )
    make_room(axes, at)
    return [Drawn(axes, colours=colours, colour_label=LABEL)]


def _time_unit(most: float) -> tuple[str, float]:
    """Return the unit of an axis from 0 to so many seconds, so that its numbers are short enough to stand apart."""
    return time_unit([most] if most > 0 else [])


def _over_time(figure: "Figure", cell: "SubplotSpec", result: dict[str, Any], late: float) -> list[Drawn]:
    axes = figure.add_subplot(cell)
    symbol, unit = _time_unit(result["time_s"])
    bounds = bounds_of_bins(result, late) / unit
    used = np.flatnonzero(np.any([own["bytes_in_bins"] for own in result["links"]], axis=0))
    end = max([result["time_s"] / unit, *bounds[used[-1:] + 1]])
    classes = [own for own in result["links"] if own["number"]]  # a torus has none along a ring of one switch
    handles = []
    for own, colour in zip(classes, style.colours(len(classes)), strict=True):
        axes.stairs(load_over_time(own, result, late), bounds, color=colour, linewidth=1.2)
        handles += axes.plot([], [], color=colour, label=own["name"])
    between = [link for link in result["single_links"] if "to_switch" in link]
    if between:
        hottest = max(between, key=lambda link: link["load"])
        axes.stairs(load_over_time(hottest, result, late), bounds, color=SOFT, linewidth=0.6, linestyle="--")
        handles += axes.plot([], [], "--", linewidth=0.6, color=SOFT, label=f"busiest {hottest['class']} link")
    axes.set(xlabel=f"Time ({symbol})", ylabel="Load", xlim=(0, end or 1))
    axes.set_ylim(bottom=0)
    most = min(1, axes.get_ylim()[1])
    axes.set_yticks([tick for tick in axes.get_yticks() if 0 <= tick <= most])  # a legend's room above is no load
    return [Drawn(axes, handles)]


def _waiting(figure: "Figure", cell: "SubplotSpec", result: dict[str, Any]) -> list[Drawn]:
    axes = figure.add_subplot(cell)
    told = result["waiting"]
    waiting = {words: np.asarray(told[key]) for cause, words in CAUSES.items() if (key := f"{cause}_s") in told}
    symbol, unit = _time_unit(float(np.sum(list(waiting.values()), axis=0).max()))
    bins = len(next(iter(waiting.values())))
    bounds = np.linspace(0, 100, bins + 1)
    base = np.zeros(bins)
    handles = []
    for (words, times), colour in zip(waiting.items(), style.colours(len(waiting)), strict=True):
        above = base + times / unit
        area = axes.stairs(above, bounds, baseline=base, fill=True, color=colour, label=words)
        if times.max(initial=0) > 0:
            handles.append(area)
        base = above
    axes.set(xlabel="Ranks (% of all, in order)", ylabel=f"Mean time ({symbol})", xlim=(0, 100))
    axes.set_ylim(0, 1.2 * max(float(base.max(initial=0)), 1e-12))
    return [Drawn(axes, handles)]


def read_result(path: Path) -> dict[str, Any]:
    """Return a result of a point that told what is drawn (InputError)."""
    data = read_json(path)
    if not isinstance(data, dict) or not data.keys() >= KEYS:
        allowed = "what `tramontane utilisation POINT` writes"
        raise InputError(path, "", None, allowed, problem="found something else")
    return data


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the figure was written; 2, or 1 if the system refuses it, with one line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m analysis.utilisation", description="Draw what links did in a run.")
    parser.add_argument("point", type=Path, help="the point")
    parser.add_argument("result", type=Path, help="its result, with links: each, bins and waiting")
    parser.add_argument("stem", type=Path, help="the files to write, without their ending")
    options = parser.parse_args(arguments)

    def make() -> "Figure":
        point = load_point(options.point)
        return draw(point.network, read_result(options.result), point.start_jitter * 1e-12)

    return status(make, options.stem)


if __name__ == "__main__":
    sys.exit(main())
