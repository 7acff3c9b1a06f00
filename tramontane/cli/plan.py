"""``tramontane plan``."""

import sys

from tramontane.cli.exit import FAILURE, fail
from tramontane.cli.options import Cores, Experiments, Memory, Refresh, Scale, bytes_of, names


def plan(
    scale: Scale = "laptop",
    experiments: Experiments = None,
    refresh: Refresh = False,
    cores: Cores = None,
    memory: Memory = None,
) -> None:
    """Write the plan of a campaign, for calling Snakemake directly."""
    from tramontane.campaign.lock import only_one
    from tramontane.campaign.plan import Resources, check_scale, make_plan, write_plan
    from tramontane.study import find_project
    from tramontane.substrates import devices
    from tramontane.support.formatting import plural, roughly
    from tramontane.support.layout import Layout

    root = find_project()
    check_scale(scale)
    with only_one(Layout(root, scale).folder, patience=0) as lock:
        if lock is None:  # it goes by the plan that is there
            fail(f"a run of the {scale} campaign is going on in this checkout; wait for it, or stop it first", FAILURE)
        resources = Resources(cores=cores, memory=bytes_of(memory), device=devices.chosen())
        made = make_plan(root, scale, names(experiments), resources, refresh=refresh)
        write_plan(made)
    print(
        f"{plural(len(made.points), 'point')}, {len(made.jobs)} to run in {plural(len(made.batches), 'batch')}, "
        f"{roughly(made.seconds)} of processor time",
        file=sys.stderr,
    )
