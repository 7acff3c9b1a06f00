"""The storages of `grist-readers` are least-squares fits of the stated rows of Wang et al. 2020, Table 2."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tramontane.study import expand, load_experiment

ROOT = Path(__file__).parents[3]
PROCESSES = np.array([1, 24, 48, 72, 96, 110, 150])
PLAIN = np.array([1.96, 9.80, 17.85, 21.12, 21.80, 21.33, 23.95])
GROUPED = np.array([np.nan, 1.80, 3.02, 3.35, 3.42, 3.43, 3.45])
NODES = np.ceil(PROCESSES / 24)
FIRST: tuple[list[int], list[int]] = ([0, 1, 2], [])
"""1, 24 and 48 plain readers."""
REVERSE = ([2], [1, 2, 3, 4, 5, 6])
ROWS = {
    "fitted on 1 to 48 readers": FIRST,
    "fitted on grouped readers": REVERSE,
    "fitted on all": (list(range(7)), [1, 2, 3, 4, 5, 6]),
    "whole file, fitted on 1 to 48 readers": FIRST,
    "whole file, fitted on grouped readers": REVERSE,
}
SCATTER = 1.5
"""What a host needs to send 2 GB to each of 23 guests on its node [s], as simulated."""

Floats = NDArray[np.float64]
Form = Callable[[float, Floats], Floats]
"""From the third parameter and numbers of nodes to how much longer an access takes than that of a node alone."""


def geometric(contention: float, nodes: Floats) -> Floats:
    """Return 1 + c + ... + c^(n - 1)."""
    return np.asarray((1 - contention**nodes) / (1 - contention))


def exponential(scale: float, nodes: Floats) -> Floats:
    """Return A (1 - exp(-n / n0)), 1 for one node."""
    return np.asarray((1 - np.exp(-nodes / scale)) / (1 - np.exp(-1 / scale)))


def ceiling(most: float, nodes: Floats) -> Floats:
    """Return a line that ends at a ceiling."""
    return np.minimum(nodes, most)


def seconds(parameters: Floats, *, grouped: bool, form: Form = geometric) -> Floats:
    """Return the times of reading 2 GB in parts, as docs/programs.md has them; one reader a node or all."""
    latency, request, third = parameters
    readers = np.ones(7) if grouped else np.minimum(PROCESSES, 24)
    share = 2e9 / NODES if grouped else np.minimum(24 / PROCESSES, 1) * 2e9
    return np.asarray((latency + share / 6e9 + readers * request) * form(third, NODES) + 2e9 / 14e9)


def seconds_of_whole(parameters: Floats, *, grouped: bool) -> Floats:
    """Return the times where each process gets the whole file; the second parameter is in GB/s."""
    latency, bandwidth, contention = parameters
    readers = np.ones(7) if grouped else np.minimum(PROCESSES, 24)
    alone = (latency + readers * 2 / bandwidth) * geometric(contention, NODES)
    return np.asarray(alone + (NODES if grouped else PROCESSES) * 2 / 14 + (SCATTER if grouped else 0))


@pytest.mark.parametrize("name", ROWS)
def test_a_storage_is_the_fit_of_its_rows(name: str) -> None:
    plain, grouped = ROWS[name]
    whole = name.startswith("whole")
    model = seconds_of_whole if whole else seconds

    def off(parameters: Floats) -> Floats:
        one, other = (model(parameters, grouped=each) / row - 1 for each, row in ((False, PLAIN), (True, GROUPED)))
        return np.concatenate([one[plain], other[grouped]])

    start, most = ([1.2, 10, 0.6], [5, 100, 0.9999]) if whole else ([1.2, 0.35, 0.6], [5, 2, 0.9999])
    fit = least_squares(off, start, bounds=([0, 0, 0], most), xtol=1e-13, ftol=1e-13, gtol=1e-13)
    points = expand(load_experiment(ROOT / "configs" / "experiments" / "grist-readers.yaml"), "laptop").points
    point = next(each.point for each in points if each.point and each.coords["storage"] == name)
    stated = point.canonical()["machine"]["storage"]
    second = stated["node_bandwidth"] / 1e9 if whole else stated["request"] / 1e12
    found = [stated["latency"] / 1e12, second, stated["contention"] / 1e6]
    assert found == pytest.approx(fit.x, rel=1e-3)


def _fitted(form: Form, start: float, most: float, rows: Floats = PLAIN[:3]) -> tuple[Floats, Floats]:
    """Return both rows of the table with the storage that 1, 24 and 48 plain readers give."""

    def off(parameters: Floats) -> Floats:
        return np.asarray(seconds(parameters, grouped=False, form=form)[:3] / rows - 1)

    fit = least_squares(off, [1.2, 0.35, start], bounds=([0, 0, 0], [5, 2, most]), xtol=1e-13, ftol=1e-13, gtol=1e-13)
    plain, grouped = (seconds(fit.x, grouped=each, form=form) for each in (False, True))
    return plain, grouped


def test_the_exponential_curve_is_the_one_that_contention_makes() -> None:
    own, other = _fitted(geometric, 0.6, 0.9999), _fitted(exponential, 2, 1e3)
    assert np.allclose(own, other, rtol=1e-6)  # c = exp(-1 / n0)
    assert own[0][6] / PLAIN[6] - 1 == pytest.approx(0.86, abs=0.005)


def test_the_curve_alone_misses_what_it_was_not_fitted_to() -> None:
    # A (1 - exp(-n / n0)) has two parameters, so 24 and 48 readers say all; one alone has no place in it.
    ratio = PLAIN[2] / PLAIN[1] - 1
    found = PLAIN[1] * geometric(float(ratio), NODES)
    assert found[[1, 2]] == pytest.approx(PLAIN[[1, 2]])
    assert found[[3, 6]] / PLAIN[[3, 6]] - 1 == pytest.approx([0.16, 0.71], abs=0.005)

    def off(parameters: Floats) -> Floats:
        return np.asarray(parameters[0] * geometric(parameters[1], NODES)[1:] / PLAIN[1:] - 1)

    fit = least_squares(off, [9.8, 0.6], bounds=([0, 0], [100, 0.9999]))
    assert np.abs(off(fit.x)).max() == pytest.approx(0.08, abs=0.005)  # of all rows from 24 readers on


def test_three_rows_allow_for_any_saturation() -> None:
    plain, grouped = _fitted(ceiling, 1.9, 7)
    assert (plain / PLAIN - 1)[3:].tolist() == pytest.approx([-0.16, -0.19, -0.17, -0.26], abs=0.006)
    assert np.nanmax(np.abs(grouped / GROUPED - 1)) < 0.15
    # Times within the 8 % by which the curve that fits the whole row misses some of these three.
    last = [
        _fitted(geometric, 0.6, 0.9999, PLAIN[:3] * (1 + np.array(off)))[0][6]
        for off in product([-0.08, 0.08], repeat=3)
    ]
    assert [min(last), max(last)] == pytest.approx([24, 63], abs=0.5)
