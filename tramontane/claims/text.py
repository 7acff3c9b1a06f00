"""Verdicts on a terminal, and as a table of a Markdown page."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tramontane.claims.verdicts import NOT_EVALUATED, NOT_REPRODUCED, OUT_OF_REACH, REPRODUCED, VERDICTS, Verdict
from tramontane.errors import InputError

_STYLES = {REPRODUCED: "green", NOT_REPRODUCED: "red", NOT_EVALUATED: "yellow", OUT_OF_REACH: "dim"}
#: Where the output is no terminal, as wide as an editor shows.
_WIDTH = 120

_MARKED = re.compile(r"<!-- claims: (?P<asked>[^>\n]*?) -->\n.*?<!-- end -->", flags=re.DOTALL)


def markdown(verdicts: Sequence[Verdict]) -> str:
    """Return a Markdown table with a row for each statement."""
    rows = [
        (verdict.id, f"{verdict.paper}, {verdict.where}", verdict.statement, verdict.verdict, verdict.evidence)
        for verdict in verdicts
    ]
    lines = [("claim", "where", "statement", "verdict", "evidence"), ("---",) * 5, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def asked(page: Path) -> list[tuple[str, list[str]]]:
    """Return what the tables of a page show: for each the scale and the statements, none for all.

    A table stands between ``<!-- claims: laptop Z-5a-1 Z-5a-2 -->`` and ``<!-- end -->``.

    Raises
    ------
    InputError
        If the page has no such table.
    """
    try:
        found = [match["asked"].split() for match in _MARKED.finditer(page.read_text(encoding="utf-8"))]
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read ({type(error).__name__})"
        raise InputError(page, "", None, "a Markdown page", problem=problem) from None
    allowed = "<!-- claims: SCALE [IDS] -->, a line <!-- end --> after it"
    if not found or not all(found):
        raise InputError(
            page, "", None, allowed, problem="no table of claims" if not found else "a table without a scale"
        )
    return [(scale, names) for scale, *names in found]


def filled(page: Path, tables: Mapping[str, str]) -> str:
    """Return the text of a page with its tables made anew; `tables` has them by what their first lines ask for."""

    def replace(match: re.Match[str]) -> str:
        words = " ".join(match["asked"].split())
        return f"<!-- claims: {words} -->\n\n{tables[words]}\n\n<!-- end -->"

    return _MARKED.sub(replace, page.read_text(encoding="utf-8"))


def print_table(verdicts: Sequence[Verdict]) -> None:
    """Print a row for each statement, and how many got which verdict."""
    console = Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _WIDTH
    table = Table(show_lines=True, expand=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("evidence", ratio=1)
    for verdict in verdicts:
        lines = [verdict.evidence]
        lines += [f"Note: {verdict.note}"] if verdict.note else []
        lines += [f"Run: {verdict.command}"] if verdict.command else []
        place = f"{verdict.id}\n{verdict.paper}, {verdict.where}"
        table.add_row(
            place, verdict.verdict, "\n".join([verdict.statement, "", *lines]), style=_STYLES[verdict.verdict]
        )
    console.print(table)
    counts = Counter(verdict.verdict for verdict in verdicts)
    console.print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))
