"""The storages of `grist-readers` are least-squares fits of the stated rows of Wang et al. 2020, Table 2."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import least_squares

from tramontane.study import expand, load_experiment

ROOT = Path(__file__).parents[2]
PROCESSES = np.array([1, 24, 48, 72, 96, 110, 150])
PLAIN = np.array([1.96, 9.80, 17.85, 21.12, 21.80, 21.33, 23.95])
GROUPED = np.array([np.nan, 1.80, 3.02, 3.35, 3.42, 3.43, 3.45])
ROWS = {
    "fitted on 1 to 48 readers": ([0, 1, 2], []),
    "fitted on grouped readers": ([2], [1, 2, 3, 4, 5, 6]),
    "fitted on all": (list(range(7)), [1, 2, 3, 4, 5, 6]),
}


def seconds(parameters: NDArray[np.float64], *, grouped: bool) -> NDArray[np.float64]:
    """Return the times of reading 2 GB, as docs/programs.md has them; one reader a node or all."""
    latency, request, contention = parameters
    nodes = np.ceil(PROCESSES / 24)
    readers = np.ones(7) if grouped else np.minimum(PROCESSES, 24)
    share = 2e9 / nodes if grouped else np.minimum(24 / PROCESSES, 1) * 2e9
    alone = latency + share / 6e9 + readers * request
    return np.asarray(alone * (1 - contention**nodes) / (1 - contention) + 2e9 / 14e9)


@pytest.mark.parametrize("name", ROWS)
def test_a_storage_is_the_fit_of_its_rows(name: str) -> None:
    plain, grouped = ROWS[name]

    def off(parameters: NDArray[np.float64]) -> NDArray[np.float64]:
        one, other = (seconds(parameters, grouped=each) / row - 1 for each, row in ((False, PLAIN), (True, GROUPED)))
        return np.concatenate([one[plain], other[grouped]])

    fit = least_squares(off, [1.2, 0.35, 0.6], bounds=([0, 0, 0], [5, 2, 0.9999]), xtol=1e-13, ftol=1e-13, gtol=1e-13)
    points = expand(load_experiment(ROOT / "configs" / "experiments" / "grist-readers.yaml"), "laptop").points
    point = next(each.point for each in points if each.point and each.coords["storage"] == name)
    stated = point.canonical()["machine"]["storage"]
    found = [stated["latency"] / 1e12, stated["request"] / 1e12, stated["contention"] / 1e6]
    assert found == pytest.approx(fit.x, rel=1e-3)
