import itertools
import json

import matplotlib.colors
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from analysis import style
from analysis.figures import axes as axis_tools
from analysis.figures import draw, scaling, show
from analysis.page.interactive import plot
from analysis.spec import spec_of

from . import drawn
from .conftest import Factory


def lines_of(figure: Figure, name: str) -> list[Line2D]:
    """Drawn lines of a series, found by its looks."""
    look = style.series_style(name)
    return [
        line
        for line in figure.axes[0].get_lines()
        if matplotlib.colors.to_hex(line.get_color()) == look.colour.lower() and line.get_marker() == look.marker
    ]


def legend_texts(figure: Figure) -> list[str]:
    return drawn.legend_texts(figure.axes[0]) if figure.axes[0].get_legend() else []


def test_each_series_is_one_line_through_its_points(factory: Factory) -> None:
    dataset = factory()
    figure = draw(dataset)
    for name in dataset["series"].values:
        (line,) = lines_of(figure, name)
        np.testing.assert_allclose(drawn.xs(line), dataset["ranks"])
        np.testing.assert_allclose(drawn.ys(line), dataset["time_s"].sel(series=name) * 1e3)


def test_both_axes_are_logarithmic_and_labelled_with_units(factory: Factory) -> None:
    axes = draw(factory()).axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "log")
    assert axes.get_xlabel() == "Number of MPI processes"
    assert axes.get_ylabel() == "Communication time (ms)"
    assert axes.get_title(loc="left") == "(a)"


def test_quantities_along_the_axis_have_the_unit_of_the_first(factory: Factory) -> None:
    dataset = factory(("burst",)).rename(ranks="latency")
    dataset.attrs["figure_json"] = json.dumps({"x": "latency", "lines": "series"})
    ranks = dataset["latency"].values
    written = ["0.1 us", *(f"{number} ns" for number in ranks[1:])]
    named = dataset.assign_coords(latency=("latency", written, {"long_name": "latency"}))
    figure = draw(named)
    assert figure.axes[0].get_xlabel() == "Latency (µs)"
    np.testing.assert_allclose(drawn.xs(lines_of(figure, "burst")[0]), ranks / 1000)
    table = show(named).numbers
    assert (table.headings[0], table.rows[0][0]) == ("Latency, µs", "0.1")
    shown = json.loads(plot(named))
    assert shown["layout"]["xaxis"]["title"]["text"] == "Latency (µs)"
    np.testing.assert_allclose(shown["data"][-1]["x"], ranks / 1000)


@pytest.mark.parametrize(("factor", "unit", "scale"), [(1e2, "s", 1.0), (1.0, "ms", 1e3), (1e-3, "µs", 1e6)])
def test_times_are_drawn_in_the_unit_of_their_magnitude(
    factory: Factory, factor: float, unit: str, scale: float
) -> None:
    dataset = factory()
    dataset["time_s"] = (dataset["time_s"] * factor).assign_attrs(dataset["time_s"].attrs)
    figure = draw(dataset)
    assert figure.axes[0].get_ylabel() == f"Communication time ({unit})"
    np.testing.assert_allclose(drawn.ys(lines_of(figure, "burst")[0])[0], 0.4 * factor * scale)


def test_failed_missing_and_excluded_points_are_gaps_not_zeros(factory: Factory) -> None:
    gaps = {("ring-1", 1000): "failed", ("ring-1", 10_000): "missing", ("ring-1", 100_000): "excluded"}
    runs = [list(drawn.xs(line)) for line in lines_of(draw(factory(gaps=gaps)), "ring-1")]
    assert runs == [pytest.approx([100, 300]), pytest.approx([3000]), pytest.approx([30_000])]


def test_nothing_is_drawn_at_zero(factory: Factory) -> None:
    figure = draw(factory(gaps={("burst", 100): "failed"}))
    assert all((drawn.ys(line) > 0).all() for line in figure.axes[0].get_lines())


