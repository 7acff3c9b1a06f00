"""What statistics of a point cost: ``python -m benchmarks.statistics POINT.yaml [--runs 9]``.

Runs take turns, so that what else the machine does hits all alike, and each has a process of its own, as points have:
memory that another run has left is no help. Printed is processor time over that of the same point without statistics:
the median of all turns.
"""

import argparse
import multiprocessing
import statistics
import time
from pathlib import Path
from typing import Any

from tramontane import _simulator
from tramontane.study import load_point
from tramontane.substrates.simulator import as_simulated
from tramontane.support.tables import table

CASES: dict[str, dict[str, Any]] = {
    "none": {},
    "links: by-class": {"links": "by-class"},
    "links: by-class, bins: 64": {"links": "by-class", "bins": 64},
    "links: hottest, bins: 64": {"links": "hottest", "bins": 64},
    "waiting: 512": {"waiting": 512},
}
TOLD = list(range(64))
"""Ranks of the timeline."""


def measured(point: dict[str, Any], runs: int) -> list[tuple[str, str, str]]:
    """Return a row for each case: what is counted, processor time [s] and its ratio to that of none."""
    times: dict[str, list[float]] = {}
    for _ in range(runs):
        for name, asked in CASES.items():
            times.setdefault(name, []).append(
                _time(point | ({"statistics": {"congestion": 0} | asked} if asked else {}))
            )
        times.setdefault("timeline of 64 ranks", []).append(_time(point, timeline=TOLD))
    ratios = {
        name: [own / plain for own, plain in zip(each, times["none"], strict=True)] for name, each in times.items()
    }
    return [
        (name, f"{statistics.median(times[name]):.3f} s", f"{statistics.median(ratios[name]):.3f}") for name in times
    ]


def _time(point: dict[str, Any], **how: Any) -> float:
    with multiprocessing.get_context("fork").Pool(1) as alone:
        return alone.apply(_time_here, (point, how))


def _time_here(point: dict[str, Any], how: dict[str, Any]) -> float:
    begun = time.process_time()
    _simulator.simulate(point, **how)
    return time.process_time() - begun


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("point", type=Path, help="a point without statistics, of 64 ranks or more")
    parser.add_argument("--runs", type=int, default=9, help="turns; default: 9")
    options = parser.parse_args()
    point = as_simulated(load_point(options.point))
    point.pop("statistics", None)
    print(table(("statistics", "processor time", "over none"), measured(point, options.runs)))


if __name__ == "__main__":
    main()
