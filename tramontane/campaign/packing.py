"""Shares points among jobs.

A job of the workflow costs seconds of its own, here and far more on a batch system, so a job is a batch of points: ten
thousand points make about a hundred jobs. Batches are sized by estimated cost and never by count, since points of one
experiment differ by factors of a thousand.
"""

import hashlib
import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass

from tramontane.study.points.points import MEASURED, Point, SystemChoice

#: Number of batches that a large campaign is divided into.
BATCHES = 100
#: Cost below which a batch is not worth a job of its own [s].
SMALLEST = 20.0
#: The same of a GPU, which simulates some hundred small points at once [s].
SMALLEST_ON_GPU = 200.0
#: Batches for each core, at least, so that no core waits long for the last one.
PER_CORE = 4
#: What a job costs of its own, here [s]: so much less than that is no reason for another one.
OWN = 1.0


@dataclass(frozen=True)
class Job:
    """A point that is to be run, with its estimated cost.

    Parameters
    ----------
    identity : str
        Identity of the point.
    point : Point
        The point.
    seconds : float
        Estimated processor time [s].
    memory : int
        Estimated peak of memory [B].
    gpu_memory : int
        Estimated memory of the GPU that it is left to [B]; the time is then that of the GPU. 0: it is left to none.
    """

    identity: str
    point: Point
    seconds: float
    memory: int
    gpu_memory: int = 0

    @property
    def on_gpu(self) -> bool:
        """Whether it is left to a GPU."""
        return self.gpu_memory > 0


@dataclass(frozen=True)
class Batch:
    """Points that one job of the workflow runs, one after the other."""

    jobs: tuple[Job, ...]

    @property
    def identity(self) -> str:
        """Hash of the points' identities: the same points always make the same batch."""
        return hashlib.sha256(" ".join(job.identity for job in self.jobs).encode()).hexdigest()[:16]

    @property
    def measured(self) -> bool:
        """Whether its points run on a real machine, where nothing else is to run meanwhile."""
        return any(job.point.substrate == MEASURED for job in self.jobs)

    @property
    def on_gpu(self) -> bool:
        """Whether its points are left to a GPU."""
        return any(job.on_gpu for job in self.jobs)

    @property
    def seconds(self) -> float:
        """Estimated time of all its points on a core, or on a GPU [s]."""
        return sum(job.seconds for job in self.jobs)

    @property
    def memory(self) -> int:
        """Estimated peak of memory [B]: that of the largest point, since they run one after the other."""
        return max(job.memory for job in self.jobs)


def number_of_batches(costs: Sequence[float], cores: int, smallest: float = SMALLEST) -> int:
    """Return how many batches points of these costs [s] make on so many cores; below `smallest` [s] none pays."""
    total = sum(costs)
    target = max(total / BATCHES, smallest)
    even = min(PER_CORE * cores, max(cores, math.ceil(total / OWN)))
    return min(len(costs), max(math.ceil(total / target), even))


def pack_all(jobs: Sequence[Job], cores: int) -> list[Batch]:
    """Share `jobs` among batches of points simulated on cores, on GPUs, and measured on one system; see `pack`."""
    groups: dict[tuple[SystemChoice | None, bool], list[Job]] = {}  # simulated points name no system
    for job in jobs:
        groups.setdefault((job.point.system, job.on_gpu), []).append(job)
    batches = []
    for (system, on_gpu), members in groups.items():
        # What is measured, or has a machine's GPU, runs one after the other: more batches would gain nothing.
        batches += pack(members, 0 if system or on_gpu else cores, SMALLEST_ON_GPU if on_gpu else SMALLEST)
    return sorted(batches, key=_order)


def _order(batch: Batch) -> tuple[float, str]:
    return -batch.seconds, batch.identity


def pack(jobs: Sequence[Job], cores: int, smallest: float = SMALLEST) -> list[Batch]:
    """Share `jobs` among batches of about equal cost; for `smallest` see `number_of_batches`.

    Longest points first, each to the batch that has least so far (Graham's rule); a point that is longer than a batch
    should be gets one of its own that way. Within a batch the longest point comes first too.

    Returns
    -------
    list of Batch
        The most expensive first: started in that order, they end at about the same time.
    """
    ordered = sorted(jobs, key=lambda job: (-job.seconds, job.identity))
    bins: list[list[Job]] = [[] for _ in range(number_of_batches([job.seconds for job in jobs], cores, smallest))]
    loads = [(0.0, 0, index) for index in range(len(bins))]
    for job in ordered:
        # The number of points breaks ties of the load, so that free points spread evenly too.
        load, count, index = heapq.heappop(loads)
        bins[index].append(job)
        heapq.heappush(loads, (load + job.seconds, count + 1, index))
    return sorted((Batch(tuple(members)) for members in bins), key=_order)
