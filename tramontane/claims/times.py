"""The times of an experiment as a Markdown table, for pages that discuss them."""

import json
from pathlib import Path

import numpy as np
import xarray as xr

from tramontane.errors import InputError
from tramontane.results import datasets
from tramontane.results.members import middle
from tramontane.results.revisions import MEMBER, REVISION, label, newest, newest_members
from tramontane.support.formatting import coordinate
from tramontane.support.tables import markdown

_MILLI = 1e3
_SLOWDOWN = "slowdown"


def times(root: Path, scale: str, experiment: str) -> str:
    """Return the median times [ms] of an experiment, with a column for each value along the x axis that has one.

    Where its figure shows how much slower a job was than alone, the table shows that. A time of an older model revision
    says so.

    Raises
    ------
    InputError
        If there is no dataset of that experiment, or its figure has no axis of times.
    """
    dataset = datasets.of_experiment(root, scale, experiment, "times")
    figure = json.loads(dataset.attrs["figure_json"])
    shown = _SLOWDOWN if figure.get("y") == _SLOWDOWN else "time_s"
    along = figure.get("x")
    if along not in dataset[shown].dims:
        problem = f"the figure of '{experiment}' has no axis x along which times were taken"
        raise InputError("times", "", experiment, "an experiment whose figure has one", problem=problem)
    found = newest_members(dataset, shown)
    now, time = newest(found), found[shown] * (1 if shown == _SLOWDOWN else _MILLI)
    revision = found[REVISION].where(time.notnull()) if REVISION in found else xr.full_like(time, np.nan)
    over = [MEMBER] if MEMBER in time.dims else []  # all that are left at a place are of one revision
    both = xr.Dataset({"time": middle(time, over), "revision": middle(revision, over)})
    both = both.dropna(along, how="all", subset=["time"])
    lines = [str(dim) for dim in both["time"].dims if dim != along]
    both = both.stack(row=lines).dropna("row", how="all", subset=["time"]) if lines else both.expand_dims("row")
    both = both.transpose("row", along)
    head = [*lines, *(coordinate(value) for value in both[along].values.tolist())]
    names = both["row"].values.tolist() if lines else [()]
    body = [
        [*map(str, name), *(_cell(value, label([known], now)) for value, known in zip(values, revisions, strict=True))]
        for name, values, revisions in zip(
            names, both["time"].values.tolist(), both["revision"].values.tolist(), strict=True
        )
    ]
    return markdown(head, body, right=range(len(lines), len(head)))


def _cell(value: float, older: str) -> str:
    if not np.isfinite(value):
        return ""
    text = coordinate(float(f"{value:.3g}"))
    return f"{text} ({older})" if older else text
