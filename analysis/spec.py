"""The ``figure`` block of an experiment, as a dataset carries it, so that a figure can be drawn from the file alone."""

import json
from pathlib import Path

import xarray as xr
from pydantic import ValidationError

from tramontane.study.experiments.figures import Drawing as FigureSpec
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.messages import explain

__all__ = ["FigureSpec", "spec_of"]


def spec_of(dataset: xr.Dataset) -> FigureSpec:
    """Read what is to be drawn of a dataset; where it does not say what makes lines, the dimension `series` does.

    Raises
    ------
    ValueError
        If the block asks for what does not exist; one line that says what is allowed.
    """
    block = json.loads(dataset.attrs.get("figure_json") or "{}")
    if block.get("lines") is None and "series" in dataset.dims:
        block["lines"] = "series"
    try:
        return FigureSpec.model_validate(block)
    except ValidationError as error:
        found = explain(error, FigureSpec, Origin(Path(), "figure").inside)
        raise ValueError(f"{found.key}: {found.problem}, allowed: {found.allowed}") from None
