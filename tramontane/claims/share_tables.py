"""Shares of statements in words: on a terminal, and as the table of a page.

All of it is made of a study's plain data (:func:`tramontane.claims.uncertainty.as_data`), so that what is published
reads as what was simulated just now.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tramontane.claims.shares import PAWN
from tramontane.support import tables
from tramontane.support.formatting import count

HEAD = (
    "claim",
    "holds on",
    "interval",
    "checks",
    "processes",
    "our machine",
    "decides most",
    "holds at 95 % where",
    "nearest turn differs in",
)
ALIKE = 0.5
"""Rank correlation from which on two parameters are said to be drawn together."""


def markdown(data: Mapping[str, Any]) -> str:
    """Return the Markdown table of a page, and below it at which size it was made."""
    return "\n\n".join([tables.markdown(HEAD, map(row, data["claims"])), " ".join(sentences(data))])


def text(data: Mapping[str, Any]) -> str:
    """Return the table of a terminal, and which machine matches best."""
    return "\n".join([tables.table(HEAD, [row(own) for own in data["claims"]]), *sentences(data)])


def sentences(data: Mapping[str, Any]) -> list[str]:
    """Return what is said below a table: at which size it was made, which machine matches best, what can't be told."""
    return [*data["sentences"], *drawn_together(data)]


def drawn_together(data: Mapping[str, Any]) -> list[str]:
    """Return in a sentence which parameters that decide few draws can't tell from others."""
    names = [each["name"] for each in data["parameters"]]
    deciding = {own["decides"] for own in data["claims"]}
    drawn = np.asarray(data["places"])[: data["size"]]
    if data["index"] != PAWN or len(names) < 2 or len(drawn) < 2:
        return []
    from scipy.stats import rankdata  # noqa: PLC0415 - slow to import

    alike = np.corrcoef(rankdata(drawn, axis=0), rowvar=False)
    pairs = [
        f"{one} and {other} (rank correlation {alike[i, j]:.2f})"
        for j, other in enumerate(names)
        for i, one in enumerate(names[:j])
        if abs(alike[i, j]) >= ALIKE and deciding & {one, other}
    ]
    return [f"Drawn together, so that either may be what decides: {'; '.join(pairs)}."] if pairs else []


def row(own: Mapping[str, Any]) -> list[str]:
    """Return a statement in the cells of `HEAD`."""
    interval = own["interval"]  # none where machines were drawn from no prior
    margin = f"{own['base_margin']:+.2g}" if own["base_margin"] is not None else "no finite one"
    if own["base_holds"] is None:
        margin = "not evaluated"
    first = own["influences"][0] if own["decides"] else None
    decides = "none beyond chance"
    if first:
        decides = f"{first['parameter']} ({first['index']:.2f}, {first['low']:.2f} to {first['high']:.2f})"
    box = _said(own["box"], "; ")
    if own["box_inside"] is not None:
        box += f" ({count(own['box_inside'])} draws)"
    return [
        own["id"],
        held_on(own) if interval else f"no share, {own['evaluated']} machines",
        f"{100 * interval[0]:.0f} to {100 * interval[1]:.0f} %" if interval else "none",
        f"{own['checks_decided']} of {own['checks']}",
        process_counts(*own["ranks"]),
        margin,
        decides,
        box or "none",
        _said(own["turn"]["differs"] if own["turn"] else None, ", ") or "none",
    ]


def held_on(own: Mapping[str, Any]) -> str:
    """Return on which share of how many machines a statement holds: of all or none only where it is all or none."""
    holds, of = own["holds"], own["evaluated"]
    if not of:
        return "none of 0"
    words = f"{100 * holds / of:.0f} %"
    if words == "100 %" and holds < of:
        words = "more than 99 %"
    if words == "0 %" and holds:
        words = "less than 1 %"
    return f"{words} of {of}"


def process_counts(first: float, last: float) -> str:
    """Return at which process counts margins were taken; 0 where none was."""
    if not last:
        return "none"
    return count(int(last)) if first == last else f"{count(int(first))} to {count(int(last))}"


def _said(found: Sequence[Mapping[str, str]] | None, between: str) -> str:
    """Return parameters with what is said of each in one line."""
    return between.join(f"{each['parameter']} {each['value']}" for each in found or ())
