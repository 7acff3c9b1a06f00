"""What statistics of a point cost: ``python -m benchmarks.statistics POINT.yaml [--runs 9]``.

Runs take turns, every other one backwards, so that what else the machine does hits all alike, and what the run before
has left. Each has a process of its own, as points have. Printed is processor time, and what of it is not the system's,
over that of the same point without statistics: the median of all turns. Most of what the system does is to give memory,
which takes more or less time from run to run.
"""

import argparse
import multiprocessing
import resource
import statistics
from collections.abc import Callable
from functools import partial
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
Times = tuple[float, float]
"""Processor time, and what of it is not the system's [s]."""


def measured(point: dict[str, Any], runs: int) -> list[tuple[str, ...]]:
    """Return a row for each case: what is counted; processor time [s], and over none's; the same of the user's."""
    cases: dict[str, Callable[[], Times]] = {
        name: partial(_times, point | ({"statistics": {"congestion": 0} | asked} if asked else {}))
        for name, asked in CASES.items()
    }
    cases["timeline of 64 ranks"] = partial(_times, point, timeline=TOLD)
    times: dict[str, list[Times]] = {name: [] for name in cases}
    for turn in range(runs):
        for name in list(cases)[:: 1 if turn % 2 == 0 else -1]:
            times[name].append(cases[name]())
    return [(name, *_of(each, times["none"], 0), *_of(each, times["none"], 1)) for name, each in times.items()]


def _of(times: list[Times], plain: list[Times], which: int) -> tuple[str, str]:
    """Return the median of one of the times, and that of its ratio to that of the same turn's plain run."""
    ratios = [own[which] / other[which] for own, other in zip(times, plain, strict=True)]
    return f"{statistics.median(each[which] for each in times):.3f} s", f"{statistics.median(ratios):.3f}"


def _times(point: dict[str, Any], **how: Any) -> Times:
    with multiprocessing.get_context("fork").Pool(1) as alone:
        return alone.apply(_times_here, (point, how))


def _times_here(point: dict[str, Any], how: dict[str, Any]) -> Times:
    begun = resource.getrusage(resource.RUSAGE_SELF)
    _simulator.simulate(point, **how)
    ended = resource.getrusage(resource.RUSAGE_SELF)
    user = ended.ru_utime - begun.ru_utime
    return user + ended.ru_stime - begun.ru_stime, user


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("point", type=Path, help="a point without statistics, of 64 ranks or more")
    parser.add_argument("--runs", type=int, default=9, help="turns; default: 9")
    options = parser.parse_args()
    point = as_simulated(load_point(options.point))
    point.pop("statistics", None)
    columns = ("statistics", "processor time", "over none", "of it the user's", "over none")
    print(table(columns, measured(point, options.runs)))


if __name__ == "__main__":
    main()
