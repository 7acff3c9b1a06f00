"""``tramontane validate``."""

import sys
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

    chosen = files or sorted((find_root() / "configs").rglob("*.yaml"))
    bad = 0
    for file in chosen:
        try:
            validate_file(file)
        except InputError as error:
            bad += 1
            print(error, file=sys.stderr)
    if bad:
        raise typer.Exit(MISTAKE)
    print(f"{plural(len(chosen), 'file')} valid")
