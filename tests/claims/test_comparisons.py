"""Checks of curves: each holds, fails, or says which points lack."""

import math

import numpy as np
import pytest

from tramontane.claims import comparisons
from tramontane.claims.outcome import Lacking, Span

from .data import COUNTS, curve, power

ALL = Span(100, math.inf, decades=1)
MOST = 0.75


def test_a_curve_is_above_where_bands_are_apart() -> None:
    upper, lower = curve([1.10, 1.03, 0.90]), curve([1.0, 1.0, 1.0])
    assert (comparisons.above(upper, lower) > 0).tolist() == [True, False, False]
    assert (comparisons.above(lower, upper) > 0).tolist() == [False, False, True]


def test_a_curve_is_above_where_the_ratio_is_beyond_the_bands() -> None:
    # One member of each strays far: the bands overlap, and yet nobody would call the two equal.
    upper, lower = curve([2.0], width=0.2), curve([1.0], width=0.1)
    object.__setattr__(upper, "low", np.array([1.05]))
    assert comparisons.overlapping(upper, lower).tolist() == [True]
    assert comparisons.above(upper, lower)[0] < 0  # 2.4 / 1.05 is wider than the ratio
    object.__setattr__(upper, "low", np.array([1.3]))
    object.__setattr__(lower, "high", np.array([1.35]))
    assert comparisons.above(upper, lower)[0] > 0


def test_trend() -> None:
    assert comparisons.trend(power(-0.5), "falls", ALL, MOST).holds is True
    assert comparisons.trend(power(-0.5), "rises", ALL, MOST).holds is False
    assert comparisons.trend(power(0.5), "rises", ALL, MOST).holds is True
    assert comparisons.trend(power(0.0), "falls", ALL, MOST).holds is False
    # One step of six may go the other way, two may not.
    assert comparisons.trend(curve([9, 8, 7, 7.8, 5, 4, 3]), "falls", ALL, MOST).holds is True
    assert comparisons.trend(curve([9, 8, 9, 7, 8, 4, 3]), "falls", ALL, MOST).holds is False
    with pytest.raises(Lacking, match=r"10,000 processes or more, 2 counts .there: 100 to 10,000."):
        comparisons.trend(power(-0.5), "falls", Span(1e4, math.inf), MOST)


def test_trend_within_the_band_decides_nothing() -> None:
    outcome = comparisons.trend(power(-0.005, width=0.1), "falls", ALL, MOST)
    assert (outcome.holds, outcome.fragile) == (False, 1)


def test_slower() -> None:
    low, high = power(-0.5), power(-0.5, factor=1.5)
    assert comparisons.slower(high, low, 1, ALL, MOST).holds is True
    assert comparisons.slower(high, low, 2, ALL, MOST).holds is False
    assert comparisons.slower(low, high, 1, ALL, MOST).holds is False
    assert comparisons.slower(high, low, 1, Span(1e4, math.inf), MOST).holds is True
    with pytest.raises(Lacking, match=r"100,000 processes or more .there: 100 to 10,000.") as caught:
        comparisons.slower(high, low, 1, Span(1e5, math.inf), MOST)
    assert caught.value.span == Span(1e5, math.inf)
    with pytest.raises(Lacking, match="over a decade"):
        comparisons.slower(curve([1, 2, 3]), curve([1, 2, 3]), 1, ALL, MOST)


def test_what_is_slower_tells_the_ratios() -> None:
    upper, lower = curve([3, 8, 2], name="a"), curve([2, 2, 2], name="b")
    several = comparisons.slower(upper, lower, 1, Span(100, math.inf), MOST)
    assert "a over b: 1 to 4, median 1.5, at 100 to 500 processes; slower at 2 of 3" in several.evidence
    one = comparisons.slower(upper, lower, 1, Span(200, 200), MOST)
    assert "a over b: 4 at 200 processes; slower at 1 of 1" in one.evidence


def test_slower_counts_where_single_runs_could_not_tell() -> None:
    outcome = comparisons.slower(curve([2, 2, 2, 2, 2, 2, 1.01]), curve([1] * 7), 1, ALL, MOST)
    assert (outcome.holds, outcome.fragile, outcome.compared) == (True, 1, 7)
    assert "slower at 6 of 7 process counts (not at 10,000)" in outcome.evidence


def test_coincide() -> None:
    assert comparisons.coincide([power(-0.5), power(-0.5, 1.05)], 0.1, ALL, MOST).holds is True
    assert comparisons.coincide([power(-0.5), power(-0.5, 1.2)], 0.1, ALL, MOST).holds is False
    assert comparisons.coincide([power(-0.5), power(-0.5, 1.05), power(-0.5, 1.3)], 0.1, ALL, MOST).holds is False
    # Medians far apart in bands that overlap: nobody could tell them apart.
    wide = comparisons.coincide([power(-0.5, width=0.3), power(-0.5, 1.2, width=0.3)], 0.1, ALL, MOST)
    assert (wide.holds, wide.fragile) == (True, 7)
    with pytest.raises(Lacking):
        comparisons.coincide([power(-0.5), power(-0.5)], 0.1, Span(1e5, math.inf), MOST)


