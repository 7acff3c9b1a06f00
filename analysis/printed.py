"""Times that a paper prints, beside those that were simulated: what checks of the kind `printed` say of the curves."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray as xr

from analysis import style
from analysis.spec import FigureSpec
from analysis.table import line_label, series_name
from tramontane.study.values.quantities import STEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: What a legend says of them.
LABEL = "as printed"
#: Their marker, with its size and the width of its lines in points.
MARK: dict[str, Any] = {"linestyle": "", "marker": "x", "markersize": 5.5, "markeredgewidth": 1.1}


def marks(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Return rows ``series, x, y [s]`` of printed times where the dataset has points."""
    rows: list[tuple[Any, ...]] = []
    for told in _told(dataset):
        if spec.x != "ranks" or told["variable"] != spec.y or not set(spec.line_dimensions) <= set(told["select"]):
            continue
        name = _series(dataset, spec, told)
        rows += [(name, float(ranks), seconds) for ranks, seconds in told["seconds"].items()]
    found = pd.DataFrame(rows, columns=["series", "x", "y"]).drop_duplicates(["series", "x"])
    return found[found["x"].isin(np.atleast_1d(dataset[spec.x].values))] if rows else found


def of_steps(dataset: xr.Dataset, spec: FigureSpec) -> pd.DataFrame:
    """Return rows ``label, x, step, time [s]`` of printed times of a role's steps where the dataset has points."""
    rows: list[tuple[Any, ...]] = []
    for told in _told(dataset):
        step = str(told["select"].get("step", "")).split(" ")
        if told["variable"] != STEPS["time_s"].name or step[0] != (spec.role or step[0]):
            continue
        if not set(spec.line_dimensions) <= set(told["select"]):
            continue
        name = line_label(_series(dataset, spec, told), spec)
        rows += [(label(name), float(ranks), step[-1], s) for ranks, s in told["seconds"].items()]
    found = pd.DataFrame(rows, columns=["label", "x", "step", "time"])
    return found[found["x"].isin(np.atleast_1d(dataset[spec.x].values))] if rows else found


def _series(dataset: xr.Dataset, spec: FigureSpec, told: Mapping[str, Any]) -> str:
    return ", ".join(series_name(dataset, dim, told["select"][dim]) for dim in spec.line_dimensions)


def shown(dataset: xr.Dataset, spec: FigureSpec) -> bool:
    """Return whether the figure of a dataset has any."""
    alone = np.atleast_1d(dataset[spec.x].values).size == 1 if spec.x in dataset.coords else False
    steps = spec.kind == "steps" and alone and not of_steps(dataset, spec).empty
    return steps or (spec.kind in ("scaling", "steps") and not marks(dataset, spec).empty)


def label(series: str) -> str:
    """Return the name of a series' printed times."""
    return f"{series}, {LABEL}"


def draw(axes: "Axes", found: pd.DataFrame, looks: Mapping[str, style.SeriesStyle]) -> "list[Line2D]":
    """Draw marks in their series' colours; return the legend's entry."""
    from matplotlib.lines import Line2D  # noqa: PLC0415

    for name, own in found.groupby("series"):
        axes.plot(own["x"], own["y"], color=looks[str(name)].colour, zorder=4, **MARK)
    return [] if found.empty else [Line2D([], [], color="0.3", label=LABEL, **MARK)]


def _told(dataset: xr.Dataset) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = json.loads(dataset.attrs.get("printed_json") or "[]")
    return told
