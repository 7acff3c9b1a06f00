"""What each rank of a trace does, said so that ranks that do alike say the same.

Neighbours on a grid take the place of ranks, and all ranks, a row or a column that of a communicator's members.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tramontane.errors import InputError, display_path
from tramontane.study.collectives.collective_calls import SCAN, Exchange
from tramontane.study.traces import rank_grids, traces
from tramontane.study.traces.calls import FIRST_TAG
from tramontane.study.traces.rank_grids import Grid

Kinds = frozenset[tuple[int, int]]
"""Of neighbours: rows and columns away."""
_HEADER = struct.Struct("<8x8q")
_SEND = np.dtype([("target", "<i4"), ("receive", "<u4"), ("bytes", "<i8")])
"""Above the lower 56 bits of ``bytes`` is which side does the transfer; 0, both, for all that is read here."""
_RECEIVE = np.dtype([("source", "<i4"), ("send", "<u4")])
_ON_START = 1 << 31
_DEPENDENT = (1 << 30) - 1
_TAG_BITS = 32
"""Of work that stands for a collective (``GraphTable::kept_of``)."""
_KEPT = -(1 << _TAG_BITS)
"""Work up to this is a collective; other work below 0 is a mark of a region."""
_LINES = "communicators of all ranks, or of a row or column of the grid that they lie on, in this order"


@dataclass(frozen=True)
class Operation:
    """Something that a rank does.

    Attributes
    ----------
    kind : str
        "recv", "send", "calc", or that of a collective: its name in the catalogue, or "scan".
    away : tuple of int
        Rows and columns to the other rank; of a collective (0, 0).
    tag : int
        Of a message.
    group : str
        The communicator of a collective: one of :mod:`tramontane.study.traces.rank_grids`; empty for others.
    number : int
        Of this one among the communicators of the same ranks.
    cpu : int
        The processor that does it; of a collective 0.
    """

    kind: str
    away: tuple[int, int] = (0, 0)
    tag: int = 0
    group: str = ""
    number: int = 0
    cpu: int = 0

    def __str__(self) -> str:
        if self.group:
            return f"{self.kind} of {self.group}"
        who = f" of cpu {self.cpu}" if self.cpu else ""
        if self.kind == "calc":
            return f"work{who}"
        where = f"tag {self.tag}" if self.tag < FIRST_TAG else "in another communicator than that of all ranks"
        return f"{self.kind}{who} {self.away[0]} rows and {self.away[1]} columns away, {where}"


@dataclass(frozen=True)
class Shape:
    """What a rank does, but for sizes and work: its operations, and who waits for whom.

    Attributes
    ----------
    operations : tuple of Operation
        Receives, then sends, then work and collectives, each in their order.
    dependencies : tuple of (int, int, bool)
        The earlier one, the later one, and whether this waits for the start only.
    """

    operations: tuple[Operation, ...]
    dependencies: tuple[tuple[int, int, bool], ...]


@dataclass
class Table:
    """The operations of a trace (``skeleton-src/graphs/table.hpp``).

    Attributes
    ----------
    path : Path
        Of the trace.
    ranks : int
        How many there are.
    sends, receives : structured arrays
        Of all ranks, one after the other.
    tags : array of int32
        Of the sends.
    works : array of int64
        Work [ps]; up to `_KEPT` a collective.
    waits, dependents : arrays of uint32
        Where those begin that wait for each operation, and these.
    begins : dict of str to array of uint32, shape (ranks + 1,)
        Where the receives, sends and works of each rank begin.
    exchanges : list of Exchange
        What collectives exchange, by number.
    cpus : array of uint8
        Which of its rank's processors does each operation.
    """

    path: Path
    ranks: int
    sends: npt.NDArray[np.void]
    tags: npt.NDArray[np.int32]
    works: npt.NDArray[np.int64]
    receives: npt.NDArray[np.void]
    waits: npt.NDArray[np.uint32]
    dependents: npt.NDArray[np.uint32]
    begins: dict[str, npt.NDArray[np.uint32]]
    exchanges: list[Exchange]
    cpus: npt.NDArray[np.uint8]

    def owner(self, kind: str, index: int) -> int:
        """Return the rank of the send, receive or work of this number."""
        return int(np.searchsorted(self.begins[kind], index, side="right")) - 1


def read(path: Path) -> Table:
    """Return the operations of a trace.

    Raises
    ------
    InputError
        If it can't be read, or has regions, one-sided calls, or collectives that are not those of a grid.
    """
    content, exchanges = traces.pack_kept(path, _check)
    ranks, sends, receives, works, dependencies, _, levels, special = _HEADER.unpack_from(content)
    allowed = "messages, collectives and work"
    one_sided, last_cpu = special % 2, special // 2
    at = _HEADER.size + 8 * levels

    def take(kind: npt.DTypeLike, count: int) -> npt.NDArray[np.void]:
        nonlocal at
        found: npt.NDArray[np.void] = np.frombuffer(content, kind, count, at)
        at += found.nbytes
        return found

    parts: list[tuple[npt.DTypeLike, int]] = [(_SEND, sends), ("<i8", works), (_RECEIVE, receives), ("<i4", sends)]
    operations = sends + receives + works
    parts += [("<u4", count) for count in (operations, operations + 1, dependencies, *3 * [ranks + 1])]
    said, worked, got, tags, _, waits, dependents, *begins = (take(kind, count) for kind, count in parts)
    kinds = dict(zip(("sends", "receives", "works"), begins, strict=True))
    cpus = take("u1", operations) if last_cpu else np.zeros(operations, "u1")
    table = Table(path, ranks, said, tags, worked, got, waits, dependents, kinds, exchanges, cpus)  # type: ignore[arg-type]
    if levels or one_sided:
        what, kind = ("a region", "works") if levels else ("a one-sided call", "sends")
        is_such = (table.works < 0) & (table.works > _KEPT) if levels else table.tags < 0
        where = f"rank {table.owner(kind, int(np.argmax(is_such)))}"
        raise InputError(path, where, None, allowed, problem=f"found {what}")
    return table


def _check(exchange: Exchange, ranks: int) -> None:
    """Refuse collectives that can't be those of a grid of ranks (ValueError)."""
    number = len(exchange.members)
    if exchange.operation != SCAN and exchange.sizes is not None:
        raise ValueError(f"{exchange.operation} of blocks of different sizes among {number} ranks, blocks of one size")
    if not rank_grids.may_be_of_a_grid(exchange.members, ranks):
        raise ValueError(f"{exchange.operation} of a communicator of {number} of {ranks} ranks, {_LINES}")


