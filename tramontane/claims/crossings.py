"""Where the curves of an experiment change places, as a Markdown table with bands."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import xarray as xr

from tramontane.errors import InputError
from tramontane.results import datasets
from tramontane.results.revisions import MEMBER, newest_members
from tramontane.support.layout import Layout

SERIES = "series"


def crossings(root: Path, scale: str, experiment: str) -> str:
    """Return for each pair of series, and whatever else is varied, where one becomes faster than the other.

    A place is that of the medians, interpolated in the logarithms of time and of the axis. Its band has the places of
    all pairs of members. Where curves do not meet, the table says by how much the one is slower at both ends.

    Raises
    ------
    InputError
        If there is no dataset of that experiment, or it has no series.
    """
    file = Layout(root, scale).dataset(experiment)
    if not file.exists():
        known = ", ".join(sorted(path.stem for path in file.parent.glob("*.nc"))) or "nothing yet"
        raise InputError("crossings", "", experiment, known, problem=f"no results of '{experiment}' at scale {scale}")
    dataset = datasets.read(file)
    along = json.loads(dataset.attrs["figure_json"])["x"]
    time = newest_members(dataset[["time_s", *({"model_revision"} & set(dataset))]])["time_s"]
    if SERIES not in time.dims:
        raise InputError("crossings", "", experiment, "an experiment with series", problem="no series")
    if MEMBER not in time.dims:
        time = time.expand_dims(MEMBER)
    others = [str(dim) for dim in time.dims if dim not in (along, MEMBER, SERIES)]
    head = [*others, "first", "second", "second is slower from", "second over first"]
    lines = [head, ["---"] * len(head)]
    for place, own in _places(time, others):
        lines += [[*place, *row] for row in _rows(own.transpose(SERIES, MEMBER, along), along)]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _places(time: xr.DataArray, others: list[str]) -> Iterator[tuple[list[str], xr.DataArray]]:
    for values in itertools.product(*(time[dim].values.tolist() for dim in others)):
        yield [str(value) for value in values], time.sel(dict(zip(others, values, strict=True)))


def _rows(time: xr.DataArray, along: str) -> Iterator[list[str]]:
    for first, second in itertools.combinations(time[SERIES].values.tolist(), 2):
        pair = time.sel({SERIES: [first, second]})
        pair = pair.isel({along: np.flatnonzero(pair.notnull().any(MEMBER).all(SERIES))})
        if pair.sizes[along] < 2:
            continue
        x = np.log(pair[along].values.astype(float))
        one, two = np.log(pair.values)
        ratio = np.nanmedian(two, axis=0) - np.nanmedian(one, axis=0)
        ends = f"{np.exp(ratio[0]):.3g} at {_number(pair[along].values[0])}, {np.exp(ratio[-1]):.3g} at "
        ends += _number(pair[along].values[-1])
        of_members = (b - a for a, b in itertools.product(one, two))
        places = [place for each in of_members for place in _zeros(x[np.isfinite(each)], each[np.isfinite(each)])]
        yield [str(first), str(second), _said(_zeros(x, ratio), places, ratio), ends]


def _zeros(x: np.ndarray, ratio: np.ndarray) -> list[float]:
    """Return where straight lines between points are zero, with the sign of the side to which they rise."""
    found = []
    for at, (before, after) in enumerate(itertools.pairwise(ratio)):
        if (before < 0) != (after < 0):
            place = float(np.exp(x[at] - before * (x[at + 1] - x[at]) / (after - before)))
            found.append(place if after > before else -place)
    return found


def _said(places: list[float], of_members: list[float], ratio: np.ndarray) -> str:
    if not places:
        return "always" if ratio[0] > 0 else "never"
    words = []
    for place in places:
        near = [abs(each) for each in of_members if (each > 0) == (place > 0)]
        band = f" ({_number(min(near))} to {_number(max(near))})" if near else ""
        words.append(f"{_number(abs(place))}{band}" + ("" if place > 0 else " downwards"))
    return ", ".join(words)


def _number(value: float) -> str:
    return f"{float(f'{value:.3g}'):,.0f}"
