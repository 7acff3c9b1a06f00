"""Figs. 3 and 4 of Zheng & Marguinaud 2018, drawn from schedules: ``python -m analysis.schematics FOLDER``.

Writes ``fig03`` and ``fig04`` as SVG, PNG and PDF, each with its caption. Nothing in them is drawn by hand: layouts,
groups and arrows are what the schedules that are simulated answer for a handful of processes.
"""

import argparse
import math
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis import style
from analysis.figures.panel import SOFT, Drawn, Panel, compose
from tramontane.study.workloads.workloads import Allreduce, Halo, Transposition
from tramontane.substrates.simulator import schedule
from tramontane.support.files import write_atomically
from tramontane.support.processes import end_with_parent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

Corner = tuple[float, float, float]
Box = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]

#: Colours of processes (Fig. 3) and, below, of stages (Fig. 4): those of `series.yaml`.
PROCESSES = ("#4477AA", "#EE6677", "#228833", "#CCBB44", "#66CCEE", "#AA3377")
#: Processes whose colour is too pale for white numbers.
PALE = (3, 4)
STAGES = ("#000000", "#4477AA", "#228833", "#EE6677", "#AA3377")
#: How far depth is drawn to the right and up, as parts of its length.
SLANT = (0.45, 0.42)

TRANSPOSITION = Transposition(kind="transposition", algorithm="ring-k", radix=1, grid=(6, 6, 4), decomposition=(2, 3))
#: Processes of a ring.
MEMBERS = 9
RING = Transposition(kind="transposition", algorithm="ring-k", radix=2, grid=(9, 9, 9), decomposition=(MEMBERS, 1))
#: Processes in x and y of a halo exchange.
TILES = (7, 5)
HALO = Halo(kind="halo", width=7, grid=(35, 25, 1), decomposition=TILES)
RADIX = 3
ALLREDUCE = Allreduce(kind="allreduce", algorithm="recursive-k", radix=RADIX, count=3, repeats=1)
#: Processes of the last one: 3^2 and two that remain.
REMAINING = 11

CAPTIONS = {
    "fig03": (
        "Layouts of a spectral transposition among 6 processes, cx = 2 and cy = 3, on a grid of 6 × 6 × 4 points. "
        "Colours and numbers are processes; between two layouts each group exchanges all to all, at the same time as "
        "the others. Drawn from the schedule that is simulated; compare Fig. 3 of Zheng & Marguinaud (2018)."
    ),
    "fig04": (
        "Three operations, drawn from the schedules that are simulated; compare Fig. 4 of Zheng & Marguinaud (2018). "
        "(a) ring-2 among 9 processes: all messages of process 0, and in grey the first stage of the others. (b) A "
        "halo of 7 points around blocks of 5 × 5: what the process in the middle sends, first along x, then along y "
        "with the corners. (c) recursive-3 among 11 processes: messages from one row to the next; two processes "
        "remain beyond 3² and join at the beginning and the end."
    ),
}


def transfers(plan: Any) -> Iterator[tuple[int, int, int, int, int]]:
    """Yield phase, round, source, destination and bytes of all messages of a schedule."""
    for number in range(plan.rounds):
        sent = plan.transfers(number, "send")
        phase = plan.round(0, number).phase
        for source, destination, size in zip(sent["source"], sent["destination"], sent["bytes"], strict=True):
            yield phase, number, int(source), int(destination), int(size)


def groups(plan: Any, phase: int) -> list[list[int]]:
    """Return the processes that exchange anything in a phase, joined to groups."""
    of = {rank: {rank} for rank in range(plan.ranks)}
    for own, _, source, destination, _ in transfers(plan):
        if own == phase and of[source] is not of[destination]:
            of[source] |= of[destination]
            for rank in of[destination]:
                of[rank] = of[source]
    return sorted({rank: sorted(own) for rank, own in of.items() if rank == min(own)}.values())


def divided(plan: Any, stage: int) -> list[str]:
    """Return the directions in which the grid is divided before (or, at last, after) a phase of the transposition."""
    return [
        name
        for name, (first, last), points in zip("xyz", plan.held(0, stage), TRANSPOSITION.grid, strict=True)
        if last - first < points
    ]


def faces(box: Box, grid: Sequence[int]) -> Iterator[list[Corner]]:
    """Yield those faces of a block that lie on the front, the right side or the top of the grid."""
    (x0, x1), (y0, y1), (z0, z1) = box
    nx, _, nz = grid
    if y0 == 0:
        yield [(x0, 0, z0), (x1, 0, z0), (x1, 0, z1), (x0, 0, z1)]
    if x1 == nx:
        yield [(nx, y0, z0), (nx, y1, z0), (nx, y1, z1), (nx, y0, z1)]
    if z1 == nz:
        yield [(x0, y0, nz), (x1, y0, nz), (x1, y1, nz), (x0, y1, nz)]


