"""The counts of the estimate against a message-by-message count of the same workloads."""

import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tramontane import _simulator, simulate
from tramontane.study import Point, estimate, load_point
from tramontane.study.networks.machines import Machine, Protocol
from tramontane.study.networks.network import network
from tramontane.study.points.cost import Cost, memory_on_accelerator, on_accelerator, rates, total
from tramontane.study.points.traffic import ACKNOWLEDGED_PUT, NO_PUT, PLAIN_PUT, control, traffic
from tramontane.substrates.simulator import as_simulated

Message = tuple[int, int, int]
"""Source, destination and bytes."""

ROOT = Path(__file__).parents[3]
TORUS = {"topology": "torus", "geometry": [6, 6, 6], "nodes_per_switch": 2}

BIG = {"topology": "dragonfly", "geometry": [25, 25, 25], "nodes_per_switch": 25}


def made(workload: dict[str, Any], ranks: int, machine: dict[str, Any] | None = None, **others: object) -> Point:
    settings = {"ranks": ranks, "workload": workload, "machine": machine or TORUS, **others}
    return Point.model_validate(settings)


def block(extent: int, parts: int, index: int) -> int:
    """Return the size of part `index` when `extent` points are divided: the first ``extent % parts`` get one more."""
    return extent // parts + (index < extent % parts)


