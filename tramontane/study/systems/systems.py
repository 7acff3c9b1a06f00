"""Real machines: the partitions jobs run on, the MPI libraries they run with, and what is expected of them.

A file of ``configs/systems`` is all that differs from one site to the next; ReFrame's settings, the checks' references
and the substrate ``mpi`` are made from it. Its terms are ReFrame's: a system has partitions and environments.
"""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, field_validator, model_validator

from tramontane.errors import InputError, closest, show
from tramontane.study.reading.messages import problem
from tramontane.study.reading.names import MOST_LETTERS, WORDS, is_name
from tramontane.study.reading.project import SYSTEMS, find_root
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.reading.typed import validated
from tramontane.study.values.fields import Choice, Command, Count, Regular, Text
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import TIME, PositiveTime, Quantity

SCHEDULERS = ("local", "slurm", "squeue")
LAUNCHERS = ("mpirun", "srun")
_S = 10**12
JobTime = Annotated[int, Quantity(TIME, least=_S, most=10**6 * _S)]
"""How long a job may take [ps]."""
BUILDS = ("cmake", "spack")
#: What options begin with, and directives that ReFrame takes as they are.
_OPTIONS = ("-", "#")
MODULES_SYSTEMS = ("nomod", "tmod4", "tmod32", "tmod", "lmod")
_VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
# ReFrame refuses all of its settings for one name that it does not like, and knows neither dots nor digits in front.
_NAME = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_NAMES = f"a name of letters, digits, _ and -, a letter first, at most {MOST_LETTERS}; not {' or '.join(WORDS)}"
SCALES = ("4_cores", "1_node", "CI", "production")
"""Sizes of the regression checks, ReFrame's tags."""


class Environment(Settings):
    """An MPI library, with what compiles and starts programs."""

    compiler: Command = Field(
        description="C++ compiler wrapper of the library; where there is no such command, the environment is left out.",
        examples=["mpicxx.openmpi"],
    )
    mpirun: Command = Field("mpirun -np", description="Starts ranks without a batch system; their number follows.")
    srun_mpi: Text | None = Field(None, description="What `srun --mpi=` is to be for this library.", examples=["pmix"])
    fallback: bool = Field(False, description="Whether it is used only where no other environment is there.")
    modules: list[Text] = Field([], description="Environment modules to load.")
    variables: dict[str, Text] = Field({}, description="Environment variables to set.")
    build: Annotated[str, Choice(BUILDS)] = Field("cmake", description="What builds the program in this environment.")
    spec: Text | None = Field(
        None,
        description="Spack's spec of the program, for `build: spack`.",
        examples=["tramontane-skeleton@main ^openmpi@5"],
    )

    @model_validator(mode="after")
    def _spec_for_spack(self) -> Self:
        if (self.build == "spack") != (self.spec is not None):
            raise problem(f"found build: {self.build}", "spec together with build: spack", key="spec")
        return self


