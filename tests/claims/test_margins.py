"""The sign of a margin is the verdict, as the statement's own comparison gives it, whatever the data."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tramontane.claims import comparisons, distributions
from tramontane.claims.bands import Band
from tramontane.claims.margins import SHARE, Margin, at_most_places, least, log_ratio
from tramontane.claims.outcome import Outcome, Span
from tramontane.claims.verdicts import ChoiceVerdict, Verdict

from .data import COUNTS, curve

MOST = 0.75
ALL = Span(1, math.inf)

#: Few values, so that equal ones, where a verdict turns, are frequent.
_VALUES = st.sampled_from([0.5, 1.0, 1.1, 1.1000000000000003, 1.5, 2.0, 3.0]) | st.floats(0.1, 10)


@st.composite
def bands(draw: st.DrawFn) -> Band:
    """Return a curve with bands of any width around its medians."""
    values = draw(st.lists(st.lists(_VALUES, min_size=3, max_size=3).map(sorted), min_size=7, max_size=7))
    low, median, high = np.array(values).T
    return Band("a", np.array(COUNTS, dtype=float), low, median, high, np.full(7, 5.0))


def beyond(upper: Band, lower: Band, i: int, j: int, by: float = 1) -> bool:
    """Return whether one curve at one place lies above another at another, by the definition in words."""
    widest = max(upper.high[i] / upper.low[i], lower.high[j] / lower.low[j])
    return bool(upper.low[i] > by * lower.high[j] or upper.median[i] / lower.median[j] / by > widest)


def agrees(outcome: Outcome, expected: bool) -> None:
    """Check a verdict, and its margin's sign."""
    margin = outcome.margin
    assert outcome.holds is expected
    assert margin is not None
    assert margin.value >= 0 if expected else margin.value <= 0
    assert margin.ranks == (100, 10000)


@settings(max_examples=60)
@given(bands(), bands(), st.sampled_from([1, 1.1, 2]))
def test_comparisons_of_bands(one: Band, other: Band, number: float) -> None:
    places = range(7)
    slower = [beyond(one, other, i, i, number) for i in places]
    agrees(comparisons.slower(one, other, number, ALL, MOST), bool(np.mean(slower) >= MOST))

    falls = [not beyond(one, one, i + 1, i) for i in range(6)]
    agrees(comparisons.trend(one, "falls", ALL, MOST), beyond(one, one, 0, 6) and bool(np.mean(falls) >= MOST))

    distance = np.maximum(one.median, other.median) / np.minimum(one.median, other.median) - 1
    together = (distance <= number - 1) | comparisons.overlapping(one, other)
    agrees(comparisons.coincide([one, other], number - 1, ALL, MOST), bool(together.mean() >= MOST))

    ratio = (one.median / other.median).max()
    agrees(comparisons.apart(one, other, (number, 2 * number), ALL), bool(number <= ratio <= 2 * number))

    rises = [(one.median[j] / one.median[i], i, j) for i in range(6) for j in range(i + 1, 7)]
    _, i, j = max(rises)
    agrees(comparisons.jump(one, number, ALL), beyond(one, one, j, i, number))

    far = np.abs(np.log(one.median / other.median))
    wide = np.log(one.high / one.low) + np.log(other.high / other.low)
    closer = far[-1] < far[0] and not abs(far[0] - far[-1]) <= (wide[0] + wide[-1]) / 2
    agrees(comparisons.closing(one, other, ALL), bool(closer))

    (low, own, high), (other_low, others, other_high) = (comparisons._slope(band) for band in (one, other))
    apart = not (low <= other_high and other_low <= high)
    agrees(comparisons.shallower(one, other, ALL), own > others and apart)

    agrees(comparisons.limit(one, 5000), expected=False)
    smallest = float(one.median.min())
    agrees(comparisons.optimum(one, "minimum", (number, None), ALL), smallest >= number)


@settings(max_examples=60)
@given(bands(), bands(), st.sampled_from([200.0, 1000.0, 5000.0]), st.sampled_from([1.5, 4.0]))
def test_a_meeting_point(one: Band, other: Band, at: float, factor: float) -> None:
    ratio = np.log(one.median / other.median)
    crossings = [i for i, (left, right) in enumerate(pairwise(ratio)) if left < 0 <= right]
    outcome = comparisons.meets(one, other, at, factor, ALL)
    if crossings:
        i = crossings[-1]
        x = np.log(np.array(COUNTS[i : i + 2], dtype=float))
        place = float(np.exp(x[0] - ratio[i] * (x[1] - x[0]) / (ratio[i + 1] - ratio[i])))
        agrees(outcome, at / factor <= place <= at * factor)
    elif ratio[0] >= 0 or ratio[-1] <= ratio[3]:
        agrees(outcome, expected=False)


_PACKETS = st.lists(st.sampled_from([0, 1, 2, 5, 10]), min_size=4, max_size=4).filter(any)


