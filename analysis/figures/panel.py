"""What a family of figures hands to the page: panels that can stand alone or beside others.

A family turns a dataset into panels; `compose` arranges panels in one figure and does, after the layout is known, what
all need: letters, legends that cover no data, colour bars that panels of one colour scale share.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from analysis import style
from analysis.figures import axes as axis_tools
from analysis.table import Table

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.figure import Figure
    from matplotlib.gridspec import SubplotSpec

#: Colour of words that are no data.
SOFT = "#555555"
#: Width of a letter of a title, about [pt].
TITLE = 5.2


@dataclass(frozen=True)
class Drawn:
    """One pair of axes that a panel has drawn.

    Attributes
    ----------
    axes
        With all data drawn and limits set.
    handles
        Entries of the legend; none if it needs none.
    colours
        What a colour bar explains, or None. Panels with the same norm share one bar.
    colour_label
        Text of the colour bar.
    """

    axes: "Axes"
    handles: "Sequence[Artist]" = ()
    colours: "ScalarMappable | None" = None
    colour_label: str = ""


@dataclass(frozen=True)
class Panel:
    """A panel that has not been drawn yet.

    Attributes
    ----------
    draw
        Draws into a cell of a figure's grid; the first axes returned carry the letter.
    letter, title
        Printed above the panel: ``(a)``, and words where the letter alone would not do.
    note
        Printed at the right above it: what is missing.
    height
        Height in inches where it depends on the data, or None.
    aspect
        Height over width where `height` is None.
    """

    draw: "Callable[[Figure, SubplotSpec], Sequence[Drawn]]"
    letter: str = ""
    title: str = ""
    note: str = ""
    height: float | None = None
    aspect: float = style.ASPECT


class Shown(NamedTuple):
    """What a family makes of a dataset: panels, the same as numbers, and tables of what follows; most have none."""

    panels: list[Panel]
    numbers: Table
    summaries: Sequence[Table] = ()


def compose(panels: Sequence[Panel], width: str = "one-column", columns: int = 1) -> "Figure":
    """Draw panels in one figure, row by row.

    Parameters
    ----------
    panels
        In the order of the page.
    width
        A key of `analysis.style.WIDTHS_CM`.
    columns
        Panels beside each other.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - slow to import
    from matplotlib.figure import Figure  # noqa: PLC0415
    from matplotlib.layout_engine import ConstrainedLayoutEngine  # noqa: PLC0415

    columns = min(columns, len(panels))
    inches = style.inches(width)
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(panel.height or panel.aspect * inches / columns for panel in row) for row in rows]
    with style.context():
        gap = 0.05 if len(panels) > 1 else 0.02
        layout = ConstrainedLayoutEngine(wspace=gap, hspace=gap)
        figure = Figure(figsize=(inches, sum(heights)), layout=layout)
        FigureCanvasAgg(figure)
        grid = figure.add_gridspec(len(rows), columns, height_ratios=heights)
        by_row: list[list[Drawn]] = [[] for _ in rows]
        for place, panel in enumerate(panels):
            parts = panel.draw(figure, grid[place // columns, place % columns])
            _head(parts[0].axes, panel, int(72 * inches / columns / TITLE))
            by_row[place // columns] += parts
        drawn = [part for parts in by_row for part in parts]
        _colour_bars(figure, drawn)
        figure.draw_without_rendering()
        for part in drawn:
            axis_tools.break_labels(part.axes)
        # What stands below axes is not in the ratios: rows stay as high as their legends found them.
        lacking = 0.0
        for parts in by_row:
            legends = [axis_tools.place_legend(part.axes, part.handles) for part in parts if part.handles]
            lacking += max(legends, default=0.0)
        figure.set_figheight(sum(heights) + lacking / figure.dpi)
        # One layout for all formats: it must not depend on the resolution of a file. With the engine "none", which is
        # one that does nothing, matplotlib would draw once more for each of them.
        figure.draw_without_rendering()
        figure.set_layout_engine(None)
    return figure


def empty(axes: "Axes", text: str = "no results yet") -> None:
    """Say in a panel why it shows nothing."""
    axes.set(xticks=[], yticks=[], xlabel="", ylabel="")
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", color=SOFT)


def _head(axes: "Axes", panel: Panel, most: int) -> None:
    """Write what stands above a panel, in lines of so many characters."""
    letter = f"({panel.letter})" if panel.letter else ""
    title = " ".join(text for text in (letter, panel.title) if text)
    axes.set_title(axis_tools.in_lines(title, most), loc="left")
    if panel.note:
        axes.set_title(panel.note, loc="right", fontsize=6.5, fontweight="normal", color=SOFT)


def _colour_bars(figure: "Figure", drawn: Sequence[Drawn]) -> None:
    """Give each colour scale one bar, beside all axes that use it."""
    from matplotlib.colors import LogNorm  # noqa: PLC0415 - slow to import

    scales: dict[int, list[Drawn]] = {}
    for part in drawn:
        if part.colours is not None:
            scales.setdefault(id(part.colours.norm), []).append(part)
    for parts in scales.values():
        first = parts[0]
        assert first.colours is not None
        several = len(parts) > 1
        bar = figure.colorbar(
            first.colours,
            ax=[part.axes for part in parts],
            label=first.colour_label,
            shrink=0.6 if several else 1.0,
            aspect=30 if several else 20,
            pad=0.02,
        )
        if isinstance(first.colours.norm, LogNorm):
            axis_tools.set_log_axis(bar.ax.yaxis, *bar.ax.get_ylim())
        bar.outline.set_linewidth(0.5)
