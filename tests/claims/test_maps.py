"""Ratios of two series over two dimensions, as a table that says where they change sides."""

import json
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tramontane.claims import maps, pages
from tramontane.errors import InputError
from tramontane.results import datasets

COSTS, WAITS, RANKS = ["0 ns/B", "1 ns/B"], ["1 us", "1 ms", "1 s"], [64, 4096]


def store(root: Path, members: int = 2) -> None:
    """Store messages that take 1 + cost, puts that take 1 + wait, and locks that nobody has timed at 4096 ranks."""
    time = np.zeros((2, 3, 3, 2, members))
    time[:, :, 0] = np.array([1.001, 2.0])[:, None, None, None]
    time[:, :, 1] = np.array([1.0, 1.5, 3.0])[None, :, None, None]
    time[:, :, 2] = 1.25
    time[:, :, 2, 1] = np.nan
    time[:, 2, 2] = np.nan
    time *= 1 + 0.01 * np.arange(members)
    data = xr.Dataset(
        {"time_s": (("cost", "wait", "series", "ranks", "member"), time)},
        {"cost": COSTS, "wait": WAITS, "series": ["p2p", "put", "lock"], "ranks": RANKS, "member": range(members)},
        {"figure_json": json.dumps({"x": "ranks"})},
    )
    file = root / "results" / "laptop" / "datasets" / "tiny.nc"
    file.parent.mkdir(parents=True)
    datasets.write(data, file)


def lines(root: Path, words: str) -> list[str]:
    return maps.ratios(root, "laptop", words.split()).splitlines()


def test_a_map_has_a_row_for_each_cost_and_says_where_sides_change(tmp_path: Path) -> None:
    store(tmp_path)
    assert lines(tmp_path, "tiny p2p put cost wait ranks=64") == [
        "| cost | 1 us | 1 ms | 1 s | sign changes |",
        "| --- | ---: | ---: | ---: | --- |",
        "| 0 ns/B | 1? | **0.667** | **0.334** | between 1 us and 1 ms? |",
        "| 1 ns/B | 2 | 1.33 | **0.667** | between 1 ms and 1 s |",
    ]


def test_other_dimensions_stand_in_front_and_what_nobody_timed_is_left_out(tmp_path: Path) -> None:
    store(tmp_path, members=1)
    found = lines(tmp_path, "tiny p2p lock wait cost")
    assert found[0] == "| ranks | wait | 0 ns/B | 1 ns/B | sign changes |"
    assert found[2:] == [
        "| 64 | 1 us | **0.801** | 1.6 | between 0 ns/B and 1 ns/B |",
        "| 64 | 1 ms | **0.801** | 1.6 | between 0 ns/B and 1 ns/B |",
    ]
    across = lines(tmp_path, "tiny p2p lock cost wait ranks=64 cost=1*")
    assert across == [
        "| cost | 1 us | 1 ms | sign changes |",
        "| --- | ---: | ---: | --- |",
        "| 1 ns/B | 1.6 | 1.6 | no |",
    ]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("huge p2p put cost wait", r"no results of 'huge' at scale laptop; allowed: tiny"),
        ("tiny p2p pull cost wait", r"no series 'pull'; allowed: p2p, put, lock"),
        ("tiny p2p put cost weight", r"no dimension 'weight'"),
        ("tiny p2p put cost cost", r"found 'cost'; allowed: two different dimensions"),
        ("tiny p2p put cost wait ranks=7", r"no ranks like '7'; allowed: a pattern of 64, 4096"),
    ],
)
def test_what_is_not_there_is_one_line(tmp_path: Path, words: str, expected: str) -> None:
    store(tmp_path)
    with pytest.raises(InputError, match=expected):
        lines(tmp_path, words)


def test_a_page_asks_for_a_map(tmp_path: Path) -> None:
    store(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("<!-- map: laptop tiny p2p put cost wait ranks=64 -->\n<!-- end -->\n")
    assert pages.fill(page, tmp_path) == (1, True)
    assert "| 1 ns/B | 2 | 1.33 | **0.667** | between 1 ms and 1 s |" in page.read_text()
    page.write_text("<!-- map: laptop tiny p2p put -->\n<!-- end -->\n")
    with pytest.raises(InputError, match="map: SCALE EXPERIMENT OVER UNDER ROWS COLUMNS"):
        pages.asked(page)


def test_what_takes_no_time_has_no_ratio(tmp_path: Path) -> None:
    store(tmp_path)
    file = tmp_path / "results" / "laptop" / "datasets" / "tiny.nc"
    data = datasets.read(file).load()
    data["time_s"].loc[{"series": "put", "cost": COSTS[0], "wait": WAITS[0]}] = 0
    datasets.write(data, file)
    found = lines(tmp_path, "tiny p2p put cost wait ranks=64")
    assert found[2] == "| 0 ns/B |  | **0.667** | **0.334** | no |"
