"""Calls of MPI as a trace has them, rank by rank, and what becomes of them: operations that wait for one another.

Time inside MPI is no work, and time outside is. A receive that was open for any sender is known by who sent, because
traces are written after the fact.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

from tramontane.study.collectives.collective_calls import Algorithms, Exchange
from tramontane.study.traces.operations import Operation, Rank

_TESTS = re.compile(r"p?mpi_(test|request_get_status)", re.IGNORECASE)
_PROBES = re.compile(r"p?mpi_(iprobe|improbe)", re.IGNORECASE)
_WAITS = re.compile(r"p?mpi_(test|iprobe|improbe|request_get_status|wait|probe|mprobe)", re.IGNORECASE)
_MOST_WORK = 10**15  # [ps], of an operation
FIRST_TAG = 1 << 30
"""Tags of communicators other than that of all ranks, and of collectives, by communicator and tag."""


class Mistake(ValueError):
    """What can't be in a trace: found, allowed."""


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
        return FIRST_TAG + self._known.setdefault((communicator, tag), len(self._known))


class Caller:
    """Follows one rank through its calls.

    Parameters
    ----------
    alike : bool
        Whether each call has work before it, if only of no time: ranks that call alike do alike then.

    Attributes
    ----------
    rank : Rank
        Its operations so far.
    position : int
        What the trace counts, such as events; of what is told now.
    started, ended : list of Operation
        By the call that is told now.
    requests : dict of int to Operation
        Those that are open.
    meetings : list of tuples
        Collective calls: operation, communicator, name, root, and what the rank says of sizes.
    """

    def __init__(self, *, alike: bool = False) -> None:
        self._alike = alike
        self.rank = Rank()
        self.position = 0
        self.started: list[Operation] = []
        self.ended: list[Operation] = []
        self.requests: dict[int, Operation] = {}
        self.meetings: list[tuple[Operation, Any, str, int, Any]] = []
        self._polled = False

    def begin(self, name: str, since: int) -> None:
        """Begin a call, so long after the end of the last one [ps]; what passes between polls in vain is no work."""
        if (since > 0 or self._alike) and not (self._polled and _WAITS.match(name)):
            for part in [_MOST_WORK] * (since // _MOST_WORK):  # several in turn, where one would be too long
                self.rank.work(self.position, part)
            if since % _MOST_WORK or since == 0:
                self.rank.work(self.position, since % _MOST_WORK)
        self.started, self.ended = [], []

    def end(self, name: str) -> None:
        """End the call."""
        self.rank.call(self.position, self.started, self.ended)
        # A trace may not say what a test has found: without requests that are open it has nothing to wait for.
        vain = (bool(self.requests) and _TESTS.match(name)) or _PROBES.match(name)
        self._polled = bool(vain) and not self.ended

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


Members = Callable[[Any], tuple[int, ...]]
Say = Callable[[str, tuple[int, ...], int, list[Any]], Exchange | None]


def meet(
    callers: Sequence[Caller],
    place: str,
    members: Members,
    tags: Tags,
    say: Say,
    algorithms: Algorithms,
) -> None:
    """Tell each collective call what all of its ranks say of it.

    Parameters
    ----------
    callers : sequence of Caller
        All ranks.
    place : str
        What positions count, such as "event".
    members : function
        Returns the ranks of a communicator; none where it does not know them.
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
    meetings: dict[tuple[Any, int], dict[int, tuple[Operation, str, int, Any]]] = {}
    for number, caller in enumerate(callers):
        order = {operation: at for at, operation in enumerate(caller.rank.operations)}
        counts: dict[Any, int] = {}
        for own, communicator, name, root, said in sorted(caller.meetings, key=lambda call: order[call[0]]):
            count = counts[communicator] = counts.get(communicator, -1) + 1
            meetings.setdefault((communicator, count), {})[number] = (own, name, root, said)
    for (communicator, count), there in meetings.items():
        ranks = members(communicator) or tuple(there)
        first = next(iter(there))
        where = f"rank {first}, {place} {there[first][0].position}"
        if lacking := [rank for rank in ranks if rank not in there]:
            raise ValueError(
                f"{where}: found a collective, the {count + 1}th of its communicator, that rank {lacking[0]} does not "
                f"call, allowed: calls of all {len(ranks)} ranks"
            )
        names = {(name, root) for _, name, root, _ in there.values()}
        if len(names) > 1:
            (a, _), (b, _) = sorted(names)[:2]
            raise ValueError(f"{where}: found {a} at one rank and {b} at another, allowed: one call, and one root")
        name, root = names.pop()
        try:
            exchange = say(name, ranks, root if root < len(ranks) else 0, [there[rank][3] for rank in ranks])
        except ValueError as error:
            found, _, allowed = str(error).replace(": found", "", 1).replace("allowed: ", "", 1).partition(", ")
            raise ValueError(f"{where}: found {found}, allowed: {allowed}") from None
        for own, *_ in there.values():
            assert own.collective is not None
            own.collective.exchange, own.collective.algorithms = exchange, algorithms
            own.collective.tag = tags.of(ranks, communicator, None)
