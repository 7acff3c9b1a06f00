"""What ranks do, collected as operations that wait for one another, and packed for the simulator.

Calls of a rank come one after the other. What a call starts waits for what the calls before it have waited for
(`Rank.after`), and for the start of what these have only started; so order is kept, and nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tramontane.extension import simulator

if TYPE_CHECKING:
    from tramontane.study.collectives.collective_calls import Expansion


@dataclass(eq=False, slots=True)
class Operation:
    """Something that a rank does.

    Attributes
    ----------
    kind : str
        "send", "receive", "work", "collective", or "kept": a collective that stays one.
    position : int
        Of what it was made from, in its file and rank.
    needs : list of (Operation, bool)
        What it waits for: its start where that is true, else its end.
    peer : int
        The other rank.
    tag : int
        Of the message, or of those that a collective that stays one is to have.
    amount : int
        Bytes, or work [ps], or the number of a collective that stays one.
    collective : Expansion, optional
        What is done in its place.
    answer : Operation, optional
        Of a synchronous send: the receive of an empty message, with which it ends, too.
    """

    kind: str
    position: int
    needs: "list[tuple[Operation, bool]]"
    peer: int = 0
    tag: int = 0
    amount: int = 0
    collective: "Expansion | None" = None
    answer: "Operation | None" = None


Gate = list[tuple[Operation, bool]]


@dataclass
class Rank:
    """The operations of a rank, in the order of its calls.

    Attributes
    ----------
    operations : list of Operation
        So far.
    after : list of (Operation, bool)
        What the next call waits for; see :attr:`Operation.needs`.
    late : set of Operation
        Those that have started later than they have come among the others.
    """

    operations: list[Operation] = field(default_factory=list)
    after: Gate = field(default_factory=list)
    late: set[Operation] = field(default_factory=set)

    def add(self, kind: str, position: int, **more: Any) -> Operation:
        """Return an operation that is started now."""
        operation = Operation(kind, position, self.after, **more)
        self.operations.append(operation)
        return operation

    def start(self, operation: Operation) -> None:
        """Start an operation now that has its place in the order."""
        operation.needs = self.after
        self.late.add(operation)

    def work(self, position: int, time: int) -> None:
        """Let the rank work [ps], and do nothing else."""
        self.after = [(self.add("work", position, amount=time), False)]

    def call(self, position: int, started: Sequence[Operation], ended: Sequence[Operation]) -> None:
        """End a call that has started some operations, and waited for the end of others."""
        done = list(dict.fromkeys(ended))
        gate = [(each, False) for each in done] + [(each, True) for each in started if each not in done]
        if not gate:
            return
        if not any(each.needs is self.after for each, _ in gate):
            gate += self.after  # what was started before does not wait for what has come since
        if len(gate) > 1:
            self.after = gate
            gate = [(self.add("work", position), False)]
        self.after = gate


def pack(ranks: Sequence[Rank], place: str) -> memoryview:
    """Return the table of operations (``skeleton-src/graphs/table.hpp``).

    Parameters
    ----------
    ranks : sequence of Rank
        All of them.
    place : str
        What positions count, such as "event".

    Raises
    ------
    ValueError
        For messages that have one end only, and others that can't be; the line says rank and position.
    """
    builder = simulator().schedule.GraphBuilder(len(ranks), place)
    for number, rank in enumerate(ranks):
        builder.begin_rank(number, 0)
        _tell(builder, number, rank)
    return memoryview(builder.pack())


def _tell(builder: Any, number: int, rank: Rank) -> None:
    begins: dict[Operation, list[tuple[int, bool]]] = {}
    ends: dict[Operation, list[tuple[int, bool]]] = {}

    def needs_of(operation: Operation) -> list[tuple[int, bool]]:
        return [need for each, on_start in operation.needs for need in (begins if on_start else ends)[each]]

    def told(operation: Operation, needs: Sequence[tuple[int, bool]]) -> int:
        if operation.kind == "kept":
            own: int = builder.keep(operation.amount, operation.tag, operation.position)
        elif operation.kind == "work" or operation.peer == number:  # a message to oneself passes no network
            own = builder.work(operation.amount if operation.kind == "work" else 0, operation.position)
        elif operation.kind == "send":
            own = builder.send(operation.peer, operation.tag, operation.amount, operation.position)
        else:
            own = builder.receive(operation.peer, operation.tag, operation.amount, operation.position)
        for earlier, on_start in needs:
            builder.depend(own, earlier, on_start)
        return own

    for operation in rank.operations:
        needs = [] if operation in rank.late else needs_of(operation)
        if operation.collective is None:
            own = told(operation, needs)
            begins[operation], ends[operation] = [(own, True)], [(own, False)]
            continue
        begins[operation] = ends[operation] = needs
        for messages in operation.collective.rounds(number):
            ends[operation] = [
                (told(Operation(kind, operation.position, [], peer, tag, size), ends[operation]), False)
                for kind, peer, tag, size in messages
            ] or ends[operation]
    for operation in filter(rank.late.__contains__, rank.operations):
        for earlier, on_start in needs_of(operation):
            builder.depend(begins[operation][0][0], earlier, on_start)
