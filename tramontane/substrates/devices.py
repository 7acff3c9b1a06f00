"""What simulates a point: the engine for processors, or that for accelerators; results are the same to the last bit."""

import os
import re
from types import ModuleType
from typing import Any

from tramontane.errors import InputError
from tramontane.extension import simulator

#: ``cpu``: the engine for processors. ``gpu``: the first accelerator; what it can't do is refused. ``auto``: that where
#: it is likely to be faster, and there is one that can do the point. ``host``: the engine for accelerators, on threads.
DEVICES = ("cpu", "gpu", "auto", "host")

#: Says which, where no option does: for the commands that a campaign starts.
VARIABLE = "TRAMONTANE_DEVICE"

#: Ranks from which an accelerator is likely to be faster than a core: at 10^4 they are alike (docs/performance.md).
LEAST_RANKS = 30_000


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


def asked() -> None:
    """Refuse a campaign on an accelerator that this machine has not, before anything is run (InputError)."""
    if chosen() != "gpu":
        return
    try:
        simulator().accelerator()
    except ValueError as error:
        told = re.fullmatch(r"device: (?P<found>.*), allowed: (?P<allowed>.*)", str(error), re.DOTALL)
        if told is None:
            raise
        raise InputError(VARIABLE, "", "gpu", told["allowed"], problem=told["found"]) from None


def simulate(extension: ModuleType, device: str, point: dict[str, Any], threads: int, *limit: Any) -> dict[str, Any]:
    """Simulate a point, as the extension's ``simulate``, and say as ``engine`` what did.

    Raises
    ------
    ValueError
        If the device can't do it, but for ``auto``, which takes the processor then.
    """
    if device != "auto":
        return {**extension.simulate(point, threads, *limit, device=device), "engine": device}
    if point["ranks"] >= LEAST_RANKS:
        try:
            return {**extension.simulate(point, threads, *limit, device="gpu"), "engine": "gpu"}
        except ValueError as error:
            if not str(error).startswith("device: "):
                raise
    return {**extension.simulate(point, threads, *limit), "engine": "cpu"}
