"""``tramontane list``."""


def list_experiments() -> None:
    """List the experiments, with the number of points at each scale and how many of them are there."""
    from tramontane.campaign.overview import Progress, progress_of_all
    from tramontane.study import SCALES, find_root
    from tramontane.support.tables import table

    def cell(own: Progress, scale: str) -> str:
        return "{}/{}".format(*own.counts[scale]) if scale in own.counts else "-"

    rows = [
        (own.experiment.name, own.figure, *(cell(own, scale) for scale in SCALES), own.experiment.title)
        for own in progress_of_all(find_root())
    ]
    head = ("experiment", "figure", *(f"{scale} done/all" for scale in SCALES), "title")
    print(table(head, rows, right=range(2, 2 + len(SCALES))))
