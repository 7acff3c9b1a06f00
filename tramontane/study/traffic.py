"""Counts what a workload sends, in closed form: how many messages of which size, between which ranks.

The numbers are exact, but for `bruck`, whose messages gather blocks of different sizes and are taken as equally large
here, and for halos of a bisection, whose tiles are taken as equal squares. A test holds them against a count message
by message.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tramontane.study.machines import Protocol
from tramontane.study.points import Point
from tramontane.study.settings import filled
from tramontane.study.workloads import BRUCK_RADIX, DOUBLE, Allreduce, Halo, Transposition

CONTROL = 64
"""Bytes of a header, a get request or an acknowledgement."""


@dataclass(frozen=True)
class Traffic:
    """A part of a workload's messages, all between ranks of the same relation.

    Attributes
    ----------
    sizes : mapping
        Number of messages of each size [B].
    stride, members : int
        Partners are `stride` ranks apart within groups of `members`: rank r is member ``r // stride % members``.
    shifts : tuple of int
        How many members further the partner is; empty for each of the others alike.
    first, last : int
        The ranks that send: `first` to `last` - 1.
    """

    sizes: Mapping[int, int]
    stride: int
    members: int
    shifts: tuple[int, ...]
    first: int
    last: int

    @property
    def messages(self) -> int:
        """Number of messages."""
        return sum(self.sizes.values())

    @property
    def bytes(self) -> int:
        """Payload of all messages [B]."""
        return sum(size * count for size, count in self.sizes.items())

    def packets(self, packet: int, above: int = -1) -> int:
        """Return the number of packets of messages larger than `above`; an empty message is one packet, too."""
        return sum(max(1, -(-size // packet)) * count for size, count in self.sizes.items() if size > above)

    def control(self, protocol: Protocol) -> int:
        """Return the number of control packets on the network.

        Short messages travel with their header, eager ones take a header and a get request, larger ones an
        acknowledgement as well; with a `negligible_size` of 64 B or more, all of them bypass the network.
        """
        if protocol.negligible_size >= CONTROL:
            return 0
        eager = sum(count for size, count in self.sizes.items() if size > protocol.short_limit)
        pulled = sum(count for size, count in self.sizes.items() if size > protocol.eager_limit)
        return 2 * eager + pulled


def traffic(point: Point) -> Iterator[Traffic]:
    """Yield the parts of a point's traffic."""
    workload, ranks = point.workload, point.ranks
    if isinstance(workload, Transposition):
        yield from _transposition(workload, ranks)
    elif isinstance(workload, Halo):
        yield from _halo(workload, ranks)
    elif workload.algorithm == "ring":
        yield from _ring(workload, ranks)
    else:
        yield from _allreduce(workload, ranks)


def block_sizes(extent: int, parts: int) -> list[tuple[int, range]]:
    """Return the sizes that occur when `extent` points are divided, with the parts that have them."""
    size, longer = divmod(extent, parts)
    return [(size + 1, range(longer)), (size, range(longer, parts))]


# --- transposition -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Slab:
    """One phase: `groups` of `members` ranks, `stride` apart, each of which transposes a slab.

    The extents `origin`, cut among the members before, and `destination`, cut among them after, make up the slab; the
    third extent is cut among the groups.
    """

    members: int
    stride: int
    groups: int
    origin: int
    destination: int
    across: int


def _transposition(workload: Transposition, ranks: int) -> Iterator[Traffic]:
    """Yield the three phases of the paper's Fig. 3: each a slab transposition in groups of cx or cy ranks."""
    nx, ny, nz = workload.grid
    cx, cy = filled(workload.decomposition)
    for slab in (_Slab(cx, 1, cy, nx, nz, ny), _Slab(cy, cx, cx, ny, nx, nz), _Slab(cx, 1, cy, nz, ny, nx)):
        if workload.algorithm == "bruck":
            for shift, size in _bruck(slab, workload.radix or BRUCK_RADIX):
                yield Traffic({size: ranks}, slab.stride, slab.members, (shift,), 0, ranks)
        else:
            yield Traffic(_direct(slab), slab.stride, slab.members, (), 0, ranks)


def _direct(slab: _Slab) -> Counter[int]:
    """Count the messages of groups whose members send each block straight to its destination."""
    sizes: Counter[int] = Counter()
    for first, senders in block_sizes(slab.origin, slab.members):
        for second, receivers in block_sizes(slab.destination, slab.members):
            staying = len(range(max(senders.start, receivers.start), min(senders.stop, receivers.stop)))
            for third, groups in block_sizes(slab.across, slab.groups):
                pairs = (len(senders) * len(receivers) - staying) * len(groups)
                if pairs:
                    sizes[first * second * third * DOUBLE] += pairs
    return sizes


def _bruck(slab: _Slab, radix: int) -> Iterator[tuple[int, int]]:
    """Yield shift and size of each message that every member sends, as if all blocks were alike."""
    block = slab.origin * slab.destination * slab.across * DOUBLE / (slab.members**2 * slab.groups)
    weight = 1
    while weight < slab.members:
        for shift in range(weight, min(radix * weight, slab.members), weight):
            rounds, rest = divmod(slab.members - shift, radix * weight)
            yield shift, round(block * (rounds * weight + min(rest, weight)))
        weight *= radix


