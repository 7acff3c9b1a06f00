"""Comparisons from the file to the answer, with a runner of our own and with the simulator itself."""

import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tramontane.comparison import presentation
from tramontane.comparison.dataset import as_dataset
from tramontane.comparison.execution import PointOutcome, run_points
from tramontane.comparison.measured import Comparison, Group, Options, compare
from tramontane.errors import InputError
from tramontane.results.provenance import BUILD
from tramontane.results.store import Store
from tramontane.study import Point
from tramontane.substrates.simulator import Simulator

from .conftest import Write

Runner = Callable[[Mapping[str, Point]], Mapping[str, PointOutcome]]


def by(time: Callable[[dict[str, Any]], float]) -> Runner:
    """A runner whose times are a function of the canonical point."""
    return lambda points: {identity: PointOutcome(time(point.canonical())) for identity, point in points.items()}


ONE = Options("default", members=1)


def test_parts_tell_apart_what_an_ensemble_can_decide(write: Write, checkout: Path) -> None:
    file = write(
        {"P": 16, "cx": 4, "cy": 4, "tspan_s": "1.0e-3"},
        {"P": 16, "cx": 4, "cy": 4, "k": 2, "tspan_s": "2.0e-6"},
        {"P": 4, "cx": 2, "cy": 2, "tspan_s": "1.0e-3"},
        {"P": 4, "cx": 2, "cy": 2, "routing": "valiant", "tspan_s": "1.0e-3"},
    )
    found = compare(file, checkout, ONE, by(lambda point: 1.04e-3))
    ours, longer, others = found.parts().values()
    assert list(found.parts()) == [
        "deterministic routings",
        "  with 16 ranks or more and 10 us or more",
        "random routings",
    ]
    assert (ours.n, longer.n, others.n) == (3, 1, 1)
    assert ours.near == pytest.approx(2 / 3)
    assert (longer.near, others.near) == (1.0, 1.0)
    assert "within 5 %" in presentation.as_text(found)


def test_ratios_groups_and_orderings_by_hand(write: Write, checkout: Path) -> None:
    file = write(
        {"k": 1, "tspan_s": "1.0e-3"},
        {"k": 2, "tspan_s": "2.0e-3"},
        {"k": 1, "routing": "valiant", "tspan_s": "1.5e-3"},
        {"k": 2, "routing": "valiant", "tspan_s": "1.52e-3"},
        {"status": "fail"},
    )
    # Ours: 1.1, 1.1 and 1.2, 1.2 ms: radix does not matter, valiant is slower.
    times = {"minimal": 1.1e-3, "valiant": 1.2e-3}
    found = compare(file, checkout, ONE, by(lambda point: times[point["machine"]["routing"]]))
    assert [row.ratio for row in found.rows] == pytest.approx([1.1, 0.55, 0.8, 1.2 / 1.52])
    # Pairs: radix in minimal (theirs 1 < 2, ours equal), in valiant (too close), routing at radix 1 (1 < 1.5: agrees),
    # at radix 2 (2 > 1.52, ours the other way round).
    assert [(pair.axis, pair.first, pair.second, pair.agrees) for pair in found.pairs] == [
        ("algorithm", 0, 1, False),
        ("routing", 0, 2, True),
        ("routing", 1, 3, False),
    ]
    data = presentation.as_data(found)
    assert set(data) == {"n", "median_ratio", "p95_deviation", "worst_deviation", "ordering_agreement", "groups"}
    assert data["n"] == 4
    assert data["median_ratio"] == pytest.approx((0.8 + 1.2 / 1.52) / 2)
    assert data["worst_deviation"] == pytest.approx(0.45)
    # Deviations 0.1, 0.2, 0.2105, 0.45; the 95th percentile lies at position 2.85.
    assert data["p95_deviation"] == pytest.approx(0.32 / 1.52 + 0.85 * (0.45 - 0.32 / 1.52))
    assert data["ordering_agreement"] == pytest.approx(1 / 3)
    assert [(group["routing"], group["n"], group["ordering_agreement"]) for group in data["groups"]] == [
        ("minimal", 2, pytest.approx(1 / 3)),
        ("valiant", 2, 0.5),
    ]
    assert [(left.row.line, left.reason) for left in found.skipped] == [(6, "status fail")]
    printed = presentation.as_text(found)
    assert "skipped: 1 row\n  line 6: status fail" in printed
    assert "33.3 %" in printed


def test_rows_of_one_setting_only_are_ordered(write: Write, checkout: Path) -> None:
    file = write(
        {"tspan_s": "1e-3"},
        {"tspan_s": "2e-3", "k": 2, "nx": 16},
        {"tspan_s": "3e-3", "k": 2, "seed": 43},
        {"tspan_s": "4e-3", "k": 2, "lat_ns": 10},
        {"tspan_s": "5e-3", "k": 2, "w": 99},  # no halo: its width is not used
        {"tspan_s": "6e-3", "k": 2, "bw_GBs": "10.0", "tag": "other"},  # the same number
    )
    found = compare(file, checkout, ONE, by(lambda point: 1e-3))
    assert [(pair.first, pair.second) for pair in found.pairs] == [(0, 4)]
    assert found.rows[4].entry.theirs == 5.5e-3


