"""Finds the radix with which an allreduce is fastest, without running those that cannot be it.

Zheng & Marguinaud (2018, section 4.4) run every radix from 2 to 32 at each number of processes. Where a substrate knows
a lower bound of a point's time, a radix whose bound is above the best time found so far cannot be the best, and is not
run, and a run ends as soon as the repeats so far and the bound of those to come are above it. What seems best after one
repeat of each promising radix is tried first, so that the others end early. Where repeats may be cut short, and times
are forecasts anyway, radices that seem far slower after one repeat are left out.
"""

from collections.abc import Callable
from typing import Any

from tramontane.study.points.points import Point
from tramontane.study.values.settings import filled
from tramontane.study.workloads.workloads import Allreduce

Result = dict[str, Any]

#: How long after the first start the first rank ends 1, 2, ... repeats of a point, and the last one, at least [s].
EarliestEnds = Callable[[Point], tuple[list[float], list[float]]]

#: Repeats for a first, cheap bound; what it excludes needs no better one.
_FEW = 5

#: Repeats of which one is a small part.
_REHEARSED = 10

#: How much slower than the fastest a radix is in one repeat that can't be the best one in all. docs/model.md has the
#: experience behind it.
_UNLIKELY = 1.25


def search(point: Point, run: Callable[..., Result], earliest_ends: EarliestEnds | None = None) -> Result:
    """Run the allreduce of `point` with the radices that could be its best one.

    Parameters
    ----------
    point : Point
        A point that asks for the best radix instead of naming one.
    run : callable
        Runs a point. Where bounds are known it is also given a time [s], and how long 0, 1, ... repeats take
        at least [s]; when those show that the point takes longer, it may return ``at_least_s``, ``wall_s`` and
        ``setup_s`` instead of a whole result.
    earliest_ends : callable, optional
        Returns the lower bounds of a point. Without it, and where the point says so, every radix is run.

    Returns
    -------
    dict
        The result with the best radix (of equally good ones the smallest), but ``wall_s`` and ``setup_s`` of all runs;
        ``best_radix``; and ``search``: ``tried``, time [s] by radix; ``excluded``, lower bound [s] by radix;
        ``ended_early``, those of the latter that were run in part; ``one_repeat``, its time [s] by radix where it was
        run first; and ``unlikely``, the radices that it left out.
    """
    allreduce = _allreduce(point)
    smallest, largest = filled(allreduce.radices)
    radices = range(smallest, largest + 1)
    bound = None if allreduce.exhaustive else earliest_ends
    bounds = {radix: lower_bound(with_radix(point, radix), bound, _FEW) if bound else 0.0 for radix in radices}
    runs: list[Result] = []

    def counted(chosen: Point, *limit: Any) -> Result:
        runs.append(run(chosen, *limit))
        return runs[-1]

    tried: dict[int, Result] = {}
    ended_early: list[int] = []
    least = float("inf")
    one_repeat = rehearse(point, bounds, counted) if bound else {}
    seeming = {radix: allreduce.repeats * time for radix, time in one_repeat.items()}
    hopeless = _UNLIKELY * min(seeming.values()) if seeming and not point.steady.is_default else float("inf")
    unlikely = [radix for radix in radices if seeming.get(radix, 0.0) > hopeless]
    likely = [radix for radix in radices if radix not in unlikely]
    for radix in sorted(likely, key=lambda radix: (seeming.get(radix, bounds[radix]), radix)):
        chosen = with_radix(point, radix)
        limit: tuple[Any, ...] = ()
        if bound and tried and bounds[radix] <= least:
            _, last = bound(chosen)
            bounds[radix] = max(bounds[radix], last[-1])
            limit = (least, [0.0, *last[:-1]])
        if bounds[radix] > least:
            continue
        result = counted(chosen, *limit)
        if "at_least_s" in result:
            ended_early.append(radix)
            bounds[radix] = result["at_least_s"]
        else:
            tried[radix] = result
            least = min(least, result["time_s"] * (1 + result.get("steady_error", 0)))  # repeats may be cut short
    best = min(sorted(tried), key=lambda radix: tried[radix]["time_s"])
    return {
        **tried[best],
        **{cost: sum(result[cost] for result in runs) for cost in ("wall_s", "setup_s")},
        "best_radix": best,
        "search": {
            "tried": {str(radix): tried[radix]["time_s"] for radix in radices if radix in tried},
            "excluded": {str(radix): bounds[radix] for radix in likely if radix not in tried},
            "ended_early": sorted(ended_early),
            "one_repeat": {str(radix): one_repeat[radix] for radix in sorted(one_repeat)},
            "unlikely": unlikely,
        },
    }


def rehearse(point: Point, bounds: dict[int, float], run: Callable[[Point], Result]) -> dict[int, float]:
    """Return how long one repeat takes [s], by radix; nothing where all repeats are little more.

    Bounds know nothing of contention, which may double the time on a torus; one repeat shows it. Radices whose bounds
    are above what the best one so far seems to take need none.
    """
    allreduce = _allreduce(point)
    repeats = allreduce.repeats
    times: dict[int, float] = {}
    if repeats < _REHEARSED:
        return times
    once = point.changed(workload=allreduce.changed(repeats=1))
    for radix in sorted(bounds, key=lambda radix: (bounds[radix], radix)):
        if times and bounds[radix] > repeats * min(times.values()):
            break
        times[radix] = run(with_radix(once, radix))["time_s"]
    return times


def with_radix(point: Point, radix: int) -> Point:
    """Return the point with a radix in place of the search."""
    return point.changed(workload=_allreduce(point).with_radix(radix))


def lower_bound(point: Point, earliest_ends: EarliestEnds, most: int | None = None) -> float:
    """Return a time that `point` takes at least [s].

    No rank begins one part of the allreduces before the first rank has ended the part before it. So, in parts of `most`
    repeats, each but the last takes the earliest end of a part, and the last one ends with its last rank.
    """
    allreduce = _allreduce(point)
    repeats = allreduce.repeats
    part = min(repeats, most or repeats)
    first, last = earliest_ends(point.changed(workload=allreduce.changed(repeats=part)))
    return (repeats // part - 1) * first[-1] + last[-1]


def _allreduce(point: Point) -> Allreduce:
    if not isinstance(point.workload, Allreduce):
        raise TypeError(f"a search of the radix of a {point.workload.kind}")
    return point.workload
