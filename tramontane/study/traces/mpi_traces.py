"""Traces that `tramontane trace` writes: a folder with a file a rank (``tracer/``; docs/your-application.md).

The extension reads what is in the files (``skeleton-src/graphs/mpi_trace.hpp``), which may be more than there is
memory; here are their headers, and what becomes of collectives.
"""

import functools
import glob
import os
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError, display_path
from tramontane.extension import simulator
from tramontane.study.collectives.collective_calls import Algorithms, Exchange, from_sizes, schedules

VERSIONS = (2, 3, 4)
"""Of files; since version 3 a checksum ends them, and since version 4 copies of communicators are told as such."""
_FORMAT = b"TRMTRACE"
_HEADER = struct.Struct("<8s4I3q")
_NAME = re.compile(r"rank-([0-9]+)\.trace")
_WRITTEN = "a file that tramontane trace has written"
#: What the extension says when Python can't read the name of a collective.
_NO_TEXT = re.compile(r"(rank \d+, call \d+): found 'utf-8' codec can't decode .*", re.DOTALL)


@dataclass(frozen=True)
class Header:
    """What a rank's file says first.

    Attributes
    ----------
    rank, ranks : int
        Whose it is, of how many.
    run : int
        A number that all files of a run have.
    begun : int
        When MPI_Init had ended, by the clock of rank 0 [ns].
    library, program, host : str
        Of the run; empty if it was traced without.
    """

    rank: int
    ranks: int
    run: int
    begun: int
    library: str = ""
    program: str = ""
    host: str = ""


@dataclass
class Summary:
    """What there is in a trace.

    Attributes
    ----------
    ranks, calls, files_bytes : int
        Numbers of each.
    time_s : float
        From the first MPI_Init to the last MPI_Finalize, or to the last call that is known.
    cut : int
        Ranks whose end of MPI is not in it: killed, or met by a full disk.
    """

    ranks: int
    calls: int
    files_bytes: int
    time_s: float
    cut: int


def is_trace(path: Path) -> bool:
    """Return whether this is a folder that such a trace may be in."""
    return path.is_dir()


def is_named_as_part(path: Path) -> bool:
    """Return whether this is a file with the name of what one rank writes."""
    return path.is_file() and _NAME.fullmatch(path.name) is not None


def laid_aside(folder: Path) -> Path | None:
    """Return the folder with an older trace that `tramontane trace` has laid aside, and was killed since."""
    where = folder.resolve()
    for beside in sorted(where.parent.glob(f".{glob.escape(where.name)}.*")):
        if beside.is_dir() and any(map(is_named_as_part, beside.iterdir())):
            return beside
    return None


def is_part(path: Path) -> bool:
    """Return whether this file is what one rank has written."""
    with path.open("rb") as stream:
        return stream.read(len(_FORMAT)) == _FORMAT


def read(path: Path, algorithms: Algorithms) -> memoryview:
    """Return the table of operations of a trace.

    Of one whose program was killed, messages that have but one end are left out, and collectives that not all have
    called.

    Parameters
    ----------
    path : Path
        Its folder.
    algorithms : tuple
        Of collectives; see :func:`tramontane.study.collectives.collective_calls.frozen`.

    Raises
    ------
    InputError
        If the folder holds no trace, or files that do not belong together.
    ValueError
        If a file is not whole, or has what can't be; :func:`tramontane.study.traces.traces.pack` makes one line of it,
        with rank, and byte or call.
    """
    return _packed(_files(path), functools.partial(_said, algorithms))


def read_kept(path: Path, check: Callable[[Exchange, int], None]) -> tuple[memoryview, list[Exchange]]:
    """Return the table of operations of a trace whose collectives stay such; see :func:`read`.

    Ranks that call alike do alike: each call has work before it, if only of no time.

    Parameters
    ----------
    path : Path
        Its folder.
    check : function
        Refuses what a call exchanges, among so many ranks in all (ValueError: found and allowed, comma between).

    Returns
    -------
    memoryview
        The table.
    list of Exchange
        Those that it has the numbers of.
    """
    files = _files(path)
    kept: list[Exchange] = []

    def keep(name: str, members: tuple[int, ...], root: int, said: list[tuple[int, ...]]) -> int | None:
        exchange = from_sizes(name, members, root, said)
        if exchange is None:
            return None
        check(exchange, len(files))
        kept.append(exchange)
        return len(kept) - 1

    return _packed(files, keep, alike=True), kept


