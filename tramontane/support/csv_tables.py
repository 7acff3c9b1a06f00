"""Reads tables that others wrote as CSV files, and says in one line what is wrong with one."""

import csv
import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from tramontane.errors import InputError, show, why_unread

#: A line's number in its file, where the header is line 1, and its cells by column.
Line = tuple[int, dict[str, str]]

#: What others write; Python's own `1_05` is more likely a slip.
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def read_table(path: Path, columns: Sequence[str], what: str, like: str) -> list[Line]:
    """Return the lines of a table.

    Parameters
    ----------
    path : Path
        The file.
    columns : sequence of str
        Columns that it must have; it may have others.
    what : str
        What the file should be, in words, such as "a CSV file of measured points".
    like : str
        Where the columns are described, such as "the columns of validation/sstmacro-16.0.csv".

    Raises
    ------
    InputError
        If the file can't be read, is no such table, or lacks a column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _lines(path, stream, columns, what, like)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = why_unread(error) if isinstance(error, OSError) else "not a CSV file"
        raise InputError(path, "", None, what, problem=problem) from None


def _lines(path: Path, stream: Iterable[str], columns: Sequence[str], what: str, like: str) -> list[Line]:
    reader = csv.reader(stream, strict=True)
    header = next(reader, None)
    if not header:
        raise InputError(path, "", None, what, problem="the file is empty")
    if len(set(header)) < len(header):
        twice = next(column for column in header if header.count(column) > 1)
        raise InputError(path, "line 1", None, "each column once", problem=f"column {show(twice)} stands there twice")
    missing = [column for column in columns if column not in header]
    if missing:
        text = f"column{'s' if len(missing) > 1 else ''} missing: {', '.join(missing)}"
        raise InputError(path, "line 1", None, like, problem=text)
    lines = []
    for cells in reader:
        if not cells:
            continue
        if len(cells) != len(header):
            text = f"found {len(cells)} cells"
            raise InputError(path, f"line {reader.line_num}", None, f"{len(header)}, as in line 1", problem=text)
        lines.append((reader.line_num, dict(zip(header, cells, strict=True))))
    return lines


def positive(text: str) -> float | None:
    """Return the positive number in a cell, or None if there is none."""
    value = float(text) if _NUMBER.fullmatch(text.strip()) else 0.0
    return value if 0 < value < math.inf else None
