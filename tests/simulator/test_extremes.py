"""Extreme points: what the simulator says is right, or it refuses in one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.substrates.simulator import as_simulated

from .points import allreduce, machine, point, transposition, without_costs
from .test_invariants import workloads

PS = 1
S = 10**12 * PS
DAY = 86_400.0
TICK = 5e-15
REFUSALS = (
    "the simulated time exceeds a day (86400 s), the end of the simulator's range",
    "a copy, a message or its wait for a link takes more than 1458 s, the longest step of the simulator",
    "the simulated time exceeds 922 s, the end of the range of the model pisces-16",
    "machine.buffer: ",
    "machine: found a bandwidth of ",
)
NETWORKS = [
    ("torus", (4, 4, 4), ["minimal", "valiant", "ugal"], {}),
    ("fattree", (4, 8), ["d-mod-k", "round-robin", "adaptive"], {}),
    ("dragonfly", (4, 4, 4), ["minimal", "valiant", "valiant-global", "ugal", "ugal-g", "par", "ugal-sstmacro71"], {}),
    ("dragonfly1d", (4, 9), ["minimal", "valiant", "ugal"], {"global_links": 2, "arrangement": "circulant"}),
    ("hyperx", (4, 4, 4), ["minimal", "valiant", "ugal", "dal"], {}),
]


def powers(least: int, most: int) -> st.SearchStrategy[int]:
    """Return integers of every size from `least` to `most`, both of them often."""
    sizes = st.integers(max(least, 1).bit_length(), most.bit_length()).flatmap(lambda bits: st.integers(0, 2**bits - 1))
    return st.sampled_from([least, most]) | sizes.map(lambda value: min(max(value, least), most))


def sent_bytes(workload: dict[str, Any], ranks: int) -> list[int]:
    """Return the sizes of all messages."""
    schedule = _simulator.schedule.Schedule(workload, ranks, allow_empty_blocks=True)
    return [int(n) for number in range(schedule.rounds) for n in schedule.transfers(number)["bytes"]]


@st.composite
def extreme_points(draw: st.DrawFn) -> dict[str, Any]:
    """Points at and between the bounds of every quantity, small enough to be simulated."""
    ranks = draw(st.integers(2, 64))
    sides = st.sampled_from([64, 64, 300, 1000])
    # With messages of nothing up to a gigabyte.
    workload = draw(workloads(ranks, sides, st.integers(64, 200), powers(1, 10**8), 3))
    topology, geometry, routings, changes = draw(st.sampled_from(NETWORKS))
    bandwidths, latencies = powers(10**6, 2 * 10**14), powers(1, S)
    packet = max(draw(powers(1, 10**9)), sum(sent_bytes(workload, ranks)) // 20_000)
    net = machine(
        topology,
        geometry,
        2,
        draw(st.sampled_from(routings)),
        link={"bandwidth": draw(bandwidths), "latency": draw(latencies)},
        injection={
            "bandwidth": draw(bandwidths),
            "latency": draw(latencies),
            "service": draw(st.sampled_from(["fifo", "round-robin"])),
        },
        crossbar={"bandwidth": draw(st.just("unlimited") | bandwidths)},
        logp={"bandwidth": draw(bandwidths), "hop_latency": draw(latencies), "out_in_latency": draw(latencies)},
        memory={"bandwidth": draw(bandwidths)},
        processor={"frequency": draw(powers(10**6, 10**12))},
        packet=min(packet, 10**9),
        buffer=min(draw(st.sampled_from([8, 8, 100, 10**9])) * min(packet, 10**9), 2**31 - 1),
        protocol={
            "negligible_size": draw(st.sampled_from([0, 0, 100, 10**6])),
            "short_limit": draw(st.sampled_from([0, 512, 10**9])),
            "eager_limit": draw(st.sampled_from([512, 10**6, 10**9])),
        },
        **changes,
    )
    jitter = draw(st.just(0) | powers(0, 1000 * S))
    if draw(st.booleans()):
        net["overhead"] = {"send": draw(powers(0, 1000 * S)), "receive": draw(powers(0, 1000 * S))}
    if draw(st.integers(0, 4)) == 0:
        net["model"] = "pisces-16"
    p = point(ranks, workload, net, draw(st.integers(0, 2**62)), jitter)
    if draw(st.booleans()):
        period = draw(powers(2, 1000 * S))
        duration = draw(powers(1, period - 1))
        p["noise"] = {"period": period, "duration": duration, "pattern": draw(st.sampled_from(["random", "periodic"]))}
    return p


def outcome(p: dict[str, Any], **how: int) -> dict[str, Any] | str:
    """Return what does not depend on the host: what came of the point, or why it was refused."""
    try:
        return without_costs(_simulator.simulate(p, **how))
    except (RuntimeError, ValueError) as error:
        return str(error)


def least_time(p: dict[str, Any], sends: list[int], busiest: float) -> float:
    """Return a time that the point takes at least [s], worked out in whole numbers."""
    net = p["machine"]
    latency: int = min(net["injection"]["latency"] + net["link"]["latency"], net["logp"]["out_in_latency"])
    if net["protocol"]["negligible_size"] > 0 or not any(sends):
        return latency * 1e-12
    slot: int = max(1, round(S * 200 / net["injection"]["bandwidth"]) - 1)  # [ticks]
    packet: int = net["packet"]
    return latency * 1e-12 + max(0.0, busiest - packet) * slot * TICK  # until the last packet's head leaves


@pytest.mark.parametrize("device", ["", "host"])
def test_bytes_are_counted_or_refused(device: str) -> None:
    """A repetition sends 4 messages of 2^57 B between two ranks of a node."""
    net = machine("torus", (2, 2, 2)) | {
        "node": {"latency": 10**5, "bandwidth": 2 * 10**14, "memory_bandwidth": "unlimited"}
    }
    halo = {"kind": "halo", "width": 1, "grid": [2, 2**27, 2**27], "decomposition": [2, 1]}

    def halos(repeat: int) -> dict[str, Any]:
        p = point(2, {"kind": "program", "repeat": repeat, "steps": [halo]}, net) | {"ranks_per_node": 2}
        result: dict[str, Any] = _simulator.simulate(p, device=device)
        return result

    assert halos(15)["bytes"] == 15 * 2**59
    for repeat in (16, 32, 40, 64):  # of 64 each rank alone sends 2^64 B
        with pytest.raises(RuntimeError, match=r"^workload: found 2\^63 or more bytes in all, allowed: less$"):
            halos(repeat)


@pytest.mark.parametrize("model", ["default", "pisces-16"])
def test_bytes_of_a_message_of_each_rank_are_counted_or_refused(model: str) -> None:
    """Each rank sends 2 messages of 2^57 B, which bypass the packet network."""
    fast, path = {"bandwidth": 2 * 10**14, "latency": 10**5}, {"hop_latency": 10**5, "out_in_latency": 10**5}

    def halo(ranks: int) -> dict[str, Any]:
        net = machine("torus", (ranks, 1, 1), model=model, link=fast, logp=path | {"bandwidth": 2 * 10**14})
        net["protocol"]["negligible_size"] = 2**60
        workload = {"kind": "halo", "width": 1, "grid": [ranks, 2**27, 2**27], "decomposition": [ranks, 1]}
        result: dict[str, Any] = _simulator.simulate(point(ranks, workload, net))
        return result

    assert halo(31)["bytes"] == 31 * 2**58
    with pytest.raises(RuntimeError, match=r"^workload: found 2\^63 or more bytes in all, allowed: less$"):
        halo(32)


@given(p=extreme_points(), threads=st.integers(1, 3), part=st.integers(2, 9))
@settings(max_examples=50)
def test_an_extreme_point_is_right_or_refused(p: dict[str, Any], threads: int, part: int) -> None:
    result = outcome(p)
    net = p["machine"]
    lookahead = 200 * min(
        net[b][k] for b, k in (("link", "latency"), ("injection", "latency"), ("logp", "out_in_latency"))
    )
    other = outcome(p, threads=threads, window=max(1, min(lookahead, 2**32 - 1) // part))
    if isinstance(result, str):
        assert "\n" not in result
        assert result.startswith(REFUSALS) or "model pisces-16" in result
        assert isinstance(other, str)
        return
    assert other == result
    sends = sent_bytes(p["workload"], p["ranks"])
    assert (result["messages"], result["bytes"]) == (len(sends), sum(sends))
    assert result["packets"] == sum(-(-n // net["packet"]) for n in sends)
    busiest = sum(sends) / p["ranks"] * result["imbalance"]
    assert least_time(p, sends, busiest) * (1 - 1e-9) <= result["time_s"] <= DAY
    assert all(0 <= time <= result["time_s"] for time in result["phases"].values())
    assert 0 <= result["delays"]["max_s"] <= result["time_s"]


TINY = """\
ranks: 4
workload: {kind: transposition, algorithm: ring-k, radix: 1, grid: [16, 16, 16]}
machine:
  topology: torus
  geometry: [2, 2, 2]
  nodes_per_switch: 1
  packet: 1 MB
  buffer: 8 MB