def _packed(files: list[tuple[Path, Header]], say: Callable[..., Any], *, alike: bool = False) -> memoryview:
    """Return the table of operations; a name of a collective that is no text is told as such."""
    names = [os.fsencode(file) for file, _ in files]
    try:
        return memoryview(simulator().schedule.pack_mpi_trace(names, say, alike))
    except ValueError as error:
        line = _NO_TEXT.fullmatch(str(error))
        if line is None:
            raise
        raise ValueError(f"{line[1]}: found a collective whose name is not UTF-8, allowed: one of MPI-3") from None


def _said(algorithms: Algorithms, name: str, members: tuple[int, ...], root: int, said: list[tuple[int, ...]]) -> Any:
    """Return what a collective call exchanges (ValueError)."""
    exchange = from_sizes(name, members, root, said)
    return exchange and (exchange.sizes or schedules(exchange, algorithms))


def summary(path: Path) -> Summary:
    """Return what there is in a trace (InputError)."""
    files = _files(path)
    calls = cut = size = 0
    begins, ends = [], []
    for file, header in files:
        try:
            number, time, whole = simulator().schedule.extent_of_trace(os.fsencode(file), header.rank)
        except ValueError as error:
            raise InputError.of_line(file, error) or error from None
        calls += number
        cut += not whole
        size += file.stat().st_size
        begins.append(header.begun)
        ends.append(header.begun + time)
    return Summary(len(files), calls, size, (max(ends) - min(begins)) / 1e9, cut)


def _files(path: Path) -> list[tuple[Path, Header]]:
    """Return the files of all ranks, in order, with what they say first."""
    found: dict[int, Path] = {}
    for file in sorted(path.iterdir()):
        if match := _NAME.fullmatch(file.name):
            first_one = found.setdefault(int(match[1]), file)
            if first_one != file:
                problem = f"found a second file of rank {int(match[1])}, beside {first_one.name}"
                raise InputError(file, "", None, "one file a rank", problem=problem)
    if not found:
        problem = f"found no rank-*.trace{_older(path)}"
        raise InputError(path, "", None, "a folder that tramontane trace has written", problem=problem)
    for file in found.values():
        if not file.is_file():  # to open a pipe would take for ever
            kind = "a folder" if file.is_dir() else "what is no file" if file.exists() else "a link that leads nowhere"
            raise InputError(file, "", None, _WRITTEN, problem=f"found {kind}")
    headers = {number: header(file) for number, file in found.items()}
    first = headers[min(found)]
    for number, each in headers.items():
        if each.rank != number:
            raise InputError(
                found[number], "rank", None, f"{number}, as its name says", problem=f"found rank {each.rank}"
            )
        if (each.run, each.ranks) != (first.run, first.ranks):
            other = found[min(found)].name
            raise InputError(found[number], "", None, f"files of the run of {other}", problem="found another run's")
    lacking = next((number for number in range(first.ranks) if number not in found), None)
    if lacking is not None:
        problem = f"found no file of rank {lacking}{_older(path)}"
        raise InputError(path, "", None, f"files of ranks 0 to {first.ranks - 1}", problem=problem)
    return [(found[number], headers[number]) for number in range(first.ranks)]


def _older(path: Path) -> str:
    aside = laid_aside(path)
    return "" if aside is None else f" (an older trace lies in {display_path(aside)})"


def header(file: Path) -> Header:
    """Return what a rank's file says first (InputError)."""
    with file.open("rb") as stream:
        data = stream.read(_HEADER.size)
        if len(data) < _HEADER.size or not data.startswith(_FORMAT):
            unfinished = data and not any(data)  # the header is what MPI_Init writes last
            problem = "found zeros: the program ended in MPI_Init" if unfinished else "found another one"
            raise InputError(file, "", None, _WRITTEN, problem=problem)
        _, version, rank, ranks, words, run, begun, offset = _HEADER.unpack(data)
        if version not in VERSIONS:
            allowed = " or ".join(map(str, VERSIONS))
            raise InputError(file, f"rank {rank}, byte 8", None, allowed, problem=f"found version {version}")
        if not rank < ranks < 1 << 28:
            raise InputError(
                file, "byte 12", None, "a rank that is less than their number", problem=f"found {rank} of {ranks}"
            )
        whole = _HEADER.size + words <= os.fstat(stream.fileno()).st_size  # or it would take memory for the words
        text = stream.read(words) if whole else b""
    if not whole:
        raise InputError(file, f"rank {rank}", None, "a header that is whole", problem="found the end of the file")
    names = text.decode("utf-8", "replace").split("\n") if text else []
    return Header(rank, ranks, run, begun + offset, *names[:3])
