"""A trace of more ranks than were traced, where ranks exchange messages with neighbours on a grid.

Traces of several numbers of ranks are laid on grids on which the same neighbours exchange messages. Ranks that lie
alike (inside, at an edge, in a corner) must do the same in all of them. Collectives of all ranks, or of those along
some dimensions, stay such, and become messages among as many ranks as there are to be. How sizes and work are fitted is
in :mod:`tramontane.study.traces.fitted_amounts`. What fits nothing is refused.
"""

import functools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tramontane.errors import InputError
from tramontane.study.collectives.collective_calls import DEFAULT_ALGORITHMS, Algorithms
from tramontane.study.traces import fitted_amounts, rank_grids, traced_programs
from tramontane.study.traces.fitted_amounts import Shares
from tramontane.study.traces.goal_programs import Call, Message, Program, Work, text_of
from tramontane.study.traces.rank_grids import Grid, Kinds, Place
from tramontane.study.traces.traced_programs import Names, Operation, Shape, Table

LEAST_TRACES = 3
_ALLOWED = "what every rank at such a place of the grid does, in all traces"
_PICOSECONDS = 1000
"""Of a nanosecond, in which GOAL has work."""


@dataclass(frozen=True)
class Extrapolation:
    """What more ranks do.

    Attributes
    ----------
    grid : Grid
        Of the ranks.
    reach : tuple of int
        How far messages go along each dimension.
    programs : dict of Place to Program
        What ranks at each place do.
    noise : float
        By how much work differs from what it is fitted by: of all work of a rank, at the place and in the trace where
        it is most.
    algorithms : tuple
        By which collectives become messages.
    rounded : (str, float), optional
        Where a size is rounded most, relative to it, and what it would be [B]; None if all are whole.
    """

    grid: Grid
    reach: tuple[int, ...]
    programs: dict[Place, Program]
    noise: float
    algorithms: Algorithms
    rounded: tuple[str, float] | None = None

    def texts(self) -> Iterator[str]:
        """Yield GOAL, rank by rank."""
        ranks = math.prod(self.grid)
        yield f"num_ranks {ranks}\n"
        for rank in range(ranks):
            yield text_of(rank, self._program(rank), self.grid, self.algorithms)

    def calls(self) -> Counter[str]:
        """Return how many collectives of each operation rank 0 calls."""
        return Counter(step.operation for step in self._program(0).steps if isinstance(step, Call))

    def _program(self, rank: int) -> Program:
        return self.programs[rank_grids.place(self.grid, rank, self.reach)]


@dataclass
class _Alike:
    """What ranks at a place do, and by trace how much of it each."""

    path: Path
    rank: int
    shape: Shape
    amounts: list[list[list[int]]]


def extrapolated(
    paths: Sequence[Path], ranks: int, algorithms: Algorithms = DEFAULT_ALGORITHMS, grid: Grid | None = None
) -> Extrapolation:
    """Return what more ranks do.

    Parameters
    ----------
    paths : sequence of Path
        Traces of at least three numbers of ranks.
    ranks : int
        Of the trace that is wanted.
    algorithms : tuple
        By which collectives become messages; see :func:`tramontane.study.collectives.collective_calls.frozen`.
    grid : Grid, optional
        On which so many ranks lie; by default the squarest that lies as those of the traces.

    Raises
    ------
    InputError
        If a trace can't be read, or what its ranks do is not that of neighbours on a grid, and of all together.
    """
    tables = sorted((traced_programs.read(path) for path in paths), key=lambda table: table.ranks)
    if len({table.ranks for table in tables}) < LEAST_TRACES:
        allowed = f"traces of {LEAST_TRACES} numbers of ranks or more"
        raise InputError(paths[0], "", None, allowed, problem=f"found {len({table.ranks for table in tables})}")
    grids, kinds = traced_programs.grids_of(tables)
    if grid is not None:
        _check_known(grids, grid)
    wanted = grid or _wanted(grids, ranks)
    names = [Names(table, grid) for table, grid in zip(tables, grids, strict=True)]
    reach = rank_grids.reach(kinds, len(wanted))
    alike = _alike(tables, grids, kinds, names)
    fit = _Fit(tables, grids, wanted, names[0])
    programs: dict[Place, Program] = {}
    for rank in range(ranks):
        place = rank_grids.place(wanted, rank, reach)
        if place in programs:
            continue
        for number, (table, known) in enumerate(zip(tables, grids, strict=True)):
            if place not in alike or not alike[place].amounts[number]:
                where = rank_grids.told_place(place, reach)
                problem = f"found none like it on a grid of {rank_grids.told(known)}: {where}"
                allowed = "traces with ranks at all places that the wanted grid has"
                raise InputError(table.path, f"rank {rank} of {ranks}", None, allowed, problem=problem)
        programs[place] = fit.program(alike[place])
    return Extrapolation(wanted, reach, programs, fit.noise, algorithms, fit.rounded)


