"""Calls of MPI as a trace has them, rank by rank, and what becomes of them: operations that wait for one another.

Time inside MPI is no work, and time outside is. A receive that was open for any sender is known by who sent, because
traces are written after the fact.
"""

import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tramontane.study.collectives.collective_calls import Algorithms, Exchange
from tramontane.study.traces.operations import Operation, Rank

_NAME = re.compile(r"p?(mpi_\w*?)(_f08(ts)?)?_*(\W.*)?", re.IGNORECASE | re.DOTALL)
"""Of a call: profilers, Fortran and other tools add to it."""
INITS = frozenset({"mpi_init", "mpi_init_thread"})
_TESTS = frozenset(f"mpi_{what}" for what in ("test", "testall", "testany", "testsome")) | {
    f"mpi_request_get_status{of}" for of in ("", "_all", "_any", "_some")
}
_PROBES = frozenset({"mpi_iprobe", "mpi_improbe"})
_WAITS = _TESTS | _PROBES | {"mpi_wait", "mpi_waitall", "mpi_waitany", "mpi_waitsome", "mpi_probe", "mpi_mprobe"}
_TAKES = frozenset({"mpi_waitany", "mpi_waitsome"})
"""These wait for whatever ends first."""
_MOST_WORK = 10**15  # [ps], of an operation
_MOST_TIME = 1000 * _MOST_WORK
"""Of a rank outside of calls [ps]: more than a simulation may last, by the speed of processors."""
FIRST_TAG = 1 << 30
"""Tags of communicators other than that of all ranks, and of collectives, by communicator and tag."""


class Mistake(ValueError):
    """What can't be in a trace: found, allowed."""


@functools.cache
def plain(name: str) -> str:
    """Return the name of a call as MPI has it, in small letters; empty if it is none of MPI."""
    found = _NAME.fullmatch(name)
    return found[1].lower() if found else ""


class Tags:
    """A number for each tag of each communicator.

    Parameters
    ----------
    ranks : int
        How many there are.
    """

    def __init__(self, ranks: int) -> None:
        self._everybody = tuple(range(ranks))
        self._world: Any = None
        self._known: dict[Any, int] = {}

    def of(self, members: tuple[int, ...], communicator: Any, tag: Any) -> int:
        """Return the number; tag None is that of collectives."""
        if self._world is None and members == self._everybody:
            self._world = communicator
        if communicator is not None and communicator == self._world and isinstance(tag, int) and tag < FIRST_TAG:
            return tag
        return self._number(communicator, tag)

    def of_answers(self, number: int) -> int:
        """Return the number for answers to messages that have one."""
        return self._number("answers", number)

    def _number(self, *what: Any) -> int:
        return FIRST_TAG + self._known.setdefault(what, len(self._known))


@dataclass(frozen=True, slots=True)
class Meeting:
    """What a rank says of a collective call.

    Attributes
    ----------
    operation : Operation
        What stands for it.
    communicator : object
        Whatever the trace has.
    members : tuple of int
        Its ranks.
    name : str
        Of the call.
    root : int, optional
        Place of the root; None where there is none.
    said : object
        Of sizes.
    """

    operation: Operation
    communicator: Any
    members: tuple[int, ...]
    name: str
    root: int | None
    said: Any

    def __str__(self) -> str:
        return self.name if self.root is None else f"{self.name} with root {self.root}"


