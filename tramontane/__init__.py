"""Tramontane: the communication of weather and climate models at a million processes, studied on one desktop.

One way through: YAML experiments are expanded into points (:mod:`tramontane.study`), a substrate runs each point once
(:mod:`tramontane.substrates`), records are stored and collated (:mod:`tramontane.results`), and a campaign drives all
of it through Snakemake (:mod:`tramontane.campaign`). Importing this package imports none of them, so that
``tramontane --help`` and the processes that run points start at once.

From Python, :func:`tramontane.simulate` runs a single point (:mod:`tramontane.api`), or raises one of the errors below.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_MODULES = {
    "InputError": "tramontane.errors",
    "PointError": "tramontane.substrates.isolation",
    "Result": "tramontane.api",
    "TooLargeError": "tramontane.substrates.single",
    "simulate": "tramontane.api",
}
__all__ = tuple(_MODULES)  # what `help(tramontane)` shows


def __getattr__(name: str) -> Any:
    """Import what runs points only when it is asked for; no file depends on it for that (`support/imports.py`)."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'tramontane' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Name what is not imported yet, too, so that notebooks complete it."""
    return sorted({*globals(), *_MODULES})
