"""Bars of busy links: the largest x, medians of members, and only what carried something."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr

from analysis.figures import FAMILIES, links
from analysis.spec import FigureSpec, spec_of


@pytest.fixture
def dataset() -> xr.Dataset:
    """Two machines at 10 and 100 ranks, two classes of links each."""
    shape = (2, 2, 3)
    rows = np.arange(np.prod(shape), dtype=float).reshape(shape) / 100
    rows[1, :, 2] = np.nan  # a class that the second has not
    figure = {"kind": "links", "x": "ranks", "y": "time_s", "lines": "machine"}
    of_link = {name: (("machine", "ranks", "link"), rows * factor) for name, factor in
               (("link_used_load", 0.5), ("link_max_load", 1.0), ("link_peak_queue", 1e5))}  # fmt: skip
    coords = {"machine": ["torus-S", "fattree-S"], "ranks": [10, 100], "link": ["ejection", "a", "b"]}
    return xr.Dataset(of_link, coords, {"figure_json": json.dumps(figure)}).assign(
        status=(("machine", "ranks"), np.full((2, 2), "ok"))
    )


def test_rows_are_of_the_largest_x(dataset: xr.Dataset) -> None:
    rows = links.link_table(dataset, spec_of(dataset))
    assert set(rows["x"]) == {100.0}
    assert list(rows["link"]) == ["ejection", "a", "b", "ejection", "a"]
    assert rows["max_load"].tolist() == pytest.approx([0.03, 0.04, 0.05, 0.09, 0.10])
    assert rows["used_load"].tolist() == pytest.approx([0.015, 0.02, 0.025, 0.045, 0.05])


def test_the_table_says_percent_and_kilobytes(dataset: xr.Dataset) -> None:
    table = FAMILIES["links"].numbers(dataset, spec_of(dataset))
    assert [row[2:] for row in table.rows][1] == ["a", "2.0", "4.0", "4.0"]


def test_no_single_links_are_refused(dataset: xr.Dataset) -> None:
    with pytest.raises(ValueError, match="no point tells single links"):
        links.link_table(dataset.drop_vars("link_max_load"), FigureSpec(kind="links", x="ranks", y="time_s"))
