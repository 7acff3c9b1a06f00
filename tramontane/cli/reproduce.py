"""``tramontane reproduce``."""

from typing import Annotated

import typer

from tramontane.cli.options import (
    Cores,
    Device,
    Experiments,
    Memory,
    Refresh,
    Scale,
    Threads,
    Where,
    bytes_of,
    device_of,
    names,
)
from tramontane.errors import InputError


def reproduce(
    scale: Scale = "laptop",
    experiments: Experiments = None,
    refresh: Refresh = False,
    cores: Cores = None,
    memory: Memory = None,
    profile: Annotated[
        str, typer.Option("--profile", help="A folder of workflow/profiles, e.g. slurm.", metavar="NAME")
    ] = "default",
    where: Where = None,
    no_run: Annotated[bool, typer.Option("--no-run", help="Run no point: show what is there.")] = False,
    threads: Threads = 1,
    device: Device = None,
) -> None:
    """Run experiments from the plan to the report.

    What is there already is not run again.
    """
    from tramontane.campaign.driver import Options, find_profile, reproduce
    from tramontane.campaign.profiles import read_profile
    from tramontane.study import find_project
    from tramontane.study.reading.names import is_name
    from tramontane.support import host

    if not is_name(profile):
        raise InputError("--profile", "", profile, "a folder of workflow/profiles, e.g. slurm")
    root = find_project()
    own = read_profile(find_profile(root, profile))
    limit = bytes_of(memory) or (host.memory() if own.local else None)
    cores = cores or own.cores or host.cores()
    if own.local and threads > cores:
        raise InputError("--threads", "", threads, f"1 ... {cores}, the cores to use")
    options = Options(
        cores=cores,
        memory=limit,
        profile=profile,
        refresh=refresh,
        run=not no_run,
        where=where,
        threads=threads,
        device=None if device is None else device_of(device),
    )
    raise SystemExit(reproduce(root, scale, names(experiments), options))
