"""The simulator against what can be worked out by hand: protocols, latency of each topology, saturated links."""

from __future__ import annotations

from typing import Any

import pytest

from tramontane import _simulator
from tramontane.study.workloads import schedules

from .points import GB, NS, allreduce, copy_ns, exchange_ns, machine, point, transposition

ELEMENT = 8


@pytest.mark.parametrize("hops", [0, 1])
@pytest.mark.parametrize("n", [16, 64, 512, 1024, 4096, 8192, 8208, 40_000, 2**20])
def test_two_ranks_exchange_at_full_rate_in_both_directions(n: int, hops: int) -> None:
    # A grid of 2 x 2 x n/8 points over 2 x 1 processes: in a-b and in c-d each sends the other n bytes.
    net = machine(geometry=(2, 1, 1), nodes_per_switch=1) if hops else machine(geometry=(1, 1, 1), nodes_per_switch=2)
    result = _simulator.simulate(point(2, transposition((2, 2, n // ELEMENT), (2, 1)), net))
    assert (result["messages"], result["bytes"]) == (4, 4 * n)
    # Truncation to whole byte slots costs up to a few bytes' time a packet (here 0.1 ns each).
    packets = 2 * -(-n // 4096)
    latency = 200 + 100 * hops  # of injection and ejection, and of a link a hop
    assert result["time_s"] * 1e9 == pytest.approx(2 * exchange_ns(n, latency, 10), abs=0.3 * packets)


@pytest.mark.parametrize("n", [2**20, 2**20 + 8, 2**22])
def test_a_long_copy_takes_as_long_for_each_word(n: int) -> None:
    net = machine(protocol={"short_limit": 10**9, "eager_limit": 10**9}, memory={"bandwidth": 1 * GB})
    result = _simulator.simulate(point(2, transposition((2, 2, n // ELEMENT), (2, 1)), net))
    assert result["time_s"] * 1e9 == pytest.approx(2 * (2 * (1.5 * n / 8 + n) + 300 + n / 10), rel=1e-5)


@pytest.mark.parametrize("calls", schedules.words("halo", "calls"))
def test_calls_of_a_halo_wait_for_one_another(calls: str) -> None:
    """A ring of three ranks, each with a message up and one down: header, get, payload, acknowledgement."""
    n = 2**20
    control, payload = 200 + 100 + 6.4, 200 + 100 + n / 10
    wanted = {
        "irecv-isend": 3 * control + payload + n / 10,  # both payloads leave by one port
        "isend-recv": 4 * control + 2 * payload,  # both headers at once; the second get goes when its receive is posted
        "irecv-send": 2 * (3 * control + payload),
        "sendrecv": 2 * (3 * control + payload),
    }[calls]
    work = {"kind": "halo", "width": 1, "grid": [6, 1, n // ELEMENT], "decomposition": [3, 1], "calls": calls}
    result = _simulator.simulate(point(3, work, machine(geometry=(3, 1, 1))))
    assert (result["messages"], result["bytes"]) == (6, 6 * n)
    assert result["time_s"] * 1e9 == pytest.approx(wanted, rel=1e-3)


def test_who_receives_in_turn_posts_one_receive_after_another() -> None:
    """What comes while the first receive is posted has to wait for its own: 1 us each."""
    net = machine(geometry=(3, 1, 1)) | {"overhead": {"send": 0, "receive": 0, "post": 1_000_000}}
    work = {"kind": "halo", "width": 1, "grid": [6, 1, 1], "decomposition": [3, 1], "calls": "isend-recv"}
    assert _simulator.simulate(point(3, work, net))["time_s"] == pytest.approx(2e-6, rel=0.01)


def test_who_receives_in_turn_copies_what_came_before() -> None:
    """The first comes while the second send is prepared, the second while the first is copied: both are copied."""
    n = 8000
    protocol = {"eager_limit": 8192, "short_limit": 8192, "expected_eager": "direct"}
    net = machine(geometry=(3, 1, 1), protocol=protocol, memory={"bandwidth": 1 * GB})
    times = {}
    for calls in ("irecv-isend", "isend-recv"):
        work = {"kind": "halo", "width": 1, "grid": [6, 1, n // ELEMENT], "decomposition": [3, 1], "calls": calls}
        times[calls] = _simulator.simulate(point(3, work, net))["time_s"] * 1e9
    copy = 1.5 * n / 8 + n
    assert times["irecv-isend"] == pytest.approx(2 * copy + 300 + n / 10, abs=2)
    assert times["isend-recv"] == pytest.approx(4 * copy, abs=2)


@pytest.mark.parametrize(
    ("net", "links"),
    [
        # Hops between the switches of partners 1, 2, 4, ... ranks apart.
        (machine("fattree", (4, 2)), [0, 2, 4, 6]),
        (machine("fattree", (2, 4)), [0, 0, 2, 2]),
        (machine("dragonfly", (2, 2, 4)), [1, 1, 1, 1]),
        (machine("dragonfly", (2, 2, 2), 2), [0, 1, 1, 1]),
        (machine("torus", (2, 2, 4)), [1, 1, 1, 2]),
        (machine("torus", (2, 2, 2), 2), [0, 1, 1, 1]),
        (machine("hyperx", (4, 2, 2)), [1, 1, 1, 1]),
        (machine("hyperx", (4, 4)), [1, 1, 1, 1]),
    ],
    ids=[
        *("fattree-4-levels", "fattree-2-levels", "dragonfly", "dragonfly-2-nodes", "torus", "torus-2-nodes"),
        *("hyperx-3-dimensions", "hyperx-2-dimensions"),
    ],
)
def test_small_allreduce_takes_stages_times_latency(net: dict[str, Any], links: list[int]) -> None:
    # Recursive doubling of 24 B. Where two nodes share a switch, or planes two apart share a link, a stage may have two
    # messages on one link: 2.4 ns more.
    result = _simulator.simulate(point(2 ** len(links), allreduce(radix=2), net))
    stages = [copy_ns(24) + 200 + 100 * hops + 2.4 + copy_ns(24) for hops in links]
    shared = 2.4 * sum(hops > 0 for hops in links) if net["topology"] != "fattree" else 0.0
    assert sum(stages) - 0.01 <= result["time_s"] * 1e9 <= sum(stages) + shared + 0.01


def test_latencies_and_bandwidths_count_where_they_belong() -> None:
    net = machine(link={"bandwidth": 5 * GB, "latency": 300 * NS}, injection={"bandwidth": 20 * GB, "latency": 50 * NS})
    result = _simulator.simulate(point(2, allreduce(radix=2), net))
    # Injection 50 + link 300 + ejection (a link) 300 + 24 B at the slowest server, 5 GB/s.
    assert result["time_s"] * 1e9 == pytest.approx(2 * copy_ns(24) + 650 + 4.8, abs=0.01)


def test_a_message_that_is_negligible_bypasses_the_packet_network() -> None:
    net = machine(protocol={"negligible_size": 256}, logp={"out_in_latency": 30 * NS, "hop_latency": 7 * NS})
    result = _simulator.simulate(point(2, allreduce(radix=2), net))
    assert result["hops"] == 0
    assert result["time_s"] * 1e9 == pytest.approx(2 * copy_ns(24) + 30 + 7 + 2.4, abs=0.01)


def test_a_shared_link_is_saturated() -> None:
    # Torus 2 x 1 x 1 with 8 nodes a switch; phase b-c of 8 x 2 processes sends half of every block across the one
    # +x link each way (dimension of size 2: both ways round are equal, so the positive one is taken).
    grid, ranks, per_switch = (64, 64, 64), 16, 8
    net = machine(geometry=(2, 1, 1), nodes_per_switch=per_switch, buffer=64_000_000)
    result = _simulator.simulate(point(ranks, transposition(grid, (8, 2)), net))
    crossing = 64**3 * ELEMENT / ranks / 2 * per_switch
    busy = crossing / (10 * GB)
    assert busy <= result["phases"]["b-c"] <= 1.02 * busy + 3e-6


def test_the_crossbar_is_one_server_a_switch() -> None:
    grid, ranks = (64, 64, 64), 8
    net = machine(geometry=(1, 1, 1), nodes_per_switch=ranks, crossbar={"bandwidth": 10 * GB})
    result = _simulator.simulate(point(ranks, transposition(grid, (8, 1)), net))
    through = 2 * 64**3 * ELEMENT * (1 - 1 / 8) / (10 * GB)  # a-b and c-d, all through one 10 GB/s server
    assert through <= result["time_s"] <= 1.02 * through + 5e-6


@pytest.mark.parametrize("topology", ["torus", "fattree", "dragonfly"])
def test_no_transposition_beats_the_bisection(topology: str) -> None:
    net = {
        "torus": machine("torus", (4, 4, 4)),
        "fattree": machine("fattree", (3, 4)),
        "dragonfly": machine("dragonfly", (4, 4, 4)),
    }[topology]
    # Links across the middle, one direction: torus 4 x 4 lines cut twice; tree 32; dragonfly 16 switches x 2 x 2.
    bisection = {"torus": 32, "fattree": 32, "dragonfly": 64}[topology] * 10 * GB
    result = _simulator.simulate(point(64, transposition((128, 64, 64), (8, 8), radix=4), net))
    # Phase b-c exchanges between rows of processes: half of each block crosses from the lower to the upper 32 nodes.
    crossing = 128 * 64 * 64 * ELEMENT / 4
    assert result["phases"]["b-c"] >= crossing / bisection
    # And none is faster than its own injection.
    assert result["phases"]["b-c"] >= 128 * 64 * 64 * ELEMENT / 64 * 7 / 8 / (10 * GB)


def test_a_fat_tree_does_not_block_ring_1() -> None:
    # D-mod-k lets the permutations of ring-1 pass without sharing a link (Zahavi et al. 2010). With messages that are
    # pushed, at no cost to the processor, a phase then runs at injection rate. (Pulled messages don't: design.md.)
    net = machine(
        "fattree",
        (3, 4),
        buffer=1_000_000,
        protocol={"short_limit": 10**9, "eager_limit": 10**9},
        processor={"frequency": 10**12},
        memory={"bandwidth": 2 * 10**14},
    )
    result = _simulator.simulate(point(64, transposition((512, 512, 64), (8, 8)), net))
    phase = 7 * 512 * 512 * 64 * ELEMENT / 64 / 8 / (10 * GB)
    assert phase <= result["phases"]["a-b"] <= 1.05 * phase
