"""Delays, congestion, patterns and radices: what is drawn is what the dataset or the schedule says."""

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.colors import LogNorm

from analysis.figures import FAMILIES, delays, draw, pattern, radix, show
from analysis.spec import spec_of
from analysis.style import series_style
from analysis.table import figure_table
from tramontane._simulator import schedule
from tramontane.claims import distributions
from tramontane.study.workloads.workloads import Halo

from .conftest import Factory
from .drawn import legend, legend_texts, xs, ys
from .drawn import values as values_of

EDGES = np.array([0.0, 1e-6, 1e-5, 1e-4, 1e-3])


def with_delays(dataset: xr.Dataset, counts: list[Any]) -> xr.Dataset:
    """Give each series its packets in the bins 0-1, 1-10, 10-100, 100-1000 us and above."""
    data = np.zeros((*dataset["time_s"].shape, 5))
    for place, row in enumerate(counts):
        data[place] = row
    dataset["delay_packets"] = ((*dataset["time_s"].dims, "delay_bin"), data)
    return dataset.assign_coords(
        delay_lower=("delay_bin", EDGES), delay_upper=("delay_bin", np.append(EDGES[1:], 9e99))
    )


@pytest.fixture
def delayed(factory: Factory) -> xr.Dataset:
    dataset = factory(("minimal", "ugal"), (1000,), figure={"kind": "delay-distribution"})
    return with_delays(dataset, [[10, 60, 30, 0, 0], [0, 0, 1, 2, 1]])


def test_shares_are_of_the_packets_of_each_series(delayed: xr.Dataset) -> None:
    rows = delays.delay_table(delayed, spec_of(delayed))
    shares = rows.groupby("series", sort=False)["share"].apply(list)
    assert shares["minimal"] == pytest.approx([10, 60, 30, 0, 0])
    assert shares["ugal"] == pytest.approx([0, 0, 25, 50, 25])
    below = rows[rows["series"] == "ugal"].set_index("upper")["below"]
    assert below[1e-4] == pytest.approx(25)
    assert below.iloc[-1] == pytest.approx(100)


def test_shares_below_round_delays_lie_between_those_of_bins_by_the_logarithm(delayed: xr.Dataset) -> None:
    below = [10, 70, 70 + 30 * np.log10(3), 70 + 30 * np.log10(5), 100, 100]
    assert show(delayed).numbers.rows[0][1:] == [f"{share:.3g}" for share in below]


def test_shares_are_medians_of_members_as_in_statements(factory: Factory) -> None:
    """One that is far off, and has many packets, counts as one; one without a result does not count."""
    dataset = factory(("minimal",), (1000,), members=4, figure={"kind": "delay-distribution"})
    counts = [[2, 2, 0, 0, 0], [1, 3, 0, 0, 0], [0, 0, 0, 0, 90], [np.nan] * 5]
    dataset = with_delays(dataset, [[counts]])
    rows = delays.delay_table(dataset, spec_of(dataset))
    assert rows["share"].to_list() == pytest.approx([25, 75, 0, 0, 0])
    stated = distributions.delays(dataset, "minimal", {"series": "minimal"}, 1000)
    shown = [f"{100 * np.median(stated.below(mark)):.3g}" for mark in delays.MARKS]
    assert show(dataset).numbers.rows[0][1:] == shown


def test_delays_are_drawn_in_microseconds_with_a_legend(delayed: xr.Dataset) -> None:
    above, below = draw(delayed).axes
    assert legend_texts(above) == ["minimal", "ugal"]
    assert below.get_xlabel() == "Delay of a packet (µs)"
    assert below.get_ylim()[1] > 100
    heights = [ys(line).max() for line in above.get_lines()]
    assert heights == pytest.approx([60, 50])


@pytest.mark.filterwarnings("error::UserWarning")
def test_where_no_packet_waits_an_axis_still_begins_at_zero(factory: Factory) -> None:
    dataset = factory(("minimal",), (1000,), figure={"kind": "delay-distribution"})
    above, below = draw(with_delays(dataset, [[4, 0, 0, 0, 0]])).axes
    assert above.get_ylim() == (0, 1)
    assert below.get_ylim() == (0, 103)


