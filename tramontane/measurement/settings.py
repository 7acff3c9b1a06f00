"""ReFrame's settings, made from the files of ``configs/systems``.

What is not there (an MPI library, a Slurm that answers) is left out, and said; checks that ask for it are not run then.
"""

import argparse
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study import list_systems, load_system
from tramontane.study.reading.project import SYSTEMS
from tramontane.study.systems.systems import SCALES, Environment, Partition, System
from tramontane.substrates.mpi.launch import SESSIONS
from tramontane.substrates.mpi.variables import exports
from tramontane.support import host
from tramontane.support.slurm_times import seconds

#: Where ReFrame leaves its files, below the root of a checkout.
FOLDER = Path("results", "reframe")
#: The launcher that starts ranks with what the environment variable of that name holds.
LAUNCHER, MPIRUN = "environment-mpirun", "TRAMONTANE_MPIRUN"
#: The feature that checks ask environments for.
FEATURE = "mpi"
#: What turns the name of a scale, which may begin with a digit, into that of a feature, which may not.
SCALE = "scale_"
#: How long Slurm is waited for [s].
PATIENCE = 20

#: What ReFrame splits paths of scripts at, or drops, beside blanks.
_QUOTES = frozenset("'\"\\")

_INSTALL_MPI = "Debian: apt-get install libopenmpi-dev openmpi-bin"
_INSTALL_SLURM = "Debian: apt-get install slurm-wlm munge"
_FIELDS = "%(check_display_name)s,%(check_system)s,%(check_partition)s,%(check_environ)s,%(check_num_tasks)s"


@dataclass(frozen=True)
class Site:
    """What can be used here, and what can't.

    Attributes
    ----------
    systems : dict
        Systems of which something can be used, with these environments and partitions alone; those with the most
        special host names first.
    absent : list of str
        What can't be used and why, one line each.
    """

    systems: dict[str, System]
    absent: list[str]


def look_around(root: Path) -> Site:
    """Return what of the described systems can be used on this machine."""
    systems = {name: load_system(name, root) for name in list_systems(root)}
    systems = {name: system for name, system in systems.items() if not system.template}
    site = Site({}, [])
    for name in sorted(systems, key=lambda name: (".*" in systems[name].hosts, name != "generic", name)):
        system = systems[name]
        if problem := _problem_of_place(root):
            site.absent.append(f"{name}: {problem}")
            continue
        environments = dict(_environments(name, system, site.absent))
        partitions = {
            key: partition
            for key, partition in system.partitions.items()
            if set(partition.environments) & set(environments) and _answers(f"{name}:{key}", partition, site.absent)
        }
        if partitions:
            site.systems[name] = system.changed(environments=environments, partitions=partitions)
    return site


def _problem_of_place(root: Path) -> str:
    """Return what is wrong where ReFrame would not take the path of a script for one word."""
    path = str(root.resolve())
    if _words(path) == [path] and not _QUOTES & set(path):
        return ""
    return f"ReFrame starts nothing below a path with blanks, quotes or backslashes, such as {path}"


def _environments(name: str, system: System, absent: list[str]) -> Iterator[tuple[str, Environment]]:
    """Yield the environments that can be used; those behind modules are believed."""
    there = {
        key: environment
        for key, environment in system.environments.items()
        if environment.modules or environment.build == "spack" or shutil.which(environment.compiler)
    }
    own = {key: environment for key, environment in there.items() if not environment.fallback}
    yield from (own or there).items()
    for key, environment in system.environments.items():
        if key not in there and not environment.fallback:
            absent.append(f"{name}, environment {key}: no command {environment.compiler} ({_INSTALL_MPI})")


def _answers(name: str, partition: Partition, absent: list[str]) -> bool:
    """Return whether the partition's batch system is there, or note why it is not."""
    if partition.scheduler == "local":
        return True
    try:
        problem = _problem_of_slurm() or _problem_of_time(partition)
    except subprocess.TimeoutExpired:
        problem = f"Slurm does not answer within {PATIENCE} s"
    if problem:
        absent.append(f"{name}: {problem}")
    return not problem


def _problem_of_slurm() -> str:
    if shutil.which("sinfo") is None:
        return f"no command sinfo ({_INSTALL_SLURM})"
    return "" if _sinfo().returncode == 0 else "Slurm does not answer"


def _problem_of_time(partition: Partition) -> str:
    """Return what is wrong where jobs ask for more time than Slurm's partition gives; they would wait for ever."""
    name = _slurms_partition(partition.option_lines)
    said = _sinfo("--format=%P|%l", *(["--partition", name] if name else [])).stdout
    rows = [line.strip().split("|") for line in said.splitlines() if "|" in line]
    times = [seconds(row[1]) for row in rows if name or row[0].endswith("*")]
    known = [time for time in times if time is not None]
    if not known or len(known) < len(times) or max(known) >= partition.seconds:
        return ""
    return f"jobs ask for {partition.seconds} s, Slurm's partition allows {max(known)} s; time_limit sets less"


