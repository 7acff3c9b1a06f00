"""Runs points in a small process that does nothing else; what each core of a comparison is given."""

from typing import Any

from tramontane.study.points.points import Point
from tramontane.substrates import get, require
from tramontane.substrates.isolation import PointError, run_forked


def prepare() -> None:
    """Load the simulator for all points."""
    require("simulator")


def work(point: Point) -> dict[str, Any]:
    """Return ``{"result": ...}`` of a point, or ``{"error": message}``."""
    try:
        return {"result": run_forked(point, get(point.substrate))}
    except PointError as error:
        return {"error": str(error)}
