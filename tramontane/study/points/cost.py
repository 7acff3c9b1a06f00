"""Estimates what a point will cost before it is run.

Messages and packets are counted (:mod:`tramontane.study.points.traffic`), how far packets travel is taken from a sample
of the pairs that communicate, and time and memory follow with the measured rates of ``rates.yaml``. Batches are sized
by this; results never depend on it.
"""

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tramontane.extension import simulator
from tramontane.study.networks.mapping import ALLOCATIONS, Ruled, is_scattered
from tramontane.study.networks.network import Network, Nodes
from tramontane.study.points.points import BY_CLASS, Point
from tramontane.study.points.traffic import CONTROL, Floats, Traffic, traffic
from tramontane.study.reading import bounded_yaml
from tramontane.study.values.settings import filled
from tramontane.study.values.units import DOUBLE, UNLIMITED, WHOLE
from tramontane.study.workloads.jobs import Job, Jobs
from tramontane.study.workloads.workloads import RADICES, Allreduce

_RUNS_OF_A_SEARCH = 3
"""Radices that a search for the best one runs, rather more than fewer."""


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
        Switch visits of all packets, those of control messages included.
    control_packets : int
        Packets of headers, get requests and acknowledgements.
    state_bytes : float
        What of the memory the embedded simulator goes through all the time [B].
    """

    seconds: float
    memory_bytes: int
    messages: int
    packets: int
    hops: int
    bytes: int
    control_packets: int
    state_bytes: float = 0.0


@lru_cache(maxsize=1)
def rates() -> dict[str, Any]:
    """Return the measured rates, see ``rates.yaml``."""
    text = resources.files("tramontane.study.points").joinpath("rates.yaml").read_text(encoding="utf-8")
    return dict(bounded_yaml.load(text))


def estimate(point: Point, posted: float | None = None) -> Cost:
    """Return what a point will cost.

    Parameters
    ----------
    point : Point
        The point.
    posted : float, optional
        Messages that are under way at a time; by default those that the schedule has.
    """
    if point.machine is None:
        return _measurement(point)
    if isinstance(point.workload, Allreduce) and point.workload.is_search:
        return _search(point, point.workload)
    machine, speed = point.machine, rates()
    net = machine.facts
    protocol, packet = machine.protocol, machine.packet
    parts = traffic(point.workload, point.ranks)
    place = Placement(point)
    control = [
        round(part.control(packet, protocol) * place.leaving(part, part.pair_control(packet, protocol)))
        for part in parts
    ]
    travelling = [
        part.travelling(packet, protocol) * place.leaving(part, part.pair_load(packet, protocol)) for part in parts
    ]
    entering = [own + extra for own, extra in zip(travelling, control, strict=True)]
    visits = [mean_visits(net, part, place, part.pair_load(packet, protocol)) for part in parts]
    hops = math.fsum(number * each for number, each in zip(entering, visits, strict=True))
    messages = sum(part.messages for part in parts)
    ranks = point.ranks
    state = 0.0
    if point.substrate in speed["others"]:
        seconds, memory = _elsewhere(point, messages, hops)
    else:
        nodes = point.rank_mapping.nodes
        ports = used_ports(net, nodes * machine.node.nics, scattered=any(map(is_scattered, _rules(point))))
        state = (
            ports * (speed["bytes_per_port"] + net.virtual_channels * speed["bytes_per_channel"] + _counting(point))
            + _bins(point, ports, sum(entering), hops)
            + nodes * point.ranks_per_node * speed["bytes_per_rank"]
            + max(
                (_bytes_at_once(point, part, each, posted) for part, each in zip(parts, visits, strict=True)), default=0
            )
        )
        matrix = min(point.statistics.congestion, ranks) ** 2 * speed["bytes_per_congestion_cell"]
        memory = speed["bytes_per_process"] + state + matrix
        loop = (
            sum(entering) / speed["packets_per_second"]
            + hops / speed["packet_hops_per_second"]
            + messages / speed["messages_per_second"]
        )
        slower = float(slower_with_state(np.float64(state), speed["growth_with_state"]))
        seconds = speed["seconds_per_point"] + _simulated(point) * loop * slower
    return Cost(
        seconds=float(seconds),
        memory_bytes=round(memory),
        messages=messages,
        packets=sum(part.packets(packet) for part in parts),
        hops=round(hops),
        bytes=sum(part.bytes for part in parts),
        control_packets=sum(control),
        state_bytes=float(state),
    )


def on_accelerator(cost: Cost, ranks: int) -> float:
    """Return what a point of so many ranks takes on a GPU [s]: as many times less than on a core as was measured."""
    times = rates()["gpu_times_a_core"]
    faster = np.exp(np.interp(np.log(ranks), np.log(list(times)), np.log(list(times.values()))))
    start = rates()["seconds_per_point"]
    return float(start + (cost.seconds - start) / faster)


def memory_on_accelerator(point: Point) -> int:
    """Return the memory that a GPU needs for a point on a network [B]."""
    machine, speed = point.network, rates()
    needed = speed["gpu_memory"]
    interfaces = point.rank_mapping.nodes * machine.node.nics
    places = machine.facts.switches + interfaces
    ports = machine.facts.switches * machine.facts.ports
    parts = traffic(point.workload, point.ranks)
    messages = max((_posted(point, part) for part in parts), default=0.0)
    payload = max((_posted(point, part) * part.bytes / max(part.messages, 1) for part in parts), default=0.0)
    packets = min(payload, machine.buffer * interfaces) / machine.packet
    return int(
        needed["lanes"] * needed["bytes_per_lane"]
        + _records_at_first(places) * needed["bytes_per_record"]
        + _sites(point, places) * needed["bytes_per_site"]
        + messages * needed["bytes_per_message"]
        + packets * needed["bytes_per_packet"]
        + interfaces * needed["bytes_per_interface"]
        + ports * (speed["bytes_per_port"] + machine.facts.virtual_channels * speed["bytes_per_channel"])
        + (ports + interfaces) * _counting(point, on_accelerator=True)
        + _diaries(point, places, messages)
    )


def _sites(point: Point, places: int) -> int:
    """Return what a GPU's lanes share out among themselves: `Sites` of the simulator."""
    machine = point.network
    more = machine.facts.switches * (machine.facts.ports - 1)
    is_apart = machine.crossbar.bandwidth == UNLIMITED and machine.facts.routing.asks_no_queue
    return places + (more if is_apart and places + more <= simulator().MAX_SITES else 0)


