"""How every figure looks: one style file, one mapping of series, one way to save.

A reader who learnt in one figure that a blue square is a torus may rely on it in the next one. Hence the looks of a
series come from `series.yaml` by its name, never from its place in a figure; sizes and fonts come from
`tramontane.mplstyle`; and files are written without dates or random identifiers, so that the same data gives the same
file.
"""

import io
import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tramontane.study.reading.reading import read_yaml
from tramontane.support.files import write_atomically
from tramontane.support.layout import FIGURE_FORMATS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.typing import ColorType

STYLE_FILE = Path(__file__).with_name("tramontane.mplstyle")
SERIES_FILE = Path(__file__).with_name("series.yaml")

#: Widths of Copernicus journals in centimetres.
WIDTHS_CM: Mapping[str, float] = {"one-column": 8.3, "two-column": 12.0, "page": 17.0}
#: Height over width of a panel.
ASPECT = 0.72


@dataclass(frozen=True)
class SeriesStyle:
    """Looks of one series.

    Attributes
    ----------
    colour
        Hexadecimal colour.
    marker
        A filled marker of matplotlib.
    line
        Name of the line: a key of ``lines`` in `series.yaml`.
    label
        Text of the legend, or None for the series' name.
    """

    colour: str
    marker: str
    line: str
    label: str | None = None

    @property
    def dashes(self) -> tuple[float, ...]:
        """Lengths of dashes and gaps in line widths; empty for a solid line."""
        return tuple(_mapping()["lines"][self.line])


@cache
def _mapping() -> dict[str, Any]:
    return read_yaml(SERIES_FILE)


def _listed(name: str) -> SeriesStyle | None:
    mapping = _mapping()
    for entry in mapping["series"]:
        if any(fnmatchcase(name, pattern) for pattern in entry["match"]):
            return SeriesStyle(mapping["colours"][entry["colour"]], entry["marker"], entry["line"], entry.get("label"))
    # A series of several dimensions ("ring-4, fifo") has the colour of its first part in all figures.
    known = _listed(_first(name)) if _first(name) != name else None
    return replace(known, label=None) if known else None


def _first(name: str) -> str:
    """Return the first part of the name of a series of several dimensions."""
    return name.partition(", ")[0]


def _candidates(name: str) -> Iterator[SeriesStyle]:
    """All looks of the palette, beginning at a place that depends on the name alone."""
    mapping = _mapping()
    colours, markers, lines = (mapping["fallback"][key] for key in ("colours", "markers", "lines"))
    start = zlib.crc32(name.encode())
    for shift in range(len(colours) * len(markers) * len(lines)):
        # Colour, marker and line step together: neighbours in the palette differ in all three.
        turn = shift // len(colours)
        yield SeriesStyle(
            mapping["colours"][colours[(start + shift) % len(colours)]],
            markers[(start // 7 + shift + turn) % len(markers)],
            lines[(start // 49 + turn) % len(lines)],
        )


def series_style(name: str) -> SeriesStyle:
    """Return the looks of a series by its name alone: its entry in `series.yaml`, else a place in the palette."""
    return _listed(name) or next(_candidates(name))


def series_styles(names: Iterable[str]) -> dict[str, SeriesStyle]:
    """Return the looks of all series of one figure.

    A listed series always keeps its looks. Where series without an entry would fall on the colour of another one of the
    same figure, they move on along the palette, so that no two lines of a figure look the same.

    Parameters
    ----------
    names
        Names of the series, without repetition.

    Returns
    -------
    dict
        Name to looks, in the order of `names`.

    Raises
    ------
    ValueError
        If the palette has fewer looks than the figure has series.
    """
    ordered = list(names)
    fixed = {name: style for name in ordered if (style := _listed(name)) is not None}
    taken: set[tuple[str, str, str]] = set()
    result: dict[str, SeriesStyle] = {}
    firsts: dict[str, SeriesStyle] = {}  # of those without an entry
    several = len({_first(name) for name in ordered}) > 1
    for name in sorted(ordered, key=lambda name: name not in fixed):
        chosen = fixed.get(name) or (firsts.get(_first(name)) if several else None)
        if chosen is None or (chosen.colour, chosen.marker, chosen.line) in taken:
            # Two names of one entry ("torus-A", "torus-B"), or with one first part, share the colour and part by marker
            # and line.
            chosen = _free(name, taken, chosen)
        if name not in fixed:
            firsts.setdefault(_first(name), chosen)
        taken.add((chosen.colour, chosen.marker, chosen.line))
        result[name] = chosen
    return {name: result[name] for name in ordered}


def _free(name: str, taken: set[tuple[str, str, str]], listed: SeriesStyle | None) -> SeriesStyle:
    mapping = _mapping()
    if listed is not None:
        # Another marker and another line: single points have no line to be told by.
        lines = list(mapping["lines"])
        markers = [listed.marker, *(marker for marker in mapping["fallback"]["markers"] if marker != listed.marker)]
        for turn, shift in itertools.product(range(len(lines)), range(len(markers))):
            marker, line = markers[shift], lines[(lines.index(listed.line) + shift + turn) % len(lines)]
            if (listed.colour, marker, line) not in taken:
                return replace(listed, marker=marker, line=line)
    used = {colour for colour, _, _ in taken}
    candidates = [c for c in _candidates(name) if (c.colour, c.marker, c.line) not in taken]
    if not candidates:
        raise ValueError(f"more series than the palette can tell apart, at '{name}'")
    return next((c for c in candidates if c.colour not in used), candidates[0])


def colours(number: int) -> "list[ColorType]":
    """Return colours for so many parts of a whole, such as steps: those of `series.yaml` that everybody can tell apart.

    For more parts than there are such colours, others, since no two are to look the same.
    """
    known: list[ColorType] = _mapping()["parts"]
    if number <= len(known):
        return known[:number]
    import seaborn  # noqa: PLC0415 - slow to import: SciPy's statistics come with it

    return list(seaborn.color_palette("husl", number))


def inches(width: str) -> float:
    """Return a width (a key of `WIDTHS_CM`) in inches.

    Raises
    ------
    ValueError
        If the width is not one of `WIDTHS_CM`.
    """
    if width not in WIDTHS_CM:
        raise ValueError(f"figure width '{width}', allowed: {', '.join(WIDTHS_CM)}")
    return WIDTHS_CM[width] / 2.54


@contextmanager
def context() -> Iterator[None]:
    """Matplotlib's settings of this project; drawing and saving both need them."""
    import matplotlib  # noqa: PLC0415 - slow to import, and the report does without

    matplotlib.use("Agg")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(matplotlib.rc_params_from_file(STYLE_FILE, use_default_template=False))
        yield


def save(figure: "Figure", stem: Path) -> list[Path]:
    """Write a figure as SVG, PNG (300 dpi) and PDF.

    Parameters
    ----------
    figure
        What a module of `analysis.figures` returned.
    stem
        Path without suffix; its folder is made.

    Returns
    -------
    list of Path
        The files, in the order of `tramontane.support.layout.FIGURE_FORMATS`.
    """
    stem.parent.mkdir(parents=True, exist_ok=True)
    # A value of None leaves the entry out: no dates, hence the same bytes each time.
    metadata: dict[str, dict[str, str | None]] = {
        "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
        "png": {"Software": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    }
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in FIGURE_FORMATS]
    with context():
        for path, suffix in zip(paths, FIGURE_FORMATS, strict=True):
            drawn = io.BytesIO()
            figure.savefig(drawn, format=suffix, metadata=metadata[suffix])
            write_atomically(path, drawn.getvalue())
    return paths
