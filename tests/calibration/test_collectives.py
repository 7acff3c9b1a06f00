"""Fits to collectives: a machine whose times the simulator made is found again, and mistakes are said in one line."""

import io
import math
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from analysis import draw as drawing
from tramontane.calibration.collectives import predicting
from tramontane.calibration.collectives.calibrate import Predictor, calibrate, keep
from tramontane.calibration.collectives.discrepancy import discrepancy
from tramontane.calibration.collectives.evaluation import Simulations
from tramontane.calibration.collectives.fitting import Fit, refit
from tramontane.calibration.collectives.leaving_out import LeftOut, coverage, interval
from tramontane.calibration.collectives.parameters import KNOBS, Parameter, messages, parameters, shares
from tramontane.calibration.collectives.points import costing, make_point, placement, sides
from tramontane.calibration.collectives.predicting import write_predictions
from tramontane.calibration.collectives.presentation import as_dataset, as_text
from tramontane.calibration.collectives.rows import read_rows
from tramontane.comparison.predictions import read_predictions
from tramontane.errors import InputError
from tramontane.results.datasets import write
from tramontane.study import load_machine
from tramontane.study.systems.libraries import library_algorithms
from tramontane.study.systems.timed_collectives import Case

ROOT = Path(__file__).parents[2]
MACHINE = "marenostrum5"
HEAD = "machine,date,shape,nodes,operation,algorithm,variant,bytes,median_us"
#: What messages cost on a machine of ours, by the names of the unknowns.
TRUTH = {
    "send overhead": 4e5,
    "receive overhead": 2e5,
    "injection latency": 1e6,
    "injection": 50.0,
    "links": 20.0,
    "copies of eager messages": 60.0,
    "reducing": 150.0,
    "reducing beyond caches": 100.0,
    "packing, a message": 5e5,
    "packing, a block": 6e4,
    "packing": 200.0,
    "packing beyond caches": 80.0,
}


def cases(nodes: int) -> list[Case]:
    def own(operation: str, algorithm: str, size: int) -> Case:
        return Case(MACHINE, str(nodes), nodes, operation, algorithm, size)

    made = [own("alltoall", name, size) for name in ("linear", "pairwise", "bruck") for size in (8, 2048, 2**19)]
    return made + [
        own("allreduce", name, size) for name in ("recursive-doubling", "ring") for size in (64, 2**13, 2**20)
    ]


@pytest.fixture(scope="module")
def predictor(tmp_path_factory: pytest.TempPathFactory) -> Predictor:
    simulations = Simulations(tmp_path_factory.mktemp("kept") / "simulations.jsonl", 2)
    return Predictor(load_machine(MACHINE, ROOT), library_algorithms(ROOT), simulations)


