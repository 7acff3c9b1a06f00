"""The skeleton program as simulators of MPI run it: without data, once, with one clock for all ranks."""

import sys
from pathlib import Path
from typing import Any

from tramontane import __version__
from tramontane.study.points.points import Point
from tramontane.substrates.mpi.program import workload_arguments
from tramontane.support.layout import SHARE

LIBRARIES = ["-lrt"] if sys.platform == "linux" else []
"""What the program is linked with: before glibc 2.34, shared memory has a library of its own."""


def options() -> list[str]:
    """Return the compiler options that the program needs, whoever compiles it."""
    return [f"-I{Path(SHARE, 'skeleton-src')}", f'-DTRAMONTANE_VERSION="{__version__}"']


def simulated_arguments(point: Point, keys: dict[str, Any] | None = None) -> list[str]:
    """Return the program's arguments for one run of a point's workload.

    On a simulator nothing is to be warmed up, a second repetition gives what the first one gave, and what messages hold
    is nobody's business.

    Parameters
    ----------
    point : Point
        A point.
    keys : dict, optional
        Those of the workload that the compiled description reads; default: all that the point says.
    """
    once = ["warmup=0", "repetitions=1", "data=null", "verify=0", "clock=global"]
    return [*workload_arguments(point.workload, keys or point.schedule_keys()), *once]


def outcome(printed: dict[str, Any]) -> dict[str, Any]:
    """Return the common part of a result from what the program has printed of its only repetition."""
    once = printed["repetitions"][0]
    return {
        "time_s": once["time_s"],
        "phases": once["phases"],
        "messages": printed["messages"],
        "bytes": printed["bytes"],
    }
