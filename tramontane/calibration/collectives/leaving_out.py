"""Cross-validation: what a fit says about rows that it has not seen."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tramontane.calibration.collectives.discrepancy import discrepancy
from tramontane.calibration.collectives.fitting import Fit, Rows, refit, response
from tramontane.calibration.collectives.parameters import Values
from tramontane.calibration.collectives.rows import Row

#: What is left out in turn, all rows of a value at a time.
KINDS: dict[str, Callable[[Row], str]] = {
    "size": lambda row: str(row.case.size),
    "algorithm": lambda row: f"{row.case.operation} {row.case.algorithm}",
    "shape": lambda row: row.case.shape,
    "date": lambda row: row.date,
}
#: Share of the rows beyond each end of an interval of 80 %, where many values were left out.
BEYOND = 0.1


@dataclass(frozen=True)
class LeftOut:
    """A row that a fit has not seen.

    Attributes
    ----------
    kind, value : str
        What was left out.
    row : int
        Its position.
    placement : str
        Where its job is: intervals of jobs that are placed alike are drawn from each other.
    predicted : float
        Its time by the fit to the others [s].
    residual : float
        Logarithm of measured over predicted.
    """

    kind: str
    value: str
    row: int
    placement: str
    predicted: float
    residual: float


def leave_out(
    rows: Sequence[Row],
    placements: Sequence[str],
    found: Fit,
    model: Callable[[Values, Rows, str], Values],
) -> list[LeftOut]:
    """Return what each row was predicted to take without the rows of the same size, algorithm, shape and date.

    Parameters
    ----------
    rows : sequence of Row
        All of them.
    placements : sequence of str
        Where their jobs are.
    found : Fit
        The fit to all.
    model : callable
        Times of chosen rows by the simulator [s]: ``model(values, positions, doing)``.
    """
    answers = []
    for kind, value_of in KINDS.items():
        values = [value_of(row) for row in rows]
        for value in dict.fromkeys(values):
            out = np.array([position for position, own in enumerate(values) if own == value])
            rest = [position for position, own in enumerate(values) if own != value]
            if not rest:
                continue
            values_found = refit(found, rest)
            over = np.log(found.measured[rest] / response(found, values_found, rest))
            more = discrepancy([rows[i].case for i in out], [rows[i].case for i in rest], over)
            times = more * model(values_found, out, f"without {kind} {value}")
            answers += [
                LeftOut(
                    kind, value, position, placements[position], time, float(np.log(found.measured[position] / time))
                )
                for position, time in zip(map(int, out), map(float, times), strict=True)
            ]
    return answers


def interval(left: Sequence[LeftOut]) -> tuple[float, float]:
    """Return the factors from a prediction to the ends of its interval; a prediction is never outside.

    Rows of one shape, and date, are off together, so that there are as many independent observations as values were
    left out, k. As another value may be off by more than any of them, the ends are those of k among k + 1: 5 % beyond
    each where k is 1, and 10 % where there are many.
    """
    number = len({each.value for each in left})
    beyond = BEYOND * number / (number + 1)
    low, high = np.quantile([each.residual for each in left], (beyond, 1 - beyond))
    return min(1.0, float(np.exp(low))), max(1.0, float(np.exp(high)))


def coverage(left: Sequence[LeftOut]) -> list[tuple[str, int, float]]:
    """Return, for each value that was left out, its rows and the share inside the interval of others placed alike."""
    answers = []
    for value in dict.fromkeys(each.value for each in left):
        own = [each for each in left if each.value == value]
        inside = []
        for each in own:
            others = [other for other in left if other.value != value and other.placement == each.placement]
            if others:
                low, high = np.log(interval(others))
                inside.append(low <= each.residual <= high)
        if inside:
            answers.append((value, len(inside), float(np.mean(inside))))
    return answers


def interval_of(placed: str, left: Sequence[LeftOut]) -> tuple[float, float]:
    """Return the interval of jobs that are placed so; where there are none, that of all."""
    return interval([each for each in left if each.placement == placed] or left)


def intervals(left: Sequence[LeftOut]) -> dict[str, tuple[float, float]]:
    """Return the intervals of jobs by where they are placed."""
    return {placed: interval_of(placed, left) for placed in dict.fromkeys(each.placement for each in left)}


def widest(left: Sequence[LeftOut]) -> tuple[str, list[LeftOut]]:
    """Return the residuals that an interval comes from: without the shape; where there is one only, the algorithm.

    Raises
    ------
    ValueError
        If nothing could be left out.
    """
    for kind in ("shape", "algorithm", "size"):
        own = [each for each in left if each.kind == kind]
        if own:
            return kind, own
    raise ValueError("nothing could be left out: all rows are of one shape, algorithm and size")
