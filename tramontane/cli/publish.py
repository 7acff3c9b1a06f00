"""``tramontane publish``."""

import math
import sys
from typing import Annotated

import typer

from tramontane.cli.options import Experiments, Scale, names
from tramontane.errors import InputError


def publish(
    experiments: Experiments = None,
    scale: Scale = "paper",
    least: Annotated[float, typer.Option("--least", help="Only points that took so long [s].")] = 60.0,
) -> None:
    """Keep the records of simulated points with the project; see published/README.md."""
    from tramontane.campaign.plan import make_plan
    from tramontane.results.published import publish
    from tramontane.study import find_project
    from tramontane.support.formatting import plural

    if not 0 <= least < math.inf:  # which "nan" isn't either
        raise InputError("--least", "", least, "a number of seconds, 0 or more")
    root = find_project()
    count = publish(root, make_plan(root, scale, names(experiments), run=False).points, least)
    print(f"{plural(count, 'record')} added to published/", file=sys.stderr)
