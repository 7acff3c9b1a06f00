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

_MARKED = re.compile(r"<!-- (?P<kind>claims|verdicts|times): (?P<asked>[^>\n]*?) -->\n.*?<!-- end -->", flags=re.DOTALL)

#: What a table of a page shows: verdicts or times, the scale, and which ones.
Asked = tuple[str, str, tuple[str, ...]]


def markdown(verdicts: Sequence[Verdict], *, evidence: bool = True) -> str:
    """Return a Markdown table with a row for each statement, with or without the numbers that say so."""
    columns = 5 if evidence else 4
    rows = [
        (verdict.id, f"{verdict.paper}, {verdict.where}", verdict.statement, verdict.verdict, verdict.evidence)[
            :columns
        ]
        for verdict in verdicts
    ]
    lines = [("claim", "where", "statement", "verdict", "evidence")[:columns], ("---",) * columns, *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def asked(page: Path) -> list[Asked]:
    """Return what the tables of a page show.

    A table stands between a first line and ``<!-- end -->``. The first line is ``<!-- claims: laptop Z-5b Z-5c -->``
    (no statement means all), ``verdicts`` instead of ``claims`` for a table without evidence, or
    ``<!-- times: laptop fig05b-topologies -->``.

    Raises
    ------
    InputError
        If the page has no such table.
    """
    try:
        found = [
            (match["kind"], match["asked"].split()) for match in _MARKED.finditer(page.read_text(encoding="utf-8"))
        ]
    except (OSError, UnicodeDecodeError) as error:
        problem = f"cannot be read ({type(error).__name__})"
        raise InputError(page, "", None, "a Markdown page", problem=problem) from None
    allowed = (
        "<!-- claims: SCALE [IDS] -->, verdicts: the same, or times: SCALE EXPERIMENT; a line <!-- end --> after it"
    )
    if not found:
        raise InputError(page, "", None, allowed, problem="no table of claims or times")
    for kind, words in found:
        if not words:
            raise InputError(page, "", None, allowed, problem="a table without a scale")
        if kind == "times" and len(words) != 2:
            raise InputError(page, "", " ".join(words), allowed)
    return [(kind, words[0], tuple(words[1:])) for kind, words in found]


def filled(page: Path, tables: Mapping[Asked, str]) -> str:
    """Return the text of a page with its tables made anew; `tables` has them by what their first lines ask for."""

    def replace(match: re.Match[str]) -> str:
        scale, *names = match["asked"].split()
        asked_for = (match["kind"], scale, tuple(names))
        return f"<!-- {match['kind']}: {' '.join([scale, *names])} -->\n\n{tables[asked_for]}\n\n<!-- end -->"

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
