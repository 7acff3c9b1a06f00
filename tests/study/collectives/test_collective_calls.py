"""What calls of a trace exchange, worked out by hand from what its ranks tell of them."""

from __future__ import annotations

from typing import Any

import pytest

from tramontane.study.collectives.collective_calls import SCAN, Exchange, Expansion, from_sizes, from_totals, schedules

RANKS = (3, 5, 7, 9)
NONE = (0, 0, 0, 0)


def blocks(operation: str, *rows: tuple[int, ...], **more: Any) -> Exchange:
    return Exchange(operation, RANKS, sizes=rows, **more)


def chain(size: int) -> Exchange:
    """Return a scan: each sends to the next one."""
    return blocks(SCAN, (0, size, 0, 0), (0, 0, size, 0), (0, 0, 0, size), (0, 0, 0, 0), size=size)


@pytest.mark.parametrize(
    ("operation", "root", "sent", "received", "exchange"),
    [
        ("BCAST", 1, [0, 400, 0, 0], [100] * 4, Exchange("broadcast", RANKS, 1, 100)),
        ("REDUCE", 2, [100] * 4, [0, 0, 400, 0], Exchange("reduce", RANKS, 2, 100)),
        ("REDUCE", 2, [100, 100, 0, 100], [0, 0, 300, 0], Exchange("reduce", RANKS, 2, 100)),  # in place
        ("GATHER", 0, [0, 10, 10, 10], [30, 0, 0, 0], Exchange("gather", RANKS, 0, 10)),
        ("GATHERV", 1, [9, 7, 20, 0], [0, 36, 0, 0], blocks("gather", (0, 9, 0, 0), NONE, (0, 20, 0, 0), NONE, root=1)),
        ("SCATTER", 3, [0, 0, 0, 40], [10] * 4, Exchange("scatter", RANKS, 3, 10)),
        ("SCATTERV", 1, [0, 37, 0, 0], [10, 7, 20, 0], blocks("scatter", NONE, (10, 0, 20, 0), NONE, NONE, root=1)),
        ("ALLREDUCE", 0, [400] * 4, [400] * 4, Exchange("allreduce", RANKS, 0, 100)),
        ("ALLREDUCE", 0, [300] * 4, [400] * 4, Exchange("allreduce", RANKS, 0, 100)),
        ("ALLGATHER", 0, [401] * 4, [399] * 4, Exchange("allgather", RANKS, 0, 101)),
        ("REDUCE_SCATTER", 0, [40] * 4, [40] * 4, Exchange("alltoall", RANKS, 0, 10)),
        ("ALLGATHERV", 0, [40, 80, 0, 41], [38] * 4, blocks("allgather", (10,) * 4, (20,) * 4, NONE, (11,) * 4)),
        ("ALLTOALLV", 0, [12, 0, 24, 0], [18, 9, 9, 0], blocks("alltoall", (6, 3, 3, 0), NONE, (12, 6, 6, 0), NONE)),
        ("SCAN", 0, [400, 300, 200, 100], [100, 200, 300, 400], chain(100)),
        ("EXSCAN", 0, [300, 200, 100, 0], [0, 100, 200, 300], chain(100)),
        ("BARRIER", 0, [0] * 4, [0] * 4, Exchange("barrier", RANKS)),
        ("DEALLOCATE", 0, [0] * 4, [0] * 4, None),
    ],
)  # fmt: skip
def test_exchanges_of_totals(
    operation: str, root: int, sent: list[int], received: list[int], exchange: Exchange | None
) -> None:
    assert from_totals(operation, RANKS, root, sent, received) == exchange


@pytest.mark.parametrize(
    ("operation", "root", "said", "exchange"),
    [
        ("bcast", 1, [(0,), (100,), (0,), (0,)], Exchange("broadcast", RANKS, 1, 100)),
        ("reduce", 2, [(0,), (0,), (100,), (0,)], Exchange("reduce", RANKS, 2, 100)),
        ("gather", 0, [(0,), (10,), (10,), (10,)], Exchange("gather", RANKS, 0, 10)),
        ("scatterv", 1, [(1,), (9, 7, 20, 0), (1,), (1,)], blocks("scatter", NONE, (9, 0, 20, 0), NONE, NONE, root=1)),
        ("allgatherv", 0, [(10,), (20,), (0,), (5,)], blocks("allgather", (10,) * 4, (20,) * 4, NONE, (5,) * 4)),
        ("allgatherv", 0, [(10,)] * 4, Exchange("allgather", RANKS, 0, 10)),
        ("allreduce", 0, [(100,)] * 4, Exchange("allreduce", RANKS, 0, 100)),
        ("alltoallv", 0, [(8,) * 4] * 4, Exchange("alltoall", RANKS, 0, 8)),
        ("alltoallw", 0, [(1, 2, 3, 4)] * 4, blocks("alltoall", *[(1, 2, 3, 4)] * 4)),
        ("reduce_scatter_block", 0, [(10,)] * 4, Exchange("alltoall", RANKS, 0, 10)),
        ("exscan", 0, [(10,)] * 4, chain(10)),
        ("barrier", 0, [()] * 4, Exchange("barrier", RANKS)),
    ],
)  # fmt: skip
def test_exchanges_of_sizes(operation: str, root: int, said: list[tuple[int, ...]], exchange: Exchange) -> None:
    assert from_sizes(operation, RANKS, root, said) == exchange


def test_messages_of_blocks_and_of_a_scan() -> None:
    uneven = blocks("alltoall", (1, 2, 0, 4), (5, 6, 7, 8), (9, 10, 11, 0), (13, 14, 15, 16))
    sent = [("send", 7, 1, 7), ("send", 9, 1, 8), ("send", 3, 1, 5)]
    got = [("receive", 3, 1, 2), ("receive", 9, 1, 14), ("receive", 7, 1, 10)]
    assert list(Expansion(1, uneven).rounds(5)) == [[*got, *sent]]
    assert list(Expansion(1, chain(10)).rounds(5)) == [[("receive", 3, 1, 10), ("send", 7, 1, 10)]]
    assert list(Expansion(1, chain(10)).rounds(9)) == [[("receive", 7, 1, 10)]]
    assert not list(Expansion(1, chain(0)).rounds(5))


def test_a_call_of_no_bytes_sends_nothing_and_one_of_few_a_number() -> None:
    calls = {size: schedules(Exchange("allreduce", RANKS, 0, size), Expansion().algorithms) for size in (0, 1, 8, 9)}
    assert calls[0] == ()
    assert [calls[size][0].send(0, 0, 0).bytes for size in (1, 8, 9)] == [8, 8, 16]
    assert len(schedules(Exchange("barrier", RANKS), Expansion().algorithms)) == 1
