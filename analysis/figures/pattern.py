"""Who sends how much to whom: a communication matrix, drawn from the schedule itself.

The family of Zheng & Marguinaud 2018, Fig. 9d. Nothing is simulated: the same schedule that the substrates run is asked
for all its messages.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from pydantic import ValidationError

from analysis import facts
from analysis.figures.panel import Drawn, Panel, Shown, empty
from analysis.spec import FigureSpec
from analysis.table import Table, ranks_of
from tramontane.study.workloads.kinds import Workload, canonical_workload
from tramontane.substrates.simulator import schedule
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from numpy.typing import NDArray

#: Most rows of the matrix; more processes are joined to groups of consecutive ranks, all of one size but the last.
MOST = 400
COLOURS = "rocket_r"


def traffic(workload: Workload, ranks: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Return the bytes that each process sends to each other, and in all.

    Parameters
    ----------
    workload
        What is communicated.
    ranks
        Number of processes.

    Returns
    -------
    matrix, each
        The first is of shape (n, n) with n = `ranks`, or of groups of processes, at most `MOST`, if there are more;
        source first.
    """
    plan = schedule(workload, ranks)
    joined = _joined(ranks)
    size = -(-ranks // joined)
    matrix, each = np.zeros((size, size)), np.zeros(ranks)
    for number in range(plan.rounds):
        sent = plan.transfers(number, "send")
        np.add.at(matrix, (sent["source"] // joined, sent["destination"] // joined), sent["bytes"])
        np.add.at(each, sent["source"], sent["bytes"])
    return matrix, each


def _joined(ranks: int) -> int:
    """Return how many processes a row of the matrix stands for."""
    return -(-ranks // MOST)


def show(dataset: xr.Dataset, spec: FigureSpec) -> Shown:
    """Return the communication matrix of a dataset's workload as one panel, and how many partners a process has.

    Parameters
    ----------
    dataset
        Its points have one workload in common; of several numbers of processes the first is drawn.
    spec
        Its ``figure`` block.

    Raises
    ------
    ValueError
        If the points differ in their workload, or state no number of processes.
    """
    workload, ranks = _one(dataset)
    matrix, each = traffic(workload, ranks)

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        from matplotlib.cm import ScalarMappable  # noqa: PLC0415 - slow to import
        from matplotlib.colors import LogNorm  # noqa: PLC0415
        from seaborn import color_palette  # noqa: PLC0415

        axes = figure.add_subplot(cell)
        axes.grid(visible=False)
        if not matrix.any():
            empty(axes, "nothing is sent")
            return [Drawn(axes)]
        sent = np.where(matrix > 0, matrix, np.nan)
        unit, factor = formatting.size_unit(float(np.nanmedian(sent)))
        least, most = np.nanmin(sent) / factor, np.nanmax(sent) / factor
        # The palest third of the colours is left out: lines one process wide must be seen.
        norm = LogNorm(least / max(1.3, np.sqrt(most / least)), most)
        colours = ScalarMappable(norm, color_palette(COLOURS, as_cmap=True))
        edges = np.minimum(_joined(ranks) * np.arange(len(matrix) + 1), ranks)
        axes.pcolormesh(edges, edges, sent / factor, norm=norm, cmap=colours.cmap, rasterized=True)
        axes.set(aspect="equal", xlabel=spec.x_label or "Destination", ylabel=spec.y_label or "Source")
        axes.invert_yaxis()
        axes.tick_params(direction="out", top=False, right=False)
        return [Drawn(axes, colours=colours, colour_label=f"Sent ({unit})")]

    joined, partners = _joined(ranks), (matrix > 0).sum(axis=1)
    rows = [
        ["Processes", formatting.number(ranks), ""],
        ["Partners of a process" if joined == 1 else f"Partners of {joined} processes", *_range(partners)],
        ["Sent by a process, bytes", *_range(each)],
    ]
    return Shown([Panel(draw, spec.letter)], Table(["", "least", "most"], rows))


def _range(values: "NDArray[Any]") -> list[str]:
    return [formatting.number(float(values.min())), formatting.number(float(values.max()))]


def _one(dataset: xr.Dataset) -> tuple[Workload, int]:
    ranks = ranks_of(dataset)
    try:
        workload = canonical_workload(facts.base(dataset).get("workload"))
    except ValidationError:
        ranks = 0
    if not ranks:
        raise ValueError("figure.kind: 'pattern' needs one workload and its number of processes, found several or none")
    return workload, ranks