def project(corner: Corner) -> tuple[float, float]:
    """Return where a point of the grid is drawn: x to the right, z up, y backwards."""
    x, y, z = corner
    return x + SLANT[0] * y, z + SLANT[1] * y


def layouts() -> "Figure":
    """Draw Fig. 3: which part of the grid each process holds before and after each phase."""
    plan = schedule(TRANSPOSITION, 6)

    def draw(stage: int, figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        from matplotlib.patches import Polygon  # noqa: PLC0415 - slow to import

        axes = _bare(figure, cell)
        for rank in range(plan.ranks):
            for face in faces(plan.held(rank, stage), TRANSPOSITION.grid):
                corners = [project(corner) for corner in face]
                axes.add_patch(Polygon(corners, facecolor=PROCESSES[rank], edgecolor="white", linewidth=0.8))
                x, y = np.mean(corners, axis=0)
                ink = "#1b1f24" if rank in PALE else "white"
                axes.text(x, y, str(rank), ha="center", va="center", color=ink, fontsize=7, fontweight="bold")
        nx, ny, nz = TRANSPOSITION.grid
        for words, at in (("x", (nx / 2, 0, -0.5)), ("z", (-0.4, 0, nz / 2)), ("y", (nx + 0.45, ny / 2, -0.1))):
            axes.text(*project(at), words, ha="center", va="center", fontsize=8, fontstyle="italic")
        if stage < len(plan.phases):
            exchanging = groups(plan, stage)
            members = " | ".join(" ".join(map(str, group)) for group in exchanging)
            words = f"then {len(exchanging)} all-to-alls of {len(exchanging[0])}:\n{members}"
            axes.text(0.5, -0.02, words, transform=axes.transAxes, ha="center", va="top", fontsize=6.5, color=SOFT)
        axes.set(xlim=(-0.9, nx + SLANT[0] * ny + 0.3), ylim=(-0.9, nz + SLANT[1] * ny + 0.1))
        return [Drawn(axes)]

    panels = [
        Panel(partial(draw, stage), letter, f"{' and '.join(divided(plan, stage))} divided", aspect=0.95)
        for stage, letter in enumerate("abcd")
    ]
    return compose(panels, "page", columns=4)


def operations() -> "Figure":
    """Draw Fig. 4: ring-k, the halo exchange and recursive-k."""
    drawings: tuple[tuple[str, str, Callable[[Axes], None]], ...] = (
        ("a", "ring-2", _ring),
        ("b", "halo exchange", _halo),
        ("c", "recursive-3", _recursive),
    )

    def draw(paint: "Callable[[Axes], None]", figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        axes = _bare(figure, cell)
        paint(axes)
        return [Drawn(axes)]

    panels = [Panel(partial(draw, paint), letter, title, aspect=1.05) for letter, title, paint in drawings]
    return compose(panels, "page", columns=3)


def _ring(axes: "Axes") -> None:
    ranks = MEMBERS
    plan = schedule(RING, ranks)
    angles = np.pi / 2 - 2 * np.pi * np.arange(ranks) / ranks
    places = list(zip(np.cos(angles).tolist(), np.sin(angles).tolist(), strict=True))
    first = [own for own in transfers(plan) if own[0] == 0]
    for _, number, source, destination, _ in first:
        if source == 0:
            _arrow(axes, places[0], places[destination], STAGES[number], 1.1)
        elif number == 0:
            _arrow(axes, places[source], places[destination], "#c4c4c4", 0.7, bend=-0.25)
    _nodes(axes, places, range(ranks))
    stages = sorted({number for _, number, *_ in first})
    _key(axes, [(f"stage {number + 1}", STAGES[number]) for number in stages])
    axes.set(xlim=(-1.3, 1.3), ylim=(-1.75, 1.2))


def _halo(axes: "Axes") -> None:
    from matplotlib.patches import Rectangle  # noqa: PLC0415 - slow to import

    columns, rows = TILES
    plan = schedule(HALO, columns * rows)
    middle = columns * (rows // 2) + columns // 2
    places = [(rank % columns, rank // columns) for rank in range(columns * rows)]
    for x, y in places:
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="white", edgecolor="#b8b8b8", linewidth=0.6))
    reach = HALO.width / (HALO.grid[0] / columns)
    x, y = places[middle]
    size = 1 + 2 * reach
    halo: dict[str, Any] = {
        "facecolor": "#EE667722",
        "edgecolor": "#EE6677",
        "linewidth": 0.8,
        "linestyle": (0, (4, 2)),
    }
    axes.add_patch(Rectangle((x - size / 2, y - size / 2), size, size, **halo))
    axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor="#dde6ef", edgecolor="#333333", linewidth=0.8))
    for phase, _, source, destination, _ in transfers(plan):
        if source == middle:
            # Two messages go one way: to the neighbour, and beside it to the neighbour's neighbour.
            far = abs(places[destination][phase] - places[middle][phase]) > 1
            _arrow(axes, places[middle], places[destination], STAGES[phase], 1.1, bend=0.28 if far else 0.0, shrink=3)
    _key(axes, [("x sweep", STAGES[0]), ("y sweep", STAGES[1]), ("halo", "#EE6677")])
    axes.set(xlim=(-0.7, columns - 0.3), ylim=(-1.55, rows - 0.3))


def _recursive(axes: "Axes") -> None:
    plan = schedule(ALLREDUCE, REMAINING)
    sent = list(transfers(plan))
    joined = RADIX ** math.floor(math.log(REMAINING, RADIX))
    stages: dict[str, str] = {}
    for number in range(plan.rounds):
        pairs = [(source, destination) for _, own, source, destination, _ in sent if own == number]
        beyond = max(map(max, pairs)) >= joined
        apart = min(abs(source - destination) for source, destination in pairs)
        colour = stages.setdefault("remaining" if beyond else f"{apart} apart", STAGES[3 if beyond else number])
        for source, destination in pairs:
            _arrow(axes, (source, -number), (destination, -number - 1), colour, 0.7, shrink=2.5)
    for row in range(plan.rounds + 1):
        axes.plot(range(plan.ranks), [-row] * plan.ranks, "o", color="#333333", markersize=2.6, zorder=4)
        if row < plan.rounds:
            axes.text(-0.8, -row - 0.5, f"stage {row}", ha="right", va="center", fontsize=6.5, color=SOFT)
    for rank in range(plan.ranks):
        axes.text(rank, 0.28, str(rank), ha="center", va="center", fontsize=6.5)
    _key(axes, list(stages.items()))
    axes.set(xlim=(-4.2, plan.ranks - 0.3), ylim=(-plan.rounds - 1.0, 0.7), aspect="auto")


def _bare(figure: "Figure", cell: "SubplotSpec") -> "Axes":
    axes = figure.add_subplot(cell)
    axes.set(xticks=[], yticks=[], aspect="equal", anchor="N")
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return axes


def _arrow(
    axes: "Axes", start: Any, end: Any, colour: str, width: float, *, bend: float = 0.0, shrink: float = 6.5
) -> None:
    looks = {"arrowstyle": "-|>,head_length=0.35,head_width=0.16", "color": colour, "linewidth": width}
    looks |= {"shrinkA": shrink, "shrinkB": shrink, "connectionstyle": f"arc3,rad={bend}"}
    axes.annotate("", xy=end, xytext=start, arrowprops=looks, zorder=3)


def _nodes(axes: "Axes", places: Sequence[tuple[float, float]], names: Iterable[int]) -> None:
    for (x, y), name in zip(places, names, strict=True):
        axes.plot(x, y, "o", color="white", markeredgecolor="#333333", markeredgewidth=0.8, markersize=9, zorder=4)
        axes.text(x, y - 0.01, str(name), ha="center", va="center", fontsize=6.5, zorder=5)


def _key(axes: "Axes", entries: Sequence[tuple[str, str]]) -> None:
    """Explain colours below a drawing."""
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow to import

    handles = [Line2D([], [], color=colour, linewidth=1.4, label=words) for words, colour in entries]
    columns = 2 if len(entries) > 3 else len(entries)
    axes.legend(handles=handles, loc="lower center", ncols=columns, frameon=False, handlelength=1.1, columnspacing=0.8)


FIGURES: dict[str, "Callable[[], Figure]"] = {"fig03": layouts, "fig04": operations}


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; 0 if the figures were written, 2 with one line on standard error if not."""
    parser = argparse.ArgumentParser(prog="python -m analysis.schematics", description="Draw the schedules.")
    parser.add_argument("folder", type=Path, help="where to write the figures")
    options = parser.parse_args(arguments)
    try:
        for name, draw in FIGURES.items():
            style.save(draw(), options.folder / name)
            write_atomically(options.folder / f"{name}.txt", f"{CAPTIONS[name]}\n")
    except OSError as error:
        print(f"{options.folder}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    end_with_parent(signal.SIGKILL)  # a campaign that is killed leaves nobody behind who would go on writing
    sys.exit(main())
