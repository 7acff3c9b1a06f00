"""``tramontane calibrate``."""

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tramontane.cli.exit import FAILURE, fail
from tramontane.cli.options import Cores, to_write
from tramontane.errors import InputError, closest, display_path

if TYPE_CHECKING:
    from collections.abc import Mapping


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
    measured: Annotated[
        Path | None,
        typer.Option(
            "--measured",
            help="Fit to times of collectives instead (`tramontane docs calibration`).",
            metavar="FILE.csv",
        ),
    ] = None,
    machine: Annotated[
        str | None,
        typer.Option("--machine", help="With --measured: the machine whose costs are fitted.", metavar="NAME"),
    ] = None,
    predicted: Annotated[
        Path | None,
        typer.Option("--predict", help="With --measured: predict the rows of this file, too.", metavar="WANTED.csv"),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option("--predictions", help="Where these predictions go.", metavar="FILE.csv")
    ] = None,
    cores: Cores = None,
) -> None:
    """Fit the simulator's parameters to measured messages.

    ReFrame measures them, and small operations. With --measured a machine of configs/machines is fitted to times of
    collectives that were measured elsewhere.
    """
    from tramontane.calibration import summary
    from tramontane.calibration.calibrate import calibrate, keep
    from tramontane.study import find_project, load_system
    from tramontane.study.points.points import DEFAULT_SYSTEM, SystemChoice
    from tramontane.study.reading.names import check_name
    from tramontane.substrates import require

    if output.suffix != ".yaml":
        raise InputError("--output", "", str(output), "a file that ends in .yaml, e.g. configs/machines/here.yaml")
    to_write("--output", output)
    check_name(output)
    root = find_project()
    own: dict[str, object] = {"--machine": machine, "--predict": predicted, "--predictions": predictions}
    own["--cores"] = cores
    others = {"--system": None if system == "generic" else system, "--partition": partition}
    others |= {"--environment": environment, "--ranks": None if ranks == "2,4,8" else ranks}
    if measured is not None:
        _refuse(others, "beside --measured", ", ".join(own))
        if machine is None:
            raise InputError("--machine", "", None, "the machine of --measured to fit, e.g. fugaku")
        if (predicted is None) != (predictions is None):
            missing, there = ("--predict", "--predictions") if predicted is None else ("--predictions", "--predict")
            raise InputError(missing, "", None, f"a file, with {there}")
        wanted = (
            None if predicted is None or predictions is None else (predicted, to_write("--predictions", predictions))
        )
        _to_collectives(measured, machine, output, root, cores, wanted)
        return
    _refuse(own, "without --measured", ", ".join(others))
    counts = _counts(ranks)
    described = load_system(system, root)
    for option, name, known in (
        ("--partition", partition, described.partitions),
        ("--environment", environment, described.environments),
    ):
        if name is not None and name not in known:
            raise InputError(option, "", name, ", ".join(known), hint=closest(name, known))
    if system == DEFAULT_SYSTEM:  # what another one lacks, which may have modules, ReFrame knows
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
    _say_where(output, folder)


def _refuse(given: "Mapping[str, object]", where: str, allowed: str) -> None:
    for option in (option for option, value in given.items() if value is not None):
        raise InputError(option, "", None, allowed, problem=f"found {where}")


def _to_collectives(
    file: Path, machine: str, output: Path, root: Path, cores: int | None, wanted: tuple[Path, Path] | None
) -> None:
    """Fit a machine to measured collectives, print it, write its file, and predict others."""
    from tramontane.calibration.collectives import calibrate as collectives
    from tramontane.calibration.collectives import predicting
    from tramontane.calibration.collectives.presentation import as_dataset, as_text
    from tramontane.results.datasets import write
    from tramontane.study.systems.timed_collectives import known_as
    from tramontane.support.host import cores as all_cores

    folder = root / "results" / "calibration" / output.stem
    asked = None if wanted is None else predicting.read_wanted(wanted[0], known_as(machine), root)
    try:
        found, predictor = collectives.calibrate(file, machine, folder, root, cores or all_cores())
        text = as_text(found)
    except ValueError as error:
        fail(f"calibrate: {error}", FAILURE)
    print(text)
    write(as_dataset(found), folder.with_suffix(".nc"))
    collectives.keep(found, file, output, root)
    _say_where(output, folder)
    if wanted is not None and asked is not None:
        reasons = {case: predicting.why_not(case, found) for case in asked}
        made = predicting.predict([case for case, reason in reasons.items() if reason is None], found, predictor)
        predicting.write_predictions(made, wanted[1])
        print(f"\n{predicting.as_text(reasons)}\npredictions: {wanted[1]}")


def _say_where(output: Path, folder: Path) -> None:
    """Print where the machine is, and how its figure is drawn."""
    stem = os.path.relpath(folder)
    python = display_path(sys.executable)  # another Python may lack what it imports
    print(f"\nmachine: {output}\nfigure:  {python} -m analysis.draw {stem}.nc {stem}")


def _counts(text: str) -> list[int]:
    """Return the numbers in a text such as 2,4, each once."""
    words = [word for word in text.replace(",", " ").split() if word]
    if not words or not all(re.fullmatch("[0-9]{1,6}", word) and int(word) >= 2 for word in words):
        raise InputError("--ranks", "", text, "numbers from 2 to 999999 with commas between them")
    return list(dict.fromkeys(map(int, words)))
