"""Simulations give, to the last bit, what they gave when the simulator was simpler.

All-to-alls are from when messages still had a record each from post to end. What is kept is the order in which each
network interface serves its messages: headers and get requests, data, several packets or one, in every protocol, with
full buffers, processor overheads and noise. Allreduces and ring-k are from when whatever a rank did was an event of its
own. The outcomes of a model revision never change; a new one records them anew, with
``python -m tests.simulator.test_recorded``.
"""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tramontane import _simulator

from .points import GB, NS, allreduce, machine, point, transposition

DATA = Path(__file__).parent / "data" / "recorded.json"
ALL_TO_ALLS, POINTS = 96, 192


def random_point(number: int) -> dict[str, Any]:
    """Return the point of this number, always the same: an all-to-all, from `ALL_TO_ALLS` on another workload."""
    pick = Random(number)
    topology, geometry, nodes, routings = pick.choice(
        [
            ("torus", (2, 3, 2), 3, ["minimal", "valiant", "ugal"]),
            ("fattree", (3, 4), 1, ["d-mod-k", "adaptive"]),
            ("dragonfly", (3, 2, 3), 2, ["minimal", "valiant", "ugal"]),
        ]
    )
    packet = pick.choice([48, 256, 1000, 4096])
    net = machine(
        topology,
        geometry,
        nodes,
        pick.choice(routings),
        packet=packet,
        buffer=4 * packet * pick.choice([1, 2, 6]),
        crossbar={"bandwidth": pick.choice([5, 20, 100]) * GB},
        link={"bandwidth": pick.choice([2, 10]) * GB},
        injection={"bandwidth": pick.choice([5, 10]) * GB, "service": pick.choice(["fifo", "round-robin"])},
        protocol={
            "negligible_size": pick.choice([0, 0, 64, 600]),
            "short_limit": pick.choice([0, 512]),
            "eager_limit": pick.choice([512, 2048, 8192]),
        },
    )
    if pick.random() < 0.3:
        net["overhead"] = {"send": pick.choice([0, 150]) * NS, "receive": pick.choice([0, 230]) * NS}
    rows, columns = pick.randint(1, 6), pick.randint(2, 6)
    algorithm, radix = pick.choice(
        [("burst", {}), ("burst", {}), ("sliding-window", {"radix": pick.randint(1, 9)}), ("bruck", {"radix": 3})]
    )
    larger = 1 if packet == 48 else pick.choice([1, 2, 4])  # up to many packets a message, but not too many in all
    grid = [larger * pick.randint(12, 40), larger * pick.randint(12, 40), pick.randint(12, 40)]
    work = {"kind": "transposition", "algorithm": algorithm, "grid": grid, "decomposition": [columns, rows], **radix}
    drawn = point(rows * columns, work, net, number, pick.choice([0, 1, 700]) * NS)
    if number >= ALL_TO_ALLS:
        drawn["workload"] = pick.choice(
            [
                allreduce(pick.choice([2, 3, 5, 8]), pick.choice([1, 20, 63, 300]), pick.choice([1, 3])),
                transposition((64, 32, pick.choice([4, 8, 24])), (columns, rows), pick.choice([1, 2, 4])),
            ]
        )
    if pick.random() < 0.3:
        pattern = pick.choice(["random", "periodic"])
        drawn["noise"] = {"duration": 900 * NS, "period": 10_000 * NS, "pattern": pattern}
    return drawn


def outcome(number: int, **options: Any) -> dict[str, Any]:
    """Return what must stay the same; times to the last bit."""
    result = _simulator.simulate(random_point(number), **options)
    times = {"time_s": result["time_s"], **result["phases"], "sum_s": result["delays"]["sum_s"]}
    counts = {name: result[name] for name in ("messages", "packets", "control_packets", "hops")}
    return {name: time.hex() for name, time in times.items()} | counts


@pytest.mark.parametrize("eighth", range(8))
def test_results_are_those_recorded(eighth: int) -> None:
    recorded = json.loads(DATA.read_text(encoding="utf-8"))
    assert len(recorded) == POINTS
    for number in range(eighth, POINTS, 8):
        assert outcome(number) == recorded[number], f"point {number}"


@pytest.mark.parametrize("lanes", [1, 2, 3])
def test_the_device_engine_finds_the_same(lanes: int) -> None:
    recorded = json.loads(DATA.read_text(encoding="utf-8"))
    for number in range(lanes, POINTS, 2 if lanes == 1 else 24):
        assert outcome(number, device="host", threads=lanes) == recorded[number], f"point {number}"


def test_the_device_engine_passes_over_time_without_events() -> None:
    picosecond = {"latency": 1}
    net = machine(
        geometry=(2, 2, 2),
        link=picosecond,
        injection=picosecond,
        logp={"hop_latency": 1, "out_in_latency": 1},
    )
    late = point(8, allreduce(2), net, start_jitter=10**15)
    times = [_simulator.simulate(late, **how)["time_s"] for how in ({}, {"device": "host"})]
    assert times[0] == times[1] > 100


def test_a_device_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^device: found 'gpu' \(.*\), allowed: cpu, host"):
        _simulator.simulate(random_point(0), device="gpu")


@pytest.mark.parametrize(
    ("how", "refusal"),
    [
        ({"longest": 1.0, "more_s": [0.0]}, "a limit"),
        ({"timeline": [0]}, "timeline"),
    ],
)
def test_what_the_device_engine_has_not_is_refused(how: dict[str, Any], refusal: str) -> None:
    with pytest.raises(ValueError, match=rf"^device: .*{refusal}"):
        _simulator.simulate(random_point(0), device="host", **how)


if __name__ == "__main__":
    lines = ",\n".join(json.dumps(outcome(number)) for number in range(POINTS))
    DATA.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
