"""Judges predictions of collectives on real machines by what was measured there, before or after they were made."""

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from tramontane.comparison.crossovers import Crossover, crossovers
from tramontane.comparison.statistics import Entry, Ordering, agreement, orderings
from tramontane.errors import InputError
from tramontane.study.systems.timed_collectives import HIGH, LOW, MEDIAN, UNKNOWN, Case, Timed, read_timed

#: Factors within which shares of the rows are counted.
FACTORS = (1.25, 1.5, 2.0)
#: Algorithms whose measured times differ by less are not ordered.
MARGIN = 0.2


@dataclass(frozen=True)
class Judged:
    """A measured row beside its prediction."""

    measured: Timed
    predicted: Timed

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured.median / self.predicted.median

    @property
    def covered(self) -> bool:
        """Whether the predicted interval holds the measured median."""
        return self.predicted.times[LOW] <= self.measured.median <= self.predicted.times[HIGH]


@dataclass(frozen=True)
class Verdict:
    """How well the rows of one machine and operation were predicted; None where there is nothing to count.

    Attributes
    ----------
    n : int
        Number of rows.
    median_error : float
        Median of the factor between measured and predicted, whichever is the larger, less 1.
    bias : float
        Median of measured over predicted.
    within : tuple of float
        Shares of the rows within each of `FACTORS`.
    coverage : float
        Share of the rows whose interval holds the measured median.
    ordered : int
        Pairs of algorithms that differ by more than `MARGIN`.
    agreement : float or None
        Share of these that the predictions put in the same order.
    """

    n: int
    median_error: float
    bias: float
    within: tuple[float, ...]
    coverage: float
    ordered: int
    agreement: float | None


@dataclass(frozen=True)
class Judgement:
    """All rows of a file of measurements beside their predictions.

    Attributes
    ----------
    source, folder : Path
        The measurements and the predictions.
    rows : list of Judged
        Rows that have both.
    pairs : list of Ordering
        Algorithms that are ordered, by position in `rows`.
    turns : list of Crossover
        Where one algorithm becomes faster than another.
    unpredicted : int
        Measured rows without a prediction, besides `unknown` and `others`.
    unknown, others : int
        Rows of an algorithm that nobody knows, and of one that is not the library's own.
    unmeasured : int
        Predicted rows that were not measured.
    repeats : int
        Rows of what an earlier row has on its date: they count once, with the median of their times.
    """

    source: Path
    folder: Path
    rows: Sequence[Judged]
    pairs: Sequence[Ordering]
    turns: Sequence[Crossover]
    unpredicted: int
    unknown: int
    others: int
    unmeasured: int
    repeats: int

    def verdicts(self) -> dict[tuple[str, str], Verdict]:
        """Return a verdict for each machine and operation, and one for all under ("all", "")."""
        groups: dict[tuple[str, str], list[int]] = {}
        for position, row in enumerate(self.rows):
            case = row.measured.case
            groups.setdefault((case.machine, case.operation), []).append(position)
        found = {group: self._verdict(own) for group, own in sorted(groups.items())}
        return found | {("all", ""): self._verdict(range(len(self.rows)))}

    def _verdict(self, positions: Iterable[int]) -> Verdict:
        own = set(positions)
        rows = [self.rows[position] for position in sorted(own)]
        pairs = [pair for pair in self.pairs if pair.first in own]
        factors = np.exp(np.abs(np.log([row.ratio for row in rows])))
        return Verdict(
            n=len(rows),
            median_error=float(np.median(factors)) - 1,
            bias=median(row.ratio for row in rows),
            within=tuple(float(np.mean(factors <= factor)) for factor in FACTORS),
            coverage=float(np.mean([row.covered for row in rows])),
            ordered=len(pairs),
            agreement=agreement(pairs),
        )


