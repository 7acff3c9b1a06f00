"""Checks of curves. Each takes bands and says by which margin something holds, with the numbers that say so.

A curve lies above another where their bands don't overlap, or where the ratio of their medians is larger than either
band is wide. What holds at most process counts holds; how many that are is a number of
``configs/claims/judgement.yaml``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from tramontane.claims.bands import Band, Floats, common, part
from tramontane.claims.margins import LOG_RATIO, RADIX, SHARE, SLOPE, Margin, at_most_places, least, log_ratio, within
from tramontane.claims.outcome import Lacking, Outcome, Span
from tramontane.study.experiments.claims import Range
from tramontane.support.formatting import count, difference, percent, plural, rounded, rounded_seconds
from tramontane.support.interpolation import zero_over_logarithm

Bools = NDArray[np.bool_]

#: Extrapolation beyond the data, as a factor of the process count, that is still told from a trend.
_FARTHEST = 10


def above(upper: Band, lower: Band, by: float = 1) -> Floats:
    """Return by which log ratio `upper` is beyond `by` times `lower` at each process count; both have the same ones."""
    ratio = _quotient(upper.median, lower.median) / by
    widest = np.maximum(_quotient(upper.high, upper.low), _quotient(lower.high, lower.low))
    return np.asarray(np.fmax(log_ratio(upper.low, by * lower.high), log_ratio(ratio, widest)))


def _quotient(first: Floats, second: Floats) -> Floats:
    """Return first over second; times of 0, as of one process, are equal, and any other is infinitely longer."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(first == second, 1.0, first / second))


def _above_zero(own: Band) -> Band:
    """Return a curve where it has a logarithm: a time of 0 has no slope."""
    return own.at(own.x[own.low > 0])


def _ends(own: Band) -> tuple[float, float]:
    """Return the first and the last process count of a curve."""
    return float(own.x[0]), float(own.x[-1])


def overlapping(first: Band, second: Band) -> Bools:
    """Return at which process counts the bands of two curves overlap."""
    return np.asarray((first.low <= second.high) & (second.low <= first.high))


def trend(curve: Band, way: str, span: Span, most: float) -> Outcome:
    """Whether a curve falls or rises from its first to its last process count, and so does most of its steps."""
    own = part(curve, span._replace(least=2))
    first, last = own.at(own.x[:1]), own.at(own.x[-1:])
    high, low = (first, last) if way == "falls" else (last, first)
    begin, end = own.at(own.x[:-1]), own.at(own.x[1:])
    against = above(end, begin) if way == "falls" else above(begin, end)
    margin = least(
        [
            Margin(float(above(high, low)[0]), LOG_RATIO, _ends(own)),
            Margin(at_most_places(-against, most), LOG_RATIO, _ends(own), inclusive=True),
        ]
    )
    times = [rounded_seconds(own.median[end]) for end in (0, -1)]
    evidence = (
        f"{own.name}: {times[0]} at {count(own.x[0])} processes, {times[1]} at "
        f"{count(own.x[-1])}; {int((against > 0).sum())} of {against.size} steps go the other way{_gaps(own)}"
    )
    return Outcome(margin, evidence, int(overlapping(first, last)[0]), 1)


def slower(upper: Band, lower: Band, by: float, span: Span, most: float) -> Outcome:
    """Whether a curve lies above another, by a factor if one is given, at most process counts."""
    first, second = common(upper, lower, span)
    margins = above(first, second, by)
    found = np.asarray(margins > 0)
    shared = overlapping(first, second)
    much = f"{rounded(by)} times slower" if by != 1 else "slower"
    evidence = (
        f"{first.name} over {second.name}: {_ratios(first, second)}; {much} at {_of(found)} process counts"
        f"{_except(first.x, found)}{_gaps(first, second)}"
    )
    margin = Margin(at_most_places(margins, most), LOG_RATIO, _ends(first))
    return Outcome(margin, evidence, int(shared.sum()), shared.size)


