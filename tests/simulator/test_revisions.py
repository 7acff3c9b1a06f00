"""A new revision of the model draws ties anew, and nothing else: ensembles of the one before have the same medians.

`data/revision-1.json` holds 64 members of each point, simulated with revision 1 (version 0.1.0). The interval of the
ratio of medians is a bootstrap one of 95 %.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tramontane import _simulator

from .points import GB, allreduce, machine, point

RECORDED = json.loads((Path(__file__).parent / "data" / "revision-1.json").read_text(encoding="utf-8"))
MEMBERS = 64
GRID, SQUARE, LARGER = [360, 180, 32], [8, 8], [10, 10]
TORUS: dict[str, Any] = {"topology": "torus", "geometry": (4, 4, 4), "nodes_per_switch": 2}
DRAGONFLY: dict[str, Any] = {"topology": "dragonfly", "geometry": (4, 4, 4), "nodes_per_switch": 2}
TREE: dict[str, Any] = {"topology": "fattree", "geometry": (3, 5), "nodes_per_switch": 5}
ONE_DIMENSIONAL: dict[str, Any] = {
    "topology": "dragonfly1d",
    "geometry": (8, 9),
    "nodes_per_switch": 2,
    "global_links": 2,
    "arrangement": "circulant",
}
ROOM: dict[str, Any] = {"buffer": 128_000}
SMALL_CROSSBAR: dict[str, Any] = {"crossbar": {"bandwidth": 20 * GB}}


def all_to_all(algorithm: str, decomposition: list[int] = SQUARE, **more: Any) -> dict[str, Any]:
    return {
        "kind": "transposition",
        "algorithm": algorithm,
        "grid": GRID,
        "decomposition": decomposition,
        **more,
    }


def halo(width: int, decomposition: list[int] = SQUARE) -> dict[str, Any]:
    return {"kind": "halo", "width": width, "grid": GRID, "decomposition": decomposition}


RING_4 = all_to_all("ring-k", radix=4)
DOUBLING = {"kind": "allreduce", "algorithm": "recursive-doubling", "count": 3, "repeats": 10}
POINTS: dict[str, tuple[int, dict[str, Any], dict[str, Any]]] = {
    "torus ring-4": (64, RING_4, TORUS),
    "torus ring-1": (64, all_to_all("ring-k", radix=1), TORUS),
    "torus ring-4 valiant": (100, all_to_all("ring-k", LARGER, radix=4), TORUS | ROOM | {"routing": "valiant"}),
    "torus ring-4 ugal": (64, RING_4, TORUS | {"routing": "ugal"}),
    "torus burst": (64, all_to_all("burst"), TORUS),
    "torus halo 10": (64, halo(10), TORUS),
    "torus allreduce 4": (128, allreduce(4, repeats=10), TORUS),
    "torus eager": (64, RING_4 | {"grid": [64, 64, 16]}, TORUS),
    "dragonfly ring-4": (64, RING_4, DRAGONFLY),
    "dragonfly ring-4 valiant": (100, all_to_all("ring-k", LARGER, radix=4), DRAGONFLY | {"routing": "valiant"}),
    "dragonfly ring-4 ugal": (64, RING_4, DRAGONFLY | {"routing": "ugal"}),
    "dragonfly ring-4 par": (64, RING_4, DRAGONFLY | ROOM | {"routing": "par"}),
    "dragonfly bruck-4": (64, all_to_all("bruck", radix=4), DRAGONFLY),
    "dragonfly halo 20": (64, halo(20), DRAGONFLY),
    "dragonfly doubling": (100, DOUBLING, DRAGONFLY),
    "dragonfly small crossbar": (64, RING_4, DRAGONFLY | SMALL_CROSSBAR),
    "dragonfly round-robin": (64, RING_4, DRAGONFLY | {"injection": {"service": "round-robin"}}),
    "fattree ring-4": (64, RING_4, TREE),
    "fattree sliding-4": (64, all_to_all("sliding-window", radix=4), TREE),
    "fattree halo 20": (100, halo(20, LARGER), TREE),
    "fattree allreduce 8": (125, allreduce(8, repeats=10), TREE),
    "fattree small crossbar": (64, RING_4, TREE | SMALL_CROSSBAR),
    "dragonfly1d ring-4": (64, RING_4, ONE_DIMENSIONAL),
    "dragonfly1d ring-4 ugal": (64, RING_4, ONE_DIMENSIONAL | ROOM | {"routing": "ugal"}),
}


def members(name: str) -> list[float]:
    """Return the times of a point's members [s]."""
    ranks, workload, net = POINTS[name]
    given = [point(ranks, workload, machine(**net), seed, start_jitter=1000) for seed in range(1, MEMBERS + 1)]
    return [_simulator.simulate(member)["time_s"] for member in given]


#: One of each network; the others take a minute.
SOON = ("torus ring-4", "dragonfly ring-4 ugal", "fattree sliding-4", "dragonfly1d ring-4")


@pytest.mark.parametrize("name", [pytest.param(n, marks=[] if n in SOON else pytest.mark.long) for n in POINTS])
def test_medians_are_those_of_the_revision_before(name: str) -> None:
    before, now = np.array(RECORDED[name]), np.array(members(name))
    draw = np.random.default_rng(1)

    def resampled(times: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.asarray(np.median(draw.choice(times, (2000, MEMBERS)), axis=1))

    low, high = np.percentile(resampled(now) / resampled(before), [2.5, 97.5])
    assert low >= 0.98
    assert high <= 1.02