def test_a_series_has_the_same_looks_in_every_figure(factory: Factory) -> None:
    one = draw(factory(("transposition", "halo-3", "ring-4")))
    two = draw(factory(("ring-4", "unheard of", "transposition"), members=2))
    for name in ("transposition", "ring-4"):
        first, second = lines_of(one, name)[0], lines_of(two, name)[0]
        assert first.get_color() == second.get_color()
        assert first.get_linestyle() == second.get_linestyle()
        assert vars(first)["_unscaled_dash_pattern"] == vars(second)["_unscaled_dash_pattern"]


def test_the_legend_shows_what_is_drawn(factory: Factory) -> None:
    figure = draw(factory())
    assert legend_texts(figure) == ["burst", "bruck", "ring-1", "ring-4"]
    for handle, name in zip(drawn.legend(figure.axes[0]).legend_handles, legend_texts(figure), strict=True):
        assert isinstance(handle, Line2D)
        look = style.series_style(name)
        assert (handle.get_color(), handle.get_marker()) == (look.colour, look.marker)
        assert handle.is_dashed() == (look.line != "solid")


def test_a_series_without_results_is_not_in_the_legend(factory: Factory) -> None:
    gaps = {("bruck", ranks): "missing" for ranks in (16, 64)}
    assert legend_texts(draw(factory(("burst", "bruck"), (16, 64), gaps=gaps))) == ["burst"]


def test_the_best_radix_is_one_line(factory: Factory) -> None:
    best = {"best": [{"series": "recursive-k", "of": "recursive-*", "label": "recursive-k (best radix)"}]}
    dataset = factory(("recursive-2", "recursive-8", "transposition"), (16, 64, 256), figure=best)
    figure = draw(dataset)
    assert legend_texts(figure) == ["recursive-k (best radix)", "transposition"]
    fastest = dataset["time_s"].isel(series=slice(0, 2)).min("series")
    np.testing.assert_allclose(drawn.ys(lines_of(figure, "recursive-k")[0]), fastest)  # in seconds


def test_members_are_a_median_line_in_a_band_of_their_range(factory: Factory) -> None:
    dataset = factory(members=2)
    figure = draw(dataset)
    band = np.asarray(figure.axes[0].collections[0].get_paths()[0].vertices)[:, 1]
    members = dataset["time_s"].sel(series="burst") * 1e3
    assert band.min() == pytest.approx(float(members.min()))
    assert band.max() == pytest.approx(float(members.max()))
    np.testing.assert_allclose(drawn.ys(lines_of(figure, "burst")[0]), members.median("member"))
    assert len(figure.axes[0].collections) == dataset.sizes["series"]


def test_bands_stop_at_gaps(factory: Factory) -> None:
    figure = draw(factory(("burst",), members=2, gaps={("burst", 1000): "failed"}))
    assert len(figure.axes[0].collections) == 2


def test_a_single_run_has_no_band(factory: Factory) -> None:
    assert not draw(factory()).axes[0].collections


def test_one_point_is_drawn_in_the_middle_with_its_value_as_tick(factory: Factory) -> None:
    figure = draw(factory(("ring-4",), (64,)))
    (line,) = lines_of(figure, "ring-4")
    np.testing.assert_allclose(drawn.xs(line), [64])
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["64"]
    low, high = axes.get_xlim()
    assert low < 64 < high


def test_an_experiment_without_results_says_so(factory: Factory) -> None:
    figure = draw(factory(("ring-4",), (64,), gaps={("ring-4", 64): "missing"}))
    assert [text.get_text() for text in figure.axes[0].texts] == ["no results yet"]
    assert not figure.axes[0].get_lines()


