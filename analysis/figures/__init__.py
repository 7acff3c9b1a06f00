"""Figures: one module per family, each with one function from a dataset and its ``figure`` block to a figure."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from analysis.figures import agreement, scaling
from analysis.spec import FigureSpec

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

#: Families by the name that a ``figure`` block gives as its ``kind``.
FAMILIES: dict[str, "Callable[[xr.Dataset, FigureSpec], Figure]"] = {"scaling": scaling.draw}
#: Families of datasets that no experiment makes: `tramontane compare --dataset` writes those.
OTHERS: dict[str, "Callable[[xr.Dataset, FigureSpec], Figure]"] = {"agreement": agreement.draw}


def draw(dataset: "xr.Dataset") -> "Figure":
    """Draw the figure that a dataset asks for.

    Parameters
    ----------
    dataset
        A collated dataset with its attribute ``figure_json``.

    Returns
    -------
    Figure
        Save it with `analysis.style.save`.

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
