"""Predictions of real machines as the page shows them: what was judged in `results/validation`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from analysis import svg
from analysis.page.experiments import anchor_of, forms, links

HEADINGS = {
    "left-out-simulated": "Real machines, by the simulator without the rows of a shape",
    "left-out": "Real machines, by a closed form without the rows of a shape",
}
"""Judged by `make validate TABLES=E`, by the name of the files; the first is what is predicted of larger jobs."""


@dataclass(frozen=True)
class Judged:
    """Predictions held against measured times.

    Attributes
    ----------
    anchor, heading
        Heading of the section.
    table
        What `tramontane compare --predictions` printed.
    picture, links
        The figure, and the files of it.
    """

    anchor: str
    heading: str
    table: str
    picture: Markup
    links: list[tuple[str, str]]


def judged(root: Path, page: Path) -> Sequence[Judged]:
    """Return the predictions that have been judged."""
    found = []
    for name, heading in HEADINGS.items():
        drawn = root / "results" / "validation" / f"{name}.svg"
        printed = drawn.with_name(f"{name}.table.txt")
        if drawn.exists() and printed.exists():
            anchor = anchor_of(f"judged-{name}")
            picture = Markup(svg.inline_file(drawn, anchor, heading))
            table = printed.read_text(encoding="utf-8").strip()
            found.append(Judged(anchor, heading, table, picture, links(forms(drawn), page)))
    return found