def test_members_are_compared_by_their_median(write: Write, checkout: Path) -> None:
    options = Options("default", members=5)
    found = compare(write({"tspan_s": "1"}), checkout, options, by(lambda point: {46: 100.0}.get(point["seed"], 1.5)))
    (row,) = found.rows
    assert row.ratio == 1.5
    assert sorted(row.ours) == [1.5] * 4 + [100.0]
    assert row.group == Group("torus444x1", "minimal", "transpose", "ring")


def test_ensembles_unless_told_otherwise(write: Write, checkout: Path) -> None:
    seen: list[tuple[int, int]] = []

    def time(point: dict[str, Any]) -> float:
        seen.append((point["seed"], point["start_jitter"]))
        return 1.0

    compare(write({}), checkout, Options("default"), by(time))
    assert sorted(seen) == [(42 + member, 1_000_000) for member in range(10)]
    seen.clear()
    compare(write({}), checkout, Options("default", members=2, jitter=7), by(time))
    assert sorted(seen) == [(42, 7), (43, 7)]
    seen.clear()
    compare(write({}), checkout, ONE, by(time))
    assert seen == [(42, 0)]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(), "model pisces-16 over times as measured"),
        (Options("default"), "model default (median of 10 members, starts up to 1 us apart) over times as measured"),
        (
            Options("default", "ensemble", 12),
            "model default (median of 12 members, starts up to 1 us apart) over "
            "model pisces-16 (median of 12 members, starts up to 1 us apart)",
        ),
        (Options("default", "row", 1, 2000), "model default (starts up to 2 ns apart) over times as measured"),
    ],
)
def test_what_is_compared_is_said(options: Options, words: str) -> None:
    nothing = Comparison(Path("measured.csv"), options, [], [], [], [])
    assert presentation.heading(nothing) == f"measured.csv: {words}; deviations are |ratio - 1|"


def test_a_mistake_in_a_time_shows_before_anything_runs(write: Write, checkout: Path) -> None:
    with pytest.raises(InputError, match="line 3, tspan_s: found 'soon'"):
        compare(write({}, {"tspan_s": "soon"}), checkout, ONE, lambda points: pytest.fail("it ran"))


def test_what_failed_is_not_counted(write: Write, checkout: Path) -> None:
    def run(points: Mapping[str, Point]) -> Mapping[str, PointOutcome]:
        return {
            identity: PointOutcome(error="deadlock") if point.seed == 1 else PointOutcome(1.0)
            for identity, point in points.items()
        }

    found = compare(write({"seed": 1}, {"seed": 2, "tspan_s": "2"}), checkout, ONE, run)
    assert [row.ratio for row in found.rows] == [0.5]
    assert [(left.row.line, left.reason) for left in found.failed] == [(2, "deadlock")]
    assert "failed: 1 row\n  line 2: deadlock" in presentation.as_text(found)


def test_nothing_to_compare_is_a_mistake_of_the_file(write: Write, checkout: Path) -> None:
    with pytest.raises(InputError, match="line 2: op none"):
        compare(write({"op": "none"}), checkout, ONE, by(lambda point: 1.0))


def test_a_point_of_several_rows_runs_once(write: Write, checkout: Path) -> None:
    runs: list[int] = []

    def run(points: Mapping[str, Point]) -> Mapping[str, PointOutcome]:
        runs.append(len(points))
        return {identity: PointOutcome(1.0) for identity in points}

    found = compare(write({}, {"tag": "again"}, {"k": 2}), checkout, ONE, run)
    assert runs == [2]
    assert len(found.rows) == 2


def test_repeated_rows_count_once_with_their_median(write: Write, checkout: Path) -> None:
    once = write({"tspan_s": "1e-3"}, {"k": 2, "tspan_s": "2e-3"})
    alone = compare(once, checkout, ONE, by(lambda point: 1e-3))
    often = ({"tspan_s": time} for time in ("1e-3", "0.5e-3", "9e-3"))
    found = compare(write(*often, {"k": 2, "tspan_s": "2e-3"}), checkout, ONE, by(lambda point: 1e-3))
    assert presentation.as_data(found) == presentation.as_data(alone)
    assert (found.repeats, alone.repeats) == (2, 0)
    said = "repeated: 2 rows of a point that another row has; the median counts"
    assert said in presentation.as_text(found)
    assert "repeated" not in presentation.as_text(alone)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"model": "pisces16"}, "--model: found 'pisces16'; did you mean 'pisces-16'? allowed: pisces-16, default"),
        ({"against": "rows"}, "--against: found 'rows'; did you mean 'row'? allowed: row, ensemble"),
    ],
)
def test_unknown_options_are_one_line(options: dict[str, str], part: str) -> None:
    with pytest.raises(InputError) as caught:
        Options(**options)  # type: ignore[arg-type]
    assert str(caught.value) == part


