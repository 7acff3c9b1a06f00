"""Estimates what a point will cost before it is run, in closed form.

Messages, bytes and packets are counted from the block sizes (exactly, but for the packets of `bruck`, whose messages
gather blocks of different sizes); how far packets travel is taken from a sample of the pairs that communicate. Time and
memory follow with the measured rates of ``rates.yaml``. Batches are sized by this; results never depend on it.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
from ruamel.yaml import YAML

from tramontane.study import network
from tramontane.study.models import DOUBLE

_SAMPLES = 48
"""Ranks, and partners of each, that are looked at for the mean distance."""


@dataclass(frozen=True)
class Cost:
    """What a point is expected to cost.

    Attributes
    ----------
    seconds : float
        Time on one core [s].
    memory_bytes : int
        Peak resident memory [B].
    messages, packets, bytes : int
        The workload's own traffic.
    hops : int
        Switch visits of all packets.
    """

    seconds: float
    memory_bytes: int
    messages: int
    packets: int
    hops: int
    bytes: int


@dataclass(frozen=True)
class Traffic:
    """A part of a workload whose messages all bridge the same distances.

    Attributes
    ----------
    messages, packets, bytes : int
        Totals over all ranks.
    stride, members : int
        Partners are `stride` ranks apart, in groups of `members`; group g of them starts at rank
        ``g // stride * stride * members + g % stride``.
    shifts : tuple of int
        How many members further the partners are; empty for all of them.
    """

    messages: int
    packets: int
    bytes: int
    stride: int
    members: int
    shifts: tuple[int, ...] = ()


@lru_cache(maxsize=1)
def rates() -> dict[str, Any]:
    """Return the measured rates, see ``rates.yaml``."""
    text = resources.files("tramontane.study").joinpath("rates.yaml").read_text(encoding="utf-8")
    return dict(YAML(typ="safe", pure=True).load(text))


def estimate(point: Mapping[str, Any]) -> Cost:
    """Return what a point will cost.

    Parameters
    ----------
    point : dict
        Its canonical form.
    """
    parts = list(traffic(point))
    machine = point["machine"]
    hops = sum(part.packets * _mean_visits(machine, point["ranks"], part) for part in parts)
    messages = sum(part.messages for part in parts)
    size = network.facts(machine["topology"], tuple(machine["geometry"]), machine["nodes_per_switch"])
    ports = size.switches * size.ports + size.nodes
    speed = rates()
    seconds = (
        speed["seconds_per_point"]
        + ports / speed["ports_per_second"]
        + hops / speed["packet_hops_per_second"]
        + messages / speed["messages_per_second"]
    )
    memory = speed["bytes_per_process"] + ports * speed["bytes_per_port"] + point["ranks"] * speed["bytes_per_rank"]
    return Cost(
        seconds=float(seconds),
        memory_bytes=round(memory),
        messages=messages,
        packets=sum(part.packets for part in parts),
        hops=round(hops),
        bytes=sum(part.bytes for part in parts),
    )


def traffic(point: Mapping[str, Any]) -> Iterator[Traffic]:
    """Yield the parts of a canonical point's traffic."""
    workload, packet = point["workload"], point["machine"]["packet"]
    kind = workload["kind"]
    if kind == "transposition":
        yield from _transposition(workload, packet)
    elif kind == "halo":
        yield from _halo(workload, packet)
    else:
        yield from _allreduce(workload, point["ranks"], packet)


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


def _transposition(workload: Mapping[str, Any], packet: int) -> Iterator[Traffic]:
    """Yield the three phases of the paper's Fig. 3: each a slab transposition in groups of cx or cy ranks."""
    nx, ny, nz = workload["grid"]
    cx, cy = workload["decomposition"]
    for slab in (_Slab(cx, 1, cy, nx, nz, ny), _Slab(cy, cx, cx, ny, nx, nz), _Slab(cx, 1, cy, nz, ny, nx)):
        if workload["algorithm"] == "bruck":
            yield from _bruck(slab, packet)
        else:
            yield _direct(slab, packet)


