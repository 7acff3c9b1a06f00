"""Sampled stages: the same bits however they are simulated, and times where they are said to lie."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tramontane import _simulator
from tramontane.study import load_point
from tramontane.substrates.simulator import Simulator

from .points import machine, outcome, point, transposition

US = 10**6  # picoseconds
NETWORKS = {
    "torus": machine("torus", (4, 8, 4), 8),
    "fattree": machine("fattree", (3, 11), 11),
    "dragonfly": machine("dragonfly", (4, 4, 8), 8),
    "valiant": machine("dragonfly", (4, 4, 8), 8, "valiant"),
}
ALGORITHMS: dict[str, dict[str, Any]] = {
    "ring-1": {"algorithm": "ring-k", "radix": 1},
    "sliding-1": {"algorithm": "sliding-window", "radix": 1},
}
HALF = [[(1, 3), (5, 3)], [(0, 3), (12, 3), (20, 3)], [(2, 3), (6, 2)]]


def made(algorithm: str, network: str, grid: tuple[int, int, int] = (128, 96, 32)) -> dict[str, Any]:
    workload = transposition(grid, (10, 24)) | ALGORITHMS[algorithm]
    return point(240, workload, NETWORKS[network], start_jitter=1 * US)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize(
    ("network", "grid"), [*((name, (128, 96, 32)) for name in NETWORKS), ("fattree", (960, 720, 32))]
)
def test_bits_do_not_depend_on_threads_windows_or_engine(
    network: str, algorithm: str, grid: tuple[int, int, int]
) -> None:
    p = made(algorithm, network, grid) | {"windows": HALF}
    expected = outcome(p)
    assert len(expected["window_ends_s"]) == sum(map(len, HALF))
    assert expected["window_ends_s"][-1] == expected["time_s"]
    for how in ({"threads": 3}, {"threads": 2, "window": 12_345}, {"device": "host"}):
        assert outcome(p, **how) == expected


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_windows_of_all_stages_change_nothing(algorithm: str) -> None:
    p = made(algorithm, "dragonfly")
    whole = outcome(p)
    for windows in ([[(0, 9)], [(0, 23)], [(0, 9)]], [[(0, 4), (4, 5)], [(0, 8), (8, 8), (16, 7)], [(0, 9)]]):
        cut = outcome(p | {"windows": windows})
        assert {name: cut[name] for name in whole if name != "phases"} == {
            name: value for name, value in whole.items() if name != "phases"
        }
        assert cut["window_ends_s"] == sorted(cut["window_ends_s"])


def test_what_is_sent_is_what_the_windows_have() -> None:
    sent = outcome(made("ring-1", "fattree") | {"windows": HALF})
    assert sent["messages"] == 240 * sum(length for phase in HALF for _, length in phase)


@pytest.mark.parametrize("windows", [[[(0, 1)]], [[(0, 99)], [], []], [[(3, 2), (4, 2)], [], []]])
def test_other_windows_are_refused(windows: list[list[tuple[int, int]]]) -> None:
    with pytest.raises(ValueError, match=r"^windows: found .*, allowed: "):
        _simulator.simulate(made("ring-1", "torus") | {"windows": windows})


@pytest.mark.parametrize("network", ["torus-S", "fattree-S", "dragonfly-S"])
def test_times_lie_where_they_are_said_to_lie(network: str, tmp_path: Path) -> None:
    # One interval in twenty may miss, and those of small networks are not narrower than they ought to be.
    held = []
    for algorithm, radix, seed in (("ring-k", 1, 1), ("ring-k", 1, 2), ("ring-k", 2, 3), ("sliding-window", 1, 4)):
        keys = {
            "ranks": 250,
            "machine": network,
            "seed": seed,
            "start_jitter": "1 us",
            "workload": {
                "kind": "transposition",
                "algorithm": algorithm,
                "radix": radix,
                "grid": [256, 256, 4],
                "decomposition": [2, 125],
            },
        }
        results = []
        for steady in ({}, {"steady": {"stages": "60 %"}}):
            file = tmp_path / "point.yaml"
            file.write_text(json.dumps(keys | steady))
            results.append(Simulator().run(load_point(file)))
        whole, told = results
        assert told["stages_simulated"] < told["stages_left_out"] * 2
        assert sum(told["phases"].values()) == pytest.approx(told["time_s"])
        assert list(told["phases"]) == list(whole["phases"])
        held.append(abs(told["time_s"] - whole["time_s"]) <= told["steady_error"] * told["time_s"])
        assert abs(told["time_s"] / whole["time_s"] - 1) < 0.25
    assert sum(held) >= 3
