"""Datasets of rows that were measured elsewhere, beside what is simulated or predicted of them."""

import json
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from tramontane import __version__

Texts = Mapping[str, tuple[str, Sequence[str]]]
"""Variables with their long names."""
Numbers = Mapping[str, tuple[str, str, Sequence[float]]]
"""Variables with their long names and units."""


def of_rows(texts: Texts, numbers: Numbers, title: str, kind: str, caption: str) -> xr.Dataset:
    """Return one entry for each row, over the dimension ``row``, with its figure.

    Parameters
    ----------
    texts, numbers : mapping
        What is known of the rows.
    title : str
        Of the dataset.
    kind, caption : str
        Family of the figure, and what stands below it.
    """
    dataset = xr.Dataset()
    for name, (long_name, values) in texts.items():
        dataset[name] = ("row", np.asarray(values, dtype=str), {"long_name": long_name})
    for name, (long_name, units, column) in numbers.items():
        dataset[name] = ("row", np.asarray(column, dtype=np.float64), {"units": units, "long_name": long_name})
    return dataset.assign_attrs(
        Conventions="CF-1.11",
        title=title,
        source=f"Tramontane {__version__}",
        figure_json=json.dumps({"kind": kind, "width": "two-column", "caption": caption}),
    )
