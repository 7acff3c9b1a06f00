"""Tables of a Markdown page: times of an experiment, verdicts, and what is asked for in a wrong way."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tramontane.claims import Verdict, pages
from tramontane.claims.crossings import crossings
from tramontane.claims.times import times
from tramontane.errors import InputError
from tramontane.results import datasets
from tramontane.support.formatting import rounded

from .data import dataset

ROOT = Path(__file__).parents[2]


def store(root: Path, members: int = 5) -> None:
    data = dataset({"a": [1e-3, np.nan, 2e-3], "b": [np.nan, np.nan, 0.1234567]}, x=(100, 500, 2000), members=members)
    data.attrs["figure_json"] = json.dumps({"x": "ranks"})
    file = root / "results" / "laptop" / "datasets" / "tiny.nc"
    file.parent.mkdir(parents=True)
    datasets.write(data, file)


def test_times_are_medians_in_milliseconds_gaps_stay_empty_and_empty_columns_are_left_out(tmp_path: Path) -> None:
    store(tmp_path)
    assert times(tmp_path, "laptop", "tiny").splitlines() == [
        "| series | 100 | 2,000 |",
        "| --- | ---: | ---: |",
        "| a | 1 | 2 |",
        "| b |  | 123 |",
    ]


def test_where_a_figure_shows_slowdowns_the_table_does(tmp_path: Path) -> None:
    store(tmp_path)
    file = tmp_path / "results" / "laptop" / "datasets" / "tiny.nc"
    with xr.open_dataset(file, engine="h5netcdf") as opened:
        data = opened.load()
    data["slowdown"] = 1 + data["time_s"]
    data.attrs["figure_json"] = json.dumps({"x": "ranks", "y": "slowdown"})
    datasets.write(data, file)
    assert times(tmp_path, "laptop", "tiny").splitlines()[2:] == ["| a | 1 | 1 |", "| b |  | 1.12 |"]


@pytest.mark.parametrize("members", [1, 2])
def test_times_of_an_older_model_revision_say_so(tmp_path: Path, members: int) -> None:
    store(tmp_path, members)
    file = tmp_path / "results" / "laptop" / "datasets" / "tiny.nc"
    with xr.open_dataset(file, engine="h5netcdf") as opened:
        data = opened.load()
    data["model_revision"] = xr.full_like(data["time_s"], 2.0).where(data["time_s"].notnull())
    data["model_revision"].loc[{"series": "a", "ranks": 2000}] = 1.0
    if members > 1:  # members of an older revision beside one of a newer don't count
        data["model_revision"].loc[{"series": "b", "ranks": 2000, "member": 0}] = 1.0
        data["time_s"].loc[{"series": "b", "ranks": 2000, "member": 1}] = 0.2
    datasets.write(data, file)
    assert times(tmp_path, "laptop", "tiny").splitlines()[2:] == [
        "| a | 1 | 2 (revision 1) |",
        f"| b |  | {123 if members == 1 else 200} |",
    ]


def test_an_experiment_without_results_is_one_line(tmp_path: Path) -> None:
    store(tmp_path)
    with pytest.raises(InputError, match=r"no results of 'huge' at scale laptop; allowed: tiny"):
        times(tmp_path, "laptop", "huge")


def test_a_page_is_filled_where_it_is_marked_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A\n\n<!-- verdicts: laptop A B -->\nold\n<!-- end -->\n\nwords\n\n"
        "<!-- times: paper  tiny -->\n<!-- end -->\n"
    )
    assert pages.asked(page) == [("verdicts", "laptop", ("A", "B")), ("times", "paper", ("tiny",))]
    tables = {asked: f"table of {asked[0]}" for asked in pages.asked(page)}
    once = pages.filled(page, tables)
    assert once == (
        "# A\n\n<!-- verdicts: laptop A B -->\n\ntable of verdicts\n\n<!-- end -->\n\nwords\n\n"
        "<!-- times: paper tiny -->\n\ntable of times\n\n<!-- end -->\n"
    )
    page.write_text(once)
    assert pages.filled(page, tables) == once


@pytest.mark.parametrize(
    ("marks", "expected"),
    [
        ("nothing", "no table of claims or times"),
        ("<!-- claims:  -->\n<!-- end -->", "a table without a scale"),
        ("<!-- times: laptop -->\n<!-- end -->", "found 'laptop'"),
        ("<!-- times: laptop tiny -->\nwords", "no end after <!-- times: laptop tiny -->"),
        (
            "<!-- times: laptop tiny -->\nwords\n<!-- claims: laptop A -->\n<!-- end -->",
            "no end after <!-- times: laptop tiny -->",
        ),
    ],
)
def test_a_page_that_asks_for_nothing_sensible(tmp_path: Path, marks: str, expected: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(marks)
    with pytest.raises(InputError, match=expected):
        pages.asked(page)


def test_a_table_of_an_experiment_that_has_not_run_stays_as_it_is(tmp_path: Path) -> None:
    store(tmp_path)
    experiments = tmp_path / "configs" / "experiments"
    experiments.mkdir(parents=True)
    (experiments / "huge.yaml").touch()
    left = (
        "<!-- times: paper huge -->\nas it was\n<!-- end -->\n<!-- crossings: laptop huge -->\nit, too\n<!-- end -->\n"
    )
    page = tmp_path / "page.md"
    page.write_text(f"{left}<!-- times: laptop tiny -->\n<!-- end -->\n")
    told: list[str] = []
    assert pages.fill(page, tmp_path, told.append) == (1, True)
    assert page.read_text().startswith(left)
    assert "| a | 1 | 2 |" in page.read_text()
    assert told == [
        "nothing of huge has run at scale paper; the table stays as it is",
        "nothing of huge has run at scale laptop; the table stays as it is",
    ]
    page.write_text("<!-- times: laptop huger -->\n<!-- end -->\n")
    with pytest.raises(InputError, match="no results of 'huger' at scale laptop"):
        pages.fill(page, tmp_path)


def test_verdicts_of_a_scale_at_which_nothing_has_run_stay_as_they_are(tmp_path: Path) -> None:
    for name in ("configs/claims", "configs/experiments", "configs/references.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).symlink_to(ROOT / name)
    page = tmp_path / "page.md"
    page.write_text(
        "<!-- verdicts: laptop Z-5f -->\nas they were\n<!-- end -->\n<!-- claims: laptop W-T3 -->\n<!-- end -->\n"
    )
    told: list[str] = []
    assert pages.fill(page, tmp_path, told.append) == (1, True)
    assert "as they were\n" in page.read_text()
    assert "| W-T3 | W, Table 3 |" in page.read_text()
    assert told == ["nothing has run at scale laptop; the table of verdicts stays as it is"]


@pytest.mark.parametrize("draws", ["-4", "many", "²", "4.0"])
def test_a_table_of_shares_of_no_number_of_draws_is_one_line(tmp_path: Path, draws: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"<!-- shares: laptop two-generations {draws} -->\n<!-- end -->")
    with pytest.raises(InputError, match=f"shares: found '{draws}'; allowed: a number of draws"):
        pages.fill(page, ROOT)


def test_crossings_without_series_name_the_experiment(tmp_path: Path) -> None:
    write(tmp_path, dataset({"a": [1.0, 2.0]}, x=(100, 500), dim="routing"), {"x": "ranks"})
    with pytest.raises(InputError, match="no series in 'tiny'"):
        crossings(tmp_path, "laptop", "tiny")


def test_evidence_is_left_out_on_request() -> None:
    verdict = Verdict("Z-1", "Z", "Fig. 1", "transposition", "a | b", "reproduced", "because", "laptop")
    assert pages.table_of([verdict]).splitlines()[-1] == r"| Z-1 | Z, Fig. 1 | a \| b | reproduced |  | because |"
    assert pages.table_of([verdict], evidence=False).splitlines()[-1] == r"| Z-1 | Z, Fig. 1 | a \| b | reproduced |  |"


def test_crossings_are_where_medians_meet_with_the_places_of_all_members(tmp_path: Path) -> None:
    data = dataset({"a": [1.0, 1.0, 1.0], "b": [0.5, 0.5, 2.0], "c": [4.0, 4.0, 4.0]}, x=(100, 1000, 10000), members=3)
    data["time_s"][:] = data["time_s"].median("member")  # no spread but this
    data["time_s"].loc[{"series": "b", "ranks": 10000}] = [1.5, 2.0, 3.0]
    data.attrs["figure_json"] = json.dumps({"x": "ranks"})
    file = tmp_path / "results" / "laptop" / "datasets" / "tiny.nc"
    file.parent.mkdir(parents=True)
    datasets.write(data, file)
    rows = crossings(tmp_path, "laptop", "tiny").splitlines()
    assert rows[0] == "| first | second | second is slower from | second over first |"
    # halfway in the logarithms: 0.5 to 2; members' places lie around it
    low, high = (1000 * 10 ** (np.log(2) / (np.log(each) + np.log(2))) for each in (3.0, 1.5))
    band = f"{float(f'{low:.3g}'):,.0f} to {float(f'{high:.3g}'):,.0f}"
    assert rows[2] == f"| a | b | 3,160 ({band}) | 0.5 at 100, 2 at 10,000 |"
    assert rows[3] == "| a | c | always | 4 at 100, 4 at 10,000 |"
    assert rows[4].startswith("| b | c | always | 8 at 100, 2 at")
    with pytest.raises(InputError, match=r"no results of 'huge' at scale laptop; allowed: tiny"):
        crossings(tmp_path, "laptop", "huge")


def test_a_crossing_is_of_the_medians_that_the_other_tables_show(tmp_path: Path) -> None:
    """Of two members the median of times is their mean: 1 and 9 are 5, where the median of logarithms would be 3."""
    data = dataset({"a": [4.0, 4.0], "b": [1.0, 1.0]}, x=(100, 10000), members=2)
    data["time_s"].loc[{"series": "a"}] = 4.0
    data["time_s"].loc[{"series": "b", "ranks": 100}] = 1.0
    data["time_s"].loc[{"series": "b", "ranks": 10000}] = [1.0, 9.0]
    write(tmp_path, data, {"x": "ranks"})
    row = crossings(tmp_path, "laptop", "tiny").splitlines()[2]
    place = rounded(100 * 100 ** (np.log(4) / np.log(5)))
    assert row.startswith(f"| a | b | {place} (")
    assert row.endswith(" | 0.25 at 100, 1.25 at 10,000 |")
    assert times(tmp_path, "laptop", "tiny").splitlines()[3] == "| b | 1,000 | 5,000 |"


def test_crossings_are_told_as_far_as_both_were_run(tmp_path: Path) -> None:
    """Of what one of two series lacks at a process count, and of what one member lacks, nothing is made up."""
    nan = float("nan")
    data = dataset({"a": [1.0, 1.0, nan], "b": [0.5, 2.0, 3.0], "c": [2.0, nan, nan]}, x=(100, 1000, 10000), members=2)
    data["time_s"][:] = data["time_s"].median("member")  # no spread
    data["time_s"].loc[{"series": "b", "ranks": 1000, "member": 1}] = nan
    data.attrs["figure_json"] = json.dumps({"x": "ranks"})
    file = tmp_path / "results" / "laptop" / "datasets" / "tiny.nc"
    file.parent.mkdir(parents=True)
    datasets.write(data, file)
    assert crossings(tmp_path, "laptop", "tiny").splitlines()[2:] == [
        "| a | b | 316 (316 to 316) | 0.5 at 100, 2 at 1,000 |"
    ]


def write(root: Path, data: xr.Dataset, figure: dict[str, str]) -> None:
    data.attrs["figure_json"] = json.dumps(figure)
    file = root / "results" / "laptop" / "datasets" / "tiny.nc"
    file.parent.mkdir(parents=True)
    datasets.write(data, file)


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        ([1, 1, 2, 4], "16 (one run)"),
        ([0.5, 1, 2, 4], "16 (one run)"),
        ([0.5, 1, 1, 4], "64 (one run)"),
        ([0.5, 1, 0.5, 0.5], "never"),
        ([1, 1, 0.5, 0.5], "never"),
        ([2, 1, 2, 2], "always"),
        ([2, 1, 0.5, 0.5], "16 (one run) downwards"),
        ([1, 1, 1, 1], "never"),
    ],
)
def test_a_tie_is_no_crossing_unless_the_sign_behind_it_is_another(
    tmp_path: Path, ratio: list[float], said: str
) -> None:
    write(tmp_path, dataset({"a": [1.0] * 4, "b": ratio}, x=(4, 16, 64, 256), members=1), {"x": "ranks"})
    assert crossings(tmp_path, "laptop", "tiny").splitlines()[2].split(" | ")[2] == said


def test_a_band_is_of_members_that_have_run_on_both_sides_and_has_its_place(tmp_path: Path) -> None:
    data = dataset({"a": [1.0] * 3, "b": [0.5, 0.5, 2.0]}, x=(100, 1000, 10000), members=3)
    data["time_s"][:] = data["time_s"].median("member")
    data["time_s"].loc[{"series": "b", "ranks": 1000}] = [0.2, 0.5, 0.9]
    data["time_s"].loc[{"series": "b", "ranks": 10000, "member": [1, 2]}] = float("nan")
    write(tmp_path, data, {"x": "ranks"})
    row = crossings(tmp_path, "laptop", "tiny").splitlines()[2]
    # From 0.5 to 2 the medians turn halfway; the one member that goes on, from 0.2 to 2, later.
    assert row.startswith(f"| a | b | 3,160 (3,160 to {rounded(1000 * 10 ** (np.log(5) / np.log(10)))}) |")


def test_a_band_upwards_has_no_place_of_those_downwards(tmp_path: Path) -> None:
    data = dataset({"a": [1.0] * 3, "b": [0.5, 2.0, 0.5]}, x=(100, 1000, 10000), members=2)
    data["time_s"][:] = data["time_s"].median("member")  # no spread
    write(tmp_path, data, {"x": "ranks"})
    row = crossings(tmp_path, "laptop", "tiny").splitlines()[2]
    assert row.startswith("| a | b | 316 (316 to 316), 3,160 (3,160 to 3,160) downwards |")


def test_where_one_member_goes_on_there_is_no_band(tmp_path: Path) -> None:
    data = dataset({"a": [1.0] * 2, "b": [0.5, 2.0]}, x=(100, 10000), members=3)
    data["time_s"].loc[{"ranks": 10000, "member": [1, 2]}] = float("nan")
    write(tmp_path, data, {"x": "ranks"})
    assert "(one run)" in crossings(tmp_path, "laptop", "tiny").splitlines()[2]


def test_places_of_crossings_have_three_digits(tmp_path: Path) -> None:
    data = dataset({"a": [1.0, 1.0], "b": [0.5, 2.0]}, x=(1, 2), members=1).assign_coords(ranks=[0.01, 0.09])
    write(tmp_path, data, {"x": "ranks"})
    assert (
        crossings(tmp_path, "laptop", "tiny").splitlines()[2] == "| a | b | 0.03 (one run) | 0.5 at 0.01, 2 at 0.09 |"
    )


def test_times_of_one_line_need_no_name(tmp_path: Path) -> None:
    write(tmp_path, dataset({"a": [1e-3, 2e-3]}, x=(100, 500)).isel(series=0, drop=True), {"x": "ranks"})
    assert times(tmp_path, "laptop", "tiny").splitlines() == ["| 100 | 500 |", "| ---: | ---: |", "| 1 | 2 |"]


@pytest.mark.parametrize(
    ("make", "figure", "line"),
    [
        (
            times,
            {"kind": "congestion-matrix"},
            "times: the figure of 'tiny' has no axis x along which times were taken",
        ),
        (crossings, {}, "crossings: the figure of 'tiny' has no axis x along which times were taken; allowed: an exp"),
        (crossings, {"x": "size"}, "crossings: the figure of 'tiny' has no axis x"),
        (crossings, {"x": "series"}, "crossings: found a, b along series; allowed: an axis x of numbers above zero"),
    ],
)
def test_a_figure_that_has_no_such_axis_is_one_line(
    tmp_path: Path, make: Callable[[Path, str, str], str], figure: dict[str, str], line: str
) -> None:
    write(tmp_path, dataset({"a": [1.0, 2.0], "b": [2.0, 3.0]}, x=(100, 500)), figure)
    with pytest.raises(InputError) as caught:
        make(tmp_path, "laptop", "tiny")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)