def _slurms_partition(options: list[str]) -> str | None:
    """Return the partition of Slurm's that options name, each a line of a job's script; None for the default one."""
    given = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    given.add_argument("-p", "--partition", nargs="?")
    words = [word for option in options for word in _words(option)]
    name: str | None = given.parse_known_args(words)[0].partition
    return name


def _words(option: str) -> list[str]:
    try:
        return shlex.split(option)
    except ValueError:  # a quote is open, of which Slurm will say more
        return option.split()


def _sinfo(*options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["sinfo", "--noheader", *options], capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def processors(partition: Partition) -> int:
    """Return how many ranks of a partition share no processor: on the machine at hand as many as it has.

    Where a batch system is in charge a node has what its partition says.
    """
    return host.cores() if partition.scheduler == "local" else partition.ranks


def settings(root: Path, site: Site) -> dict[str, Any]:
    """Return ReFrame's site configuration.

    Raises
    ------
    InputError
        If nothing can be run here; the line says what is missing.
    """
    if not site.systems:
        found = "; ".join(site.absent) or "no systems"
        raise InputError(root / SYSTEMS, "", None, "an MPI library", problem=f"nothing can be run here: {found}")
    folder = Path(root, FOLDER)
    return {
        "systems": [_system(name, system) for name, system in site.systems.items()],
        "environments": [
            _environment(name, environment, key)
            for key, system in site.systems.items()
            for name, environment in system.environments.items()
        ],
        "storage": [{"enable": True, "backend": "sqlite", "sqlite_db_file": str(folder / "results.db")}],
        "general": [
            {
                "report_file": str(folder / "reports" / "run-report-{sessionid}.json"),
                "perf_info_level": "info",
            }
        ],
        "logging": [_logging(folder)],
    }


def _system(name: str, system: System) -> dict[str, Any]:
    folder = FOLDER.as_posix()
    return {
        "name": name,
        "descr": system.description,
        "hostnames": list(system.hosts),
        "modules_system": system.modules_system,
        "stagedir": f"{folder}/stage",
        "outputdir": f"{folder}/output",
        "partitions": [_partition(key, each, system.environments) for key, each in system.partitions.items()],
    }


def _partition(name: str, partition: Partition, environments: dict[str, Environment]) -> dict[str, Any]:
    return {
        "name": name,
        "descr": partition.description or name,
        "scheduler": partition.scheduler,
        "launcher": LAUNCHER if partition.launcher == "mpirun" else partition.launcher,
        "access": partition.option_lines,
        "environs": [key for key in partition.environments if key in environments],
        "env_vars": exports(partition.variables),
        "prepare_cmds": _own_session() if partition.launcher == "mpirun" and partition.scheduler == "local" else [],
        "features": [f"{SCALE}{feature}" if feature in SCALES else feature for feature in partition.features],
        "extras": {
            "ranks": partition.ranks,
            "ranks_per_node": partition.ranks_per_node,
            "nodes": partition.nodes,
            "seconds": partition.seconds,
        },
        # Jobs of one machine would measure each other.
        "max_jobs": 1 if partition.scheduler == "local" else 100,
        **({} if partition.scheduler == "local" else {"sched_options": {"use_nodes_option": False}}),
    }


def _own_session() -> list[str]:
    """Return what a job's script does first, so that no launch shares a folder of Open MPI with another."""
    first = SESSIONS[0]
    return [
        f'export {first}="$(mktemp -d)"',
        *[f'export {other}="${first}"' for other in SESSIONS[1:]],
        f"trap 'rm -rf \"${first}\"' EXIT",
    ]


def _environment(name: str, environment: Environment, system: str) -> dict[str, Any]:
    own = {MPIRUN: environment.mpirun, **({"SLURM_MPI_TYPE": environment.srun_mpi} if environment.srun_mpi else {})}
    return {
        "name": name,
        "cxx": environment.compiler,
        "modules": list(environment.modules),
        "env_vars": exports(own | environment.variables),
        "features": [FEATURE],
        "extras": {"build": environment.build, "spec": environment.spec or ""},
        "target_systems": [system],
    }


def _logging(folder: Path) -> dict[str, Any]:
    (folder / "perflogs").mkdir(parents=True, exist_ok=True)
    return {
        "level": "debug",
        "handlers": [
            {"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"},
            {"type": "file", "name": str(folder / "reframe.log"), "level": "debug", "append": False},
        ],
        "handlers_perflog": [
            {
                "type": "filelog",
                "prefix": "%(check_system)s/%(check_partition)s",
                "basedir": str(folder / "perflogs"),
                "level": "info",
                "format": f"%(check_job_completion_time)s,%(version)s,{_FIELDS},%(check_result)s,%(check_perfvalues)s",
                "format_perfvars": "%(check_perf_value)s,%(check_perf_unit)s,%(check_perf_ref)s,"
                "%(check_perf_lower_thres)s,%(check_perf_upper_thres)s,",
                "datefmt": "%FT%T%:z",
                "append": True,
            }
        ],
    }
