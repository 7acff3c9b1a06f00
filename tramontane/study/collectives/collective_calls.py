"""Collective calls of a trace as messages, by the algorithms of the catalogue (docs/collectives.md).

Traces say sizes in two ways. Ours have those that the call was given (:func:`from_sizes`). Score-P, which writes OTF2,
counts what each rank sent and received as if everybody sent directly to everybody who gets something, so that an
allreduce of n bytes among N ranks sends and receives N n each (:func:`from_totals`). Where the result takes the place
of the data it counts (N - 1) n, which looks like a smaller n.
"""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tramontane.extension import simulator
from tramontane.study.collectives.library_choice import Step, chosen
from tramontane.study.values.units import DOUBLE

DEFAULTS: dict[str, dict[str, Any]] = {
    "barrier": {"algorithm": "dissemination"},
    "broadcast": {"algorithm": "binomial"},
    "reduce": {"algorithm": "binomial"},
    "gather": {"algorithm": "binomial"},
    "scatter": {"algorithm": "binomial"},
    "allgather": {"algorithm": "ring"},
    "allreduce": {"algorithm": "recursive-doubling"},
    "alltoall": {"algorithm": "ring-k", "radix": 1},
}
"""The algorithm of each operation, if a point names no other."""
LIBRARY = "library"
"""In the place of an algorithm: the library that chooses one."""
SCAN = "scan"
"""What the catalogue has no algorithm of: each rank sends to the next one."""
_ROOTED = ("broadcast", "reduce", "gather", "scatter")
ROOTED = frozenset({"BCAST", "REDUCE", "GATHER", "GATHERV", "SCATTER", "SCATTERV"})
"""Calls that have a root, as OTF2 calls them."""
_SILENT = ("DESTROY_HANDLE", "DEALLOCATE", "DESTROY_HANDLE_AND_DEALLOCATE")
"""Calls that send nothing."""

Message = tuple[str, int, int, int]
"""Kind ("send" or "receive"), the other rank, tag, bytes."""
Algorithms = tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]
"""Keys of the algorithms of operations, as they may be looked up."""


def frozen(algorithms: Mapping[str, Mapping[str, Any]], library: str | None = None) -> Algorithms:
    """Return the algorithms that a point names, to be looked up.

    Parameters
    ----------
    algorithms : mapping
        Keys of those that are named, by operation.
    library : str, optional
        Who chooses those of all other operations, by size and ranks; see `library_choice`. By default they are fixed.
    """
    others = {name: {LIBRARY: library} for name in DEFAULTS} if library else DEFAULTS
    return tuple((name, tuple((algorithms.get(name) or keys).items())) for name, keys in others.items())


DEFAULT_ALGORITHMS = frozen({})


@dataclass(frozen=True)
class Exchange:
    """What the ranks of a communicator exchange in a collective call.

    Attributes
    ----------
    operation : str
        As the catalogue calls it.
    members : sequence of int
        The ranks.
    root : int
        Place of the root among them; 0 where there is none.
    size : int
        Of a block [B]; in a scan, of what each sends to the next.
    sizes : tuple of tuples of int, optional
        What each sends to each [B], where blocks differ; it is sent directly then.
    """

    operation: str
    members: Sequence[int]
    root: int = 0
    size: int = 0
    sizes: tuple[tuple[int, ...], ...] | None = None


@dataclass(eq=False)
class Expansion:
    """The messages of a call, for which a trace stands once it is known at all ranks.

    Attributes
    ----------
    tag : int
        Of all messages of the communicator's collectives; the schedule's own is left out, because messages between two
        ranks come in order.
    exchange : Exchange, optional
        None as long as it is not known, or if nothing is sent.
    algorithms : tuple
        By operation; see :func:`frozen`.
    """

    tag: int = 0
    exchange: Exchange | None = None
    algorithms: Algorithms = DEFAULT_ALGORITHMS

    def rounds(self, rank: int) -> Iterator[list[Message]]:
        """Yield the messages of a rank, round by round; each round waits for the one before."""
        exchange = self.exchange
        if exchange is None or len(exchange.members) == 1:
            return
        members = exchange.members
        own = members.index(rank)
        if exchange.operation == SCAN:
            yield from _along(exchange, own, self.tag)
            return
        if exchange.sizes is not None:
            yield from _direct(exchange.sizes, members, own, self.tag)
            return
        for told in schedules(exchange, self.algorithms):
            for number in range(told.rounds):
                round_ = told.round(own, number)
                got = [told.receive(own, number, i) for i in range(round_.receives)]
                sent = [told.send(own, number, i) for i in range(round_.sends)]
                if got or sent:
                    yield [("receive", members[t.peer], self.tag, t.bytes) for t in got] + [
                        ("send", members[t.peer], self.tag, t.bytes) for t in sent
                    ]