def _direct(slab: _Slab, packet: int) -> Traffic:
    """Count the messages of groups whose members send each block straight to its destination."""
    members, groups = slab.members, slab.groups
    packets = total = 0
    for first, first_range in _classes(slab.origin, members):
        for second, second_range in _classes(slab.destination, members):
            same = len(range(max(first_range.start, second_range.start), min(first_range.stop, second_range.stop)))
            pairs = len(first_range) * len(second_range) - same  # a block that stays is not sent
            for third, third_range in _classes(slab.across, groups):
                size = first * second * third * DOUBLE
                packets += pairs * len(third_range) * _packets(size, packet)
                total += pairs * len(third_range) * size
    return Traffic(members * (members - 1) * groups, packets, total, slab.stride, members)


def _bruck(slab: _Slab, packet: int) -> Iterator[Traffic]:
    """Count the messages of bruck, stage by stage, as if all blocks were alike."""
    members, groups = slab.members, slab.groups
    block = slab.origin * slab.destination * slab.across * DOUBLE / (members * members * groups)
    shift = 1
    while shift < members:
        ways = sum(1 for way in range(1, members) if way & shift)
        size = round(block * ways)
        messages = members * groups
        yield Traffic(messages, messages * _packets(size, packet), messages * size, slab.stride, members, (shift,))
        shift *= 2


def _classes(extent: int, parts: int) -> list[tuple[int, range]]:
    """Return the block sizes that occur when `extent` is divided, with the parts that have them."""
    size, longer = divmod(extent, parts)
    return [(size + 1, range(longer)), (size, range(longer, parts))]


