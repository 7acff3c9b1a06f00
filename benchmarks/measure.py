"""One measurement, as the processes of the benchmark run it."""

import multiprocessing
import resource
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from tramontane import _simulator
from tramontane.study.patterns import pattern_makers
from tramontane.study.points.points import Point
from tramontane.substrates.simulator import as_simulated

Result = TypeVar("Result")


def measure(keys: dict[str, Any], threads: int = 1) -> dict[str, Any]:
    """Simulate a point as the extension reads it; add CPU time [s] of all threads and the process's peak memory [B]."""
    start = time.process_time()
    result: dict[str, Any] = _simulator.simulate(keys, threads)
    return result | _taken(start)


def partition(level: int, parts: int, width: int) -> dict[str, Any]:
    """Make an icosahedral grid of hexagons, METIS's parts and their halos; return how many links, and what it took."""
    start, begin = time.process_time(), time.perf_counter()
    cells, pairs = pattern_makers.icosahedral(level, "hexagons")
    part = pattern_makers.partition(cells, pairs, parts, seed=1)
    links = len(pattern_makers.domains(cells, pairs, part, width)["source"])
    return {"links": links, "wall_s": time.perf_counter() - begin} | _taken(start)


def _taken(start: float) -> dict[str, Any]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"cpu_s": time.process_time() - start, "peak_rss_bytes": peak}


def measure_apart(point: Point, threads: int = 1) -> dict[str, Any]:
    """Measure a point in a fresh process."""
    return apart(measure, as_simulated(point), threads)


def gain(point: Point, threads: int, repeats: int) -> float:
    """Return how many times faster a point is with several threads, in wall time.

    Runs with one and with several take turns, so that what else the machine does disturbs both alike.
    """
    pairs = [(measure_apart(point), measure_apart(point, threads)) for _ in range(repeats)]
    return float(statistics.median(one["wall_s"] / several["wall_s"] for one, several in pairs))


def idle_rank_bytes(point: Point) -> float:
    """Return what a rank of a point takes as long as nothing is sent [B], network included."""
    return apart(idle_bytes, as_simulated(point)) / point.ranks


def idle_bytes(canonical: dict[str, Any]) -> int:
    """Return what network and ranks of a canonical point take in this process [B]."""
    return int(_simulator.idle_bytes(canonical))


def apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Return what a function says of a point, called in a fresh process (BrokenProcessPool if that is ended)."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()
