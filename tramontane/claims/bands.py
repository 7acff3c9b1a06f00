"""Takes curves out of datasets: at each process count the median of an ensemble and its range.

A single run of such a network tells little, because these systems are chaotic: where there is only one member, the
range is what single runs are known to deviate by (``configs/claims/judgement.yaml``).
"""

import fnmatch
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tramontane.claims.outcome import Lacking, Span
from tramontane.results.members import ends, middle
from tramontane.results.revisions import MEMBER
from tramontane.study.experiments.claims import Judgement
from tramontane.support.formatting import count

#: Dimensions of datasets.
RANKS, SERIES = "ranks", "series"

#: How many series are named one by one.
_SHOWN = 3

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Band:
    """A curve with its band.

    Attributes
    ----------
    name : str
        What the curve is called in evidence.
    x : array
        Process counts that have a result, ascending.
    low, median, high : array
        Smallest, median and largest value of the members at each, with the intervals of times of sampled stages; of a
        single run the range it may stand for.
    members : array
        Number of members at each.
    lacking : tuple of float
        Process counts of the experiment that have no result.
    """

    name: str
    x: Floats
    low: Floats
    median: Floats
    high: Floats
    members: Floats
    lacking: tuple[float, ...] = ()

    def inside(self, span: Span) -> "Band":
        """Return the part of the curve at the process counts that are meant."""
        return self._only((self.x >= span.first) & (self.x <= span.last), span.holds(self.lacking))

    def at(self, places: Floats) -> "Band":
        """Return the curve at some of its process counts."""
        return self._only(np.isin(self.x, places), self.lacking)

    def times(self, factor: float) -> "Band":
        """Return the curve of so many runs."""
        return replace(self, **{name: getattr(self, name) * factor for name in ("low", "median", "high")})

    def _only(self, chosen: NDArray[np.bool_], lacking: tuple[float, ...] | list[float]) -> "Band":
        parts = {name: getattr(self, name)[chosen] for name in ("x", "low", "median", "high", "members")}
        return replace(self, lacking=tuple(lacking), **parts)


def common(first: Band, second: Band, span: Span) -> tuple[Band, Band]:
    """Return two curves at the process counts that both have.

    Raises
    ------
    Lacking
        If those are not enough.
    """
    places = np.intersect1d(first.inside(span).x, second.inside(span).x)
    if not span.suffices(places):
        there = _there(np.intersect1d(first.x, second.x))
        raise Lacking(f"{span} ({there})", (first.name, second.name), span)
    return first.inside(span).at(places), second.inside(span).at(places)


def part(band: Band, span: Span) -> Band:
    """Return the part of a curve at the process counts that are meant.

    Raises
    ------
    Lacking
        If those are not enough.
    """
    found = band.inside(span)
    if not span.suffices(found.x):
        raise Lacking(f"{span} ({_there(band.x)})", (band.name,), span)
    return found


def _there(places: Floats) -> str:
    """Return which process counts there are, in words."""
    if not places.size:
        return "there: none"
    return f"there: {count(places[0])}" + (f" to {count(places[-1])}" if places.size > 1 else "")


def chosen(dataset: xr.Dataset, select: Mapping[str, str]) -> xr.Dataset:
    """Return the part of a dataset whose coordinates match names or shell patterns.

    Raises
    ------
    Lacking
        If there is no such dimension or coordinate.
    """
    for dim, pattern in select.items():
        if dim not in dataset.dims:
            raise Lacking(f"the dimension {dim}")
        values = [str(value) for value in dataset[dim].values.tolist()]
        places = [place for place, value in enumerate(values) if fnmatch.fnmatchcase(value, pattern)]
        if not places:
            raise Lacking(f"{dim} {pattern} (there: {', '.join(values)})")
        dataset = dataset.isel({dim: places})
    return dataset


def called(dataset: xr.Dataset, name: str, select: Mapping[str, str]) -> str:
    """Return the name of a curve in evidence: with a pattern, the coordinates that it stands for."""
    found = [str(value) for dim in select for value in dataset[dim].values.tolist() if _is_pattern(select[dim])]
    if len(found) <= 1:
        return found[0] if found else name
    return f"the best of {', '.join(found) if len(found) <= _SHOWN else f'{found[0]} ... {found[-1]}'}"


def _is_pattern(text: str) -> bool:
    return any(sign in text for sign in "*?[")


def band(dataset: xr.Dataset, name: str, select: Mapping[str, str], variable: str, judgement: Judgement) -> Band:
    """Return a curve of a dataset; where several series match, the fastest at each process count.

    Parameters
    ----------
    dataset : xarray.Dataset
        A collated dataset.
    name : str
        What the curve is called if `select` has no pattern.
    select : mapping
        Coordinate, or a shell pattern of it, for the other dimensions.
    variable : str
        Variable of the dataset.
    judgement : Judgement
        What a single run may deviate by.

    Raises
    ------
    Lacking
        If the dataset has no such part.
    """
    if variable not in dataset:
        raise Lacking(f"the variable {variable}")
    own = chosen(dataset, select)
    label = called(own, name, select)
    values = own[variable]
    over = [MEMBER] if MEMBER in values.dims else []
    # Points that cost much have fewer members than others; those that were left out are NaN.
    members = values.notnull().sum(over)
    lowest, highest = ends(own, variable)
    parts = [lowest.min(over), middle(values, over), highest.max(over), members]
    others = [dim for dim in parts[1].dims if dim != RANKS]
    if [dim for dim in others if dim not in select and parts[1].sizes[dim] > 1]:
        raise Lacking(f"one value of each of {', '.join(str(dim) for dim in others if dim not in select)}")
    if RANKS not in parts[1].dims:
        ranks = common_ranks(own)
        if ranks is None:
            raise Lacking(f"the dimension {RANKS}")
        own, parts = own.expand_dims({RANKS: [ranks]}), [item.expand_dims({RANKS: [ranks]}) for item in parts]
    stacked = [item.stack(all=others) if others else item.expand_dims("all", -1) for item in parts]
    low, median, high, number = (np.asarray(own.transpose(RANKS, "all").values, dtype=np.float64) for own in stacked)
    there = np.asarray(np.isfinite(median).any(axis=1), dtype=bool)
    fastest = np.asarray(np.where(np.isfinite(median), median, np.inf).argmin(axis=1))
    places = np.arange(len(fastest))
    low, median, high, number = (item[places, fastest] for item in (low, median, high, number))
    single = number == 1
    low[single] /= 1 + judgement.slower_than_band.value
    high[single] /= 1 - judgement.faster_than_band.value
    x = np.asarray(own[RANKS].values, dtype=np.float64)
    order = np.argsort(x)
    order = order[there[order]]
    return Band(label, x[order], low[order], median[order], high[order], number[order], _lacking(own, x, there))


def common_ranks(dataset: xr.Dataset) -> int | None:
    """Return the number of processes of all points of a dataset, if it is the same."""
    ranks = json.loads(dataset.attrs.get("base_json", "{}")).get(RANKS)
    return None if ranks is None else int(ranks)


def _lacking(dataset: xr.Dataset, x: Floats, there: NDArray[np.bool_]) -> tuple[float, ...]:
    """Return the process counts that were meant to run and have no result."""
    if "status" not in dataset:
        return tuple(x[~there].tolist())
    status = dataset["status"]
    meant = (status != "excluded").any([dim for dim in status.dims if dim != RANKS])
    return tuple(x[~there & np.asarray(meant.values, dtype=bool)].tolist())
