import itertools
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.colors import to_hex
from matplotlib.lines import Line2D

from analysis import style
from analysis.figures import draw

from .conftest import Factory

ROUTINGS = ("minimal", "valiant", "ugal")

COMPARISONS = [
    ("burst", "bruck", "ring-1", "ring-4"),
    ("torus-M", "fattree-M", "dragonfly-MM"),
    ("dragonfly-MM", "dragonfly-SL", "dragonfly-LS", "fattree-M"),
    ("torus-L", "fattree-L", "dragonfly-ML"),
    ("minimal", "valiant", "valiant-global", "ugal"),
    ("1 GB/s", "10 GB/s", "100 GB/s", "1000 GB/s"),
    ("10 ns", "100 ns", "1000 ns", "10000 ns"),
    ("transposition", "halo-3", "halo-10", "halo-20"),
    ("library", "recursive-k", "recursive-doubling", "rabenseifner", "ring", "transposition"),
    ("simulator", "sstmacro", "simgrid", "mpi"),
]


@pytest.mark.parametrize("names", COMPARISONS, ids=lambda names: names[0])
def test_series_of_a_paper_figure_differ_in_colour_and_in_marker(names: tuple[str, ...]) -> None:
    looks = style.series_styles(names)
    assert len({look.colour for look in looks.values()}) == len(names)
    assert len({(look.marker, look.line) for look in looks.values()}) == len(names)


@pytest.mark.parametrize("names", COMPARISONS, ids=lambda names: names[0])
def test_a_listed_series_looks_the_same_in_every_company(names: tuple[str, ...]) -> None:
    for subset in itertools.combinations(names, 2):
        assert all(look == style.series_style(name) for name, look in style.series_styles(subset).items())
    with_strangers = style.series_styles(("unheard of", *names, "another"))
    assert all(with_strangers[name] == style.series_style(name) for name in names)


def test_the_transposition_is_the_black_solid_line() -> None:
    look = style.series_style("transposition")
    assert (look.colour, look.line) == ("#000000", "solid")


def test_unknown_series_get_stable_looks_that_differ_within_a_figure() -> None:
    names = [f"new algorithm {letter}" for letter in "abcdefgh"]
    looks = style.series_styles(names)
    assert looks == style.series_styles(names)
    assert len({(look.colour, look.marker, look.line) for look in looks.values()}) == len(names)
    assert len({look.colour for look in looks.values()}) == 6, "every colour is used before one comes again"
    assert style.series_style(names[0]) == style.series_style(names[0])


def test_names_of_one_entry_share_the_colour_and_part_by_the_line() -> None:
    first, second = style.series_styles(["torus-X", "torus-Y"]).values()
    assert first.colour == second.colour
    assert (first.marker, first.line) != (second.marker, second.line)


def test_series_of_several_dimensions_have_the_colour_of_their_first_part_though_nothing_lists_it() -> None:
    names = [f"{network}, {grid}" for network in ("torus", "ours", "theirs") for grid in ("small", "large", "huge")]
    looks = style.series_styles(names)
    colours = {
        network: {look.colour for name, look in looks.items() if name.startswith(network)}
        for network in ("torus", "ours", "theirs")
    }
    assert [len(own) for own in colours.values()] == [1, 1, 1]
    assert len(set().union(*colours.values())) == 3
    assert len(set(looks.values())) == len(names)
    # Where all have the same first part, it tells nothing.
    assert len({look.colour for look in style.series_styles(["ours, a", "ours, b", "ours, c"]).values()}) == 3


def test_series_of_several_dimensions_have_the_colour_of_the_first() -> None:
    names = ["ring-1, fifo", "ring-1, round-robin", "ring-4, fifo", "unheard of, fifo"]
    looks = style.series_styles(names)
    ring = style.series_style("ring-1")
    assert (looks[names[0]].colour, looks[names[1]].colour) == (ring.colour, ring.colour)
    assert looks[names[0]].line != looks[names[1]].line
    assert looks[names[0]].marker != looks[names[1]].marker, "single points have no line"
    assert looks[names[2]].colour == style.series_style("ring-4").colour
    assert style.series_style("halo-3, fifo").label is None, "the label of the part would not tell them apart"