@pytest.fixture(scope="module")
def measured(predictor: Predictor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    wanted = [*cases(4), *cases(8)]
    values = np.array([TRUTH[own.name] for own in predictor.known])
    times = predictor.times(wanted, values, "truth")
    lines = [
        f"{own.machine},d{own.nodes},{own.shape},{own.nodes},{own.operation},{own.algorithm},own,{own.size},{1e6 * s}"
        for own, s in zip(wanted, times, strict=True)
    ]
    file = tmp_path_factory.mktemp("measured") / "ours.csv"
    file.write_text("\n".join([HEAD, *lines]) + "\n", encoding="utf-8")
    return file


def project(folder: Path) -> Path:
    """Return a project with a machine's base."""
    shutil.copytree(ROOT / "configs" / "machines", folder / "project" / "configs" / "machines")
    return folder / "project"


def test_a_machine_is_found_again_and_predicts_what_it_has_not_seen(measured: Path, tmp_path: Path) -> None:
    found, predictor = calibrate(measured, MACHINE, tmp_path, ROOT, 2)
    # Guesses pull a little; packing and reducing hide behind each other at these few sizes.
    assert np.abs(found.fit.residuals).max() < np.log(1.1)
    by_name = {own.name: value for own, value in zip(found.fit.known, found.fit.values, strict=True)}
    for name in ("injection latency", "injection", "copies of eager messages"):
        assert by_name[name] == pytest.approx(TRUTH[name], rel=0.15), name
    total = by_name["send overhead"] + by_name["receive overhead"]
    assert total == pytest.approx(6e5, rel=0.15)
    sigma = dict(zip(by_name, found.fit.sigma, strict=True))
    assert sigma["injection"] < 0.2 < sigma["reducing beyond caches"]
    # Sixteen nodes, which no row has.
    truth = np.array([TRUTH[own.name] for own in predictor.known])
    unseen = cases(16)
    ratio = predictor.times(unseen, found.fit.values, "") / predictor.times(unseen, truth, "")
    assert np.abs(np.log(ratio)).max() < np.log(1.25)

    # Predictions are these, times next to nothing, inside their intervals, as `compare --predictions` reads them.
    wanted = [case for case in unseen if predicting.why_not(case, found) is None]
    # Sixteen blocks of 512 KiB are too much for caches, and fewer are not; nor is the largest reduction.
    assert [case for case in unseen if case not in wanted] == [Case(MACHINE, "16", 16, "alltoall", "bruck", 2**19)]
    write_predictions(predicting.predict(wanted, found, predictor), tmp_path / "predictions" / "ours.csv")
    for case, row in read_predictions(tmp_path / "predictions", ROOT).items():
        assert row.median * 1e-6 == pytest.approx(predictor.times([case], truth, "")[0], rel=0.25)
    huge = Case(MACHINE, "6000", 6000, "alltoall", "linear", 8)
    assert predicting.why_not(huge, found) == "more than 20,000,000 messages"
    few = Case(MACHINE, "16", 16, "allreduce", "rabenseifner", 60)
    assert predicting.why_not(few, found) == "with fewer elements than ranks the library takes a linear one"
    packing = [row for row in found.rows if row.case.algorithm != "bruck"]
    reason = predicting.why_not(cases(16)[6], replace(found, rows=packing))
    assert reason == "no measured row shows packing, a message, packing, a block, packing"
    assert "1 of 2 rows predicted" in predicting.as_text({huge: "x", unseen[0]: None})

    text = as_text(found)
    assert "what the rows can't tell apart" in text
    assert "links" in text.split("can't tell apart")[1], "nothing shows links that never are full"
    for kind in ("size", "algorithm", "shape", "date"):
        assert f"\n{kind} " in text

    # A second call runs nothing, and a line that a kill has cut is run again.
    kept = tmp_path / "simulations.jsonl"
    lines = kept.read_text(encoding="utf-8").splitlines()
    stream = io.StringIO()
    again = Simulations(kept, 1, stream)
    same = Predictor(load_machine(MACHINE, ROOT), library_algorithms(ROOT), again)
    assert same.times(unseen, found.fit.values, "").tolist() == predictor.times(unseen, found.fit.values, "").tolist()
    assert again.ran == 0
    kept.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:-3], encoding="utf-8")
    assert len(Simulations(kept, 1)._known) == len(lines) - 1

    # The file is a machine like any other, and the figure can be drawn.
    output = project(tmp_path) / "configs" / "machines" / "fitted.yaml"
    keep(found, measured, output, ROOT)
    own = load_machine("fitted", output.parents[2])
    assert own.injection.latency == pytest.approx(by_name["injection latency"], rel=0.01)
    assert (
        own.links["ejection"].bandwidth
        == own.injection.bandwidth
        == pytest.approx(1e12 / by_name["injection"], rel=0.01)
    )
    assert (own.geometry, own.protocol.short_limit) == (load_machine(MACHINE, ROOT).geometry, 8192)
    write(as_dataset(found), tmp_path / "rows.nc")
    drawing.draw_files([tmp_path / "rows.nc"], tmp_path / "rows")
    assert f"{MACHINE}, alltoall, bruck" in (tmp_path / "rows.md").read_text(encoding="utf-8")


