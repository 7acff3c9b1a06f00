"""Traces of applications: reads them, and writes what our own workloads do in their form.

Text and binary GOAL (``skeleton-src/graphs``) are read and written by the compiled extension; OTF2 is read and written
in :mod:`tramontane.study.otf2_traces`.
"""

import re
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.extension import simulator
from tramontane.study import otf2_traces
from tramontane.support import otf2

_ALLOWED = "a trace in GOAL, text or binary, or the anchor file of one in OTF2 (.otf2)"
_HEADER = struct.Struct("<8x5q")


def pack(path: Path) -> bytes:
    """Return the binary form of a trace: operations whose messages are matched (``skeleton-src/graphs/table.hpp``).

    Raises
    ------
    InputError
        If the file can't be read, or has something that can't be; the line says of which rank, and where in the file.
    """
    try:
        if path.stat().st_size == 0:
            raise InputError(path, "", None, _ALLOWED, problem="found nothing")
        if path.suffix == otf2.SUFFIX:
            return otf2_traces.read(path)
        found: bytes = simulator().schedule.pack_goal(str(path))
    except OSError as error:
        raise InputError(path, "", None, _ALLOWED, problem=f"{error.strerror}") from None
    except ValueError as error:
        line = re.fullmatch(r"(?P<key>.*?): (?P<found>found .*?), allowed: (?P<allowed>.*)", str(error), re.DOTALL)
        if line is None:
            raise
        raise InputError(path, line["key"], None, line["allowed"], problem=line["found"]) from None
    return found


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
