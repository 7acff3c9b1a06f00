"""Makes patterns: the halo exchange of a partitioned grid, and the messages of a communication matrix.

A grid is known by its pairs of adjacent cells only, so any grid will do: triangles of an icosahedron, hexagons, columns
of an ocean model.
"""

import io
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from tramontane.errors import InputError, show, why_unread
from tramontane.study.patterns.pattern_tables import UNREADABLE
from tramontane.support import column_files
from tramontane.support.files import write_atomically

Integers = NDArray[np.int64]
Pairs = tuple[Integers, Integers]
"""Source and target of edges: that of each direction stands there."""

NEIGHBOURS = ("neighbours", "cellsOnCell", "neighbor_cell_index")
"""Tables of the neighbours of each cell: one that counts cells from 0, MPAS's and ICON's, which count from 1."""
_SPARSE = {"data", "shape", "format"}
MOST_BYTES = 2**40
"""Of a message."""
_MOST_VALUES = 500_000_000
"""Of an array in a file: ten neighbours of each of 50 million cells. A small file may claim to hold any number."""


def read_grid(path: Path) -> tuple[int, Pairs]:
    """Return the number of cells of a grid and its pairs of adjacent cells, each in both directions.

    Parameters
    ----------
    path : Path
        A ``.csv`` file with the columns `cell` and `neighbour`; or a ``.npz`` or ``.nc`` file with these two, or with a
        table of each cell's neighbours: `neighbours` (from 0, negative for none), MPAS's `cellsOnCell` or ICON's
        `neighbor_cell_index` (both from 1, 0 or less for none).

    Raises
    ------
    InputError
        If it is no such file.
    """
    found = read_arrays(path, ("cell", "neighbour", *NEIGHBOURS))
    table = next((name for name in NEIGHBOURS if name in found), None)
    if table is None:
        lacking = next((name for name in ("cell", "neighbour") if name not in found), None)
        if lacking:
            allowed = f"cell and neighbour, or one of {', '.join(NEIGHBOURS)}"
            raise InputError(path, lacking, None, allowed, problem=f"no column '{lacking}'")
        cell, neighbour = (whole_numbers(path, name, found[name], 1) for name in ("cell", "neighbour"))
        if len(cell) != len(neighbour):
            raise InputError(path, "neighbour", len(neighbour), f"{len(cell)}, as many as of cell")
        cells = int(max(cell.max(initial=-1), neighbour.max(initial=-1))) + 1
    else:
        rows = whole_numbers(path, table, found[table], 2)
        if table == "neighbor_cell_index":  # of ICON: (3, cells)
            rows = rows.T
        rows = rows - (table != "neighbours")
        cells = len(rows)
        cell, neighbour = np.repeat(np.arange(cells), rows.shape[1]), rows.ravel()
        there = neighbour >= 0
        cell, neighbour = cell[there], neighbour[there]
    if len(cell) == 0:
        raise InputError(path, "", None, "a pair of adjacent cells or more", problem="no neighbours in it")
    wrong = np.flatnonzero((cell < 0) | (neighbour < 0) | (neighbour >= cells) | (cell == neighbour))
    if len(wrong):
        row = int(wrong[0])
        problem = f"found cell {cell[row]} beside cell {neighbour[row]}"
        raise InputError(path, f"row {row + 1}", None, f"two different cells, 0 to {cells - 1}", problem=problem)
    return cells, _unique(np.concatenate([cell, neighbour]), np.concatenate([neighbour, cell]), cells)


CELLS = ("triangles", "hexagons")
"""What the cells of an icosahedral grid may be: its triangles, as in ICON, or the cells around its points (GRIST)."""


