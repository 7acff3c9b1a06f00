"""``tramontane list``."""

import sys

import typer

from tramontane.cli.exit import MISTAKE
from tramontane.errors import InputError


def list_experiments() -> None:
    """List the experiments, with the number of points at each scale and how many of them are there."""
    from tramontane.campaign.overview import Progress, progress
    from tramontane.results.store import Store
    from tramontane.study import SCALES, find_root
    from tramontane.study import list_experiments as files_of
    from tramontane.support.progress_line import with_progress
    from tramontane.support.tables import table

    def cell(own: Progress, scale: str) -> str:
        return "{}/{}".format(*own.counts[scale]) if scale in own.counts else "-"

    root = find_root()
    store, rows, mistakes = Store(root), [], []
    for file in with_progress(files_of(root), "reading experiments"):
        try:
            own = progress(file, store)
        except InputError as error:
            mistakes.append(error)
            continue
        rows.append((own.experiment.name, own.figure, *(cell(own, scale) for scale in SCALES), own.experiment.title))
    head = ("experiment", "figure", *(f"{scale} done/all" for scale in SCALES), "title")
    print(table(head, rows, right=range(2, 2 + len(SCALES))))
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if mistakes:
        raise typer.Exit(MISTAKE)
