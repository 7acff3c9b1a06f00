"""One measurement, as the processes of the benchmark run it."""

import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from typing import Any, TypeVar

from tramontane import _simulator
from tramontane.study.points import Point

Result = TypeVar("Result")


def measure(canonical: dict[str, Any], threads: int = 1) -> dict[str, Any]:
    """Simulate a canonical point and add CPU time [s] of all threads and peak memory [B] of this process."""
    start = time.process_time()
    result: dict[str, Any] = _simulator.simulate(canonical, threads)
    result["cpu_s"] = time.process_time() - start
    result["peak_rss_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return result


def measure_apart(point: Point, threads: int = 1) -> dict[str, Any]:
    """Measure a point in a fresh process."""
    return apart(measure, point.canonical(), threads)


def gain(point: Point, threads: int, repeats: int) -> float:
    """Return how many times faster a point is with several threads, in wall time.

    Runs with one and with several take turns, so that what else the machine does disturbs both alike.
    """
    pairs = [(measure_apart(point), measure_apart(point, threads)) for _ in range(repeats)]
    return float(statistics.median(one["wall_s"] / several["wall_s"] for one, several in pairs))


def idle_rank_bytes(point: Point) -> float:
    """Return what a rank of a point takes as long as nothing is sent [B], network included."""
    return apart(idle_bytes, point.canonical()) / point.ranks


def idle_bytes(canonical: dict[str, Any]) -> int:
    """Return what network and ranks of a canonical point take in this process [B]."""
    return int(_simulator.idle_bytes(canonical))


def apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Return what a function says of a point, called in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)
