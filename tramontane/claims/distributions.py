"""Checks of distributions: how long packets were delayed, and between which processes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
import xarray as xr

from tramontane.claims.bands import RANKS, Floats, called, chosen, common_ranks
from tramontane.claims.margins import LOG_RATIO, SHARE, Margin, log_ratio, within
from tramontane.claims.margins import least as least_margin
from tramontane.claims.outcome import Lacking, Outcome
from tramontane.results.delays import share_below
from tramontane.results.revisions import MEMBER
from tramontane.study.experiments.claims import Range
from tramontane.support.formatting import count, percent, rounded

_DELAYS = ("delay_packets", "delay_lower", "delay_upper")
_BIN = "delay_bin"
_PAIRS = ("source_bin", "destination_bin")
_CONGESTION = ("congestion_sum", "congestion_packets")


@dataclass(frozen=True)
class Delays:
    """How many packets were delayed by how much.

    Attributes
    ----------
    name : str
        What they are called in evidence.
    lower, upper : array
        Bounds of the bins [s].
    packets : array
        Packets of each member in each bin.
    """

    name: str
    lower: Floats
    upper: Floats
    packets: Floats

    def below(self, delay: float) -> Floats:
        """Return each member's share of packets delayed by less than `delay` [s]."""
        return share_below(self.lower, self.upper, self.packets, delay)

    def cumulative(self) -> Floats:
        """Return each member's share of packets up to the end of each bin."""
        return np.asarray(self.packets.cumsum(axis=1) / self.packets.sum(axis=1, keepdims=True))


def delays(dataset: xr.Dataset, name: str, select: Mapping[str, str], ranks: int) -> Delays:
    """Return the delays of one curve at a number of processes.

    Raises
    ------
    Lacking
        If the dataset has none.
    """
    own, label = _one(dataset, name, select, ranks, _DELAYS)
    packets = _members(own["delay_packets"], [_BIN])
    lower, upper = (np.asarray(own[key].values, dtype=np.float64) for key in _DELAYS[1:])
    kept = packets[np.isfinite(packets).all(axis=1) & (packets.sum(axis=1) > 0)]
    if not kept.size:
        raise Lacking(f"the delays of {label} at {count(ranks)} processes")
    return Delays(label, lower, np.where(np.isfinite(upper), upper, lower), kept)


def share(own: Delays, ranks: int, bound: float, text: str, *, more: bool, stated: Range) -> Outcome:
    """Whether the share of packets delayed by more (or less) than a time lies in a range."""
    shares = 1 - own.below(bound) if more else own.below(bound)
    middle = float(np.median(shares))
    least, most = stated
    margin = Margin(within(middle, stated, logarithmic=False), SHARE, (ranks, ranks), inclusive=True)
    ends = ((word, end) for word, end in (("at least", least), ("at most", most)) if end is not None)
    wanted = " and ".join(f"{word} {percent(end)}" for word, end in ends)
    evidence = (
        f"{own.name} at {count(ranks)} processes: {percent(middle)} of the packets delayed by "
        f"{'more' if more else 'less'} than {text} (read as {wanted})"
    )
    edges = [edge for edge in stated if edge is not None]
    fragile = any(shares.min() <= edge <= shares.max() for edge in edges) if shares.size > 1 else False
    return Outcome(margin, evidence, int(fragile), 1)


def same_delays(curves: Sequence[Delays], ranks: int, near: float, *, same: bool) -> Outcome:
    """Whether distributions of delays are nowhere further apart than a share of the packets, or all further apart."""
    found = []
    for first, second in combinations(curves, 2):
        if first.lower.shape != second.lower.shape or not np.allclose(first.lower, second.lower):
            raise Lacking(f"delays of {first.name} and {second.name} in the same bins")
        one, other = (np.median(own.cumulative(), axis=0) for own in (first, second))
        found.append((float(np.abs(one - other).max()), f"{first.name} and {second.name}"))
    margin = least_margin(
        Margin(near - distance if same else distance - near, SHARE, (ranks, ranks), inclusive=same)
        for distance, _ in found
    )
    evidence = "; ".join(f"{pair} differ by at most {percent(distance)} of the packets" for distance, pair in found)
    return Outcome(margin, f"{evidence}, at {count(ranks)} processes", 0, len(found))


