"""``tramontane docs``."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def docs(
    page: Annotated[
        str, typer.Argument(metavar="PAGE", help="Its name, such as machines; by default the list of all pages.")
    ] = "README",
) -> None:
    """Show a page of the documentation.

    On a terminal it is laid out, elsewhere as it is written (Markdown).
    """
    from tramontane.errors import InputError, closest, display_path
    from tramontane.support.layout import SHARE

    pages = {file.stem: file for file in sorted((SHARE / "docs").glob("*.md"))}
    name = Path(page).name.removesuffix(".md")  # messages write docs/machines.md
    if name not in pages:
        raise InputError("tramontane docs", "", page, ", ".join(pages), hint=closest(name, pages))
    text = pages[name].read_text(encoding="utf-8")
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(text))
    else:
        print(text, end="")
    print(display_path(pages[name]), file=sys.stderr)
