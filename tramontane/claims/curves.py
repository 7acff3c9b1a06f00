"""Datasets of the machine on which most statements hold, and of our own beside it: curves that can be compared."""

from collections.abc import Iterator
from pathlib import Path

import xarray as xr

from tramontane.claims import draws
from tramontane.claims.uncertainty import Answer
from tramontane.results import datasets

MACHINES = "machines"
"""Folder beside a study's shares, of both machines' folders."""
OURS, NEAREST = "ours", "nearest"
"""Folders of the two machines' datasets."""


def both(of: Answer, root: Path) -> Iterator[tuple[str, dict[str, xr.Dataset]]]:
    """Yield both machines' datasets by experiment, ours first; nothing if no draw has been decided whole.

    All its points are there that the study has run: a machine on which a statement failed early has no more of it.
    """
    for best in of.matches[:1]:
        yield OURS, draws.own_machine(of.study, root, of.scale)
        alone = of.study.model_copy(update={"sample": of.study.sample.at(of.places[[best.draw]])})
        yield NEAREST, draws.machines(draws.drawn(alone, root, of.scale, 1), root, 1)[0]


def write(name: str, of: Answer, root: Path) -> Path | None:
    """Write both machines' datasets; return their folder, None if there is no best machine."""
    folder = draws.layout_of(root, name, of.scale).folder / MACHINES
    for machine, found in both(of, root):
        for experiment, dataset in found.items():
            datasets.write(dataset, folder / machine / f"{experiment}.nc")
    return folder if of.matches else None