def test_lines_are_listed_in_short(write: Write, checkout: Path) -> None:
    file = write({"op": "none"}, {}, {"op": "none"}, {"op": "none"}, {"op": "none"}, {"arb": "simple"})
    found = compare(file, checkout, ONE, by(lambda point: 1.0))
    assert presentation.left_out(found) == ["skipped: 5 rows\n  lines 2, 4-6: op none\n  line 7: arb simple"]


def test_a_dataset_holds_the_rows(write: Write, checkout: Path) -> None:
    options = Options("default", members=3)
    file = write({"tspan_s": "2"}, {"tspan_s": "4", "k": 2}, {"op": "none"})
    dataset = as_dataset(compare(file, checkout, options, by(lambda point: float(point["seed"] - 40))))
    assert dataset["ratio"].values == pytest.approx([1.5, 0.75])
    assert dataset["time_low_s"].values == pytest.approx([2, 2])
    assert dataset["time_high_s"].values == pytest.approx([4, 4])
    assert list(dataset["algorithm"].values) == ["ring-1", "ring-2"]
    assert "2 rows, 1 left out" in json.loads(dataset.attrs["figure_json"])["caption"]


def test_points_run_in_parallel_are_kept_and_not_run_again(write: Write, checkout: Path) -> None:
    file = write({}, {"k": 2}, {"op": "halo", "w": 2}, {"P": 2, "cx": 2, "cy": 1, "nx": 2, "ny": 1, "nz": 2})
    log = io.StringIO()

    def go(cores: int = 2, refresh: bool = False) -> Comparison:
        def run(points: Mapping[str, Point]) -> Mapping[str, PointOutcome]:
            return run_points(points, checkout, cores=cores, refresh=refresh, stream=log)

        return compare(file, checkout, Options("default", members=2), run)

    first = go()
    assert [row.ours for row in first.rows] == [
        tuple(Simulator().run(point)["time_s"] for point in first.options.ensemble(_point(row), "default"))
        for row in first.rows
    ]
    assert log.getvalue().splitlines()[-1] == "8/8 points"
    kept = {identity: Store(checkout).changed_at(identity) for identity in Store(checkout).identities()}
    assert len(kept) == 8

    log.truncate(0)
    assert go().rows == first.rows
    assert log.getvalue() == ""
    assert {identity: Store(checkout).changed_at(identity) for identity in kept} == kept
    assert go(cores=1, refresh=True).rows == first.rows  # the same with any number of processes
    assert all(Store(checkout).changed_at(identity) > kept[identity] for identity in kept)


def _point(row: Any) -> Point:
    from tramontane.comparison.networks import read_networks
    from tramontane.comparison.points import make_point

    from .conftest import ROOT

    return make_point(row.row, read_networks(ROOT), "default")


@pytest.mark.parametrize(
    ("change", "runs"),
    [
        (lambda record: None, False),
        (lambda record: record["provenance"].pop(BUILD), False),  # of an older version
        (lambda record: record["provenance"].update({BUILD: "0" * 16}), True),
        (lambda record: record["result"].update(model_revision=-1), True),
    ],
)
def test_a_record_of_another_simulator_is_none(
    write: Write, checkout: Path, change: Callable[[dict[str, Any]], object], runs: bool
) -> None:
    points: dict[str, Point] = {}

    def run(wanted: Mapping[str, Point]) -> Mapping[str, PointOutcome]:
        points.update(wanted)
        return run_points(wanted, checkout, cores=1, stream=io.StringIO())

    file = write({})
    compare(file, checkout, ONE, run)
    store = Store(checkout)
    (identity,) = points
    record = store.read(identity)
    true_time = record["result"]["time_s"]
    record["result"]["time_s"] = 7.0
    change(record)
    store.write(record)
    assert compare(file, checkout, ONE, run).rows[0].ours == ((true_time,) if runs else (7.0,))


def test_a_point_that_the_simulator_refuses_is_a_failure(write: Write, checkout: Path) -> None:
    point = _point(compare(write({}), checkout, ONE, by(lambda point: 1.0)).rows[0])
    broken = Point.model_construct(**{**dict(point), "ranks": 65})
    found = run_points({broken.id: broken}, checkout, cores=1, stream=io.StringIO())
    assert found[broken.id].time_s is None
    assert found[broken.id].error
    assert Store(checkout).has_failed(broken.id)


def test_a_project_of_ones_own_knows_the_networks(tmp_path: Path) -> None:
    from tramontane.comparison.networks import read_networks

    from .conftest import ROOT

    own = tmp_path / "own"
    (own / "configs" / "experiments").mkdir(parents=True)
    assert read_networks(own) == read_networks(ROOT)
