"""Reads tables of messages that somebody else has written, and packs them for the compiled description.

Whatever the format of a file, its messages are turned into one binary form, that of
``skeleton-src/patterns/table.hpp``.
"""

import itertools
import math
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tramontane.errors import InputError
from tramontane.support import column_files

COLUMNS = ("source", "target", "bytes")
OPTIONAL = ("tag", "step")
_KNOWN = (*COLUMNS, *OPTIONAL)
MOST_MESSAGES = 100_000_000
MOST_PLACES = 500_000_000
"""Ranks times steps: where each rank's part of each step begins is kept."""
MOST_TAG = 32767
"""What every MPI library takes for a tag."""
_RANGES = {
    "source": (0, 2**31 - 2),
    "target": (0, 2**31 - 2),
    "bytes": (0, 2**40),
    "tag": (0, MOST_TAG),
    "step": (-(2**62), 2**62),
}
_FORMAT = b"TRMPATT1"
_HEADER = np.dtype([("format", "S8"), ("ranks", "<i8"), ("steps", "<i8"), ("messages", "<i8")])
_SEND = np.dtype([("target", "<i4"), ("tag", "<i4"), ("bytes", "<i8")])
_RECEIVE = np.dtype([("source", "<i4"), ("send", "<u4")])

UNREADABLE = (OSError, ValueError, KeyError, EOFError, OverflowError, RuntimeError, MemoryError, zipfile.BadZipFile)
"""What reading arrays may raise; a file whose header lies about their size asks for more memory than there is."""

Column = NDArray[np.int64] | NDArray[np.int32]


def read(path: Path) -> dict[str, Column]:
    """Return the columns of a file, checked one by one: `source`, `target`, `bytes` [B], `tag` and `step`.

    Raises
    ------
    InputError
        With file, row or column, what was found and what is allowed.
    """
    columns = column_files.read_by_suffix(path, _READERS, UNREADABLE)
    lengths = {name: len(column) for name, column in columns.items()}
    number = lengths["source"]
    for name, length in lengths.items():
        if length != number:
            raise InputError(path, name, length, f"{number}, as many as of source", problem=f"found {length} values")
    if number == 0:
        raise InputError(path, "", None, "one message or more", problem="no message in it")
    if number > MOST_MESSAGES:
        raise InputError(path, "", number, f"at most {MOST_MESSAGES}", problem=f"found more than {MOST_MESSAGES} rows")
    checked = {name: _whole(path, name, column) for name, column in columns.items()}
    zero = np.zeros(number, dtype=np.int32)
    return {name: checked.get(name, zero) for name in _KNOWN}


def packed(columns: Mapping[str, Column], path: Path) -> memoryview:
    """Return the binary form of messages; `path` is for what has to be refused.

    Rows of one step and source stay in their order, in which they are sent. Any other order of the rows says nothing,
    nor do the numbers of steps beyond their order.

    Raises
    ------
    InputError
        For a message of a rank to itself, two that nothing tells apart, or more than can be kept.
    """
    source, target, size, tag = (columns[name] for name in ("source", "target", "bytes", "tag"))
    if len(own := np.flatnonzero(source == target)):
        row = int(own[0])
        raise _wrong(path, row, "target", int(target[row]), "another rank than the source")
    if float(size.sum(dtype=np.float64)) >= 2.0**62:
        raise InputError(path, "bytes", None, "less than 2^62 in all", problem="found more than 2^62 in all")
    steps, step = _steps(columns["step"])
    ranks = int(max(source.max(), target.max())) + 1
    if ranks * steps > MOST_PLACES:
        problem = f"found {ranks} ranks in {steps} steps"
        raise InputError(path, "", ranks, f"at most {MOST_PLACES} ranks times steps", problem=problem)
    _refuse_alike(path, step, source, target, tag)
    number, places = len(source), ranks * steps + 1
    content = np.empty(_HEADER.itemsize + 8 * places + number * (_SEND.itemsize + _RECEIVE.itemsize), dtype=np.uint8)
    ends = np.cumsum([0, _HEADER.itemsize, 4 * places, 4 * places, number * _SEND.itemsize, number * _RECEIVE.itemsize])
    parts = [content[begin:end] for begin, end in itertools.pairwise(ends)]
    header, sends_begin, receives_begin, sends, receives = (
        part.view(kind) for part, kind in zip(parts, (_HEADER, "<u4", "<u4", _SEND, _RECEIVE), strict=True)
    )
    header[0] = (_FORMAT, ranks, steps, number)
    sent = _ordered(step * ranks + source, sends_begin)
    for name, column in (("target", target), ("tag", tag), ("bytes", size)):
        sends[name] = column[sent]
    received = _ordered((step * ranks + target)[sent], receives_begin)
    receives["source"], receives["send"] = source[sent][received], received
    return content.data


