"""Times of collectives on real machines, as ``validation/measured/pico.csv`` has them, measured or predicted.

A row says which collective ran on which nodes of which machine, with which algorithm of an MPI library, and its time.
Names of algorithms are those of ``validation/measured/pico.csv``; ``configs/libraries.yaml`` says which of ours sends
the same messages.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tramontane.errors import InputError, closest
from tramontane.study.catalogue import list_machines
from tramontane.support.csv_tables import positive, read_table

#: Operations, their algorithms, and the entries of ``configs/libraries.yaml`` that say what these are.
ALGORITHMS: Mapping[str, Mapping[str, str | None]] = {
    "alltoall": {
        "pairwise": "open-mpi-alltoall-pairwise",
        "linear": "open-mpi-alltoall-linear",
        "linear-sync": "open-mpi-alltoall-linear-sync",
        "bruck": "open-mpi-alltoall-modified-bruck",
        "library-default": None,
    },
    "allreduce": {
        "recursive-doubling": "open-mpi-allreduce-recursive-doubling",
        "ring": "open-mpi-allreduce-ring",
        "rabenseifner": "open-mpi-allreduce-rabenseifner",
        "library-default": None,
    },
}
#: What the library chose: no algorithm that could be predicted.
UNKNOWN = "library-default"
#: Machines that a file may call by another name than ``configs/machines``.
ALIASES = {"mare_nostrum": "marenostrum5"}
#: Most nodes of a job, as many as a side of a shape may have, and most bytes.
MOST_NODES, MOST_BYTES = 10**7 - 1, 10**15 - 1
KEYS = ("machine", "shape", "nodes", "operation", "algorithm", "bytes")
MEDIAN, LOW, HIGH = "median_us", "low_us", "high_us"
LIKE = "the columns of validation/measured/pico.csv"

_SHAPE = re.compile(r"[1-9][0-9]{0,6}(x[1-9][0-9]{0,6}){0,7}", re.ASCII)
_WHOLE = re.compile(r"[0-9]{1,20}", re.ASCII)
_TIMES = ("min_us", MEDIAN, "max_us", LOW, HIGH)


@dataclass(frozen=True, order=True)
class Case:
    """A collective on a machine.

    Attributes
    ----------
    machine : str
        A name of ``configs/machines``.
    shape : str
        The job in nodes, such as ``4x4x4`` or ``256``.
    nodes : int
        Their number; one process each.
    operation, algorithm : str
        See `ALGORITHMS`.
    size : int
        Payload for each pair of processes of an all-to-all, the whole vector of an allreduce [B].
    """

    machine: str
    shape: str
    nodes: int
    operation: str
    algorithm: str
    size: int


@dataclass(frozen=True)
class Timed:
    """A case with its times, and where it stands.

    Attributes
    ----------
    source : Path
        Its file.
    line : int
        Of the file; the header is line 1.
    case : Case
        What ran.
    times : mapping
        Times by column [us].
    date, variant : str
        When and with whose algorithm it was measured; empty where the file does not say.
    """

    source: Path
    line: int
    case: Case
    times: Mapping[str, float] = field(hash=False)
    date: str = ""
    variant: str = ""

    @property
    def median(self) -> float:
        """Median over the iterations [us]."""
        return self.times[MEDIAN]

    @property
    def of_library(self) -> bool:
        """Whether the algorithm is the MPI library's own, not one that the benchmark built on messages (`_over`)."""
        return not self.variant.endswith("_over")


def known_as(machine: str) -> str:
    """Return the name in ``configs/machines`` of a machine that files may call otherwise."""
    return ALIASES.get(machine, machine)


def fits(shape: str, nodes: int) -> bool:
    """Whether a text is a shape of so many nodes."""
    return bool(_SHAPE.fullmatch(shape)) and math.prod(map(int, shape.split("x"))) == nodes


def read_timed(path: Path, root: Path, times: tuple[str, ...] = (MEDIAN,)) -> list[Timed]:
    """Return the rows of a file.

    Parameters
    ----------
    path : Path
        A table with the columns `KEYS` and `times`; ``date`` and ``variant`` may be there, too.
    root : Path
        Root of the checkout, whose machines count.
    times : tuple of str
        Columns of times.

    Raises
    ------
    InputError
        If the file can't be read, lacks a column, or a row is wrong.
    """
    machines = list_machines(root)
    lines = read_table(path, KEYS, "a CSV file of collectives with their times", LIKE)
    if not lines:
        raise InputError(path, "line 2", None, "a row for each measurement")
    _with_units(path, lines[0][1], times)
    return [_row(path, number, cells, machines, times) for number, cells in lines]


def _with_units(path: Path, columns: Mapping[str, str], times: tuple[str, ...]) -> None:
    """Refuse a file whose times have no unit, or another one."""
    for name in times:
        if name not in columns:
            kind = name.removesuffix("_us")
            near = next((column for column in columns if column.split("_")[0] == kind), None)
            text = f"found column '{near}', whose unit is not us" if near else f"column missing: {name}"
            raise InputError(path, "line 1", None, f"{name}, times in microseconds", problem=text)


def _row(path: Path, number: int, cells: Mapping[str, str], machines: list[str], times: tuple[str, ...]) -> Timed:
    def mistake(column: str, allowed: str, hint: str | None = None) -> InputError:
        return InputError(path, f"line {number}, {column}", cells[column], allowed, hint=hint)

    def one_of(column: str, allowed: list[str]) -> str:
        name = cells[column]
        if name not in allowed:
            raise mistake(column, ", ".join(allowed), closest(name, allowed))
        return name

    def whole(column: str, most: int) -> int:
        if not _WHOLE.fullmatch(cells[column]) or int(cells[column]) < 1:
            raise mistake(column, "a whole number, 1 or more, without a unit")
        if int(cells[column]) > most:
            raise mistake(column, f"at most {most}")
        return int(cells[column])

    def time(column: str) -> float:
        value = positive(cells[column])
        if value is None:
            raise mistake(column, "a positive time in microseconds")
        return value

    machine = ALIASES.get(cells["machine"]) or one_of("machine", [*machines, *ALIASES])
    operation = one_of("operation", list(ALGORITHMS))
    algorithm = one_of("algorithm", list(ALGORITHMS[operation]))
    nodes = whole("nodes", MOST_NODES)
    shape = cells["shape"]
    if not fits(shape, nodes):
        raise mistake("shape", f"sides whose product is the number of nodes, {nodes}, such as {nodes} or 1x{nodes}")
    case = Case(machine, shape, nodes, operation, algorithm, whole("bytes", MOST_BYTES))
    found = {column: time(column) for column in _TIMES if column in times or (cells.get(column))}
    return Timed(path, number, case, found, cells.get("date", ""), cells.get("variant", ""))