def judge(file: Path, folder: Path, root: Path) -> Judgement:
    """Compare measured rows with their predictions.

    Parameters
    ----------
    file : Path
        Measured rows (`read_timed`).
    folder : Path
        Its files ``*.csv`` are the predictions, with ``median_us``, ``low_us`` and ``high_us``.
    root : Path
        Root of the checkout.

    Raises
    ------
    InputError
        If a file or a row is wrong, a row is predicted twice, or no measured row has a prediction.
    """
    measured = read_timed(file, root)
    predictions = read_predictions(folder, root)
    known = [row for row in measured if row.case.algorithm != UNKNOWN]
    several = [row for row in known if row.of_library]
    own = _pooled(several)
    rows = [Judged(row, predictions[row.case]) for row in own if row.case in predictions]
    if not rows:
        raise InputError(file, "", None, f"a row that {folder} predicts", problem="found no row with a prediction")
    seen = {row.case for row in own}
    return Judgement(
        source=file,
        folder=folder,
        rows=rows,
        pairs=orderings([_entry(row) for row in rows], MARGIN),
        turns=_turns(rows),
        unpredicted=len(own) - len(rows),
        unknown=len(measured) - len(known),
        others=len(known) - len(several),
        unmeasured=len(predictions.keys() - seen),
        repeats=len(several) - len(own),
    )


def _pooled(rows: Iterable[Timed]) -> list[Timed]:
    """Return one row of each case, date and variant, with the median of their times."""
    alike: dict[tuple[Case, str, str], list[Timed]] = {}
    for row in rows:
        alike.setdefault((row.case, row.date, row.variant), []).append(row)
    return [replace(own[0], times={MEDIAN: median(row.median for row in own)}) for own in alike.values()]


def read_predictions(folder: Path, root: Path) -> dict[Case, Timed]:
    """Return the predictions of a folder's files.

    Raises
    ------
    InputError
        If there are none, a row is wrong, or a row is predicted twice.
    """
    files = sorted(folder.glob("*.csv"))
    if not files:
        raise InputError("--predictions", "", str(folder), "a folder with files *.csv of predictions")
    found: dict[Case, Timed] = {}
    for row in itertools.chain.from_iterable(read_timed(file, root, (MEDIAN, LOW, HIGH)) for file in files):
        where = f"line {row.line}"
        if row.case in found:
            first = found[row.case]
            text = f"found a row that {first.source.name} predicts in line {first.line}"
            raise InputError(row.source, where, None, "one prediction for each row", problem=text)
        low, middle, high = (row.times[name] for name in (LOW, MEDIAN, HIGH))
        if not low <= middle <= high:
            text = f"found {low:g}, {middle:g}, {high:g}"
            raise InputError(row.source, where, None, f"{LOW}, {MEDIAN}, {HIGH} that ascend", problem=text)
        found[row.case] = row
    return found


def _entry(row: Judged) -> Entry:
    """Return what an ordering needs: only the algorithm may differ, on one machine and date."""
    case = row.measured.case
    setting = (case.machine, case.shape, case.operation, case.size, row.measured.date)
    times = row.predicted.median, row.measured.median
    return Entry(case.algorithm, "", "", setting, ("", ""), *times)


def _turns(rows: Sequence[Judged]) -> list[Crossover]:
    """Return the crossovers of each machine, shape, operation and date."""
    groups: dict[tuple[str, int, str, str, str], list[Judged]] = {}
    for row in rows:
        case = row.measured.case
        groups.setdefault((case.machine, case.nodes, case.shape, case.operation, row.measured.date), []).append(row)
    found = []
    for (machine, _, shape, operation, date), own in sorted(groups.items()):
        curves: dict[str, dict[int, tuple[float, float]]] = {}
        for row in own:
            case = row.measured.case
            curves.setdefault(case.algorithm, {})[case.size] = (
                math.log(row.measured.median),
                math.log(row.predicted.median),
            )
        found += crossovers((machine, shape, operation, date), curves)
    return found