def _wanted(grids: Sequence[Grid], ranks: int) -> Grid:
    """Return the grid of so many ranks (InputError)."""
    found = rank_grids.like(grids, ranks)
    if found is None:
        allowed = f"a number of ranks on a grid like {', '.join(map(rank_grids.told, grids))}"
        for dim, known in enumerate(zip(*grids, strict=True)):
            if 1 < min(known) == max(known):
                allowed += f": {_kept(dim, known)}"
                break
        raise InputError("--ranks", "", ranks, allowed)
    return found


def _check_known(grids: Sequence[Grid], wanted: Grid) -> None:
    """Refuse a grid of other dimensions, or of another length along one along which those of the traces are alike."""
    problem = f"found {rank_grids.told(wanted)}"
    if len(wanted) != len(grids[0]):
        allowed = f"{len(grids[0])} dimensions, as {rank_grids.told(grids[0])} in the traces"
        raise InputError("--grid", "", None, allowed, problem=problem)
    for dim, (side, known) in enumerate(zip(wanted, zip(*grids, strict=True), strict=True)):
        if len(set(known)) == 1 and side != known[0]:
            raise InputError("--grid", "", None, _kept(dim, known), problem=problem)


def _kept(dim: int, known: Sequence[int]) -> str:
    """Say that a dimension has to be as long as in all traces."""
    return f"{known[0]} ranks along dimension {dim + 1}, as in all traces, or a trace with others"


def _alike(tables: Sequence[Table], grids: Sequence[Grid], kinds: Kinds, names: Sequence[Names]) -> dict[Place, _Alike]:
    """Return what ranks at each place do in all traces (InputError)."""
    reach = rank_grids.reach(kinds, len(grids[0]))
    found: dict[Place, _Alike] = {}
    for number, (table, grid) in enumerate(zip(tables, grids, strict=True)):
        for rank, (shape, much) in enumerate(traced_programs.programs(table, grid, kinds, names[number])):
            place = rank_grids.place(grid, rank, reach)
            known = found.setdefault(place, _Alike(table.path, rank, shape, [[] for _ in tables]))
            if known.shape != shape:
                raise InputError(table.path, f"rank {rank}", None, _ALLOWED, problem=_difference(shape, known))
            known.amounts[number].append(much)
    return found


def _difference(shape: Shape, known: _Alike) -> str:
    """Return what a rank does that one at such a place does not."""
    other = f"rank {known.rank} of {known.path}"
    for here, there in zip(shape.operations, known.shape.operations, strict=False):
        if here != there:
            return f"found {here} where {other} has {there}"
    counts = len(shape.operations), len(known.shape.operations)
    if counts[0] != counts[1]:
        return f"found {counts[0]} operations, and {counts[1]} at {other}"
    return f"found operations in another order than those of {other}, or that wait for others"