def _records_at_first(places: int) -> int:
    """Return how many records of a kind a GPU has room for at first, beside what a window may take."""
    return int(simulator().records_at_first(places, rates()["gpu_memory"]["lanes"]))


def _diaries(point: Point, places: int, messages: float) -> float:
    """Return the memory that counting why ranks wait takes on a GPU [B]: a `Diary` and its `DiaryRest` a transaction.

    There are as many as there is room for transactions at first (`Common` of the simulator), rounded up to a power of
    two. A rank has its causes beside them, and, where ranks read or write, how long it waited for the storage.
    """
    if point.statistics.waiting is None:
        return 0
    room = _records_at_first(places) + 2 * messages
    of_rank = 72 if any(point.workload.accesses()) else 64
    return of_rank * point.ranks + 192 * 2.0 ** math.ceil(math.log2(room))


def _counting(point: Point, *, on_accelerator: bool = False) -> int:
    """Return the memory that counting what a link carries takes [B]: a cache line.

    On an accelerator it has its bins, too, each a `UseOfBin` of the simulator.
    """
    asked = point.statistics
    if asked.links is None:
        return 0
    return 64 + (16 * (asked.bins or 0) if on_accelerator else 0)


def _bins(point: Point, ports: int, entering: float, hops: float) -> float:
    """Return the memory that bins of links take which are told one by one [B]: notes of the simulator, and `UseOfBin`.

    Of a packet at a link there are a note of the queue before it and one of each bin that it passes in, at most; links
    get bins when the notes take as much. A run lasts as long as packets pass an interface, and ranks start, at least;
    in the first repeats bins are narrower than at the end.
    """
    asked, machine = point.statistics, point.network
    if asked.bins is None or asked.links == BY_CLASS:
        return 0.0
    slowest = min(machine.injection.bandwidth, *(filled(each.bandwidth) for each in machine.links.values()))
    passing = entering * machine.packet / (point.rank_mapping.nodes * machine.node.nics * machine.injection.bandwidth)
    lasting = passing + (machine.injection.latency + point.start_jitter / 2) / 10**12
    in_bins = 1 + asked.bins * machine.packet / slowest / max(lasting, 1e-12) * (
        1 + math.log(point.workload.repeated or 1)
    )
    return min(32.0 * asked.bins * ports, 8 * (entering + hops) * (1 + in_bins))


