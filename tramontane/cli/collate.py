"""``tramontane collate``."""

import json
import signal
from pathlib import Path
from typing import Annotated

import typer


def collate(
    manifest: Annotated[Path, typer.Argument(help="The manifest of an experiment.")],
    dataset: Annotated[Path, typer.Argument(help="The dataset to write.")],
) -> None:
    """Make the dataset of one experiment from its records."""
    from tramontane.results.collate import collate_manifest, write
    from tramontane.results.store import Store
    from tramontane.support.layout import root_of
    from tramontane.support.processes import end_with_parent

    end_with_parent(signal.SIGTERM)

    data = json.loads(manifest.read_text(encoding="utf-8"))
    write(collate_manifest(data, Store(root_of(manifest))), dataset)
