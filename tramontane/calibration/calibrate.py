"""Measures a machine and fits the simulator's parameters to it; what `tramontane calibrate` does."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.calibration import fit, machine_file, side_by_side
from tramontane.calibration.dataset import as_dataset
from tramontane.calibration.measurement import Messages, measure, runner, without_copies
from tramontane.measurement.calibration import SMALL_ALLREDUCE, operations
from tramontane.measurement.execution import choose
from tramontane.measurement.settings import look_around, processors
from tramontane.results.datasets import write
from tramontane.study import Machine
from tramontane.study.points.points import SystemChoice
from tramontane.substrates import get
from tramontane.support.files import write_atomically


@dataclass(frozen=True)
class Calibrated:
    """What a calibration has found.

    Attributes
    ----------
    messages : Messages
        Measured times of messages.
    parameters : fit.Parameters
        What was fitted to them.
    stages : list of fit.Stages
        Stages of small allreduces, which were fitted, too.
    machine : dict
        The fitted machine, as its file says it.
    rows : list of side_by_side.Row
        Operations, measured and simulated.
    failures : dict
        Why others failed, by case.
    environment : str
        The MPI library, as the system calls it.
    processors : int
        Ranks that share no processor.
    """

    messages: Messages
    parameters: fit.Parameters
    stages: list[fit.Stages]
    machine: dict[str, Any]
    rows: list[side_by_side.Row]
    failures: dict[str, str]
    environment: str
    processors: int


def calibrate(choice: SystemChoice, ranks: Sequence[int], folder: Path, root: Path) -> Calibrated:
    """Measure messages and operations of so many ranks on a system, and fit a machine to them.

    Raises
    ------
    ValueError, RuntimeError
        If they can't be measured, or fit no machine.
    """
    site = look_around(root)
    name, environment = choose(site, choice)
    partition = site.systems[choice.name].partitions[name]
    used = SystemChoice(name=choice.name, partition=name, environment=environment)
    found = measure(runner(used, folder, root), list(operations(ranks, used)))
    free = processors(partition)
    # Of several nodes each rank gets one: what ranks on one node exchange is not what messages cost on the network.
    alone = partition.nodes if partition.nodes > 1 else free
    small = [each for each in found.operations if each[0].name == SMALL_ALLREDUCE and each[0].ranks <= alone]
    made = [fit.stages(own.ranks, own.point.workload, without_copies(said)) for own, said in small]
    stages = [stage for stage in made if stage is not None]
    timed = found.messages
    parameters = fit.fit(timed.sizes, timed.one_way, timed.send, timed.receive, stages)
    machine = machine_file.settings(parameters, max(2, partition.ranks_per_node, *ranks))
    rows = list(side_by_side.compare(found.operations, get("simulator").run, Machine.model_validate(machine)))
    return Calibrated(timed, parameters, stages, machine, rows, found.failures, found.environment, free)


def keep(found: Calibrated, system: str, output: Path, dataset: Path) -> None:
    """Write the machine to `output`, and all that was measured as a dataset."""
    words = f"One switch, fitted to messages and small allreduces on system {system} with {found.environment}."
    library = str(found.messages.printed["mpi_library"])
    write_atomically(output, machine_file.text(found.machine, words, library))
    write(as_dataset(output.stem, found.messages, found.parameters, found.rows, found.stages), dataset)