def grids_of(tables: Sequence[Table]) -> list[Grid]:
    """Return grids on which all traces have the same kinds of neighbours, as few as may be.

    Rows and columns of these, or all ranks, are what the communicators have.

    Raises
    ------
    InputError
        If there are no such grids.
    """
    laid = [_laid(table) for table in tables]
    common = [kinds for kinds in laid[0].values() if all(kinds in found.values() for found in laid)]
    if not common:
        raise _different(tables, [min(found.items(), key=lambda one: len(one[1])) for found in laid])
    refusals: list[InputError] = []
    for kinds in sorted(common, key=len):
        try:
            return [
                _with_lines(table, [grid for grid in found if found[grid] == kinds])
                for table, found in zip(tables, laid, strict=True)
            ]
        except InputError as error:
            refusals.append(error)
    raise refusals[0]


def _laid(table: Table) -> dict[Grid, Kinds]:
    """Return the kinds of neighbours on each grid, the squarest first; one row where nothing tells of neighbours."""
    begins = table.begins["sends"].astype(np.int64)
    sources = np.repeat(np.arange(table.ranks), begins[1:] - begins[:-1])
    pairs = np.unique(np.stack([sources, table.sends["target"]], axis=1), axis=0)
    if not pairs.size and all(len(each.members) == table.ranks for each in table.exchanges):
        return {(1, table.ranks): frozenset()}
    return {
        grid: frozenset(rank_grids.offset(grid, int(a), int(b)) for a, b in pairs)
        for grid in rank_grids.grids(table.ranks)
    }


def _with_lines(table: Table, grids: Sequence[Grid]) -> Grid:
    """Return the first grid that has the communicators as rows and columns (InputError)."""
    communicators = {tuple(each.members): each for each in table.exchanges if len(each.members) < table.ranks}
    for grid in grids:
        if all(rank_grids.group_of(grid, ranks) for ranks in communicators):
            return grid
    rows, columns = grids[0]
    other = next(each for ranks, each in communicators.items() if not rank_grids.group_of((rows, columns), ranks))
    number = len(other.members)
    problem = (
        f"found {other.operation} of a communicator of {number} of {table.ranks} ranks on a grid of {rows} x {columns}"
    )
    raise InputError(table.path, f"rank {other.members[0]}", None, _LINES, problem=problem)