def coincide(curves: Sequence[Band], near: float, span: Span, most: float) -> Outcome:
    """Whether curves lie on one another: medians as near as `near`, or bands that overlap, at most counts."""
    outcomes, margins = [], []
    for one, other in combinations(curves, 2):
        first, second = common(one, other, span)
        ratio = _quotient(np.maximum(first.median, second.median), np.minimum(first.median, second.median))
        distance = ratio - 1
        overlap = np.minimum(_quotient(second.high, first.low), _quotient(first.high, second.low)) - 1
        places = np.fmax(1 + near - ratio, overlap)  # 1.1 is 10 % more than 1, though 1.1 - 1 is rounded to more
        found = np.asarray(places >= 0)
        shared = overlapping(first, second)
        margins.append(Margin(at_most_places(places, most), SHARE, _ends(first), inclusive=True))
        evidence = (
            f"{first.name} and {second.name}: {percent(float(np.median(distance)))} apart in the median, at most "
            f"{percent(float(distance.max()))} (at {count(first.x[distance.argmax()])} processes); together at "
            f"{_of(found)} process counts{_gaps(first, second)}"
        )
        outcomes.append(Outcome(margins[-1], evidence, int((shared & (distance > near)).sum()), shared.size))
    return Outcome(
        least(margins),
        "; ".join(outcome.evidence for outcome in outcomes),
        sum(outcome.fragile for outcome in outcomes),
        sum(outcome.compared for outcome in outcomes),
    )


def apart(upper: Band, lower: Band, ratio: Range, span: Span, *, every: bool = False) -> Outcome:
    """Whether the largest ratio of two curves lies in a range; with `every` the smallest, too."""
    first, second = common(upper, lower, span)
    ratios = _quotient(first.median, second.median)
    ends = {"at most": int(ratios.argmax())} | ({"at least": int(ratios.argmin())} if every else {})
    inside = min(within(float(ratios[place]), ratio, logarithmic=True) for place in ends.values())
    margin = Margin(inside, LOG_RATIO, _ends(first), inclusive=True)
    told = (f"{word} {rounded(ratios[place])} (at {count(first.x[place])} processes)" for word, place in ends.items())
    evidence = f"{first.name} over {second.name} {' and '.join(told)}; stated {_range(ratio)}{_gaps(first, second)}"
    low, high = _quotient(first.low, second.high), _quotient(first.high, second.low)
    edges = [edge for edge in ratio if edge is not None]
    fragile = [any(low[place] <= edge <= high[place] for edge in edges) for place in ends.values()]
    return Outcome(margin, evidence, sum(fragile), len(fragile))


def closing(upper: Band, lower: Band, span: Span) -> Outcome:
    """Whether the ratio of two curves comes closer to 1 from the first process count to the last."""
    first, second = common(_above_zero(upper), _above_zero(lower), span._replace(least=2))
    ratios = np.abs(np.log(first.median / second.median))
    spread = np.log(first.high / first.low) + np.log(second.high / second.low)
    wide = (spread[0] + spread[-1]) / 2
    margin = Margin(float(ratios[0] - ratios[-1] - wide), LOG_RATIO, _ends(first))
    evidence = (
        f"{first.name} over {second.name}: {rounded(first.median[0] / second.median[0])} at {count(first.x[0])} "
        f"processes, {rounded(first.median[-1] / second.median[-1])} at {count(first.x[-1])}{_gaps(first, second)}"
        f"{_zeros(span, upper, lower)}"
    )
    return Outcome(margin, evidence, int(abs(ratios[0] - ratios[-1]) <= wide), 1)


def shallower(upper: Band, lower: Band, span: Span) -> Outcome:
    """Whether a curve falls less steeply than another, from the first common process count to the last."""
    first, second = common(_above_zero(upper), _above_zero(lower), span._replace(least=2))
    slopes = [_slope(own) for own in (first, second)]
    (own_low, own, own_high), (other_low, other, other_high) = slopes
    evidence = (
        f"time of {first.name} goes with P to the power {own:.2f}, of {second.name} to {other:.2f}, from "
        f"{count(first.x[0])} to {count(first.x[-1])} processes{_gaps(first, second)}{_zeros(span, upper, lower)}"
    )
    fragile = own_low <= other_high and other_low <= own_high
    return Outcome(Margin(own_low - other_high, SLOPE, _ends(first)), evidence, int(fragile), 1)


def _slope(own: Band) -> tuple[float, float, float]:
    """Return the least, the median and the largest power of P that a curve's ends allow."""
    length = float(np.log(own.x[-1] / own.x[0]))
    return (
        float(np.log(own.low[-1] / own.high[0])) / length,
        float(np.log(own.median[-1] / own.median[0])) / length,
        float(np.log(own.high[-1] / own.low[0])) / length,
    )


