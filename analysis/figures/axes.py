"""Ticks, labels and free corners: what all families of figures need on their axes.

Matplotlib does neither of the two: its LogLocator does not take measured values as ticks, nor at least three of a short
axis; and a legend that goes to the `best` place covers data where no place is free, instead of making room.
"""

import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.style import SeriesStyle

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.lines import Line2D
    from matplotlib.path import Path
    from matplotlib.transforms import Bbox
    from matplotlib.typing import LegendLocType

    Values = np.ndarray[Any, np.dtype[np.float64]]

#: Steps in a decade, from the coarsest; the first that gives enough ticks is taken.
_STEPS = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 2, 3, 4, 6, 8),
    (1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
    tuple(np.arange(1, 10, 0.1)),
)
#: Most named ticks of a logarithmic axis; its margin on both sides, as a part of the range.
MOST_TICKS, MARGIN = 7, 0.06

#: Characters of a line of a legend in axes as wide as a column of a journal, and least of a name of an axis.
LINE, LEAST = 30, 12
#: Most of the axes' height that a legend takes inside them.
MOST = 0.5
#: What matplotlib reads as a formula, and what stands for a blank in one while lines are broken.
_FORMULA, _NO_BREAK = re.compile(r"\$[^$]*\$"), "\0"
#: What dots look like that may lie close together.
DOTS: dict[str, Any] = {
    "linestyle": "none",
    "markersize": 3.2,
    "markeredgecolor": "white",
    "markeredgewidth": 0.3,
}

#: Places of the legend inside the axes, in order of preference.
_PLACES: "tuple[LegendLocType, ...]" = (
    "upper right",
    "lower left",
    "upper left",
    "lower right",
    "center right",
    "center left",
)


def log_ticks(low: float, high: float, values: Sequence[float] = ()) -> list[float]:
    """Ticks of a logarithmic axis that a reader can name.

    Decades where there are at least three of them (10^2, 10^3, ...); on shorter axes the values themselves if they are
    few and far enough apart, else 1, 3 or finer steps.

    Parameters
    ----------
    low, high
        Limits of the axis, both positive.
    values
        Where points were measured; empty if they have no meaning as ticks (times).

    Returns
    -------
    list of float
        Rising; at least one if a value or a step lies inside the limits.
    """
    inside = sorted({v for v in values if low <= v <= high})
    decades = math.log10(high / low)
    if inside and len(inside) <= MOST_TICKS and decades < 3.2:
        apart = [math.log10(b / a) for a, b in itertools.pairwise(inside)]
        if not apart or min(apart) > decades / 6.5:
            return inside
    ticks: list[float] = []
    for steps in _STEPS:
        ticks = _steps_inside(low, high, steps)
        if len(ticks) >= 3:
            break
    if len(ticks) > MOST_TICKS:
        stride = math.ceil(len(ticks) / MOST_TICKS)
        ticks = [t for t in ticks if round(math.log10(t)) % stride == 0] if steps == (1,) else ticks[::stride]
    return ticks


def _steps_inside(low: float, high: float, steps: Sequence[float]) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = [step * 10.0**decade for decade in range(first, last + 1) for step in steps]
    slack = 1e-9
    return [t for t in ticks if low * (1 - slack) <= t <= high * (1 + slack)]


def minor_ticks(low: float, high: float, major: Sequence[float]) -> list[float]:
    """Unnamed ticks at 2 to 9 in each decade; none where they would run together or between uneven named ticks."""
    if math.log10(high / low) > 5.5 or not set(major) <= set(_steps_inside(low, high, range(1, 10))):
        return []
    return [t for t in _steps_inside(low, high, range(1, 10)) if t not in set(major)]


