"""How values of an older model revision are marked: the one place that decides it for figures, tables and captions.

A marker is hollow, the legend says why, and a cell of a table or a name of a series says the revision in words. Which
values are older, and which members of an ensemble count, follows from `tramontane.results.revisions`; that no line
joins different revisions, from the runs of `analysis.table.figure_table`.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pandas as pd
import xarray as xr

from analysis import facts
from tramontane.results.revisions import newest, newest_members, tally
from tramontane.support import formatting

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

#: Fill of a hollow marker, and the width of its rim in points.
FILL, RIM = "white", 0.9


def marked(text: str, older: str) -> str:
    """Return a text with the words that `label` gave for what it rests on, if any."""
    return f"{text} ({older})" if older else text


def hollow(axes: "Axes", x: "pd.Series[float]", y: "pd.Series[float]", colour: str, marker: str) -> None:
    """Draw hollow markers, over those that are there already."""
    axes.plot(
        x,
        y,
        linestyle="none",
        marker=marker,
        color=colour,
        markerfacecolor=FILL,
        markeredgewidth=RIM,
        zorder=3.5,
        label="_older",
    )


def legend(older: Iterable[str]) -> "list[Line2D]":
    """Return the legend's entry for hollow markers; none if nothing is older.

    Parameters
    ----------
    older
        What `label` gave for each value drawn.
    """
    from matplotlib.lines import Line2D  # noqa: PLC0415 - slow to import

    words = formatting.listed(sorted(set(older) - {""})) if any(older) else ""
    look = {"linestyle": "none", "marker": "o", "color": "#555555", "markerfacecolor": FILL, "markeredgewidth": RIM}
    return [Line2D([], [], label=f"hollow: model {words}", **look)] if words else []  # type: ignore[arg-type]


def sentence(dataset: xr.Dataset) -> Iterator[str]:
    """Yield what a caption says of points of older revisions, if there are any."""
    now = newest(dataset)
    older = {revision: count for revision, count in tally(dataset).items() if now is not None and revision < now}
    if not older:
        return
    counts = formatting.listed(
        f"{formatting.number(count)} {'is' if count == 1 else 'are'} of model revision {known}"
        for known, count in older.items()
    )
    text = (
        f"Of {formatting.number(facts.counts(dataset).ok)} points {counts}, older than {now}: hollow markers or words "
        "name them, and no line joins different revisions"
    )
    if tally(newest_members(dataset)) != tally(dataset):
        text += "; of an ensemble only the members of the newest revision are shown"
    yield text
