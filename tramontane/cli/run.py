"""``tramontane run``."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import FAILURE, MISTAKE, fail
from tramontane.cli.options import Device, PointFile, Threads, bytes_of, device_of, to_write


def run(
    point_file: PointFile,
    substrate: Annotated[
        str | None, typer.Option("--substrate", help="What runs it, instead of what the file says.", metavar="NAME")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option("--memory", help="Memory it may take, e.g. 64GB; by default nearly all.", metavar="SIZE"),
    ] = None,
    threads: Threads = 1,
    device: Device = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint", help="Where a long run keeps its state; the same command goes on.", metavar="FILE"
        ),
    ] = None,
) -> None:
    """Run one point and print one JSON object.

    Its hottest links, where they are asked for, go to standard error.
    """
    from tramontane.errors import InputError
    from tramontane.results.hot_links import hottest
    from tramontane.substrates.checkpoints import is_one
    from tramontane.substrates.isolation import PointError
    from tramontane.substrates.single import TooLargeError, run_file
    from tramontane.support import host

    if checkpoint is not None:
        to_write("--checkpoint", checkpoint, point_file)
        # It goes when the point ends: so no device, and no link that somebody made.
        if os.path.lexists(checkpoint) and not (checkpoint.is_file() and is_one(checkpoint)):
            raise InputError(
                "--checkpoint",
                "",
                str(checkpoint),
                "a checkpoint, or a name that no file has",
                problem=f"{checkpoint} is no checkpoint, or is cut short",
            )
    chosen = device_of(device)
    limit = bytes_of(memory) or host.memory()
    try:
        result = run_file(point_file, substrate, memory=limit, threads=threads, checkpoint=checkpoint, device=chosen)
    except TooLargeError as error:
        fail(f"{point_file}: {error} (--memory overrides this)", MISTAKE)
    except PointError as error:
        fail(f"{point_file}: {error}", FAILURE)
    print(json.dumps(result))
    if lines := hottest(result):
        print("hottest links, by the share of the time that they passed bytes:", *lines, sep="\n", file=sys.stderr)