def test_series_without_delays_are_left_out_and_none_at_all_is_said(delayed: xr.Dataset) -> None:
    delayed["delay_packets"][0] = np.nan
    rows = delays.delay_table(delayed, spec_of(delayed))
    assert set(rows["series"]) == {"ugal"}
    delayed["delay_packets"][:] = np.nan
    assert [text.get_text() for text in draw(delayed).axes[0].texts] == ["no results yet"]


def congested(factory: Factory, levels: dict[str, float], **figure: Any) -> xr.Dataset:
    dataset = factory(tuple(levels), (8,), members=2, figure={"kind": "congestion-matrix", **figure})
    shape = (*dataset["time_s"].shape, 4, 4)
    data = np.ones(shape) * np.array(list(levels.values()))[:, None, None, None, None]
    data[:, :, 1, 0, 3] *= 3
    dims = (*dataset["time_s"].dims, "source_bin", "destination_bin")
    packets = np.ones(shape)
    packets[..., 0, 3] = 5
    return dataset.assign(congestion_mean=(dims, data, {"units": "s"}), congestion_packets=(dims, packets))


def test_each_series_is_a_matrix_on_one_colour_scale(factory: Factory) -> None:
    figure = draw(congested(factory, {"minimal": 5e-5, "valiant": 1e-5}, labels={"valiant": "Valiant"}))
    matrices = [axes for axes in figure.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in matrices] == ["(a) minimal", "(b) Valiant"]
    images = [axes.collections[0] for axes in matrices]
    assert images[0].norm is images[1].norm
    assert len(figure.axes) == 3, "one colour bar for both"
    assert figure.axes[2].get_ylabel() == "Mean delay of a packet (µs)"
    values = values_of(images[0]).reshape(4, 4)
    assert values[0, 3] == pytest.approx(50 * (1 + 3) / 2), "members are averaged; source down, destination across"
    assert values[3, 0] == pytest.approx(50)
    assert matrices[0].get_xlim() == (0, 8), "axes count ranks, not groups"


def test_how_high_and_how_even_congestion_is_by_hand(factory: Factory) -> None:
    """Of 16 pairs 15 have 50 us, and one, which exchanges 5 packets of 20, the mean of its members, 100 us."""
    dataset = congested(factory, {"minimal": 5e-5})
    mean, spread = (15 * 50 + 100) / 16, 50 * 15**0.5 / 16
    table = show(dataset).numbers
    words = ("mean of packets", "median of pairs", "95 % of pairs", "largest of pairs")
    assert table.headings[1:] == [*(f"{word}, µs" for word in words), "unevenness of pairs"]
    assert table.rows[0][1:] == ["62.5", "50", "62.5", "100", f"{spread / mean:.3g}"]
    dataset["congestion_sum"] = dataset["congestion_mean"] * dataset["congestion_packets"]
    level = distributions.matrix(dataset, "a", {"series": "minimal", "ranks": "8"}, 8).level
    assert table.rows[0][1] == f"{1e6 * np.median(level):.3g}", "as statements have it"


def test_colours_are_logarithmic_where_series_lie_far_apart(factory: Factory) -> None:
    near = draw(congested(factory, {"minimal": 2e-5, "valiant": 1e-5})).axes[0].collections[0]
    far = draw(congested(factory, {"minimal": 1e-3, "valiant": 1e-5})).axes[0].collections[0]
    assert not isinstance(near.norm, LogNorm)
    assert isinstance(far.norm, LogNorm)


@pytest.mark.parametrize("kind", FAMILIES)
def test_an_experiment_without_any_result_has_an_empty_figure(factory: Factory, kind: str) -> None:
    dataset = factory(figure={"kind": kind})
    dataset["status"][...] = "missing"
    assert len(show(dataset).panels) == 1
    assert [text.get_text() for axes in draw(dataset).axes for text in axes.texts] == ["no results yet"]
    assert show(dataset).numbers.rows == []
    assert not show(dataset).summaries


@pytest.mark.parametrize(("kind", "lacks"), [("congestion-matrix", "congestion_mean"), ("delay-distribution", "delay")])
def test_a_dataset_without_the_variable_is_refused(factory: Factory, kind: str, lacks: str) -> None:
    with pytest.raises(ValueError, match=f"'{kind}' needs the variable {lacks}"):
        show(factory(figure={"kind": kind}))


HALO = Halo(kind="halo", width=3, grid=(16, 16, 4), decomposition=(4, 4))


