"""``tramontane init``."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer


def init(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.", metavar="DIR")],
) -> None:
    """Lay out a folder for studies of your own.

    Its first experiment runs as it is; no checkout is needed.
    """
    from tramontane.campaign.study_folder import FIRST, lay_out
    from tramontane.errors import display_path

    lay_out(folder)
    print(display_path(folder))
    place = f"./{folder}" if str(folder).startswith("-") else str(folder)  # or `cd` takes it for an option
    print(f"cd {shlex.quote(place)} && tramontane reproduce --scale smoke --experiments {FIRST}", file=sys.stderr)
