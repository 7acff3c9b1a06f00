"""Runs one point by itself, after a look at whether it can be run at all."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.study.points.cost import estimate, on_accelerator
from tramontane.substrates import Keeper, require
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
    run = partial(run_forked, meanwhile=while_simulated(point, threads, device))
    return run_point(point, file, memory=memory, threads=threads, checkpoint=checkpoint, device=device, run=run)


@contextmanager
def while_simulated(point: Point, threads: int = 1, device: str | None = None) -> Iterator[None]:
    """Say meanwhile on a terminal how long a point has been simulated, and is expected to be.

    Other substrates have programs, whose compilation has a line of its own. Nothing is estimated before that: whether
    the point can be run at all is looked at first.
    """
    if point.substrate != "simulator" or not can_change(sys.stderr):
        yield
        return
    cost = estimate(point)
    on_gpu = goes_to_accelerator(point, device or "cpu")
    with clock("simulating", on_accelerator(cost, point.ranks) if on_gpu else cost.seconds / threads):
        yield


def run_point(
    point: Point,
    source: Path,
    *,
    memory: int,
    threads: int = 1,
    checkpoint: Path | None = None,
    device: str | None = None,
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
    run : callable, optional
        Runs it in a process of its own: one of the two ways of :mod:`tramontane.substrates.isolation`.
    """
    chosen = require(point.substrate, threads, device)
    if checkpoint is not None:
        if not isinstance(chosen, Keeper):
            raise InputError("--checkpoint", "", f"substrate {point.substrate}", "substrate simulator")
        chosen = chosen.keeping(checkpoint)
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
