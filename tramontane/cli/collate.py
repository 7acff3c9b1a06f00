"""``tramontane collate``."""

import signal
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.options import planned
from tramontane.errors import InputError


def collate(
    manifest: Annotated[Path, typer.Argument(help="The manifest of an experiment.")],
    dataset: Annotated[Path, typer.Argument(help="The dataset to write.")],
) -> None:
    """Make the dataset of one experiment from its records."""
    from tramontane.results.collate import collate_manifest
    from tramontane.results.datasets import write
    from tramontane.results.manifest import is_whole
    from tramontane.results.store import Store
    from tramontane.support.layout import root_of
    from tramontane.support.processes import end_with_parent

    data = planned(manifest, ("name", "scale", "dims", "points"), "the manifest of an experiment")
    if not is_whole(data):
        raise InputError(
            manifest, "", None, "a manifest as `tramontane plan` writes it", problem="its checksum differs"
        )
    end_with_parent(signal.SIGTERM)
    write(collate_manifest(data, Store(root_of(manifest))), dataset)
