"""How far substrates are apart on the same points, and what each of them costs.

The embedded simulator is what the others are held against: it runs every point. A point counts for a substrate if both
have a result for it; what was measured on a real machine, whose network is no machine file's, has none in common.
"""

import itertools
from dataclasses import dataclass

import numpy as np
import xarray as xr

from tramontane.comparison.statistics import MARGIN
from tramontane.results.revisions import MEMBER

#: The dimension that tells substrates apart.
SUBSTRATE = "substrate"
#: The substrate that the others are compared with.
REFERENCE = "simulator"


@dataclass(frozen=True)
class Comparison:
    """A substrate beside the reference.

    Attributes
    ----------
    substrate : str
        Its name.
    own : int
        Points it has a result for.
    common : int
        Points that the reference has a result for, too.
    median_ratio, least_ratio, largest_ratio : float or None
        Its times over the reference's; None without a common point.
    orderings, agreeing : int
        Pairs of common points that differ in one dimension, and in the reference's times by more than 5 %; and how many
        of them it puts in the same order.
    wall_s : float or None
        Wall time of its points, median [s].
    wall_ratio : float or None
        The same over the reference's, median over common points.
    memory_bytes : float or None
        Most memory that a point took [B].
    memory_ratio : float or None
        Memory over the reference's, median over common points.
    """

    substrate: str
    own: int
    common: int
    median_ratio: float | None
    least_ratio: float | None
    largest_ratio: float | None
    orderings: int
    agreeing: int
    wall_s: float | None
    wall_ratio: float | None
    memory_bytes: float | None
    memory_ratio: float | None


def compare(dataset: xr.Dataset) -> list[Comparison]:
    """Return a comparison for each substrate of a dataset that has results, in the order of the dataset.

    Parameters
    ----------
    dataset : xarray.Dataset
        ``time_s``, ``wall_s`` and ``peak_rss_bytes`` over ``substrate`` and other dimensions; of the members of an
        ensemble the median counts.
    """
    joined = over_members(dataset)
    found = [_one(joined, str(name)) for name in joined[SUBSTRATE].values]
    return [each for each in found if each.own]


def over_members(dataset: xr.Dataset) -> xr.Dataset:
    """Return what is compared, without a dimension of members."""
    known = dataset[["time_s", "wall_s", "peak_rss_bytes"]]
    return known.median(MEMBER) if MEMBER in known.dims else known


def ratios(dataset: xr.Dataset, name: str, variable: str = "time_s") -> xr.DataArray:
    """Return a variable of a substrate over the reference's; NaN where one of them has no result."""
    of = {str(each): dataset[variable].sel({SUBSTRATE: each}, drop=True) for each in dataset[SUBSTRATE].values}
    return of[name] / of[REFERENCE] if REFERENCE in of else xr.full_like(of[name], np.nan)


def _one(dataset: xr.Dataset, name: str) -> Comparison:
    times = _values(ratios(dataset, name))
    own = dataset.sel({SUBSTRATE: name}, drop=True)
    pairs = list(_orderings(dataset, name)) if len(times) else []
    return Comparison(
        substrate=name,
        own=int(own["time_s"].notnull().sum()),
        common=len(times),
        median_ratio=_or_none(np.median, times),
        least_ratio=_or_none(np.min, times),
        largest_ratio=_or_none(np.max, times),
        orderings=len(pairs),
        agreeing=sum(pairs),
        wall_s=_or_none(np.median, _values(own["wall_s"])),
        wall_ratio=_or_none(np.median, _values(ratios(dataset, name, "wall_s"))),
        memory_bytes=_or_none(np.max, _values(own["peak_rss_bytes"])),
        memory_ratio=_or_none(np.median, _values(ratios(dataset, name, "peak_rss_bytes"))),
    )


def _orderings(dataset: xr.Dataset, name: str) -> "itertools.chain[bool]":
    """Return for each ordering whether a substrate agrees with the reference."""
    theirs = dataset["time_s"].sel({SUBSTRATE: REFERENCE}, drop=True)
    ours = dataset["time_s"].sel({SUBSTRATE: name}, drop=True)
    return itertools.chain.from_iterable(
        _pair(ours.isel({dim: [first, second]}), theirs.isel({dim: [first, second]}), str(dim))
        for dim in theirs.dims
        for first, second in itertools.combinations(range(theirs.sizes[dim]), 2)
    )


def _pair(ours: xr.DataArray, theirs: xr.DataArray, dim: str) -> list[bool]:
    """Return the verdicts on two positions of a dimension, at all positions of the others."""
    known = (ours.notnull() & theirs.notnull()).all(dim)
    clear = known & (theirs.max(dim) > (1 + MARGIN) * theirs.min(dim))
    alike = (ours.diff(dim) * theirs.diff(dim) > 0).isel({dim: 0})
    return [bool(verdict) for verdict in np.atleast_1d(alike.values)[np.atleast_1d(clear.values)]]


def _values(array: xr.DataArray) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    flat = np.asarray(array.values, dtype=np.float64).ravel()
    return flat[np.isfinite(flat)]


def _or_none(how: object, values: "np.ndarray[tuple[int], np.dtype[np.float64]]") -> float | None:
    return float(how(values)) if callable(how) and len(values) else None
