"""``tramontane picture``."""

from pathlib import Path
from typing import Annotated

import typer


def picture(
    machine: Annotated[str, typer.Argument(help="A machine of configs/machines.", metavar="MACHINE")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The files to write, without their ending; by default MACHINE."),
    ] = None,
) -> None:
    """Draw a machine's network by its structure.

    Printed are ports, links by class, the longest route and a cut.
    """
    from tramontane.cli.drawing import draw
    from tramontane.cli.options import stem_to_write
    from tramontane.study.catalogue import load_machine
    from tramontane.study.networks.structure import rows, structure
    from tramontane.support.layout import FIGURE_FORMATS
    from tramontane.support.tables import table

    found = load_machine(machine)
    stem = stem_to_write("--output", output or Path(machine), FIGURE_FORMATS)
    print(table(("", machine), rows(found, structure(found))))
    draw("analysis.picture", machine, stem=stem)
