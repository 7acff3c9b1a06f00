"""``tramontane collate``."""

import signal
from pathlib import Path
from typing import Annotated

import typer


def collate(
    manifest: Annotated[Path, typer.Argument(metavar="MANIFEST.json", help="The manifest of an experiment.")],
    dataset: Annotated[Path, typer.Argument(metavar="DATASET.nc", help="The dataset to write.")],
) -> None:
    """Make the dataset of one experiment from its records."""
    from tramontane.results.collate import collate_manifest
    from tramontane.results.datasets import write
    from tramontane.results.manifest import read
    from tramontane.results.store import Store
    from tramontane.support.layout import root_of
    from tramontane.support.processes import end_with_parent

    data = read(manifest)
    end_with_parent(signal.SIGTERM)
    write(collate_manifest(data, Store(root_of(manifest))), dataset)
