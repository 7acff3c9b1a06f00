"""The rates that estimates are made of: their fit to points that were run, and the memory of a rank."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.measure import idle_rank_bytes
from benchmarks.rates import candidates, describe, deviation, fit, fit_with_growth
from tramontane.study import Point
from tramontane.study.points.cost import slower_with_state

TORUS = {"topology": "torus", "geometry": [6, 6, 6], "nodes_per_switch": 2}
DRAGONFLY = {"topology": "dragonfly", "geometry": [25, 25, 25], "nodes_per_switch": 25}
COST = np.array([2e-7, 1e-6, 5e-7])


def counts(points: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(10 ** np.random.default_rng(1).uniform(4, 7, size=(points, 3)))


def test_costs_are_found_again() -> None:
    table = counts(40)
    assert fit(table, table @ COST) == pytest.approx(COST, rel=1e-3)


def test_a_few_points_that_took_far_too_long_change_little() -> None:
    table = counts(40)
    seconds = table @ COST * np.random.default_rng(2).uniform(0.95, 1.05, 40)
    seconds[::10] *= 8
    assert table @ fit(table, seconds) == pytest.approx(table @ COST, rel=0.1)


def test_growth_with_state_is_found_again() -> None:
    table, state = counts(40), 10 ** np.random.default_rng(3).uniform(4, 10, 40)
    growth = {1e6: 0.3, 1e9: 1.5}
    cost, found = fit_with_growth(table, table @ COST * slower_with_state(state, growth), state, list(growth))
    assert found == pytest.approx(growth)
    assert cost == pytest.approx(COST, rel=1e-3)
    assert slower_with_state(np.array([1.0, 1e6, 1e8, 1e10]), growth) == pytest.approx([1, 1, 1.6, 3.7])


def test_few_points_that_take_long_count_as_much_as_many_short_ones() -> None:
    seconds = np.array([1.0] * 98 + [100.0, 200.0])
    expected = seconds * np.array([1.0] * 98 + [np.e] * 2)
    assert deviation(expected, seconds) == pytest.approx(0.5)


def test_what_costs_nothing_is_not_negative() -> None:
    table = counts(40)
    cost = fit(table, table @ np.array([0.0, 1e-6, 0.0]))
    assert cost[1] == pytest.approx(1e-6, rel=1e-3)
    assert np.all((cost > 0) & (cost <= [1e-8, 1e-5, 1e-8]))


def test_points_of_the_simulator_that_do_not_take_too_long_each_once(tmp_path: Path) -> None:
    def record(name: str, folder: str = "campaign/points", **changes: Any) -> None:
        workload = {"kind": "transposition", "algorithm": "burst", "grid": [3600, 1800, 64]}
        point = Point.model_validate({"ranks": 64, "workload": workload, "machine": TORUS} | changes).canonical()
        (tmp_path / folder / name).mkdir(parents=True)
        text = json.dumps({"id": name, "point": point, "result": {"cpu_s": 3.5}})
        (tmp_path / folder / name / "record.json").write_text(text)

    record("aa")
    record("aa", "published")  # which the campaign has taken over
    record("bb", workload={"kind": "transposition", "algorithm": "burst", "grid": [12000, 6000, 640]})
    record("cc", workload={"kind": "allreduce", "algorithm": "ring"})
    [run] = candidates([tmp_path / "campaign", tmp_path / "published"], longest=10)
    assert (run.point.ranks, run.point.workload.kind, run.cpu_s) == (64, "transposition", 3.5)


def test_how_good_estimates_are_in_words() -> None:
    text = describe("these", np.array([0.5, 1.0, 1.1, 2.0]))
    assert text == "these: measured over estimated 1.05, eight in ten 0.65 to 1.73; 50% of 4 within a factor of 1.3"


def test_a_rank_that_does_nothing_takes_little() -> None:
    workload = {"kind": "allreduce", "algorithm": "ring"}
    point = {"ranks": 300_000, "workload": workload, "machine": DRAGONFLY}
    found = idle_rank_bytes(Point.model_validate(point))
    assert 150 < found < 220  # the state of a rank, in whole pages; without a network nobody uses