def test_more_series_than_looks_are_refused() -> None:
    with pytest.raises(ValueError, match="more series than the palette"):
        style.series_styles([f"s{i}" for i in range(1000)])


def test_every_entry_of_the_mapping_is_complete_and_drawable() -> None:
    mapping = style._mapping()
    for entry in mapping["series"]:
        assert entry["colour"] in mapping["colours"]
        assert entry["line"] in mapping["lines"]
        # An edge keeps overlapping markers apart, and markers without a face are nothing but an edge.
        assert entry["marker"] in Line2D.filled_markers
    patterns = [pattern for entry in mapping["series"] for pattern in entry["match"]]
    assert len(patterns) == len(set(patterns))


def test_files_of_all_forms_have_one_layout_which_is_done_once(factory: Factory) -> None:
    """A place holder for an engine ("none") has each file drawn twice."""
    assert draw(factory()).get_layout_engine() is None


@pytest.mark.parametrize("number", [0, 1, 10, 11, 30])
def test_no_two_parts_of_a_whole_have_one_colour(number: int) -> None:
    assert len(set(map(to_hex, style.colours(number)))) == number


@pytest.mark.parametrize(("width", "centimetres"), [("one-column", 8.3), ("two-column", 12.0)])
def test_figures_have_the_journals_widths(factory: Factory, width: str, centimetres: float) -> None:
    figure = draw(factory(figure={"width": width}))
    assert figure.get_size_inches()[0] * 2.54 == pytest.approx(centimetres)


def test_an_unknown_width_says_what_is_allowed() -> None:
    with pytest.raises(ValueError, match="one-column, two-column"):
        style.inches("poster")


def test_files_are_the_same_each_time_and_text_stays_text(factory: Factory, tmp_path: Path) -> None:
    first = style.save(draw(factory()), tmp_path / "a" / "figure")
    second = style.save(draw(factory()), tmp_path / "b" / "figure")
    assert [path.suffix for path in first] == [".svg", ".png", ".pdf"]
    for one, two in zip(first, second, strict=True):
        assert one.read_bytes() == two.read_bytes()
    svg = first[0].read_text()
    assert ">burst<" in svg
    assert ">Communication time (ms)<" in svg
    assert "metadata" not in svg
    assert not re.search(r"\b20\d\d-\d\d-\d\d", svg)
    assert b"CreationDate" not in first[2].read_bytes()


def test_fonts_of_axes_are_eight_points(factory: Factory) -> None:
    figure = draw(factory())
    assert figure.axes[0].xaxis.label.get_fontsize() == 8
    assert figure.axes[0].xaxis.label.get_fontfamily() == ["sans-serif"]


def test_with_several_routings_the_colour_says_the_substrate_and_the_line_the_routing() -> None:
    names = {
        (substrate, routing): f"{substrate}, {routing}"
        for substrate in ("simulator", "sstmacro")
        for routing in ROUTINGS
    }
    looks = style.series_styles(names.values())
    for substrate in ("simulator", "sstmacro"):
        assert {looks[names[substrate, routing]].colour for routing in ROUTINGS} == {
            style.series_style(substrate).colour
        }
    for routing in ROUTINGS:
        ours, theirs = looks[names["simulator", routing]], looks[names["sstmacro", routing]]
        assert (ours.line, ours.marker) == (theirs.line, theirs.marker)
    assert len({looks[names["simulator", routing]].line for routing in ROUTINGS}) == len(ROUTINGS)


def test_a_backend_of_the_users_that_matplotlib_does_not_know_stops_no_figure() -> None:
    program = "import analysis.draw, matplotlib.figure"
    environment = {**os.environ, "MPLBACKEND": "Qt4Agg", "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)


def test_a_date_of_the_users_that_is_none_stops_no_figure(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from analysis import style
from matplotlib.figure import Figure
style.save(Figure(), Path({str(tmp_path / "empty")!r}))
"""
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "abc", "PYTHONPATH": str(Path(__file__).parents[2])}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
