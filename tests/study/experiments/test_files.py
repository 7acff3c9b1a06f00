"""Files other than points and experiments: machines, grids, references; and where the project's folder is."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tramontane.errors import InputError, closest, show
from tramontane.study import find_root, list_experiments, list_machines, load_machine, validate_file
from tramontane.study.reading.reading import parse_yaml

Line = Callable[..., str]


@pytest.fixture
def project(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the project's configuration, to make mistakes in."""
    shutil.copytree(root / "configs", tmp_path / "configs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_root_is_found_upward(project: Path) -> None:
    assert find_root(project / "configs/machines") == project
    assert find_root() == project


def test_root_is_the_checkout_elsewhere(tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_root(tmp_path) == root


def test_a_working_directory_that_is_gone_is_one_line(
    tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert line(find_root, tmp_path) == "working directory: No such file or directory; allowed: one that exists"
    assert str(InputError(tmp_path, "", 1, "2")) == f"{tmp_path}: found 1; allowed: 2"


def test_lists(project: Path, root: Path) -> None:
    assert [path.stem for path in list_experiments(project)] == [path.stem for path in list_experiments(root)]
    assert {"torus-M", "fattree-L", "dragonfly-S"} <= set(list_machines(project))
    assert "base" not in list_machines(project)


def test_an_experiment_with_another_ending_is_told(project: Path, line: Line) -> None:
    (project / "configs/experiments/own.yml").touch()
    expected = "configs/experiments/own.yml: found '.yml'; allowed: own.yaml, as experiments are called"
    assert line(list_experiments, project).endswith(expected)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("topology: torus", "topolgy: torus", "torus-S.yaml: topolgy: unknown key 'topolgy'; did you mean 'topology'?"),
        ("topology: torus", "topology: tors", "torus-S.yaml: topology: found 'tors'; did you mean 'torus'?"),
        (
            "extends: base",
            "extends: bas",
            "torus-S.yaml: extends: found 'bas'; did you mean 'base'? allowed: base, base-",
        ),
        (
            "extends: base",
            "extends: torus-S",
            "torus-S.yaml: extends: found torus-S -> torus-S; allowed: a file that does",
        ),
        ("extends: base", "extends: 3", "torus-S.yaml: extends: found 3; allowed: one of base, "),
        (
            "extends: base",
            "name: x",
            "torus-S.yaml: name: found 'x'; allowed: no name; a machine is called like its file",
        ),
        (
            "geometry: [4, 4, 4]",
            "packet: 1 MB",
            "torus-S.yaml: geometry: missing; allowed: [X, Y, Z]: switches along each",
        ),
        (
            "geometry: [4, 4, 4]",
            "geometry: {switches: [4, 4]}",
            "torus-S.yaml: geometry: found {switches: [4, 4]} for topology torus; allowed: [",
        ),
    ],
)
def test_mistakes_in_a_machine(project: Path, line: Line, old: str, new: str, expected: str) -> None:
    file = project / "configs/machines/torus-S.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))
    assert expected in line(validate_file, file)


def test_a_mistake_in_the_base_is_reported_there(project: Path, line: Line) -> None:
    file = project / "configs/machines/base.yaml"
    file.write_text(file.read_text().replace("packet: 4096 B", "packet: 4096"))
    expected = "base.yaml: packet: found 4096 without a unit; allowed: a number with a unit (B, kB, KB, MB,"
    assert expected in line(validate_file, file)
    with pytest.raises(InputError, match=r"configs/machines/base.yaml: packet: found 4096 without a unit"):
        load_machine("torus-S", project)


def test_a_wrong_key_in_the_base(project: Path, line: Line) -> None:
    file = project / "configs/machines/base.yaml"
    file.write_text(file.read_text().replace("packet:", "paket:"))
    assert "base.yaml: paket: unknown key 'paket'; did you mean 'packet'?" in line(validate_file, file)


def test_what_lies_among_experiments_is_one(project: Path, line: Line) -> None:
    file = project / "configs" / "experiments" / "a-point.yaml"
    file.write_text("{ranks: 4, machine: torus-S, workload: {kind: halo, width: 1, grid: tiny}}")
    assert "a-point.yaml: ranks: unknown key 'ranks'" in line(validate_file, file)


@pytest.mark.parametrize("points", ["null", "[28800, 14400]", "[0, 1, 1]", "x", "[1.5, 1, 1]"])
def test_a_mistake_in_a_grid_is_told_at_the_grid(project: Path, line: Line, points: str) -> None:
    """Not at the point that names it."""
    grids = project / "configs/workloads/grids.yaml"
    grids.write_text(grids.read_text().replace("[28800, 14400, 256]", points))
    file = project / "point.yaml"
    file.write_text("{ranks: 4, machine: torus-S, workload: {kind: halo, width: 1, grid: paper}}")
    assert "grids.yaml: paper.points: found" in line(validate_file, file)


def test_mistakes_in_grids_and_references(project: Path, line: Line) -> None:
    grids = project / "configs/workloads/grids.yaml"
    grids.write_text(grids.read_text().replace("[28800, 14400, 256]", "[28800, 14400]"))
    assert "grids.yaml: paper.points: found [28800, 14400]; allowed: a list of whole" in line(validate_file, grids)
    references = project / "configs/references.yaml"
    references.write_text(references.read_text().replace("year: 2018", "yaer: 2018"))
    assert "references.yaml: Z.yaer: unknown key 'yaer'; did you mean 'year'?" in line(validate_file, references)


@pytest.mark.parametrize("number", ["0x10", "0o17", "0b11", "017", "1_000", ".inf", "-.inf", ".nan", "1e999"])
def test_a_number_that_is_not_plainly_decimal_is_refused(number: str) -> None:
    with pytest.raises(InputError, match=rf"^p.yaml: found {re.escape(number)} \(line 1\); allowed: a decimal number"):
        parse_yaml("p.yaml", f"ranks: {number}\n")


@pytest.mark.parametrize(("text", "number"), [("16", 16), ("-3", -3), ("+3", 3), ("1e3", 1000), (".5", 0.5), ("2.", 2)])
def test_a_decimal_number_is_read(text: str, number: float) -> None:
    assert parse_yaml("p.yaml", f"ranks: {text}\n") == {"ranks": number}


def test_unknown_machine(root: Path) -> None:
    with pytest.raises(InputError, match="configs/machines: no machine 'torus-MM'; did you mean 'torus-M'"):
        load_machine("torus-MM", root)


@pytest.mark.parametrize(
    ("word", "expected"),
    [("topolgy", "topology"), ("TOPOLOGY", "topology"), ("xyzzy", None), (3, None)],
)
def test_closest(word: object, expected: str | None) -> None:
    assert closest(word, ["topology", "geometry", "link"]) == expected


def test_show_is_short_and_reads_like_yaml() -> None:
    assert show({"a": [1, "b", None, True]}) == "{a: [1, 'b', nothing, true]}"
    assert len(show("x" * 1000)) == 60


def test_an_error_is_one_line_without_the_working_directory(project: Path) -> None:
    error = InputError(project / "a.yaml", "x.y", "line\nbreak", "z", hint="h", where="ranks=3", more=2)
    assert (
        str(error) == "a.yaml: x.y: found 'line break'; did you mean 'h'? allowed: z (at ranks=3) (and 2 more mistakes)"
    )


def test_bars_of_steps_need_programs_on_the_simulator(project: Path, line: Line) -> None:
    file = project / "configs/experiments/time-step-grid-point.yaml"
    text = file.read_text()
    validate_file(file)
    on_simgrid = text.replace("  machine: $machine\n", "  machine: $machine\n  substrate: simgrid\n", 1)
    file.write_text(on_simgrid.replace("machine.protocol.progress: hardware", "machine.protocol.progress: calls"))
    expected = "figure.kind: found 'steps'; allowed: another, or programs on the simulator"
    assert expected in line(validate_file, file)


FIGURES = """\
title: t
question: q?
description: d
base: {{ranks: 16, machine: {{topology: torus, geometry: [4, 4], nodes_per_switch: 1}}, workload: {workload}}}
cross: {{seed: [1, 2]}}
scales: {{smoke: {{}}}}
figure: {{x: seed, {figure}}}
"""
HALO = "{kind: halo, width: 3, grid: [64, 64, 8]}"
STATISTICS = "base: {statistics: {congestion: 4}, "
ROLES = (
    "{kind: program, roles: {servers: {leaders: 4, steps: [{work: {time: 1 ms}}]}, "
    "model: {others: true, steps: [{work: {time: 2 ms}}]}}}"
)
JOBS = (
    "{kind: jobs, jobs: [{name: one, ranks: 8, workload: {kind: program, steps: [{work: {time: 1 ms}}]}}, "
    "{name: other, ranks: 8, workload: {kind: program, steps: [{work: {time: 2 ms}}]}}]}"
)


def test_a_formula_in_the_name_of_a_series_that_could_not_be_drawn_is_refused(project: Path, line: Line) -> None:
    file = project / "configs" / "experiments" / "named.yaml"
    file.write_text(
        "title: Own\nquestion: Which?\ndescription: Own.\n"
        "cross: {series: ['a $x_{$', b], ranks: [4]}\nvariants: {series: {'a $x_{$': {seed: 1}, b: {seed: 2}}}\n"
        "base: {machine: torus-S, workload: {kind: allreduce, algorithm: ring}}\n"
        "scales: {smoke: {}}\nfigure: {lines: series}\n"
    )
    assert "named.yaml: cross.series: found 'a $x_{$'; allowed: a formula of TeX between" in line(validate_file, file)
    file.write_text(file.read_text().replace("lines: series", "lines: series, labels: {'a $x_{$': first}"))
    assert validate_file(file) == "experiment"  # a label stands for it
    file.write_text(file.read_text().replace(", labels: {'a $x_{$': first}", "").replace("$x_{$", "$x_2$"))
    assert validate_file(file) == "experiment"


@pytest.mark.parametrize(
    ("workload", "figure", "expected"),
    [
        (
            HALO,
            "kind: link-map",
            "figure.kind: found 'link-map'; allowed: another, or points with statistics.links each",
        ),
        (HALO, "y: slowdown", "figure.y: found 'slowdown'; allowed: another, or points with jobs"),
        (HALO, "y_label: '$x_{$'", "figure.y_label: found '$x_{$'; allowed: a formula of TeX between two $"),
        (HALO, "x_label: '$\\frac{$'", "figure.x_label: found '$\\frac{$'; allowed: a formula"),
        (HALO, "best: [{series: b, of: '*', label: $^$}]", "figure.best[0].label: found '$^$'; allowed: a formula"),
        (ROLES, "kind: steps", "figure.role: missing; allowed: the role whose steps are drawn: servers, model"),
        (
            ROLES,
            "kind: steps, role: servrs",
            "figure.role: found 'servrs'; did you mean 'servers'? allowed: servers, m",
        ),
        (
            "{kind: program, steps: [{work: {time: 1 ms}}]}",
            "kind: steps, role: model",
            "figure.role: found 'model'; allowed: nothing: no point has roles",
        ),
        (
            "{kind: program, steps: [{work: {time: 1 ms}}]}",
            "kind: steps, reduce: {seed: min}",
            "figure.reduce: found beside kind steps; allowed: beside kind scaling alone",
        ),
        (
            HALO,
            "kind: delay-distribution, best: [{series: b, of: '*'}]",
            "figure.best: found beside kind delay-distribution; allowed: beside kind scaling alone",
        ),
        (JOBS, "kind: steps", "figure.kind: found steps, of several jobs, which pass side by side; allowed: another"),
        (
            ROLES,
            "kind: steps, role: model, y: slowdown",
            "figure.y: found 'slowdown'; allowed: another, or points with",
        ),
    ],
)
def test_a_figure_that_could_not_be_drawn_is_refused(
    project: Path, line: Line, workload: str, figure: str, expected: str
) -> None:
    file = project / "configs/experiments/own.yaml"
    file.write_text(FIGURES.format(workload=workload, figure=figure))
    assert expected in line(validate_file, file)


@pytest.mark.parametrize(
    ("workload", "figure"),
    [
        (HALO, r"y_label: 'Time per $\frac{1}{2}$ step'"),
        (HALO, "y_label: 'Price in $, all in'"),
        (HALO, r"y_label: '\$x_{\$'"),
        (ROLES, "kind: steps, role: model"),
    ],
)
def test_a_figure_that_can_be_drawn_is_not(project: Path, workload: str, figure: str) -> None:
    file = project / "configs/experiments/own.yaml"
    file.write_text(FIGURES.format(workload=workload, figure=figure))
    assert validate_file(file) == "experiment"


RADICES = FIGURES.format(
    workload="{kind: allreduce, algorithm: recursive-k, radix: optimal}", figure="kind: radix"
).replace("x: seed", "x: ranks")


def test_there_is_one_best_radix_at_a_number_of_processes(project: Path, line: Line) -> None:
    file = project / "configs/experiments/own.yaml"
    file.write_text(RADICES.replace("seed: [1, 2]", "ranks: [16, 8], seed: [1, 2]"))
    expected = "figure.kind: found radix, with several best ones at an x, by seed; allowed: one best radix at each x"
    assert expected in line(validate_file, file)
    file.write_text(RADICES.replace("seed: [1, 2]", "ranks: [16, 8]").replace("scales:", "ensemble: 2\nscales:"))
    assert validate_file(file) == "experiment"


def test_two_series_have_two_labels(project: Path, line: Line) -> None:
    file = project / "configs/experiments/own.yaml"
    text = FIGURES.format(workload=HALO, figure="lines: series, labels: {first: one, second: one}")
    text = text.replace("seed: [1, 2]", "series: [first, second], seed: [1, 2]")
    file.write_text(text + "variants: {series: {first: {}, second: {allocation: random}}}\n")
    expected = "figure.labels.second: found 'one', as 'first' is called; allowed: a text of its own"
    assert expected in line(validate_file, file)
    file.write_text(file.read_text().replace("second: one", "second: other"))
    assert validate_file(file) == "experiment"


@pytest.mark.parametrize("kind", ["scaling", "steps", "links", "radix"])
def test_words_are_no_axis_of_numbers(project: Path, line: Line, kind: str) -> None:
    file = project / "configs/experiments/own.yaml"
    text = FIGURES.format(workload=HALO, figure=f"kind: {kind}").replace("x: seed", "x: allocation, lines: seed")
    file.write_text(text.replace("seed: [1, 2]", "allocation: [first-available, random], seed: [1, 2]"))
    expected = "figure.x: found 'allocation'; allowed: a dimension whose values are numbers"
    assert expected in line(validate_file, file)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("[50 ns, 1 us]", None),
        ("[0 ns, 1 us]", "figure.x_scale: found log, for duration from 0 on; allowed: linear"),
    ],
)
def test_quantities_are_an_axis_of_numbers(project: Path, line: Line, values: str, expected: str | None) -> None:
    file = project / "configs/experiments/own.yaml"
    text = FIGURES.format(workload=HALO, figure="lines: seed").replace("x: seed", "x: duration")
    file.write_text(text.replace("seed: [1, 2]", f"noise.duration: {values}, seed: [1, 2]"))
    if expected is None:
        assert validate_file(file) == "experiment"
    else:
        assert expected in line(validate_file, file)


