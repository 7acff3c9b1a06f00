"""A result is a function of the point alone: what must not matter is varied here, and nothing changes."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from tramontane import _simulator
from tramontane.study.workloads import schedules

from .points import GB, NS, allreduce, machine, outcome, point, transposition
from .test_recorded import random_point

TICKS_PER_PICOSECOND = 200
NETWORKS = {
    "torus": machine("torus", (4, 4, 2), 2),
    "fattree": machine("fattree", (3, 4)),
    "dragonfly": machine("dragonfly", (4, 4, 2), 2, "valiant", buffer=128_000),
}


def lookahead(p: dict[str, Any]) -> int:
    """Return the longest window that a point allows [ticks]."""
    net = p["machine"]
    latencies = (net["link"]["latency"], net["injection"]["latency"], net["logp"]["out_in_latency"])
    return int(min(latencies)) * TICKS_PER_PICOSECOND


@pytest.mark.parametrize("eighth", range(8))
def test_windows_and_threads(eighth: int) -> None:
    for number in range(eighth, 192, 8):
        p = random_point(number)
        pick = Random(-number)
        most = lookahead(p)
        expected = outcome(p)
        for window in (most, most // 2, most // pick.randint(3, 9), pick.randint(most // 20, most)):
            assert outcome(p, window=window, threads=pick.randint(1, 8)) == expected, f"point {number}, window {window}"


@pytest.mark.parametrize("routing", ["ugal", "ugal-g", "par", "ugal-sstmacro71"])
def test_windows_where_routes_follow_queues(routing: str) -> None:
    net = machine("dragonfly", (4, 4, 2), 2, routing, buffer=128_000)
    p = point(64, transposition((360, 90, 16), (8, 8), 4), net, start_jitter=NS)
    expected = outcome(p)
    for window in (lookahead(p) // 3, lookahead(p) // 7 + 1):
        assert outcome(p, window=window) == expected


@pytest.mark.parametrize("calls", schedules.words("halo", "calls"))
@pytest.mark.parametrize("progress", ["calls", "hardware"])
def test_windows_and_threads_by_any_calls_of_a_halo(calls: str, progress: str) -> None:
    """Over several neighbours a side, so that many receives wait for their turn; eager and by rendezvous."""
    work = {"kind": "halo", "width": 5, "grid": [48, 40, 12], "decomposition": [8, 8], "calls": calls}
    protocol = {"eager_limit": 9000, "short_limit": 9000, "progress": progress, "expected_eager": "direct"}
    node = {"bandwidth": 10 * GB, "latency": 100 * NS, "memory_bandwidth": "unlimited"}
    p = point(64, work, machine("torus", (4, 4, 2), 2, protocol=protocol) | {"node": node}, start_jitter=1000 * NS)
    p["ranks_per_node"] = 2
    if (calls, progress) == ("isend-recv", "hardware"):
        with pytest.raises(ValueError, match=r"progress: found hardware with receives in turn .*, allowed: calls"):
            outcome(p)
        return
    expected = outcome(p)
    for window, threads in ((lookahead(p) // 3, 3), (lookahead(p) // 7 + 1, 2)):
        assert outcome(p, window=window, threads=threads) == expected


def test_windows_where_repeats_are_cut_short() -> None:
    p = point(36, allreduce(5, repeats=50), NETWORKS["torus"], start_jitter=1000 * NS) | {"steady": {"error": 10_000}}
    expected = outcome(p)
    assert expected["repeats_left_out"] > 0
    for window in (lookahead(p) // 3, lookahead(p) // 7 + 1):
        assert outcome(p, window=window) == expected


def test_windows_where_a_limit_ends_the_run() -> None:
    p = point(60, allreduce(3, repeats=20), NETWORKS["torus"], start_jitter=1000 * NS)
    _, last = _simulator.earliest_ends(p)
    how: dict[str, Any] = {"longest": 0.8 * _simulator.simulate(p)["time_s"], "more_s": [0.0, *last[:-1]]}
    expected = outcome(p, **how)
    assert expected["at_least_s"] > how["longest"]
    for window in (lookahead(p) // 3, lookahead(p) // 7 + 1):
        assert outcome(p, window=window, **how) == expected


@pytest.mark.parametrize("network", NETWORKS)
def test_a_latency_that_no_message_takes(network: str) -> None:
    """No message is negligible, so none takes the path of LogP; its latency only bounds the window."""
    results = []
    for latency in (100, 90, 50, 10):
        net = NETWORKS[network] | {"logp": {"bandwidth": 10 * GB, "hop_latency": NS, "out_in_latency": latency * NS}}
        results.append(outcome(point(64, transposition((720, 360, 16), (8, 8), 4), net)))
    assert all(result == results[0] for result in results)
