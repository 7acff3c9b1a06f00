"""What simulates a point: the engine for processors, or that for accelerators; results are the same to the last bit."""

import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from tramontane.errors import InputError, Line
from tramontane.extension import simulator

if TYPE_CHECKING:  # for the command line asks here what options may say, and is to start quickly
    from tramontane.study.points.points import Point

#: ``cpu``: the engine for processors. ``gpu``: the first accelerator; what it can't do is refused. ``auto``: that where
#: it is likely to be faster, and there is one that can do the point. ``host``: the engine for accelerators, on threads.
DEVICES = ("cpu", "gpu", "auto", "host")

#: Those that simulate many small points at once.
GATHERING = ("gpu", "host")

#: Says which, where no option does: for the commands that a campaign starts.
VARIABLE = "TRAMONTANE_DEVICE"

#: Ranks from which an accelerator is likely to be faster than a core: at 10^3 they are alike (docs/performance.md).
LEAST_RANKS = 30_000

#: How an error begins that is the accelerator's own, and not the point's.
_FAILED = "device: the accelerator's driver says: "


def chosen() -> str:
    """Return what the environment asks for.

    Raises
    ------
    InputError
        If that is none of :data:`DEVICES`.
    """
    device = os.environ.get(VARIABLE) or "cpu"
    if device not in DEVICES:
        raise InputError(VARIABLE, "", device, ", ".join(DEVICES))
    return device


def of_campaign(nodes_have_one: bool | None = None, asked: str | None = None) -> str:
    """Return what a campaign shares its points out to: what it is asked for; no accelerator where none is.

    Parameters
    ----------
    nodes_have_one : bool, optional
        Whether nodes of the cluster that it runs on have accelerators; by default this machine is asked.
    asked : str, optional
        One of :data:`DEVICES`, as the option ``--device`` says; by default what the environment asks for.

    Raises
    ------
    InputError
        If it asks for an accelerator that is not there; before anything is run.
    """
    device = asked or chosen()
    if device not in ("gpu", "auto"):
        return device
    if nodes_have_one is None:
        lacking = _lacking_here()
    else:
        lacking = None if nodes_have_one else ("no node of the partition has a GPU, says sinfo", "cpu, auto")
    if lacking is not None and device == "gpu":
        problem, allowed = lacking
        raise InputError("--device" if asked else VARIABLE, "", device, allowed, problem=problem)
    return device if lacking is None else "cpu"


def _lacking_here() -> tuple[str, str] | None:
    """Return why this machine has no accelerator, and what is allowed instead; None if it has one.

    A fork asks: a library that is cut off, as by a full disk, ends who loads it.
    """
    from tramontane.substrates.isolation import ended_by_signal, forked, what_went_wrong  # noqa: PLC0415

    extension = simulator()

    def ask(stream: BinaryIO) -> None:
        try:
            extension.accelerator()
        except Exception as error:
            stream.write(what_went_wrong(error).encode())

    said, status = forked(ask, lambda stream: stream.read().decode())
    if status != 0:
        end = ended_by_signal(-status) if status < 0 else f"its process ended with status {status}"
        said = f"asking its library: {end}; make setup GPU=1 builds it again"
    if not said:
        return None
    line = Line.of(ValueError(said))
    return (f"found 'gpu' ({said})", "cpu, host") if line is None else (line.found, line.allowed)


def goes_to_accelerator(point: "Point", device: str) -> bool:
    """Return whether a campaign leaves a point to an accelerator.

    One that it can't do is refused there, or with ``auto`` run by the processor beside it.
    """
    likely = device == "gpu" or (device == "auto" and point.ranks >= LEAST_RANKS)
    return likely and point.substrate == "simulator"


def simulate(
    extension: ModuleType, device: str, point: dict[str, Any], threads: int, *limit: Any, **how: Any
) -> dict[str, Any]:
    """Simulate a point, as the extension's ``simulate``, and say as ``engine`` what did.

    Raises
    ------
    ValueError
        If the device can't do it, but for ``auto``, which takes the processor then.
    RuntimeError
        If the run fails. Where it is the device that does, ``auto`` says so and takes the processor.
    """
    if device != "auto":
        return {**extension.simulate(point, threads, *limit, **how, device=device), "engine": device}
    if point["ranks"] >= LEAST_RANKS:
        try:
            return {**extension.simulate(point, threads, *limit, **how, device="gpu"), "engine": "gpu"}
        except ValueError as error:
            if not str(error).startswith("device: "):
                raise
        except RuntimeError as error:
            if not str(error).startswith(_FAILED):
                raise
            print(f"{error}; a processor takes the point", file=sys.stderr, flush=True)
    return {**extension.simulate(point, threads, *limit, **how), "engine": "cpu"}
