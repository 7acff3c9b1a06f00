"""``tramontane goal``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.options import to_write


def goal(
    point_file: Annotated[Path, typer.Argument(help="A point; see docs/configuration.md.", metavar="POINT.yaml")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to be written.", metavar="FILE.goal")],
) -> None:
    """Write what the ranks of a point do as GOAL, for LogGOPSim, ATLAHS and others; see docs/your-application.md."""
    from tramontane.errors import InputError, display_path
    from tramontane.study import load_point, traces
    from tramontane.substrates.simulator import schedule
    from tramontane.support.formatting import plural

    to_write("--output", output)
    point = load_point(point_file)
    try:
        traces.write_goal(schedule(point.workload, point.ranks), point.ranks, output)
    except ValueError as error:
        key, _, line = str(error).partition(": ")
        found, _, allowed = line.partition(", allowed: ")
        raise InputError(point_file, key, None, allowed, problem=found) from None
    print(display_path(output))
    print(plural(point.ranks, "rank"), file=sys.stderr)
