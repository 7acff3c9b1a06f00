"""``tramontane goal``."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from tramontane.cli.options import PointFile, to_write


def goal(
    point_file: PointFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="GOAL, or OTF2 (.otf2).", metavar="FILE")],
) -> None:
    """Write what the ranks of a point do as GOAL or OTF2.

    Other tools read that; see `tramontane docs your-application`.
    """
    from tramontane.errors import InputError, display_path
    from tramontane.study import load_point
    from tramontane.study.traces import otf2_traces, traces
    from tramontane.study.workloads.programs import Program
    from tramontane.substrates.simulator import schedule
    from tramontane.support import otf2
    from tramontane.support.formatting import plural

    to_write("--output", output, point_file)
    point = load_point(point_file)
    try:
        schedule_ = schedule(point.workload, point.ranks)
        if output.suffix == otf2.SUFFIX:
            otf2_traces.write(schedule_, point.ranks, output, point_file.stem)
        else:
            traces.write_goal(schedule_, point.ranks, output)
    except ValueError as error:
        refused = InputError.of_line(point_file, error)
        if refused and refused.key == "workload.algorithm" and isinstance(point.workload, Program):
            steps = list(point.workload.windowed_steps(point.ranks))  # a schedule has rounds and no steps
            # The first rank that is refused is no later one among those of a communicator.
            up_to = next(rank + 1 for rank in range(point.ranks) if _is_refused(schedule_, rank))
            tried = ((key, schedule(step, ranks), range(min(ranks, up_to))) for key, step, ranks in steps)
            cause = next(
                (key for key, own, ranks in tried if any(_is_refused(own, rank) for rank in ranks)), steps[0][0]
            )
            refused.key = f"{cause}.algorithm"
        raise refused or error from None
    print(display_path(output))
    print(plural(point.ranks, "rank"), file=sys.stderr)


def _is_refused(schedule: Any, rank: int) -> bool:
    """Return whether a rank does what GOAL can't say."""
    try:
        schedule.goal(rank)
    except ValueError:
        return True
    return False
