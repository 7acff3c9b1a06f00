"""``tramontane graph``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.options import to_write

graph = typer.Typer(
    help="Make a graph, a table of links between switches.\n\nSee `tramontane docs machines`.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)

Output = Annotated[Path, typer.Option("--output", "-o", help="Table to be written, .csv.", metavar="FILE")]
Order = Annotated[int, typer.Argument(help="q, a prime.")]
Parallel = Annotated[int, typer.Option(min=1, help="Links between each two switches that are linked.")]


@graph.command("slim-fly")
def slim_fly(order: Order, output: Output, parallel: Parallel = 1) -> None:
    """Make a Slim Fly of 2 q^2 switches.

    They are two links apart at most.
    """
    from tramontane.study.networks import graph_makers as makers

    _write(makers.of_links(makers.slim_fly(order), parallel), output)


@graph.command("polarfly")
def polarfly(order: Order, output: Output, parallel: Parallel = 1) -> None:
    """Make a PolarFly of q^2 + q + 1 switches.

    They are two links apart at most.
    """
    from tramontane.study.networks import graph_makers as makers

    _write(makers.of_links(makers.polarfly(order), parallel), output)


@graph.command("jellyfish")
def jellyfish(
    output: Output,
    switches: Annotated[int, typer.Option(min=2, max=1_000_000, help="Switches.")],
    links: Annotated[int, typer.Option(min=1, help="Links of a switch to others.")],
    seed: Annotated[int, typer.Option(min=0, help="Of the random numbers.")] = 1,
) -> None:
    """Make a Jellyfish, a random graph.

    Its switches all have as many links.
    """
    from tramontane.study.networks import graph_makers as makers

    _write(makers.of_links(makers.jellyfish(switches, links, seed)), output)


@graph.command("from-machine")
def from_machine(
    machine: Annotated[str, typer.Argument(metavar="MACHINE", help="A machine of configs/machines.")], output: Output
) -> None:
    """Make the graph of a machine's network, to change it."""
    from tramontane.study.catalogue import load_machine
    from tramontane.study.networks import graph_makers as makers

    _write(makers.of_machine(load_machine(machine)), output)


def _write(rows: Sequence[Sequence[object]], output: Path) -> None:
    from tramontane.errors import display_path
    from tramontane.study.networks.graph_makers import write

    write(to_write("--output", output), rows)
    print(display_path(output))
