"""``tramontane archive``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import FAILURE
from tramontane.cli.options import Scale


def archive(
    file: Annotated[
        Path | None, typer.Argument(help="The bundle; by default tramontane-SCALE.zip.", metavar="[FILE.zip]")
    ] = None,
    scale: Scale = "laptop",
    verify: Annotated[bool, typer.Option("--verify", help="Verify the bundle instead of writing it.")] = False,
) -> None:
    """Bundle a campaign in one file, or verify such a bundle.

    The file is for a data repository; see `tramontane docs archive`.
    """
    from tramontane.archive import verify_archive, write_archive
    from tramontane.archive.citation import CITATION
    from tramontane.campaign.plan import check_scale
    from tramontane.errors import display_path
    from tramontane.study import find_project
    from tramontane.support.formatting import about_bytes, plural

    check_scale(scale)
    bundle = file or Path(f"tramontane-{scale}.zip")
    if not verify:
        root = find_project()
        number = write_archive(root, scale, bundle)
        if not (root / CITATION).exists():
            print(f"no {CITATION} in {display_path(root)}: the bundle names no author and no licence", file=sys.stderr)
        print(f"{bundle}: {plural(number, 'file')}, {about_bytes(bundle.stat().st_size)}")
        return
    found = verify_archive(bundle)
    for problem in found.problems:
        print(f"{bundle}: {problem}", file=sys.stderr)
    if found.problems:
        raise typer.Exit(FAILURE)
    print(
        f"{bundle}: {plural(found.files, 'file')} as archived; {plural(found.experiments, 'experiment')} with "
        f"{plural(found.records, 'record')} of {plural(found.points, 'point')}"
    )
