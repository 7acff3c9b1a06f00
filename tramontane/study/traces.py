"""Traces of applications: reads them, and writes what our own workloads do in their form.

Text and binary GOAL (``skeleton-src/graphs``) are read and written by the compiled extension; OTF2 is read and written
in :mod:`tramontane.study.otf2_traces`, and our own traces of MPI programs are read in
:mod:`tramontane.study.mpi_traces`.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.extension import simulator
from tramontane.study import mpi_traces, otf2_traces
from tramontane.study.collective_calls import DEFAULT_ALGORITHMS, Algorithms
from tramontane.support import otf2

WHAT = "a trace in GOAL, text or binary, the anchor file of one in OTF2 (.otf2), or the folder of tramontane trace"
_HEADER = struct.Struct("<8x5q")


def pack(path: Path, algorithms: Algorithms = DEFAULT_ALGORITHMS) -> memoryview:
    """Return the binary form of a trace: operations whose messages are matched (``skeleton-src/graphs/table.hpp``).

    Parameters
    ----------
    path : Path
        A file, or a folder of `tramontane trace`.
    algorithms : tuple
        Of collectives, where the trace has any; see :func:`tramontane.study.collective_calls.frozen`.

    Raises
    ------
    InputError
        If the file can't be read, or has something that can't be; the line says of which rank, and where in the file.
    """
    try:
        if mpi_traces.is_trace(path):
            return mpi_traces.read(path, algorithms)
        if path.stat().st_size == 0:
            raise InputError(path, "", None, WHAT, problem="found nothing")
        if path.suffix == otf2.SUFFIX:
            return otf2_traces.read(path, algorithms)
        return memoryview(simulator().schedule.pack_goal(str(path)))
    except OSError as error:
        raise InputError(path, "", None, WHAT, problem=f"{error.strerror}") from None
    except ValueError as error:
        if (line := InputError.of_line(path, error)) is None:
            raise
        raise line from None


@dataclass(frozen=True)
class Counts:
    """What there is in a trace.

    Attributes
    ----------
    ranks, messages, works, dependencies : int
        Numbers of each.
    """

    ranks: int
    messages: int
    works: int
    dependencies: int


def counts(table: Path) -> Counts:
    """Return what there is in the binary form of a trace."""
    with table.open("rb") as stream:
        ranks, messages, _, works, dependencies = _HEADER.unpack(stream.read(_HEADER.size))
    return Counts(ranks, messages, works, dependencies)


def write_goal(schedule: Any, ranks: int, file: Path) -> None:
    """Write what the ranks of a schedule do as GOAL.

    Parameters
    ----------
    schedule : Schedule
        Of the extension.
    ranks : int
        How many there are.
    file : path
        Where to write.

    Raises
    ------
    ValueError
        For what a graph of operations can't say; nothing is written then.
    """
    texts = (schedule.goal(rank) for rank in range(ranks))
    first = next(texts)
    with file.open("w", encoding="ascii") as stream:
        stream.write(f"num_ranks {ranks}\n{first}")
        stream.writelines(texts)
