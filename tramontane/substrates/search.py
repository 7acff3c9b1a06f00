"""Finds the radix with which an allreduce is fastest, without running those that cannot be it.

Zheng & Marguinaud (2018, section 4.4) run every radix from 2 to 32 at each number of processes. Where a substrate knows
a lower bound of a point's time, a radix whose bound is above the best time found so far cannot be the best, and is not
run. The radices are tried in the order of their bounds, so that the best one usually comes first.
"""

from collections.abc import Callable
from typing import Any

Point = dict[str, Any]
Result = dict[str, Any]

#: What stands in a point for the radix that is searched.
OPTIMAL = "optimal"

#: Repeats for a first, cheap bound; what it excludes needs no better one.
_FEW = 5


def is_search(point: Point) -> bool:
    """Tell whether a point asks for the best radix instead of naming one."""
    return bool(point["workload"].get("radix") == OPTIMAL)


def search(
    point: Point, run: Callable[[Point], Result], earliest_ends: Callable[[Point], tuple[float, float]] | None = None
) -> Result:
    """Run the allreduce of `point` with the radices that could be its best one.

    Parameters
    ----------
    point : dict
        A canonical point whose radix is `OPTIMAL`.
    run : callable
        Runs a canonical point.
    earliest_ends : callable, optional
        Returns for a canonical point how long after the first start the first and the last rank end at the earliest
        [s]. Without it, and where the point says so, every radix is run.

    Returns
    -------
    dict
        The result with the best radix (of equally good ones the smallest), but ``wall_s`` and ``setup_s`` of all runs;
        ``best_radix``; and ``search``: ``tried``, time [s] by radix, and ``excluded``, lower bound [s] by radix.
    """
    first, last = point["workload"]["radices"]
    radices = range(first, last + 1)
    bound = earliest_ends if not point["workload"]["exhaustive"] else None
    bounds = {radix: lower_bound(with_radix(point, radix), bound, _FEW) if bound else 0.0 for radix in radices}
    tried: dict[int, Result] = {}
    least = float("inf")
    for radix in sorted(radices, key=lambda radix: (bounds[radix], radix)):
        if bound and tried and bounds[radix] <= least:
            bounds[radix] = max(bounds[radix], lower_bound(with_radix(point, radix), bound))
        if bounds[radix] <= least:
            tried[radix] = run(with_radix(point, radix))
            most = tried[radix]["time_s"] * (1 + tried[radix].get("steady_error", 0))  # repeats may be cut short
            least = min(least, most)
    best = min(sorted(tried), key=lambda radix: tried[radix]["time_s"])
    return {
        **tried[best],
        "wall_s": sum(result["wall_s"] for result in tried.values()),
        "setup_s": sum(result["setup_s"] for result in tried.values()),
        "best_radix": best,
        "search": {
            "tried": {str(radix): tried[radix]["time_s"] for radix in radices if radix in tried},
            "excluded": {str(radix): bounds[radix] for radix in radices if radix not in tried},
        },
    }


def with_radix(point: Point, radix: int) -> Point:
    """Return the point with a radix in place of the search."""
    workload = {key: value for key, value in point["workload"].items() if key not in ("radices", "exhaustive")}
    return {**point, "workload": {**workload, "radix": radix}}


def lower_bound(point: Point, earliest_ends: Callable[[Point], tuple[float, float]], most: int | None = None) -> float:
    """Return a time that `point` takes at least [s].

    No rank begins one part of the allreduces before the first rank has ended the part before it. So, in parts of `most`
    repeats, each but the last takes the earliest end of a part, and the last one ends with its last rank.
    """
    repeats: int = point["workload"]["repeats"]
    part = min(repeats, most or repeats)
    first, last = earliest_ends({**point, "workload": {**point["workload"], "repeats": part}})
    return (repeats // part - 1) * first + last
