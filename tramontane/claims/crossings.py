"""Where the curves of an experiment change places, as a Markdown table with bands."""

import itertools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tramontane.claims.bands import SERIES
from tramontane.errors import InputError
from tramontane.results import datasets
from tramontane.results.members import middle
from tramontane.results.revisions import MEMBER, newest_members
from tramontane.support.formatting import rounded
from tramontane.support.interpolation import zero_over_logarithm
from tramontane.support.tables import markdown

Floats = NDArray[np.float64]


def crossings(root: Path, scale: str, experiment: str) -> str:
    """Return for each pair of series, and whatever else is varied, where one becomes faster than the other.

    A place is that of the medians of times, interpolated in the logarithms of their ratio and of the axis. Its band has
    the places of all pairs of members that have run on both sides of it. Where curves do not meet, the table says by
    how much the one is slower at both ends.

    Raises
    ------
    InputError
        If there is no dataset of that experiment, it has no times or no series, or its axis has no logarithm.
    """
    dataset = datasets.of_experiment(root, scale, experiment, "crossings")
    along = json.loads(dataset.attrs["figure_json"]).get("x")
    _known(dataset, along, experiment)
    time = newest_members(dataset, "time_s")["time_s"]
    if MEMBER not in time.dims:
        time = time.expand_dims(MEMBER)
    time = time.sortby(along)
    others = [str(dim) for dim in time.dims if dim not in (along, MEMBER, SERIES)]
    rows = [
        [*place, *row]
        for place, own in _places(time, others)
        for row in _rows(own.transpose(SERIES, MEMBER, along), along)
    ]
    return markdown([*others, "first", "second", "second is slower from", "second over first"], rows)


def _known(dataset: xr.Dataset, along: str | None, experiment: str) -> None:
    """Raise InputError unless there are times of series along an axis that has a logarithm."""
    if SERIES not in dataset["time_s"].dims:
        raise InputError(
            "crossings", "", experiment, "an experiment with series", problem=f"no series in '{experiment}'"
        )
    if along not in dataset["time_s"].dims:
        problem = f"the figure of '{experiment}' has no axis x along which times were taken"
        raise InputError("crossings", "", experiment, "an experiment whose figure has one", problem=problem)
    values = dataset[along].values
    if values.dtype.kind not in "fiu" or not (values > 0).all():
        found = f"found {', '.join(map(str, values.tolist()[:3]))} along {along}"
        raise InputError("crossings", "", experiment, "an axis x of numbers above zero", problem=found)


def _places(time: xr.DataArray, others: list[str]) -> Iterator[tuple[list[str], xr.DataArray]]:
    for values in itertools.product(*(time[dim].values.tolist() for dim in others)):
        yield [str(value) for value in values], time.sel(dict(zip(others, values, strict=True)))


def _rows(time: xr.DataArray, along: str) -> Iterator[list[str]]:
    for first, second in itertools.combinations(time[SERIES].values.tolist(), 2):
        pair = time.sel({SERIES: [first, second]})
        medians = middle(pair, [MEMBER])
        both = np.flatnonzero((medians > 0).all(SERIES))  # a time of 0 has no logarithm
        if both.size < 2:
            continue
        pair, medians = pair.isel({along: both}), medians.isel({along: both})
        x = pair[along].values.astype(float)
        one, two = np.log(pair.where(pair > 0).values)
        ratio = np.subtract(*np.log(medians.sel({SERIES: [second, first]}).values))
        ends = f"{np.exp(ratio[0]):.3g} at {rounded(x[0])}, {np.exp(ratio[-1]):.3g} at {rounded(x[-1])}"
        of_members = [b - a for a, b in itertools.product(one, two)]
        words = [_said(turn, x, of_members) for turn in _turns(x, ratio)]
        yield [str(first), str(second), ", ".join(words) or ("always" if ratio[0] > 0 else "never"), ends]


class _Turn(NamedTuple):
    """Where a line of log ratios changes its sign.

    Attributes
    ----------
    place : float
        Where a straight line between two points is zero.
    upwards : bool
        Whether the ratio rises.
    after : int
        The second of these points.
    """

    place: float
    upwards: bool
    after: int


def _turns(x: Floats, ratio: Floats) -> list[_Turn]:
    """Return where the second becomes slower, and where it no longer is; where both are level it stays what it was."""
    found, slower = [], bool(ratio[0] > 0)
    for after in range(1, ratio.size):
        if ratio[after] < 0 if slower else ratio[after] > 0:
            slower = not slower
            between = slice(after - 1, after + 1)
            found.append(_Turn(zero_over_logarithm(x[between], ratio[between]), slower, after))
    return found


def _said(turn: _Turn, x: Floats, of_members: Sequence[Floats]) -> str:
    """Return a place with its band: where all pairs of members turn that have run on both sides of it."""
    both = [own for own in of_members if np.isfinite(own[turn.after - 1 : turn.after + 1]).all()]
    lines = [(x[np.isfinite(own)], own[np.isfinite(own)]) for own in both]
    near = [each.place for line in lines for each in _turns(*line) if each.upwards == turn.upwards]
    # Members of one side alone move the medians, and so the place: their own places may lie beside it.
    near.append(turn.place)
    band = f"{rounded(min(near))} to {rounded(max(near))}" if len(both) > 1 else "one run"
    return f"{rounded(turn.place)} ({band})" + ("" if turn.upwards else " downwards")
