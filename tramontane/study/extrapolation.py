"""A trace of more ranks than were traced, where ranks exchange messages with neighbours on a grid of two dimensions.

Traces of several numbers of ranks are laid on grids on which the same neighbours exchange messages. Ranks that lie
alike (inside, at an edge, in a corner) must do the same in all of them. Sizes and work are constant, or shares of
something that is divided among the columns, the rows, or all ranks; sizes may have a part of both kinds, as those of
halos with corners have. What fits none of these is refused.
"""

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tramontane.errors import InputError
from tramontane.study import traces

LEAST_TRACES = 3
_HEADER = struct.Struct("<8x8q")
_SEND = np.dtype([("target", "<i4"), ("tag", "<i4"), ("bytes", "<i8")])
_RECEIVE = np.dtype([("source", "<i4"), ("send", "<u4")])
_ON_START = 1 << 31
_EXACT = 1e-9
"""Of sizes, relative."""
_ALLOWED = "what every rank at such a place of the grid does, in all traces"
Grid = tuple[int, int]
Place = tuple[bool, bool, bool, bool]
"""Whether a rank is in the first and last column, and in the first and last row."""


@dataclass(frozen=True)
class _Shape:
    """What a rank does, but for sizes and work: of each operation kind, neighbour and tag; then who waits for whom."""

    operations: tuple[tuple[str, int, int, int], ...]
    dependencies: tuple[tuple[int, int, bool], ...]


@dataclass
class _Table:
    """The operations of a trace (``skeleton-src/graphs/table.hpp``)."""

    path: Path
    ranks: int
    sends: npt.NDArray[np.void]
    works: npt.NDArray[np.int64]
    receives: npt.NDArray[np.void]
    waits: npt.NDArray[np.uint32]
    dependents: npt.NDArray[np.uint32]
    begins: dict[str, npt.NDArray[np.uint32]]


def _table(path: Path) -> _Table:
    content = traces.pack(path)
    ranks, sends, receives, works, dependencies, _, levels, one_sided = _HEADER.unpack_from(content)
    if levels or one_sided:
        what = "regions" if levels else "one-sided calls"
        raise InputError(path, "", None, "messages and work", problem=f"found {what}")
    at = _HEADER.size

    def take(kind: npt.DTypeLike, count: int) -> npt.NDArray[np.void]:
        nonlocal at
        found: npt.NDArray[np.void] = np.frombuffer(content, kind, count, at)
        at += found.nbytes
        return found

    parts: list[tuple[npt.DTypeLike, int]] = [(_SEND, sends), ("<i8", works), (_RECEIVE, receives), ("<u4", sends)]
    operations = sends + receives + works
    parts += [("<u4", count) for count in (operations, operations + 1, dependencies, *3 * [ranks + 1])]
    said, worked, got, _, _, waits, dependents, *begins = (take(kind, count) for kind, count in parts)
    kinds = dict(zip(("sends", "receives", "works"), begins, strict=True))
    return _Table(path, ranks, said, worked, got, waits, dependents, kinds)  # type: ignore[arg-type]