def _elsewhere(point: Point, messages: int, hops: float) -> tuple[float, float]:
    """Return time [s] and memory [B] on another simulator, which builds the whole network, whatever is used of it."""
    speed = rates()["others"][point.substrate]
    size = point.network.facts
    ports = size.switches * size.ports
    seconds = (
        speed["seconds_per_point"]
        + ports * speed["seconds_per_port"]
        + messages * speed["seconds_per_message"]
        + hops * speed["seconds_per_packet_hop"]
    )
    memory = speed["bytes_per_process"] + ports * speed["bytes_per_port"] + point.ranks * speed["bytes_per_rank"]
    return seconds, memory


def slower_with_state(state: Any, growth: Mapping[float, float]) -> Any:
    """Return how much longer everything takes than with little state, which is in the caches.

    Parameters
    ----------
    state : float or ndarray
        Memory that a point takes beside that of its process [B].
    growth : dict
        What each factor of ten beyond a size [B] adds.
    """
    return 1 + sum(share * np.log10(np.maximum(state, size) / size) for size, share in growth.items())


def _simulated(point: Point) -> float:
    """Return the part of a point's traffic that is simulated: less than 1 where repeats or stages are left out."""
    if point.steady.stages is not None:
        return point.steady.stages / WHOLE
    if point.steady.is_default or point.workload.repeated is None:
        return 1.0
    return min(1.0, float(rates()["steady_repeats"]) / point.workload.repeated)


