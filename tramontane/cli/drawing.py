"""Figures that commands let `analysis` draw, which uses this package, not the other way round."""

import os
import subprocess
from pathlib import Path

import typer

from tramontane.errors import display_path
from tramontane.support.layout import CODE, FIGURE_FORMATS
from tramontane.support.processes import python


def draw(module: str, *arguments: str, stem: Path) -> None:
    """Let a module of `analysis` write a figure and print the names of its files; exit as it does if it can't."""
    path = os.pathsep.join([str(CODE), *filter(None, [os.environ.get("PYTHONPATH")])])
    # An absolute path is never taken for an option, as a file named `-x` would be.
    command = python(module, *arguments, str(stem.absolute()))
    status = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
    if status:
        raise typer.Exit(status)
    print(*(display_path(stem.with_name(f"{stem.name}.{ending}")) for ending in FIGURE_FORMATS), sep="\n")
