"""Windows of stages, and what they tell of all: oracles by hand, and what must hold for any draw."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tramontane.study.points import stages

COUNTS = st.lists(st.integers(0, 400), min_size=1, max_size=4)
SHARES = st.floats(0.01, 0.99)


@given(COUNTS, SHARES, st.integers(0, 2**40))
def test_windows_lie_apart_and_within_their_phase(counts: list[int], share: float, seed: int) -> None:
    drawn = stages.windows(counts, share, seed)
    assert drawn == stages.windows(counts, share, seed)
    for count, windows in zip(counts, drawn, strict=True):
        simulated = sum(length for _, length in windows)
        edges = [0, *itertools.chain.from_iterable((first, first + length) for first, length in windows), count]
        assert edges == sorted(edges)
        if windows in ([], [(0, count)]):  # too few stages, or all
            assert simulated == count
            continue
        assert len(windows) >= stages.LEAST_WINDOWS
        (length,) = {length for _, length in windows}
        assert length == max(stages.WINDOW, int((share * count + 1e-9) ** 0.5))
        assert simulated <= share * count + 1e-6
        assert simulated > share * count - length
        for part, (first, _) in enumerate(windows):  # one in each part
            assert part * count // len(windows) <= first
            assert first + length <= (part + 1) * count // len(windows)


@given(COUNTS, SHARES)
def test_the_least_share_is_the_least(counts: list[int], share: float) -> None:
    least = stages.least_share(counts)
    if least < 1:
        assert stages.is_sampled(counts, least)
    assert stages.is_sampled(counts, share) == (share >= least) or share == pytest.approx(least)


def test_seeds_draw_different_windows_and_each_place_is_as_likely() -> None:
    drawn = [stages.windows([100], 0.4, seed)[0][0][0] for seed in range(2000)]
    room = 100 // 5 - stages.WINDOW + 1
    found = np.bincount(drawn, minlength=room)
    assert len(found) == room
    assert found.min() > 2000 / room * 0.7
    assert found.max() < 2000 / room * 1.3


def test_an_even_pace_leaves_no_doubt() -> None:
    counts = [64, 5, 0, 128]
    drawn = stages.windows(counts, 0.5, 3)
    lengths = [length for windows in drawn for _, length in windows]
    found = stages.estimate(drawn, counts, list(np.cumsum(lengths) * 2.0), jump=0)
    assert found.phases == pytest.approx([128, 10, 0, 256])
    assert found.error == pytest.approx(0, abs=1e-9)


def test_the_interval_of_four_windows_by_hand() -> None:
    # Paces of 1, 2, 1, 2: neighbours differ by 1, so the variance of a pace is 3 / (2 * 3) = 1/2, that of the mean of
    # four 1/8, halved since half of the stages are known. 64 stages: sqrt(64^2 / 16) = 16, times t. Differences
    # that share windows have 2 * 3^2 / (3 * 4 - 4) = 9/4 degrees, where t is 3.8755.
    drawn = [[(0, 8), (16, 8), (32, 8), (48, 8)]]
    found = stages.estimate(drawn, [64], [8, 24, 32, 48], jump=0)
    assert found.phases == [96]
    assert found.error == pytest.approx(3.8755 * 16, rel=1e-4)
    # Four jumps of half a stage, of 1.5 each, stand for twice as many stages.
    jumping = stages.estimate(drawn, [64], [8, 24, 32, 48], jump=0.5)
    assert jumping.phases == [96]
    assert jumping.error == pytest.approx(math.hypot(found.error, 4 * 0.5 * 1.5 * 2))


def test_phases_that_scatter_differently_are_joined_as_by_welch() -> None:
    """The phase above, and one that takes twice as long: variances of 16^2 and 32^2, of 9/4 degrees each."""
    drawn = [[(0, 8), (16, 8), (32, 8), (48, 8)]] * 2
    found = stages.estimate(drawn, [64, 64], [8, 24, 32, 48, 64, 96, 112, 144], jump=0)
    assert found.phases == [96, 192]
    degrees = (16**2 + 32**2) ** 2 / ((16**4 + 32**4) / (9 / 4))
    assert found.error == pytest.approx(stats.t.ppf(0.975, degrees) * math.hypot(16, 32))


def test_a_phase_that_is_simulated_whole_adds_its_time_and_no_doubt() -> None:
    alone = stages.estimate([[(0, 8), (16, 8), (32, 8), (48, 8)]], [64], [8, 24, 32, 48])
    both = stages.estimate([[(0, 7)], [(0, 8), (16, 8), (32, 8), (48, 8)]], [7, 64], [5, 13, 29, 37, 53])
    assert both.phases == [5, *alone.phases]
    assert both.error == pytest.approx(alone.error)


@pytest.mark.parametrize(
    ("counts", "scales"),
    [
        ([64], [1.0]),  # four windows
        ([64, 400], [1.0, 0.1]),  # a phase of four, and one of fourteen that are alike, which must not vouch for them
    ],
)
def test_intervals_hold_what_they_are_said_to_hold_where_paces_are_independent(
    counts: list[int], scales: list[float]
) -> None:
    random = np.random.default_rng(5)
    trials, held = 2000, 0
    for seed in range(trials):
        took = [10 + scale * random.standard_normal(count) for count, scale in zip(counts, scales, strict=True)]
        drawn = stages.windows(counts, 0.5, seed)
        lengths = [
            own[first : first + length].sum() for own, at in zip(took, drawn, strict=True) for first, length in at
        ]
        found = stages.estimate(drawn, counts, list(np.cumsum(lengths)), jump=0)
        held += abs(sum(found.phases) - sum(own.sum() for own in took)) <= found.error
    assert held / trials == pytest.approx(0.955, abs=0.02)