def test_at_the_turn_of_an_allowed_distance_a_check_holds() -> None:
    """A tenth more and a tenth less are a tenth, though 1.1 - 1 is rounded to more."""
    here = Span(100, 100)
    one, more = curve([1.0], width=0), curve([1.1], width=0)
    assert comparisons.coincide([one, more], 0.1, here, MOST).holds is True
    for value in (1.1, 0.9):
        assert comparisons.printed(curve([value], width=0), {"100": 1.0}, 0.1, {}).holds is True
        assert comparisons.printed(curve([value], width=0), {"100": 1.0}, 0.0999, {}).holds is False


def test_apart() -> None:
    assert comparisons.apart(power(-0.5, 10), power(-0.5), (5, 20), ALL).holds is True
    assert comparisons.apart(power(-0.5, 3), power(-0.5), (5, 20), ALL).holds is False
    assert comparisons.apart(power(-0.5, 30), power(-0.5), (5, 20), ALL).holds is False
    assert comparisons.apart(power(-0.5, 5.01), power(-0.5), (5, 20), ALL).fragile == 1
    with pytest.raises(Lacking):
        comparisons.apart(power(-0.5), power(-0.5), (5, 20), Span(1e5, math.inf))


def test_closing() -> None:
    assert comparisons.closing(power(-0.8, 10), power(-0.4), ALL).holds is True
    assert comparisons.closing(power(-0.4, 10), power(-0.8), ALL).holds is False
    assert comparisons.closing(power(-0.5, 10), power(-0.5), ALL).holds is False
    # Ten times as long at both ends, which single runs can't tell; from 1000 times down to some 160, which all tell.
    assert comparisons.closing(power(-0.5, 10), power(-0.5), ALL).fragile == 1
    assert comparisons.closing(power(-0.8, 1000), power(-0.4), ALL).fragile == 0
    with pytest.raises(Lacking):
        comparisons.closing(power(-0.5), power(-0.5), Span(1e4, math.inf))


def test_shallower() -> None:
    flat = comparisons.shallower(power(-0.3), power(-0.8), ALL)
    assert flat.holds is True
    assert "to the power -0.30, of a to -0.80, from 100 to 10,000 processes" in flat.evidence
    assert comparisons.shallower(power(-0.8), power(-0.3), ALL).holds is False
    assert comparisons.shallower(power(-0.5), power(-0.501), ALL).fragile == 1
    with pytest.raises(Lacking):
        comparisons.shallower(power(-0.5), power(-0.5), Span(1e5, math.inf))


def test_printed_times_are_met_at_each_place() -> None:
    own = curve([9, 8, 7, 14, 13, 6, 5])
    places = [str(int(x)) for x in own.x]
    near = comparisons.printed(own, {places[0]: 10, places[3]: 13}, 0.1, {places[1]: 16})
    assert near.holds is True
    assert near.margin is not None
    assert near.margin.value == pytest.approx(0)
    assert "9 s at 100 (printed 10, -10 %)" in near.evidence
    assert "fitted to 8 s at" in near.evidence
    assert "(printed 16, -50 %)" in near.evidence
    assert comparisons.printed(own, {places[0]: 10, places[3]: 13}, 0.09, {}).holds is False
    with pytest.raises(Lacking, match="at 7 processes"):
        comparisons.printed(own, {"7": 1}, 0.1, {})


def test_jump() -> None:
    around = Span(500, 3000)
    assert comparisons.jump(curve([9, 8, 7, 14, 13, 6, 5]), 1.5, around).holds is True
    assert comparisons.jump(curve([9, 8, 7, 8, 7, 6, 5]), 1.5, around).holds is False
    assert comparisons.jump(power(-0.5), 1.5, around).holds is False
    with pytest.raises(Lacking):
        comparisons.jump(power(-0.5), 1.5, Span(2e4, math.inf))


def test_meets_in_the_data_and_by_its_trend() -> None:
    inside = comparisons.meets(power(0.5), power(-0.5, 10), 1000, 1.5, ALL)
    assert inside.holds is True
    assert "they meet at 1,000 processes" in inside.evidence
    ahead = comparisons.meets(power(0.5), power(-0.5, 900), 1e5, 1.5, ALL)
    assert ahead.holds is True
    assert "trend" in ahead.evidence
    assert comparisons.meets(power(0.5), power(-0.5, 900), 1e6, 1.5, ALL).holds is False
    assert comparisons.meets(power(0.5, 20), power(-0.5, 10), 1000, 1.5, ALL).holds is False  # above from the start
    assert comparisons.meets(power(-0.6), power(-0.5, 10), 1000, 1.5, ALL).holds is False  # never
    with pytest.raises(Lacking, match="1,000,000 processes or more"):  # 1e8 is too far off to say anything
        comparisons.meets(power(0.1), power(-0.1, 1000), 1e7, 1.5, ALL)


