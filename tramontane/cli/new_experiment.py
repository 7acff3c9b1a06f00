"""``tramontane new-experiment``."""

import sys
from typing import Annotated

import typer


def new_experiment(
    name: Annotated[str, typer.Argument(help="Small letters, digits and hyphens, e.g. halo-latency.", metavar="NAME")],
) -> None:
    """Write a commented experiment that runs at once.

    It is for you to change; see `tramontane docs new-experiment`.
    """
    from tramontane.errors import display_path
    from tramontane.study import find_project
    from tramontane.study.experiments.template import new_experiment

    print(display_path(new_experiment(find_project(), name)))
    print(f"it runs as it is: tramontane reproduce --scale smoke --experiments {name}", file=sys.stderr)
