"""Figures: one module per family, with functions of a dataset and its ``figure`` block: panels, numbers, summaries."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

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
from analysis.figures.panel import Drawn, Panel, columns_of, compose, empty
from analysis.spec import FigureSpec, spec_of
from analysis.table import Table, to_draw
from tramontane.support.formatting import plural

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec


class Family(NamedTuple):
    """What can be made of a dataset and its ``figure`` block: the panels, the same as numbers, and what follows."""

    panels: Callable[["xr.Dataset", FigureSpec], list[Panel]]
    numbers: Callable[["xr.Dataset", FigureSpec], Table]
    summaries: Callable[["xr.Dataset", FigureSpec], list[Table]] = lambda _dataset, _spec: []


#: Families by the name that a ``figure`` block gives as its ``kind``.
FAMILIES: dict[str, Family] = {
    "scaling": Family(scaling.panels, scaling.numbers),
    "delay-distribution": Family(delays.panels, delays.numbers),
    "congestion-matrix": Family(congestion.panels, congestion.numbers),
    "links": Family(links.panels, links.numbers, links.summaries),
    "link-map": Family(link_map.panels, link_map.numbers),
    "pattern": Family(pattern.panels, pattern.numbers),
    "radix": Family(radix.panels, radix.numbers),
    "steps": Family(steps.panels, steps.numbers),
    "substrates": Family(substrates.panels, substrates.numbers, substrates.summaries),
}
#: Families of datasets that no experiment makes: `tramontane compare --dataset` and `tramontane calibrate` write those.
OTHERS: dict[str, Family] = {
    "agreement": Family(agreement.panels, agreement.numbers),
    "calibration": Family(calibration.panels, calibration.numbers),
    "predictions": Family(predictions.panels, predictions.numbers),
}


def panels(dataset: "xr.Dataset") -> list[Panel]:
    """Return the panels that a dataset asks for.

    Parameters
    ----------
    dataset
        A collated dataset with its attribute ``figure_json``.

    Raises
    ------
    ValueError
        If the ``figure`` block names what does not exist; one line that says what is allowed.
    """
    spec = spec_of(dataset)
    family = _family(spec)
    return [_nothing(dataset, spec)] if _lacks_results(dataset) else family.panels(to_draw(dataset, spec), spec)


def numbers(dataset: "xr.Dataset") -> Table:
    """Return what a dataset's figure shows, as numbers.

    Raises
    ------
    ValueError
        As in `panels`.
    """
    spec = spec_of(dataset)
    family = _family(spec)
    return Table(["no results yet"], []) if _lacks_results(dataset) else family.numbers(to_draw(dataset, spec), spec)


def summaries(dataset: "xr.Dataset") -> list[Table]:
    """Return the tables of what follows from a dataset's figure; most families have none.

    Raises
    ------
    ValueError
        As in `panels`.
    """
    spec = spec_of(dataset)
    family = _family(spec)
    return [] if _lacks_results(dataset) else family.summaries(to_draw(dataset, spec), spec)


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


def _family(spec: FigureSpec) -> Family:
    known = FAMILIES | OTHERS
    if spec.kind not in known:
        raise ValueError(f"figure.kind: found '{spec.kind}', allowed: {', '.join(known)}")
    return known[spec.kind]


def draw(dataset: "xr.Dataset") -> "Figure":
    """Draw the figure of one dataset; save it with `analysis.style.save`.

    Raises
    ------
    ValueError
        As in `panels`.
    """
    found = panels(dataset)
    columns = columns_of(found)
    return compose(found, spec_of(dataset).width if columns == 1 else "page", columns)


def draw_together(datasets: "Sequence[xr.Dataset]") -> "Figure":
    """Draw several datasets as the panels of one figure, in the order of their letters.

    Raises
    ------
    ValueError
        As in `panels`.
    """
    ordered = sorted(datasets, key=lambda dataset: spec_of(dataset).letter)
    found = [panel for dataset in ordered for panel in panels(dataset)]
    return compose(found, "page", columns_of(found))
