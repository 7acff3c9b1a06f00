"""``tramontane list``."""

import sys

import typer

from tramontane.cli.exit import MISTAKE
from tramontane.cli.reading import only_reads


@only_reads
def list_experiments() -> None:
    """List the experiments, and how much of each is done.

    Each scale has the points that are there, and all.
    """
    from tramontane.campaign.overview import Progress, progress_of_all
    from tramontane.results.store import Store
    from tramontane.study import SCALES, find_root
    from tramontane.study import list_experiments as files_of
    from tramontane.support.tables import table

    def row(own: Progress) -> tuple[str, ...]:
        counts = ["{}/{}".format(*own.counts[scale]) if scale in own.counts else "-" for scale in SCALES]
        return own.experiment.name, own.figure, *counts, own.experiment.title

    root = find_root()
    found = progress_of_all(files_of(root), Store(root))
    rows = [row(own) for own in found if isinstance(own, Progress)]
    mistakes = [own for own in found if isinstance(own, str)]
    head = ("experiment", "figure", *(f"{scale} done/all" for scale in SCALES), "title")
    print(table(head, rows, right=range(2, 2 + len(SCALES))))
    for mistake in mistakes:
        print(mistake, file=sys.stderr)
    if mistakes:
        raise typer.Exit(MISTAKE)
