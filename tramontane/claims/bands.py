"""Takes curves out of datasets: at each process count the median of an ensemble and its range.

A single run of such a network tells little, because these systems are chaotic: where there is only one member, the
range is what single runs are known to deviate by (``configs/claims/judgement.yaml``).
"""

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tramontane.claims.outcome import Lacking, count
from tramontane.study.claims import Judgement, Range

RANKS = "ranks"
MEMBER = "member"

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
        Smallest, median and largest value of the members at each; of a single run the range it may stand for.
    members : int
        Number of members; 1 for single runs.
    lacking : tuple of float
        Process counts of the experiment that have no result.
    """

    name: str
    x: Floats
    low: Floats
    median: Floats
    high: Floats
    members: int = 1
    lacking: tuple[float, ...] = ()

    def between(self, bounds: Range) -> "Band":
        """Return the part of the curve between two process counts."""
        first, last = (-np.inf if bounds[0] is None else bounds[0]), (np.inf if bounds[1] is None else bounds[1])
        return self._only((self.x >= first) & (self.x <= last), [x for x in self.lacking if first <= x <= last])

    def at(self, places: Floats) -> "Band":
        """Return the curve at some of its process counts."""
        return self._only(np.isin(self.x, places), self.lacking)

    def _only(self, chosen: NDArray[np.bool_], lacking: tuple[float, ...] | list[float]) -> "Band":
        parts = {name: getattr(self, name)[chosen] for name in ("x", "low", "median", "high")}
        return replace(self, lacking=tuple(lacking), **parts)


def common(first: Band, second: Band, bounds: Range, least: int = 1) -> tuple[Band, Band]:
    """Return two curves at the process counts that both have.

    Raises
    ------
    Lacking
        If they share fewer than `least` between the bounds.
    """
    places = np.intersect1d(first.between(bounds).x, second.between(bounds).x)
    if places.size < least:
        largest = min((max(band.x, default=0.0) for band in (first, second)), default=0.0)
        raise Lacking(f"{first.name} and {second.name} {where(bounds, least)} (there up to {count(largest)})")
    return first.at(places), second.at(places)


def part(band: Band, bounds: Range, least: int = 1) -> Band:
    """Return the part of a curve between two process counts.

    Raises
    ------
    Lacking
        If it has fewer than `least` results there.
    """
    found = band.between(bounds)
    if found.x.size < least:
        raise Lacking(f"{band.name} {where(bounds, least)} (there up to {count(max(band.x, default=0.0))})")
    return found


def where(bounds: Range, least: int = 1) -> str:
    """Return a range of process counts in words."""
    first, last = bounds
    much = "" if least == 1 else f"{least} or more process counts "
    if first is None and last is None:
        return f"at {much or 'any process count'}".rstrip()
    if last is None:
        return f"at {much}from {count(first or 0)} processes"
    return f"at {much}up to {count(last)} processes" if first is None else f"at {much}{count(first)} to {count(last)}"


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
    return f"the best of {', '.join(found)}" if len(found) > 1 else (found[0] if found else name)


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
    members = values.sizes.get(MEMBER, 1)
    over = [MEMBER] if MEMBER in values.dims else []
    parts = [values.min(over), values.median(over), values.max(over)] if over else [values] * 3
    others = [dim for dim in parts[1].dims if dim != RANKS]
    if [dim for dim in others if dim not in select and parts[1].sizes[dim] > 1]:
        raise Lacking(f"one value of each of {', '.join(str(dim) for dim in others if dim not in select)}")
    if RANKS not in parts[1].dims:
        raise Lacking(f"the dimension {RANKS}")
    stacked = [item.stack(all=others) if others else item.expand_dims("all", -1) for item in parts]
    low, median, high = (np.asarray(item.transpose(RANKS, "all").values, dtype=np.float64) for item in stacked)
    there = np.asarray(np.isfinite(median).any(axis=1), dtype=bool)
    fastest = np.asarray(np.where(np.isfinite(median), median, np.inf).argmin(axis=1))
    low, median, high = (item[np.arange(len(fastest)), fastest] for item in (low, median, high))
    if members == 1:
        low, high = low / (1 + judgement.slower_than_band.value), high / (1 - judgement.faster_than_band.value)
    x = np.asarray(own[RANKS].values, dtype=np.float64)
    order = np.argsort(x)
    order = order[there[order]]
    return Band(label, x[order], low[order], median[order], high[order], members, _lacking(own, x, there))


def _lacking(dataset: xr.Dataset, x: Floats, there: NDArray[np.bool_]) -> tuple[float, ...]:
    """Return the process counts that were meant to run and have no result."""
    if "status" not in dataset:
        return tuple(x[~there].tolist())
    status = dataset["status"]
    meant = (status != "excluded").any([dim for dim in status.dims if dim != RANKS])
    return tuple(x[~there & np.asarray(meant.values, dtype=bool)].tolist())
