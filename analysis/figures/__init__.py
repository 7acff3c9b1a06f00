"""Figures: one module per family, with a function of a dataset and its ``figure`` block."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analysis.figures import (
    agreement,
    calibration,
    congestion,
    delays,
    link_map,
    links,
    pattern,
    predictions,
    radix,
    scaling,
    steps,
    substrates,
)
from analysis.figures.panel import Drawn, Panel, Shown, compose, empty
from analysis.spec import FigureSpec, spec_of
from analysis.table import Table, to_draw
from tramontane.support.formatting import plural

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec


#: Families by the name that a ``figure`` block gives as its ``kind``.
FAMILIES: "dict[str, Callable[[xr.Dataset, FigureSpec], Shown]]" = {
    "scaling": scaling.show,
    "delay-distribution": delays.show,
    "congestion-matrix": congestion.show,
    "links": links.show,
    "link-map": link_map.show,
    "pattern": pattern.show,
    "radix": radix.show,
    "steps": steps.show,
    "substrates": substrates.show,
}
#: Families of datasets that no experiment makes: `tramontane compare --dataset` and `tramontane calibrate` write those.
OTHERS = {
    "agreement": agreement.show,
    "calibration": calibration.show,
    "predictions": predictions.show,
}


def show(dataset: "xr.Dataset") -> Shown:
    """Return what a dataset asks for: the panels of its figure, the same as numbers, and what follows.

    Parameters
    ----------
    dataset
        A collated dataset with its attribute ``figure_json``.

    Raises
    ------
    ValueError
        If the ``figure`` block names what does not exist; one line that says what is allowed.
    """
    spec, known = spec_of(dataset), FAMILIES | OTHERS
    if spec.kind not in known:
        raise ValueError(f"figure.kind: found '{spec.kind}', allowed: {', '.join(known)}")
    if _lacks_results(dataset):
        return Shown([_nothing(dataset, spec)], Table(["no results yet"], []))
    return known[spec.kind](to_draw(dataset, spec), spec)


def _lacks_results(dataset: "xr.Dataset") -> bool:
    """Whether no point of an experiment has a result: then variables are missing that a family needs."""
    return "status" in dataset and not bool((dataset["status"] == "ok").any())


def _nothing(dataset: "xr.Dataset", spec: FigureSpec) -> Panel:
    failed = int((dataset["status"] == "failed").sum())

    def draw(figure: "Figure", cell: "SubplotSpec") -> list[Drawn]:
        axes = figure.add_subplot(cell)
        empty(axes, *([f"no results: {plural(failed, 'point')} failed"] if failed else []))
        return [Drawn(axes)]

    return Panel(draw, spec.letter)


def draw(*datasets: "xr.Dataset") -> "Figure":
    """Draw the figure of one dataset, or of several as its panels; save it with `analysis.style.save`.

    Raises
    ------
    ValueError
        As in `show`.
    """
    return arrange([show(dataset) for dataset in datasets], spec_of(datasets[0]).width)


def arrange(shown: "Sequence[Shown]", width: str) -> "Figure":
    """Arrange panels in the order of their letters in one figure: two beside each other, as in the paper, or one."""
    ordered = sorted(shown, key=lambda each: [panel.letter for panel in each.panels[:1]])
    panels = [panel for each in ordered for panel in each.panels]
    return compose(panels, "page" if len(panels) > 1 else width, 2)
