"""Tables of plain text, for a terminal or a file, and of Markdown."""

import io
from collections.abc import Collection, Iterable, Sequence

_UNBOUNDED = 10_000
"""Wider than any table: its lines are not folded, so that they can be searched and cut."""


def table(head: Sequence[str], rows: Sequence[Sequence[object]], right: Collection[int] = ()) -> str:
    """Return a table with aligned columns, without lines.

    Parameters
    ----------
    head : sequence of str
        What stands above the columns.
    rows : sequence
        Their cells.
    right : collection of int, optional
        Positions of the columns that are aligned to the right.
    """
    from rich.console import Console  # noqa: PLC0415 - slow to import
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="")
    for position, title in enumerate(head):
        made.add_column(Text(title), justify="right" if position in right else "left", no_wrap=True)
    for row in rows:
        made.add_row(*(Text(str(cell)) for cell in row))
    text = io.StringIO()
    Console(file=text, width=_UNBOUNDED, color_system=None).print(made)
    return "\n".join(line.rstrip() for line in text.getvalue().splitlines())


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]], right: Collection[int] = ()) -> str:
    """Return a table of Markdown; what is given is as for :func:`table`."""
    rules = ["---:" if position in right else "---" for position in range(len(head))]
    lines = (" | ".join(cell.replace("|", "\\|") for cell in line) for line in (head, rules, *rows))
    return "\n".join(f"| {line} |" for line in lines)
