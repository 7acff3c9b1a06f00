"""An abstract machine that executes any schedule: what tests of all workloads share.

A round is executed as a substrate does it: all messages leave from the memory as it was before the round, every send
must meet exactly one receive, and what arrives changes the memory after the round.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

ELEMENT_BYTES = 8

#: First index and the one after the last; a box has such a range along x, y and z.
Range = tuple[int, int]
Box = tuple[Range, ...]
#: A description as an experiment has it.
Workload = dict[str, Any]
#: What ranks hold: whole numbers in most tests, floating point where rounding matters.
Values = NDArray[Any]


@dataclass(frozen=True)
class Message:
    """A matched pair of a send and a receive."""

    source: int
    destination: int
    bytes: int
    sent: list[Any]  # pieces in the sender's coordinates
    received: list[Any]  # the same pieces in the receiver's coordinates


def size(box: Box) -> int:
    """Points in a half-open box."""
    result = 1
    for first, last in box:
        result *= last - first
    return result


def matched(schedule: Any, number: int) -> Iterator[Message]:
    """Match the sends of a round with its receives; both by rank and index.

    Yields messages in the order in which their senders post them. Fails unless every send has exactly one receive with
    the same two ends, tag and bytes, and both ends agree on what is carried.
    """
    expected = {}
    for rank in range(schedule.ranks):
        work = schedule.round(rank, number)
        for index in range(work.receives):
            transfer = schedule.receive(rank, number, index)
            key = (transfer.peer, rank, transfer.tag)
            assert key not in expected, f"round {number}: two receives for {key}"
            expected[key] = (transfer.bytes, schedule.receive_contents(rank, number, index))
    for rank in range(schedule.ranks):
        for index in range(schedule.round(rank, number).sends):
            transfer = schedule.send(rank, number, index)
            assert 0 <= transfer.peer < schedule.ranks
            assert transfer.peer != rank, f"round {number}: rank {rank} sends to itself"
            key = (rank, transfer.peer, transfer.tag)
            assert key in expected, f"round {number}: nobody receives {key}"
            length, received = expected.pop(key)
            sent = schedule.send_contents(rank, number, index)
            assert transfer.bytes == length
            assert transfer.bytes == ELEMENT_BYTES * sum(piece.size for piece in sent)
            assert [(p.origin, p.destination, shape(p.box), p.combine) for p in sent] == [
                (p.origin, p.destination, shape(p.box), p.combine) for p in received
            ]
            yield Message(rank, transfer.peer, transfer.bytes, sent, received)
    assert not expected, f"round {number}: nobody sends {sorted(expected)}"


def shape(box: Box) -> tuple[int, ...]:
    """Points of a box along x, y and z."""
    return tuple(last - first for first, last in box)


def slices(box: Box, origin: Box = ((0, 0), (0, 0), (0, 0))) -> tuple[slice, ...]:
    """Index a numpy array that begins at the first corner of ``origin`` by a box of global indices."""
    return tuple(slice(first - start, last - start) for (first, last), (start, _) in zip(box, origin, strict=True))


def cut(points: int, parts: int) -> list[tuple[int, int]]:
    """Cut points into blocks as the schedules must: the first (points mod parts) are one longer."""
    blocks, first = [], 0
    for part in range(parts):
        last = first + points // parts + (part < points % parts)
        blocks.append((first, last))
        first = last
    assert first == points
    return blocks
