"""Personalised all-to-all: Zheng & Marguinaud 2018, section 3.1, Table 2 and Fig. 4a."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .machine import ELEMENT_BYTES, matched

Schedule = _simulator.schedule.Schedule

LEAST_RADIX = {"ring-k": 1, "burst": None, "burst-ascending": None, "bruck": 2, "pairwise": None, "sliding-window": 1}
ALGORITHMS = list(LEAST_RADIX)


def alltoall(algorithm: str, sizes: Any, radix: int) -> Any:
    """An all-to-all with a radix as near to this one as the algorithm allows."""
    least = LEAST_RADIX[algorithm]
    return Schedule.alltoall(algorithm, sizes, *([] if least is None else [max(radix, least)]))


def any_sizes(ranks: int, seed: int) -> np.ndarray:
    """Block sizes of every kind, empty ones included."""
    return np.random.default_rng(seed).integers(0, 50, (ranks, ranks))


def execute(exchange: Any, sizes: np.ndarray) -> list[set[tuple[int, int]]]:
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
def test_every_block_arrives_once_where_it_belongs(algorithm: str, ranks: int, radix: int, seed: int) -> None:
    sizes = any_sizes(ranks, seed)
    exchange = alltoall(algorithm, sizes, radix)
    memory = execute(exchange, sizes)
    assert memory == [{(origin, rank) for origin in range(ranks)} for rank in range(ranks)]


@given(ranks=st.integers(1, 200), radix=st.integers(1, 300))
def test_stages_of_table_2(ranks: int, radix: int) -> None:
    """Claim Z-T2."""
    sizes = np.zeros((ranks, ranks), np.int64)
    assert Schedule.alltoall("burst", sizes).rounds == min(1, ranks - 1)
    assert Schedule.alltoall("bruck", sizes).rounds == math.ceil(math.log2(ranks))
    assert Schedule.alltoall("ring-k", sizes, radix).rounds == math.ceil((ranks - 1) / radix)
    assert Schedule.alltoall("pairwise", sizes).rounds == ranks - 1
    assert Schedule.alltoall("sliding-window", sizes, radix).rounds == min(1, ranks - 1)


def digits(number: int, radix: int) -> list[int]:
    """The digits of a number in a base, lowest first; none of 0."""
    return [] if number == 0 else [number % radix, *digits(number // radix, radix)]


@given(ranks=st.integers(1, 200), radix=st.integers(2, 300))
def test_bruck_has_a_stage_a_digit(ranks: int, radix: int) -> None:
    """Bruck et al. 1997: with base r, ceil(log_r n) stages of up to r - 1 messages."""
    exchange = Schedule.alltoall("bruck", np.zeros((ranks, ranks), np.int64), radix)
    assert exchange.rounds == len(digits(ranks - 1, radix))
    for number in range(exchange.rounds):
        work = exchange.round(0, number)
        expected = [d * radix**number for d in range(1, radix) if d * radix**number < ranks]
        assert [exchange.send(0, number, index).peer for index in range(work.sends)] == expected


@given(ranks=st.integers(2, 40), seed=st.integers(0, 2**32 - 1))
def test_pairwise_exchanges_with_one_partner_at_a_time(ranks: int, seed: int) -> None:
    """Thakur et al. 2005: partners exchange where ranks are a power of two; else it is ring-1."""
    sizes = any_sizes(ranks, seed)
    exchange, ring = Schedule.alltoall("pairwise", sizes), Schedule.alltoall("ring-k", sizes, 1)
    for number in range(ranks - 1):
        sent = exchange.transfers(number)
        if ranks & (ranks - 1):
            assert all(np.array_equal(sent[key], value) for key, value in ring.transfers(number).items())
        else:
            assert np.array_equal(sent["destination"], np.arange(ranks) ^ (number + 1))
            assert np.array_equal(sent["source"], np.arange(ranks))


@given(ranks=st.integers(2, 24), radix=st.integers(1, 30), seed=st.integers(0, 2**32 - 1))
def test_a_sliding_window_is_a_burst_with_a_limit(ranks: int, radix: int, seed: int) -> None:
    sizes = any_sizes(ranks, seed)
    sliding, burst = Schedule.alltoall("sliding-window", sizes, radix), Schedule.alltoall("burst", sizes)
    assert sliding.rounds == burst.rounds == 1
    assert sliding.round(0, 0).window == min(radix, ranks - 1)
    assert burst.round(0, 0).window == 0
    for side in ("send", "receive"):
        one, other = sliding.transfers(0, side), burst.transfers(0, side)
        assert all(np.array_equal(one[key], other[key]) for key in one)


@given(ranks=st.integers(2, 24), seed=st.integers(0, 2**32 - 1))
def test_an_ascending_burst_goes_through_the_ranks_by_number(ranks: int, seed: int) -> None:
    sizes = any_sizes(ranks, seed)
    ascending, burst = Schedule.alltoall("burst-ascending", sizes), Schedule.alltoall("burst", sizes)
    assert ascending.rounds == 1
    for rank in range(ranks):
        others = [other for other in range(ranks) if other != rank]
        assert [ascending.send(rank, 0, index).peer for index in range(ranks - 1)] == others
        assert [ascending.receive(rank, 0, index).peer for index in range(ranks - 1)] == others
    keys = ("source", "destination", "bytes")
    one, other = (
        sorted(zip(*(each.transfers(0)[key].tolist() for key in keys), strict=True)) for each in (ascending, burst)
    )
    assert one == other


@given(ranks=st.integers(2, 30), seed=st.integers(0, 2**32 - 1))
def test_burst_is_ring_k_with_the_largest_radix(ranks: int, seed: int) -> None:
    sizes = any_sizes(ranks, seed)
    burst, ring = Schedule.alltoall("burst", sizes), Schedule.alltoall("ring-k", sizes, ranks - 1)
    assert burst.rounds == ring.rounds == 1
    for side in ("send", "receive"):
        one, other = burst.transfers(0, side), ring.transfers(0, side)
        assert all(np.array_equal(one[key], other[key]) for key in one)


@given(ranks=st.integers(2, 24), radix=st.integers(1, 30))
def test_ring_k_goes_round_in_order_of_distance(ranks: int, radix: int) -> None:
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
def test_total_bytes(ranks: int, seed: int, radix: int) -> None:
    """Direct algorithms send a block once, bruck once for every digit of its way that is not 0."""
    sizes = any_sizes(ranks, seed)
    way = (np.arange(ranks)[None, :] - np.arange(ranks)[:, None]) % ranks
    base = max(radix, 2)
    steps = np.array([sum(d > 0 for d in digits(number, base)) for number in range(ranks)])
    for algorithm in ALGORITHMS:
        bruck = algorithm == "bruck"
        messages, length = alltoall(algorithm, sizes, radix).totals()["alltoall"]
        assert length == ELEMENT_BYTES * int((sizes * (steps[way] if bruck else way > 0)).sum())
        partners = sum(steps == 1) if bruck else ranks - 1
        assert messages == ranks * partners


def test_ragged_index_space() -> None:
    sizes = np.array([[1, 2], [3, 4]])
    exchange = Schedule.alltoall("burst", sizes)
    assert exchange.held(0, 0) == ((0, 2), (0, 1), (0, 2))
    assert exchange.held(0, 1) == ((0, 3), (0, 2), (0, 1))


def test_wrong_arguments() -> None:
    sizes = np.ones((3, 3), np.int64)
    with pytest.raises(ValueError, match=r"'shuffle'.*ring-k, burst, bruck"):
        Schedule.alltoall("shuffle", sizes)
    for algorithm, radix in (("ring-k", 0), ("sliding-window", 0), ("bruck", 1)):
        with pytest.raises(ValueError, match=f"radix: found {radix}"):
            Schedule.alltoall(algorithm, sizes, radix)
    with pytest.raises(ValueError, match="3 x 2"):
        Schedule.alltoall("burst", np.ones((3, 2), np.int64))
    with pytest.raises(ValueError, match="negative"):
        Schedule.alltoall("burst", -sizes)