def jump(curve: Band, by: float, span: Span) -> Outcome:
    """Whether a curve rises by a factor from one process count to another further up within a range."""
    own = part(_above_zero(curve), span._replace(least=2))
    rises = [(own.median[j] / own.median[i], i, j) for i in range(own.x.size - 1) for j in range(i + 1, own.x.size)]
    ratio, i, j = max(rises)
    start, end = own.at(own.x[i : i + 1]), own.at(own.x[j : j + 1])
    low, high = (rounded_seconds(own.median[index]) for index in (i, j))
    evidence = (
        f"{own.name} rises most from {low} at {count(own.x[i])} to {high} at "
        f"{count(own.x[j])} processes, a factor of {rounded(ratio)} (stated: abruptly, read as {rounded(by)} or more)"
        f"{_gaps(own)}{_zeros(span, curve)}"
    )
    margin = Margin(float(above(end, start, by)[0]), LOG_RATIO, _ends(own))
    return Outcome(margin, evidence, int(overlapping(start, end)[0]), 1)


def meets(rising: Band, falling: Band, at: float, factor: float, span: Span) -> Outcome:
    """Whether two curves meet within a factor of a process count, in the data or where their last decade points to."""
    first, second = common(_above_zero(rising), _above_zero(falling), span._replace(least=2))
    ratio = np.log(first.median / second.median)
    low, high = first.low / second.high, first.high / second.low
    signs = [index for index, (left, right) in enumerate(pairwise(ratio)) if left < 0 <= right]
    if signs:
        index = signs[-1]
        place = zero_over_logarithm(first.x[index : index + 2], ratio[index : index + 2])
        how = "they meet"
    elif ratio[0] >= 0:
        evidence = f"{first.name} is above {second.name} from {count(first.x[0])} processes on"
        return Outcome(Margin(-float(ratio[0]), LOG_RATIO, _ends(first)), evidence, int(low[0] <= 1), 1)
    else:
        decade = first.x >= first.x[-1] / 10
        growth = float(ratio[-1] - ratio[decade][0])
        if growth <= 0:  # also where the last decade has one process count alone
            evidence = f"{first.name} over {second.name} does not grow in the last decade of processes"
            return Outcome(Margin(growth, LOG_RATIO, _ends(first)), f"{evidence}: {_ratios(first, second)}")
        place = zero_over_logarithm(first.x[decade][[0, -1]], ratio[decade][[0, -1]])
        how = f"by the trend of the last decade (up to {count(first.x[-1])} processes) they would meet"
        if place > _FARTHEST * first.x[-1] and at > first.x[-1] * _FARTHEST:
            near = Span(at / _FARTHEST, math.inf)
            raise Lacking(f"{near} (there: up to {count(first.x[-1])})", (first.name, second.name), near)
    evidence = (
        f"{how} at {rounded(place)} processes; {first.name} over {second.name} is {rounded(np.exp(ratio[-1]))} at "
        f"{count(first.x[-1])}{_gaps(first, second)}{_zeros(span, rising, falling)}"
    )
    fragile = int(low[-1] <= 1 <= high[-1])
    inside = within(place, (at / factor, at * factor), logarithmic=True)
    return Outcome(Margin(inside, LOG_RATIO, _ends(first), inclusive=True), evidence, fragile, 1)


def limit(curve: Band, at: float) -> Outcome:
    """Whether nothing ran beyond a process count; what was not tried beyond it decides nothing."""
    beyond = curve.x[curve.x > at]
    if not beyond.size:
        planned = "planned" if any(x > at for x in curve.lacking) else "not planned"
        raise Lacking(
            f"beyond {count(at)} processes ({planned} at this scale; largest run {count(max(curve.x, default=0.0))})",
            (curve.name,),
            Span(math.nextafter(at, math.inf), math.inf),
        )
    slowest = rounded_seconds(curve.median[-1])
    margin = Margin(float(log_ratio(at, beyond.max())), LOG_RATIO, _ends(curve))
    return Outcome(margin, f"{curve.name} ran with up to {count(beyond.max())} processes (time {slowest})", 0, 0)


