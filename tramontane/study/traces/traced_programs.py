"""What each rank of a trace does, said so that ranks that do alike say the same.

Neighbours on a grid take the place of ranks, and all ranks along some of its dimensions that of a communicator's
members.
"""

import struct
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tramontane.errors import InputError, display_path
from tramontane.study.collectives.collective_calls import SCAN, Exchange
from tramontane.study.traces import rank_grids, traces
from tramontane.study.traces.calls import FIRST_TAG
from tramontane.study.traces.rank_grids import Grid, Group, Kinds, Offset, Ranks

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
_LINES = "communicators of all ranks, or of those along some dimensions of the grid that they lie on, in this order"


@dataclass(frozen=True)
class Operation:
    """Something that a rank does.

    Attributes
    ----------
    kind : str
        "recv", "send", "calc", or that of a collective: its name in the catalogue, or "scan".
    away : tuple of int
        The offset of the other rank; empty for others.
    tag : int
        Of a message.
    group : tuple of bool
        The communicator of a collective; empty for others.
    number : int
        Of this one among the communicators of the same ranks.
    cpu : int
        The processor that does it; of a collective 0.
    """

    kind: str
    away: Offset = ()
    tag: int = 0
    group: Group = ()
    number: int = 0
    cpu: int = 0

    def __str__(self) -> str:
        if self.group:
            return f"{self.kind} {rank_grids.told_group(self.group)}"
        who = f" of cpu {self.cpu}" if self.cpu else ""
        if self.kind == "calc":
            return f"work{who}"
        where = f"tag {self.tag}" if self.tag < FIRST_TAG else "in another communicator than that of all ranks"
        return f"{self.kind}{who} at offset {self.away}, {where}"


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

    def ends(self) -> tuple[Ranks, Ranks]:
        """Return the source and target of each send."""
        begins = self.begins["sends"].astype(np.int64)
        return np.repeat(np.arange(self.ranks), begins[1:] - begins[:-1]), self.sends["target"].astype(np.int64)


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
    if not rank_grids.may_be_of_a_grid(tuple(exchange.members), ranks):
        raise ValueError(f"{exchange.operation} of a communicator of {number} of {ranks} ranks, {_LINES}")


def grids_of(tables: Sequence[Table]) -> tuple[list[Grid], Kinds]:
    """Return grids on which all traces have the same kinds of neighbours, as few and near as may be, and these.

    Ranks along some of their dimensions are what the communicators have.

    Raises
    ------
    InputError
        If there are no such grids.
    """
    laid = [_laid(table) for table in tables]
    common = [each for each in laid[0] if all(each in found for found in laid)]
    if not common:
        raise _different(tables, laid)
    refusals: list[InputError] = []
    for each in sorted(common, key=lambda one: (len(one[1]), sum(abs(step) for away in one[1] for step in away))):
        try:
            return [_with_lines(table, found[each]) for table, found in zip(tables, laid, strict=True)], each[1]
        except InputError as error:
            refusals.append(error)
    raise refusals[0]


def _laid(table: Table) -> dict[tuple[int, Kinds], list[Grid]]:
    """Return the grids on which there are so many dimensions, and such kinds of neighbours, the squarest first.

    It is one row where nothing tells of neighbours.
    """
    sources, targets = table.ends()
    if not targets.size and all(len(each.members) == table.ranks for each in table.exchanges):
        return {(2, frozenset()): [(1, table.ranks)]}
    sources, targets = np.divmod(np.unique(sources * table.ranks + targets), table.ranks)
    found: dict[tuple[int, Kinds], list[Grid]] = {}
    for grid in rank_grids.grids(table.ranks):
        for kinds in rank_grids.kinds(grid, sources, targets):
            found.setdefault((len(grid), kinds), []).append(grid)
    return found


def _with_lines(table: Table, grids: Sequence[Grid]) -> Grid:
    """Return the first grid that has the communicators along its dimensions (InputError)."""
    communicators = {tuple(each.members): each for each in table.exchanges if len(each.members) < table.ranks}
    for grid in grids:
        if all(rank_grids.group_of(grid, ranks) for ranks in communicators):
            return grid
    other = next(each for ranks, each in communicators.items() if not rank_grids.group_of(grids[0], ranks))
    on = rank_grids.told(grids[0])
    problem = (
        f"found {other.operation} of a communicator of {len(other.members)} of {table.ranks} ranks on a grid of {on}"
    )
    raise InputError(table.path, f"rank {other.members[0]}", None, _LINES, problem=problem)


def _different(tables: Sequence[Table], laid: Sequence[Mapping[tuple[int, Kinds], list[Grid]]]) -> InputError:
    """Return what is wrong with traces that have no kinds of neighbours in common."""

    def fewest(dims: int) -> list[tuple[int, Kinds]]:
        return [min((each for each in found if each[0] == dims), key=lambda one: len(one[1])) for found in laid]

    common = (dims for dims in rank_grids.DIMENSIONS if all(any(each[0] == dims for each in found) for found in laid))
    best = min(map(fewest, common), key=lambda each: sum(len(kinds) for _, kinds in each))
    other = next(number for number, each in enumerate(best) if each != best[0])
    away = min(best[other][1] ^ best[0][1])
    having, lacking = (0, other) if away in best[0][1] else (other, 0)
    grid, none = (rank_grids.told(laid[each][best[each]][0]) for each in (having, lacking))
    problem = (
        f"found messages to offset {away} on a grid of {grid}, "
        f"and none such on one of {none} in {display_path(tables[lacking].path)}"
    )
    allowed = (
        "the same neighbours on a grid of up to three dimensions in all traces; in GOAL collectives are messages, too"
    )
    return InputError(tables[having].path, "", None, allowed, problem=problem)


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
    communicators : dict of (Group, int) to int
        By group, and number among those of the same ranks: the tag of its collectives, at the first rank.
    """

    def __init__(self, table: Table, grid: Grid) -> None:
        tags, first = np.unique(table.tags, return_index=True)
        ordered = tags[np.argsort(first)]
        self._tags: list[int] = ordered[ordered >= FIRST_TAG].tolist()
        self._numbers = {tag: FIRST_TAG + number for number, tag in enumerate(self._tags)}
        self.calls: dict[int, Operation] = {}
        self.communicators: dict[tuple[Group, int], int] = {}
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


def programs(table: Table, grid: Grid, kinds: Kinds, names: Names) -> Iterator[tuple[Shape, list[int]]]:
    """Yield what each rank does, and how much of it: bytes, work [ps], or numbers of what is exchanged."""
    aways = rank_grids.offsets(grid, *table.ends(), kinds)
    for rank in range(table.ranks):
        begin = {kind: int(at[rank]) for kind, at in table.begins.items()}
        end = {kind: int(at[rank + 1]) for kind, at in table.begins.items()}
        received = [
            int(table.begins["sends"][source] + send)
            for source, send in table.receives[begin["receives"] : end["receives"]]
        ]
        messages = [("recv", tuple(-step for step in aways[send]), send) for send in received]
        messages += [("send", aways[send], send) for send in range(begin["sends"], end["sends"])]
        first = sum(begin.values())
        cpus = iter(table.cpus[first : sum(end.values())].tolist())
        operations = [
            Operation(kind, away, names.of(int(table.tags[send])), cpu=next(cpus)) for kind, away, send in messages
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