"""


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ("  link: {bandwidth: 20 kB/s}", "machine.link.bandwidth"),
        ("  link: {bandwidth: 1 B/s}", "machine.link.bandwidth"),
        ("  link: {latency: 500 s}", "machine.link.latency"),
        ("  link: {latency: 5000 s}", "machine.link.latency"),
        ("  overhead: {send: 100000 s}", "machine.overhead.send"),
        ("start_jitter: 1000000 s", "start_jitter"),
    ],
)
def test_what_once_gave_a_wrapped_time_is_refused(tmp_path: Path, change: str, key: str) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(TINY)
    assert _simulator.simulate(load_point(file).canonical())["time_s"] < 1e-3
    file.write_text(TINY + change)
    with pytest.raises(InputError) as error:
        load_point(file)
    assert "\n" not in str(error.value)
    assert f": {key}: found " in str(error.value)


@pytest.mark.parametrize(
    ("block", "key", "value"),
    [
        ("link", "bandwidth", 20_000),
        ("link", "latency", 500 * S),
        ("overhead", "send", 100_000 * S),
        ("", "start_jitter", 10**6 * S),
    ],
)
def test_the_extension_refuses_it_too(block: str, key: str, value: int) -> None:
    net = machine("torus", (2, 2, 2)) | {"overhead": {"send": 0, "receive": 0}}
    p = point(4, transposition((16, 16, 16), (2, 2)), net)
    (p["machine"][block] if block else p)[key] = value
    with pytest.raises(ValueError, match=rf"{key}: found {value}, allowed: .*$"):
        _simulator.simulate(p)


STORAGE = {"bandwidth": "200 TB/s", "node_bandwidth": "200 TB/s"}


def write(times: int, latency: str) -> dict[str, Any]:
    """Return a point whose two ranks write so often, each time for that long."""
    workload = {"kind": "program", "repeat": times, "steps": [{"write": {"bytes": "1 B"}}]}
    storage = {"storage": STORAGE | {"latency": latency}}
    net = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 1}
    return {"ranks": 2, "workload": workload, "machine": net | storage}


def work(steps: list[dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """Return a point whose two ranks work 86 times 1000 s, and then do something else."""
    net = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 1, "packet": "1 GB", "buffer": "2 GB"}
    protocol = {"protocol": {"short_limit": "1 GB", "eager_limit": "1 GB"}}
    loop = {"loop": {"times": 86, "steps": [{"work": {"time": "1000 s"}}]}}
    return {
        "ranks": 2,
        "workload": {"kind": "program", "steps": [loop, *steps]},
        "machine": net | protocol | changes,
    }


LATE = {
    "work": work([{"work": {"time": "401 s"}}]),
    "a write": write(87, "1000 s"),
    "a write that ends where time wraps": write(93, "1000 s"),
    "many writes": write(93_000, "1 s"),
    "a copy at the end": work(
        [
            {"work": {"time": "370 s"}},
            {"kind": "collective", "operation": "broadcast", "algorithm": "linear", "count": 10**7},
        ],
        memory={"bandwidth": "1 MB/s"},
    ),
}


@pytest.mark.parametrize("how", [{}, {"device": "host"}], ids=["cpu", "host"])
@pytest.mark.parametrize("late", LATE)
def test_no_engine_goes_beyond_a_day(late: str, how: dict[str, Any]) -> None:
    asked = as_simulated(Point.model_validate(LATE[late]))
    with pytest.raises(RuntimeError, match=re.escape(REFUSALS[0])):
        _simulator.simulate(asked, 1, **how)


@pytest.mark.parametrize("how", [{}, {"device": "host"}], ids=["cpu", "host"])
def test_a_run_may_take_a_day(how: dict[str, Any]) -> None:
    asked = as_simulated(Point.model_validate(work([{"work": {"time": "400 s"}}])))
    assert _simulator.simulate(asked, 1, **how)["time_s"] == DAY


def test_slow_links_take_the_time_of_their_bytes() -> None:
    """At 50 kB/s a time was still right, at 20 kB/s no more; the slowest that is allowed takes 1 s a megabyte."""
    p = point(2, allreduce(2, count=10**9), machine("torus", (2, 1, 1)))
    for part in ("link", "injection"):
        p["machine"][part]["bandwidth"] = 10**6
    p["machine"] |= {"packet": 10**8, "buffer": 10**9, "crossbar": {"bandwidth": "unlimited"}}
    assert _simulator.simulate(p)["time_s"] == pytest.approx(8000, abs=1)
    p["workload"]["repeats"] = 11
    with pytest.raises(RuntimeError, match="exceeds a day"):
        _simulator.simulate(p)
