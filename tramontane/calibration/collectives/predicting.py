"""Predictions of collectives by the simulator of a fitted machine, with their intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tramontane.calibration.collectives.calibrate import Calibrated, Predictor
from tramontane.calibration.collectives.discrepancy import discrepancy
from tramontane.calibration.collectives.leaving_out import interval_of, widest
from tramontane.calibration.collectives.parameters import is_linear, messages, shares
from tramontane.calibration.collectives.points import placement
from tramontane.calibration.collectives.rows import refuse_sizes
from tramontane.errors import InputError
from tramontane.study import load_machine
from tramontane.study.systems.timed_collectives import HIGH, KEYS, LOW, MEDIAN, UNKNOWN, Case, read_timed
from tramontane.support.files import write_atomically
from tramontane.support.formatting import plural

#: Messages of all ranks that a prediction may simulate: beyond, a point takes an hour or all memory.
MOST_MESSAGES = 2 * 10**7


@dataclass(frozen=True)
class Prediction:
    """A case with the times that are predicted [s]: its median, and the ends of an interval of 80 %."""

    case: Case
    median: float
    low: float
    high: float


def read_wanted(file: Path, machine: str, root: Path) -> list[Case]:
    """Return the cases of a machine that a file asks for.

    Raises
    ------
    InputError
        If a row is wrong or stands there twice, or none is of the machine.
    """
    seen: dict[Case, int] = {}
    rows = read_timed(file, root, ())
    refuse_sizes([row for row in rows if row.case.machine == machine], load_machine(machine, root))
    for row in rows:
        if row.case in seen:
            text = f"found the row of line {seen[row.case]} again"
            raise InputError(file, f"line {row.line}", None, "each row once", problem=text)
        seen[row.case] = row.line
    wanted = [case for case in seen if case.machine == machine]
    if not wanted:
        raise InputError(file, "", None, f"a row of {machine}", problem=f"found no row of {machine}")
    return wanted


def why_not(case: Case, found: Calibrated) -> str | None:
    """Return why a case is not predicted, if so."""
    if case.algorithm == UNKNOWN:
        return "nobody knows what the library chooses"
    if is_linear(case):
        return "with fewer elements than ranks the library takes a linear one"
    seen = _pays([row.case for row in found.rows], found)
    unseen = [name for name in _pays([case], found) if name not in seen]
    if unseen:
        return f"no measured row shows {', '.join(unseen)}"
    number = case.nodes * len(messages(case))
    if number > MOST_MESSAGES:
        return f"more than {MOST_MESSAGES:,} messages"
    return None


def _pays(cases: Sequence[Case], found: Calibrated) -> list[str]:
    """Return the names of the unknowns of which cases pay anything."""
    paid = np.any([shares(case, found.fit.known).any(axis=0) for case in cases], axis=0)
    return [own.name for own, pays in zip(found.fit.known, paid.tolist(), strict=True) if pays]


def predict(wanted: Sequence[Case], found: Calibrated, predictor: Predictor) -> list[Prediction]:
    """Return predictions of cases; intervals are those of rows with their shape left out that are placed alike."""
    more = discrepancy(wanted, [row.case for row in found.rows], found.fit.residuals)
    times = more * predictor.times(wanted, found.fit.values, "predictions")
    _, left = widest(found.left)
    answers = []
    for case, time in zip(wanted, times, strict=True):
        low, high = interval_of(placement(case, found.network), left)
        answers.append(Prediction(case, float(time), float(low * time), float(high * time)))
    return answers


def write_predictions(predictions: Sequence[Prediction], file: Path) -> None:
    """Write predictions as `tramontane compare --predictions` reads them [us]."""
    lines = [",".join((*KEYS, MEDIAN, LOW, HIGH))]
    for own in predictions:
        case = own.case
        keys = (case.machine, case.shape, case.nodes, case.operation, case.algorithm, case.size)
        times = (f"{1e6 * time:.4g}" for time in (own.median, own.low, own.high))
        lines.append(",".join((*map(str, keys), *times)))
    write_atomically(file, "\n".join(lines) + "\n")


def as_text(reasons: Mapping[Case, str | None]) -> str:
    """Return how many cases are predicted, and why others are not."""
    counts: dict[str, list[Case]] = {}
    for case, reason in reasons.items():
        if reason is not None:
            counts.setdefault(f"{case.shape} {case.operation} {case.algorithm}: {reason}", []).append(case)
    head = f"{sum(reason is None for reason in reasons.values())} of {plural(len(reasons), 'row')} predicted"
    return "\n".join([head, *(f"  left out, {plural(len(own), 'row')}: {why}" for why, own in counts.items())])