def test_work_is_paid_by_those_who_do_it() -> None:
    known = parameters(load_machine("leonardo", ROOT))
    names = [own.name for own in known]

    def paid(operation: str, algorithm: str, size: int) -> dict[str, dict[str, float]]:
        table = shares(Case("leonardo", "64", 64, operation, algorithm, size), known)
        return {
            knob: {name: float(part) for name, part in zip(names, row, strict=True) if part}
            for knob, row in zip(KNOBS, table, strict=True)
        }

    assert paid("alltoall", "linear", 8) == {
        "send": {"send overhead": 1},
        "receive": {"receive overhead": 1},
        "injection": {"injection latency": 1},
        "global": {"latency of a global link": 1},
        "injection_byte": {"injection": 1},
        "link_byte": {"links": 1},
        "copy_byte": {"copies of eager messages": 1},
        "unpack_byte": {},
    }
    bruck = paid("alltoall", "bruck", 8)
    assert bruck["send"] == {"send overhead": 1, "packing, a message": 1, "packing, a block": 32}
    assert bruck["unpack_byte"] == {"packing": 1}
    assert paid("allreduce", "recursive-doubling", 2**26)["unpack_byte"] == {"reducing": 1, "reducing beyond caches": 1}
    assert paid("allreduce", "ring", 2**26)["unpack_byte"] == {"reducing": 0.5}
    # Of 32, 16, 8, ... MiB, twice, those of 32 and 16 MiB don't fit.
    half = paid("allreduce", "rabenseifner", 2**26)["unpack_byte"]
    assert half["reducing beyond caches"] == pytest.approx(0.5 * 48 / 63)
    # Fewer elements than ranks: recursive doubling.
    assert messages(Case("leonardo", "64", 64, "allreduce", "ring", 32)) == [32.0] * 6


@pytest.mark.parametrize(
    ("operation", "algorithm", "number", "everything"),
    [
        ("alltoall", "linear", 15, 15 * 1024),
        ("alltoall", "pairwise", 15, 15 * 1024),
        ("alltoall", "bruck", 4, 4 * 8 * 1024),
        ("allreduce", "recursive-doubling", 4, 4 * 1024),
        ("allreduce", "ring", 30, 2 * 1024 * 15 / 16),
        ("allreduce", "rabenseifner", 8, 2 * 1024 * 15 / 16),
    ],
)
def test_what_a_rank_sends_has_closed_forms(operation: str, algorithm: str, number: int, everything: float) -> None:
    sent = messages(Case("leonardo", "16", 16, operation, algorithm, 1024))
    assert (len(sent), sum(sent)) == (number, everything)


def test_what_rows_say_of_an_unknown_by_hand() -> None:
    """One row that pays the unknown alone, and one that does not; both are as they were fitted."""
    slopes, ones = np.array([[1.0], [0.0]]), np.ones(2)
    found = Fit((Parameter("a", "ps", 100.0, 0.5),), np.array([120.0]), ones, slopes, ones)
    assert found.scatter == 0.15
    assert found.sigma == pytest.approx([(1 / 0.15**2 + 1 / 0.5**2) ** -0.5])
    [(left, direction)] = found.directions
    assert [left, abs(direction[0])] == pytest.approx([found.sigma[0] / 0.5, 1])
    assert refit(found, [1]) == pytest.approx([100.0], rel=1e-4), "what the rows don't show stays as guessed"
    assert 100 < refit(found, [0])[0] < 120
    off = replace(found, measured=np.exp(np.array([0.4, -0.6])))
    assert off.scatter == pytest.approx(1.4826 * 0.5)


def test_cases_that_are_not_predicted_are_told_with_the_reason() -> None:
    first, *others = cases(4)
    told = predicting.as_text({first: None} | dict.fromkeys(others[:2], "x"))
    assert told == "1 of 3 rows predicted\n  left out, 2 rows: 4 alltoall linear: x"


