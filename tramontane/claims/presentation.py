"""Verdicts on a terminal."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tramontane.claims.verdicts import NOT_EVALUATED, NOT_REPRODUCED, OUT_OF_REACH, REPRODUCED, VERDICTS, Verdict

_STYLES = {REPRODUCED: "green", NOT_REPRODUCED: "red", NOT_EVALUATED: "yellow", OUT_OF_REACH: "dim"}
#: Where the output is no terminal, as wide as an editor shows.
_WIDTH = 120


class _Console(Console):
    """A console that leaves a pipe that nobody reads any more to the command line, as `print` does."""

    def on_broken_pipe(self) -> None:
        raise  # noqa: PLE0704 - what rich handles where it calls this


def print_table(verdicts: Sequence[Verdict]) -> None:
    """Print a row for each statement, and how many got which verdict."""
    console = _Console(highlight=False, markup=False)
    if not console.is_terminal:
        console.width = _WIDTH
    table = Table(show_lines=True, expand=True)
    table.add_column("claim", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    table.add_column("evidence", ratio=1)
    for verdict in verdicts:
        lines = [f"Margin: {verdict.measured}"] if verdict.measured else []
        lines += [verdict.evidence]
        lines += [f"Note: {verdict.note}"] if verdict.note else []
        lines += [f"Run: {verdict.command}"] if verdict.command else []
        place = f"{verdict.id}\n{verdict.paper}, {verdict.where}"
        table.add_row(
            place,
            verdict.marked.replace(" (", "\n("),
            "\n".join([verdict.statement, "", *lines]),
            style=_STYLES[verdict.verdict],
        )
    console.print(table)
    counts = Counter(verdict.verdict for verdict in verdicts)
    console.print(", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS))
