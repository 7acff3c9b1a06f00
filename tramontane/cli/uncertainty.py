"""``tramontane uncertainty``."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import FAILURE, fail
from tramontane.cli.options import Cores, Scale, to_write


def uncertainty(
    name: Annotated[str, typer.Argument(help="A file of configs/samples.", metavar="SAMPLE")] = "zheng2018",
    scale: Scale = "laptop",
    size: Annotated[int | None, typer.Option("--size", min=1, help="Draws; by default those of the scale.")] = None,
    cores: Cores = None,
    waves: Annotated[
        int, typer.Option("--waves", min=1, max=8, help="After the first, each draws near the machines that fit best.")
    ] = 1,
    nearest: Annotated[
        Path | None,
        typer.Option("--nearest", help="Write the machine on which most statements hold.", metavar="MACHINE.yaml"),
    ] = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Keep what came out with the project; see published/README.md.")
    ] = False,
) -> None:
    """Run the drawn machines of a study, and print the shares.

    The same command goes on where it was stopped.
    """
    from tramontane.campaign.driver import POINTS_FAILED
    from tramontane.campaign.lock import only_one
    from tramontane.claims import curves, draws, published_studies, share_tables
    from tramontane.claims import nearest as machines
    from tramontane.claims import uncertainty as study
    from tramontane.errors import display_path
    from tramontane.study import find_project
    from tramontane.study.experiments.samples import check_study
    from tramontane.study.experiments.studies import SAMPLES, load_study
    from tramontane.support import host
    from tramontane.support.formatting import plural

    root = find_project()
    if nearest is not None:
        to_write("--nearest", nearest)
    study.size_of(load_study(name, root, "SAMPLE"), name, scale, size)  # before there is a folder of that name
    check_study(root / SAMPLES / f"{name}.yaml", root)  # a mistake shows at once, and not when others have run

    def tell(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    with only_one(draws.layout_of(root, name, scale).folder) as lock:
        if lock is None:
            other = f"another run of {name} at scale {scale} is going on in this checkout"
            fail(f"{other}; wait for it, or stop it first", FAILURE)
        ran = study.simulate(name, root, scale, size, cores or host.cores(), waves, tell)
    tell(f"{plural(ran.points, 'point')}, {ran.points - ran.missing} were done")
    if ran.failed:
        log = display_path(draws.run_log(root, name, scale))
        tell(f"{plural(ran.failed, 'point')} failed; {log} says why, and the same command tries again")
    found = study.answer(name, root, scale, size, waves)
    print(share_tables.text(study.as_data(found)))
    curves.write(name, found, root)  # first: who sees the shares may draw them
    print(study.write(name, found, root), file=sys.stderr)
    if nearest is not None:
        best = machines.write(name, found, root, nearest)
        print(
            f"{nearest}: {len(best.holds)} of {len(best.holds) + len(best.violated)} statements hold", file=sys.stderr
        )
    if publish:
        print(published_studies.publish(name, found, root), file=sys.stderr)
    if ran.failed:
        sys.exit(POINTS_FAILED)
