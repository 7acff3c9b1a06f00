"""Who sends how much to whom: a communication matrix, drawn from the schedule itself.

The family of Zheng & Marguinaud 2018, Fig. 9d. Nothing is simulated: the same schedule that the substrates run is asked
for all its messages.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from analysis import facts, units
from analysis.figures.panel import Drawn, Panel
from analysis.spec import FigureSpec
from analysis.table import ranks_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec
    from numpy.typing import NDArray

#: Most rows of the matrix; more processes are joined to groups of consecutive ranks.
MOST = 400
COLOURS = "rocket_r"


def traffic(workload: dict[str, Any], ranks: int) -> "NDArray[np.float64]":
    """Return the bytes that each process (or group of processes) sends to each other.

    Parameters
    ----------
    workload
        The ``workload`` block of a canonical point.
    ranks
        Number of processes.

    Returns
    -------
    array
        Of shape (n, n) with n = `ranks`, or `MOST` if there are more; source first.
    """
    from tramontane._simulator import schedule  # noqa: PLC0415 - compiled; only this family needs it

    plan = schedule.Schedule(workload, ranks)
    size = min(ranks, MOST)
    result = np.zeros((size, size))
    for number in range(plan.rounds):
        sent = plan.transfers(number, "send")
        group = [sent[side].astype(np.int64) * size // ranks for side in ("source", "destination")]
        np.add.at(result, (group[0], group[1]), sent["bytes"])
    return result


def panels(dataset: xr.Dataset, spec: FigureSpec) -> list[Panel]:
    """Return the communication matrix of a dataset's workload as one panel.

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
    workload, ranks = facts.base(dataset).get("workload", {}), ranks_of(dataset)
    if "kind" not in workload or not ranks:
        raise ValueError("figure.kind: 'pattern' needs one workload and its number of processes, found several or none")
    matrix = traffic(workload, ranks)

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        from matplotlib.cm import ScalarMappable  # noqa: PLC0415 - slow to import
        from matplotlib.colors import LogNorm  # noqa: PLC0415
        from seaborn import color_palette  # noqa: PLC0415

        axes = figure.add_subplot(cell)
        axes.grid(visible=False)
        sent = np.where(matrix > 0, matrix, np.nan)
        unit, factor = units.size_unit(float(np.nanmedian(sent)))
        norm = LogNorm(np.nanmin(sent) / factor / 1.3, np.nanmax(sent) / factor)
        colours = ScalarMappable(norm, color_palette(COLOURS, as_cmap=True))
        edges = np.linspace(0, ranks, len(matrix) + 1)
        axes.pcolormesh(edges, edges, sent / factor, norm=norm, cmap=colours.cmap, rasterized=True)
        axes.set(aspect="equal", xlabel=spec.x_label or "Destination", ylabel=spec.y_label or "Source")
        axes.invert_yaxis()
        axes.tick_params(direction="out", top=False, right=False)
        return [Drawn(axes, colours=colours, colour_label=f"Sent ({unit})")]

    return [Panel(draw, spec.letter)]
