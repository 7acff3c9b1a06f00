"""``tramontane collate``."""

from pathlib import Path
from typing import Annotated

import typer


def collate(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST.json", help="The manifest of an experiment.")],
    dataset: Annotated[Path, typer.Argument(metavar="DATASET.nc", help="The dataset to write.")],
) -> None:
    """Make the dataset of one experiment from its records."""
    from tramontane.results.collate import collate_file

    collate_file(manifest, dataset)