# --- halo --------------------------------------------------------------------------------------------------------


def _halo(workload: Halo, ranks: int) -> Iterator[Traffic]:
    """Yield the sweep in x and the sweep in y, whose lines include the halo of the first (Fig. 4b)."""
    nx, ny, nz = workload.grid
    width = workload.width
    if isinstance(workload.decomposition, str):  # a bisection
        yield _tiled_halo(nx * ny / ranks, nz, width, ranks)
        return
    cx, cy = filled(workload.decomposition)
    lines_x = [(rows * nz, len(group)) for rows, group in block_sizes(ny, cy)]
    lines_y = [((columns + 2 * width) * nz, len(group)) for columns, group in block_sizes(nx, cx)]
    for extent, parts, stride, lines in ((nx, cx, 1, lines_x), (ny, cy, cx, lines_y)):
        for shift, segments in _segments(extent, parts, width):
            sizes: Counter[int] = Counter()
            for points, count in segments.items():
                for line, times in lines:
                    if times:
                        sizes[points * line * DOUBLE] += count * times
            yield Traffic(sizes, stride, parts, (shift,), 0, ranks)


def _tiled_halo(tile: float, levels: int, width: int, ranks: int) -> Traffic:
    """Return the one round of a halo exchange between square tiles of so many points."""
    side = math.sqrt(tile)
    halo = (side + 2 * width) ** 2 - tile
    neighbours = min(ranks - 1, (1 + 2 * math.ceil(width / side)) ** 2 - 1)
    sizes = {round(halo * levels * DOUBLE / neighbours): ranks * neighbours} if neighbours else {}
    return Traffic(sizes, 1, ranks, (), 0, ranks)


def _segments(extent: int, parts: int, width: int) -> Iterator[tuple[int, dict[int, int]]]:
    """Yield for each distance between blocks the lengths of the segments they exchange, and how often each occurs.

    A block takes from its neighbours in turn until it has `width` points on that side or has met all the others.
    """
    sizes = np.array([extent // parts + (part < extent % parts) for part in range(parts)], dtype=np.int64)
    gap = np.zeros(parts, dtype=np.int64)
    for shift in range(1, parts):
        other = np.roll(sizes, -shift)  # the block `shift` further up, `gap` points away
        left = np.maximum(width - gap, 0)
        near = left > 0
        if not near.any():
            return
        both = np.concatenate([np.minimum(other, left)[near], np.minimum(sizes, left)[near]])
        lengths, counts = np.unique(both, return_counts=True)
        yield shift, {int(length): int(count) for length, count in zip(lengths, counts, strict=True)}
        gap = gap + other


# --- allreduce ---------------------------------------------------------------------------------------------------


def _ring(workload: Allreduce, ranks: int) -> Iterator[Traffic]:
    """Yield the two tours of all blocks; those without elements are not sent."""
    steps = 2 * (ranks - 1) * workload.repeats
    sizes = {size * DOUBLE: steps * len(parts) for size, parts in block_sizes(workload.count, ranks) if size}
    yield Traffic(sizes, 1, ranks, (1,), 0, ranks)


def _allreduce(workload: Allreduce, ranks: int) -> Iterator[Traffic]:
    """Yield the stages of the algorithms whose partners differ in one digit (section 3.3 and Fig. 4c)."""
    algorithm, count, repeats = workload.algorithm, workload.count, workload.repeats
    radix = int(workload.radix or 2)
    core, digits = 1, 0
    while core * radix <= ranks:
        core, digits = core * radix, digits + 1
    guests = ranks - core  # they hand in their vector before and get the result after
    if guests and workload.remainder == "adjacent":
        yield Traffic({count * DOUBLE: 2 * guests * repeats}, 1, ranks, (1,), 0, ranks)
    elif guests and algorithm == "recursive-k":
        yield Traffic({count * DOUBLE: 2 * guests * repeats}, 1, ranks, (ranks - min(guests, core),), core, ranks)
    elif guests:
        yield Traffic({count * DOUBLE: 2 * guests * repeats}, 1, 2, (1,), 0, 2 * guests)
    for digit in range(digits):
        if algorithm == "rabenseifner":
            sizes = {size: 2 * number * repeats for size, number in _halves(count, core, core >> (digit + 1)).items()}
        else:
            sizes = {count * DOUBLE: core * (radix - 1) * repeats}
        yield Traffic(sizes, radix**digit, radix, (), 0, core)


def _halves(count: int, core: int, share: int) -> dict[int, int]:
    """Count the messages of one stage of a reduce-scatter by halving: ranges of `share` blocks that hold elements."""
    begins = np.arange(0, core, share, dtype=np.int64)
    size, longer = divmod(count, core)

    def before(part: Any) -> Any:
        return part * size + np.minimum(part, longer)

    elements, counts = np.unique(before(begins + share) - before(begins), return_counts=True)
    pairs = zip(elements.tolist(), counts.tolist(), strict=True)
    return {length * DOUBLE: number * share for length, number in pairs if length}
