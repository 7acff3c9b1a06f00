"""Figs. 3 and 4: what is drawn is what the schedules say, and is what the paper describes."""

from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text

from analysis import schematics
from tramontane.substrates.simulator import schedule
from tramontane.support.layout import SCHEMATICS

from .drawn import legend_texts


def test_layouts_are_those_of_the_paper() -> None:
    """Section 3.1: x and y, then y and z, then x and z, then x and y are divided."""
    plan = schedule(schematics.TRANSPOSITION, 6)
    names = ["".join(schematics.divided(plan, stage)) for stage in range(4)]
    assert names == ["xy", "yz", "xz", "xy"]
    figure = schematics.layouts()
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "(a) x and y divided",
        "(b) y and z divided",
        "(c) x and z divided",
        "(d) x and y divided",
    ]


def test_groups_exchange_at_the_same_time() -> None:
    """Section 3.1: cy all-to-alls of cx processes, cx of cy, cy of cx."""
    plan = schedule(schematics.TRANSPOSITION, 6)
    assert schematics.groups(plan, 0) == [[0, 1], [2, 3], [4, 5]]
    assert schematics.groups(plan, 1) == [[0, 2, 4], [1, 3, 5]]
    assert schematics.groups(plan, 2) == [[0, 1], [2, 3], [4, 5]]


def test_visible_faces_cover_the_front_the_side_and_the_top_once() -> None:
    plan = schedule(schematics.TRANSPOSITION, 6)
    nx, ny, nz = grid = schematics.TRANSPOSITION.grid
    for stage in range(4):
        area = {"front": 0.0, "side": 0.0, "top": 0.0}
        for rank in range(6):
            for face in schematics.faces(plan.held(rank, stage), grid):
                extent = np.ptp(np.array(face), axis=0)
                name = {0: "side", 1: "front", 2: "top"}[int(np.argmin(extent))]
                area[name] += np.prod(np.delete(extent, np.argmin(extent)))
        assert area == {"front": nx * nz, "side": ny * nz, "top": nx * ny}


def arrows(axes: Axes) -> list[Text]:
    return [text for text in axes.texts if getattr(text, "arrow_patch", None) is not None]


def test_each_message_is_an_arrow() -> None:
    ring, halo, recursive = schematics.operations().axes
    plan = schedule(schematics.RING, 9)
    first = [own for own in schematics.transfers(plan) if own[0] == 0]
    assert len(arrows(ring)) == sum(source == 0 for _, _, source, _, _ in first) + sum(
        source != 0 and number == 0 for _, number, source, _, _ in first
    )
    assert legend_texts(ring) == [f"stage {n}" for n in (1, 2, 3, 4)]
    plan = schedule(schematics.HALO, 35)
    assert len(arrows(halo)) == sum(source == 17 for _, _, source, _, _ in schematics.transfers(plan)) == 8
    plan = schedule(schematics.ALLREDUCE, schematics.REMAINING)
    assert len(arrows(recursive)) == len(list(schematics.transfers(plan)))
    assert legend_texts(recursive) == ["remaining", "1 apart", "3 apart"]


def test_the_command_writes_what_the_workflow_expects(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert schematics.main([str(tmp_path)]) == 0
    assert {path.stem for path in tmp_path.iterdir()} == set(SCHEMATICS) == set(schematics.FIGURES)
    assert (tmp_path / "fig03.txt").read_text().startswith("Layouts of a spectral transposition")
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert schematics.main([str(blocked)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("name", SCHEMATICS)
def test_captions_say_what_they_are_to_be_compared_with(name: str) -> None:
    assert f"Fig. {int(name[3:])} of Zheng & Marguinaud (2018)" in schematics.CAPTIONS[name]
