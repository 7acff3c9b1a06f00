"""``tramontane extrapolate``."""

import math
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tramontane.cli.options import to_write

if TYPE_CHECKING:
    from tramontane.study.collectives.collective_calls import Algorithms
    from tramontane.study.traces.rank_grids import Grid


def extrapolate(
    files: Annotated[list[Path], typer.Argument(help="Traces of three numbers of ranks or more.", metavar="TRACE...")],
    ranks: Annotated[int, typer.Option("--ranks", min=1, help="How many there are to be.", metavar="N")],
    output: Annotated[Path, typer.Option("--output", "-o", help="GOAL.", metavar="FILE")],
    grid: Annotated[
        str | None,
        typer.Option("--grid", help="Ranks along each dimension; by default the squarest.", metavar="AxB[xC]"),
    ] = None,
    collectives: Annotated[
        str | None,
        typer.Option(
            "--collectives",
            help="Algorithms of collectives, as in a point: '{allreduce: rabenseifner}'.",
            metavar="MAPPING",
        ),
    ] = None,
) -> None:
    """Write what more ranks would do than were traced.

    The ranks have to have neighbours on a grid; the file is GOAL.
    """
    from tramontane.errors import InputError, display_path
    from tramontane.study.traces import extrapolation, traces
    from tramontane.study.traces.rank_grids import told
    from tramontane.support import otf2
    from tramontane.support.files import write_atomically
    from tramontane.support.formatting import plural

    to_write("--output", output, *files)
    if output.suffix == otf2.SUFFIX:
        raise InputError("--output", "", str(output), f"a file of GOAL, such as {output.stem}.goal")
    if collectives is not None and all(traces.is_goal(file) for file in files):
        problem = "found with traces in GOAL"
        raise InputError("--collectives", "", None, traces.WITH_COLLECTIVES, problem=problem)
    found = extrapolation.extrapolated(files, ranks, _algorithms(collectives), _grid(grid, ranks))
    write_atomically(output, found.texts())
    print(display_path(output))
    calls = "; a rank calls " + ", ".join(f"{name} {count} x" for name, count in found.calls().items())
    print(
        f"{plural(ranks, 'rank')} on a grid of {told(found.grid)}{calls * bool(found.calls())}; "
        f"work differs by {found.noise:.0%} at most from what it is fitted by",
        file=sys.stderr,
    )
    if found.rounded is not None:
        where, size = found.rounded
        print(
            f"sizes that this grid does not divide are rounded, most of all {size:.2f} B to {round(size)} B: {where}",
            file=sys.stderr,
        )


def _grid(grid: str | None, ranks: int) -> "Grid | None":
    """Return the grid that the option names (InputError)."""
    from tramontane.errors import InputError

    if grid is None:
        return None
    if re.fullmatch(r"[1-9]\d{0,9}(x[1-9]\d{0,9}){1,2}", grid, re.ASCII):
        sides = tuple(map(int, grid.split("x")))
        if math.prod(sides) == ranks:
            return sides
    raise InputError("--grid", "", grid, f"two or three numbers whose product is {ranks}, such as 1x{ranks}")


def _algorithms(collectives: str | None) -> "Algorithms":
    """Return the algorithms that the option names (InputError)."""
    from pydantic_core import PydanticCustomError

    from tramontane.errors import InputError
    from tramontane.study.reading import reading
    from tramontane.study.workloads import workloads

    option = "--collectives"
    given = None if collectives is None else reading.parse_yaml(option, collectives)
    try:
        return workloads.algorithms_of(given)
    except PydanticCustomError as error:
        said = error.context or {}
        key = said["key"].removeprefix("collectives").removeprefix(".")
        raise InputError(option, key, None, said["allowed"], problem=said["problem"]) from None