def test_a_word_among_quantities_is_no_number(project: Path, line: Line) -> None:
    file = project / "configs/experiments/own.yaml"
    text = FIGURES.format(workload=HALO, figure="lines: seed").replace("x: seed", "x: bandwidth")
    file.write_text(text.replace("seed: [1, 2]", "machine.crossbar.bandwidth: [1 TB/s, unlimited], seed: [1, 2]"))
    expected = "figure.x: found 'bandwidth'; allowed: a dimension whose values are numbers, or quantities such as"
    assert expected in line(validate_file, file)


def test_a_map_or_matrix_is_of_one_point_and_a_pattern_of_one_workload(project: Path, line: Line) -> None:
    file = project / "configs/experiments/own.yaml"
    text = FIGURES.format(workload=HALO, figure="kind: link-map")
    file.write_text(text.replace("base: {", "base: {statistics: {links: each}, "))
    expected = "figure.kind: found link-map, with several points a machine, by seed; allowed: one point a machine"
    assert expected in line(validate_file, file)
    for kind in ("congestion-matrix", "delay-distribution"):
        text = FIGURES.format(workload=HALO, figure=f"kind: {kind}").replace("base: {", STATISTICS)
        file.write_text(text)
        expected = f"figure.kind: found {kind}, with several points a series, by seed; allowed: one point a series"
        assert expected in line(validate_file, file)
        file.write_text(text.replace("x: seed", "lines: seed"))
        assert validate_file(file) == "experiment"
    text = FIGURES.format(workload=HALO, figure="kind: pattern")
    file.write_text(text)
    assert validate_file(file) == "experiment"
    file.write_text(text.replace("seed: [1, 2]", "workload.width: [1, 2]").replace("x: seed", "x: width"))
    assert "figure.kind: found pattern, of several workloads; allowed: one workload" in line(validate_file, file)