def test_limit() -> None:
    assert comparisons.limit(power(-0.5), 5000).holds is False
    with pytest.raises(Lacking, match="not planned at this scale; largest run 10,000"):
        comparisons.limit(power(-0.5), 2e4)


def test_optimum() -> None:
    own = curve([5, 9, 20, 21, 22, 30, 32], width=0)
    assert comparisons.optimum(own, "minimum", (5, 5), ALL).holds is True
    assert comparisons.optimum(own, "maximum", (31, 31), ALL).holds is False
    assert comparisons.optimum(own, "median", (20, 22), ALL).holds is True
    assert comparisons.optimum(own, "mean below median by", (0, 3), ALL).holds is True
    assert comparisons.optimum(own, "mean below median by", (3, 9), ALL).holds is False
    with pytest.raises(Lacking):
        comparisons.optimum(curve([5, 9]), "minimum", (5, 5), ALL)


def test_what_has_no_result_is_said() -> None:
    own = power(-0.5)
    object.__setattr__(own, "lacking", (20000.0, 50000.0))
    assert comparisons.trend(own, "falls", ALL, MOST).evidence.endswith("; without a result at 2 process counts")
    assert comparisons.trend(own, "falls", Span(100, 10000), MOST).evidence.endswith("the other way")


def test_spans_say_what_they_need() -> None:
    assert str(Span(100, math.inf, decades=1)) == "at 100 processes or more, over a decade"
    assert str(Span(1e5, math.inf)) == "at 100,000 processes or more"
    assert str(Span(1, 500)) == "at 500 processes or fewer"
    assert str(Span(100, 500, 3)) == "at 100 to 500 processes, 3 counts"
    assert Span(100, 5e4, decades=1).suffices(COUNTS)
    assert not Span(100, 500, decades=1).suffices(COUNTS)
    assert not Span(1e5, math.inf).suffices(COUNTS)


def test_printed_times_may_be_of_many_runs() -> None:
    own = curve([2.0])
    place = str(int(COUNTS[0]))
    assert comparisons.printed(own.times(10), {place: 20}, 0.01, {}).holds is True
    assert comparisons.printed(own, {place: 20}, 0.01, {}).holds is False


def test_every_ratio_lies_in_a_range() -> None:
    upper, lower = curve([4, 6, 6, 6, 6, 6, 6]), curve([1] * 7)
    assert comparisons.apart(upper, lower, (5, 7), ALL).holds is True
    outcome = comparisons.apart(upper, lower, (5, 7), ALL, every=True)
    assert outcome.holds is False
    assert outcome.margin is not None
    assert outcome.margin.value == pytest.approx(np.log(4 / 5))
    assert "at most 6 (at 200 processes) and at least 4 (at 100 processes); stated 5 to 7" in outcome.evidence
    assert comparisons.apart(upper, lower, (4, 6), ALL, every=True).holds is True
    assert comparisons.apart(upper, lower, (4, 5), ALL, every=True).holds is False


@pytest.mark.filterwarnings("error")
def test_times_of_zero_are_equal_and_have_no_slope() -> None:
    zero, one = curve([0] * 7, name="none"), curve([1] * 7)
    late, later = curve([0, 1, 2, 3, 4, 5, 6]), curve([0, 2, 4, 6, 8, 10, 12])
    assert comparisons.slower(zero, zero, 1, ALL, MOST).holds is False
    assert comparisons.slower(one, zero, 1, ALL, MOST).holds is True
    assert comparisons.slower(zero, one, 1, ALL, MOST).holds is False
    assert comparisons.coincide([zero, zero], 0.1, ALL, MOST).holds is True
    assert comparisons.coincide([zero, one], 0.1, ALL, MOST).holds is False
    assert comparisons.apart(later, late, (1.5, 3), ALL).holds is True
    assert comparisons.apart(zero, zero, (1, 1), ALL, every=True).holds is True
    assert comparisons.apart(one, zero, (2, 4), ALL).holds is False
    assert comparisons.trend(zero, "falls", ALL, MOST).holds is False
    assert comparisons.trend(late, "rises", ALL, MOST).holds is True
    assert comparisons.jump(late, 5, ALL).holds is True
    assert comparisons.printed(zero, {"100": 1.0}, 0.1, {}).holds is False
    for outcome in (comparisons.shallower(late, later, ALL), comparisons.closing(late, later, ALL)):
        assert outcome.margin is not None
        assert math.isfinite(outcome.margin.value)
        assert outcome.evidence.endswith("; left out for a time of 0 at 1 process count")
    with pytest.raises(Lacking):
        comparisons.shallower(zero, one, ALL)
    with pytest.raises(Lacking):
        comparisons.meets(zero, one, 1000, 1.5, ALL)
