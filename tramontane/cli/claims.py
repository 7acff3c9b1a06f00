"""``tramontane claims``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.options import Scale


def claims(
    names: Annotated[
        list[str] | None, typer.Argument(help="Statements, e.g. Z-5b; by default all.", metavar="[IDS]")
    ] = None,
    scale: Scale = "laptop",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON array.")] = False,
    fill: Annotated[
        Path | None, typer.Option("--fill", help="Make the tables of a Markdown page anew.", metavar="PAGE.md")
    ] = None,
) -> None:
    """Hold what the papers state against the results: a verdict on each statement, and the numbers that say so."""
    from tramontane.campaign.plan import check_scale
    from tramontane.claims import evaluate, pages, presentation
    from tramontane.study import find_root
    from tramontane.support.formatting import plural

    root = find_root()
    if fill is not None:
        count, changed = pages.fill(fill, root)
        print(f"{fill}: {plural(count, 'table')} {'made anew' if changed else 'as they were'}", file=sys.stderr)
        return
    check_scale(scale)
    verdicts = evaluate(root, scale, names or ())
    if as_json:
        print(json.dumps([verdict.as_data() for verdict in verdicts], ensure_ascii=False))
    else:
        presentation.print_table(verdicts)
