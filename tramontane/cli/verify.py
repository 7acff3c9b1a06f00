"""``tramontane verify``."""

from typing import Annotated

import typer

from tramontane.cli.options import Scale


def verify(
    names: Annotated[list[str] | None, typer.Argument(help="Experiments; by default all.", metavar="[NAMES]")] = None,
    scale: Scale = "laptop",
    sample: Annotated[int, typer.Option("--sample", min=1, help="Points to run again.", metavar="N")] = 20,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of their choice.")] = 1,
) -> int:
    """Run points that have results again, and compare them.

    The points are a random sample; all bits have to be the same.
    """
    from tramontane.campaign.verification import verify as run
    from tramontane.study import find_project
    from tramontane.support.tables import table

    found = run(find_project(), names or ["all"], scale, sample, seed)
    for line in found.differences:
        print(line)
    head = ("points with results", "measured", "of other models", "run again", "differences")
    row = (found.points, found.measured, found.older, found.compared, len(found.differences))
    print(table(head, [row], right=range(len(head))))
    return 1 if found.differences else 0
