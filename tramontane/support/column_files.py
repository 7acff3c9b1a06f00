"""Reads columns that have names, mostly of CSV files, and says in one line which name or row is wrong."""

import csv
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tramontane.errors import InputError, closest, show, why_unread

Integers = NDArray[np.int64]
Failures = tuple[type[Exception], ...]
Read = TypeVar("Read")
_WHOLE = re.compile(r"\s*[+-]?\d{1,25}\s*")


def read_by_suffix(path: Path, readers: Mapping[str, Callable[[Path], Read]], failures: Failures) -> Read:
    """Return what is in a file, which the reader of its ending reads.

    Parameters
    ----------
    path : Path
        The file.
    readers : mapping
        What reads files, by their endings in small letters.
    failures : tuple of types
        What readers raise where a file is no such file.

    Raises
    ------
    InputError
        If no reader has that ending, or the file can't be read.
    """
    reader = readers.get(path.suffix.lower())
    if reader is None:
        raise InputError(path, "", path.suffix, ", ".join(readers), problem=f"found a file '{path.suffix}'")
    try:
        return reader(path)
    except InputError:
        raise
    except failures as error:
        raise InputError(path, "", None, f"a {path.suffix} file", problem=why_unread(error)) from None


def check_names(
    path: Path, names: Sequence[str], known: Sequence[str], needed: Sequence[str], key: str | None = None
) -> None:
    """Refuse names of columns that say nothing, that stand there twice, or that are missing.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        Those that it has.
    known, needed : sequence of str
        Those that it may have, and those among them that it must have.
    key : str, optional
        Where in the file they stand; by default the error's key is the name.

    Raises
    ------
    InputError
        For the first that is wrong.
    """
    listed = f"{', '.join(needed)}; and maybe {', '.join(name for name in known if name not in needed)}"
    for name in names:
        where = name if key is None else key
        if name not in known:
            problem = f"unknown column {show(name)}"
            raise InputError(path, where, name, listed, problem=problem, hint=closest(name, known))
        if names.count(name) > 1:
            raise InputError(path, where, name, "each column once", problem=f"column '{name}' stands there twice")
    for name in needed:
        if name not in names:
            raise InputError(path, name if key is None else key, None, listed, problem=f"no column '{name}'")


def heading(path: Path) -> list[str]:
    """Return the names in the first line of a CSV file."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return [name.strip() for name in next(csv.reader([stream.readline()]), [])]


def rows(path: Path, names: Sequence[str]) -> list[list[str]]:
    """Return the cells of each row below the heading of a CSV file; empty rows are left out.

    Raises
    ------
    InputError
        For the first row that has not a value for each column.
    ValueError
        If it is no CSV file.
    """
    with path.open(encoding="utf-8-sig", newline="") as stream:
        read = csv.reader(stream)
        next(read, None)
        try:
            found = list(filter(None, read))
        except csv.Error as error:
            raise ValueError(str(error)) from None
    for number, row in enumerate(found, start=1):
        if len(row) != len(names):
            problem = f"found {len(row)} values"
            raise InputError(path, f"row {number}", None, f"{len(names)}: {', '.join(names)}", problem=problem)
    return found


def whole_columns(path: Path, names: Sequence[str], most: int | None = None) -> dict[str, Integers]:
    """Return the columns of a CSV file of whole numbers.

    Parameters
    ----------
    path : Path
        The file.
    names : sequence of str
        Its heading.
    most : int, optional
        Rows that are looked at; by default all.

    Raises
    ------
    InputError
        For the first cell that is no whole number, or row that has not one for each column.
    ValueError
        If it is no CSV file.
    """
    with path.open(encoding="utf-8-sig", newline="") as stream:
        stream.readline()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                table: NDArray[Any] = np.loadtxt(
                    stream, delimiter=",", dtype=np.int64, ndmin=2, comments=None, max_rows=most
                )
        except (ValueError, Warning):
            table = _cell_by_cell(path, names)
    if table.shape[1] != len(names):
        table = _cell_by_cell(path, names)
    return {name: table[:, number] for number, name in enumerate(names)}


def _cell_by_cell(path: Path, names: Sequence[str]) -> Integers:
    """Read a table slowly, to name the cell that is wrong."""
    cells = rows(path, names)
    for number, row in enumerate(cells, start=1):
        for name, text in zip(names, row, strict=True):
            if not _WHOLE.fullmatch(text) or abs(int(text)) >= 2**63:
                raise InputError(path, f"row {number}, {name}", text.strip(), "a whole number")
    return np.array([[int(text) for text in row] for row in cells], dtype=np.int64).reshape(len(cells), len(names))
