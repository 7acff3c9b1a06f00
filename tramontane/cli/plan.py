"""``tramontane plan``."""

import sys

from tramontane.cli.options import Cores, Experiments, Memory, Refresh, Scale, bytes_of, names


def plan(
    scale: Scale = "laptop",
    experiments: Experiments = None,
    refresh: Refresh = False,
    cores: Cores = None,
    memory: Memory = None,
) -> None:
    """Write the plan of a campaign, for calling Snakemake directly."""
    from tramontane.campaign.plan import make_plan, write_plan
    from tramontane.study import find_root
    from tramontane.support.formatting import about_seconds, plural

    limit = bytes_of(memory)
    made = make_plan(find_root(), scale, names(experiments), refresh=refresh, cores=cores, memory=limit)
    write_plan(made)
    print(
        f"{plural(len(made.points), 'point')}, {len(made.jobs)} to run in {plural(len(made.batches), 'batch')}, "
        f"about {about_seconds(made.seconds)} of processor time",
        file=sys.stderr,
    )
