"""Figures: one module per family, each with one function from a dataset and its ``figure`` block to panels."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from analysis.figures import agreement, congestion, delays, pattern, radix, scaling
from analysis.figures.panel import Panel, columns_of, compose
from analysis.spec import FigureSpec

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

Family = Callable[["xr.Dataset", FigureSpec], list[Panel]]

#: Families by the name that a ``figure`` block gives as its ``kind``.
FAMILIES: dict[str, Family] = {
    "scaling": scaling.panels,
    "delay-distribution": delays.panels,
    "congestion-matrix": congestion.panels,
    "pattern": pattern.panels,
    "radix": radix.panels,
}
#: Families of datasets that no experiment makes: `tramontane compare --dataset` writes those.
OTHERS: dict[str, Family] = {"agreement": agreement.panels}


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
    spec = FigureSpec.of(dataset)
    known = FAMILIES | OTHERS
    if spec.kind not in known:
        raise ValueError(f"figure.kind: found '{spec.kind}', allowed: {', '.join(known)}")
    return known[spec.kind](dataset, spec)


def draw(dataset: "xr.Dataset") -> "Figure":
    """Draw the figure of one dataset; save it with `analysis.style.save`.

    Raises
    ------
    ValueError
        As in `panels`.
    """
    found = panels(dataset)
    columns = columns_of(found)
    return compose(found, FigureSpec.of(dataset).width if columns == 1 else "page", columns)


def draw_together(datasets: "Sequence[xr.Dataset]") -> "Figure":
    """Draw several datasets as the panels of one figure, in the order of their letters.

    Raises
    ------
    ValueError
        As in `panels`.
    """
    ordered = sorted(datasets, key=lambda dataset: FigureSpec.of(dataset).letter)
    found = [panel for dataset in ordered for panel in panels(dataset)]
    return compose(found, "page", columns_of(found))
