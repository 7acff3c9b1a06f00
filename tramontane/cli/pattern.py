"""``tramontane pattern``."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

pattern = typer.Typer(
    help="Make a pattern, a table of messages, out of something else; see docs/patterns.md.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

To = Annotated[Path, typer.Option("--to", help="Table to be written, .csv or .npz.", metavar="FILE")]


@pattern.command("from-partition")
def from_partition(
    to: To,
    size: Annotated[int, typer.Option("--bytes", min=1, help="Bytes of a cell: levels, fields, 8 B each.")],
    grid: Annotated[
        Path | None, typer.Option(help="Grid, .csv, .npz or .nc: pairs cell, neighbour, or MPAS's or ICON's table.")
    ] = None,
    icosahedron: Annotated[
        int | None, typer.Option(min=0, max=10, help="Instead: an icosahedron, its edges halved so many times.")
    ] = None,
    parts: Annotated[int | None, typer.Option(min=2, help="Ranks, for METIS to partition the grid.")] = None,
    partition: Annotated[
        Path | None, typer.Option(help="Instead: the part of each cell, .csv, .npz or .nc with part.")
    ] = None,
    width: Annotated[int, typer.Option(min=1, max=1000, help="Cells that a halo is wide.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="METIS's.")] = 1,
) -> None:
    """Make the halo exchange of a partitioned grid: a message from each part to each that needs cells of it."""
    from tramontane.errors import InputError
    from tramontane.study import pattern_makers as makers

    if (grid is None) == (icosahedron is None):
        raise InputError("--grid", "", None, "either --grid or --icosahedron", problem="found both or none")
    if (parts is None) == (partition is None):
        raise InputError("--parts", "", None, "either --parts or --partition", problem="found both or none")
    cells, pairs = makers.read_grid(grid) if grid else makers.icosahedral(icosahedron or 0)
    if parts and parts > cells:
        raise InputError("--parts", "", parts, f"at most {cells}, the cells of the grid")
    part = makers.read_partition(partition, cells) if partition else makers.partition(cells, pairs, parts or 0, seed)
    if not (part != part[0]).any():
        raise InputError(partition or "--parts", "", None, "two parts or more", problem="found one part")
    _write(makers.halo(cells, pairs, part, width, size), to)


@pattern.command("from-matrix")
def from_matrix(
    matrix: Annotated[Path, typer.Argument(help="Bytes from each rank (row) to each other, .csv or .npz.")], to: To
) -> None:
    """Make a message of each entry of a communication matrix, dense or sparse, but for those of the diagonal."""
    from tramontane.study import pattern_makers as makers

    _write(makers.from_matrix(matrix), to)


def _write(columns: Mapping[str, Any], to: Path) -> None:
    from tramontane.errors import display_path
    from tramontane.study import pattern_makers as makers
    from tramontane.support.formatting import about_bytes, plural

    makers.write(to, columns)
    print(display_path(to))
    ranks = int(max(columns["source"].max(), columns["target"].max())) + 1
    number, size = len(columns["bytes"]), int(columns["bytes"].sum())
    print(f"{plural(ranks, 'rank')}, {plural(number, 'message')}, {about_bytes(size)}", file=sys.stderr)
