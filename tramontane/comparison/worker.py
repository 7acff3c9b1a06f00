"""Runs points in a small process that does nothing else; what each core of a comparison is given."""

import signal
from typing import Any

from tramontane.study.points import Point
from tramontane.substrates import get, require
from tramontane.substrates.isolation import PointError, run_forked
from tramontane.support.processes import end_with_parent


def prepare() -> None:
    """Leave interruptions to the process that started this one, end with it, and load the simulator for all points."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent(signal.SIGKILL)
    require("simulator")


def work(point: Point) -> dict[str, Any]:
    """Return ``{"result": ...}`` of a point, or ``{"error": message}``."""
    try:
        return {"result": run_forked(point, get(point.substrate))}
    except PointError as error:
        return {"error": str(error)}
