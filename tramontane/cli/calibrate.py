"""``tramontane calibrate``."""

import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import FAILURE, fail
from tramontane.cli.options import to_write
from tramontane.errors import InputError, closest, display_path


def calibrate(
    output: Annotated[Path, typer.Option("--output", "-o", help="Machine file to write.", metavar="MACHINE.yaml")],
    system: Annotated[str, typer.Option("--system", help="A file of configs/systems.", metavar="NAME")] = "generic",
    partition: Annotated[str | None, typer.Option("--partition", help="By default the first.", metavar="NAME")] = None,
    environment: Annotated[
        str | None, typer.Option("--environment", help="MPI library; by default the first.", metavar="NAME")
    ] = None,
    ranks: Annotated[
        str, typer.Option("--ranks", help="Measure and simulate operations of so many ranks, too.", metavar="2,4,8")
    ] = "2,4,8",
) -> None:
    """Measure messages and small operations through ReFrame, and fit the simulator's parameters to them."""
    from tramontane.calibration import summary
    from tramontane.calibration.calibrate import calibrate, keep
    from tramontane.study import find_root, load_system
    from tramontane.study.points import SystemChoice
    from tramontane.substrates import require

    counts = _counts(ranks)
    if output.suffix != ".yaml":
        raise InputError("--output", "", str(output), "a file that ends in .yaml, e.g. configs/machines/here.yaml")
    to_write("--output", output)
    root = find_root()
    described = load_system(system, root)
    for option, name, known in (
        ("--partition", partition, described.partitions),
        ("--environment", environment, described.environments),
    ):
        if name is not None and name not in known:
            raise InputError(option, "", name, ", ".join(known), hint=closest(name, known))
    require("mpi")
    folder = root / "results" / "calibration" / output.stem
    choice = SystemChoice(name=system, partition=partition, environment=environment)
    try:
        found = calibrate(choice, counts, folder, root)
    except (ValueError, RuntimeError) as error:
        fail(f"calibrate: {error}", FAILURE)
    print("\n".join(summary.summary(found.messages, found.parameters, found.stages)))
    if found.rows:
        print(f"\n{summary.comparison(found.rows, found.processors)}")
    for case, why in found.failures.items():
        print(f"{case}: {why}", file=sys.stderr)
    keep(found, system, output, folder.with_suffix(".nc"))
    stem = os.path.relpath(folder)
    python = display_path(sys.executable)  # another Python may lack what it imports
    print(f"\nmachine: {output}\nfigure:  {python} -m analysis.draw {stem}.nc {stem}")


def _counts(text: str) -> list[int]:
    """Return the numbers in a text such as 2,4."""
    words = [word for word in text.replace(",", " ").split() if word]
    if not words or not all(re.fullmatch("[0-9]{1,6}", word) and int(word) >= 2 for word in words):
        raise InputError("--ranks", "", text, "numbers from 2 to 999999 with commas between them")
    return [int(word) for word in words]