def _grids(ranks: int) -> list[Grid]:
    """Return the grids of so many ranks, the squarest first."""
    found = [(rows, ranks // rows) for rows in range(1, ranks + 1) if ranks % rows == 0]
    return sorted(found, key=lambda grid: (abs(math.log(grid[0] / grid[1])), grid[0]))


def _is_line(grid: Grid) -> tuple[bool, bool]:
    return grid[0] == 1, grid[1] == 1


def _step(difference: int, size: int) -> int:
    """Return the way to a neighbour, around the end where that is shorter."""
    return (difference + size // 2) % size - size // 2 if size > 2 else difference % size


def _offset(grid: Grid, source: int, target: int) -> tuple[int, int]:
    rows, columns = grid
    return (
        _step(target // columns - source // columns, rows),
        _step(target % columns - source % columns, columns),
    )


def _place(grid: Grid, rank: int) -> Place:
    row, column = divmod(rank, grid[1])
    return row == 0, row == grid[0] - 1, column == 0, column == grid[1] - 1


def _fitting_grid(table: _Table) -> tuple[Grid, set[tuple[int, int]]]:
    """Return the grid with the fewest kinds of neighbours, and these."""
    begins = table.begins["sends"].astype(np.int64)
    sources = np.repeat(np.arange(table.ranks), begins[1:] - begins[:-1])
    pairs = np.unique(np.stack([sources, table.sends["target"]], axis=1), axis=0)
    found = [(grid, {_offset(grid, int(a), int(b)) for a, b in pairs}) for grid in _grids(table.ranks)]
    return min(found, key=lambda each: len(each[1]))


def _ranks(table: _Table, grid: Grid) -> list[tuple[_Shape, list[int]]]:
    """Return what each rank does, and how much of it: bytes, and work [ps]."""
    found = []
    for rank in range(table.ranks):
        begin = {kind: int(at[rank]) for kind, at in table.begins.items()}
        end = {kind: int(at[rank + 1]) for kind, at in table.begins.items()}
        got = table.receives[begin["receives"] : end["receives"]]
        sent = table.sends[begin["sends"] : end["sends"]]
        operations = []
        amounts = []
        for each in got:
            there = table.sends[table.begins["sends"][each["source"]] + each["send"]]
            operations.append(("recv", *_offset(grid, rank, int(each["source"])), int(there["tag"])))
            amounts.append(int(there["bytes"]))
        for each in sent:
            operations.append(("send", *_offset(grid, rank, int(each["target"])), int(each["tag"])))
            amounts.append(int(each["bytes"]))
        worked = table.works[begin["works"] : end["works"]]
        operations += [("calc", 0, 0, 0)] * len(worked)
        amounts += worked.tolist()
        first = sum(begin.values())
        waits = table.waits[first : first + len(operations) + 1].astype(np.int64)
        dependencies = tuple(
            (earlier, int(each) & ~_ON_START, bool(int(each) & _ON_START))
            for earlier in range(len(operations))
            for each in table.dependents[waits[earlier] : waits[earlier + 1]]
        )
        found.append((_Shape(tuple(operations), dependencies), amounts))
    return found


def _shares(grid: Grid) -> tuple[float, float, float, float]:
    """Return by what an amount may be divided: nothing, the rows, the columns, all ranks."""
    return 1.0, float(grid[0]), float(grid[1]), float(grid[0] * grid[1])


def _fitted(grids: Sequence[Grid], amounts: npt.NDArray[np.float64], wanted: Grid) -> tuple[float, float]:
    """Return an amount on another grid, and how far the worst of those known is from what it is fitted by."""
    best = (0.0, math.inf)
    for which in range(4):
        wholes = amounts * [_shares(grid)[which] for grid in grids]
        mean = float(wholes.mean())
        worst = float(np.abs(wholes - mean).max()) / mean if mean else 0.0
        if worst < best[1] - 1e-12:
            best = (mean / _shares(wanted)[which], worst)
    return best


def _size(grids: Sequence[Grid], sizes: npt.NDArray[np.float64], wanted: Grid) -> float | None:
    """Return a size [B] on another grid, which may have a part that is the same everywhere; None if nothing fits."""
    size, worst = _fitted(grids, sizes, wanted)
    if worst <= _EXACT:
        return size
    for which in range(1, 4):
        known = np.array([[1.0, 1 / _shares(grid)[which]] for grid in grids])
        (constant, whole), *_ = np.linalg.lstsq(known, sizes)
        if np.abs(known @ (constant, whole) - sizes).max() <= _EXACT * sizes.max():
            return float(constant + whole / _shares(wanted)[which])
    return None


def extrapolated(paths: Sequence[Path], ranks: int) -> tuple[str, float]:
    """Return what more ranks do as GOAL, and by how much work differs from what it is fitted by, at most.

    Parameters
    ----------
    paths : sequence of Path
        Traces of at least three numbers of ranks.
    ranks : int
        Of the trace that is wanted.

    Raises
    ------
    InputError
        If a trace can't be read, or what its ranks do is not that of neighbours on a grid.
    """
    tables = sorted((_table(path) for path in paths), key=lambda table: table.ranks)
    if len({table.ranks for table in tables}) < LEAST_TRACES:
        allowed = f"traces of {LEAST_TRACES} numbers of ranks or more"
        raise InputError(paths[0], "", None, allowed, problem=f"found {len({table.ranks for table in tables})}")
    fits = [_fitting_grid(table) for table in tables]
    for table, (grid, offsets) in zip(tables, fits, strict=True):
        if offsets != fits[0][1]:
            other = min(offsets ^ fits[0][1])
            allowed = f"the same neighbours on a grid as in that of {tables[0].ranks} ranks; collectives have others"
            problem = f"found messages that go {other[0]} rows and {other[1]} columns in one of both"
            raise InputError(table.path, f"grid {grid[0]} x {grid[1]}", None, allowed, problem=problem)
    grids = [grid for grid, _ in fits]
    wanted = next(grid for grid in _grids(ranks) if _is_line(grid) == _is_line(grids[-1]))
    shapes: dict[Place, _Shape] = {}
    amounts: dict[Place, list[list[list[int]]]] = {}
    for number, (table, grid) in enumerate(zip(tables, grids, strict=True)):
        for rank, (shape, much) in enumerate(_ranks(table, grid)):
            place = _place(grid, rank)
            if shapes.setdefault(place, shape) != shape:
                problem = f"found {len(shape.operations)} operations that are others than those of {tables[0].path}"
                raise InputError(table.path, f"rank {rank}", None, _ALLOWED, problem=problem)
            amounts.setdefault(place, [[] for _ in tables])[number].append(much)
    text, noise = [f"num_ranks {ranks}\n"], 0.0
    known: dict[Place, str] = {}
    for rank in range(ranks):
        place = _place(wanted, rank)
        if place not in shapes or not all(amounts[place]):
            raise InputError(tables[0].path, f"rank {rank} of {ranks}", None, _ALLOWED, problem="found none like it")
        if place not in known:
            known[place], worst = _program(shapes[place], amounts[place], grids, wanted, tables[0].path)
            noise = max(noise, worst)
        text.append(_told(known[place], wanted, rank))
    return "".join(text), noise


def _program(
    shape: _Shape, amounts: list[list[list[int]]], grids: Sequence[Grid], wanted: Grid, path: Path
) -> tuple[str, float]:
    """Return GOAL of a rank at a place, with neighbours in brackets, and how far work is from what it is fitted by."""
    lines, noise = [], 0.0
    for number, (kind, rows, columns, tag) in enumerate(shape.operations):
        by_trace = [np.array([much[number] for much in of], dtype=np.float64) for of in amounts]
        usual = np.array([np.median(each) for each in by_trace])
        if kind == "calc":
            amount, worst = _fitted(grids, usual, wanted)
            noise = max(noise, worst if amount else 0.0)
            lines.append(f"l{number}: calc {round(amount / 1000)}")
            continue
        size = None if any(len(set(each)) > 1 for each in by_trace) else _size(grids, usual, wanted)
        if size is None:
            found = ", ".join(f"{each[0]:.0f} B" for each in by_trace)
            allowed = "one size at all such ranks, or one that is divided among rows, columns or ranks"
            where = f"message {rows} rows and {columns} columns away, tag {tag}"
            raise InputError(path, where, None, allowed, problem=f"found {found}")
        word = "to" if kind == "send" else "from"
        lines.append(f"l{number}: {kind} {round(size)}b {word} [{rows},{columns}] tag {tag}")
    for earlier, later, on_start in shape.dependencies:
        lines.append(f"l{later} {'irequires' if on_start else 'requires'} l{earlier}")
    return "\n".join(lines), noise


def _told(program: str, grid: Grid, rank: int) -> str:
    """Return the program of a rank, with ranks in the place of neighbours."""
    row, column = divmod(rank, grid[1])
    lines = []
    for line in program.split("\n"):
        head, bracket, rest = line.partition("[")
        if bracket:
            offset, _, rest = rest.partition("]")
            rows, columns = map(int, offset.split(","))
            peer = (row + rows) % grid[0] * grid[1] + (column + columns) % grid[1]
            lines.append(f"{head}{peer}{rest}")
        else:
            lines.append(line)
    body = "\n".join(lines)
    return f"rank {rank} {{\n{body}\n}}\n"
