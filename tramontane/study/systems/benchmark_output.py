"""Reads what OSU's and Intel's MPI benchmarks print of collectives, as rows of `timed_collectives`.

Both print means over iterations, where `timed_collectives` has medians; nothing else is there. Of the columns the one
of the slowest process counts, as an operation takes as long as that: `Max Latency(us)` of OSU's with ``-f``, else the
mean over processes; ``t_max[usec]`` of Intel's. A line of 0 B is no operation, and left out.
"""

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tramontane.errors import InputError, why_unread
from tramontane.study.systems.timed_collectives import MOST_BYTES

OSU, INTEL = "osu", "imb"
ALLOWED = "the output of osu_alltoall, osu_allreduce, or IMB-MPI1 Alltoall or Allreduce"

_OSU_TITLE = re.compile(r"# OSU MPI\S* (All-to-All|Alltoall|Allreduce)\b", re.IGNORECASE)
_INTEL_TITLE = re.compile(r"#\s*Benchmarking\s+(Alltoall|Allreduce)\s*$", re.IGNORECASE)
_PROCESSES = re.compile(r"#\s*#processes\s*=\s*([0-9]+)")
_COLUMNS = {OSU: ("Max Latency(us)", "Avg Latency(us)"), INTEL: ("t_max[usec]",)}
#: What is printed beside, too; each is rounded by itself [us].
_BOUNDS = {
    OSU: ("Min Latency(us)", "Avg Latency(us)", "Max Latency(us)"),
    INTEL: ("t_min[usec]", "t_avg[usec]", "t_max[usec]"),
}
_ROUNDING = 0.02
_SIZE = {OSU: "Size", INTEL: "bytes"}


@dataclass(frozen=True)
class Block:
    """A table of one operation.

    Attributes
    ----------
    program : str
        `OSU` or `INTEL`.
    operation : str
        ``alltoall`` or ``allreduce``.
    processes : int or None
        As the output says; None where it doesn't.
    times : dict
        Time [us] by size [B], with the line of the file.
    """

    program: str
    operation: str
    processes: int | None
    times: dict[int, tuple[float, int]]


def read_output(path: Path) -> list[Block]:
    """Return the tables in a file.

    Raises
    ------
    InputError
        If there is none, a time has no unit or is none, or a size stands there twice.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problem = why_unread(error) if isinstance(error, OSError) else "no text"
        raise InputError(path, "", None, ALLOWED, problem=problem) from None
    found = [block for block in _blocks(path, lines) if block.times]
    if not found:
        raise InputError(path, "", None, ALLOWED, problem="found no table of an all-to-all or an allreduce")
    return found


def _blocks(path: Path, lines: list[str]) -> Iterator[Block]:
    block: Block | None = None
    columns: list[str] | None = None
    for number, line in enumerate(lines, 1):
        if title := _OSU_TITLE.match(line) or _INTEL_TITLE.match(line):
            if block:
                yield block
            program = OSU if "OSU" in line else INTEL
            block, columns = Block(program, title[1].lower().replace("-", ""), None, {}), None
        elif block and (processes := _PROCESSES.match(line)):
            block = Block(block.program, block.operation, int(processes[1]), block.times)
        elif block and columns is None and _SIZE[block.program] in line:
            columns = _header(line)
            _require(path, number, block.program, columns)
        elif block and columns and line.strip() and not line.lstrip().startswith("#"):
            _add(path, number, line, block, columns)
    if block:
        yield block


def _header(line: str) -> list[str]:
    """Return the names of columns; OSU's have blanks inside and several between them."""
    words = re.split(r"\s{2,}|\s+(?=#|t_)", line.strip().lstrip("#").strip())
    return [word.lstrip("#").strip() for word in words]


def _require(path: Path, number: int, program: str, columns: list[str]) -> None:
    if not any(name in columns for name in _COLUMNS[program]):
        allowed = f"a column {' or '.join(_COLUMNS[program])}"
        raise InputError(path, f"line {number}", ", ".join(columns[1:]), allowed)


def _add(path: Path, number: int, line: str, block: Block, columns: list[str]) -> None:
    """Add a line of a table; a line that does not begin with a number ends nothing and says nothing."""
    cells = line.split()
    if not cells[0].isdecimal():
        return
    where, name = f"line {number}", next(name for name in _COLUMNS[block.program] if name in columns)
    if len(cells[0]) > len(str(MOST_BYTES)):
        raise InputError(path, where, cells[0], f"a size of at most {MOST_BYTES} B")
    size, place = int(cells[0]), columns.index(name)
    try:
        time = float(cells[place])
        bounds = [float(cells[columns.index(name)]) for name in _BOUNDS[block.program] if name in columns]
    except (ValueError, IndexError):
        raise InputError(path, where, " ".join(cells), f"a size and numbers for {', '.join(columns[1:])}") from None
    if size == 0:
        return
    if not 0 < time < float("inf"):
        raise InputError(path, f"{where}, {name}", cells[place], "a positive time in microseconds")
    if not all(low <= high + _ROUNDING for low, high in itertools.pairwise(bounds)):
        text = f"found {', '.join(f'{bound:g}' for bound in bounds)}"
        raise InputError(path, where, None, "a minimum, an average and a maximum that are in order", problem=text)
    if size in block.times:
        text = f"found the size of line {block.times[size][1]} again"
        raise InputError(path, where, None, "each size once in a table", problem=text)
    block.times[size] = (time, number)