class Partition(Settings):
    """A part of a system that jobs are sent to."""

    description: Text | None = Field(None, description="What it is, in a sentence.")
    scheduler: Annotated[str, Choice(SCHEDULERS)] = Field(
        "local",
        description="Who runs jobs: this process, Slurm with accounting (`slurm`) or Slurm without it (`squeue`).",
    )
    launcher: Annotated[str, Choice(LAUNCHERS)] = Field(
        "mpirun", description="What starts the ranks of a job: the environment's `mpirun`, or Slurm's `srun`."
    )
    environments: list[Text] = Field(min_length=1, description="Environments that can be used here.")
    options: list[Text] = Field(
        [], description="Options of every job, as the batch system spells them.", examples=[["--account=project"]]
    )
    variables: dict[str, Text] = Field({}, description="Environment variables to set in every job.")
    nodes: Count = Field(1, description="Largest number of nodes of a job.")
    ranks_per_node: Count = Field(description="Largest number of ranks on a node, oversubscribed ones included.")
    time_limit: JobTime = Field(
        600 * _S, description="Longest time of a job, which the batch system is asked for.", examples=["600 s"]
    )
    features: list[Text] = Field(
        [], description="What checks may ask for; scales are among them.", examples=[["CI", "oversubscribed"]]
    )

    @field_validator("features")
    @classmethod
    def _scales_as_they_are_spelled(cls, features: list[str]) -> list[str]:
        """Refuse what differs from a scale in case only: no check would ever come here."""
        spelled = {scale.casefold(): scale for scale in SCALES}
        for feature in features:
            scale = spelled.get(feature.casefold(), feature)
            if scale != feature:
                raise problem(f"found {show(feature)}", f"any words; scales are {', '.join(SCALES)}", hint=scale)
        return features

    @field_validator("options")
    @classmethod
    def _an_option_first(cls, options: list[str]) -> list[str]:
        if options and not options[0].startswith(_OPTIONS):
            raise problem(f"found {show(options[0])} first", "options such as --account=project")
        return options

    @property
    def option_lines(self) -> list[str]:
        """Options as lines of a job's script: a value that stands by itself belongs to the option before it."""
        lines: list[str] = []
        for option in self.options:
            if lines and not option.startswith(_OPTIONS):
                lines[-1] += f" {option}"
            else:
                lines.append(option)
        return lines

    @property
    def ranks(self) -> int:
        """Largest number of ranks of a job."""
        return self.nodes * self.ranks_per_node

    @property
    def seconds(self) -> int:
        """Longest time of a job [s]."""
        return -(-self.time_limit // _S)


class Performance(Settings):
    """What a case is expected to take, with bounds relative to it, as ReFrame has them."""

    case: Text = Field(description="Name of the case, or a shell pattern.", examples=["fig06-*-ring-4-16"])
    partition: Text = Field(description="Partition it was measured on.")
    environment: Text = Field(description="Environment it was measured with.")
    time: PositiveTime = Field(description="Median communication time.")
    lower: float | None = Field(
        None, description="How much faster still passes, e.g. -0.5; unlimited by default.", ge=-1, le=0
    )
    upper: float = Field(description="How much slower still passes, e.g. 0.3.", gt=0)


class System(Settings):
    """A real machine."""

    description: Text = Field(description="What the machine is, in a sentence.")
    hosts: list[Regular] = Field(
        min_length=1,
        description="Regular expressions for the host names of the system.",
        examples=[["login[0-9]+[.]site"]],
    )
    modules_system: Annotated[str, Choice(MODULES_SYSTEMS)] = Field(
        "nomod", description="What loads modules, as ReFrame calls it; `nomod` where there are none."
    )
    template: bool = Field(False, description="Whether it is a pattern to copy: it is never run as it is.")
    environments: dict[str, Environment] = Field(min_length=1, description="MPI libraries by name.")
    partitions: dict[str, Partition] = Field(min_length=1, description="Partitions by name.")
    references: list[Performance] = Field([], description="What cases are expected to take.")

    def is_at(self, hosts: Collection[str]) -> bool:
        """Return whether a machine with one of these names belongs to it; patterns begin where the name does."""
        return any(re.match(pattern, host) for pattern in self.hosts for host in hosts)

    @model_validator(mode="after")
    def _known(self) -> Self:
        """Check names that stand for environments and partitions, and those of variables."""
        for kind, entries in (("environments", self.environments), ("partitions", self.partitions)):
            for name, part in entries.items():
                if not _is_reframes(name):
                    raise problem(f"found {show(name)}", _NAMES, key=kind)
                for variable in part.variables:
                    if not _VARIABLE.fullmatch(variable):
                        allowed = "letters, digits and _, no digit first"
                        raise problem(f"found {show(variable)}", allowed, key=f"{kind}.{name}.variables")
        allowed = ", ".join(self.environments)
        for name, partition in self.partitions.items():
            for environment in partition.environments:
                if environment not in self.environments:
                    raise _unknown(environment, allowed, f"partitions.{name}.environments")
        for number, entry in enumerate(self.references):
            if entry.partition not in self.partitions:
                raise _unknown(entry.partition, ", ".join(self.partitions), f"references.[{number}].partition")
            if entry.environment not in self.environments:
                raise _unknown(entry.environment, allowed, f"references.[{number}].environment")
        return self


def _is_reframes(name: str) -> bool:
    return is_name(name) and _NAME.fullmatch(name) is not None


def _unknown(name: str, allowed: str, key: str) -> Exception:
    return problem(f"found '{name}'", allowed, key=key, hint=closest(name, allowed.split(", ")))


def list_systems(root: str | Path) -> list[str]:
    """Return the names of the real machines that are described, sorted."""
    return sorted(file.stem for file in (Path(root) / SYSTEMS).glob("*.yaml"))


def load_system(name: str, root: str | Path | None = None) -> System:
    """Return a system of ``configs/systems`` by its name; `root` is the project's folder, found if not given.

    Raises
    ------
    InputError
        If there is no such system, or its file holds a mistake.
    """
    folder = find_root() if root is None else Path(root)
    known = list_systems(folder)
    if name not in known:
        raise InputError(
            folder / SYSTEMS, "", name, ", ".join(known), problem=f"no system {show(name)}", hint=closest(name, known)
        )
    return read_system(folder / SYSTEMS / f"{name}.yaml")


def read_system(file: Path) -> System:
    """Return the system that a file describes; see :func:`load_system`."""
    if not _is_reframes(file.stem):
        raise InputError(file, "", file.stem, _NAMES, problem=f"found the file name {show(file.name)}")
    return validated(System, cached_yaml(file), file)
