"""``tramontane uncertainty``."""

import sys
from typing import Annotated

import typer

from tramontane.cli.options import Cores, Scale


def uncertainty(
    name: Annotated[str, typer.Argument(help="A file of configs/samples.", metavar="SAMPLE")] = "zheng2018",
    scale: Scale = "laptop",
    size: Annotated[int | None, typer.Option("--size", min=1, help="Draws; by default those of the scale.")] = None,
    cores: Cores = None,
) -> None:
    """Run the drawn machines of a study, for `claims --over`; the same command goes on where it was stopped."""
    from tramontane.claims.uncertainty import simulate
    from tramontane.study import find_root
    from tramontane.support import host
    from tramontane.support.formatting import plural

    number, missing = simulate(name, find_root(), scale, size, cores or host.cores())
    print(f"{plural(number, 'point')}, {number - missing} were there", file=sys.stderr)
