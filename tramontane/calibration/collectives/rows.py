"""Measured rows of one machine that a fit can use."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tramontane.calibration.collectives.parameters import is_linear
from tramontane.errors import InputError, closest
from tramontane.study import Machine, load_machine
from tramontane.study.systems.timed_collectives import UNKNOWN, Case, Timed, known_as, read_timed

#: Larger messages are not used [B]: all-to-alls by a pair of processes, allreduces by the vector.
LARGEST = {"alltoall": 2 * 2**20, "allreduce": 64 * 2**20}


@dataclass(frozen=True)
class Row:
    """A collective with its time on one date.

    Attributes
    ----------
    case : Case
        What ran.
    date : str
        When; empty where the file does not say.
    median : float
        Median of the medians of that date [s].
    """

    case: Case
    date: str
    median: float


def read_rows(file: Path, machine: str, root: Path) -> list[Row]:
    """Return the rows of a machine, one for each case and date.

    What the library chose, algorithms that are not the library's own, or give way to a linear one, and messages larger
    than `LARGEST` are left out.

    Raises
    ------
    InputError
        If a row is wrong, stands there twice, is of a job that the machine can't hold, or the file has none of it, or
        one case alone.
    """
    name = known_as(machine)
    measured = read_timed(file, root)
    _refuse_twice(measured)
    refuse_sizes([row for row in measured if row.case.machine == name], load_machine(name, root))
    there = sorted({row.case.machine for row in measured})
    if name not in there:
        raise InputError(
            "--machine", "", machine, f"a machine of {file}: {', '.join(there)}", hint=closest(name, there)
        )
    groups: dict[tuple[Case, str], list[float]] = {}
    for row in measured:
        case = row.case
        if case.machine == name and _usable(row):
            groups.setdefault((case, row.date), []).append(row.median)
    if not groups:
        allowed = "a row with a known algorithm of the library's own"
        raise InputError(file, "", None, allowed, problem=f"found no row of {name} to fit")
    if len({case for case, _ in groups}) == 1:  # nothing can be left out, to tell what a fit is worth
        problem = f"found one shape, algorithm and size of {name} to fit"
        raise InputError(file, "", None, "two or more shapes, algorithms or sizes", problem=problem)
    return [Row(case, date, statistics.median(own) * 1e-6) for (case, date), own in sorted(groups.items())]


def _usable(row: Timed) -> bool:
    case = row.case
    known = case.algorithm != UNKNOWN and not is_linear(case)
    return known and row.of_library and case.size <= LARGEST[case.operation]


def refuse_sizes(measured: Sequence[Timed], network: Machine) -> None:
    """Refuse jobs that send nothing, or that the machine has no room for."""
    most = network.facts.nodes
    for row in measured:
        if not 2 <= row.case.nodes <= most:
            raise InputError(row.source, f"line {row.line}, nodes", row.case.nodes, f"2 to {most}, all of the machine")


def _refuse_twice(measured: Sequence[Timed]) -> None:
    seen: dict[tuple[Case, str, str], Timed] = {}
    for row in measured:
        key = (row.case, row.date, row.variant)
        if key in seen:
            text = f"found the row of line {seen[key].line} again"
            allowed = "one row for each case, date and variant"
            raise InputError(row.source, f"line {row.line}", None, allowed, problem=text)
        seen[key] = row
