"""``tramontane claims``."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.options import Scale


def claims(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(help="Statements, e.g. Z-5b; by default all.", metavar="[IDS]")
    ] = None,
    scale: Scale = "laptop",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON: an array of verdicts, or all of a study.")
    ] = False,
    fill: Annotated[
        Path | None, typer.Option("--fill", help="Make the tables of a Markdown page anew.", metavar="PAGE.md")
    ] = None,
    over: Annotated[
        str | None,
        typer.Option(
            "--over",
            help="Share of the machines of a study on which it holds; a file of configs/samples.",
            metavar="STUDY",
        ),
    ] = None,
    size: Annotated[int | None, typer.Option("--size", min=1, help="With --over: draws; by default all.")] = None,
    waves: Annotated[int, typer.Option("--waves", min=1, max=8, help="With --over: waves that have run.")] = 1,
) -> None:
    """Hold what the papers state against the results.

    Each statement gets a verdict, and the numbers that say so.
    """
    from tramontane.campaign.plan import check_scale
    from tramontane.claims import evaluate, pages, presentation
    from tramontane.errors import InputError
    from tramontane.study import find_root
    from tramontane.support.formatting import plural
    from tramontane.support.layout import INSTALLED, SHARE

    root = find_root()
    if fill is not None:
        for key in [own for own in context.params if own != "fill"]:
            source = context.get_parameter_source(key)
            if source is not None and source.name != "DEFAULT":
                option = {"names": "IDS", "as_json": "--json"}.get(key, f"--{key}")
                allowed = "--fill alone: marked lines of the page say what it shows"
                raise InputError(option, "", None, allowed, problem="found beside --fill")
        count, changed = pages.fill(fill, root, lambda line: print(line, file=sys.stderr))
        print(f"{fill}: {plural(count, 'table')} {'made anew' if changed else 'left as before'}", file=sys.stderr)
        return
    check_scale(scale)
    if over is not None:
        _over(over, root, scale, size, waves, names or [], as_json=as_json)
        return
    for option, beside in (("--size", size is not None), ("--waves", waves != 1)):
        if beside:
            raise InputError(option, "", None, "beside --over STUDY", problem="found without --over")
    verdicts = evaluate(root, scale, names or ())
    if as_json:
        print(json.dumps([verdict.as_data() for verdict in verdicts], ensure_ascii=False))
    else:
        presentation.print_table(verdicts)
    if INSTALLED and root == SHARE.resolve():
        print("no project here: the commands above run in a checkout of Tramontane", file=sys.stderr)


def _over(study: str, root: Path, scale: str, size: int | None, waves: int, names: list[str], *, as_json: bool) -> None:
    """Print the shares of a study's statements, or of some of them."""
    from tramontane.claims import published_studies, share_tables
    from tramontane.study.experiments.studies import check_asked, load_study

    check_asked(names, load_study(study, root), study, root)
    found = published_studies.known(study, root, scale, size, waves, names)
    if "published" in found:
        print(f"{found['published']}, of {', '.join(found['commits'])}: nothing has run here", file=sys.stderr)
    print(json.dumps(found, ensure_ascii=False) if as_json else share_tables.text(found))