def tick_text(value: float, powers: bool) -> str:
    """Text of a tick: ``200``, ``0.5``, or ``10^4`` (mathtext) if `powers` is set or the value very large or small."""
    exponent = math.floor(math.log10(abs(value)) + 1e-9) if value else 0
    mantissa = value / 10.0**exponent
    if value and (powers or not -3 < exponent < 5):
        power = f"10^{{{exponent}}}"
        if math.isclose(mantissa, 1):
            return f"$\\mathdefault{{{power}}}$"
        return f"$\\mathdefault{{{mantissa:.3g}\\times {power}}}$"
    text = f"{value:.10g}"
    return f"{int(text):,}".replace(",", "\u202f") if text.isdigit() and len(text) > 4 else text


def set_log_axis(axis: "Axis", low: float, high: float, values: Sequence[float] = ()) -> None:
    """Give an axis a logarithmic scale from `low` to `high` with named ticks.

    Parameters
    ----------
    axis
        ``axes.xaxis`` or ``axes.yaxis``.
    low, high
        Limits, both positive.
    values
        Measured values that may serve as ticks, see `log_ticks`.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter  # noqa: PLC0415 - slow to import

    name = "x" if axis is axis.axes.xaxis else "y"
    axis.axes.set(**{f"{name}scale": "log", f"{name}lim": (low, high)})
    major = log_ticks(low, high, values)
    # Long axes name powers throughout (also 10^1); short ones are read as plain numbers.
    powers = all(math.isclose(math.log10(t), round(math.log10(t)), abs_tol=1e-9) for t in major) and (
        max(major) >= 1e4 or min(major) <= 1e-3
    )
    axis.set_major_locator(FixedLocator(major))
    axis.set_major_formatter(FuncFormatter(lambda value, _: tick_text(value, powers)))
    axis.set_minor_locator(FixedLocator(minor_ticks(low, high, major)))
    axis.set_minor_formatter(NullFormatter())


def padded(values: Sequence[float], least: float = 3.0) -> tuple[float, float]:
    """Return limits of a logarithmic axis: a margin on both sides of the range, at least a factor `least` in all."""
    low, high = min(values), max(values)
    pad = (high / low) ** MARGIN
    low, high = low / pad, high * pad
    if high / low < least:
        widen = math.sqrt(least * low / high)
        low, high = low / widen, high * widen
    return low, high


def dots(axes: "Axes", x: "Values", y: "Values", look: SeriesStyle, name: str) -> "list[Line2D]":
    """Draw the dots of a series, which may lie close together, and return its entry of the legend."""
    return axes.plot(x, y, color=look.colour, marker=look.marker, label=name, zorder=3, **DOTS)


def in_lines(name: str, most: int = LINE) -> str:
    """Return a name that is broken where it is longer than `most` characters; its formulas stay whole.

    Parameters
    ----------
    name
        What a legend, a row or a title says.
    most
        Characters of a line.
    """
    whole = _FORMULA.sub(lambda formula: formula[0].replace(" ", _NO_BREAK), name)
    lines = textwrap.wrap(whole, most, break_long_words="$" not in name, break_on_hyphens=False)
    return "\n".join(lines).replace(_NO_BREAK, " ")


def break_labels(axes: "Axes") -> None:
    """Break the names of axes that run over the figure's edge, or far over the axes'."""
    figure = axes.figure.bbox
    for label, room in ((axes.xaxis.label, axes.bbox.width), (axes.yaxis.label, axes.bbox.height)):
        box, text = label.get_window_extent(), label.get_text()
        over = not (figure.contains(box.x0, box.y0) and figure.contains(box.x1, box.y1))
        length = box.width if label is axes.xaxis.label else box.height
        if text and "\n" not in text and (over or length > 1.5 * room):
            # More lines along one axis take room from the other.
            label.set_text(in_lines(text, max(int(0.85 * len(text) * room / length), LEAST)))


def place_legend(axes: "Axes", handles: "Sequence[Artist]") -> float:
    """Put the legend where it covers no data: in the first free place, else at the top, where room is made for it.

    Names that are longer than the axes are wide take several lines. A legend that would take half of the axes stands
    below them.

    Parameters
    ----------
    axes
        With all lines drawn, their limits set and the figure's layout done.
    handles
        Entries of the legend, with their labels.

    Returns
    -------
    float
        Height that is lacking in the figure, for a legend below the axes [pixels].
    """
    occupied, filled = _occupied(axes), _filled(axes)
    if axes.legend(handles=handles).get_window_extent().width > axes.bbox.width:
        for handle in handles:
            handle.set_label(in_lines(str(handle.get_label())))
    for place in _PLACES:
        box = axes.legend(handles=handles, loc=place).get_window_extent()
        inside = axes.bbox.contains(box.x0, box.y0) and axes.bbox.contains(box.x1, box.y1)
        if not inside or (len(occupied) and box.padded(4).count_contains(occupied)):
            continue
        middle = ((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)
        if not any(area.contains_point(middle) for area in filled):  # no edge is near: it is within, or it is not
            return 0.0
    box = _in_rows(axes, handles, axes.bbox.width, loc="upper center")
    part = (box.height + 2 * (axes.bbox.y1 - box.y1)) / axes.bbox.height
    if part < MOST:
        _make_room(axes, part)
        return 0.0
    # The distance from the axes is told in sizes of the font, which stay when the axes are laid out anew.
    label = axes.xaxis.label
    size = label.get_fontproperties().get_size_in_points()
    apart = (axes.bbox.y0 - label.get_window_extent().y0) / (size * axes.figure.dpi / 72) + 0.5
    look: dict[str, Any] = {"bbox_to_anchor": (0.5, 0), "borderaxespad": apart, "fontsize": size}
    return _in_rows(axes, handles, axes.bbox.width, loc="upper center", **look).height


def _in_rows(axes: "Axes", handles: "Sequence[Artist]", width: float, **look: Any) -> "Bbox":
    """Draw the legend in as few rows as fit into a width; return where it stands."""
    for rows in range(1, len(handles) + 1):
        box = axes.legend(handles=handles, ncols=math.ceil(len(handles) / rows), **look).get_window_extent()
        if box.width < 0.98 * width:
            break
    return box


def _make_room(axes: "Axes", part: float) -> None:
    """Raise the axis above the data by a part of its length."""
    bottom, top = axes.get_ylim()
    if axes.get_yscale() == "log":
        set_log_axis(axes.yaxis, bottom, bottom * (top / bottom) ** (1 / (1 - part)))
    else:
        axes.set_ylim(bottom, bottom + (top - bottom) / (1 - part))


def _occupied(axes: "Axes") -> "np.ndarray[Any, np.dtype[np.float64]]":
    """Points in pixels, close together, along all lines and edges of bands and bars."""
    pieces = []
    for line in axes.get_lines():
        xy = np.column_stack([np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)])
        pieces.append(axes.transData.transform(xy))
    pieces += [patch.get_transform().transform(patch.get_path().vertices) for patch in axes.patches]
    for collection in axes.collections:
        pieces += [axes.transData.transform(path.vertices) for path in collection.get_paths()]
    dense = [_densify(piece[np.isfinite(piece).all(axis=1)]) for piece in pieces if len(piece)]
    return np.concatenate(dense) if dense else np.empty((0, 2))


def _filled(axes: "Axes") -> "list[Path]":
    """Outlines in pixels of bands and bars."""
    from matplotlib.collections import PolyCollection  # noqa: PLC0415 - slow to import

    bars = [patch.get_transform().transform_path(patch.get_path()) for patch in axes.patches if patch.get_fill()]
    bands = [each for each in axes.collections if isinstance(each, PolyCollection)]
    return bars + [axes.transData.transform_path(path) for band in bands for path in band.get_paths()]


def _densify(points: "np.ndarray[Any, np.dtype[np.float64]]") -> "np.ndarray[Any, np.dtype[np.float64]]":
    if len(points) < 2:
        return points
    steps = np.linspace(0.0, 1.0, 33)[:, None]
    return np.concatenate([a + steps * (b - a) for a, b in itertools.pairwise(points)])
