"""Screening by trajectories: effects of a known function, and what matters to nothing."""

import numpy as np

from tramontane.claims.screening import effects, without_influence
from tramontane.study.sampling import in_unit_cube

NAMES = ["a", "b", "c", "d"]
PLACES = in_unit_cube("morris", 50, 4, 1)


def test_effects_are_those_of_a_known_function() -> None:
    found, chance = effects(PLACES, 3 * PLACES[:, 1] - PLACES[:, 3] + 0.01 * PLACES[:, 0], NAMES)
    assert [own.parameter for own in found] == ["b", "d", "a", "c"]
    assert np.allclose([own.index for own in found], [3, 1, 0.01, 0])
    assert chance == 0
    assert without_influence([found], NAMES) == ["a", "c"]


def test_what_matters_to_one_statement_matters() -> None:
    first, _ = effects(PLACES, PLACES[:, 1], NAMES)
    second, _ = effects(PLACES, PLACES[:, 2], NAMES)
    assert without_influence([first, second, ()], NAMES) == ["a", "d"]
    assert without_influence([()], NAMES) == []


def test_a_machine_without_margin_takes_its_trajectory_with_it() -> None:
    margins = 3 * PLACES[:, 1]
    margins[12] = 100.0  # of the third trajectory
    there = np.arange(50) != 11
    found, _ = effects(PLACES[there], margins[there], NAMES)
    assert np.allclose(found[0].index, 3)
    assert effects(PLACES[:5], margins[:5], NAMES)[0] == ()