def test_points_that_failed_or_take_no_time_have_results(factory: Factory) -> None:
    failed = draw(factory(("ring-4",), (64, 256), gaps={("ring-4", ranks): "failed" for ranks in (64, 256)}))
    assert [text.get_text() for text in failed.axes[0].texts] == ["no results: 2 points failed"]
    dataset = factory(("ring-4",), (64, 256))
    dataset["time_s"][:] = 0.0
    assert [text.get_text() for text in draw(dataset).axes[0].texts] == ["all values are zero"]


def test_a_table_says_along_what_and_in_which_unit_as_the_axis_does(factory: Factory) -> None:
    dataset = factory(figure={"x_label": "buffer of a link (KiB)"})
    assert scaling.show(dataset, spec_of(dataset)).numbers.headings[0] == "Buffer of a link (KiB)"


def test_a_figure_without_lines_needs_no_legend(factory: Factory) -> None:
    dataset = factory().isel(series=0, drop=True)
    dataset.attrs["figure_json"] = '{"x": "ranks"}'
    figure = draw(dataset)
    assert len(figure.axes[0].get_lines()) == 1
    assert figure.axes[0].get_legend() is None


def test_other_quantities_on_a_linear_axis_start_at_zero(factory: Factory) -> None:
    axes = draw(factory(figure={"y": "packets", "y_scale": "linear", "y_label": "packets of the workload"})).axes[0]
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[0] == 0
    assert axes.get_ylabel() == "Packets of the workload"


def test_an_unknown_family_says_what_is_allowed(factory: Factory) -> None:
    with pytest.raises(ValueError, match=r"figure\.kind: found 'pie', allowed: scaling"):
        draw(factory(figure={"kind": "pie"}))


def pixels(figure: Figure) -> NDArray[np.float64]:
    axes = figure.axes[0]
    return np.concatenate(
        [axes.transData.transform(np.column_stack([line.get_xdata(), line.get_ydata()])) for line in axes.get_lines()]
    )


@pytest.mark.parametrize("values", ["falling", "rising", "everywhere"])
def test_the_legend_covers_no_point(factory: Factory, values: str) -> None:
    dataset = factory(("halo-3", "halo-10", "halo-20", "transposition", "ring-1"), (16, 32, 64, 128, 256))
    n, m = dataset["time_s"].shape
    times = {
        "falling": dataset["time_s"].values,
        "rising": 1 / dataset["time_s"].values,
        "everywhere": np.array([[1.0, 50.0][(i + j) % 2] * (i + 1) for i in range(n) for j in range(m)]).reshape(n, m),
    }[values]
    dataset["time_s"] = (("series", "ranks"), times, dataset["time_s"].attrs)
    figure = draw(dataset)
    box = drawn.legend(figure.axes[0]).get_window_extent()
    assert box.count_contains(pixels(figure)) == 0
    height, width = figure.bbox.height, figure.bbox.width
    assert box.x0 >= 0
    assert box.x1 <= width
    assert box.y0 >= 0
    assert box.y1 <= height
    title = figure.axes[0].findobj(lambda artist: getattr(artist, "get_text", str)() == "(a)")[0]
    assert not box.overlaps(title.get_window_extent()), "the legend leaves the panel's letter alone"


def test_long_names_take_several_lines(factory: Factory) -> None:
    figure = draw(factory(drawn.LONG, (16, 64, 256)))
    texts = legend_texts(figure)
    assert [text.replace("\n", " ") for text in texts] == list(drawn.LONG)
    assert [text.count("\n") for text in texts] == [2, 2, 0]
    assert "$A r$" in texts[1]
    drawn.assert_names_have_room(figure)
    box = drawn.legend(figure.axes[0]).get_window_extent()
    assert figure.axes[0].bbox.x0 <= box.x0
    assert box.x1 <= figure.axes[0].bbox.x1
    assert box.count_contains(pixels(figure)) == 0


