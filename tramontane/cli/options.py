"""Options that several commands have, and how texts become what they mean."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tramontane.errors import InputError
from tramontane.substrates import MOST_THREADS, devices
from tramontane.support.files import is_special
from tramontane.support.layout import SCALES

if TYPE_CHECKING:
    from tramontane.study.values.units import Dimension

Name = Annotated[str, typer.Argument(help="An experiment, as `tramontane list` calls it.", metavar="NAME")]
PointFile = Annotated[Path, typer.Argument(help="A point; see `tramontane docs configuration`.", metavar="POINT.yaml")]
Scale = Annotated[
    str, typer.Option("--scale", "-s", help=f"{', '.join(SCALES[:-1])} or {SCALES[-1]}.", metavar="SCALE")
]
Where = Annotated[
    str | None,
    typer.Option("--where", help='Only points with such coordinates, e.g. "ranks == 100000".', metavar="EXPRESSION"),
]
Threads = Annotated[
    int,
    typer.Option(
        "--threads", min=1, max=MOST_THREADS, help="Threads that share the work of a point; results are the same."
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        "--device", help="cpu, gpu, auto, or host (the GPU's engine on threads); results are the same.", metavar="NAME"
    ),
]
Experiments = Annotated[
    list[str] | None, typer.Option("--experiments", "-e", help="Names, or all, or none.", metavar="NAMES")
]
Refresh = Annotated[bool, typer.Option("--refresh", help="Run results of older model revisions again.")]
Cores = Annotated[int | None, typer.Option("--cores", min=1, max=10**6, help="Cores to use; by default all.")]
Memory = Annotated[
    str | None,
    typer.Option("--memory", help="Memory that points may take, e.g. 64GB; by default nearly all.", metavar="SIZE"),
]


MOST_RANKS = 4096
"""Ranks of a run of which it is kept what each did when."""


def device_of(device: str | None) -> str:
    """Return what is to simulate, as the option says, or else the environment."""
    if device is None:
        return devices.chosen()
    if device not in devices.DEVICES:
        raise InputError("--device", "", device, ", ".join(devices.DEVICES))
    return device


def names(experiments: list[str] | None) -> list[str]:
    """Return the names in one or several texts, separated by blanks or commas; all where there are none."""
    return [name for text in experiments or [] for name in text.replace(",", " ").split()] or ["all"]


def bytes_of(memory: str | None) -> int | None:
    """Return an amount of memory, such as "64GB" [B]."""
    from tramontane.study.values.units import SIZE

    return None if memory is None else quantity("--memory", memory, replace(SIZE, examples=("64 GB",)), least=1)


def to_write(option: str, file: Path, *read: Path) -> Path:
    """Return a file that a command is to write, whose folder must be there: a mistyped one is not to be made.

    Parameters
    ----------
    option : str
        What names it.
    file : Path
        The file.
    *read : Path
        Files that the command reads, which it must not overwrite.
    """
    try:
        if any(file.exists() and each.exists() and file.samefile(each) for each in read):
            raise InputError(option, "", str(file), "another file", problem=f"{file} is what is read")
        if not file.absolute().parent.is_dir():
            raise InputError(option, "", str(file), "a file in a folder that exists")
        if file.is_dir():
            raise InputError(option, "", str(file), "a file", problem=f"{file} is a folder")
        if is_special(file):
            raise InputError(option, "", str(file), "a file", problem=f"{file} is a device, a pipe or a socket")
    except OSError:  # a name too long
        raise InputError(option, "", str(file), "a name that a file can have") from None
    return file


def stem_to_write(option: str, stem: Path, endings: Iterable[str], *read: Path) -> Path:
    """Return the name of files that a command is to write, without their endings; else as :func:`to_write`."""
    endings = tuple(endings)
    if stem.suffix.removeprefix(".") in endings:
        stem = stem.with_suffix("")
    if stem.name in ("", ".."):
        raise InputError(option, "", str(stem), "a name of files, without their ending")
    for ending in endings:
        to_write(option, stem.with_name(f"{stem.name}.{ending}"), *read)
    return stem


def picoseconds_of(option: str, time: str | None) -> int | None:
    """Return a time such as "1 ns" [ps]."""
    from tramontane.study.values.units import MOST_TIME, TIME

    return None if time is None else quantity(option, time, TIME, most=MOST_TIME)


def quantity(option: str, text: str, dimension: "Dimension", *, least: int = 0, most: int | None = None) -> int:
    """Return a quantity in base units, written as in YAML files."""
    from pydantic_core import PydanticCustomError

    from tramontane.study.values.units import parse_quantity

    try:
        return parse_quantity(text, dimension, least=least, most=most)
    except PydanticCustomError as error:
        context = error.context or {}
        raise InputError(option, "", text, context.get("allowed", ""), problem=context.get("problem")) from None
