"""A comparison as a dataset, for the figure and for anybody's own analysis."""

import xarray as xr

from tramontane.comparison.measured import Comparison
from tramontane.comparison.presentation import heading
from tramontane.results.row_datasets import of_rows
from tramontane.support.formatting import plural


def as_dataset(comparison: Comparison) -> xr.Dataset:
    """Return one entry for each row that ran, over the dimension ``row``; its figure is of the family `agreement`."""
    rows = comparison.rows
    left = len(comparison.skipped) + len(comparison.failed)
    return of_rows(
        {
            "topology": ("Name of the network", [row.entry.topology for row in rows]),
            "routing": ("Routing", [row.entry.routing for row in rows]),
            "workload": ("Operation", [row.group.workload for row in rows]),
            "algorithm": ("Algorithm with its radix", [row.entry.algorithm for row in rows]),
        },
        {
            "ranks": ("Number of MPI processes", "1", [int(row.row["P"]) for row in rows]),
            "line": ("Line of the row in its file", "1", [row.row.line for row in rows]),
            "time_s": ("Time on our simulator, median of the members", "s", [row.entry.ours for row in rows]),
            "time_low_s": ("Smallest time of a member", "s", [min(row.ours) for row in rows]),
            "time_high_s": ("Largest time of a member", "s", [max(row.ours) for row in rows]),
            "reference_s": ("Time it is compared with", "s", [row.entry.theirs for row in rows]),
            "ratio": ("Ours over theirs", "1", [row.ratio for row in rows]),
        },
        title=f"Agreement with {comparison.source.name}",
        kind="agreement",
        caption=f"{heading(comparison)}; {plural(len(rows), 'row')}, {left} left out",
    )
