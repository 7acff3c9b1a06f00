"""Pictures of networks: what is drawn of a link whose two directions are of different classes."""

from __future__ import annotations

from itertools import combinations
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


def test_a_single_switch_has_no_groups() -> None:
    figure = draw(Machine.model_validate({"topology": "fattree", "geometry": [1, 4]}), "drawn", tabled=False)
    assert [text.get_text() for axes in figure.axes for text in axes.texts] == ["1 switch"]


def test_links_that_are_alike_both_ways_are_drawn_whole() -> None:
    source, target = np.array([0, 1, 2]), np.array([1, 0, 0])
    assert one_way(source, target, np.array([1, 1, 1])).tolist() == [False, False, True]
    assert one_way(source, target, np.array([1, 2, 1])).tolist() == [True, True, True]


@pytest.mark.parametrize(
    "keys",
    [
        {"topology": "fattree", "geometry": [4, 12]},  # a group is drawn in part, which takes many words
        {"topology": "fattree", "geometry": {"down": [4, 6], "up": [1, 4]}},  # a group is one switch
        {"topology": "torus", "geometry": [4, 4, 4], "nodes_per_switch": 4},
        {"topology": "torus", "geometry": [2, 2]},  # a group is two switches, one above the other
    ],
)
def test_panels_of_a_picture_are_of_one_width_and_no_word_runs_into_another(keys: dict[str, Any]) -> None:
    figure = draw(Machine.model_validate(keys), "drawn")
    figure.canvas.draw()
    third = figure.bbox.width / 3
    boxes = [text.get_window_extent() for axes in figure.axes for text in axes.texts if text.get_text()]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)
    assert not any(one.padded(-1).overlaps(two.padded(-1)) for one, two in combinations(boxes, 2))
    circle, group, table = (axes.bbox for axes in figure.axes)
    assert circle.width > 0.7 * third
    assert group.width > 0.3 * third
    assert table.width > 0.7 * third


def test_lines_bow_on_a_grid_only() -> None:
    assert len(curve(np.array([0.0, 2.0]), np.array([3.0, 2.0]))) > 2
    for a in ring(12):
        assert all(len(curve(a, b)) == 2 for b in ring(12))