@dataclass(frozen=True)
class Matrix:
    """Congestion between processes: the mean delay of a packet for each pair of bins, and for all of them.

    Attributes
    ----------
    name : str
        What it is called in evidence.
    level : array
        Mean delay of all packets [s], for each member.
    unevenness : array
        Standard deviation of the pairs' means relative to their mean, for each member.
    """

    name: str
    level: Floats
    unevenness: Floats


def matrix(dataset: xr.Dataset, name: str, select: Mapping[str, str], ranks: int) -> Matrix:
    """Return the congestion of one curve at a number of processes.

    Raises
    ------
    Lacking
        If the dataset has none.
    """
    own, label = _one(dataset, name, select, ranks, _CONGESTION)
    total, packets = (_members(own[key], list(_PAIRS)) for key in _CONGESTION)
    kept = np.nansum(packets, axis=1) > 0
    total, packets = total[kept], packets[kept]
    if not packets.size:
        raise Lacking(f"the congestion of {label} at {count(ranks)} processes")
    pairs = np.divide(total, packets, out=np.full_like(total, np.nan), where=packets > 0)
    mean = np.nanmean(pairs, axis=1)
    spread = np.nanstd(pairs, axis=1)
    level = np.nansum(total, axis=1) / np.nansum(packets, axis=1)
    return Matrix(label, level, np.divide(spread, mean, out=np.zeros_like(mean), where=mean > 0))


def congestion(groups: Sequence[Sequence[Matrix]], by: str, ranks: int) -> Outcome:
    """Whether congestion grows from group to group: each member of one group is below each of the next."""

    def values(own: Matrix) -> Floats:
        return own.level * 1e6 if by == "level" else own.unevenness

    unit = " µs" if by == "level" else ""
    margins, fragile = [], 0
    for lower, upper in pairwise(groups):
        for one in lower:
            for other in upper:
                distance = float(log_ratio(np.median(values(other)), np.median(values(one))))
                margins.append(Margin(distance, LOG_RATIO, (ranks, ranks)))
                fragile += int(values(one).max() >= values(other).min() and len(values(one)) > 1)
    shown = ", ".join(f"{own.name} {rounded(float(np.median(values(own))))}{unit}" for group in groups for own in group)
    what = "mean delay of a packet" if by == "level" else "variation between pairs of processes"
    decided = least_margin(margins) if margins else True  # one group alone has no order
    return Outcome(decided, f"{what} at {count(ranks)} processes: {shown}", fragile, len(margins))


def _one(
    dataset: xr.Dataset, name: str, select: Mapping[str, str], ranks: int, variables: Sequence[str]
) -> tuple[xr.Dataset, str]:
    """Return the part of a dataset that belongs to one curve at a number of processes, and its name."""
    absent = [key for key in variables if key not in dataset.variables]
    if absent:
        raise Lacking(f"the variable {absent[0]}")
    own = chosen(dataset, select)
    label = called(own, name, select)
    if RANKS in own.dims:
        own = chosen(own, {RANKS: str(ranks)})
    elif (there := common_ranks(own)) != ranks:
        raise Lacking(f"{label} at {count(ranks)} processes (there: {count(there or 0)})")
    several = [dim for dim in (*select, RANKS) if own.sizes.get(dim, 1) > 1]
    if several:
        raise Lacking(f"one value of {', '.join(several)}")
    return own.squeeze([dim for dim in (*select, RANKS) if dim in own.dims]), label


def _members(values: xr.DataArray, last: list[str]) -> Floats:
    """Return an array of members by everything else, in one dimension."""
    if MEMBER not in values.dims:
        values = values.expand_dims(MEMBER)
    values = values.dropna(MEMBER, how="all")
    if set(values.dims) != {MEMBER, *last}:
        raise Lacking(
            f"one value of each of {', '.join(str(dim) for dim in values.dims if dim not in (MEMBER, *last))}"
        )
    array = np.asarray(values.transpose(MEMBER, *last).values, dtype=np.float64)
    return array.reshape(array.shape[0], math.prod(array.shape[1:]))