def _search(point: Point, workload: Allreduce) -> Cost:
    """Return what a search of the best radix will cost: bounds of all radices, runs of the most promising ones.

    Searches end after one to three runs, because a schedule without contention nearly tells how long a small allreduce
    takes. Here its longest chain is taken as the stages, each with a latency and the messages of a rank. Memory is that
    of messages to as many partners as the largest radix, of all ranks: with contention it may be among those that are
    run, and messages of one stage meet those of the next.
    """
    first, last = workload.radices or RADICES
    machine, ranks = point.network, point.ranks
    links = [filled(each.latency) for each in machine.links.values()]
    latency = machine.injection.latency + 3 * sum(links) // len(links)
    copy = 3 * workload.count * 10**12 / machine.processor.frequency

    def chain(radix: int) -> float:
        digits, core = 0, 1
        while core * radix <= ranks:
            digits, core = digits + 1, core * radix
        guests = ranks - core
        fold = 2 * latency + -(-guests // core) * 2 * copy if guests else 0.0
        return digits * (latency + 2 * (radix - 1) * copy) + fold

    radices = sorted(range(first, last + 1), key=chain)
    every = workload.exhaustive or point.substrate in rates()["others"]  # which know no bounds
    likely = radices if every else radices[:_RUNS_OF_A_SEARCH]

    def cost(radix: int, posted: float | None = None) -> Cost:
        return estimate(point.changed(workload=workload.with_radix(radix)), posted)

    memory = cost(last, posted=ranks * last).memory_bytes
    return replace(total([cost(radix) for radix in likely]), memory_bytes=memory)


def _measurement(point: Point) -> Cost:
    """Return what it costs to measure a point on a real machine: mostly starting ranks, and their fields."""
    workload, ranks, speed = point.workload, point.ranks, rates()
    field = DOUBLE * _points_of_fields(workload.model_dump(include={"grid", "steps", "roles"}))
    return Cost(
        seconds=speed["seconds_per_measurement"] + ranks * speed["seconds_per_measured_rank"],
        memory_bytes=round(ranks * speed["bytes_per_measured_rank"] + speed["fields_per_measurement"] * field),
        messages=0,
        packets=0,
        hops=0,
        bytes=0,
        control_packets=0,
    )


def _points_of_fields(data: Any) -> int:
    """Return the grid points of all fields of a workload; steps of a program have grids of their own."""
    if isinstance(data, dict):
        inner = sum(_points_of_fields(value) for key, value in data.items() if key != "grid")
        return inner + math.prod(data.get("grid") or (0,))
    return sum(_points_of_fields(each) for each in data) if isinstance(data, list | tuple) else 0


def _bytes_at_once(point: Point, part: Traffic, visits: float, posted: float | None) -> float:
    """Return what the messages take that have been posted, each its envelope and what of it is in the network.

    First packets, which are headers unless a message is short, are there as far as there is room in the buffers before
    and behind the injection link; the others fill a share of the buffers on their way past `visits` switches. The way
    counts up to a length: on a longer one congestion keeps packets back at the source.
    """
    machine, ranks, speed = point.network, point.ranks, rates()
    posted = _posted(point, part) if posted is None else posted
    short, packet = machine.protocol.short_limit, machine.packet
    first = float(np.minimum(np.where(part.sizes <= short, part.sizes, CONTROL), packet) @ part.counts)
    firsts = min(posted, 2 * ranks * machine.buffer * part.messages / max(first, 1))
    filled = speed["buffers_filled"] * min(visits, speed["buffers_on_the_way"]) * machine.buffer / packet
    others = min(posted * (part.packets(packet) / part.messages - 1), ranks * filled)
    each = speed["bytes_per_message"] + _noting(point, part)
    return float(posted * each + (firsts + others) * speed["bytes_per_packet"])


def _noting(point: Point, part: Traffic) -> float:
    """Return what noting why ranks wait takes of a message [B]: a `Diary`; if it is answered, a `DiaryRest`, too."""
    if point.statistics.waiting is None:
        return 0.0
    return 192 - 128 * part.up_to(point.network.protocol.short_limit) / max(part.messages, 1)


def _posted(point: Point, part: Traffic) -> float:
    """Return how many messages are posted at once."""
    if not part.windowed:
        return part.posted
    # A message that is sent without waiting for its receive leaves its place in the window at once.
    return max(part.posted, part.up_to(point.network.protocol.eager_limit))


def total(costs: list[Cost]) -> Cost:
    """Return the sum of several costs; memory is that of the largest, because points run one by one on a core."""
    return Cost(
        seconds=math.fsum(cost.seconds for cost in costs),
        memory_bytes=max((cost.memory_bytes for cost in costs), default=0),
        messages=sum(cost.messages for cost in costs),
        packets=sum(cost.packets for cost in costs),
        hops=sum(cost.hops for cost in costs),
        bytes=sum(cost.bytes for cost in costs),
        control_packets=sum(cost.control_packets for cost in costs),
        state_bytes=max((cost.state_bytes for cost in costs), default=0.0),
    )


def _rule_of(job: Job, point: Point) -> Ruled:
    return job.allocation or point.allocation


def _rules(point: Point) -> list[Ruled]:
    """Return the rules by which a point gets its nodes: one, or that of each job."""
    if isinstance(point.workload, Jobs):
        return [_rule_of(job, point) for job in point.workload.jobs]
    return [point.allocation]


class Placement:
    """Where the ranks of a point are.

    Random nodes are not those of the simulator, but as random.
    """

    def __init__(self, point: Point) -> None:
        self._rule, self._mapping = point.allocation, point.rank_mapping
        self._nodes, self._groups, self._nics = point.nodes, point.network.facts.groups, point.network.node.nics
        listed = point.listed_nodes
        self._listed = None if listed is None else np.asarray(listed, dtype=np.int64)
        if isinstance(point.workload, Jobs) and any(rule != ALLOCATIONS[0] for rule in _rules(point)):
            self._listed = self._of_jobs(point.workload.jobs, point)

    def nodes(self, ranks: Nodes) -> Nodes:
        """Return the nodes of some ranks as the topology counts them; with several interfaces, the first of each."""
        return self._allocated(self._mapping.node_of(ranks)) * self._nics

    def _allocated(self, nodes: Nodes) -> Nodes:
        if self._listed is not None:
            return self._listed[nodes]
        if self._rule == "random":
            return np.random.default_rng(2).permutation(self._nodes)[nodes]
        return self._in_order(self._rule, nodes)

    def _in_order(self, rule: Ruled, places: Nodes) -> Nodes:
        """Return the nodes at some places of the order in which a rule takes them, if all are free."""
        if rule == "round-robin-groups":
            return places % self._groups * (self._nodes // self._groups) + places // self._groups
        return places

    def _of_jobs(self, jobs: list[Job], point: Point) -> Nodes:
        """Return the nodes of jobs, each on nodes that those before have left.

        Jobs of the same rule, one after the other, get together what each would get alone.
        """
        free, draw = np.ones(self._nodes, dtype=bool), np.random.default_rng(2)
        chosen: list[Nodes] = []
        left_by_rule: dict[str, Nodes] = {}
        for rule, alike in itertools.groupby(jobs, key=lambda job: _rule_of(job, point)):
            if isinstance(rule, tuple):
                own = np.asarray(rule[1], dtype=np.int64)
            else:
                needed = sum(job.ranks for job in alike) // point.ranks_per_node
                if rule not in left_by_rule:
                    left_by_rule[rule] = self._in_order(rule, np.arange(self._nodes))
                left = left_by_rule[rule] = left_by_rule[rule][free[left_by_rule[rule]]]
                own = draw.choice(left, needed, replace=False) if rule == "random" else left[:needed]
            free[own] = False
            chosen.append(own)
        return np.concatenate(chosen)

    def leave(self, part: Traffic) -> NDArray[np.bool_]:
        """Tell which of the pairs of `part` are on different nodes."""
        if self._mapping.ranks_per_node == 1:
            return np.ones(len(part.source), dtype=bool)
        return np.not_equal(self._mapping.node_of(part.source), self._mapping.node_of(part.destination))

    def leaving(self, part: Traffic, load: Floats) -> float:
        """Return the share of `part` that leaves its nodes, from pairs of ranks and the packets of each.

        It is 1 where no pair of the sample tells.
        """
        return float(load[self.leave(part)].sum() / load.sum()) if load.sum() else 1.0


def used_ports(net: Network, nodes: int, *, scattered: bool = False) -> int:
    """Return how many ports packets can meet; only those take memory.

    Minimal routes stay near the first nodes, if these are the ranks'. Non-minimal ones lead everywhere, and so do nodes
    that are `scattered`.
    """
    own = -(-nodes // net.nodes_per_switch)
    close = not net.routing.non_minimal and not scattered
    return (net.switches_near(own) if close else net.switches) * net.ports + nodes


def mean_visits(net: Network, part: Traffic, place: Placement, load: Floats) -> float:
    """Return the mean number of switches a packet of `part` visits, from pairs of ranks and the packets of each.

    Packets that stay inside a node are not counted; it is 0 where all do. Messages may leave nodes nevertheless, those
    that bypass the packet network.
    """
    leave = place.leave(part)
    load = load[leave]
    if not load.any():
        return 0.0
    # Ranks beyond the last node are for the simulator to refuse.
    source, target = (place.nodes(ranks[leave]) % net.nodes for ranks in (part.source, part.destination))
    shortest = float(np.average(net.visits(source, target), weights=load))
    if not net.routing.non_minimal:
        return shortest
    indirect = float(np.average(net.visits(source, target, non_minimal=True), weights=load))
    # Adaptive routings leave the minimal route only where it is congested: half-way between, for want of better.
    return indirect if net.routing.always_non_minimal else (shortest + indirect) / 2