def count(messages: list[Message], packet: int = 4096) -> tuple[int, int, int]:
    """Return the numbers of messages, packets and bytes; an empty message is a packet, too."""
    return len(messages), sum(max(1, -(-size // packet)) for *_, size in messages), sum(size for *_, size in messages)


def transposition(grid: list[int], decomposition: list[int], algorithm: str, radix: int = 2) -> Iterator[Message]:
    """Yield all messages of the three phases, rank by rank (Zheng & Marguinaud 2018, Fig. 3)."""
    nx, ny, nz = grid
    cx, cy = decomposition
    for iy in range(cy):
        for ix in range(cx):
            me = iy * cx + ix
            row = [(iy * cx + other, other) for other in range(cx)]
            column = [(other * cx + ix, other) for other in range(cy)]
            phases: list[tuple[list[tuple[int, int]], int, Callable[..., int]]] = [
                (row, ix, lambda a, b, iy=iy: block(nx, cx, a) * block(nz, cx, b) * block(ny, cy, iy)),
                (column, iy, lambda a, b, ix=ix: block(ny, cy, a) * block(nx, cy, b) * block(nz, cx, ix)),
                (row, ix, lambda a, b, iy=iy: block(nz, cx, a) * block(ny, cx, b) * block(nx, cy, iy)),
            ]
            for group, own, size in phases:
                n = len(group)
                if algorithm == "bruck":
                    weight = 1
                    while weight < n:
                        for digit in range(1, radix):
                            ways = [way for way in range(n) if way // weight % radix == digit]
                            if ways:
                                origins = [(own - way % weight) % n for way in ways]
                                points = sum(size(a, (a + way) % n) for a, way in zip(origins, ways, strict=True))
                                yield me, group[(own + digit * weight) % n][0], 8 * points
                        weight *= radix
                else:
                    yield from ((me, rank, 8 * size(own, other)) for rank, other in group if other != own)


def halo(grid: list[int], decomposition: list[int], width: int) -> Iterator[Message]:
    """Yield all messages of both sweeps: each rank fetches from its neighbours in turn until it has `width` points."""
    nx, ny, nz = grid
    cx, cy = decomposition
    for iy in range(cy):
        for ix in range(cx):
            sweeps: list[tuple[int, int, int, int, Callable[..., int]]] = [
                (ix, cx, nx, block(ny, cy, iy) * nz, lambda other, iy=iy: iy * cx + other),
                (iy, cy, ny, (block(nx, cx, ix) + 2 * width) * nz, lambda other, ix=ix: other * cx + ix),
            ]
            for own, parts, extent, line, rank in sweeps:
                for side in (1, -1):
                    left = width
                    for step in range(1, parts):
                        other = (own + side * step) % parts
                        taken = min(left, block(extent, parts, other))
                        left -= taken
                        if taken:
                            yield rank(other), rank(own), 8 * taken * line


def allreduce(ranks: int, algorithm: str, radix: int, elements: int) -> Iterator[Message]:
    """Yield all messages of one allreduce; halves without elements are not sent."""
    if algorithm == "ring":
        for stage in range(2 * (ranks - 1)):
            for rank in range(ranks):
                size = block(elements, ranks, (rank - stage) % ranks)
                if size:
                    yield rank, (rank + 1) % ranks, 8 * size
        return
    core, digits = 1, 0
    while core * radix <= ranks:
        core, digits = core * radix, digits + 1
    yield from ((0, 0, 8 * elements) for _ in range(2 * (ranks - core)))
    for digit in range(digits):
        for rank in range(core):
            if algorithm != "rabenseifner":
                yield from ((rank, rank, 8 * elements) for _ in range(radix - 1))
                continue
            share = core >> (digit + 1)
            other = rank ^ (1 << digit)
            begin = sum(((other >> bit) & 1) * (core >> (bit + 1)) for bit in range(digit + 1))
            size = sum(block(elements, core, part) for part in range(begin, begin + share))
            if size:  # once when halving, and the same from the other side when doubling
                yield rank, other, 8 * size
                yield rank, other, 8 * size


sides = st.integers(1, 9)
extents = st.integers(9, 40)


@settings(max_examples=40, deadline=None)
@given(
    st.tuples(extents, extents, extents),
    sides,
    sides,
    st.sampled_from(["burst", "ring-k", "pairwise", "sliding-window"]),
)
def test_transposition_is_counted_exactly(grid: tuple[int, int, int], cx: int, cy: int, algorithm: str) -> None:
    workload = {"kind": "transposition", "algorithm": algorithm, "grid": list(grid), "decomposition": [cx, cy]}
    point = made(workload | ({"radix": 3} if algorithm in ("ring-k", "sliding-window") else {}), cx * cy)
    cost = estimate(point)
    assert (cost.messages, cost.packets, cost.bytes) == count(list(transposition(list(grid), [cx, cy], algorithm)))


@settings(max_examples=40, deadline=None)
@given(st.tuples(extents, extents, extents), sides, sides, st.integers(2, 6))
def test_bruck_is_counted_closely(grid: tuple[int, int, int], cx: int, cy: int, radix: int) -> None:
    workload = {"kind": "transposition", "algorithm": "bruck", "grid": list(grid), "decomposition": [cx, cy]}
    cost = estimate(made(workload | {"radix": radix}, cx * cy))
    messages, packets, size = count(list(transposition(list(grid), [cx, cy], "bruck", radix)))
    assert cost.messages == messages
    assert cost.bytes == pytest.approx(size, rel=0.1, abs=64 * messages)
    assert cost.packets == pytest.approx(packets, rel=0.2, abs=messages)


@settings(max_examples=60, deadline=None)
@given(st.tuples(extents, extents, st.integers(1, 9)), sides, sides, st.integers(1, 30))
def test_halo_is_counted_exactly(grid: tuple[int, int, int], cx: int, cy: int, width: int) -> None:
    workload = {"kind": "halo", "width": width, "grid": list(grid), "decomposition": [cx, cy]}
    cost = estimate(made(workload, cx * cy))
    assert (cost.messages, cost.packets, cost.bytes) == count(list(halo(list(grid), [cx, cy], width)))


@pytest.mark.parametrize(
    ("grid", "ranks", "width"), [([144, 72, 4], 97, 3), ([300, 300, 1], 50, 10), ([200, 90, 2], 120, 20)]
)
def test_halos_of_a_bisection_are_counted_to_a_quarter(grid: list[int], ranks: int, width: int) -> None:
    workload = {"kind": "halo", "width": width, "grid": grid, "decomposition": "bisection"}
    messages, length = _simulator.schedule.Schedule(workload, ranks).totals()["halo"]
    cost = estimate(made(workload, ranks))
    assert cost.messages == pytest.approx(messages, rel=0.25)
    assert cost.bytes == pytest.approx(length, rel=0.1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 100),
    st.sampled_from(["recursive-k", "recursive-doubling", "ring", "rabenseifner"]),
    st.integers(2, 40),
    st.integers(1, 20),
    st.integers(1, 3),
)
def test_allreduce_is_counted_exactly(ranks: int, algorithm: str, radix: int, elements: int, repeats: int) -> None:
    workload = {"kind": "allreduce", "algorithm": algorithm, "count": elements, "repeats": repeats}
    k = radix if algorithm == "recursive-k" else 2
    cost = estimate(made(workload | ({"radix": radix} if algorithm == "recursive-k" else {}), ranks))
    messages, _, size = count(list(allreduce(ranks, algorithm, k, elements)))
    assert (cost.messages, cost.bytes) == (messages * repeats, size * repeats)


@pytest.mark.parametrize(
    "machine",
    [
        TORUS,
        {"topology": "dragonfly", "geometry": [4, 4, 9], "nodes_per_switch": 3},
        {"topology": "fattree", "geometry": [4, 5]},
    ],
)
@pytest.mark.parametrize("decomposition", [[16, 16], [4, 64]])
def test_hops_of_a_small_transposition(machine: dict[str, Any], decomposition: list[int]) -> None:
    """With few enough pairs the sample is everything, so the mean distance is exact for equal blocks."""
    workload = {"kind": "transposition", "algorithm": "burst", "grid": [64, 64, 64], "decomposition": decomposition}
    point = made(workload, 256, machine)
    expected = 0
    for source, target, size in transposition([64, 64, 64], decomposition, "burst"):
        visits = _visits(point.network, source, target)
        control = 0 if size <= 512 else 2 if size <= 8192 else 3
        expected += visits * (max(1, -(-size // 4096)) + control)
    assert estimate(point).hops == pytest.approx(expected, rel=0.05)


def _visits(machine: Machine, source: int, target: int) -> int:
    """Return the switches on a shortest path, counted coordinate by coordinate."""
    geometry, nodes = machine.facts.geometry, machine.facts.nodes_per_switch
    if machine.topology == "fattree":
        levels = next(level for level in range(9) if source // geometry[1] ** level == target // geometry[1] ** level)
        return 2 * max(levels, 1) - 1
    a, b = np.unravel_index([source // nodes, target // nodes], geometry, order="F"), 0
    hops = 1
    for (first, second), size in zip(a, geometry, strict=True):
        way = abs(int(first) - int(second))
        hops += min(way, size - way) if machine.topology == "torus" else int(way > 0)
    return hops + b


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 20000), st.integers(0, 512), st.integers(512, 9000), st.sampled_from([0, 63, 64, 600]))
def test_control_packets(size: int, short: int, eager: int, negligible: int) -> None:
    """Report on SST/macro, section 2: short messages carry their header, eager ones ask once, large ones are pulled.

    A put of the same size needs none of that; some puts are acknowledged.
    """
    protocol = Protocol.model_construct(short_limit=short, eager_limit=eager, negligible_size=negligible)
    expected = 0 if negligible >= 64 or size <= short else 2 if size <= eager else 3
    puts = np.array([NO_PUT, PLAIN_PUT, ACKNOWLEDGED_PUT], dtype=np.uint8)
    acknowledgements = int(negligible < 64)
    assert control(np.full(3, size), puts, 4096, protocol).tolist() == [expected, 0, acknowledgements]
    in_parts = control(np.full(3, size), puts, 24, protocol)
    assert in_parts.tolist() == [3 * expected, 0, 3 * acknowledgements]


NODES = {
    "topology": "torus",
    "geometry": [8],
    "nodes_per_switch": 1,
    "node": {"latency": "300 ns", "bandwidth": "8 GB/s"},
    "one_sided": {"put": "300 ns", "fence": "200 ns"},
}


@pytest.mark.parametrize(("size", "each"), [(512, 0), (8192, 2), (8200, 3)])
def test_pairs_have_the_control_packets_of_all_messages_that_they_stand_for(size: int, each: int) -> None:
    repeated = {"kind": "allreduce", "algorithm": "ring", "count": 4 * size // 8, "repeats": 5}
    (part,) = traffic(made(repeated, 4).workload, 4)
    found = part.pair_control(4096, Protocol())
    assert found.sum() == pytest.approx(part.control(4096, Protocol()))
    assert found.tolist() == (each * part.pair_weight).tolist()


def test_empty_messages_between_nodes_are_no_packets_to_count_ways_of() -> None:
    """The data of a fence's scope stay inside the nodes, but fences of all ranks leave them."""
    halo = {"width": 2, "grid": [64, 64, 8], "decomposition": [4, 4], "one_sided": {"synchronisation": "fence"}}
    cost = estimate(made({"kind": "program", "steps": [{"halo": halo}]}, 16, NODES, ranks_per_node=8))
    assert cost.messages > 0
    assert cost.seconds > 0


@settings(max_examples=40)
@given(
    messages=st.lists(
        st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from([0, 64, 256, 257, 100000])), min_size=1
    ),
    per_node=st.sampled_from([1, 2, 4, 8]),
    negligible=st.sampled_from([0, 64, 256]),
)
@example(messages=[(0, 1, 1000), (0, 4, 0)], per_node=4, negligible=0)
@example(messages=[(0, 1, 100000), (0, 4, 64)], per_node=4, negligible=256)
def test_what_leaves_its_node_makes_the_hops(
    messages: list[Message], per_node: int, negligible: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    different = {(source, target): size for source, target, size in messages if source != target}
    if not different:
        return
    file = tmp_path_factory.mktemp("pattern") / "messages.csv"
    rows = [f"{source},{target},{size}" for (source, target), size in different.items()]
    file.write_text("\n".join(["source,target,bytes", *rows]))
    net = NODES | {"protocol": {"negligible_size": f"{negligible} B"}}
    cost = estimate(made({"kind": "pattern", "file": str(file)}, 8, net, ranks_per_node=per_node))
    crosses = any(
        source // per_node != target // per_node and size > negligible for (source, target), size in different.items()
    )
    assert (cost.hops > 0) == crosses


def test_detours_make_longer_ways() -> None:
    workload = {"kind": "transposition", "algorithm": "burst", "grid": [64, 64, 64]}
    hops = {
        routing: estimate(made(workload, 256, TORUS | {"routing": routing})).hops
        for routing in ("minimal", "ugal", "valiant")
    }
    assert hops["minimal"] < hops["ugal"] < hops["valiant"]
    dragonfly = {"topology": "dragonfly", "geometry": [8, 8, 9], "nodes_per_switch": 8, "routing": "valiant"}
    inside = estimate(made(workload, 256, dragonfly)).hops
    assert inside < estimate(made(workload, 256, dragonfly | {"routing": "valiant-global"})).hops


def test_time_and_memory_follow_from_the_rates() -> None:
    workload = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 2}
    point = made(workload, 64)
    cost, speed = estimate(point), rates()
    work = cost.packets / speed["packets_per_second"] + cost.hops / speed["packet_hops_per_second"]
    work += cost.messages / speed["messages_per_second"]
    assert cost.seconds == pytest.approx(work + speed["seconds_per_point"])
    ports = 2 * 32 * 8 + 64  # two switches for each that carries ranks, eight ports each
    port, channel = speed["bytes_per_port"], speed["bytes_per_channel"]
    memory = speed["bytes_per_process"] + ports * (port + 2 * channel) + 64 * speed["bytes_per_rank"]
    memory += 64 * (speed["bytes_per_message"] + speed["bytes_per_packet"])  # radix 2: one at a time
    assert cost.memory_bytes == round(memory)
    detours = estimate(made(workload, 64, TORUS | {"routing": "valiant"}))
    size = network(TORUS)
    # Everywhere, and with two channels for each leg.
    whole = ((size.switches - 64) * size.ports + ports) * (port + 4 * channel) - ports * (port + 2 * channel)
    assert detours.memory_bytes - cost.memory_bytes == whole
    both = total([cost, cost])
    for name in ("seconds", "messages", "packets", "hops", "bytes", "control_packets"):
        assert getattr(both, name) == pytest.approx(2 * getattr(cost, name)), name
    assert both.memory_bytes == cost.memory_bytes
    assert both.state_bytes == cost.state_bytes > 0
    assert total([]) == Cost(0, 0, 0, 0, 0, 0, 0, 0)


def test_a_matrix_of_congestion_has_a_cell_for_each_pair_of_its_bins() -> None:
    workload = {"kind": "allreduce", "algorithm": "recursive-doubling"}
    sizes = {bins: estimate(made(workload, 64, statistics={"congestion": bins})).memory_bytes for bins in (0, 32, 512)}
    cell = rates()["bytes_per_congestion_cell"]
    assert [sizes[bins] - sizes[0] for bins in (32, 512)] == [32**2 * cell, 64**2 * cell], "of 64 ranks at most 64 bins"


def test_messages_that_are_posted_at_a_time_are_no_more_in_many_repeats() -> None:
    """Of one-sided exchanges the first repeat, the last and the others are counted each by itself."""
    steps = [{"halo": {"width": 2, "grid": [64, 64, 8], "one_sided": {"synchronisation": "fence"}}}]
    once, often = (
        made({"kind": "program", "steps": steps, "repeat": repeat}, 16, NODES, ranks_per_node=8).workload
        for repeat in (1, 5)
    )
    assert [part.posted for part in traffic(once, 16)] == [part.posted for part in traffic(often, 16)]


def test_a_search_costs_a_few_runs_or_all() -> None:
    workload = {"kind": "allreduce", "algorithm": "recursive-k"}
    runs = {radix: estimate(made(workload | {"radix": radix}, 64)).seconds for radix in range(2, 33)}
    searched = made(workload | {"radix": "optimal"}, 64)
    few = estimate(searched)
    every = estimate(made(workload | {"radix": "optimal", "exhaustive": True}, 64))
    assert every.seconds == pytest.approx(sum(runs.values()))
    # With latencies L and copies c: 2 L + 28 c by radix 8, 3 L + 18 c by 4, and 3 L + 30 c by 9, 10 and 11.
    assert few.seconds == pytest.approx(sum(runs[radix] for radix in (4, 8, 9)))
    # All messages of a stage by the largest radix may be under way.
    assert few.memory_bytes == estimate(made(workload | {"radix": 32}, 64), 64 * 32).memory_bytes


def test_repeats_that_may_be_cut_short_are_counted_but_not_all_paid() -> None:
    workload = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 2}
    full = made(workload, 64)
    steady, few = made(workload, 64, steady={"error": "1 %"}), made(workload | {"repeats": 4}, 64)
    assert estimate(steady).messages == estimate(full).messages
    start = rates()["seconds_per_point"]
    share = rates()["steady_repeats"] / 50
    assert estimate(steady).seconds - start == pytest.approx(share * (estimate(full).seconds - start))
    assert estimate(few.changed(steady=steady.steady)) == estimate(few)


def test_a_burst_needs_memory_for_all_messages_of_a_phase() -> None:
    machine = {"topology": "dragonfly", "geometry": [25, 25, 25], "nodes_per_switch": 25}
    grid = [3600, 1800, 256]
    burst = estimate(made({"kind": "transposition", "algorithm": "burst", "grid": grid}, 10_000, machine))
    ring = {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": grid}
    ring_4 = estimate(made(ring, 10_000, machine))
    more = 10_000 * (99 - 4) * (rates()["bytes_per_message"] + rates()["bytes_per_packet"])
    assert burst.memory_bytes - ring_4.memory_bytes == pytest.approx(more, rel=0.05)  # and a few packets pulled


@pytest.mark.parametrize(("levels", "like"), [(100, "burst"), (2000, "ring-k")])
def test_a_window_holds_back_only_what_waits_for_its_receive(levels: int, like: str) -> None:
    """Blocks of 18 x 9 points and a hundredth of the levels: 1.3 kB, which are sent eagerly, and 26 kB."""
    machine = {"topology": "dragonfly", "geometry": [25, 25, 25], "nodes_per_switch": 25}
    square = {"kind": "transposition", "grid": [1800, 900, levels], "decomposition": [100, 100]}
    radix = {"radix": 4}
    window = estimate(made(square | {"algorithm": "sliding-window"} | radix, 10_000, machine))
    other = estimate(made(square | {"algorithm": like} | (radix if like == "ring-k" else {}), 10_000, machine))
    assert window.memory_bytes == other.memory_bytes


def test_no_published_point_took_much_more_memory_than_expected() -> None:
    """What was expected is what decides whether a point may run at all."""
    records = [json.loads(path.read_text()) for path in sorted((ROOT / "published").glob("??/*.json"))]
    measured = {record["id"]: record["result"]["peak_rss_bytes"] for record in records}
    expected = {record["id"]: estimate(Point.from_canonical(record["point"])).memory_bytes for record in records}
    assert [point for point in measured if measured[point] > 1.25 * expected[point]] == []


def test_short_messages_beyond_the_buffers_wait_without_packets() -> None:
    machine = {"topology": "dragonfly", "geometry": [25, 25, 25], "nodes_per_switch": 25}
    workload = {"kind": "transposition", "algorithm": "burst", "grid": [800, 1600, 100], "decomposition": [100, 100]}
    limits = {"protocol": {"short_limit": "8192 B", "eager_limit": "8192 B"}}  # 800 x 1600 x 100 points: 1 KB a message
    headers = estimate(made(workload, 10_000, machine | {"buffer": "16 KB"})).memory_bytes
    short = estimate(made(workload, 10_000, machine | {"buffer": "16 KB"} | limits)).memory_bytes
    fewer = 10_000 * (99 - 2 * 16_000 / 1024) * rates()["bytes_per_packet"]
    assert headers - short == pytest.approx(fewer, rel=1e-3)


@pytest.mark.parametrize("decomposition", [[2, 250], [2, 500], [20, 50]])
def test_the_memory_of_a_burst_is_as_expected(decomposition: list[int], tmp_path: Path) -> None:
    columns, rows = decomposition
    grid = [3 * rows, 3 * rows, 10 * columns]  # from row to row 9 x 10 points: headers
    workload = {"kind": "transposition", "algorithm": "burst", "grid": grid, "decomposition": decomposition}
    machine = {"topology": "torus", "geometry": [8, 8, 8], "nodes_per_switch": 2}
    file = tmp_path / "point.yaml"
    file.write_text(json.dumps({"ranks": columns * rows, "workload": workload, "machine": machine}))
    measured = simulate(file).data["peak_rss_bytes"]  # of a process that has nothing else
    assert estimate(made(workload, columns * rows, machine)).memory_bytes == pytest.approx(measured, rel=0.25)


def test_the_paper_s_transposition_has_6e8_packets() -> None:
    """The design's figure: 6e8 packets at any process count up to 65,536."""
    machine = {"topology": "dragonfly", "geometry": [25, 25, 25], "nodes_per_switch": 25}
    workload = {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": [28800, 14400, 256]}
    for ranks in (100, 10_000, 60_000):
        point = made(workload, ranks, machine)
        assert estimate(point).packets == pytest.approx(6e8, rel=0.1)
        assert sum(part.messages for part in traffic(point.workload, point.ranks)) == estimate(point).messages


@pytest.mark.parametrize("substrate", ["sstmacro", "simgrid"])
def test_other_simulators_cost_more_and_build_the_whole_network(substrate: str) -> None:
    workload = {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": [360, 180, 32]}
    ours = made(workload, 64)
    theirs = ours.changed(substrate=substrate)
    assert estimate(theirs).seconds > 2 * (estimate(ours).seconds - rates()["seconds_per_point"])
    assert estimate(theirs).hops == estimate(ours).hops
    larger = made(workload, 64, {**TORUS, "geometry": [24, 24, 24]}).changed(substrate=substrate)
    more, known = (24**3 - 6**3) * 8, rates()["others"][substrate]  # ports, of six links and two nodes a switch
    memory, seconds = (
        getattr(estimate(larger), of) - getattr(estimate(theirs), of) for of in ("memory_bytes", "seconds")
    )
    assert memory == pytest.approx(more * known["bytes_per_port"], abs=1)
    hops = (estimate(larger).hops - estimate(theirs).hops) * known["seconds_per_packet_hop"]
    assert seconds == pytest.approx(more * known["seconds_per_port"] + hops, rel=1e-4)


def test_a_search_on_another_simulator_runs_every_radix() -> None:
    workload = {"kind": "allreduce", "algorithm": "recursive-k", "radix": "optimal", "radices": [2, 32]}
    ours = made(workload, 64)
    every = made({**workload, "exhaustive": True}, 64)
    assert estimate(ours.changed(substrate="sstmacro")).messages == estimate(every).messages > estimate(ours).messages


def test_programs_that_are_measured_hold_the_fields_of_their_steps() -> None:
    halo = {"kind": "halo", "width": 1, "grid": [64, 64, 1000]}
    measured = [
        estimate(Point.model_validate({"ranks": 4, "workload": workload, "substrate": "mpi"})).memory_bytes
        for workload in (halo, {"kind": "program", "steps": [halo]}, {"kind": "program", "steps": [halo, halo]})
    ]
    assert measured[0] == measured[1] < measured[2]


def test_a_sample_of_ranks_has_its_share_of_leaders() -> None:
    ranks, group = 99_840, 48
    steps = [{"collective": {"operation": "alltoall", "algorithm": "leaders", "group": group, "count": 1}}]
    parts = traffic(made({"kind": "program", "steps": steps}, ranks, BIG).workload, ranks)
    gather, exchange, scatter = (part.messages for part in parts)
    nodes = ranks // group
    assert gather == pytest.approx(ranks - nodes, rel=0.02)
    assert exchange == pytest.approx(nodes * (nodes - 1), rel=0.1)
    assert scatter == pytest.approx(ranks - nodes, rel=0.1)


@pytest.mark.parametrize(
    "name", ["torus-0064", "torus-1024", "fattree-M-1e4", "monc-swap-3e4", "allreduce-1e5", "step-1e5-halo"]
)
@pytest.mark.parametrize("statistics", [{}, {"links": "by-class"}, {"links": "by-class", "bins": 200}, {"waiting": 64}])
def test_the_memory_of_a_gpu_is_as_expected(name: str, statistics: dict[str, Any]) -> None:
    [file] = (ROOT / "benchmarks" / "points").glob(f"**/{name}.yaml")
    point = load_point(file)
    point = point.changed(statistics=point.statistics.changed(**statistics))
    needed = _simulator.idle_bytes(as_simulated(point), rates()["gpu_memory"]["lanes"])
    assert 0.6 < memory_on_accelerator(point) / needed < 1.6


@pytest.mark.parametrize(
    "machine",
    [*({"routing": routing} for routing in ("minimal", "valiant", "ugal")), {"crossbar": {"bandwidth": "80 GB/s"}}],
)
def test_the_memory_of_a_gpu_is_that_of_ports_where_they_are_apart(machine: dict[str, Any]) -> None:
    point = made({"kind": "halo", "width": 3, "grid": [64, 64, 16]}, 64, BIG | machine)
    needed = _simulator.idle_bytes(as_simulated(point), rates()["gpu_memory"]["lanes"])
    assert 0.6 < memory_on_accelerator(point) / needed < 1.6


@pytest.mark.parametrize("step", [{"work": {"time": "1 us"}}, {"write": {"total": "1 MB"}}])
def test_the_memory_of_a_gpu_has_why_each_rank_waits(step: dict[str, Any]) -> None:
    storage = {"bandwidth": "100 GB/s", "node_bandwidth": "10 GB/s", "latency": "10 us"}
    steps = [{"alltoall": {"algorithm": "burst", "count": 1}}, step]  # with 159,600 messages at once
    plain = made({"kind": "program", "steps": steps}, 400, TORUS | {"storage": storage})
    asked = plain.changed(statistics=plain.statistics.changed(waiting=4))
    lanes = rates()["gpu_memory"]["lanes"]
    idle, asking = (_simulator.idle_bytes(as_simulated(point), lanes) for point in (plain, asked))
    assert memory_on_accelerator(asked) - memory_on_accelerator(plain) == asking - idle


def test_a_gpu_takes_as_much_less_than_a_core_as_was_measured() -> None:
    cost = estimate(made({"kind": "halo", "width": 3, "grid": [64, 64, 16]}, 64, BIG))
    start, known = rates()["seconds_per_point"], rates()["gpu_times_a_core"]
    times = {ranks: on_accelerator(dataclasses.replace(cost, seconds=start + 90), ranks) - start for ranks in known}
    assert {ranks: 90 / seconds for ranks, seconds in times.items()} == pytest.approx(known)
    ends = list(known)
    assert on_accelerator(cost, 2) == on_accelerator(cost, ends[0])
    assert on_accelerator(cost, 10 * ends[-1]) == on_accelerator(cost, ends[-1])


@pytest.mark.parametrize(("count", "ranks"), [(8, 896), (1100, 448)])
def test_noting_why_ranks_wait_takes_the_memory_that_is_expected(count: int, ranks: int) -> None:
    """Of an eager message its diary, of a rendezvous what comes of its header, too; all are under way at once."""
    workload = {"kind": "collective", "operation": "alltoall", "algorithm": "burst", "count": count}
    machine = {"topology": "torus", "geometry": [ranks // 56, 8, 7], "nodes_per_switch": 1}
    points = [made(workload, ranks, machine, **more) for more in ({}, {"statistics": {"waiting": 1}})]
    expected, taken = (
        after - before
        for before, after in (
            [estimate(point).memory_bytes for point in points],
            [simulate(point).data["peak_rss_bytes"] for point in points],
        )
    )
    assert 1 / 1.3 < expected / taken < 1.3


COUNTED = {
    "halo": (10_000, {"kind": "halo", "width": 2, "grid": [2000, 1600, 8]}, BIG),
    "allreduce": (1000, {"kind": "allreduce", "algorithm": "recursive-doubling", "count": 10_000, "repeats": 5}, BIG),
    "transposition": (400, {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": [480, 480, 8]}, TORUS),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("bins", [64, 1024])
def test_what_links_carry_over_time_takes_less_memory_than_expected_yet_not_far_less(name: str, bins: int) -> None:
    """If all links had bins, those of the halo would take 1.6 GB."""
    ranks, workload, machine = COUNTED[name]
    asked = {"links": "hottest"}
    points = [made(workload, ranks, machine, statistics=asked | more) for more in ({}, {"bins": bins})]
    expected = [estimate(point).memory_bytes for point in points]
    taken = [simulate(point).data["peak_rss_bytes"] for point in points]
    # Differences, for a test's process is larger than a point's: it has what other tests have imported.
    assert taken[1] - taken[0] < expected[1] - expected[0]
    assert expected[1] < 4 * taken[1]


def test_bins_take_no_more_than_all_links_have() -> None:
    """A ring of two switches, which all packets pass."""
    machine = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 8}
    workload = {"kind": "transposition", "algorithm": "burst", "grid": [4800, 480, 80]}
    few, all_ = (
        estimate(made(workload, 16, machine, statistics={"links": "hottest"} | more)) for more in ({}, {"bins": 64})
    )
    ports = 2 * network(machine).ports + 16
    assert all_.memory_bytes - few.memory_bytes == 32 * 64 * ports