def _packets(size: int, packet: int) -> int:
    """Return how many packets a message of `size` bytes is cut into; an empty one still needs its header."""
    return max(1, -(-size // packet))


# --- halo --------------------------------------------------------------------------------------------------------


def _halo(workload: Mapping[str, Any], packet: int) -> Iterator[Traffic]:
    """Yield the sweep in x and the sweep in y, whose lines include the halo of the first (Fig. 4b)."""
    nx, ny, nz = workload["grid"]
    cx, cy = workload["decomposition"]
    width = workload["width"]
    lines_x = [(rows * nz, len(group)) for rows, group in _classes(ny, cy)]
    lines_y = [((columns + 2 * width) * nz, len(group)) for columns, group in _classes(nx, cx)]
    for extent, parts, stride, lines in ((nx, cx, 1, lines_x), (ny, cy, cx, lines_y)):
        for shift, segments in _segments(extent, parts, width):
            messages = packets = total = 0
            for points, count in segments.items():
                for line, times in lines:
                    size = points * line * DOUBLE
                    messages += count * times
                    packets += count * times * _packets(size, packet)
                    total += count * times * size
            yield Traffic(messages, packets, total, stride, parts, (shift,))


def _segments(extent: int, parts: int, width: int) -> Iterator[tuple[int, dict[int, int]]]:
    """Yield for each distance between blocks the lengths of the segments they exchange, and how often each occurs.

    A block takes from its neighbours in turn until it has `width` points on that side or has met all the others.
    """
    sizes = np.array([extent // parts + (part < extent % parts) for part in range(parts)], dtype=np.int64)
    gap = np.zeros(parts, dtype=np.int64)
    for shift in range(1, parts):
        other = np.roll(sizes, -shift)  # the block `shift` further up, `gap` points away
        left = np.maximum(width - gap, 0)
        if not left.any():
            return
        near = left > 0
        both = np.concatenate([np.minimum(other, left)[near], np.minimum(sizes, left)[near]])
        lengths, counts = np.unique(both, return_counts=True)
        yield shift, {int(length): int(count) for length, count in zip(lengths, counts, strict=True)}
        gap = gap + other


# --- allreduce ---------------------------------------------------------------------------------------------------


def _allreduce(workload: Mapping[str, Any], ranks: int, packet: int) -> Iterator[Traffic]:
    """Yield the stages of an allreduce, times its repeats (section 3.3 and Fig. 4c)."""
    algorithm, count, repeats = workload["algorithm"], workload["count"], workload["repeats"]

    def stage(messages: int, elements: int, shifts: tuple[int, ...]) -> Traffic:
        size = -(-elements // messages) * DOUBLE if messages else 0
        packets = messages * _packets(size, packet)
        inside = tuple(shift % ranks for shift in shifts)
        return Traffic(repeats * messages, repeats * packets, repeats * elements * DOUBLE, 1, ranks, inside)

    if algorithm == "ring":
        steps = 2 * (ranks - 1)
        yield stage(steps * min(count, ranks), steps * count, (1,))
        return
    radix = workload.get("radix", 2) if algorithm == "recursive-k" else 2
    core, digits = 1, 0
    while core * radix <= ranks:
        core, digits = core * radix, digits + 1
    guests = ranks - core
    near = 1 if algorithm != "recursive-k" else guests
    yield stage(2 * guests, 2 * guests * count, (near,))
    for digit in range(digits):
        if algorithm == "rabenseifner":
            share = core >> (digit + 1)
            messages = min(core, -(-min(count, core) // share) * share)  # empty halves are not sent
            yield stage(2 * messages, 2 * count * share, (2**digit,))
        else:
            shifts = tuple(step * radix**digit for step in range(1, radix))
            yield stage(core * (radix - 1), core * (radix - 1) * count, shifts)


# --- distances ---------------------------------------------------------------------------------------------------


def _mean_visits(machine: Mapping[str, Any], ranks: int, part: Traffic) -> float:
    """Return the mean number of switches a packet of `part` visits, from a sample of the pairs that communicate."""
    if part.messages == 0:
        return 0.0
    start = np.unique(np.linspace(0, ranks - 1, min(ranks, _SAMPLES)).astype(np.int64))
    if part.shifts:
        shifts = np.array(part.shifts, dtype=np.int64)
    else:
        shifts = np.unique(np.linspace(1, part.members - 1, min(part.members - 1, _SAMPLES)).astype(np.int64))
    source = np.repeat(start, len(shifts))
    member = source // part.stride % part.members
    target = source + ((member + np.tile(shifts, len(start))) % part.members - member) * part.stride
    return _visits(machine, source, target)


def _visits(machine: Mapping[str, Any], source: network.Nodes, target: network.Nodes) -> float:
    """Return the mean number of switch visits between pairs of nodes under the machine's routing."""
    topology, geometry, nodes = machine["topology"], tuple(machine["geometry"]), machine["nodes_per_switch"]
    shortest = float(network.switch_visits(topology, geometry, nodes, source, target).mean())
    routing = machine["routing"]
    if routing in ("minimal", "d-mod-k"):
        return shortest
    middle = _intermediate(topology, geometry, nodes, source, target, anywhere=routing == "valiant-global")
    first = network.switch_visits(topology, geometry, nodes, source, middle)
    second = network.switch_visits(topology, geometry, nodes, middle, target)
    detour = float((first + second - 1).mean())
    # UGAL takes the detour only where the way is congested: half-way between, for want of better.
    return (shortest + detour) / 2 if routing == "ugal" else detour


def _intermediate(
    topology: str,
    geometry: tuple[int, ...],
    nodes: int,
    source: network.Nodes,
    target: network.Nodes,
    *,
    anywhere: bool,
) -> network.Nodes:
    """Return random intermediate nodes as Valiant's routing would take them; the same at each call."""
    size = network.facts(topology, geometry, nodes)
    random = np.random.default_rng(1).integers(0, size.nodes, size=source.shape)
    if topology != "dragonfly" or anywhere:
        return random
    group = geometry[0] * geometry[1] * nodes
    inside = source // group * group + random % group
    return np.where(source // group == target // group, inside, random)


def total(costs: list[Cost]) -> Cost:
    """Return the sum of several costs; memory is that of the largest, because points run one by one on a core."""
    return Cost(
        seconds=math.fsum(cost.seconds for cost in costs),
        memory_bytes=max((cost.memory_bytes for cost in costs), default=0),
        messages=sum(cost.messages for cost in costs),
        packets=sum(cost.packets for cost in costs),
        hops=sum(cost.hops for cost in costs),
        bytes=sum(cost.bytes for cost in costs),
    )
