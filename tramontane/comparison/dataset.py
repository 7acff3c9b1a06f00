"""A comparison as a dataset, for the figure and for anybody's own analysis."""

import json

import numpy as np
import xarray as xr

from tramontane import __version__
from tramontane.comparison.measured import Comparison
from tramontane.comparison.presentation import heading
from tramontane.support.formatting import plural

_TEXTS = {
    "topology": "Name of the network",
    "routing": "Routing",
    "workload": "Operation",
    "algorithm": "Algorithm with its radix",
}
_NUMBERS = {
    "ranks": ("1", "Number of MPI processes"),
    "line": ("1", "Line of the row in its file"),
    "time_s": ("s", "Time on our simulator, median of the members"),
    "time_low_s": ("s", "Smallest time of a member"),
    "time_high_s": ("s", "Largest time of a member"),
    "reference_s": ("s", "Time it is compared with"),
    "ratio": ("1", "Ours over theirs"),
}


def as_dataset(comparison: Comparison) -> xr.Dataset:
    """Return one entry for each row that ran, over the dimension ``row``; its figure is of the family `agreement`."""
    rows = comparison.rows
    texts = {
        "topology": [row.entry.topology for row in rows],
        "routing": [row.entry.routing for row in rows],
        "workload": [row.group.workload for row in rows],
        "algorithm": [row.entry.algorithm for row in rows],
    }
    numbers = {
        "ranks": [int(row.row["P"]) for row in rows],
        "line": [row.row.line for row in rows],
        "time_s": [row.entry.ours for row in rows],
        "time_low_s": [min(row.ours) for row in rows],
        "time_high_s": [max(row.ours) for row in rows],
        "reference_s": [row.entry.theirs for row in rows],
        "ratio": [row.ratio for row in rows],
    }
    dataset = xr.Dataset()
    for name, values in texts.items():
        dataset[name] = ("row", np.asarray(values, dtype=str), {"long_name": _TEXTS[name]})
    for name, column in numbers.items():
        units, long_name = _NUMBERS[name]
        dataset[name] = ("row", np.asarray(column, dtype=np.float64), {"units": units, "long_name": long_name})
    left = len(comparison.skipped) + len(comparison.failed)
    caption = f"{heading(comparison)}; {plural(len(rows), 'row')}, {left} left out"
    return dataset.assign_attrs(
        Conventions="CF-1.11",
        title=f"Agreement with {comparison.source.name}",
        source=f"Tramontane {__version__}",
        figure_json=json.dumps({"kind": "agreement", "width": "two-column", "caption": caption}),
    )
