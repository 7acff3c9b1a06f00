"""``tramontane validate``."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import MISTAKE
from tramontane.cli.reading import only_reads
from tramontane.errors import InputError


@only_reads
def validate(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Points, experiments, machines: whatever is YAML.", metavar="[FILES]")
    ] = None,
) -> None:
    """Check YAML files, by default all of configs/.

    There is one line for each that holds a mistake.
    """
    from tramontane.study import find_root, validate_file
    from tramontane.support.formatting import plural
    from tramontane.support.processes import on_all_cores

    chosen = files or sorted((find_root() / "configs").rglob("*.yaml"))
    mistakes = list(filter(None, on_all_cores(partial(_mistake_in, validate_file), chosen, "checking files")))
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if mistakes:
        raise typer.Exit(MISTAKE)
    print(f"{plural(len(chosen), 'file')} valid")


def _mistake_in(check: Callable[[Path], object], file: Path) -> str:
    try:
        check(file)
    except InputError as error:
        return str(error)
    return ""