def _steps(step: Column) -> tuple[int, Any]:
    """Return the number of steps, and which one each message belongs to, from 0."""
    if step.min() == step.max():
        return 1, np.int32(0)
    numbers, places = np.unique(step, return_inverse=True)
    return len(numbers), places


def _ordered(place: Column, begins: NDArray[np.uint32]) -> Column:
    """Return the messages by place, in their order; fill in where those of each place begin, and the last one's end."""
    begins[0] = 0
    np.cumsum(np.bincount(place, minlength=len(begins) - 1), out=begins[1:])
    order: Column = np.argsort(place, kind="stable")
    return order


def _refuse_alike(path: Path, step: Any, source: Column, target: Column, tag: Column) -> None:
    most = [int(np.max(column)) + 1 for column in (step, source, target, tag)]
    if math.prod(most) < 2**63:  # one number tells all, which is quick
        key = np.asarray(step, dtype=np.int64)
        for column, end in zip((source, target, tag), most[1:], strict=True):
            key = key * end + column
        key.sort()
        if not (key[1:] == key[:-1]).any():
            return
    columns = (np.broadcast_to(step, source.shape), source, target, tag)
    order = np.lexsort(columns[::-1])
    alike = np.ones(len(order) - 1, dtype=bool)
    for column in columns:
        ordered = column[order]
        alike &= ordered[1:] == ordered[:-1]
    if alike.any():
        first = int(np.flatnonzero(alike)[0])
        one, other = sorted((int(order[first]), int(order[first + 1])))
        found = f"found step, source, target and tag of row {one + 1} again"
        raise InputError(path, f"row {other + 1}", None, "a tag of its own for each of them", problem=found)


def _whole(path: Path, name: str, column: NDArray[Any]) -> Column:
    """Return a column as whole numbers within its range."""
    least, most = _RANGES[name]
    allowed = f"a whole number, {least} to {most}" if name != "step" else "a whole number"
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        found = f"found {column.ndim} dimensions of {column.dtype}"
        raise InputError(path, name, None, "one dimension of whole numbers", problem=found)
    wrong = (column < least) | (column > most)
    if column.dtype.kind == "f":
        with np.errstate(invalid="ignore"):
            wrong |= ~np.isfinite(column) | (np.floor(column) != column)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise _wrong(path, row, name, column[row].item(), allowed)
    if most < 2**31:
        return column.astype(np.int32, copy=False)
    return column.astype(np.int64, copy=False)


def _wrong(path: Path, row: int, name: str, found: object, allowed: str) -> InputError:
    """Return the refusal of a value; rows are counted from 1, without a heading."""
    return InputError(path, f"row {row + 1}, {name}", found, allowed)


def _read_csv(path: Path) -> dict[str, NDArray[Any]]:
    names = column_files.heading(path)
    column_files.check_names(path, names, _KNOWN, COLUMNS)
    return dict(column_files.whole_columns(path, names, MOST_MESSAGES + 1))


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    with zipfile.ZipFile(path) as bundle:
        if sum(entry.file_size for entry in bundle.infolist()) > len(_RANGES) * 8 * (MOST_MESSAGES + 1000):
            raise InputError(path, "", None, f"at most {MOST_MESSAGES} messages", problem="too large")
    with np.load(path, allow_pickle=False) as arrays:
        column_files.check_names(path, list(arrays), _KNOWN, COLUMNS)
        return {name: arrays[name] for name in arrays}


def _read_netcdf(path: Path) -> dict[str, NDArray[Any]]:
    with h5py.File(path) as file:
        # Coordinates of the rows say nothing.
        names = [
            name for name, value in file.items() if name in _KNOWN or value.attrs.get("CLASS") != b"DIMENSION_SCALE"
        ]
        column_files.check_names(path, names, _KNOWN, COLUMNS)
        for name in names:
            if not isinstance(file[name], h5py.Dataset) or file[name].size > MOST_MESSAGES:
                raise InputError(path, name, None, f"at most {MOST_MESSAGES} numbers", problem="found something else")
        return {name: np.asarray(file[name]) for name in names}


_READERS: dict[str, Callable[[Path], dict[str, NDArray[Any]]]] = {
    ".csv": _read_csv,
    ".npz": _read_npz,
    ".nc": _read_netcdf,
}