def icosahedral(bisections: int, kind: str = "triangles") -> tuple[int, Pairs]:
    """Return the cells and the pairs of adjacent ones of an icosahedron whose edges are halved so many times.

    It has 20 4^n triangles with three neighbours each; those of one face stand together. Around its points are 10 4^n
    hexagons and 12 pentagons, two of which are adjacent where an edge joins their points.

    Parameters
    ----------
    bisections : int
        How often edges are halved, n.
    kind : str
        One of `CELLS`.
    """
    around = [[0, 1 + i, 1 + (i + 1) % 5] for i in range(5)]
    around += [[1 + i, 6 + i, 1 + (i + 1) % 5] for i in range(5)]
    around += [[1 + (i + 1) % 5, 6 + i, 6 + (i + 1) % 5] for i in range(5)]
    around += [[11, 6 + (i + 1) % 5, 6 + i] for i in range(5)]
    corners: Integers = np.array(around, dtype=np.int64)
    for _ in range(bisections):
        number = int(corners.max()) + 1
        edges = _edges(corners)
        _, middle = np.unique(edges[:, 0] * number + edges[:, 1], return_inverse=True)
        (a, b, c), (ab, bc, ca) = corners.T, middle.reshape(-1, 3).T + number
        four = [(a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca)]
        corners = np.stack([np.stack(each, axis=1) for each in four], axis=1).reshape(-1, 3)
    edges = _edges(corners)
    if kind == "hexagons":
        cells = int(corners.max()) + 1
        cell, neighbour = edges.T
    else:
        cells = len(corners)
        order = np.lexsort((edges[:, 1], edges[:, 0]))  # the two triangles of an edge now follow each other
        cell, neighbour = (order // 3).reshape(-1, 2).T
    return cells, _unique(np.concatenate([cell, neighbour]), np.concatenate([neighbour, cell]), cells)


def _edges(corners: Integers) -> Integers:
    """Return the three edges of each triangle, one after the other, the smaller number of each first."""
    return np.sort(corners[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)


def partition(cells: int, pairs: Pairs, parts: int, seed: int) -> Integers:
    """Return the part of each cell, of METIS: parts of about equal size with few edges between them."""
    import pymetis  # noqa: PLC0415  (only who partitions needs it)

    begins = np.searchsorted(pairs[0], np.arange(cells + 1))  # they are sorted
    adjacency = pymetis.CSRAdjacency(begins.astype(np.int32), pairs[1].astype(np.int32))
    made = pymetis.part_graph(parts, adjacency=adjacency, options=pymetis.Options(seed=seed))
    return np.asarray(made.vertex_part, dtype=np.int64)


def read_partition(path: Path, cells: int) -> Integers:
    """Return the part of each cell from a file with the column `part`, in the order of the cells."""
    found = read_arrays(path, ("part",))
    if "part" not in found:
        raise InputError(path, "part", None, "the part of each cell", problem="no column 'part'")
    part = whole_numbers(path, "part", found["part"], 1)
    if len(part) != cells:
        raise InputError(path, "part", len(part), f"{cells}, one for each cell of the grid")
    wrong = np.flatnonzero((part < 0) | (part >= 2**31 - 1))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(path, f"row {row + 1}, part", int(part[row]), "a whole number from 0, below 2^31 - 1")
    return part


def empty_part(part: Integers) -> int | None:
    """Return the first part below the last one that has no cell, or None."""
    there = np.unique(part)
    gaps = np.flatnonzero(there != np.arange(len(there)))
    return int(gaps[0]) if len(gaps) else None


def halo(cells: int, pairs: Pairs, part: Integers, width: int, size: int, messages: int = 1) -> dict[str, Integers]:
    """Return the messages with which each part gets the cells around it: of each other part all in one, or one a field.

    Parameters
    ----------
    cells : int
        Number of cells.
    pairs : pair of ndarray
        Adjacent cells, in both directions, sorted.
    part : ndarray, shape (cells,)
        Who owns each cell.
    width : int
        How many cells a halo is wide.
    size : int
        Bytes of a cell in each message.
    messages : int
        How many messages there are in the place of one; they differ in their `tag`.

    Returns
    -------
    dict of ndarray
        `source`, `target`, `bytes`, and `tag` where there are several messages; sorted by source, then by target.
    """
    cell, target = _halos(cells, pairs, part, width)
    columns = _links(part[cell], target, int(part.max()) + 1, "bytes", size)
    if messages == 1:
        return columns
    several = {name: np.repeat(column, messages) for name, column in columns.items()}
    return several | {"tag": np.tile(np.arange(messages), len(columns["source"]))}


def domains(cells: int, pairs: Pairs, part: Integers, width: int) -> dict[str, Integers]:
    """Return how many cells each part has, how many of them others need, and how many it gets from each other one.

    Returns
    -------
    dict of ndarray
        `source`, `target` and `cells` of each link, as `halo` has them; `own` and `boundary` of each part.
    """
    cell, target = _halos(cells, pairs, part, width)
    boundary = np.bincount(part[np.unique(cell)], minlength=int(part.max()) + 1)
    links = _links(part[cell], target, len(boundary), "cells", 1)
    return links | {"own": np.bincount(part), "boundary": boundary}


def _halos(cells: int, pairs: Pairs, part: Integers, width: int) -> tuple[Integers, Integers]:
    """Return the cells of all halos, and which part's halo each is of."""
    begins = np.searchsorted(pairs[0], np.arange(cells + 1))
    parts = int(part.max()) + 1
    known = np.unique(np.arange(cells) * parts + part)  # (cell, part that has it)
    newest = known
    for _ in range(width):
        cell, owner = np.divmod(newest, parts)
        number = begins[cell + 1] - begins[cell]
        at = np.repeat(begins[cell] - np.cumsum(number) + number, number) + np.arange(number.sum())
        reached = np.unique(pairs[1][at] * parts + np.repeat(owner, number))
        newest = np.setdiff1d(reached, known, assume_unique=True)
        known = np.union1d(known, newest)
    cell, target = np.divmod(known, parts)
    other = part[cell] != target
    return cell[other], target[other]


def _links(source: Integers, target: Integers, parts: int, what: str, size: int) -> dict[str, Integers]:
    """Return source and target of all links once, and what passes each: so much for each time that it is named."""
    link, number = np.unique(source * parts + target, return_counts=True)
    return {"source": link // parts, "target": link % parts, what: sized(number, size)}


def sized(number: Integers, size: int, key: str = "--bytes") -> Integers:
    """Return the bytes of messages of so many cells, or points, of so many bytes each.

    Raises
    ------
    InputError
        If that is more than a message may have; `key` says how many they are.
    """
    most = int(number.max(initial=1))
    if most * size > MOST_BYTES:
        found = f"found a message of {most} times {size} B"
        raise InputError(key, "", None, "messages of at most 2^40 B", problem=found)
    return number * size


def from_matrix(path: Path) -> dict[str, Integers]:
    """Return the messages of a communication matrix: bytes from each rank (row) to each other one (column).

    What is 0 is no message; what ranks send themselves is left out.

    Parameters
    ----------
    path : Path
        A ``.csv`` file of numbers without a heading, or a ``.npz`` file with one square array or with a sparse matrix
        as SciPy saves it (csr, csc, coo).

    Returns
    -------
    dict of ndarray
        `source`, `target`, `bytes`; sorted by source, then by target.

    Raises
    ------
    InputError
        If it is no such file, or a value is no number of bytes.
    """
    allowed = "a square matrix of bytes, .csv or .npz"
    try:
        if path.suffix.lower() == ".csv":
            with warnings.catch_warnings(action="ignore"):  # that there is nothing in it is told below
                dense: NDArray[Any] = np.loadtxt(path, delimiter=",", ndmin=2, comments=None)
        elif path.suffix.lower() == ".npz":
            with np.load(path, allow_pickle=False) as arrays:
                if set(arrays) >= _SPARSE:
                    return _messages(path, *_entries({name: arrays[name] for name in arrays}))
                if len(arrays.files) != 1:
                    raise InputError(path, "", None, allowed, problem=f"found {len(arrays.files)} arrays")
                dense = arrays[arrays.files[0]]
        else:
            raise InputError(path, "", None, allowed, problem=f"found a file '{path.suffix}'")
    except UNREADABLE as error:
        raise InputError(path, "", None, allowed, problem=why_unread(error)) from None
    if dense.ndim != 2 or dense.shape[0] != dense.shape[1]:
        raise InputError(path, "", None, allowed, problem=f"found {' x '.join(map(str, dense.shape))} numbers")
    source, target = np.nonzero(dense)
    return _messages(path, source, target, dense[source, target])


def write(path: Path, columns: Mapping[str, Integers]) -> None:
    """Write a table of messages, ``.csv`` or ``.npz`` by the name of the file.

    Raises
    ------
    InputError
        If the name ends otherwise.
    """
    if path.suffix.lower() == ".npz":
        packed = io.BytesIO()
        np.savez_compressed(packed, **columns)  # type: ignore[arg-type]
        write_atomically(path, packed.getvalue())
    elif path.suffix.lower() == ".csv":
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        write_atomically(path, "\n".join(lines) + "\n")
    else:
        raise InputError(path, "", None, ".csv, .npz", problem=f"found a file '{path.suffix}'")


def _entries(arrays: Mapping[str, NDArray[Any]]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return row, column and value of the entries of a sparse matrix (ValueError, KeyError)."""
    form, shape = arrays["format"].item(), arrays["shape"]
    form = form.decode() if isinstance(form, bytes) else str(form)
    if form not in ("csr", "csc", "coo"):
        raise ValueError(f"a sparse matrix of format {form}; csr, csc and coo are known")
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError("a matrix that is not square")
    if form == "coo":
        row, column = arrays["row"], arrays["col"]
    else:
        along = np.repeat(np.arange(len(arrays["indptr"]) - 1), np.diff(arrays["indptr"]))
        row, column = (along, arrays["indices"]) if form == "csr" else (arrays["indices"], along)
    if not len(row) == len(column) == len(arrays["data"]):
        raise ValueError("as many rows as columns and values are needed")
    if len(row) and not (min(row.min(), column.min()) >= 0 and max(row.max(), column.max()) < shape[0]):
        raise ValueError("an entry outside the matrix")
    return row, column, arrays["data"]


def _messages(path: Path, source: NDArray[Any], target: NDArray[Any], size: NDArray[Any]) -> dict[str, Integers]:
    """Return messages in order; the entries of one pair are summed, as in a sparse matrix."""
    if size.dtype.kind not in "iuf":
        raise InputError(path, "", None, "whole numbers of bytes", problem=f"found values of type {size.dtype}")
    wrong = np.flatnonzero(~((size >= 0) & (size <= MOST_BYTES) & (np.floor(size) == size)))
    if len(wrong):
        one = int(wrong[0])
        key = f"row {int(source[one]) + 1}, column {int(target[one]) + 1}"
        raise InputError(path, key, size[one].item(), f"a whole number of bytes, 0 to {MOST_BYTES}")
    keep = (source != target) & (size > 0)
    link, place = np.unique(source[keep].astype(np.int64) << 32 | target[keep].astype(np.int64), return_inverse=True)
    if len(link) == 0:
        raise InputError(path, "", None, "a message or more", problem="no message in it")
    total = np.zeros(len(link), dtype=np.int64)
    np.add.at(total, place, size[keep].astype(np.int64))
    beyond = np.flatnonzero(total > MOST_BYTES)
    if len(beyond):
        one = int(link[beyond[0]])
        key = f"row {(one >> 32) + 1}, column {(one & 0xFFFFFFFF) + 1}"
        raise InputError(path, key, int(total[beyond[0]]), f"a whole number of bytes, 0 to {MOST_BYTES}")
    return {"source": link >> 32, "target": link & 0xFFFFFFFF, "bytes": total}


def _unique(cell: Integers, neighbour: Integers, cells: int) -> Pairs:
    keys = np.unique(cell * cells + neighbour)
    return keys // cells, keys % cells


def read_arrays(path: Path, known: tuple[str, ...]) -> dict[str, NDArray[Any]]:
    """Return those arrays of a file that are known."""
    allowed = f"a .csv, .npz or .nc file with some of {', '.join(known)}"
    try:
        match path.suffix.lower():
            case ".csv":
                read = column_files.whole_columns(path, column_files.heading(path))
                return {name: column for name, column in read.items() if name in known}
            case ".npz":
                with np.load(path, allow_pickle=False) as arrays:
                    for entry in arrays.zip.infolist():
                        name = entry.filename.removesuffix(".npy")
                        if name in known:
                            _refuse_bulk(path, name, entry.file_size // 8)  # taken for numbers of 8 B
                    return {name: arrays[name] for name in arrays if name in known}
            case ".nc":
                with h5py.File(path) as file:
                    found = {name: file[name] for name in file if name in known}
                    for name, values in found.items():
                        if not isinstance(values, h5py.Dataset):
                            raise InputError(path, name, None, "numbers", problem="found something else")
                        _refuse_bulk(path, name, int(values.size or 0))
                    return {name: np.asarray(values) for name, values in found.items()}
    except (*UNREADABLE, IndexError) as error:
        raise InputError(path, "", None, allowed, problem=why_unread(error)) from None
    raise InputError(path, "", None, allowed, problem=f"found a file '{path.suffix}'")


def _refuse_bulk(path: Path, name: str, values: int) -> None:
    if values > _MOST_VALUES:
        raise InputError(path, name, values, f"at most {_MOST_VALUES} numbers", problem=f"found {values} numbers")


def whole_numbers(path: Path, name: str, column: NDArray[Any], dims: int) -> Integers:
    """Return an array of whole numbers in so many dimensions (InputError)."""
    if column.ndim != dims or column.dtype.kind not in "iu":
        found = f"found {column.ndim} dimensions of {show(str(column.dtype))}"
        raise InputError(path, name, None, f"whole numbers in {dims} dimensions", problem=found)
    return column.astype(np.int64)
