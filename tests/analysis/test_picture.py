"""Pictures of networks: what is drawn of a link whose two directions are of different classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.picture import curve, draw, one_way, ring
from tramontane.study.networks.machines import Machine


def group(**keys: Any) -> list[Any]:
    """Return the lines of one group, by class."""
    figure = draw(Machine.model_validate(keys), "drawn", tabled=False)
    return [np.asarray([path.vertices for path in each.get_paths()]) for each in figure.axes[1].collections]


def test_up_and_down_links_of_a_tree_share_a_line() -> None:
    up, down = group(topology="fattree", geometry=[3, 4])
    assert up.shape == down.shape
    assert np.ptp(up[:, 0, 1]) == np.ptp(down[:, 0, 1]) == 0  # each begins at its own level
    assert np.sort(up[:, 1], axis=0) == pytest.approx(np.sort(down[:, 1], axis=0))  # and ends in the middle
    assert up[0, 1, 1] == pytest.approx((up[0, 0, 1] + down[0, 0, 1]) / 2)


def test_links_that_are_alike_both_ways_are_drawn_whole() -> None:
    source, target = np.array([0, 1, 2]), np.array([1, 0, 0])
    assert one_way(source, target, np.array([1, 1, 1])).tolist() == [False, False, True]
    assert one_way(source, target, np.array([1, 2, 1])).tolist() == [True, True, True]


def test_lines_bow_on_a_grid_only() -> None:
    assert len(curve(np.array([0.0, 2.0]), np.array([3.0, 2.0]))) > 2
    for a in ring(12):
        assert all(len(curve(a, b)) == 2 for b in ring(12))
