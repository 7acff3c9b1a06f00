"""The embedded packet-flow simulator (`simulator/`, C++)."""

import functools
import hashlib
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.extension import simulator as _extension
from tramontane.study.points import Point
from tramontane.study.workloads import Workload
from tramontane.substrates import spack
from tramontane.substrates.search import is_search, search


class Simulator:
    """Runs a point on the embedded simulator; the default, and always installed.

    Parameters
    ----------
    threads : int, optional
        Threads that may share the work of a point; its result does not depend on them.
    """

    name = "simulator"

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads

    def available(self) -> str | None:
        """Return None, or that the extension was not compiled."""
        try:
            _extension()
        except InputError as error:
            return str(error)
        return None

    def revision(self) -> int | None:
        """Return the revision of the network model."""
        return int(_extension().MODEL_REVISION)

    def compiler(self) -> str | None:
        """Return the compiler that built the extension."""
        return getattr(_extension(), "COMPILER", None)

    def builder(self) -> str:
        """Return what built the extension: CMake, or the package of Spack that it came with."""
        return spack.origin(Path(str(_extension().__file__))) or spack.CMAKE

    def build(self) -> str:
        """Return 16 hex digits that tell this build of the extension from any other."""
        return _digest(Path(str(_extension().__file__)))

    def refusal(self, point: Point) -> None:
        """Return None: points describe what the simulator can do."""

    def run(self, point: Point) -> dict[str, Any]:
        """Simulate a point; see :class:`tramontane.substrates.Substrate`.

        ``threads`` says how many were used: one where the model, the routing or the cutting short of repeats allows no
        more.
        """
        if is_search(point):
            known = point.network.model == "default"
            return search(point, self._run, earliest_ends if known else None)
        return self._run(point)

    def _run(self, point: Point, *limit: Any) -> dict[str, Any]:
        """Simulate a point that names its radix; `limit` is what a search gives."""
        return {
            "substrate": self.name,
            **_extension().simulate(point.canonical(), self._threads, *limit),
            "imbalance": point.imbalance,
            "model_revision": self.revision(),
        }


def earliest_ends(point: Point) -> tuple[list[float], list[float]]:
    """Return lower bounds of the ends of a point's repeats; see :data:`tramontane.substrates.search.EarliestEnds`."""
    first, last = _extension().earliest_ends(point.canonical())
    return first, last


def schedule(workload: Workload, ranks: int) -> Any:
    """Return who sends what to whom in which round of a workload, as every substrate executes it.

    Parameters
    ----------
    workload : Workload
        What is communicated, its decomposition filled in.
    ranks : int
        Number of processes.
    """
    return _extension().schedule.Schedule(workload.canonical(), ranks)


@functools.cache
def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
