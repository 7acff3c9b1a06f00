"""``tramontane pattern``."""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tramontane.cli.options import to_write

pattern = typer.Typer(
    help="Make a pattern, a table of messages.\n\nSee `tramontane docs patterns`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="Table to be written, .csv or .npz.", metavar="FILE")]


@pattern.command("from-partition")
def from_partition(
    output: Output,
    size: Annotated[
        int | None, typer.Option("--bytes", min=1, help="Bytes of a cell: levels, fields, 8 B each. Required.")
    ] = None,
    domains: Annotated[
        bool, typer.Option("--domains", help="Instead: cells, not messages, for the key partition of programs (.npz).")
    ] = False,
    grid: Annotated[
        Path | None, typer.Option(help="Grid, .csv, .npz or .nc: pairs cell, neighbour, or MPAS's or ICON's table.")
    ] = None,
    icosahedron: Annotated[
        int | None, typer.Option(min=0, max=10, help="Instead: an icosahedron, its edges halved so many times.")
    ] = None,
    cells_of: Annotated[
        str, typer.Option("--cells", help="Of an icosahedron: triangles, or the hexagons around its points.")
    ] = "triangles",
    parts: Annotated[int | None, typer.Option(min=2, help="Ranks, for METIS to partition the grid.")] = None,
    partition: Annotated[
        Path | None, typer.Option(help="Instead: the part of each cell, .csv, .npz or .nc with part.")
    ] = None,
    width: Annotated[int, typer.Option(min=1, max=1000, help="Cells that a halo is wide.")] = 1,
    messages: Annotated[
        int, typer.Option(min=1, max=32768, help="Messages to each neighbour, one a field; --bytes are those in each.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="METIS's.")] = 1,
) -> None:
    """Make the halo exchange of a partitioned grid.

    Each part sends a message to each that needs cells of it.
    """
    import numpy as np

    from tramontane.errors import InputError, display_path
    from tramontane.study.patterns import pattern_makers as makers
    from tramontane.support.formatting import percent
    from tramontane.support.progress_line import clock

    _either("--grid", "--icosahedron", grid, icosahedron)
    _either("--parts", "--partition", parts, partition)
    _either("--bytes", "--domains", size, domains or None)
    if domains and messages != 1:
        raise InputError("--messages", "", messages, "none with --domains")
    if domains and output.suffix.lower() != ".npz":
        raise InputError("--output", "", output.name, "with --domains a file that ends in .npz")
    if cells_of not in makers.CELLS:
        raise InputError("--cells", "", cells_of, ", ".join(makers.CELLS))
    to_write("--output", output, *(each for each in (grid, partition) if each))
    with clock("making the grid"):
        cells, pairs = makers.read_grid(grid) if grid else makers.icosahedral(icosahedron or 0, cells_of)
    if parts and parts > cells:
        raise InputError("--parts", "", parts, f"at most {cells}, the cells of the grid")
    with clock("partitioning"):
        part = (
            makers.read_partition(partition, cells) if partition else makers.partition(cells, pairs, parts or 0, seed)
        )
    if not (part != part[0]).any():
        raise InputError(partition or "--parts", "", None, "two parts or more", problem="found one part")
    empty = makers.empty_part(part)
    if empty is not None:
        raise InputError(partition or "--parts", "", None, "a cell or more in each", problem=f"no cell in part {empty}")
    sizes = np.bincount(part)
    print(f"{cells} cells; the largest part has {percent(sizes.max() / sizes.mean() - 1)} more", file=sys.stderr)
    if size is None:
        with clock("writing cells"):
            makers.write(output, makers.domains(cells, pairs, part, width))
        print(display_path(output))
    else:
        _write(partial(makers.halo, cells, pairs, part, width, size, messages), output)


@pattern.command("elements")
def elements(
    output: Output,
    cubed_sphere: Annotated[
        int | None, typer.Option(min=1, max=2000, help="A cubed sphere with so many elements along an edge of it.")
    ] = None,
    mesh: Annotated[
        Path | None, typer.Option(help="Instead: elements, .npz or .nc with corners, or Exodus's connect1.")
    ] = None,
    parts: Annotated[int | None, typer.Option(min=2, help="Ranks, among which the elements are shared.")] = None,
    partition: Annotated[
        str, typer.Option(help="curve (of a cubed sphere), metis, or a file with the part of each element.")
    ] = "curve",
    neighbours: Annotated[str, typer.Option(help="vertices: those that share an edge or a vertex; or edges.")] = (
        "vertices"
    ),
    points: Annotated[int, typer.Option(min=1, max=64, help="Points along an edge of an element.")] = 4,
    size: Annotated[int, typer.Option("--bytes", min=1, help="Bytes of a point: levels, fields, 8 B each.")] = 8,
) -> None:
    """Make the exchange of spectral or other elements.

    What shares an edge, or a vertex, goes to each neighbouring part in one message.
    """
    from tramontane.errors import InputError
    from tramontane.study.patterns import element_makers as makers
    from tramontane.study.patterns import pattern_makers
    from tramontane.support.progress_line import clock

    _either("--cubed-sphere", "--mesh", cubed_sphere, mesh)
    if neighbours not in ("vertices", "edges"):
        raise InputError("--neighbours", "", neighbours, "vertices, edges")
    to_write("--output", output, *([mesh] if mesh else []), Path(partition))
    with clock("making the mesh"):
        corners = makers.cubed_sphere(cubed_sphere) if cubed_sphere else makers.read_corners(mesh or Path())
        found = makers.connections(corners, mesh or "--cubed-sphere")
    if partition in ("curve", "metis"):
        if parts is None or parts > found.elements:
            raise InputError("--parts", "", parts, f"2 to {found.elements}, the elements")
        if partition == "curve" and cubed_sphere is None:
            raise InputError("--partition", "", partition, "metis or a file, for a mesh")
        with clock("partitioning"):
            if partition == "curve" and cubed_sphere:
                part = makers.even_parts(makers.curve(cubed_sphere, found.edges_only()), parts)
            else:
                part = makers.metis(found, parts)
    else:
        part = pattern_makers.read_partition(Path(partition), found.elements)
        parts = int(part.max()) + 1
        if parts < 2:
            raise InputError(partition, "", None, "two parts or more", problem="found one part")
    makers.check_parts(part, parts, f"--partition {partition}")
    if neighbours == "edges":
        found = found.edges_only()
    _write(partial(makers.messages, found, part, points, size), output)


@pattern.command("from-matrix")
def from_matrix(
    matrix: Annotated[
        Path, typer.Argument(metavar="MATRIX", help="Bytes from each rank (row) to each other, .csv or .npz.")
    ],
    output: Output,
) -> None:
    """Make a message of each entry of a communication matrix.

    The matrix is dense or sparse; what stands on its diagonal is left out.
    """
    from tramontane.study.patterns import pattern_makers as makers

    to_write("--output", output, matrix)
    _write(partial(makers.from_matrix, matrix), output)


def _either(option: str, other: str, *values: object) -> None:
    """Refuse two options of which both are given, or neither (InputError)."""
    from tramontane.errors import InputError

    given = sum(value is not None for value in values)
    if given != 1:
        problem = "found both" if given else "found neither"
        raise InputError(option, "", None, f"either {option} or {other}", problem=problem)


def _write(made: Callable[[], Mapping[str, Any]], output: Path) -> None:
    """Make messages, and write and describe them."""
    from tramontane.errors import display_path
    from tramontane.study.patterns import pattern_makers as makers
    from tramontane.support.formatting import plural, size
    from tramontane.support.progress_line import clock

    with clock("making messages"):
        columns = made()
        makers.write(output, columns)
    print(display_path(output))
    ranks = int(max(columns["source"].max(), columns["target"].max())) + 1
    number, total = len(columns["bytes"]), int(columns["bytes"].sum())
    print(f"{plural(ranks, 'rank')}, {plural(number, 'message')}, {size(total)}", file=sys.stderr)
