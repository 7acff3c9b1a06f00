"""Curves of the nearest machine beside our own: the same axes and unit, a picture for each of a paper's figures."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from analysis import nearest
from analysis.figures.panel import compose
from analysis.page import shares as page_shares
from analysis.shares import main
from tests.analysis.test_shares import study
from tests.claims.data import dataset
from tests.claims.test_matching import FOUND, ROOT, answer, tried
from tramontane.claims import curves
from tramontane.results import datasets
from tramontane.study.experiments.experiments import DRAW


def curve(factor: float, figure: str = "5b", **block: Any) -> xr.Dataset:
    """Return times of two series at three process counts."""
    times = {"minimal": [3e-3, 2e-3, 1e-3], "ugal": [2e-3, 1e-3, 5e-4]}
    data = dataset({name: [factor * time for time in own] for name, own in times.items()}, x=(100, 300, 1000))
    data["time_s"].attrs["units"] = "s"
    figure_json = json.dumps({"x": "ranks", "lines": "series", **block})
    names = {"paper_figure": figure, "experiment": f"fig{figure}", "figure_json": figure_json}
    return data.assign_attrs(names)


def test_both_machines_have_the_same_axes_and_the_same_unit() -> None:
    panels = nearest.pair(curve(1), curve(1e-3), "draw 7")  # alone, one would be in ms and the other in us
    assert [own.title for own in panels] == ["5b, our machine", "5b, draw 7"]
    left, right = compose(panels, "page", 2).axes
    assert left.get_xlim() == right.get_xlim()
    assert left.get_ylim() == right.get_ylim()
    assert left.get_ylabel() == "Communication time (µs)"
    assert max(np.max(line.get_ydata()) for line in right.lines) == pytest.approx(3)
    assert min(np.min(line.get_ydata()) for line in left.lines) == pytest.approx(500)
    assert left.get_legend() is not None
    assert right.get_legend() is None


def test_times_of_zero_choose_no_unit() -> None:
    ours = curve(1)  # 0.5 to 3 ms
    ours["time_s"][..., 0, 0] = 0.0
    left, _ = compose(nearest.pair(ours, curve(1), "draw 7"), "page", 2).axes
    assert left.get_ylabel() == "Communication time (ms)"


def test_what_has_no_curves_is_left_out() -> None:
    block = {"kind": "congestion-matrix"}
    assert nearest.pair(curve(1, **block), curve(1, **block), "draw 7") == []


def test_there_is_a_picture_for_each_figure_and_the_report_shows_them(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "over-own-smoke"
    for machine, factor in ((curves.OURS, 1.0), (curves.NEAREST, 0.5)):
        for figure in ("5b", "5d", "10a"):
            datasets.write(curve(factor, figure), folder / curves.MACHINES / machine / f"fig{figure}.nc")
    datasets.write(curve(1.0, "9a"), folder / curves.MACHINES / curves.OURS / "fig9a.nc")  # of ours alone
    (folder / "shares.json").write_text(json.dumps(study(title="Own ranges", about="8 draws.")))
    assert main([str(folder / "shares.json"), str(folder / "figures" / "shares")]) == 0
    drawn = {file.name: file.read_text() for file in (folder / "figures").glob("shares-nearest-*.svg")}
    assert drawn.keys() == {"shares-nearest-fig05.svg", "shares-nearest-fig10.svg"}
    for words in ("5b, our machine", "5b, draw 1", "5d, draw 1"):
        assert words in drawn["shares-nearest-fig05.svg"], words
    [own] = page_shares.studies(tmp_path, "smoke", folder / "report.html")
    assert len(own.pictures) == 5


def test_both_machines_are_those_of_the_study() -> None:
    found = dict(curves.both(answer(FOUND), ROOT))
    assert list(found) == [curves.OURS, curves.NEAREST]
    assert found[curves.OURS].keys() == found[curves.NEAREST].keys()
    for data in found[curves.NEAREST].values():
        assert DRAW not in data.dims
    assert dict(curves.both(answer([tried("D", [np.nan] * 4, np.nan)]), ROOT)) == {}