def test_a_job_is_together_where_it_fits_into_half_a_group() -> None:
    network = load_machine("leonardo", ROOT)
    half = network.facts.nodes // network.facts.groups // 2
    placed = [placement(Case("leonardo", "x", nodes, "alltoall", "bruck", 8), network) for nodes in (half, half + 1)]
    assert placed == ["together", "random"]
    assert placement(Case("fugaku", "x", half, "alltoall", "bruck", 8), load_machine("fugaku", ROOT)) == "shape"


def test_a_shape_of_two_sides_is_folded_into_a_near_cube() -> None:
    assert sides(Case("fugaku", "32x256", 8192, "alltoall", "bruck", 8)) == [16, 16, 32]
    assert sides(Case("fugaku", "4x4x4", 64, "alltoall", "bruck", 8)) == [4, 4, 4]
    assert sides(Case("fugaku", "3x5", 15, "alltoall", "bruck", 8)) == [3, 5]


@pytest.mark.parametrize(
    ("machine", "shape", "line"),
    [
        ("fugaku", "2x2x4096", "--machine: alltoall on 2x2x4096 nodes: found 4096 along its dimension 2; allowed: a"),
        ("torus-S", "2x2x2", "--machine: alltoall on 2x2x2 nodes: found [2, 2, 2] of 8 switches; allowed: a product"),
    ],
)
def test_a_job_that_does_not_fit_into_the_torus_is_one_line(machine: str, shape: str, line: str) -> None:
    case = Case(machine, shape, math.prod(map(int, shape.split("x"))), "alltoall", "bruck", 8)
    with pytest.raises(InputError) as caught:
        make_point(case, np.full(len(KNOBS), 100.0), load_machine(machine, ROOT), library_algorithms(ROOT))
    assert line in str(caught.value)
    assert "pydantic" not in str(caught.value)


def test_a_machine_costs_what_is_paid() -> None:
    paid = np.array([1e5, 2e5, 3e5, 4e5, 40.0, 50.0, 60.0, 70.0])
    found = costing(load_machine("leonardo", ROOT), paid)
    assert found["overhead"] == {"send": 100_000, "receive": 200_000}
    assert found["injection"]["bandwidth"] == found["link"]["classes"]["ejection"]["bandwidth"] == 25 * 10**9
    assert found["link"]["bandwidth"] == 20 * 10**9
    assert found["link"]["classes"]["global"]["latency"] == 400_000
    assert found["unpack"] == {"per_byte": 70}


def test_intervals_and_coverage_by_hand() -> None:
    off = [("a", -0.2), ("a", 0.0), ("b", 0.1), ("b", 1.0)]
    left = [LeftOut("shape", shape, 0, "together", 1.0, value) for shape, value in off]
    # One shape: 5 % beyond each end; two: 6.7 %, between the rows in order.
    low, high = interval(left[:2])
    assert (np.log(low), high) == (pytest.approx(-0.19), 1.0)
    assert np.log(interval(left)) == pytest.approx([-0.2 + 0.2 * 0.2, 1.0 - 0.9 * 0.2])
    # a: within 1 and exp(0.955), so 0.0 only; b: within exp(-0.19) and 1, so none.
    assert coverage(left) == [("a", 2, 0.5), ("b", 2, 0.0)]
    # a has a third row, so b: within exp(-0.18) and exp(0.45), 0.1 only; and a: within 1 and exp(0.955), two of three.
    assert coverage([*left, LeftOut("shape", "a", 0, "together", 1.0, 0.5)]) == [("a", 3, 2 / 3), ("b", 2, 0.5)]
    apart = [*left[:2], *(LeftOut("shape", "b", 0, "random", 1.0, value) for value in (0.1, 1.0))]
    assert coverage(apart) == [], "nothing is placed like a or b"


