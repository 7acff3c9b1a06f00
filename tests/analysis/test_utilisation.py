"""What links did in a run, as numbers and as a figure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib import pyplot
from typer.testing import CliRunner

import analysis.utilisation as utilisation
from analysis.figures.axes import place_legend
from analysis.picture import Layout
from tramontane.cli import app
from tramontane.results.timeline import CAUSES
from tramontane.study import Point, load_point
from tramontane.substrates.simulator import Simulator

MACHINES: dict[str, dict[str, Any]] = {
    "torus": {"topology": "torus", "geometry": [4, 3, 2], "nodes_per_switch": 2},
    "dragonfly": {"topology": "dragonfly", "geometry": [2, 2, 4], "nodes_per_switch": 2},
    "fattree": {"topology": "fattree", "geometry": [3, 3]},
}


@pytest.fixture(params=MACHINES)
def run(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    """A point in a file, and its result with all that is drawn."""
    workload = {"kind": "transposition", "algorithm": "ring-k", "radix": 2, "grid": [48, 48, 8]}
    data = {"ranks": 24, "workload": workload, "machine": MACHINES[request.param]}
    file = tmp_path / "point.yaml"
    file.write_text(json.dumps(data))
    asked = {"congestion": 0, "links": "each", "bins": 16, "waiting": 8}
    point = Point.from_canonical(load_point(file).canonical() | {"statistics": asked})
    return file, Simulator().run(point)


def test_loads_are_those_of_the_result(run: tuple[Path, dict[str, Any]]) -> None:
    file, result = run
    layout = Layout(load_point(file).network)
    loads = utilisation.loads_of(layout, result)
    for place, name in enumerate(layout.net.link_classes[1:], 1):
        own = loads[layout.links.link_class == place]
        (of_class,) = (each for each in result["links"] if each["name"] == name)
        assert own.mean() == pytest.approx(of_class["load"], rel=1e-9)
        used = own[own > 0].mean() if own.any() else 0
        assert (of_class["used_load"], of_class["max_load"]) == pytest.approx((used, own.max()), rel=1e-9)


def test_load_over_time_adds_up(run: tuple[Path, dict[str, Any]]) -> None:
    _, result = run
    for each in (*result["links"], *result["single_links"]):
        over_time = utilisation.load_over_time(each, result)
        assert over_time.max() < 1.01
        lengths = np.diff(utilisation.bounds_of_bins(result))
        assert lengths.sum() == pytest.approx(min(16 * result["bin_s"], result["time_s"]), rel=1e-12)
        assert (over_time * lengths).sum() == pytest.approx(each["load"] * result["time_s"], rel=1e-9)


BURST = {"kind": "transposition", "algorithm": "burst", "grid": [400, 400, 8]}


def counted(workload: dict[str, Any], jitter: str = "0 us") -> tuple[Point, dict[str, Any]]:
    """A point of large blocks, which fill links to the end, and its result."""
    plain = Point.model_validate(
        {"ranks": 24, "workload": workload, "machine": MACHINES["torus"], "start_jitter": jitter}
    )
    asked = {"congestion": 0, "links": "each", "bins": 16, "waiting": 8}
    point = Point.from_canonical(plain.canonical() | {"statistics": asked})
    return point, Simulator().run(point)


def test_the_load_of_the_last_bin_is_that_until_the_end() -> None:
    _, result = counted(BURST)
    (ejection,) = (each for each in result["links"] if each["name"] == "ejection")
    last = int(result["time_s"] / result["bin_s"])
    left = result["time_s"] - last * result["bin_s"]
    capacity = ejection["bytes"] / (ejection["load"] * result["time_s"])
    load = utilisation.load_over_time(ejection, result)
    assert 0.1 < left / result["bin_s"] < 0.9
    assert load[last] == pytest.approx(ejection["bytes_in_bins"][last] / (capacity * left), rel=1e-9)
    assert np.all(load[last + 1 :] == 0)


def test_what_passes_is_drawn_to_the_end_where_ranks_start_late() -> None:
    """Bins begin with the point, the time with the first rank."""
    point, result = counted(BURST, "100 us")
    carried = np.sum([each["bytes_in_bins"] for each in result["links"]], axis=0)
    begin = int(np.flatnonzero(carried)[-1]) * result["bin_s"]
    assert begin > result["time_s"]
    time = utilisation.draw(point.network, result, 100e-6).axes[2]
    unit = 1e-6 if "µs" in time.get_xlabel() else 1e-3
    assert time.get_xlim()[1] * unit > begin
    for each in (*result["links"], *result["single_links"]):
        assert utilisation.load_over_time(each, result, 100e-6).max() < 1.01


def test_figure_shows_causes_and_classes(run: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    file, result = run
    figure = utilisation.draw(load_point(file).network, result)
    groups, group, time, waiting = figure.axes[:4]
    (between,) = groups.collections
    shades = np.concatenate([np.asarray(each.get_edgecolor()) for each in group.collections])
    layout = Layout(load_point(file).network)
    loads = utilisation.loads_of(layout, result)
    busiest: dict[frozenset[int], float] = {}
    for source, target, load in zip(layout.links.source, layout.links.target, loads, strict=True):
        pair = frozenset({int(layout.group[source]), int(layout.group[target])})
        busiest[pair] = max(load, busiest.get(pair, 0.0))
    most = np.array([load for pair, load in busiest.items() if len(pair) == 2])
    known = utilisation.colours_up_to(loads.max()).to_rgba(most)
    assert np.sort(np.asarray(between.get_edgecolor()), axis=0) == pytest.approx(np.sort(known, axis=0))
    assert 1 <= len(np.unique(shades, axis=0)) <= len(np.unique(loads))
    legend = time.get_legend()
    assert legend is not None
    assert next(iter(legend.get_texts())).get_text() == "ejection"
    assert waiting.get_legend() is not None
    most = max(utilisation.load_over_time(each, result).max() for each in (*result["links"], *result["single_links"]))
    assert most <= time.get_ylim()[1] < 2 * most, "a small load can be seen, too"
    assert len(time.get_yticks()) >= 2
    assert time.get_yticks()[-1] <= min(1, 1.05 * most), "no load is above 1"
    assert (time.get_xlabel(), waiting.get_ylabel()) == ("Time (µs)", "Mean time (µs)")
    assert time.get_xlim()[1] == pytest.approx(result["time_s"] * 1e6)
    longest = max(
        np.sum([result["waiting"][f"{cause}_s"] for cause in CAUSES if f"{cause}_s" in result["waiting"]], axis=0)
    )
    assert waiting.dataLim.y1 == pytest.approx(longest * 1e6)
    told = tmp_path / "result.json"
    told.write_text(json.dumps(result))
    assert utilisation.main([str(file), str(told), str(tmp_path / "out" / "map")]) == 0
    assert {each.suffix for each in (tmp_path / "out").iterdir()} == {".svg", ".png", ".pdf"}


@pytest.mark.parametrize("text", ["{}", "[]", '{"time_s": 1.0}', "no JSON"])
def test_what_is_no_result_is_told(
    run: tuple[Path, dict[str, Any]], text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.json"
    other.write_text(text)
    assert utilisation.main([str(run[0]), str(other), str(tmp_path / "map")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(str(other))
    assert "JSON" in line or "allowed: what `tramontane utilisation POINT` writes" in line


def test_a_legend_stands_on_no_area() -> None:
    figure = pyplot.figure(figsize=(4, 3))
    axes = figure.add_subplot()
    area = axes.stairs([9.0, 9.0], [0, 50, 100], fill=True, label="network")
    axes.set(xlim=(0, 100), ylim=(0, 10))
    place_legend(axes, [area])
    legend = axes.get_legend()
    assert legend is not None
    assert axes.transData.inverted().transform(legend.get_window_extent())[0, 1] > 9
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("ranks", "machine", "words"),
    [
        (1, {"topology": "torus", "geometry": [1, 1, 1], "nodes_per_switch": 4}, ["1 group", "group 0: 1 switch"]),
        (4, {"topology": "torus", "geometry": [1, 1, 1], "nodes_per_switch": 4}, ["1 group", "group 0: 1 switch"]),
        (4, {"topology": "torus", "geometry": [4], "nodes_per_switch": 1}, ["4 groups", "group 0: 1 switch"]),
    ],
)
def test_a_group_of_one_switch_is_drawn(tmp_path: Path, ranks: int, machine: dict[str, Any], words: list[str]) -> None:
    """One rank takes no time."""
    workload = {"kind": "allreduce", "algorithm": "recursive-doubling", "repeats": 1}
    (tmp_path / "point.yaml").write_text(json.dumps({"ranks": ranks, "workload": workload, "machine": machine}))
    asked = {"congestion": 0, "links": "each", "bins": 4, "waiting": 4}
    point = Point.from_canonical(load_point(tmp_path / "point.yaml").canonical() | {"statistics": asked})
    figure = utilisation.draw(point.network, Simulator().run(point))
    groups, group, time, _ = figure.axes[:4]
    assert [text.get_text() for axes in (groups, group) for text in axes.texts] == words
    low, high = group.get_xlim()
    assert low < float(np.asarray(group.lines[0].get_xdata())[0]) < high
    assert high - low > 0.01
    legend = time.get_legend()
    assert legend is not None
    with_links = [each for each in legend.get_texts() if each.get_text().startswith("dimension")]
    assert len(with_links) == (machine["geometry"] == [4])


def test_a_network_too_large_for_a_map_has_its_totals(tmp_path: Path) -> None:
    """As the command does it, to its line on the hottest links."""
    workload = {"kind": "halo", "width": 1, "grid": [32, 32, 4]}
    (tmp_path / "point.yaml").write_text(json.dumps({"ranks": 16, "workload": workload, "machine": "dragonfly-MM"}))
    done = CliRunner().invoke(app, ["utilisation", str(tmp_path / "point.yaml"), "-o", str(tmp_path / "map")])
    assert done.exit_code == 0, done.output
    assert "injection" in done.output or "ejection" in done.output
    result = json.loads((tmp_path / "map.json").read_text())
    figure = utilisation.draw(load_point(tmp_path / "point.yaml").network, result)
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == ["(a) load over time", "(b) why ranks wait"]
    assert (tmp_path / "map.png").is_file()
    names = [str(tmp_path / f"map.{ending}") for ending in ("json", "svg", "png", "pdf")]
    assert done.output.splitlines()[-4:] == names
