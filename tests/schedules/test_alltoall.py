"""Personalised all-to-all: Zheng & Marguinaud 2018, section 3.1, Table 2 and Fig. 4a."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .machine import ELEMENT_BYTES, matched

Schedule = _simulator.schedule.Schedule

ALGORITHMS = ["ring-k", "burst", "bruck"]


def any_sizes(ranks: int, seed: int) -> np.ndarray:
    """Block sizes of every kind, empty ones included."""
    return np.random.default_rng(seed).integers(0, 50, (ranks, ranks))


def execute(exchange, sizes: np.ndarray) -> list[set[tuple[int, int]]]:
    """Move blocks (origin, destination) from rank to rank; only what is held can be sent on, and it moves."""
    ranks = exchange.ranks
    memory = [{(rank, other) for other in range(ranks)} for rank in range(ranks)]
    for number in range(exchange.rounds):
        moved = []
        for message in matched(exchange, number):
            for piece in message.sent:
                block = (piece.origin, piece.destination)
                memory[message.source].remove(block)  # KeyError: not held, or sent twice
                assert piece.size == sizes[block]
                assert not piece.combine
                moved.append((message.destination, block))
        for destination, block in moved:
            assert block not in memory[destination]
            memory[destination].add(block)
    return memory


@settings(deadline=None)
@given(
    algorithm=st.sampled_from(ALGORITHMS),
    ranks=st.integers(1, 24),
    radix=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
)
def test_every_block_arrives_once_where_it_belongs(algorithm, ranks, radix, seed):
    sizes = any_sizes(ranks, seed)
    exchange = Schedule.alltoall(algorithm, sizes, radix)
    memory = execute(exchange, sizes)
    assert memory == [{(origin, rank) for origin in range(ranks)} for rank in range(ranks)]


@given(ranks=st.integers(1, 200), radix=st.integers(1, 300))
def test_stages_of_table_2(ranks, radix):
    """Claim Z-T2."""
    sizes = np.zeros((ranks, ranks), np.int64)
    assert Schedule.alltoall("burst", sizes).rounds == min(1, ranks - 1)
    assert Schedule.alltoall("bruck", sizes).rounds == math.ceil(math.log2(ranks))
    assert Schedule.alltoall("ring-k", sizes, radix).rounds == math.ceil((ranks - 1) / radix)


@given(ranks=st.integers(2, 30), seed=st.integers(0, 2**32 - 1))
def test_burst_is_ring_k_with_the_largest_radix(ranks, seed):
    sizes = any_sizes(ranks, seed)
    burst, ring = Schedule.alltoall("burst", sizes), Schedule.alltoall("ring-k", sizes, ranks - 1)
    assert burst.rounds == ring.rounds == 1
    for side in ("send", "receive"):
        one, other = burst.transfers(0, side), ring.transfers(0, side)
        assert all(np.array_equal(one[key], other[key]) for key in one)


@given(ranks=st.integers(2, 24), radix=st.integers(1, 30))
def test_ring_k_goes_round_in_order_of_distance(ranks, radix):
    """Fig. 4a: stage s sends to i + 1 + s k, ..., i + (s + 1) k and receives from the ranks as far behind."""
    exchange = Schedule.alltoall("ring-k", np.ones((ranks, ranks), np.int64), radix)
    for rank in range(ranks):
        sends = [(r, i) for r in range(exchange.rounds) for i in range(exchange.round(rank, r).sends)]
        receives = [(r, i) for r in range(exchange.rounds) for i in range(exchange.round(rank, r).receives)]
        distances = range(1, ranks)
        assert [exchange.send(rank, r, i).peer for r, i in sends] == [(rank + d) % ranks for d in distances]
        assert [exchange.receive(rank, r, i).peer for r, i in receives] == [(rank - d) % ranks for d in distances]
        assert all(exchange.round(rank, r).sends == min(radix, ranks - 1) for r in range(exchange.rounds - 1))


@given(ranks=st.integers(2, 24), seed=st.integers(0, 2**32 - 1), radix=st.integers(1, 30))
def test_total_bytes(ranks, seed, radix):
    """Direct algorithms send a block once, bruck once for every bit that is set in its way."""
    sizes = any_sizes(ranks, seed)
    way = (np.arange(ranks)[None, :] - np.arange(ranks)[:, None]) % ranks
    for algorithm, times in (
        ("ring-k", way > 0),
        ("burst", way > 0),
        ("bruck", np.vectorize(int.bit_count)(way.astype(object)).astype(int)),
    ):
        messages, length = Schedule.alltoall(algorithm, sizes, radix).totals()["alltoall"]
        assert length == ELEMENT_BYTES * int((sizes * times).sum())
        assert messages == ranks * (math.ceil(math.log2(ranks)) if algorithm == "bruck" else ranks - 1)


def test_ragged_index_space():
    sizes = np.array([[1, 2], [3, 4]])
    exchange = Schedule.alltoall("burst", sizes)
    assert exchange.held(0, 0) == ((0, 2), (0, 1), (0, 2))
    assert exchange.held(0, 1) == ((0, 3), (0, 2), (0, 1))


def test_wrong_arguments():
    sizes = np.ones((3, 3), np.int64)
    with pytest.raises(ValueError, match=r"'shuffle'.*ring-k, burst, bruck"):
        Schedule.alltoall("shuffle", sizes)
    with pytest.raises(ValueError, match="radix: found 0"):
        Schedule.alltoall("ring-k", sizes, 0)
    with pytest.raises(ValueError, match="3 x 2"):
        Schedule.alltoall("burst", np.ones((3, 2), np.int64))
    with pytest.raises(ValueError, match="negative"):
        Schedule.alltoall("burst", -sizes)