def test_a_legend_that_would_cover_half_the_axes_stands_below_them(factory: Factory) -> None:
    names = tuple(f"series number {number} with words" for number in range(12))
    figure = draw(factory(names, members=3))
    axes = figure.axes[0]
    box = drawn.legend(axes).get_window_extent()
    assert legend_texts(figure) == list(names)
    assert box.count_contains(pixels(figure)) == 0
    assert box.x0 >= 0
    assert box.x1 <= figure.bbox.width
    assert box.y0 >= 0
    assert box.y1 <= axes.xaxis.label.get_window_extent().y0
    assert axes.bbox.height > 0.8 * draw(factory()).axes[0].bbox.height, "the figure grows, not the axes shrink"
    highest = float(np.max(pixels(figure)[:, 1]))
    assert highest > axes.bbox.y0 + 0.8 * axes.bbox.height, "no room is made inside"


def test_long_names_of_axes_take_several_lines(factory: Factory) -> None:
    long = "Time of a transposition and of all that comes with it, as the slowest of all processes sees it"
    figure = draw(factory(figure={"x_label": long, "y_label": long}))
    for label in (figure.axes[0].xaxis.label, figure.axes[0].yaxis.label):
        assert label.get_text().replace("\n", " ").startswith(long)
        box = label.get_window_extent()
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.width
        assert box.y1 <= figure.bbox.height
    assert "\n" not in draw(factory()).axes[0].get_ylabel()


def test_all_text_lies_inside_the_figure_and_tick_labels_do_not_overlap(factory: Factory) -> None:
    for ranks in [
        (16, 64),
        (16, 32, 64, 128, 256),
        (100, 300, 1000, 3000, 10_000),
        (100, 1_000_000),
        (4096, 5000, 10_000),
    ]:
        figure = draw(factory(ranks=ranks))
        axes = figure.axes[0]
        for axis in (axes.xaxis, axes.yaxis):
            boxes = [label.get_window_extent() for label in axis.get_ticklabels() if label.get_text()]
            assert boxes
            assert not any(a.overlaps(b) for a, b in itertools.pairwise(boxes)), ranks
            for box in [*boxes, axis.label.get_window_extent()]:
                assert box.x0 >= 0
                assert box.y0 >= 0
                assert box.x1 <= figure.bbox.width
                assert box.y1 <= figure.bbox.height


@pytest.mark.parametrize(
    ("low", "high", "values", "ticks"),
    [
        (80, 1.2e6, (), [100, 1000, 10_000, 100_000, 1_000_000]),
        (14, 300, (16, 32, 64, 128, 256), [16, 32, 64, 128, 256]),
        (0.2, 70, (), [0.3, 1, 3, 10, 30]),
        (8, 35, (), [8, 10, 20, 30]),
        (90, 1100, tuple(range(100, 1001, 10)), [100, 300, 1000]),
    ],
)
def test_ticks_are_numbers_that_a_reader_can_name(
    low: float, high: float, values: tuple[float, ...], ticks: list[float]
) -> None:
    assert axis_tools.log_ticks(low, high, values) == pytest.approx(ticks)


@given(low=st.floats(1e-9, 1e9), ratio=st.floats(3, 1e12))
def test_there_are_always_a_few_rising_ticks_inside_the_limits(low: float, ratio: float) -> None:
    ticks = axis_tools.log_ticks(low, low * ratio)
    assert 2 <= len(ticks) <= 8
    assert ticks == sorted(set(ticks))
    assert all(low * 0.999 <= tick <= low * ratio * 1.001 for tick in ticks)


@pytest.mark.parametrize(
    ("value", "powers", "text"),
    [
        (200, False, "200"),
        (0.3, False, "0.3"),
        (10_000, True, "$\\mathdefault{10^{4}}$"),
        (20_000, False, "20\u202f000"),
        (3e6, False, "$\\mathdefault{3\\times 10^{6}}$"),
        (0.0001, False, "$\\mathdefault{10^{-4}}$"),
    ],
)
def test_tick_texts(value: float, powers: bool, text: str) -> None:
    assert axis_tools.tick_text(value, powers) == text
