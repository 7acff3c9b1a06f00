"""Tramontane: the communication of weather and climate models at a million processes, studied on one desktop.

One way through: YAML experiments are expanded into points (:mod:`tramontane.study`), a substrate runs each point once
(:mod:`tramontane.substrates`), records are stored and collated (:mod:`tramontane.results`), and a campaign drives all
of it through Snakemake (:mod:`tramontane.campaign`). Importing this package imports none of them, so that
``tramontane --help`` and the processes that run points start at once.

From Python, :func:`tramontane.simulate` runs a single point (:mod:`tramontane.api`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tramontane.api import Result, simulate

__all__ = ["Result", "__version__", "simulate"]

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import what runs points only when it is asked for."""
    if name in ("Result", "simulate"):
        from tramontane import api  # noqa: PLC0415

        return getattr(api, name)
    raise AttributeError(f"module 'tramontane' has no attribute {name!r}")
