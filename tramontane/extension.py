"""The compiled extension, which holds the simulator, the schedules and what there is to know about networks."""

import functools
import importlib
from types import ModuleType

from tramontane.errors import InputError

REMEDY = "make setup"


@functools.cache
def simulator() -> ModuleType:
    """Return ``tramontane._simulator``.

    Raises
    ------
    InputError
        If it can't be loaded, with what builds it.
    """
    try:
        return importlib.import_module("tramontane._simulator")
    except ImportError as error:
        raise InputError(
            "tramontane", "_simulator", None, f"what this builds: {REMEDY}", problem=f"can't be loaded ({error})"
        ) from error
