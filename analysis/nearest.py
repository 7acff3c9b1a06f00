"""Curves of the machine that comes nearest to a paper, each beside the same of our own machine."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from analysis.figures import axes as axis_tools
from analysis.figures import show
from analysis.figures.panel import Drawn, Panel, compose
from analysis.spec import spec_of
from analysis.style import save
from tramontane.claims.curves import NEAREST, OURS
from tramontane.results import datasets
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

ASPECTS = {"scaling": 0.55, "radix": 0.55, "delay-distribution": 0.95}
"""Families that draw curves, with height over width of a panel: low ones, because a figure has up to six pairs."""


def draw(folder: Path, words: str, stem: Path) -> list[Path]:
    """Draw all pairs, a picture for each of a paper's figures; return the files, none if there is no pair.

    Parameters
    ----------
    folder : Path
        Where `tramontane.claims.curves` writes.
    words : str
        What the nearest machine is called.
    stem : Path
        Path of the pictures without suffix; the number of the paper's figure is put after it.
    """
    groups: dict[str, list[Panel]] = {}
    for file in sorted((folder / OURS).glob("*.nc")):
        other = folder / NEAREST / file.name
        if other.exists():
            ours = datasets.read(file)
            groups.setdefault(_figure(ours), []).extend(pair(ours, datasets.read(other), words))
    return [
        path
        for name, found in groups.items()
        if found
        for path in save(compose(found, "page", 2), stem.with_name(f"{stem.name}-{name}"))
    ]


def pair(ours: xr.Dataset, nearest: xr.Dataset, words: str) -> list[Panel]:
    """Return two panels of one experiment, with the same axes; none if its figure has no curves."""
    aspect = ASPECTS.get(spec_of(ours).kind)
    if aspect is None:
        return []
    ours, nearest = _in_one_unit(ours, nearest)
    first, second = show(ours).panels[0], show(nearest).panels[0]
    drawn: list[Drawn] = []

    def left(page: "Figure", cell: "SubplotSpec") -> Sequence[Drawn]:
        drawn[:] = first.draw(page, cell)
        return drawn

    def right(page: "Figure", cell: "SubplotSpec") -> Sequence[Drawn]:
        other = second.draw(page, cell)
        for one, two in zip(drawn, other, strict=False):
            _share(one.axes, two.axes)
        # The names of lines stand at the left.
        return [Drawn(each.axes) for each in other] if drawn[0].handles else other

    title = _title(ours)
    return [
        replace(panel, draw=made, letter="", note="", title=f"{title}, {whose}", height=None, aspect=aspect)
        for panel, made, whose in ((first, left, "our machine"), (second, right, words))
    ]


def _figure(dataset: xr.Dataset) -> str:
    """Return the number of the paper's figure, or the experiment where it is of none."""
    number = re.match(r"\d+", str(dataset.attrs.get("paper_figure", "")))
    return f"fig{int(number[0]):02}" if number else str(dataset.attrs.get("experiment", ""))


def _title(dataset: xr.Dataset) -> str:
    """Return what a reader calls an experiment: a figure of the paper, or its own name where it is a variation."""
    name = str(dataset.attrs.get("experiment", ""))
    return str(dataset.attrs.get("paper_figure")) if name.startswith("fig") else name


def _in_one_unit(*found: xr.Dataset) -> list[xr.Dataset]:
    """Return datasets whose times are in the unit in which all of them read best: else each figure chooses its own."""
    y = spec_of(found[0]).y
    if any(y not in each or each[y].attrs.get("units") != "s" for each in found):
        return list(found)
    values = np.concatenate([each[y].values.ravel() for each in found])
    symbol, factor = formatting.time_unit(values[values > 0].tolist())
    made = []
    for each in found:
        scaled = each.assign({y: (each[y] / factor).assign_attrs(each[y].attrs | {"units": symbol})})
        scaled.attrs.pop("printed_json", None)  # which is in seconds
        made.append(scaled)
    return made


def _share(one: "Axes", two: "Axes") -> None:
    """Give two pairs of axes the same limits, where both show something."""
    if not (one.lines and two.lines):
        return
    for axis, other in ((one.xaxis, two.xaxis), (one.yaxis, two.yaxis)):
        edges = [*axis.get_view_interval(), *other.get_view_interval()]
        for each in (axis, other):
            if each.get_scale() == "log":
                axis_tools.set_log_axis(each, min(edges), max(edges))
            else:
                each.axes.set(**{f"{each.axis_name}lim": (min(edges), max(edges))})
    if len(two.get_shared_y_axes().get_siblings(two)) == 1:
        two.sharey(one)  # where a legend makes room in one, the other follows
    two.set_ylabel("")
