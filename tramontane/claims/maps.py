"""Where one series of an experiment beats another over two costs, as a Markdown table of ratios."""

import itertools
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import numpy as np
import xarray as xr

from tramontane.claims.bands import SERIES
from tramontane.errors import InputError, closest
from tramontane.results import datasets
from tramontane.results.members import middle
from tramontane.results.revisions import MEMBER, newest_members
from tramontane.support.formatting import coordinate
from tramontane.support.tables import markdown

#: Words after the scale: experiment, two series, two axes; patterns of other dimensions may follow.
WORDS = 5
EXPECTED = "EXPERIMENT OVER UNDER ROWS COLUMNS [DIMENSION=PATTERN ...]"


def ratios(root: Path, scale: str, words: Sequence[str]) -> str:
    """Return the ratio of the median times of two series over two dimensions, with a row for each value of the first.

    A ratio below 1, where the second series is the slower one, is bold. A question mark says that the members don't all
    agree on which is slower. The last column says where along the row that changes. Other dimensions with several
    values stand in front. Places without a time stay empty; rows and columns without any are left out.

    Parameters
    ----------
    root : Path
        Folder that holds ``results/``.
    scale : str
        Scale of the campaign.
    words : sequence of str
        What is shown, `EXPECTED`: an experiment, two of its series, and the dimensions of rows and columns. Others are
        shown in full, or with ``DIMENSION=PATTERN`` at those of their values that a shell pattern matches.

    Raises
    ------
    InputError
        If there is no dataset of that experiment, or it lacks what is named.
    """
    experiment, over, under, rows, columns = words[:WORDS]
    time = _time(root, scale, experiment)
    for dim in (rows, columns, *(word.partition("=")[0] for word in words[WORDS:])):
        _known(dim, [str(each) for each in time.dims if each not in (SERIES, MEMBER)], "dimension")
    for name in (over, under):
        _known(name, [str(value) for value in time[SERIES].values], SERIES)
    if rows == columns:
        raise InputError("map", "", columns, "two different dimensions")
    for word in words[WORDS:]:
        dim, _, pattern = word.partition("=")
        chosen = [value for value in time[dim].values.tolist() if fnmatchcase(str(value), pattern)]
        if not chosen:
            values = ", ".join(map(str, time[dim].values.tolist()))
            raise InputError("map", "", word, f"a pattern of {values}", problem=f"no {dim} like '{pattern}'")
        time = time.sel({dim: chosen})
    return _table(time, over, under, rows, columns)


def _time(root: Path, scale: str, experiment: str) -> xr.DataArray:
    time = newest_members(datasets.of_experiment(root, scale, experiment, "map"), "time_s")["time_s"]
    if SERIES not in time.dims:
        raise InputError("map", "", experiment, "an experiment with series", problem="no series")
    return time if MEMBER in time.dims else time.expand_dims(MEMBER)


def _known(name: str, known: Sequence[str], what: str) -> None:
    if name not in known:
        raise InputError("map", "", name, ", ".join(known), problem=f"no {what} '{name}'", hint=closest(name, known))


def _table(time: xr.DataArray, over: str, under: str, rows: str, columns: str) -> str:
    others = [str(dim) for dim in time.dims if dim not in (rows, columns, SERIES, MEMBER) and time.sizes[dim] > 1]
    single = [str(dim) for dim in time.dims if time.sizes[dim] == 1 and dim not in (rows, columns, SERIES, MEMBER)]
    time = time.squeeze(single, drop=True)
    both = time.sel({SERIES: [over, under]}).notnull().any(MEMBER).all(SERIES)
    time = time.isel({columns: np.flatnonzero(both.any([dim for dim in both.dims if dim != columns]).values)})
    across = [coordinate(value) for value in time[columns].values.tolist()]
    lines = []
    for values in itertools.product(*(time[dim].values.tolist() for dim in (*others, rows))):
        place = dict(zip((*others, rows), values, strict=True))
        pairs = time.sel({**place, SERIES: [over, under]}).transpose(columns, SERIES, MEMBER)
        found = [_ratio(*pair) for pair in zip(middle(pairs, [MEMBER]).values, pairs.values, strict=True)]
        if any(found):
            lines.append([*map(coordinate, values), *map(_cell, found), _changes(found, across)])
    head = [*others, rows, *across, "sign changes"]
    return markdown(head, lines, right=range(len(others) + 1, len(head) - 1))


class _Ratio(NamedTuple):
    """The ratio of two medians, and whether all pairs of members agree on its side of 1."""

    value: float
    agreed: bool


def _ratio(medians: np.ndarray, members: np.ndarray) -> _Ratio | None:
    """Return the ratio of one median to another, and whether the members of both agree; None unless it is a number."""
    if not (medians[0] >= 0 and medians[1] > 0):
        return None
    value = float(medians[0] / medians[1])
    over, under = (own[np.isfinite(own)] for own in members)
    slower = over[:, None] > under[None, :]
    return _Ratio(value, bool(slower.all() if value > 1 else not slower.any()))


def _cell(ratio: _Ratio | None) -> str:
    if ratio is None:
        return ""
    text = f"{ratio.value:.3g}" + ("" if ratio.agreed else "?")
    return f"**{text}**" if ratio.value < 1 else text


def _changes(found: Sequence[_Ratio | None], across: Sequence[str]) -> str:
    known = [(ratio, name) for ratio, name in zip(found, across, strict=True) if ratio is not None]
    places = [
        f"between {one} and {two}" + ("" if before.agreed and after.agreed else "?")
        for (before, one), (after, two) in itertools.pairwise(known)
        if (before.value < 1) != (after.value < 1)
    ]
    return ", ".join(places) or "no"
