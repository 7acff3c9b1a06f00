"""Runs one point by itself, after a look at whether it can be run at all."""

import mmap
import struct
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.study.points.cost import estimate, on_accelerator
from tramontane.study.workloads.jobs import Jobs
from tramontane.substrates import Keeper, Teller, require
from tramontane.substrates.devices import goes_to_accelerator
from tramontane.substrates.isolation import PointError, PointMistakeError, run_forked, run_fresh
from tramontane.support.formatting import about_bytes
from tramontane.support.progress_line import can_change, clock


class TooLargeError(Exception):
    """A point needs more memory than there is; the message is one line."""


def run_file(
    file: Path,
    substrate: str | None = None,
    *,
    memory: int,
    threads: int = 1,
    checkpoint: Path | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Run the point in a file, for a command, and return its identity and its result.

    Parameters
    ----------
    file : Path
        The point.
    substrate : str, optional
        What runs it, instead of what the file says.
    memory : int
        Memory it may take [B].
    threads : int, optional
        Threads that may share the work.
    checkpoint : Path, optional
        Where the run keeps its state, and goes on from if there is one; it goes when the point ends.
    device : str, optional
        What simulates it; see :mod:`tramontane.substrates.devices`.

    Raises
    ------
    InputError
        If the point can't be, also by what only the substrate sees, or its substrate is not there or can't run it.
    TooLargeError
        If it needs more memory.
    PointError
        If it fails.
    """
    if substrate is not None:
        require(substrate)
    point = load_point(file, substrate)
    watch = Watch(point, threads, device)
    run = partial(run_forked, meanwhile=watch)
    return run_point(
        point, file, memory=memory, threads=threads, checkpoint=checkpoint, device=device, tell=watch.tell, run=run
    )


class Watch(AbstractContextManager[Callable[[int], None] | None]):
    """Says meanwhile on a terminal how far the simulation of a point is.

    It can be another process that simulates, forked behind the beginning of the watch. Other substrates have programs,
    whose compilation has a line of its own. Nothing is estimated before the context is entered: whether the point can
    be run at all is looked at first.

    Parameters
    ----------
    point : Point
        The point.
    threads, device
        As in :func:`run_file`.

    Attributes
    ----------
    tell : callable or None
        For the simulator to say how many switches packets have visited; None where nobody sees it.
    """

    def __init__(self, point: Point, threads: int = 1, device: str | None = None) -> None:
        self._point, self._threads, self._device = point, threads, device
        self._line: AbstractContextManager[object] = nullcontext()
        self._wanted = point.substrate == "simulator" and can_change(sys.stderr)
        self._hops = mmap.mmap(-1, 8)  # shared with forks
        self.tell = self._say if self._wanted else None

    def __enter__(self) -> Callable[[int], None] | None:
        if not self._wanted:
            return None
        point = self._point
        cost = estimate(point)
        on_gpu = goes_to_accelerator(point, self._device or "cpu")
        expected = on_accelerator(cost, point.ranks) if on_gpu else cost.seconds / self._threads
        # A search and jobs with their slowdown are several runs; what is steady ends early.
        one_run = not (
            point.workload.is_search or isinstance(point.workload, Jobs) or point.steady.error or point.steady.stages
        )
        share = (lambda: self._visited() / cost.hops) if one_run and cost.hops else None
        self._line = clock("simulating", expected, share)
        self._line.__enter__()
        return self.tell

    def __exit__(self, *raised: Any) -> None:
        self._line.__exit__(*raised)

    def _say(self, hops: int) -> None:
        struct.pack_into("Q", self._hops, 0, hops)

    def _visited(self) -> int:
        return int(struct.unpack_from("Q", self._hops)[0])


def run_point(
    point: Point,
    source: Path,
    *,
    memory: int,
    threads: int = 1,
    checkpoint: Path | None = None,
    device: str | None = None,
    tell: Callable[[int], None] | None = None,
    run: Callable[..., dict[str, Any]] = run_fresh,
) -> dict[str, Any]:
    """Run a point and return its identity and its result.

    Parameters
    ----------
    point : Point
        The point.
    source : Path
        What errors name as the place where the point stands.
    memory, threads, checkpoint, device
        As in :func:`run_file`, and so the errors.
    tell : callable, optional
        Is called with how far the simulator is: how many switches packets have visited.
    run : callable, optional
        Runs it in a process of its own: one of the two ways of :mod:`tramontane.substrates.isolation`.
    """
    chosen = require(point.substrate, threads, device)
    if checkpoint is not None:
        if not isinstance(chosen, Keeper):
            raise InputError("--checkpoint", "", f"substrate {point.substrate}", "substrate simulator")
        chosen = chosen.keeping(checkpoint)
    if tell is not None and isinstance(chosen, Teller):
        chosen = chosen.telling(tell)
    if device not in (None, "cpu") and point.substrate != "simulator":
        raise InputError("--device", "", f"{device} with substrate {point.substrate}", "cpu, or substrate simulator")
    refused = chosen.refusal(point)
    if refused is not None:
        problem = f"found {refused.found!r} for substrate {point.substrate}: {refused.why}"
        raise InputError(source, refused.key, refused.found, refused.allowed, problem=problem)
    # What it takes of a GPU's memory is for the GPU to say.
    if point.substrate == "simulator" and device != "gpu" and (needed := estimate(point).memory_bytes) > memory:
        raise TooLargeError(f"not run: about {about_bytes(needed)} of memory needed, {about_bytes(memory)} there")
    try:
        result = {"id": point.id, **run(point, chosen)}
    except PointMistakeError as error:
        raise error.mistake.at(source) from None
    except PointError as error:
        raise InputError.of_line(source, error) or error from None
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return result