@functools.lru_cache(maxsize=1024)
def schedules(exchange: Exchange, algorithms: Algorithms) -> tuple[Any, ...]:
    """Return the schedules, one after the other, of an exchange of blocks of one size; none if it sends nothing."""
    ranks = len(exchange.members)
    if exchange.operation != "barrier" and exchange.size == 0:
        return ()
    how = dict(dict(algorithms)[exchange.operation])
    steps: Sequence[Step] = [(exchange.operation, how)]
    if LIBRARY in how:
        steps = chosen(how[LIBRARY], exchange.operation, exchange.size, ranks)
    return tuple(_schedule(operation, keys, exchange) for operation, keys in steps)


def _schedule(operation: str, how: dict[str, Any], exchange: Exchange) -> Any:
    keys = {"kind": "collective", "operation": operation, **how}
    if operation != "barrier":
        keys["count"] = -(-exchange.size // DOUBLE)
        if operation in _ROOTED:
            keys["root"] = exchange.root
    return simulator().schedule.Schedule(keys, len(exchange.members))


def _along(exchange: Exchange, own: int, tag: int) -> Iterator[list[Message]]:
    """Yield the messages of a scan; empty ones are none."""
    members, size = exchange.members, exchange.size
    messages: list[Message] = [("receive", members[own - 1], tag, size)] if own > 0 else []
    messages += [("send", other, tag, size) for other in members[own + 1 : own + 2]]
    if messages and size > 0:
        yield messages


def _direct(sizes: tuple[tuple[int, ...], ...], members: Sequence[int], own: int, tag: int) -> Iterator[list[Message]]:
    """Yield the messages that a rank gets and sends at once, to the next ranks first; empty ones are none."""
    number = len(members)
    away = range(1, number)
    got = [((own - i) % number, sizes[(own - i) % number][own]) for i in away]
    sent = [((own + i) % number, sizes[own][(own + i) % number]) for i in away]
    messages = [("receive", members[other], tag, size) for other, size in got if size > 0]
    messages += [("send", members[other], tag, size) for other, size in sent if size > 0]
    if messages:
        yield messages


def from_sizes(  # noqa: PLR0911, PLR0912
    operation: str, members: tuple[int, ...], root: int, said: Sequence[tuple[int, ...]]
) -> Exchange | None:
    """Return what a call exchanges of which each member tells the sizes that it was given.

    Parameters
    ----------
    operation : str
        As MPI calls it, without "MPI_".
    members : tuple of int
        The ranks of its communicator.
    root : int
        Place of the root among them.
    said : sequence of tuples of int
        Of each member: one size [B], or one for each rank; nothing in a barrier.

    Raises
    ------
    ValueError
        If the root is none of them, or a member tells more sizes, or fewer, than the call has.
    """
    number = len(members)
    _check_root(operation, root, number)
    vector = operation in {"alltoallv", "alltoallw", "reduce_scatter"}
    for place, sizes in enumerate(said):
        wanted = number if vector or (operation == "scatterv" and place == root) else int(operation != "barrier")
        if len(sizes) != wanted:
            raise ValueError(f"{len(sizes)} sizes of {operation}, {wanted}")
    one = [0 if not sizes else sizes[0] for sizes in said]
    match operation:
        case "barrier":
            return Exchange("barrier", members)
        case "bcast" | "reduce":
            return Exchange({"bcast": "broadcast"}.get(operation, operation), members, root, one[root])
        case "gather" | "gatherv" | "scatter":
            return _rooted("scatter" if operation == "scatter" else "gather", members, root, one)
        case "scatterv":
            return _rooted("scatter", members, root, list(said[root]))
        case "allgatherv" if len(set(one)) > 1:
            return Exchange("allgather", members, sizes=tuple((size,) * number for size in one))
        case "allgather" | "allgatherv" | "allreduce" | "alltoall":
            return Exchange(
                operation.removesuffix("v") if operation != "allreduce" else operation, members, 0, max(one)
            )
        case "alltoallv" | "alltoallw" | "reduce_scatter":
            if len({size for row in said for size in row}) == 1:
                return Exchange("alltoall", members, 0, said[0][0])
            return Exchange("alltoall", members, sizes=tuple(map(tuple, said)))
        case "reduce_scatter_block":
            return Exchange("alltoall", members, 0, max(one))
        case "scan" | "exscan":
            return _chain(members, max(one))
        case _:
            raise ValueError(f"a collective {operation}, one of MPI-3")


def from_totals(  # noqa: PLR0911
    operation: str, members: tuple[int, ...], root: int, sent: Sequence[int], received: Sequence[int]
) -> Exchange | None:
    """Return what a call exchanges of which each member tells what it has sent and received in all, as Score-P does.

    Parameters
    ----------
    operation : str
        As OTF2 calls it, such as "ALLREDUCE".
    members : tuple of int
        The ranks of its communicator.
    root : int
        Place of the root among them; 0 where there is none.
    sent, received : sequence of int
        Of each member [B].

    Raises
    ------
    ValueError
        If the root is none of them.
    """
    number = len(members)
    _check_root(operation, root, number)
    others = [i for i in range(number) if i != root]
    if number == 1 or operation in _SILENT:
        return None
    largest = max(*sent, *received)
    match operation:
        case "BCAST":
            return Exchange("broadcast", members, root, max(received[i] for i in others))
        case "REDUCE":
            return Exchange("reduce", members, root, max(sent[i] for i in others))
        case "GATHER" | "GATHERV":
            return _rooted("gather", members, root, sent)
        case "SCATTER" | "SCATTERV":
            return _rooted("scatter", members, root, received)
        case "ALLGATHER" | "ALLREDUCE" | "ALLTOALL" | "REDUCE_SCATTER_BLOCK" | "REDUCE_SCATTER":
            name = "alltoall" if operation.startswith("REDUCE") else operation.lower()
            return Exchange(name, members, 0, _each(largest, number))
        case "ALLGATHERV":
            return Exchange("allgather", members, sizes=tuple((_each(size, number),) * number for size in sent))
        case "ALLTOALLV" | "ALLTOALLW":
            total = max(sum(received), 1)
            shares = tuple(tuple(one * other // total for other in received) for one in sent)
            return Exchange("alltoall", members, sizes=shares)
        case "SCAN" | "EXSCAN":
            return _chain(members, received[-1] // (number if operation == "SCAN" else number - 1))
        case _:
            return Exchange("barrier", members)


def _check_root(operation: str, root: int, members: int) -> None:
    if operation.upper() in ROOTED and root >= members:
        raise ValueError(f"root {root}, 0 to {members - 1}")


def _rooted(operation: str, members: tuple[int, ...], root: int, blocks: Sequence[int]) -> Exchange:
    """Return a gather or scatter of a block of each rank [B]."""
    number = len(members)
    others = [i for i in range(number) if i != root]
    if len({blocks[i] for i in others}) <= 1:
        return Exchange(operation, members, root, blocks[others[0]] if others else 0)
    sizes = [[0] * number for _ in members]
    for i in others:
        if operation == "gather":
            sizes[i][root] = blocks[i]
        else:
            sizes[root][i] = blocks[i]
    return Exchange(operation, members, root, sizes=tuple(map(tuple, sizes)))


def _chain(members: tuple[int, ...], size: int) -> Exchange:
    """Return a scan, in which each rank sends to the next one [B]."""
    number = len(members)
    rows = tuple(tuple(size if other == own + 1 else 0 for other in range(number)) for own in range(number))
    return Exchange(SCAN, members, size=size, sizes=rows)


def _each(total: int, members: int) -> int:
    """Return what each of all members gets of a total [B]."""
    return -(-total // members)