class Caller:
    """Follows one rank through its calls.

    Parameters
    ----------
    alike : bool
        Whether each call has work before it, if only of no time, and calls in turn that each wait for whatever ends
        first are as one that waits for all of that: ranks that call alike do alike then.

    Attributes
    ----------
    rank : Rank
        Its operations so far.
    position : int
        What the trace counts, such as events; of what is told now.
    started, ended : list of Operation
        By the call that is told now.
    found : bool
        Whether it is a probe that has found a message.
    requests : dict of int to Operation
        Those that are open.
    meetings : list of Meeting
        Collective calls.
    """

    def __init__(self, *, alike: bool = False) -> None:
        self._alike = alike
        self.rank = Rank()
        self.position = 0
        self.started: list[Operation] = []
        self.ended: list[Operation] = []
        self.found = False
        self.requests: dict[int, Operation] = {}
        self.meetings: list[Meeting] = []
        self._polled = False
        self._takes = False
        self._between = 0
        self._passed = 0

    def begin(self, name: str, since: int) -> None:
        """Begin a call, so long after the end of the last one [ps]; what passes between polls in vain is no work.

        Raises
        ------
        Mistake
            If it is more than any program takes, as where the clock of a trace is broken.
        """
        self._passed += since
        if self._passed > _MOST_TIME:
            raise Mistake(f"{self._passed / 10**12:.4g} s outside of calls", f"up to {_MOST_TIME // 10**12} s")
        if self._takes and plain(name) in _TAKES:
            self._between += since
            return
        self.end_turns()
        if (since > 0 or self._alike) and not (self._polled and plain(name) in _WAITS):
            self._work(since)
        self.started, self.ended, self.found = [], [], False

    def end(self, name: str) -> None:
        """End the call."""
        self._takes = self._alike and plain(name) in _TAKES
        if not self._takes:
            self.rank.call(self.position, self.started, self.ended)
        # A trace may not say what a test has found: without requests that are open it has nothing to wait for.
        vain = plain(name) in (_TESTS | _PROBES if self.requests else _PROBES)
        self._polled = vain and not self.ended and not self.found

    def end_turns(self) -> None:
        """End calls in turn that each have waited for whatever ends first: no other one follows."""
        if self._takes:
            self.rank.call(self.position, self.started, self.ended)
            self._work(self._between)
            self._takes, self._between = False, 0

    def _work(self, time: int) -> None:
        for part in [_MOST_WORK] * (time // _MOST_WORK):  # several in turn, where one would be too long
            self.rank.work(self.position, part)
        if time % _MOST_WORK or time == 0:
            self.rank.work(self.position, time % _MOST_WORK)

    def works(self) -> None:
        """Take note that the rank does something else than to poll."""
        self._polled = False

    def message(self, kind: str, **more: Any) -> None:
        """Tell of a message of which the call has waited for the end."""
        self.ended.append(self.rank.add(kind, self.position, **more))

    def open(self, request: int, kind: str, **more: Any) -> Operation:
        """Start something that a request stands for."""
        own = self.requests[request] = self.rank.add(kind, self.position, **more)
        self.started.append(own)
        return own

    def close(self, request: int, what: str) -> Operation:
        """Return what a request stands for, which is no longer open.

        Raises
        ------
        Mistake
            If there is no such request.
        """
        operation = self.requests.pop(request, None)
        if operation is None:
            raise Mistake(f"the end of request {request}", f"requests that a {what} has begun")
        return operation


Say = Callable[[str, tuple[int, ...], int, list[Any]], Exchange | None]


def meet(callers: Sequence[Caller], place: str, tags: Tags, say: Say, algorithms: Algorithms) -> None:
    """Tell each collective call what all of its ranks say of it.

    Parameters
    ----------
    callers : sequence of Caller
        All ranks.
    place : str
        What positions count, such as "event".
    tags : Tags
        Gives the messages their tags.
    say : function
        Makes one of what the members say: name, members, root, and what each says.
    algorithms : tuple
        See :func:`tramontane.study.collectives.collective_calls.frozen`.

    Raises
    ------
    ValueError
        If a rank is missing, or ranks say different things; the line says rank and position.
    """
    meetings: dict[tuple[Any, int, int], dict[int, Meeting]] = {}
    for number, caller in enumerate(callers):
        order = {operation: at for at, operation in enumerate(caller.rank.operations)}
        counts: Counter[Any] = Counter()
        for own in sorted(caller.meetings, key=lambda call: order[call.operation]):
            counts[own.communicator] += 1
            # MPI_COMM_SELF is one in the trace, and another one at each rank.
            there = meetings.setdefault((own.communicator, own.members[0], counts[own.communicator]), {})
            there[number] = own
    for (communicator, _, count), there in meetings.items():
        number, first = next(iter(there.items()))
        ranks = first.members
        where = f"rank {number}, {place} {first.operation.position}"
        if lacking := [rank for rank in ranks if rank not in there]:
            raise ValueError(
                f"{where}: found collective {count} of its communicator, which rank {lacking[0]} does not "
                f"call, allowed: calls of all {len(ranks)} ranks"
            )
        for rank, other in there.items():
            if (other.name, other.root) != (first.name, first.root):
                found = f"{first} at rank {number} and {other} at rank {rank}"
                raise ValueError(f"{where}: found {found}, allowed: one call, and one root")
        try:
            exchange = say(first.name, ranks, first.root or 0, [there[rank].said for rank in ranks])
        except ValueError as error:
            found, _, allowed = str(error).replace(": found", "", 1).replace("allowed: ", "", 1).partition(", ")
            raise ValueError(f"{where}: found {found}, allowed: {allowed}") from None
        for own in there.values():
            expansion = own.operation.collective
            assert expansion is not None
            expansion.exchange, expansion.algorithms = exchange, algorithms
            expansion.tag = tags.of(ranks, communicator, None)
