"""The times of an experiment as a Markdown table, for pages that discuss them."""

import json
from pathlib import Path

import numpy as np
import xarray as xr

from tramontane.errors import InputError
from tramontane.support.layout import Layout

_MEMBER = "member"
_MILLI = 1e3


def times(root: Path, scale: str, experiment: str) -> str:
    """Return the median times [ms] of an experiment, with a column for each value along the x axis that has one.

    Raises
    ------
    InputError
        If there is no dataset of that experiment.
    """
    file = Layout(root, scale).dataset(experiment)
    if not file.exists():
        known = ", ".join(sorted(path.stem for path in file.parent.glob("*.nc"))) or "nothing yet"
        problem = f"no results of '{experiment}' at scale {scale}"
        raise InputError("times", "", experiment, known, problem=problem)
    with xr.open_dataset(file) as dataset:
        along = json.loads(dataset.attrs["figure_json"])["x"]
        time = dataset["time_s"].load() * _MILLI
    if _MEMBER in time.dims:
        time = time.median(_MEMBER)
    time = time.dropna(along, how="all")
    lines = [str(dim) for dim in time.dims if dim != along]
    if lines:
        rows = time.stack(row=lines).dropna("row", how="all").transpose("row", along)
    else:
        rows = time.expand_dims(row=[()])
    head = [*lines, *(_number(value) for value in time[along].values.tolist())]
    body = [
        [*map(str, name), *(_number(float(f"{value:.3g}")) if np.isfinite(value) else "" for value in values)]
        for name, values in zip(rows["row"].values.tolist() if lines else [()], rows.values.tolist(), strict=True)
    ]
    separator = [*("---",) * len(lines), *("---:",) * (len(head) - len(lines))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, separator, *body])


def _number(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,g}" if isinstance(value, float) else str(value)
