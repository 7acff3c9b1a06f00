"""A judgement of predictions in words and tables, as plain data, and as a dataset for its figure."""

from typing import Any

import xarray as xr

from tramontane.comparison.predictions import FACTORS, MARGIN, Judgement, Verdict
from tramontane.results.row_datasets import of_rows
from tramontane.study.systems.timed_collectives import HIGH, LOW
from tramontane.support.formatting import plural, size_unit
from tramontane.support.tables import table


def heading(found: Judgement) -> str:
    """Return what is judged by what, in a sentence."""
    return f"{found.folder.name} judged by {found.source.name}: {plural(len(found.rows), 'row')} measured and predicted"


def as_text(found: Judgement) -> str:
    """Return what ``tramontane compare --predictions`` prints."""
    rows = [(machine, operation, *_cells(own)) for (machine, operation), own in found.verdicts().items()]
    shares = [f"in {factor:g}" for factor in FACTORS]
    columns = ("machine", "operation", "n", "median error", "bias", *shares, "covered", "orderings", "agree")
    parts = [heading(found), table(columns, rows, right=range(2, len(columns)))]
    parts.append(
        "median error: of the factor between measured and predicted, less 1; bias: median of measured over predicted;\n"
        f"covered: share inside the predicted interval; orderings: of algorithms that differ by more than {MARGIN:.0%}"
    )
    if found.turns:
        parts.append(_crossovers(found))
    missing = {
        "measured, not predicted": found.unpredicted,
        "the library's choice, which nobody knows": found.unknown,
        "algorithms that are not the library's own": found.others,
        "predicted, not measured": found.unmeasured,
    }
    lines = [f"  {reason}: {plural(number, 'row')}" for reason, number in missing.items() if number]
    return "\n\n".join([*parts, *repeated(found), *(["not judged\n" + "\n".join(lines)] if lines else [])])


def repeated(found: Judgement) -> list[str]:
    """Return in a sentence how many rows repeat others; nothing where none does."""
    return [f"repeated: {plural(found.repeats, 'row')} of what another row has; the median counts"][: found.repeats]


def _crossovers(found: Judgement) -> str:
    rows = [
        (*turn.place[:3], turn.small, turn.large, _sizes(turn.measured), _sizes(turn.predicted)) for turn in found.turns
    ]
    columns = ("machine", "shape", "operation", "faster below", "above", "measured at", "predicted at")
    return "crossover sizes\n" + table(columns, rows, right=(5, 6))


def _sizes(sizes: tuple[float, ...]) -> str:
    return ", ".join(_size(size) for size in sizes) or "-"


def _size(size: float) -> str:
    """Return an interpolated size with two digits, which is what it is worth."""
    unit, factor = size_unit(size)
    return f"{float(f'{size / factor:.2g}'):g} {unit}"


def _cells(own: Verdict) -> tuple[str, ...]:
    order = "-" if own.agreement is None else f"{own.agreement:.0%}"
    shares = (f"{share:.0%}" for share in (*own.within, own.coverage))
    return str(own.n), f"{own.median_error:.0%}", f"{own.bias:.2f}", *shares, str(own.ordered), order


def as_data(found: Judgement) -> dict[str, Any]:
    """Return what ``tramontane compare --predictions --json`` prints."""
    return {
        "groups": [
            {
                "machine": machine,
                "operation": operation,
                "n": own.n,
                "median_error": own.median_error,
                "bias": own.bias,
                "within": {f"{factor:g}": share for factor, share in zip(FACTORS, own.within, strict=True)},
                "coverage": own.coverage,
                "orderings": own.ordered,
                "ordering_agreement": own.agreement,
            }
            for (machine, operation), own in found.verdicts().items()
        ],
        "crossovers": [
            {
                **dict(zip(("machine", "shape", "operation", "date"), turn.place, strict=True)),
                "below": turn.small,
                "above": turn.large,
                "measured_bytes": turn.measured,
                "predicted_bytes": turn.predicted,
            }
            for turn in found.turns
        ],
        "not_predicted": found.unpredicted,
        "not_measured": found.unmeasured,
    }


def as_dataset(found: Judgement) -> xr.Dataset:
    """Return one entry for each judged row, over the dimension ``row``; its figure is of the family `predictions`."""
    cases = [row.measured.case for row in found.rows]
    payload = "Payload: of a pair of processes (all-to-all), of the vector (allreduce)"
    return of_rows(
        {
            "machine": ("Machine", [case.machine for case in cases]),
            "shape": ("Job in nodes", [case.shape for case in cases]),
            "operation": ("Operation", [case.operation for case in cases]),
            "algorithm": ("Algorithm", [case.algorithm for case in cases]),
        },
        {
            "nodes": ("Number of nodes, a process each", "1", [case.nodes for case in cases]),
            "bytes": (payload, "B", [case.size for case in cases]),
            "line": ("Line of the row in its file", "1", [row.measured.line for row in found.rows]),
            "measured_s": ("Measured time, median", "s", [row.measured.median * 1e-6 for row in found.rows]),
            "predicted_s": ("Predicted time", "s", [row.predicted.median * 1e-6 for row in found.rows]),
            "low_s": (
                "Lower end of the predicted interval",
                "s",
                [row.predicted.times[LOW] * 1e-6 for row in found.rows],
            ),
            "high_s": (
                "Upper end of the predicted interval",
                "s",
                [row.predicted.times[HIGH] * 1e-6 for row in found.rows],
            ),
        },
        title=f"Predictions judged by {found.source.name}",
        kind="predictions",
        caption=heading(found),
    )
