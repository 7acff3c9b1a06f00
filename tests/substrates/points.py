"""Points of a few ranks."""

from __future__ import annotations

from typing import Any

from tramontane.study.points.points import Point

PAIR = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 1}


def point(**changes: Any) -> Point:
    """A point with 10 GB/s and 100 ns throughout; what is given for the machine is laid over two switches."""
    exchanged = {"kind": "transposition", "algorithm": "burst", "grid": [2, 2, 16], "decomposition": [2, 1]}
    net = changes.pop("machine", {})
    machine = net if "topology" in net else {**PAIR, **net}
    described = {"ranks": 2, "workload": exchanged, **changes, "machine": machine}
    return Point.model_validate(described)


def exchange(size: int, machine: dict[str, Any] | None = None) -> Point:
    """Two ranks send each other `size` bytes, twice."""
    workload = {"kind": "transposition", "algorithm": "burst", "grid": [2, 2, size // 8], "decomposition": [2, 1]}
    return point(workload=workload, machine=machine or {})
