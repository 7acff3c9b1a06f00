"""``tramontane run-batch``."""

import functools
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import FAILURE, fail
from tramontane.cli.options import Threads


def run_batch(
    file: Annotated[Path, typer.Argument(metavar="FILE.json", help="A batch of the plan.")],
    threads: Threads = 1,
) -> None:
    """Run the points of one batch; what a job of the workflow does."""
    from tramontane.campaign.batch import Stopped, UnfinishedError, run_batch, stop_on_signals
    from tramontane.substrates import require
    from tramontane.support.layout import root_of

    stop_on_signals()
    try:
        run_batch(file, root_of(file), functools.partial(require, threads=threads))
    except Stopped as stopped:
        fail(f"stopped by {stopped}", 128 + stopped.number)
    except UnfinishedError as error:
        fail(str(error), FAILURE)
