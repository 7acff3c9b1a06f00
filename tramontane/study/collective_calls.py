"""Collective calls of a trace as messages, by the algorithms of the catalogue (docs/collectives.md).

A trace says what each rank sent and received in a call. Score-P counts as if everybody sent directly to everybody who
gets something, so that an allreduce of n bytes among N ranks sends and receives N n each; that is how sizes are
understood here. Where the result takes the place of the data it counts (N - 1) n, which looks like a smaller n.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tramontane.extension import simulator

_DOUBLE = 8
_DEFAULTS: dict[str, dict[str, Any]] = {
    "barrier": {"algorithm": "dissemination"},
    "broadcast": {"algorithm": "binomial"},
    "reduce": {"algorithm": "binomial"},
    "gather": {"algorithm": "binomial"},
    "scatter": {"algorithm": "binomial"},
    "allgather": {"algorithm": "ring"},
    "allreduce": {"algorithm": "recursive-doubling"},
    "alltoall": {"algorithm": "ring-k", "radix": 1},
}
SILENT = ("DESTROY_HANDLE", "DEALLOCATE", "DESTROY_HANDLE_AND_DEALLOCATE")
"""Calls that send nothing."""

Message = tuple[str, int, int, int]
"""Kind ("send" or "receive"), the other rank, tag, bytes."""


@dataclass(frozen=True)
class Call:
    """What a trace says of a collective call at all of its ranks.

    Attributes
    ----------
    operation : str
        As OTF2 calls it, such as "ALLREDUCE".
    members : tuple of int
        The ranks of its communicator.
    root : int
        Place of the root among them; 0 where there is none.
    sent, received : tuple of int
        Of each member [B].
    """

    operation: str
    members: tuple[int, ...]
    root: int
    sent: tuple[int, ...]
    received: tuple[int, ...]


@dataclass
class Expansion:
    """The messages of a call, for which a trace stands once it is known at all ranks.

    Attributes
    ----------
    tag : int
        Of all messages of the communicator's collectives; the schedule's own is left out, because messages between two
        ranks come in order.
    call : Call, optional
        None as long as it is not known.
    """

    tag: int = 0
    call: Call | None = None

    def rounds(self, rank: int) -> Iterator[list[Message]]:
        """Yield the messages of a rank, round by round; each round waits for the one before."""
        call = self.call
        assert call is not None
        schedule = _schedule(call)
        if schedule is None:
            return
        own = call.members.index(rank)
        for number in range(schedule.rounds):
            round_ = schedule.round(own, number)
            got = [schedule.receive(own, number, i) for i in range(round_.receives)]
            sent = [schedule.send(own, number, i) for i in range(round_.sends)]
            if got or sent:
                yield [("receive", call.members[t.peer], self.tag, t.bytes) for t in got] + [
                    ("send", call.members[t.peer], self.tag, t.bytes) for t in sent
                ]


@functools.lru_cache(maxsize=1024)
def _schedule(call: Call) -> Any:  # noqa: PLR0911
    """Return the schedule of a call; None if it sends nothing."""
    members, others = len(call.members), [i for i in range(len(call.members)) if i != call.root]
    if members == 1 or call.operation in SILENT:
        return None

    def uniform(operation: str, size: int) -> Any:
        keys = {"kind": "collective", "operation": operation, **_DEFAULTS[operation]}
        if operation == "barrier":
            return simulator().schedule.Schedule(keys, members)
        if size == 0:
            return None
        if operation in {"broadcast", "reduce", "gather", "scatter"}:
            keys["root"] = call.root
        return simulator().schedule.Schedule(keys | {"count": -(-size // _DOUBLE)}, members)

    def direct(sizes: "np.ndarray[Any, Any]") -> Any:
        np.fill_diagonal(sizes, 0)
        return simulator().schedule.Schedule.alltoall("burst", np.ascontiguousarray(-(-sizes // _DOUBLE)))

    sent, received = np.array(call.sent, np.int64), np.array(call.received, np.int64)
    largest = int(max(sent.max(), received.max()))
    match call.operation:
        case "BCAST":
            return uniform("broadcast", int(received[others].max()))
        case "REDUCE":
            return uniform("reduce", int(sent[others].max()))
        case "GATHER" | "GATHERV" | "SCATTER" | "SCATTERV":
            gathers = call.operation.startswith("GATHER")
            sizes = (sent if gathers else received)[others]
            if len(set(sizes.tolist())) == 1:
                return uniform("gather" if gathers else "scatter", int(sizes[0]))
            matrix = np.zeros((members, members), np.int64)
            if gathers:
                matrix[others, call.root] = sizes
            else:
                matrix[call.root, others] = sizes
            return direct(matrix)
        case "ALLGATHER" | "ALLREDUCE" | "ALLTOALL" | "REDUCE_SCATTER_BLOCK" | "REDUCE_SCATTER":
            name = call.operation.lower().split("_")[0]
            return uniform("alltoall" if name == "reduce" else name, _each(largest, members))
        case "ALLGATHERV":
            blocks = [_each(size, members) for size in sent.tolist()]
            return direct(np.repeat(np.array(blocks, np.int64)[:, None], members, axis=1))
        case "ALLTOALLV" | "ALLTOALLW":
            total = max(int(received.sum()), 1)
            shares = [[one * other // total for other in received.tolist()] for one in sent.tolist()]
            return direct(np.array(shares, np.int64))
        case "SCAN" | "EXSCAN":
            size = int(received[-1]) // (members if call.operation == "SCAN" else members - 1)
            matrix = np.zeros((members, members), np.int64)
            matrix[range(members - 1), range(1, members)] = size
            return direct(matrix)
        case _:
            return uniform("barrier", 0)


def _each(total: int, members: int) -> int:
    """Return what each of all members gets of a total [B]."""
    return -(-total // members)
