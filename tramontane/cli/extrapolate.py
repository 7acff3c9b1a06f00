"""``tramontane extrapolate``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.options import to_write


def extrapolate(
    files: Annotated[list[Path], typer.Argument(help="Traces of three numbers of ranks or more.", metavar="TRACE...")],
    ranks: Annotated[int, typer.Option("--ranks", min=1, help="How many there are to be.", metavar="N")],
    output: Annotated[Path, typer.Option("--output", "-o", help="GOAL.", metavar="FILE")],
) -> None:
    """Write what more ranks would do than were traced, if they have neighbours on a grid, as GOAL."""
    from tramontane.errors import display_path
    from tramontane.study import extrapolation
    from tramontane.support.files import write_atomically
    from tramontane.support.formatting import plural

    to_write("--output", output)
    text, noise = extrapolation.extrapolated(files, ranks)
    write_atomically(output, text)
    print(display_path(output))
    print(f"{plural(ranks, 'rank')}; work differs by {noise:.0%} at most from what it is fitted by", file=sys.stderr)