class _Fit:
    """Fits amounts, and keeps how far work is from what it is fitted by, and which size is rounded most."""

    def __init__(self, tables: Sequence[Table], grids: Sequence[Grid], wanted: Grid, names: Names) -> None:
        self._tables, self._grids, self._wanted, self._names = tables, grids, wanted, names
        # Ranks at most places send the same.
        self._fits = functools.cache(
            lambda known, shares: fitted_amounts.sizes(grids, np.array(known, dtype=np.float64), wanted, shares)
        )
        self.noise = 0.0
        self.rounded: tuple[str, float] | None = None

    def program(self, alike: _Alike) -> Program:
        """Return what ranks at a place of the wanted grid do (InputError)."""
        steps: list[Message | Work | Call] = []
        usual, off = np.zeros(len(self._grids)), np.zeros(len(self._grids))
        for number, operation in enumerate(alike.shape.operations):
            where = f"rank {alike.rank}, {operation}"
            amounts = [[much[number] for much in of] for of in alike.amounts]
            if operation.group:
                steps.append(self._call(operation, amounts, alike.path, where))
            elif operation.kind == "calc":
                works = np.array([np.median(each) for each in amounts])
                time, told = fitted_amounts.work(self._grids, works, self._wanted)
                steps.append(Work(round(time / _PICOSECONDS), operation.cpu))
                usual += works
                off += np.abs(told - works)
            else:
                size = self._size(amounts, fitted_amounts.of_messages, alike.path, where)
                tag = self._names.tag_of(operation.tag)
                steps.append(Message(operation.kind, size, operation.away, tag, operation.cpu))
        if usual.all():
            self.noise = max(self.noise, float((off / usual).max()))
        return Program(steps, alike.shape.dependencies)

    def _call(self, operation: Operation, numbers: list[list[int]], path: Path, where: str) -> Call:
        of = [[table.exchanges[each] for each in own] for table, own in zip(self._tables, numbers, strict=True)]
        size = self._size([[each.size for each in own] for own in of], fitted_amounts.of_collectives, path, where)
        roots = [sorted({each.root for each in own}) for own in of]
        length = len(rank_grids.members(self._wanted, operation.group, 0))
        root = None
        if all(len(each) == 1 for each in roots):
            lengths = [len(own[0].members) for own in of]
            root = fitted_amounts.root(lengths, [place for (place,) in roots], length)
        if root is None:
            found = ", ".join(" and ".join(map(str, own)) for own in roots)
            allowed = "one root at all such ranks, counted from the first rank or from the last"
            raise InputError(path, where, None, allowed, problem=f"found roots {found}")
        tag = self._names.communicators[operation.group, operation.number]
        return Call(operation.kind, operation.group, root, size, tag)

    def _size(self, sizes: list[list[int]], shares: Shares, path: Path, where: str) -> int:
        is_one = all(len(set(own)) == 1 for own in sizes)
        fits = self._fits(tuple(own[0] for own in sizes), shares) if is_one else []
        if len(fits) == 1 and not math.isnan(fits[0]):
            return self._whole(fits[0], where)
        found = ", ".join(f"{np.median(own):.0f} B" for own in sizes)
        grows = ", or grows with them" * (shares is fitted_amounts.of_collectives)
        allowed = (
            f"one size at all such ranks, or one that is divided among ranks along some dimensions{grows}, or a sum of "
            "these if there are more lengths than parts"
        )
        if fits:
            grid = rank_grids.told(self._wanted)
            told = ["another size" if math.isnan(size) else f"{size:.0f} B" for size in fits]
            found += f", of which {grid} ranks may have {' or '.join(dict.fromkeys(told))}"
            allowed = "a trace more, on a grid of other proportions"
        raise InputError(path, where, None, allowed, problem=f"found {found}")

    def _whole(self, size: float, where: str) -> int:
        most = fitted_amounts.rounding(self.rounded[1]) if self.rounded else 0.0
        if fitted_amounts.rounding(size) > most:
            self.rounded = where, size
        return round(size)
