"""Fits a machine to a file of measured collectives; what `tramontane calibrate --measured` does."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tramontane.calibration import machine_file as files
from tramontane.calibration.collectives import machine_file
from tramontane.calibration.collectives.evaluation import Simulations
from tramontane.calibration.collectives.fitting import Fit, Rows, fit
from tramontane.calibration.collectives.leaving_out import LeftOut, leave_out
from tramontane.calibration.collectives.parameters import Values, parameters, shares
from tramontane.calibration.collectives.points import make_point, placement
from tramontane.calibration.collectives.rows import Row, read_rows
from tramontane.study import Machine, load_machine
from tramontane.study.catalogue import load_base
from tramontane.study.systems.libraries import LibraryAlgorithm, library_algorithms
from tramontane.study.systems.timed_collectives import Case, known_as
from tramontane.support.files import write_atomically


@dataclass(frozen=True)
class Calibrated:
    """A machine that was fitted to measured collectives.

    Attributes
    ----------
    machine : str
        Its name in ``configs/machines``.
    network : Machine
        What that file says.
    rows : list of Row
        What was measured.
    fit : Fit
        To all of them.
    left : list of LeftOut
        What fits to parts of them said about the others.
    """

    machine: str
    network: Machine
    rows: Sequence[Row]
    fit: Fit
    left: Sequence[LeftOut]


class Predictor:
    """Times of collectives on a machine by the simulator.

    Parameters
    ----------
    network : Machine
        The machine.
    algorithms : mapping
        Entries of ``configs/libraries.yaml``.
    simulations : Simulations
        Runs and keeps the points.
    """

    def __init__(self, network: Machine, algorithms: dict[str, LibraryAlgorithm], simulations: Simulations) -> None:
        self.known = parameters(network)
        self._network, self._algorithms, self._simulations = network, algorithms, simulations

    def times(self, cases: Sequence[Case], values: Values, doing: str, packets: int | None = None) -> Values:
        """Return the times of cases [s] for the values of the unknowns; `packets` as in `make_point`."""
        network, algorithms = self._network, self._algorithms
        points = [
            make_point(case, shares(case, self.known) @ values, network, algorithms, packets=packets) for case in cases
        ]
        return self._simulations.times(points, doing)


def calibrate(file: Path, machine: str, folder: Path, root: Path, cores: int) -> tuple[Calibrated, Predictor]:
    """Fit a machine to the rows of a file, and leave rows out in turn.

    Parameters
    ----------
    file : Path
        Measured rows (`read_rows`).
    machine : str
        A name of ``configs/machines``.
    folder : Path
        Where simulations are kept.
    root : Path
        Root of the checkout.
    cores : int
        Simulations at a time.

    Raises
    ------
    InputError
        If file or machine are not what they should be.
    """
    name = known_as(machine)
    network = load_machine(name, root)
    rows = read_rows(file, name, root)
    predictor = Predictor(network, library_algorithms(root), Simulations(folder / "simulations.jsonl", cores))
    cases = [row.case for row in rows]
    touched = np.array([shares(case, predictor.known).any(axis=0) for case in cases])

    def model(values: Values, positions: Rows, doing: str = "fit") -> Values:
        return predictor.times([cases[int(position)] for position in positions], values, doing)

    measured = np.array([row.median for row in rows])
    found = fit(predictor.known, measured, model, touched)
    placements = [placement(case, network) for case in cases]
    return Calibrated(name, network, rows, found, leave_out(rows, placements, found, model)), predictor


def keep(found: Calibrated, file: Path, output: Path, root: Path) -> None:
    """Write the fitted machine, of the checkout at `root`."""
    words = f"{found.machine}, with costs of messages fitted to measured collectives."
    base = load_base(found.machine, root)
    keys = machine_file.settings(found.fit, base, found.network.protocol.eager_limit)
    source = f"{file.name}, {len(found.rows)} rows, by tramontane calibrate --measured"
    write_atomically(output, files.text(keys, words, source) + machine_file.remarks(found.fit))
