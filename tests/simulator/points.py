"""Points for tests: small machines with round numbers, so that times can be worked out by hand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tramontane import _simulator
from tramontane.campaign.verification import OF_THE_RUN

GB = 10**9
NS = 1000  # picoseconds

#: Networks as YAML has them, with 10 GB/s and 100 ns throughout.
PAIR: dict[str, Any] = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 1}
TORUS: dict[str, Any] = {"topology": "torus", "geometry": [4, 4, 2], "nodes_per_switch": 1}
LINE: dict[str, Any] = {"topology": "torus", "geometry": {"sizes": [2], "wraps": [0]}, "nodes_per_switch": 1}


def machine(
    topology: str = "torus",
    geometry: tuple[int, ...] = (2, 1, 1),
    nodes_per_switch: int = 1,
    routing: str = "minimal",
    **changes: Any,
) -> dict[str, Any]:
    """A machine of 10 GB/s and 100 ns throughout, with a crossbar that never limits."""
    base: dict[str, Any] = {
        "topology": topology,
        "geometry": list(geometry),
        # Of a fat tree, the geometry says it.
        "nodes_per_switch": (geometry[1] if len(geometry) == 2 else geometry[0])
        if topology == "fattree"
        else nodes_per_switch,
        "routing": "d-mod-k" if (topology, routing) == ("fattree", "minimal") else routing,
        "link": {"bandwidth": 10 * GB, "latency": 100 * NS},
        "injection": {"bandwidth": 10 * GB, "latency": 100 * NS, "service": "fifo"},
        "crossbar": {"bandwidth": 1000 * GB},
        "logp": {"bandwidth": 10 * GB, "hop_latency": 100 * NS, "out_in_latency": 100 * NS},
        "memory": {"bandwidth": 1000 * GB},
        "processor": {"frequency": 2 * GB},
        "packet": 4096,
        "buffer": 64000,
        "protocol": {"eager_limit": 8192, "short_limit": 512, "negligible_size": 0},
        "model": "default",
    }
    for key, value in changes.items():
        base[key] = {**base[key], **value} if isinstance(value, Mapping) else value
    return base


def point(
    ranks: int, workload: Mapping[str, Any], machine: Mapping[str, Any], seed: int = 1, start_jitter: int = 0
) -> dict[str, Any]:
    """A canonical point on the embedded simulator; `start_jitter` in ps."""
    return {
        "ranks": ranks,
        "workload": dict(workload),
        "machine": dict(machine),
        "allocation": "first-available",
        "substrate": "simulator",
        "seed": seed,
        "start_jitter": start_jitter,
    }


def transposition(grid: tuple[int, int, int], decomposition: tuple[int, int], radix: int = 1) -> dict[str, Any]:
    """A transposition by ring-k."""
    return {
        "kind": "transposition",
        "algorithm": "ring-k",
        "radix": radix,
        "grid": list(grid),
        "decomposition": list(decomposition),
    }


def allreduce(radix: int, count: int = 3, repeats: int = 1) -> dict[str, Any]:
    """Allreduces of `count` doubles by recursive-k."""
    return {"kind": "allreduce", "algorithm": "recursive-k", "radix": radix, "count": count, "repeats": repeats}


def copy_ns(n: int) -> float:
    """Time of copying an eager message: 3 instructions of 0.5 ns a word; above 64 B also n bytes at 1000 GB/s."""
    return 1.5 * (n // 8) + (n / 1000 if n // 8 > 8 else 0)


def exchange_ns(n: int, latency: float, rate: float) -> float:
    """Time in which two ranks send each other n bytes, after the protocol of SST/macro 16.0.

    A message of b bytes takes the latency [ns] and b at the rate [B/ns].
    """

    def message(b: int) -> float:
        return latency + b / rate

    if n <= 512:  # eager: out of the user's buffer, into the user's buffer
        return copy_ns(n) + message(n) + copy_ns(n)
    if n <= 8192:  # header, get, payload, copy
        return 2 * message(64) + message(n) + copy_ns(n)
    return 3 * message(64) + message(n)  # rendezvous; the sender waits for the acknowledgement


def without_costs(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a result says of its point, without what tells of the run."""
    return {key: value for key, value in result.items() if key not in OF_THE_RUN}


def outcome(p: Mapping[str, Any], **how: Any) -> dict[str, Any]:
    """What a simulation says of its point, without what it took."""
    return without_costs(_simulator.simulate(p, **how))