def test_a_pattern_is_what_the_schedule_sends() -> None:
    matrix = pattern.traffic(HALO, 16)[0]
    plan = schedule.Schedule(HALO.canonical(), 16)
    assert matrix.sum() == sum(size for _, size in plan.totals().values())
    sent = [plan.send(5, number, i) for number in range(plan.rounds) for i in range(plan.round(5, number).sends)]
    expected = np.zeros(16)
    for message in sent:
        expected[message.peer] += message.bytes
    assert matrix[5] == pytest.approx(expected)
    assert matrix[5, 4] > 0
    assert matrix[5, 6] > 0
    assert matrix[5, 15] == 0


def test_many_processes_are_joined_to_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pattern.traffic(HALO, 16)[0]
    monkeypatch.setattr(pattern, "MOST", 8)
    joined = pattern.traffic(HALO, 16)[0]
    assert joined == pytest.approx(whole.reshape(8, 2, 8, 2).sum(axis=(1, 3)))


@pytest.mark.parametrize("most", [400, 8, 3])
def test_what_a_process_sends_does_not_depend_on_how_processes_are_joined(
    factory: Factory, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(pattern, "MOST", most)
    ring = Halo(kind="halo", width=1, grid=(10, 4, 4), decomposition=(10, 1))  # 128 B to each of two neighbours
    dataset = factory(("halo-1",), (10,), figure={"kind": "pattern"})
    base = json.loads(dataset.attrs["base_json"])
    dataset.attrs["base_json"] = json.dumps(base | {"workload": ring.canonical()})
    assert pattern.traffic(ring, 10)[0].shape == ({400: 10, 8: 5, 3: 3}[most],) * 2
    each = 2 * 4 * 4 * 8
    assert show(dataset).numbers.rows[-1] == ["Sent by a process, bytes", str(each), str(each)]


def test_a_pattern_without_messages_is_said_to_be_one(factory: Factory) -> None:
    dataset = factory(("halo-1",), (1,), figure={"kind": "pattern"})
    base = json.loads(dataset.attrs["base_json"])
    alone = Halo(kind="halo", width=1, grid=(4, 4, 4))
    dataset.attrs["base_json"] = json.dumps(base | {"workload": alone.canonical()})
    assert [text.get_text() for text in draw(dataset).axes[0].texts] == ["nothing is sent"]
    assert show(dataset).numbers.rows[-1] == ["Sent by a process, bytes", "0", "0"]


def test_a_pattern_needs_one_workload(factory: Factory) -> None:
    dataset = factory(("halo-20",), (16,), figure={"kind": "pattern"})
    base = json.loads(dataset.attrs["base_json"])
    dataset.attrs["base_json"] = json.dumps(base | {"workload": HALO.canonical()})
    axes = draw(dataset).axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("Destination", "Source")
    assert values_of(axes.collections[0]).count() == np.count_nonzero(pattern.traffic(HALO, 16)[0])
    dataset.attrs["base_json"] = json.dumps(base | {"workload": {}})
    with pytest.raises(ValueError, match="needs one workload"):
        show(dataset)


def timed(factory: Factory, table: list[list[float]], **figure: Any) -> xr.Dataset:
    """Build times over radix and processes, for each of two members 1 % to both sides."""
    dataset = factory((2, 4, 8), (10, 100), lines="radix", members=2, figure={"kind": "radix", "lines": None, **figure})
    spread = np.array([0.99, 1.01])
    dataset["time_s"] = (dataset["time_s"].dims, np.array(table)[:, :, None] * spread, dataset["time_s"].attrs)
    return dataset


def test_the_best_radix_and_those_that_come_as_close(factory: Factory) -> None:
    dataset = timed(factory, [[1.0, 3.0], [1.015, 1.0], [2.0, 2.0]])
    rows = radix.radix_table(dataset, spec_of(dataset))
    assert rows["best"].to_list() == [2, 4]
    assert (rows["low"].to_list(), rows["high"].to_list()) == ([2, 4], [4, 4])
    alone = dataset.isel(member=0)  # a run that is as fast as itself
    rows = radix.radix_table(alone, spec_of(alone))
    assert (rows["low"].to_list(), rows["high"].to_list()) == ([2, 4], [2, 4])


def test_radices_of_points_without_result_are_not_guessed(factory: Factory) -> None:
    dataset = timed(factory, [[1.0, 3.0], [2.0, 1.0], [2.0, 2.0]])
    dataset["status"][:, 1] = "failed"
    rows = radix.radix_table(dataset, spec_of(dataset))
    assert rows["best"].isna().to_list() == [False, True]
    assert draw(dataset).axes[0].get_lines()[0].get_xdata() == pytest.approx([10])


def test_of_equally_good_radices_the_smallest_is_best_in_whatever_order_they_are_listed(factory: Factory) -> None:
    dataset = timed(factory, [[1.0, 3.0], [1.0, 1.0], [2.0, 1.0]])
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        turned = dataset.isel(radix=order)
        assert radix.radix_table(turned, spec_of(turned))["best"].to_list() == [2, 4]


def test_statistics_of_the_best_radices_are_printed(factory: Factory) -> None:
    figure = draw(timed(factory, [[1.0, 3.0], [2.0, 3.0], [2.0, 1.0]]))
    assert figure.axes[1].get_xlabel() == "max 8\nmedian 5\nmean 5\nmin 2"


def test_a_dataset_may_state_the_best_radix_itself(factory: Factory) -> None:
    dataset = factory(("x",), (10, 100), figure={"kind": "radix"})
    dataset["best_radix"] = (("series", "ranks"), [[5.0, 32.0]])
    rows = radix.radix_table(dataset, spec_of(dataset))
    assert rows["best"].to_list() == [5, 32]


def test_of_an_even_number_of_members_the_best_radix_is_one_of_theirs_in_every_figure(factory: Factory) -> None:
    dataset = factory(("x",), (10, 100), members=2, figure={"y": "best_radix", "y_scale": "linear"})
    dataset["best_radix"] = (dataset["time_s"].dims, [[[5.0, 32.0], [4.0, 4.0]]])
    as_lines = figure_table(dataset, spec_of(dataset))
    as_dots = radix.radix_table(dataset, spec_of(dataset))
    assert as_lines["y"].to_list() == as_dots["best"].to_list() == [5, 4]


def place(letter: str) -> dict[str, Any]:
    return {"panel": {"figure": "fig05", "letter": letter}}


def test_panels_of_one_figure_stand_in_the_order_of_their_letters(factory: Factory) -> None:
    figure = draw(factory(figure=place("c")), factory(figure=place("a")), factory(figure=place("b")))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["(a)", "(b)", "(c)"]
    a, b, c = (axes.get_position() for axes in figure.axes)
    assert a.y0 == pytest.approx(b.y0)
    assert a.x0 == pytest.approx(c.x0)
    assert a.x0 < b.x0
    assert a.y0 > c.y0
    assert figure.get_size_inches()[0] * 2.54 == pytest.approx(17.0)


def test_a_panel_says_how_many_points_lack(factory: Factory) -> None:
    gaps = {("burst", 100): "failed", ("bruck", 100): "missing", ("ring-4", 100): "excluded"}
    axes = draw(factory(gaps=gaps)).axes[0]
    assert axes.get_title(loc="right") == "1 failed, 1 missing of 27 points"
    assert not draw(factory()).axes[0].get_title(loc="right")


def test_words_of_panels_stay_apart(factory: Factory, delayed: xr.Dataset) -> None:
    matrices = congested(factory, {"minimal": 5e-5, "valiant": 1e-5})
    figure = draw(factory(figure=place("a")), delayed)
    for drawn in (figure, draw(matrices)):
        boxes = [
            text.get_window_extent()
            for axes in drawn.axes
            for text in (axes.xaxis.label, axes.yaxis.label, axes.title, vars(axes)["_left_title"])
            if text.get_text()
        ]
        for first in range(len(boxes)):
            assert not any(boxes[first].overlaps(other) for other in boxes[first + 1 :])


@pytest.fixture
def on_substrates(factory: Factory) -> xr.Dataset:
    figure = {"kind": "substrates", "lines": ["substrate", "machine"]}
    gaps = {("mpi", 16): "missing"}
    dataset = factory(
        ("simulator", "sstmacro", "mpi"),
        (4, 16),
        lines="substrate",
        extra={"machine": ("torus-S",)},
        gaps=gaps,
        figure=figure,
    )
    return dataset.assign(peak_rss_bytes=dataset["wall_s"] * 1e7)


def test_substrates_have_times_ratios_wall_time_and_memory(on_substrates: xr.Dataset) -> None:
    times, ratio, wall, memory = draw(on_substrates).axes
    colours = {line.get_label(): line.get_color() for line in legend(times).get_lines()}
    assert colours == {f"{name}, torus-S": series_style(name).colour for name in ("simulator", "sstmacro", "mpi")}
    assert [axes.get_ylabel() for axes in (ratio, wall, memory)] == [
        "Time / simulator's",
        "Wall time of a point (s)",
        "Memory (MB)",
    ]
    lines = [line for line in ratio.get_lines() if len(xs(line)) and line.get_marker() != "None"]
    values = (on_substrates["time_s"] / on_substrates["time_s"].sel(substrate="simulator")).sel(machine="torus-S")
    assert lines[0].get_ydata() == pytest.approx(values.sel(substrate="sstmacro").values)
    assert lines[1].get_ydata() == pytest.approx(values.sel(substrate="mpi").dropna("ranks").values)


def test_substrates_are_summarised_in_two_tables(on_substrates: xr.Dataset) -> None:
    apart, costs = show(on_substrates).summaries
    assert [row[0] for row in apart.rows] == ["sstmacro", "mpi"]
    low, high = (1.7 * (ranks / 100) ** 0.12 for ranks in (4, 16))  # as the factory makes its times
    assert apart.rows[0][1:5] == ["2", f"{(low + high) / 2:.2f}", f"{low:.2f}", f"{high:.2f}"]
    assert [row[0] for row in costs.rows] == ["simulator", "sstmacro", "mpi"]
    assert costs.rows[0][2:] == ["2 s", "1", "20 MB", "1"]


def test_substrates_need_such_a_dimension(factory: Factory) -> None:
    with pytest.raises(ValueError, match="needs a dimension 'substrate', found"):
        draw(factory(("torus-S",), (4, 16), figure={"kind": "substrates"}))


def test_many_series_on_substrates_have_their_legend_below(factory: Factory) -> None:
    names = ("simulator", "sstmacro", "simgrid")
    figure = {"kind": "substrates", "lines": ["substrate", "machine"]}
    machines = {"machine": ("torus-S", "dragonfly-S")}
    dataset = factory(names, (4, 16), lines="substrate", extra=machines, figure=figure)
    times, _, words, *_ = draw(dataset.assign(peak_rss_bytes=dataset["wall_s"] * 1e7)).axes
    assert times.get_legend() is None
    assert len(legend_texts(words)) == 6
    looks = {(line.get_color(), line.get_marker()) for line in legend(words).get_lines()}
    assert len(looks) == 6
    assert len({colour for colour, _ in looks}) == 3, "one colour a substrate"


def test_a_panel_of_predictions_has_the_rows_of_its_own_machine_and_operation() -> None:
    rows = {
        "machine": ["mesh", "mesh", "tree"],
        "operation": ["alltoall", "alltoall", "allreduce"],
        "algorithm": ["burst", "pairwise", "burst"],
        "bytes": [8, 8, 1024],
        "measured_s": [3e-6, 2e-6, 8e-6],
        "predicted_s": [3e-6, 1e-6, 2e-6],
        "low_s": [2e-6, 1e-6, 1e-6],
        "high_s": [6e-6, 4e-6, 2e-6],
    }
    dataset = xr.Dataset({name: ("row", values) for name, values in rows.items()})
    dataset.attrs["figure_json"] = json.dumps({"kind": "predictions"})
    assert [panel.title for panel in show(dataset).panels] == ["mesh, alltoall", "tree, allreduce"]
    expected = [({"burst": [1.0], "pairwise": [2.0]}, [[0.5, 1.5], [0.5, 2.0]]), ({"burst": [4.0]}, [[4.0, 8.0]])]
    for axes, (dots, bars) in zip(draw(dataset).axes, expected, strict=True):
        assert {line.get_label(): ys(line).tolist() for line in axes.lines if line.get_marker() != "None"} == dots
        lines = [each for each in axes.collections if isinstance(each, LineCollection)]
        drawn = [np.asarray(segment)[:, 1] for each in lines for segment in each.get_segments()]
        assert np.array(drawn) == pytest.approx(np.array(bars))
    assert show(dataset).numbers.rows == [
        ["mesh, alltoall, burst", "1", "1", "1", "1"],
        ["mesh, alltoall, pairwise", "1", "2", "2", "2"],
        ["tree, allreduce, burst", "1", "4", "4", "4"],
    ]
