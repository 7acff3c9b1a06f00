"""Screening by trajectories: effects of a known function, and what matters to nothing."""

from typing import Any

import numpy as np
import pytest

from tramontane.claims.screening import effects, without_influence
from tramontane.study.sampling.sampling import Parameter, in_unit_cube

NAMES = ["a", "b", "c", "d"]
KNOWN = {name: Parameter.model_validate({"range": [0.0, 1.0]}) for name in NAMES}
PLACES = in_unit_cube("morris", 50, 4, 1)


def test_effects_are_those_of_a_known_function() -> None:
    found, chance = effects(PLACES, 3 * PLACES[:, 1] - PLACES[:, 3] + 0.01 * PLACES[:, 0], KNOWN)
    assert [own.parameter for own in found] == ["b", "d", "a", "c"]
    assert np.allclose([own.index for own in found], [3, 1, 0.01, 0])
    assert chance == 0
    assert without_influence([found], NAMES) == ["a", "c"]


def test_what_matters_to_one_statement_matters() -> None:
    first, _ = effects(PLACES, PLACES[:, 1], KNOWN)
    second, _ = effects(PLACES, PLACES[:, 2], KNOWN)
    assert without_influence([first, second, ()], NAMES) == ["a", "d"]
    assert without_influence([()], NAMES) == []


def test_a_machine_without_margin_takes_its_trajectory_with_it() -> None:
    margins = 3 * PLACES[:, 1]
    margins[12] = 100.0  # of the third trajectory
    there = np.arange(50) != 11
    found, _ = effects(PLACES[there], margins[there], KNOWN)
    assert np.allclose(found[0].index, 3)
    assert effects(PLACES[:5], margins[:5], KNOWN)[0] == ()


@pytest.mark.parametrize("parameter", [{"choice": [0, 1]}, {"range": [0.0, 1.0]}, {"log": [1.0, 1024.0]}])
def test_a_step_to_another_choice_is_a_whole_change(parameter: dict[str, Any]) -> None:
    known = KNOWN | {"c": Parameter.model_validate(parameter)}
    values = np.array([known["c"].value(at) for at in PLACES[:, 2].tolist()])
    found, _ = effects(PLACES, PLACES[:, 0] + (np.log2(values) / 10 if "log" in parameter else values), known)
    told = {each.parameter: (each.index, each.low, each.high) for each in found}
    assert np.allclose([told[name] for name in NAMES], [[1] * 3, [0] * 3, [1] * 3, [0] * 3])


@pytest.mark.parametrize("kind", ["range", "log"])
@pytest.mark.parametrize("ends", [[1, 2], [1, 3], [1, 10], [2, 64]])
def test_an_effect_is_that_of_the_change_that_a_whole_number_made(kind: str, ends: list[int]) -> None:
    known = KNOWN | {"c": Parameter.model_validate({kind: ends})}
    values = np.array([known["c"].value(at) for at in PLACES[:, 2].tolist()], dtype=float)
    if kind == "log":
        values = np.log(values)
    found, _ = effects(PLACES, 2 * PLACES[:, 0] + 3 * values / np.ptp(values), known)
    assert {each.parameter: round(each.index, 6) for each in found} == {"a": 2, "b": 0, "c": 3, "d": 0}