def printed(
    curve: Band,
    seconds: Mapping[str, float],
    near: float,
    fitted: Mapping[str, float],
    others: Sequence[tuple[Band, Mapping[str, float]]] = (),
) -> Outcome:
    """Whether a curve has the times that are printed; those to which the machine was fitted are told apart."""
    wanted = {float(ranks): time for ranks, time in seconds.items()}
    lacking = sorted(wanted.keys() - set(curve.x.tolist()))
    if lacking:
        places = Span(lacking[0], lacking[-1])
        raise Lacking(f"at {', '.join(map(count, lacking))} processes", (curve.name,), places)
    own = curve.at(np.array(sorted(wanted)))
    stated = np.array([wanted[x] for x in own.x.tolist()])
    ratio = own.median / stated
    off = ratio - 1
    # Not near - |off|: 1.1 is 10 % more than 1, though 1.1 - 1 is rounded to more.
    inside = min(float((1 + near - ratio).min()), float((ratio - (1 - near)).min()))
    margin = Margin(inside, SHARE, _ends(own), inclusive=True)
    told = _beside(own, wanted)
    for name, band, times in [("", curve, fitted), *((f"{band.name}: ", band, times) for band, times in others)]:
        known = {float(ranks): time for ranks, time in times.items() if float(ranks) in band.x}
        if known:
            told += f"; fitted to {name}{_beside(band.at(np.array(sorted(known))), known)}"
    evidence = f"{own.name}: {told}; stated within {percent(near)}"
    fragile = np.abs(np.array([own.low, own.high]) / stated - 1) > near
    return Outcome(margin, evidence, int((fragile.any(axis=0) & (np.abs(off) <= near)).sum()), off.size)


def _beside(own: Band, wanted: Mapping[float, float]) -> str:
    """Return times beside the printed ones, in words."""
    return ", ".join(
        f"{rounded(time)} s at {count(x)} (printed {rounded(wanted[x])}, {difference(time / wanted[x] - 1)})"
        for x, time in zip(own.x.tolist(), own.median.tolist(), strict=True)
    )


def optimum(curve: Band, statistic: str, value: Range, span: Span) -> Outcome:
    """Whether a statistic of a curve over all its process counts lies in a range."""
    own = part(curve, span)
    statistics: dict[str, Callable[[Floats], float]] = {
        "minimum": lambda values: float(values.min()),
        "maximum": lambda values: float(values.max()),
        "median": lambda values: float(np.median(values)),
        "mean below median by": lambda values: float(np.median(values) - values.mean()),
    }
    found = statistics[statistic](own.median)
    margin = Margin(within(found, value, logarithmic=False), RADIX, _ends(own), inclusive=True)
    evidence = (
        f"{statistic} {rounded(found)} over {own.x.size} process counts from {count(own.x[0])} to {count(own.x[-1])}; "
        f"stated {_range(value)}{_gaps(own)}"
    )
    return Outcome(margin, evidence)


def _ratios(first: Band, second: Band) -> str:
    ratios = _quotient(first.median, second.median)
    if first.x.size == 1:
        return f"{rounded(ratios[0])} at {count(first.x[0])} processes"
    ends, middle = f"{count(first.x[0])} to {count(first.x[-1])}", rounded(float(np.median(ratios)))
    return f"{rounded(ratios.min())} to {rounded(ratios.max())}, median {middle}, at {ends} processes"


def _range(bounds: Range) -> str:
    first, last = bounds
    if first is not None and first == last:
        return rounded(first)
    if first is None:
        return f"at most {rounded(last or 0)}"
    return f"at least {rounded(first)}" if last is None else f"{rounded(first)} to {rounded(last)}"


def _of(found: Bools) -> str:
    return f"{int(found.sum())} of {found.size}"


def _except(x: Floats, found: Bools) -> str:
    """Return the process counts at which something does not hold, if they are few."""
    against = x[~found]
    if not against.size or not found.any():
        return ""
    some = ", ".join(count(place) for place in against[:5])
    return f" (not at {some}{', ...' if against.size > 5 else ''})"


def _gaps(*curves: Band) -> str:
    """Return how many process counts of the experiment lack a result."""
    lacking = sorted({place for own in curves for place in own.lacking})
    return f"; without a result at {plural(len(lacking), 'process count')}" if lacking else ""


def _zeros(span: Span, *curves: Band) -> str:
    """Return at how many process counts that are meant a time of 0 was left out."""
    zero = {place for own in curves for place in own.inside(span).x[own.inside(span).low == 0].tolist()}
    return f"; left out for a time of 0 at {plural(len(zero), 'process count')}" if zero else ""
