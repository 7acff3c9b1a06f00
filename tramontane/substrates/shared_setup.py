"""Set-up information of all processes in one segment of shared memory (Zheng & Marguinaud 2018, section 2.3).

What a process has to know of all others in order to talk to them is the same for all: 10^2 bytes of each of 10^5
processes are a terabyte if each keeps its own. So this program makes it, before the simulation and outside of it, in a
POSIX segment that every process of the host attaches once, however many processes it simulates.

Schedules of regular decompositions are formulas and need none; a bisection has lists of neighbours.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory

from tramontane.study.points.points import Point


@contextmanager
def shared_setup(point: Point) -> Iterator[str | None]:
    """Provide the segment of a point for the time of a simulation.

    Yields
    ------
    str or None
        Its name, or None where nothing is to be shared.
    """
    table = point.workload.setup(point.ranks)
    if not table:
        yield None
        return
    segment = SharedMemory(create=True, size=len(table))
    try:
        if segment.buf is not None:  # it is, until closed
            segment.buf[: len(table)] = table
        yield f"/{segment.name}"
    finally:
        segment.close()
        segment.unlink()
