"""The picture of a machine's network: ``python -m analysis.picture MACHINE STEM``.

Three parts: the groups of the network with what links them, one group with all its links, and a table. Nothing is drawn
by hand: groups, levels and links are those of the network that is simulated.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis import style
from analysis.figures.axes import in_lines
from analysis.figures.panel import SOFT, Drawn, Panel, compose
from tramontane.errors import InputError, refused_by_system
from tramontane.study.catalogue import load_machine
from tramontane.study.networks.machines import Machine
from tramontane.study.networks.network import Links
from tramontane.study.networks.structure import MOST_LINKS, Structure, leaf_switches, rows, structure
from tramontane.support.formatting import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from matplotlib.typing import ColorType

Places = NDArray[np.float64]
Switches = NDArray[np.int64]

#: Most groups, and most switches of a group, that are drawn; more are thinned out evenly: lines hide one another.
MOST_GROUPS = 48
MOST_LETTERS = 40
MOST_SWITCHES = 900
#: Most links of a group that are drawn, one direction each; of denser groups it is those of the first switch.
MOST_DRAWN = 6000
NOBODY = -1
#: Characters of a line of the words below a panel: longer ones would take room from the panels beside it.
WORDS = 42


class Layout:
    """Which group and level each switch belongs to.

    Attributes
    ----------
    links : Links
        All of them.
    nodes : int
        Of a group, however many interfaces each has.
    level : array of int
        Links from a switch down to the next one that carries nodes.
    group : array of int
        Of a switch; `NOBODY` above the groups.
    """

    def __init__(self, machine: Machine) -> None:
        net = machine.facts
        self.nodes = net.nodes // net.groups // machine.node.nics
        self.net = net
        self.links: Links = net.links_between(0, net.switches)
        leaves = leaf_switches(net)
        self.level = self._levels(leaves)
        self.group: Switches = np.full(net.switches, NOBODY)
        self.group[leaves] = np.arange(len(leaves)) * net.groups // len(leaves)
        for level in range(1, int(self.level.max()) + 1):
            self._join(level)

    def _levels(self, leaves: Switches) -> Switches:
        level = np.full(self.net.switches, self.net.switches)
        level[leaves] = 0
        source, target = self.links.source, self.links.target
        while True:
            reached = level.copy()
            np.minimum.at(reached, target, level[source] + 1)
            if np.array_equal(reached, level):
                return level
            level = reached

    def _join(self, level: int) -> None:
        """Count a switch to a group if all switches below it are of that group."""
        source, target = self.links.source, self.links.target
        down = (self.level[source] == level) & (self.level[target] == level - 1)
        least = np.full(self.net.switches, self.net.switches)
        most = np.full(self.net.switches, NOBODY)
        np.minimum.at(least, source[down], self.group[target[down]])
        np.maximum.at(most, source[down], self.group[target[down]])
        alike = (self.level == level) & (least == most)
        self.group[alike] = least[alike]


def draw(machine: Machine, name: str, *, tabled: bool = True) -> "Figure":
    """Return the picture of a machine's network, with a table beside it if it is `tabled`.

    Raises
    ------
    InputError
        If it is too large to be looked at link by link.
    """
    if machine.facts.links > MOST_LINKS:
        raise InputError(name, "geometry", machine.facts.links, f"a network of at most {MOST_LINKS:,} links")
    layout, colours = Layout(machine), _colours(machine)
    groups = Panel(lambda figure, cell: _groups(figure, cell, layout, colours), "a", "groups", aspect=1.1)
    several = machine.facts.groups > 1
    letter, title = ("b", "one group") if several else ("", "switches")
    panels = [
        *([groups] if several else []),
        Panel(lambda figure, cell: _group(figure, cell, layout, colours), letter, title, aspect=1.1),
    ]
    if tabled:
        found = structure(machine)
        panels.append(Panel(lambda figure, cell: _table(figure, cell, machine, found), title=name, aspect=1.1))
    return compose(panels, width="page" if tabled else "two-column", columns=3)


def _colours(machine: Machine) -> "list[ColorType]":
    """Return a colour for each class of links; the first, of links to nodes, is never drawn."""
    return ["grey", *style.colours(len(machine.facts.link_classes) - 1)]


def thinned(number: int, most: int) -> Switches:
    """Return at most so many of the numbers below `number`, evenly chosen."""
    return np.unique(np.linspace(0, number - 1, min(number, most)).astype(np.int64))


def some(drawn: int, there: int, noun: str) -> str:
    """Return how many are drawn of those that are there."""
    found = f"{there:,} {plural(there, noun).partition(' ')[2]}"
    return f"{drawn:,} of {found}" if drawn < there else found


def ring(number: int) -> Places:
    """Return places on a circle; that of one alone is in the middle."""
    if number == 1:
        return np.zeros((1, 2))
    angle = np.pi / 2 - 2 * np.pi * np.arange(number) / number
    return np.column_stack([np.cos(angle), np.sin(angle)])


def bare(figure: "Figure", cell: "SubplotSpec", words: str = "") -> "Axes":
    """Return axes without a frame, with words below."""
    axes = figure.add_subplot(cell)
    axes.set_axis_off()
    axes.set_aspect("equal")
    if words:
        axes.text(
            0.5,
            -0.02,
            in_lines(words, WORDS),
            transform=axes.transAxes,
            ha="center",
            va="top",
            fontsize=6.5,
            color=SOFT,
        )
    return axes


def _groups(figure: "Figure", cell: "SubplotSpec", layout: Layout, colours: "Sequence[ColorType]") -> list[Drawn]:
    place = places_of_groups(layout)
    nodes = some(layout.nodes, layout.nodes, "node")
    axes = bare(figure, cell, f"{some_groups(layout)} of {nodes}; a line is all links between two")
    known, from_, to = between_groups(layout, place)
    pairs, numbers = np.unique(np.column_stack([from_, to, layout.links.link_class[known]]), axis=0, return_counts=True)
    widest = numbers.max() if len(numbers) else 1
    thin = min(1.0, 300 / max(len(pairs), 1))  # else a full graph of groups is a disc
    halved = one_way(pairs[:, 0], pairs[:, 1], pairs[:, 2]).tolist()
    for (a, b, kind), number, half in zip(pairs.tolist(), numbers.tolist(), halved, strict=True):
        if a < b or half:
            (x0, y0), (x1, y1) = place[a], to_middle(place[a], place[b]) if half else place[b]
            width = thin * (0.25 + 1.5 * number / widest)
            axes.plot([x0, x1], [y0, y1], color=colours[kind], linewidth=width, alpha=0.6, zorder=1,
                      solid_capstyle="butt")  # fmt: skip
    mark_groups(axes, place, f"{np.count_nonzero(layout.group == NOBODY):,}\nswitches\nabove")
    return [Drawn(axes)]


def some_groups(layout: Layout) -> str:
    """Return how many groups are drawn of those that are there."""
    return some(min(layout.net.groups, MOST_GROUPS), layout.net.groups, "group")


def places_of_groups(layout: Layout) -> dict[int, Places]:
    """Return where groups are drawn: on a ring, and in its middle the switches above them, if there are any."""
    chosen = thinned(layout.net.groups, MOST_GROUPS)
    place = {int(group): at for group, at in zip(chosen, ring(len(chosen)), strict=True)}
    return place | ({NOBODY: np.zeros(2)} if np.any(layout.group == NOBODY) else {})


def between_groups(layout: Layout, place: dict[int, Places]) -> tuple[NDArray[np.bool_], Switches, Switches]:
    """Return which links lead from one group that is drawn to another, and these groups."""
    from_, to = layout.group[layout.links.source], layout.group[layout.links.target]
    known = np.isin(from_, list(place)) & np.isin(to, list(place)) & (from_ != to)
    return known, from_[known], to[known]


def mark_groups(axes: "Axes", place: dict[int, Places], above: str) -> None:
    """Draw the groups, and in their middle words for the switches above them."""
    at = np.array([where for group, where in place.items() if group != NOBODY])
    axes.plot(at[:, 0], at[:, 1], "o", color="white", markeredgecolor="#333333", markersize=5, zorder=3)
    axes.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15))
    if NOBODY in place:
        axes.text(0, 0, above, ha="center", va="center", fontsize=6, zorder=4,
                  bbox={"boxstyle": "round", "facecolor": "white", "edgecolor": "#333333"})  # fmt: skip


def _group(figure: "Figure", cell: "SubplotSpec", layout: Layout, colours: "Sequence[ColorType]") -> list[Drawn]:
    from matplotlib.collections import LineCollection  # noqa: PLC0415 - slow to import
    from matplotlib.lines import Line2D  # noqa: PLC0415

    net, links = layout.net, layout.links
    members = np.flatnonzero(layout.group == 0)
    chosen = chosen_of(layout, members)
    place = dict(zip(chosen.tolist(), inside(layout, chosen), strict=True))
    shown = np.isin(links.source, chosen) & np.isin(links.target, chosen)
    dense = np.count_nonzero(shown) > MOST_DRAWN
    if dense:
        shown &= (links.source == chosen[0]) | (links.target == chosen[0])
    halved = np.zeros_like(shown)
    halved[shown] = one_way(links.source[shown], links.target[shown], links.link_class[shown])
    words = some(len(chosen), len(members), "switch")
    if len(members) > 1:
        words += ", links of the first one" if dense else ", all links"
    axes = bare(figure, cell, words + ("; each direction to the middle" if halved.any() else ""))
    for kind in np.unique(links.link_class[shown]).tolist():
        own = shown & (links.link_class == kind)
        ends = zip(links.source[own].tolist(), links.target[own].tolist(), strict=True)
        lines = [
            np.array([place[a], to_middle(place[a], place[b])]) if half else curve(place[a], place[b])
            for (a, b), half in zip(ends, halved[own].tolist(), strict=True)
        ]
        axes.add_collection(LineCollection(lines, colors=[colours[kind]], linewidths=0.5, alpha=0.6, zorder=1))
    at = np.array([place[switch] for switch in chosen.tolist()])
    size = float(np.clip(120 / np.sqrt(len(at)) / 6, 1, 5))
    axes.plot(at[:, 0], at[:, 1], "o", color="#333333", markersize=size, zorder=3)
    make_room(axes, at)
    kinds = [kind for kind in range(1, len(net.link_classes)) if np.any(links.link_class == kind)]
    handles = [Line2D([], [], color=colours[kind], label=net.link_classes[kind]) for kind in kinds]
    return [Drawn(axes, handles)]


def chosen_of(layout: Layout, members: Switches) -> Switches:
    """Return the switches of a group that are drawn: all, as many dimensions as there is room for, or every so many."""
    if len(members) <= MOST_SWITCHES:
        return members
    block = 1
    for size in layout.net.extents:
        if block * size > MOST_SWITCHES:
            return members[:block] if block > 1 else members[:MOST_SWITCHES]
        block *= size
    return members[thinned(len(members), MOST_SWITCHES)]


def inside(layout: Layout, switches: Switches) -> Places:
    """Return where the switches of a group are drawn: by level, on a grid of grids of its dimensions, or on a ring."""
    level = layout.level[switches]
    place = np.zeros((len(switches), 2))
    if level.max() > 0:
        for height in range(int(level.max()) + 1):
            row = np.flatnonzero(level == height)
            place[row] = np.column_stack([(np.arange(len(row)) + 0.5) / len(row), np.full(len(row), 0.6 * height)])
        return place
    rest, step, wide = np.arange(len(switches)), [1.0, 1.0], [1, 1]
    for number, size in enumerate(layout.net.extents):
        axis = number % 2
        place[:, axis] += rest % size * step[axis]
        wide[axis] *= min(size, int(rest.max()) + 1)
        rest, step[axis] = rest // size, step[axis] * size + 1
    return place if min(wide) > 1 else ring(len(switches))


def make_room(axes: "Axes", places: Places) -> None:
    """Leave a margin, and room for half the larger extent in both directions: two switches would be a mere line."""
    middle, reach = (places.min(axis=0) + places.max(axis=0)) / 2, np.ptp(places, axis=0).max() / 4
    axes.update_datalim([middle - reach, middle + reach])
    axes.margins(0.08)


def one_way(source: Switches, target: Switches, kind: Switches) -> NDArray[np.bool_]:
    """Tell for each link whether there is none of its class back: up and down a tree, for example."""
    ends = np.column_stack([source, target, kind])
    known = set(map(tuple, ends.tolist()))
    return np.array([(b, a, c) not in known for a, b, c in ends.tolist()], dtype=bool)


def to_middle(a: Places, b: Places) -> Places:
    """Return where a link is halfway: each direction of one is drawn from its source to there, or hides the other."""
    middle: Places = (np.asarray(a) + np.asarray(b)) / 2
    return middle


def curve(a: Places, b: Places) -> Places:
    """Return a line, but a flat bow on a grid, whose places are whole numbers, where a line would run over others."""
    ahead = np.asarray(b) - np.asarray(a)
    length = float(np.hypot(*ahead))
    if length <= 1.01 or not np.isclose(ahead, 0).any() or np.any(np.mod([a, b], 1)):
        return np.array([a, b])
    part = np.linspace(0, 1, 9)
    across = np.array([-ahead[1], ahead[0]]) / length
    bow: Places = np.asarray(a) + part[:, None] * ahead + (0.35 * 4 * part * (1 - part))[:, None] * across
    return bow


def _broken(words: str, value: str) -> list[tuple[str, str]]:
    """Return a row of the table, or several where its value is too long to stand beside the words."""
    parts = value.replace(", ", ",\n").split("\n") if len(words) + len(value) > MOST_LETTERS else [value]
    return [("" if number else words, part) for number, part in enumerate(parts)]


def _table(figure: "Figure", cell: "SubplotSpec", machine: Machine, found: Structure) -> list[Drawn]:
    axes = figure.add_subplot(cell)
    axes.set_axis_off()
    lines = [line for words, value in rows(machine, found) for line in _broken(words, value)]
    for number, (words, value) in enumerate(lines):
        height = 1 - (number + 0.5) / max(len(lines), 14)
        axes.text(0.0, height, words, fontsize=6, va="center", color=SOFT, transform=axes.transAxes)
        axes.text(1.0, height, value, fontsize=6, va="center", ha="right", transform=axes.transAxes)
    return [Drawn(axes)]


def status(make: Callable[[], "Figure"], stem: Path) -> int:
    """Write a figure; return 0, or 2 for a mistake of the user's or 1 for the system's, told on standard error."""
    try:
        style.save(make(), stem)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except OSError as error:
        print(refused_by_system(error), file=sys.stderr)
        return 1
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the picture was written; 2, or 1 if the system refuses it, with one line on standard error."""
    parser = argparse.ArgumentParser(prog="python -m analysis.picture", description="Draw a machine's network.")
    parser.add_argument("machine", help="a machine of configs/machines")
    parser.add_argument("stem", type=Path, help="the files to write, without their ending")
    options = parser.parse_args(arguments)
    return status(lambda: draw(load_machine(options.machine), options.machine), options.stem)


if __name__ == "__main__":
    sys.exit(main())
