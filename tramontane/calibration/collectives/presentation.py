"""A calibration to measured collectives in words and tables, and as a dataset for its figure."""

from collections.abc import Iterator, Sequence

import numpy as np
import xarray as xr

from tramontane.calibration.collectives.calibrate import Calibrated
from tramontane.calibration.collectives.fitting import Fit
from tramontane.calibration.collectives.leaving_out import KINDS, LeftOut, coverage, intervals, widest
from tramontane.results.row_datasets import of_rows
from tramontane.support.formatting import plural
from tramontane.support.tables import table

#: Factors within which shares of rows are counted.
FACTORS = (1.25, 1.5, 2.0)
#: Unknowns whose correlation is larger are told, and directions with more of their spread left.
CORRELATED, UNSEEN = 0.8, 0.7
#: Parts of a direction that are worth a word.
PART = 0.3


def as_text(found: Calibrated) -> str:
    """Return what ``tramontane calibrate --measured`` prints."""
    return "\n\n".join(
        [_heading(found), _unknowns(found.fit), _not_told_apart(found.fit), _errors(found), *_covered(found)]
    )


def _heading(found: Calibrated) -> str:
    off = np.abs(found.fit.residuals)
    return (
        f"{found.machine}: {plural(len(found.rows), 'row')}; the fit's median error is {np.expm1(np.median(off)):.0%}, "
        f"its largest a factor of {np.exp(off.max()):.2f}"
    )


def _unknowns(found: Fit) -> str:
    cells = [
        (own.name, f"{value:.4g}", own.unit, f"x/ {np.exp(sigma):.2f}", f"{own.guess:.4g}", f"{sigma / own.spread:.0%}")
        for own, value, sigma in zip(found.known, found.values, found.sigma, strict=True)
    ]
    return table(
        ("unknown", "fitted", "unit", "uncertain by", "guess", "of its spread left"), cells, right=(1, 3, 4, 5)
    )


def _not_told_apart(found: Fit) -> str:
    """Name pairs of unknowns that are correlated, and combinations of which the rows say little."""
    names = [own.name for own in found.known]
    lines = [
        f"  {names[i]} and {names[j]}: correlation {found.correlation[i, j]:+.2f}"
        for i in range(len(names))
        for j in range(i)
        if abs(found.correlation[i, j]) > CORRELATED
    ]
    for left, direction in found.directions:
        if left > UNSEEN:
            parts = [
                f"{direction[i]:+.2f} {names[i]}" for i in np.argsort(-np.abs(direction)) if abs(direction[i]) > PART
            ]
            lines.append(f"  {left:.0%} of the guess's spread left: {', '.join(parts)}")
    return "what the rows can't tell apart\n" + ("\n".join(lines) or "  nothing")


def _errors(found: Calibrated) -> str:
    rows = []
    for kind in KINDS:
        own = [each for each in found.left if each.kind == kind]
        if not own:
            rows.append((kind, "one only", *[""] * (3 + len(FACTORS))))
        for operation in sorted({found.rows[each.row].case.operation for each in own}):
            rows.append((kind, operation, *_cells([e for e in own if found.rows[e.row].case.operation == operation])))
    head = ("left out", "operation", "n", "median error", "bias", *(f"in {factor:g}" for factor in FACTORS))
    return table(head, rows, right=range(2, len(head)))


def _cells(own: Sequence[LeftOut]) -> tuple[str, ...]:
    off = np.array([each.residual for each in own])
    shares = (f"{np.mean(np.abs(off) <= np.log(factor)):.0%}" for factor in FACTORS)
    return str(len(own)), f"{np.expm1(np.median(np.abs(off))):.0%}", f"{np.exp(np.median(off)):.2f}", *shares


def _covered(found: Calibrated) -> Iterator[str]:
    """Yield the coverage of intervals: each value's rows by those of the other values."""
    kind, own = widest(found.left)
    parts = coverage(own)
    share = sum(number * covered for _, number, covered in parts) / max(1, sum(number for _, number, _ in parts))
    lines = [f"  {value}: {covered:.0%} of {number}" for value, number, covered in parts]
    factors = "; ".join(f"{low:.2f} to {high:.2f} (placed: {name})" for name, (low, high) in intervals(own).items())
    yield (
        f"interval of 80 % over a prediction: {factors}; by rows whose {kind} was left out. "
        f"Drawn from the others, it covers {share:.0%}, of\n" + "\n".join(lines)
    )


def as_dataset(found: Calibrated) -> xr.Dataset:
    """Return each row beside what it was predicted to take when it was left out, and the unknowns."""
    kind, left = widest(found.left)
    ends = intervals(left)
    low, high = (np.array([ends[each.placement][end] for each in left]) for end in (0, 1))
    rows = [found.rows[each.row] for each in left]
    predicted = np.array([each.predicted for each in left])
    dataset = of_rows(
        {
            "machine": ("Machine", [row.case.machine for row in rows]),
            "shape": ("Shape", [row.case.shape for row in rows]),
            "operation": ("Operation", [row.case.operation for row in rows]),
            "algorithm": ("Algorithm", [row.case.algorithm for row in rows]),
        },
        {
            "nodes": ("Number of nodes, a process each", "1", [row.case.nodes for row in rows]),
            "bytes": ("Payload: of a pair of processes, of the vector", "B", [row.case.size for row in rows]),
            "measured_s": ("Measured time, median", "s", [row.median for row in rows]),
            "predicted_s": (f"Time without the rows of the same {kind}", "s", predicted.tolist()),
            "fitted_s": ("Time by the fit to all rows", "s", [found.fit.times[each.row] for each in left]),
            "low_s": ("Lower end of its interval", "s", (predicted * low).tolist()),
            "high_s": ("Upper end of its interval", "s", (predicted * high).tolist()),
        },
        title=f"Calibration of {found.machine} to measured collectives",
        kind="predictions",
        caption=f"{found.machine}: each row of the measurements by a fit without the rows of the same {kind}",
    )
    names = [own.name for own in found.fit.known]
    dataset = dataset.assign_coords(unknown=("unknown", np.asarray(names, dtype=str)))
    dataset["value"] = ("unknown", found.fit.values, {"long_name": "Fitted", "units": "ps or ps/B"})
    dataset["sigma"] = ("unknown", found.fit.sigma, {"long_name": "Standard deviation of its logarithm", "units": "1"})
    dataset["correlation"] = (("unknown", "other"), found.fit.correlation, {"units": "1"})
    return dataset