def test_a_discrepancy_is_that_of_the_algorithm_at_similar_sizes() -> None:
    def case(algorithm: str, size: int) -> Case:
        return Case(MACHINE, "8", 8, "allreduce", algorithm, size)

    known = [case("ring", 1024), case("ring", 4096), case("rabenseifner", 1024)]
    residuals = np.array([0.3, -0.3, 1.0])
    weight = np.exp(-0.5)
    at, far, other = np.log(discrepancy([case("ring", 1024), case("ring", 2**30), case("linear", 8)], known, residuals))
    assert at == pytest.approx((0.3 - 0.3 * weight) / (1.5 + weight))
    assert far == pytest.approx(0, abs=1e-9)
    assert other == 0


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (lambda text: "".join(text.splitlines(keepends=True)[:2]), "found one shape, algorithm and size of"),
        (lambda text: text.replace("median_us", "median"), "line 1: found column 'median', whose unit is not us"),
        (lambda text: text.replace(",linear,own,8,", ",liner,own,8,", 1), "line 2, algorithm: found 'liner'"),
        (lambda text: text.replace("marenostrum5", "marenostrum", 1), "line 2, machine: found 'marenostrum'"),
        (lambda text: text[: text.index("\n", 100)].rpartition(",")[0] + ",0\n", "line 2, median_us: found '0'"),
        (lambda text: text + text.splitlines()[1] + "\n", "found the row of line 2 again; allowed: one row for each"),
    ],
)
def test_a_mistake_in_the_file_is_one_line(
    measured: Path, tmp_path: Path, change: Callable[[str], str], part: str
) -> None:
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(change(measured.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_rows(wrong, MACHINE, ROOT)
    assert part in str(caught.value)
    assert str(caught.value).startswith(str(wrong))


def test_a_row_wanted_twice_is_refused(tmp_path: Path) -> None:
    row = "marenostrum5,60,60,allreduce,ring,256"
    file = tmp_path / "wanted.csv"
    file.write_text(f"machine,shape,nodes,operation,algorithm,bytes\n{row}\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match="line 3: found the row of line 2 again; allowed: each row once"):
        predicting.read_wanted(file, MACHINE, ROOT)
    file.write_text(f"machine,shape,nodes,operation,algorithm,bytes\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match="found no row of fugaku"):
        predicting.read_wanted(file, "fugaku", ROOT)
    assert predicting.read_wanted(file, MACHINE, ROOT) == [Case(MACHINE, "60", 60, "allreduce", "ring", 256)]


def test_a_machine_without_rows_is_refused(measured: Path) -> None:
    with pytest.raises(InputError, match=r"--machine: found 'lumi'; allowed: a machine of .*ours.csv: marenostrum5"):
        read_rows(measured, "lumi", ROOT)


def test_rows_of_too_few_elements_for_rabenseifner_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    rows = [f"{MACHINE},d,20,20,allreduce,rabenseifner,own,{size},10" for size in (60, 64, 128)]
    file.write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    assert [row.case.size for row in read_rows(file, MACHINE, ROOT)] == [64, 128]


@pytest.mark.parametrize(("nodes", "line"), [(1, 3), (10**6, 3)])
def test_a_job_that_no_machine_can_have_run_is_told_with_its_line(tmp_path: Path, nodes: int, line: int) -> None:
    file = tmp_path / "rows.csv"
    rows = [f"{MACHINE},d,{number},{number},alltoall,linear,own,8,10" for number in (4, nodes)]
    file.write_text("\n".join([HEAD, *rows]) + "\n", encoding="utf-8")
    most = load_machine(MACHINE, ROOT).facts.nodes
    with pytest.raises(InputError) as caught:
        read_rows(file, MACHINE, ROOT)
    assert str(caught.value).endswith(
        f"rows.csv: line {line}, nodes: found {nodes}; allowed: 2 to {most}, all of the machine"
    )
