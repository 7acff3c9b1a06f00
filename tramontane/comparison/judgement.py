"""A judgement of predictions in words and tables, as plain data, and as a dataset for its figure."""

import json
from typing import Any

import numpy as np
import xarray as xr

from tramontane import __version__
from tramontane.comparison.predictions import FACTORS, MARGIN, Judgement, Verdict
from tramontane.study.systems.timed_collectives import HIGH, LOW
from tramontane.support.formatting import plural
from tramontane.support.tables import table

_TEXTS = {"machine": "Machine", "shape": "Job in nodes", "operation": "Operation", "algorithm": "Algorithm"}
_NUMBERS = {
    "nodes": ("1", "Number of nodes, a process each"),
    "bytes": ("B", "Payload: of a pair of processes (all-to-all), of the vector (allreduce)"),
    "line": ("1", "Line of the row in its file"),
    "measured_s": ("s", "Measured time, median"),
    "predicted_s": ("s", "Predicted time"),
    "low_s": ("s", "Lower end of the predicted interval"),
    "high_s": ("s", "Upper end of the predicted interval"),
}


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
    unit, factor = next((pair for pair in (("MB", 1e6), ("kB", 1e3)) if size >= pair[1]), ("B", 1.0))
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
    texts = {name: [getattr(case, name) for case in cases] for name in _TEXTS}
    numbers: dict[str, list[float]] = {
        "nodes": [case.nodes for case in cases],
        "bytes": [case.size for case in cases],
        "line": [row.measured.line for row in found.rows],
        "measured_s": [row.measured.median * 1e-6 for row in found.rows],
        "predicted_s": [row.predicted.median * 1e-6 for row in found.rows],
        "low_s": [row.predicted.times[LOW] * 1e-6 for row in found.rows],
        "high_s": [row.predicted.times[HIGH] * 1e-6 for row in found.rows],
    }
    dataset = xr.Dataset()
    for name, values in texts.items():
        dataset[name] = ("row", np.asarray(values, dtype=str), {"long_name": _TEXTS[name]})
    for name, column in numbers.items():
        units, long_name = _NUMBERS[name]
        dataset[name] = ("row", np.asarray(column, dtype=np.float64), {"units": units, "long_name": long_name})
    return dataset.assign_attrs(
        Conventions="CF-1.11",
        title=f"Predictions judged by {found.source.name}",
        source=f"Tramontane {__version__}",
        figure_json=json.dumps({"kind": "predictions", "width": "two-column", "caption": heading(found)}),
    )
