"""Judging predictions: what is counted, by hand, and what is refused."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from analysis import draw as drawing
from tramontane.comparison import judgement
from tramontane.comparison.crossovers import changes, crossovers
from tramontane.comparison.predictions import judge
from tramontane.errors import InputError
from tramontane.results.datasets import write

from .conftest import ROOT

HEAD = "machine,date,shape,nodes,operation,algorithm,variant,bytes,median_us"
PREDICTED = "machine,shape,nodes,operation,algorithm,bytes,median_us,low_us,high_us"
#: Bruck's is the faster one up to 100 B as measured, and up to 1000 B as predicted.
MEASURED = [
    "fugaku,d,2x2x2,8,alltoall,bruck,default-modified-bruck,10,10",
    "fugaku,d,2x2x2,8,alltoall,bruck,default-modified-bruck,1000,40",
    "fugaku,d,2x2x2,8,alltoall,linear,default-linear,10,20",
    "fugaku,d,2x2x2,8,alltoall,linear,default-linear,1000,20",
    "fugaku,d,2x2x2,8,alltoall,library-default,default-default,10,5",
    "mare_nostrum,d,32,32,allreduce,ring,ring_ompi,64,30",
    "mare_nostrum,d,32,32,allreduce,ring,ring_over,64,3",
    "mare_nostrum,d,32,32,allreduce,rabenseifner,rabenseifner_ompi,64,30",
]
PREDICTIONS = [
    "fugaku,2x2x2,8,alltoall,bruck,10,10,9,11",
    "fugaku,2x2x2,8,alltoall,bruck,1000,28,20,30",
    "fugaku,2x2x2,8,alltoall,linear,10,40,30,50",
    "fugaku,2x2x2,8,alltoall,linear,1000,29,20,35",
    "mare_nostrum,32,32,allreduce,ring,64,30,20,40",
    "fugaku,8x8x8,512,alltoall,linear,10,40,30,50",
]


def table(path: Path, head: str, rows: list[str]) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    return table(tmp_path / "measured.csv", HEAD, MEASURED)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return table(tmp_path / "predictions" / "all.csv", PREDICTED, PREDICTIONS).parent


def test_verdicts_by_hand(measured: Path, folder: Path) -> None:
    found = judge(measured, folder, ROOT)
    own = found.verdicts()["fugaku", "alltoall"]
    # Factors 1, 40/28, 2 and 1.45; measured over predicted 1, 1.43, 0.5 and 0.69.
    assert own.median_error == pytest.approx((40 / 28 + 29 / 20) / 2 - 1)
    assert own.bias == pytest.approx((1 + 20 / 29) / 2)
    assert own.within == (0.25, 0.75, 1.0)
    assert own.coverage == 0.5
    # Both sizes are ordered; with 1000 B the predictions have it the other way round.
    assert (own.ordered, own.agreement) == (2, 0.5)
    assert found.verdicts()["marenostrum5", "allreduce"].n == 1
    assert found.verdicts()["all", ""].n == 5
    assert (found.unpredicted, found.unknown, found.others, found.unmeasured) == (1, 1, 1, 1)


def test_crossovers_by_hand(measured: Path, folder: Path) -> None:
    (turn,) = judge(measured, folder, ROOT).turns
    assert (turn.small, turn.large) == ("bruck", "linear")
    # ln 2 below and above: half way between 10 and 1000 on a logarithmic scale; predicted: within 5 % at 1000 B.
    assert turn.measured == pytest.approx([100])
    assert turn.predicted == ()


def test_gaps_that_change_sign() -> None:
    assert changes([1, 10, 100], [-1.0, 1.0, 1.0]) == pytest.approx([10**0.5])
    assert changes([1, 10, 100], [-1.0, 0.01, -1.0]) == ()
    assert changes([1, 100, 10**6], [1.0, -1.0, 3.0]) == pytest.approx([10, 1000])  # there, and back
    assert crossovers(("", "", "", ""), {"a": {1: (0, 0)}, "b": {1: (1, 1)}}) == []


def test_dates_are_not_ordered_among_each_other(tmp_path: Path, folder: Path) -> None:
    other = [row.replace(",d,", ",e,") if "linear" in row else row for row in MEASURED]
    found = judge(table(tmp_path / "other.csv", HEAD, other), folder, ROOT)
    assert not found.pairs
    assert not found.turns


@pytest.mark.parametrize(
    ("change", "part"),
    [
        (("median_us", "median"), "line 1: found column 'median', whose unit is not us; allowed: median_us, times in"),
        (("median_us", "median_ms"), "line 1: found column 'median_ms', whose unit is not us"),
        (("median_us", "time"), "line 1: column missing: median_us"),
        ((",10,10", ",10,0"), "line 2, median_us: found '0'; allowed: a positive time in microseconds"),
        ((",10,10", ",10,nan"), "line 2, median_us: found 'nan'"),
        ((",10,10", ",10,1_0"), "line 2, median_us: found '1_0'; allowed: a positive time in microseconds"),
        ((",10,10", ",1 kB,10"), "line 2, bytes: found '1 kB'; allowed: a whole number, 1 or more, without a unit"),
        (("2x2x2,8", "99999999,99999999"), "line 2, nodes: found '99999999'; allowed: at most 9999999"),
        ((",10,10", ",1000000000000000,10"), "line 2, bytes: found '1000000000000000'; allowed: at most"),
        (("fugaku", "fugako"), "line 2, machine: found 'fugako'; did you mean 'fugaku'?"),
        ((",linear,", ",liner,"), "line 4, algorithm: found 'liner'; did you mean 'linear'? allowed: pairwise, linear"),
        (("alltoall", "alltoallv"), "line 2, operation: found 'alltoallv'; did you mean 'alltoall'?"),
        (("2x2x2", "2x2"), "line 2, shape: found '2x2'; allowed: sides whose product is the number of nodes, 8"),
    ],
)
def test_a_mistake_names_file_row_found_and_allowed(
    tmp_path: Path, folder: Path, change: tuple[str, str], part: str
) -> None:
    lines = [line.replace(*change, 1) if change[0] in line else line for line in [HEAD, *MEASURED]]
    file = table(tmp_path / "wrong.csv", lines[0], lines[1:])
    with pytest.raises(InputError) as caught:
        judge(file, folder, ROOT)
    assert f"wrong.csv: {part}" in str(caught.value)


def test_a_row_predicted_twice(measured: Path, folder: Path) -> None:
    table(folder / "again.csv", PREDICTED, PREDICTIONS[2:3])
    with pytest.raises(InputError) as caught:
        judge(measured, folder, ROOT)
    assert "all.csv: line 4: found a row that again.csv predicts in line 2; allowed: one prediction" in str(
        caught.value
    )


def test_an_interval_that_does_not_ascend(measured: Path, folder: Path) -> None:
    table(folder / "all.csv", PREDICTED, [PREDICTIONS[0].replace("9,11", "11,9")])
    with pytest.raises(InputError, match="line 2: found 11, 10, 9; allowed: low_us, median_us, high_us that ascend"):
        judge(measured, folder, ROOT)


def test_nothing_predicted_is_a_mistake(measured: Path, folder: Path, tmp_path: Path) -> None:
    table(folder / "all.csv", PREDICTED, PREDICTIONS[-1:])
    with pytest.raises(InputError, match="found no row with a prediction"):
        judge(measured, folder, ROOT)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"--predictions: found .* allowed: a folder with files"):
        judge(measured, tmp_path / "empty", ROOT)


def test_a_figure_has_a_panel_for_each_machine_and_operation(measured: Path, folder: Path, tmp_path: Path) -> None:
    write(judgement.as_dataset(judge(measured, folder, ROOT)), tmp_path / "rows.nc")
    drawing.draw_files([tmp_path / "rows.nc"], tmp_path / "rows")
    text = (tmp_path / "rows.md").read_text(encoding="utf-8")
    assert "| fugaku, alltoall, bruck | 2 | 1.21 | 1 | 1.43 |" in text
    assert "marenostrum5, allreduce, ring | 1 |" in text


def command(*arguments: object) -> "subprocess.CompletedProcess[str]":
    line = [sys.executable, "-m", "tramontane", "compare", *map(str, arguments)]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False)


def test_the_command(measured: Path, folder: Path) -> None:
    done = command(measured, "--predictions", folder, "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert [group["n"] for group in data["groups"]] == [4, 1, 5]
    assert data["crossovers"][0]["below"] == "bruck"
    refused = command(measured, "--predictions", folder, "--members", 3)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "--members: found beside --predictions; allowed: --json and --dataset" in refused.stderr


def test_the_given_rows_left_out_are_predicted_as_the_committed_tables_say() -> None:
    """Table E judges committed tables; what they are worth is known (docs/validation.md)."""
    found = judge(ROOT / "validation/measured/pico.csv", ROOT / "validation/predictions/left-out", ROOT)
    verdict = found.verdicts()["fugaku", "alltoall"]
    assert verdict.n == 68
    assert verdict.median_error < 0.25
    sizes = judgement.as_text(found).partition("crossover sizes")[2]
    assert re.search(r"\d KB", sizes), "1000 B, spelled as everywhere"
    assert "kB" not in sizes


def test_machines_are_not_ordered(folder: Path, tmp_path: Path) -> None:
    """Pairs are of algorithms: that one machine is slower than another says nothing of them."""
    rows = ["fugaku,,8,8,allreduce,ring,,64,30", "mare_nostrum,,8,8,allreduce,ring,,64,10"]
    predicted = ["fugaku,8,8,allreduce,ring,64,10,9,11", "mare_nostrum,8,8,allreduce,ring,64,30,29,31"]
    table(folder / "all.csv", PREDICTED, predicted)
    found = judge(table(tmp_path / "measured.csv", HEAD, rows), folder, ROOT)
    assert (len(found.rows), list(found.pairs)) == (2, [])
    assert found.verdicts()["all", ""].agreement is None


def test_repeated_measurements_count_once_with_their_median(folder: Path, measured: Path, tmp_path: Path) -> None:
    again = [MEASURED[0].replace(",10,10", ",10,1"), MEASURED[0].replace(",10,10", ",10,90")]
    repeated = table(tmp_path / "repeated.csv", HEAD, [*MEASURED, *again])
    found, alone = judge(repeated, folder, ROOT), judge(measured, folder, ROOT)
    assert judgement.as_data(found) == judgement.as_data(alone)
    assert "repeated: 2 rows of what another row has; the median counts" in judgement.as_text(found)
    assert "repeated" not in judgement.as_text(alone)
    done = command(repeated, "--predictions", folder, "--json")
    assert json.loads(done.stdout) == json.loads(command(measured, "--predictions", folder, "--json").stdout)
    assert done.stderr == "repeated: 2 rows of what another row has; the median counts\n"
