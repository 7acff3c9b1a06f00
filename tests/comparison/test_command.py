"""`tramontane compare` as a user meets it, and the figure of what it writes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from analysis import draw as drawing
from analysis.figures import draw

from .conftest import Write

MEASURED: list[dict[str, Any]] = [
    {"tspan_s": "4e-06"},
    {"tspan_s": "5e-06", "k": 2},
    {"tspan_s": "6e-06", "routing": "valiant"},
    {"op": "none"},
    {"op": "allreduce", "alg": "mpi"},
]


def compare(folder: Path, *arguments: object) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "tramontane", "compare", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_json_is_one_object_and_a_second_call_runs_nothing(write: Write, checkout: Path) -> None:
    arguments = (write(*MEASURED), "--model", "default", "--members", 2, "--json")
    first = compare(checkout, *arguments)
    assert first.returncode == 0, first.stderr
    assert first.stdout.count("\n") == 1
    data = json.loads(first.stdout)
    assert set(data) == {"n", "median_ratio", "p95_deviation", "worst_deviation", "ordering_agreement", "groups"}
    assert data["n"] == 3
    assert [group["n"] for group in data["groups"]] == [2, 1]
    assert "6/6 points" in first.stderr
    assert "line 5: op none" in first.stderr
    assert "line 6: alg mpi" in first.stderr
    second = compare(checkout, *arguments)
    assert second.stdout == first.stdout
    assert "points" not in second.stderr


def test_tables_and_skipped_rows_are_printed(write: Write, checkout: Path) -> None:
    done = compare(checkout, write(*MEASURED), "--model", "default", "--members", 1)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    head = next(row for row in rows if row[:1] == ["topology"])
    assert head == [
        "topology",
        "routing",
        "workload",
        "algorithm",
        "n",
        "median",
        "90",
        "%",
        "95",
        "%",
        "worst",
        "orderings",
        "agree",
    ]
    assert ["torus444x1", "minimal", "transpose", "ring", "2"] in [row[:5] for row in rows]
    assert ["all", "3"] in [row[:2] for row in rows]
    assert "skipped: 2 rows" in done.stdout
    assert "  line 5: op none\n" in done.stdout


@pytest.mark.parametrize(
    ("rows", "without", "options", "part"),
    [
        (MEASURED, ("topo",), (), "line 1: column missing: topo; allowed: the columns of validation/sstmacro-16.0.csv"),
        ([{"topo": "torus"}], (), (), "line 2, topo: found 'torus'; did you mean 'torus-M'?"),
        ([{"P": "many"}], (), (), "line 2, P: found 'many'; allowed: a whole number, 1 or more"),
        (MEASURED, (), ("--model", "pisces"), "--model: found 'pisces'; did you mean 'pisces-16'?"),
        (MEASURED, (), ("--jitter", "1"), "--jitter: found '1' without a unit; allowed: a number with a unit"),
        (MEASURED, (), ("--members", "0"), "--members"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(
    write: Write,
    checkout: Path,
    rows: list[dict[str, Any]],
    without: tuple[str, ...],
    options: tuple[str, ...],
    part: str,
) -> None:
    done = compare(checkout, write(*rows, without=without), *options)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert part in done.stderr


@pytest.mark.parametrize(
    ("content", "part"), [(b"", "the file is empty"), (b"\x00\xff", "not a CSV file"), (None, "no such file")]
)
def test_a_file_that_is_none_is_one_line_and_status_2(
    tmp_path: Path, checkout: Path, content: bytes | None, part: str
) -> None:
    if content is not None:
        (tmp_path / "measured.csv").write_bytes(content)
    done = compare(checkout, tmp_path / "measured.csv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert part in done.stderr


def test_nothing_to_compare_is_no_success(write: Write, checkout: Path) -> None:
    done = compare(checkout, write({"op": "none"}), "--json")
    assert done.returncode == 2
    assert not done.stdout
    (line,) = done.stderr.splitlines()
    assert line.endswith("measured.csv: line 2: op none; allowed: a point that the simulator has")


def test_rows_become_a_figure_with_a_caption(write: Write, checkout: Path) -> None:
    (checkout / "out").mkdir()
    done = compare(checkout, write(*MEASURED), "--model", "default", "--members", 1, "--dataset", "out/rows.nc")
    assert done.returncode == 0, done.stderr
    drawing.draw_files([checkout / "out" / "rows.nc"], checkout / "out" / "rows")
    assert (checkout / "out" / "rows.svg").is_file()
    text = (checkout / "out" / "rows.txt").read_text()
    assert text.startswith("measured.csv: model default over times as measured")
    assert "3 rows, 2 left out." in text


def rows(ratios: list[float], topologies: list[str], workloads: list[str]) -> xr.Dataset:
    texts = {"topology": topologies, "routing": ["minimal"] * len(ratios), "workload": workloads}
    data = xr.Dataset({name: ("row", np.asarray(values, dtype=str)) for name, values in texts.items()})
    data["ratio"] = ("row", np.asarray(ratios))
    return data.assign_attrs(figure_json=json.dumps({"kind": "agreement", "width": "two-column"}))


def test_each_row_is_a_dot_at_its_ratio() -> None:
    figure = draw(rows([0.8, 1.0, 1.3], ["torus", "fattree", "torus"], ["halo", "halo", "transpose"]))
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["fattree, minimal", "torus, minimal"]
    dots = {str(line.get_label()): line for line in axes.get_lines() if line.get_linestyle() == "None"}
    assert list(dots) == ["transpose", "halo"]
    assert np.asarray(dots["halo"].get_xdata()).tolist() == [0.8, 1.0]
    assert np.asarray(dots["halo"].get_ydata()).round().tolist() == [1, 0]
    assert np.asarray(dots["transpose"].get_xdata()).tolist() == [1.3]
    low, high = axes.get_xlim()
    assert low < 0.8
    assert high > 1.3
    assert axes.get_xscale() == "log"
    assert [label.get_text() for label in axes.get_xticklabels()] == ["0.8", "0.9", "1", "1.1", "1.2"]


def test_exact_agreement_and_no_agreement_can_be_drawn() -> None:
    (axes,) = draw(rows([1.0, 1.0], ["torus", "torus"], ["allreduce", "allreduce"])).axes
    low, high = axes.get_xlim()
    assert low < 0.95 < 1.05 < high
    (empty,) = draw(rows([], [], [])).axes
    assert [text.get_text() for text in empty.texts] == ["no results yet"]
