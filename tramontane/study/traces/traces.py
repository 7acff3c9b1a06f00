"""Traces of applications: reads them, and writes what our own workloads do in their form.

Text and binary GOAL (``skeleton-src/graphs``) are read and written by the compiled extension; OTF2 is read and written
in :mod:`tramontane.study.traces.otf2_traces`, and our own traces of MPI programs are read in
:mod:`tramontane.study.traces.mpi_traces`.
"""

import itertools
import struct
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tramontane.errors import InputError, why_unread
from tramontane.extension import simulator
from tramontane.study.collectives.collective_calls import DEFAULT_ALGORITHMS, Algorithms, Exchange
from tramontane.study.traces import mpi_traces, otf2_traces
from tramontane.support import otf2
from tramontane.support.files import write_atomically
from tramontane.support.progress_line import clock, with_progress

WHAT = "a trace in GOAL, text or binary, the anchor file of one in OTF2 (.otf2), or the folder of tramontane trace"
LONG = 50_000_000
"""Files of so many bytes take a second or so to read."""
WITH_COLLECTIVES = "with a folder of tramontane trace, or OTF2 (collectives are messages in GOAL)"
_HEADER = struct.Struct("<8x8q")
_T = TypeVar("_T")


def pack(path: Path, algorithms: Algorithms = DEFAULT_ALGORITHMS) -> memoryview:
    """Return the binary form of a trace: operations whose messages are matched (``skeleton-src/graphs/table.hpp``).

    Parameters
    ----------
    path : Path
        A file, or a folder of `tramontane trace`.
    algorithms : tuple
        Of collectives, where the trace has any; see :func:`tramontane.study.collectives.collective_calls.frozen`.

    Raises
    ------
    InputError
        If the file can't be read, or has something that can't be; the line says of which rank, and where in the file.
    """
    return _packed(
        path, lambda: mpi_traces.read(path, algorithms), lambda: otf2_traces.read(path, algorithms), lambda: _goal(path)
    )


def pack_kept(path: Path, check: Callable[[Exchange, int], None]) -> tuple[memoryview, list[Exchange]]:
    """Return the binary form of a trace whose collectives stay such, where it says which they are.

    Parameters
    ----------
    path : Path
        A file, or a folder of `tramontane trace`.
    check : function
        Refuses what a call exchanges, among so many ranks in all (ValueError: found and allowed, comma between).

    Returns
    -------
    memoryview
        The table, in which some work stands for collectives (``GraphTable::kept_of``).
    list of Exchange
        Those that it has the numbers of; none of GOAL, in which they are messages.

    Raises
    ------
    InputError
        See :func:`pack`.
    """
    return _packed(
        path,
        lambda: mpi_traces.read_kept(path, check),
        lambda: otf2_traces.read_kept(path, check),
        lambda: (_goal(path), list[Exchange]()),
    )


def is_goal(path: Path) -> bool:
    """Return whether a trace is in GOAL, in which collectives are messages."""
    return not mpi_traces.is_trace(path) and path.suffix != otf2.SUFFIX


def _goal(path: Path) -> memoryview:
    return memoryview(simulator().schedule.pack_goal(str(path)))


def _packed(path: Path, ours: Callable[[], _T], archive: Callable[[], _T], goal: Callable[[], _T]) -> _T:
    """Return what is read of a trace by what reads its form (InputError)."""
    try:
        with clock(f"reading {path.name}") if _size(path) >= LONG else nullcontext():
            if mpi_traces.is_trace(path):
                return ours()
            if path.stat().st_size == 0:
                raise InputError(path, "", None, WHAT, problem="found nothing")
            if mpi_traces.is_part(path):
                raise InputError(path, "", None, "the folder that it lies in", problem="found the trace of one rank")
            return goal() if is_goal(path) else archive()
    except OSError as error:
        raise InputError(error.filename or path, "", None, WHAT, problem=why_unread(error)) from None
    except ValueError as error:
        if (line := InputError.of_line(path, error)) is None:
            raise
        raise line from None


def _size(path: Path) -> int:
    """Return the size of a trace's files [B]; those of an OTF2 archive lie in a folder beside its anchor file."""
    folder = path if path.is_dir() else path.with_suffix("") if path.suffix == otf2.SUFFIX else None
    beside = sum(each.lstat().st_size for each in folder.iterdir()) if folder is not None and folder.is_dir() else 0
    return path.stat().st_size + beside


@dataclass(frozen=True)
class Counts:
    """What there is in a trace.

    Attributes
    ----------
    ranks, messages, works, dependencies : int
        Numbers of each.
    cpus : int
        Processors of a rank.
    one_sided : bool
        Whether there are transfers that one side makes alone.
    """

    ranks: int
    messages: int
    works: int
    dependencies: int
    cpus: int = 1
    one_sided: bool = False


def counts(table: Path) -> Counts:
    """Return what there is in the binary form of a trace."""
    with table.open("rb") as stream:
        ranks, messages, _, works, dependencies, _, _, special = _HEADER.unpack(stream.read(_HEADER.size))
    return Counts(ranks, messages, works, dependencies, 1 + special // 2, special % 2 != 0)


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
    with with_progress(range(ranks), "writing ranks") as written:
        texts = (schedule.goal(rank) for rank in written)
        first = next(texts)
        write_atomically(file, itertools.chain([f"num_ranks {ranks}\n{first}"], texts))