@given(_PACKETS, _PACKETS, st.sampled_from([0.0, 0.1, 0.25, 0.5]))
def test_distributions(one: list[int], other: list[int], number: float) -> None:
    edges = np.array([0, 1e-5, 2e-5, 3e-5, 4e-5])
    first, second = (
        distributions.Delays("a", edges[:-1], edges[1:], np.array([own], dtype=float)) for own in (one, other)
    )
    share = float(np.median(first.below(2e-5)))
    found = distributions.share(first, 100, 2e-5, "20 us", more=False, stated=(number, 0.5))
    assert found.holds is (number <= share <= 0.5)
    distance = float(np.abs(first.cumulative() - second.cumulative()).max())
    for same in (True, False):
        found = distributions.same_delays([first, second], 100, number, same=same)
        assert found.holds is ((distance <= number) == same)
        assert found.margin is not None
        assert abs(found.margin.value) == pytest.approx(abs(distance - number))
    levels = [distributions.Matrix("a", np.array([float(own[0])]), np.array([0.0])) for own in (one, other)]
    assert distributions.congestion([levels[:1], levels[1:]], "level", 100).holds is (one[0] < other[0])


@given(st.floats(0, 1e300), st.floats(0, 1e300))
@example(1.0, math.nextafter(1.0, 2))
@example(math.nextafter(2.0, 1), 2.0)
def test_a_log_ratio_has_the_sign_of_the_difference(one: float, other: float) -> None:
    assert np.sign(log_ratio(one, other)) == np.sign(one - other)


@given(st.lists(st.floats(-5, 5), min_size=1), st.floats(0, 1))
def test_most_places_hold_where_the_last_needed_one_does(values: list[float], most: float) -> None:
    margins = np.array(values)
    assert (at_most_places(margins, most) > 0) is bool((margins > 0).mean() >= most)


MARGINS: list[tuple[Callable[[], Outcome], float, str]] = [
    (lambda: comparisons.slower(_flat(4), _flat(1), 2, ALL, MOST), math.log(2), "log ratio"),
    (lambda: comparisons.apart(_flat(4), _flat(1), (2, 16), ALL), math.log(2), "log ratio"),
    (lambda: comparisons.coincide([_flat(1), _flat(1.25)], 0.1, ALL, MOST), 0.1 - 0.25, "share"),
    (lambda: comparisons.shallower(_power(-0.3), _power(-0.8), ALL), 0.5, "slope"),
    (lambda: comparisons.closing(_uneven(), _flat(1), ALL), math.log(16 / 2) - math.log(2 * 8) / 2, "log ratio"),
    (lambda: comparisons.meets(_power(0.5), _power(-0.5, 10), 1000, 1.5, ALL), math.log(1.5), "log ratio"),
    (lambda: comparisons.limit(_flat(1), 1000), -math.log(10), "log ratio"),
    (lambda: comparisons.optimum(_flat(4), "minimum", (5, 7), ALL), -1, "radix"),
]


def _flat(value: float) -> Band:
    return curve([value] * 7, width=0)


def _power(exponent: float, factor: float = 1) -> Band:
    return curve([factor * (x / 100) ** exponent for x in COUNTS], width=0)


def _uneven() -> Band:
    """Return a curve from 16 to 2, whose members differ at its ends alone: by a factor of 2, and of 8."""
    own = curve([16, 8, 8, 4, 4, 4, 2], width=0)
    return replace(own, high=own.high * [2, 1, 1, 1, 1, 1, 8])


@pytest.mark.parametrize(("check", "value", "unit"), MARGINS)
def test_margins_in_closed_form(check: Callable[[], Outcome], value: float, unit: str) -> None:
    margin = check().margin
    assert margin is not None
    assert margin.value == pytest.approx(value)
    assert margin.unit == unit


def test_at_the_turn_the_stricter_of_two_decides() -> None:
    loose, strict = Margin(0.0, SHARE, (1, 2), inclusive=True), Margin(0.0, SHARE, (1, 2))
    assert (loose.holds, strict.holds, least([loose, strict]).holds) == (True, False, False)


def test_margins_as_data_and_in_words() -> None:
    margin = Margin(-0.25, SHARE, (100.0, 10000.0))
    choices = (ChoiceVerdict("a", "not reproduced", "", margin=margin), ChoiceVerdict("b", "reproduced", ""))
    verdict = Verdict("Z", "Z", "", "", "", "not reproduced", "", "laptop", choices=choices, margin=margin)
    data = verdict.as_data()
    assert (data["margin"], data["margin_unit"], data["margin_ranks"]) == (-0.25, "share", [100, 10000])
    assert [choice["margin"] for choice in data["choices"]] == [-0.25, None]
    assert verdict.measured == "a: -0.25 share at 100 to 10,000 processes; b: none"
    assert Verdict("Z", "Z", "", "", "", "reproduced", "", "laptop").as_data()["margin"] is None
    boundless = Margin(math.inf, SHARE, (1.0, 2.0))
    assert boundless.holds
    assert ChoiceVerdict("a", "reproduced", "", margin=boundless).as_data()["margin"] is None