def _different(tables: Sequence[Table], laid: Sequence[tuple[Grid, Kinds]]) -> InputError:
    """Return what is wrong with traces that have no kinds of neighbours in common."""
    first = tables[0], laid[0]
    other = next(each for each in zip(tables, laid, strict=True) if each[1][1] != laid[0][1])
    away = min(other[1][1] ^ laid[0][1])
    (table, (grid, _)), (lacking, (none, _)) = (first, other) if away in laid[0][1] else (other, first)
    problem = (
        f"found messages that go {away[0]} rows and {away[1]} columns on a grid of {grid[0]} x {grid[1]}, "
        f"and none such on one of {none[0]} x {none[1]} in {display_path(lacking.path)}"
    )
    allowed = (
        "the same neighbours on a grid of one or two dimensions in all traces; in GOAL collectives are messages, too"
    )
    return InputError(table.path, "", None, allowed, problem=problem)


class Names:
    """What tags and communicators of a trace are called, so that it does not matter how many ranks there are.

    Parameters
    ----------
    table : Table
        The trace.
    grid : Grid
        Of its ranks.

    Attributes
    ----------
    calls : dict of int to Operation
        What work of the table that stands for a collective does.
    communicators : dict of (str, int) to int
        By group, and number among those of the same ranks: the tag of its collectives, at the first rank.
    """

    def __init__(self, table: Table, grid: Grid) -> None:
        tags, first = np.unique(table.tags, return_index=True)
        ordered = tags[np.argsort(first)]
        self._tags: list[int] = ordered[ordered >= FIRST_TAG].tolist()
        self._numbers = {tag: FIRST_TAG + number for number, tag in enumerate(self._tags)}
        self.calls: dict[int, Operation] = {}
        self.communicators: dict[tuple[str, int], int] = {}
        numbers: dict[int, int] = {}
        seen: Counter[tuple[int, ...]] = Counter()
        for work in dict.fromkeys(table.works[table.works <= _KEPT].tolist()):
            number, tag = _kept(work)
            members = tuple(table.exchanges[number].members)
            if tag not in numbers:
                numbers[tag] = seen[members]
                seen[members] += 1
            group = rank_grids.group_of(grid, members)
            assert group is not None
            self.calls[work] = Operation(table.exchanges[number].operation, group=group, number=numbers[tag])
            self.communicators.setdefault((group, numbers[tag]), tag)

    def of(self, tag: int) -> int:
        """Return what the tag of a message is called: those of other communicators than that of all ranks by place."""
        return self._numbers.get(tag, tag)

    def tag_of(self, name: int) -> int:
        """Return the tag of this name."""
        return self._tags[name - FIRST_TAG] if name >= FIRST_TAG else name


def _kept(work: int) -> tuple[int, int]:
    """Return the number of a collective, and the tag that its messages are to have."""
    number, tag = divmod(-work, 1 << _TAG_BITS)
    return number - 1, tag


def programs(table: Table, grid: Grid, names: Names) -> Iterator[tuple[Shape, list[int]]]:
    """Yield what each rank does, and how much of it: bytes, work [ps], or numbers of what is exchanged."""
    for rank in range(table.ranks):
        begin = {kind: int(at[rank]) for kind, at in table.begins.items()}
        end = {kind: int(at[rank + 1]) for kind, at in table.begins.items()}
        messages = [
            ("recv", int(source), int(table.begins["sends"][source] + send))
            for source, send in table.receives[begin["receives"] : end["receives"]]
        ]
        messages += [("send", int(table.sends["target"][send]), send) for send in range(begin["sends"], end["sends"])]
        first = sum(begin.values())
        cpus = iter(table.cpus[first : sum(end.values())].tolist())
        operations = [
            Operation(kind, rank_grids.offset(grid, rank, other), names.of(int(table.tags[send])), cpu=next(cpus))
            for kind, other, send in messages
        ]
        amounts = [int(table.sends["bytes"][send]) for _, _, send in messages]
        for work, cpu in zip(table.works[begin["works"] : end["works"]].tolist(), cpus, strict=True):
            is_call = work <= _KEPT
            operations.append(names.calls[work] if is_call else Operation("calc", cpu=cpu))
            amounts.append(_kept(work)[0] if is_call else work)
        waits = table.waits[first : first + len(operations) + 1].astype(np.int64)
        dependencies = tuple(
            (earlier, int(each) & _DEPENDENT, bool(int(each) & _ON_START))
            for earlier in range(len(operations))
            for each in table.dependents[waits[earlier] : waits[earlier + 1]]
        )
        yield Shape(tuple(operations), dependencies), amounts
