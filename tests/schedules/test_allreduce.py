"""Allreduce: Zheng & Marguinaud 2018, section 3.3 and Fig. 4c, and the algorithms of MPI libraries."""

import math
import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .machine import ELEMENT_BYTES, Values, Workload, matched, slices

Schedule = _simulator.schedule.Schedule


@st.composite
def workloads(draw: st.DrawFn, longest: int = 20) -> Workload:
    """Any algorithm, with vectors shorter and longer than the number of ranks."""
    workload = {
        "kind": "allreduce",
        "algorithm": draw(
            st.sampled_from(["recursive-k", "recursive-doubling", "ring", "rabenseifner", "rabenseifner-pairs"])
        ),
        "count": draw(st.integers(1, longest)),
        "repeats": 1,
    }
    if workload["algorithm"] == "recursive-k":
        workload["radix"] = draw(st.integers(2, 12))
        workload["remainder"] = draw(st.sampled_from(["paper", "adjacent"]))
    return workload


def recursive(radix: int, count: int = 1, repeats: int = 1, **more: Any) -> Workload:
    return {"kind": "allreduce", "algorithm": "recursive-k", "radix": radix, "count": count, "repeats": repeats, **more}


def execute(schedule: Any, vectors: list[Values], rounds: Iterable[int]) -> list[Values]:
    """Run some rounds on one vector a rank; contributions are combined in ascending order of the peer."""
    memory = [vector.copy() for vector in vectors]
    for number in rounds:
        arrived: list[list[tuple[int, slice, bool, Values]]] = [[] for _ in memory]
        for message in matched(schedule, number):
            for piece in message.received:
                (elements, _, _) = slices(piece.box)
                arrived[message.destination].append(
                    (message.source, elements, piece.combine, memory[message.source][elements].copy())
                )
        for rank, parts in enumerate(arrived):
            assert len({(elements.start, elements.stop, combine) for _, elements, combine, _ in parts}) <= 1
            if not parts:
                continue
            _, elements, combine, _ = parts[0]
            if not combine:
                assert len(parts) == 1
                memory[rank][elements] = parts[0][3]
                continue
            terms = [(rank, memory[rank][elements].copy())] + [(peer, data) for peer, _, _, data in parts]
            terms.sort(key=lambda term: term[0])
            total = terms[0][1]
            for _, data in terms[1:]:
                total = total + data
            memory[rank][elements] = total
    return memory


@settings(deadline=None)
@given(workload=workloads(), ranks=st.integers(1, 48))
@example(workload=recursive(3), ranks=8)  # the paper's remainder rule would go to rank -2 here
@example(workload=recursive(12), ranks=7)  # k > P
def test_every_contribution_is_reduced_once(workload: Workload, ranks: int) -> None:
    """Vectors of multisets: entry [e, r] counts how often rank r's element e is in a sum."""
    schedule = Schedule(workload, ranks)
    vectors = np.zeros((ranks, workload["count"], ranks), int)
    for rank in range(ranks):
        vectors[rank, :, rank] = 1
    for result in execute(schedule, list(vectors), range(schedule.rounds)):
        assert (result == 1).all()


@settings(deadline=None, max_examples=30)
@given(workload=workloads(), ranks=st.integers(1, 40), seed=st.integers(0, 2**32 - 1))
def test_all_ranks_get_the_same_bits(workload: Workload, ranks: int, seed: int) -> None:
    """Real sums depend on the order of their terms, but not on the rank, if peers are added in ascending order."""
    schedule = Schedule(workload, ranks)
    vectors = list(np.random.default_rng(seed).standard_normal((ranks, workload["count"])))
    results = execute(schedule, vectors, range(schedule.rounds))
    assert all(np.array_equal(result, results[0]) for result in results)
    np.testing.assert_allclose(results[0], np.sum(vectors, axis=0), atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(workload=workloads(), ranks=st.integers(1, 30), repeats=st.integers(2, 4))
def test_repeats_repeat_all_rounds(workload: Workload, ranks: int, repeats: int) -> None:
    one, many = Schedule(workload, ranks), Schedule(workload | {"repeats": repeats}, ranks)
    assert many.rounds == repeats * one.rounds
    for number in range(many.rounds):
        expected, found = one.transfers(number % one.rounds), many.transfers(number)
        assert all(np.array_equal(expected[key], found[key]) for key in expected)


def digits(ranks: int, radix: int) -> int:
    """floor(log_k P), exactly."""
    result = 0
    while radix ** (result + 1) <= ranks:
        result += 1
    return result


@given(ranks=st.integers(1, 3000), radix=st.integers(2, 40))
def test_stages_of_recursive_k(ranks: int, radix: int) -> None:
    """Claim Z-A1: floor(log_k P) stages, plus two when P is no power of k."""
    p = digits(ranks, radix)
    assert Schedule(recursive(radix), ranks).rounds == p + (0 if ranks == radix**p else 2)


def test_gcr_needs_two_allreduces_an_iteration() -> None:
    """Claim Z-A1: 25 iterations make the paper's 50 allreduces."""
    iterations = 25
    once = Schedule(recursive(4, count=3), 100).rounds
    assert Schedule(recursive(4, count=3, repeats=2 * iterations), 100).rounds == 2 * iterations * once


@settings(deadline=None)
@given(ranks=st.integers(2, 700), radix=st.integers(2, 40))
def test_remainder_rule(ranks: int, radix: int) -> None:
    """The paper's host i - (P - k^p) wherever it is a rank below k^p for all i, else i mod k^p; evenly spread."""
    core = radix ** digits(ranks, radix)
    guests = ranks - core
    schedule = Schedule(recursive(radix), ranks)
    if guests == 0:
        return
    hosts = {rank: schedule.send(rank, 0, 0).peer for rank in range(core, ranks)}
    paper = {rank: rank - guests for rank in range(core, ranks)}
    papers_rule_works = all(0 <= host < core for host in paper.values())
    assert papers_rule_works == (ranks <= 2 * core)
    assert hosts == (paper if papers_rule_works else {rank: rank % core for rank in range(core, ranks)})
    guests_of = [list(hosts.values()).count(host) for host in range(core)]
    assert max(guests_of) - min(guests_of) <= 1
    # The same ranks get the result back, and nobody works twice in these stages.
    last = schedule.rounds - 1
    assert {rank: schedule.receive(rank, last, 0).peer for rank in range(core, ranks)} == hosts
    for host in range(core):
        assert schedule.round(host, 0).receives == schedule.round(host, last).sends == guests_of[host]
        assert schedule.round(host, 0).sends == schedule.round(host, last).receives == 0


@settings(deadline=None)
@given(ranks=st.integers(2, 700), radix=st.integers(2, 40))
def test_adjacent_guests_follow_their_hosts(ranks: int, radix: int) -> None:
    """k^p runs of neighbours, as long as each other or longer by one; the first of a run hosts the others."""
    core = radix ** digits(ranks, radix)
    schedule = Schedule(recursive(radix, remainder="adjacent"), ranks)
    if ranks == core:
        return
    hosts = [rank for rank in range(ranks) if schedule.round(rank, 0).sends == 0]
    assert (hosts[0], len(hosts)) == (0, core)
    lengths = [after - host for host, after in zip(hosts, [*hosts[1:], ranks], strict=True)]
    assert max(lengths) - min(lengths) <= 1
    for host, length in zip(hosts, lengths, strict=True):
        for guest in range(host + 1, host + length):
            assert schedule.send(guest, 0, 0).peer == schedule.receive(guest, schedule.rounds - 1, 0).peer == host
    same = Schedule(recursive(radix), ranks)
    assert (schedule.rounds, schedule.totals()) == (same.rounds, same.totals())


@given(exponent=st.integers(1, 3), radix=st.integers(2, 6))
def test_partners_differ_in_one_digit(exponent: int, radix: int) -> None:
    """Stage j exchanges with the k - 1 ranks at multiples of k^(j-1), nearest first, in a cycle."""
    ranks = radix**exponent
    schedule = Schedule(recursive(radix), ranks)
    for stage in range(exponent):
        value = radix**stage
        for rank in range(ranks):
            digit = rank // value % radix
            cycle = [rank + ((digit + e) % radix - digit) * value for e in range(1, radix)]
            assert [schedule.send(rank, stage, e).peer for e in range(radix - 1)] == cycle
            assert [schedule.receive(rank, stage, e).peer for e in range(radix - 1)] == cycle[::-1]


@settings(deadline=None)
@given(ranks=st.integers(1, 300), count=st.integers(1, 400), radix=st.integers(2, 20))
def test_stages_and_totals_in_closed_form(ranks: int, count: int, radix: int) -> None:
    def totals(algorithm: str, **more: Any) -> tuple[int, int, int]:
        schedule = Schedule({"kind": "allreduce", "algorithm": algorithm, "count": count, "repeats": 1, **more}, ranks)
        messages, length = schedule.totals()["allreduce"]
        return schedule.rounds, messages, length

    p, power = digits(ranks, radix), digits(ranks, 2)
    core, members = radix**p, 2**power
    messages = core * p * (radix - 1) + 2 * (ranks - core)
    assert totals("recursive-k", radix=radix)[1:] == (messages, ELEMENT_BYTES * count * messages)

    pairs = ranks - members
    messages = members * power + 2 * pairs
    fold = 2 if pairs else 0
    assert totals("recursive-doubling") == (power + fold, messages, ELEMENT_BYTES * count * messages)

    rounds, messages, length = totals("rabenseifner")
    assert rounds == 2 * power + fold
    assert length == ELEMENT_BYTES * count * (2 * (members - 1) + 2 * pairs)
    assert messages <= 2 * members * power + 2 * pairs
    if count >= members:
        assert messages == 2 * members * power + 2 * pairs

    # Of two that are a pair, each sends a half, then the odd one half of the sum, and the even one all of the result.
    paired = totals("rabenseifner-pairs")
    assert paired[0] == rounds + (1 if pairs else 0)
    assert paired[2] == ELEMENT_BYTES * (count * (2 * (members - 1) + 2 * pairs) + (count - count // 2) * pairs)
    assert paired[1] == messages + (2 if count > 1 else 1) * pairs

    # Every stage of the ring moves the whole vector once, in as many messages as it has blocks that are not empty.
    stages = 2 * (ranks - 1)
    assert totals("ring") == (stages, stages * min(count, ranks), stages * ELEMENT_BYTES * count)


def test_recursive_two_is_recursive_doubling_on_powers_of_two() -> None:
    one = Schedule(recursive(2, count=3), 64)
    other = Schedule({"kind": "allreduce", "algorithm": "recursive-doubling", "count": 3, "repeats": 1}, 64)
    assert one.rounds == other.rounds == 6
    for number in range(6):
        expected, found = one.transfers(number), other.transfers(number)
        assert all(np.array_equal(expected[key], found[key]) for key in expected)


# Ranks, radix, allreduces of 3 doubles, messages and bytes by an independent program (see test_transposition).
REFERENCE = [
    (64, 2, 50, 19200, 460800),
    (64, 5, 1, 278, 6672),
    (64, 16, 50, 16800, 403200),
    (64, 32, 50, 52800, 1267200),
    (1024, 8, 10, 117760, 2826240),
    (4096, 16, 10, 1843200, 44236800),
    (10000, 16, 2, 392256, 9414144),
    (8, 3, 1, 16, 384),
    (3, 4, 1, 4, 96),
]


@pytest.mark.parametrize(("ranks", "radix", "repeats", "messages", "length"), REFERENCE)
def test_totals_agree_with_an_independent_program(
    ranks: int, radix: int, repeats: int, messages: int, length: int
) -> None:
    assert Schedule(recursive(radix, 3, repeats), ranks).totals() == {"allreduce": (messages, length)}


@pytest.mark.parametrize(
    "workload",
    [
        recursive(2, 3),
        recursive(21, 3),
        recursive(32, 3),
        {"kind": "allreduce", "algorithm": "recursive-doubling", "count": 3, "repeats": 1},
        {"kind": "allreduce", "algorithm": "rabenseifner", "count": 10**6 + 7},
        {"kind": "allreduce", "algorithm": "ring", "count": 10**6 + 7},
    ],
    ids=lambda workload: f"{workload['algorithm']}-{workload.get('radix', '')}",
)
def test_a_million_ranks(workload: Workload) -> None:
    schedule = Schedule(workload | {"repeats": 50}, 10**6)
    dice = random.Random(1)
    checked = 0
    while checked < 300:
        rank, number = dice.randrange(10**6), dice.randrange(schedule.rounds)
        for index in range(schedule.round(rank, number).sends):
            sent = schedule.send(rank, number, index)
            receives = schedule.round(sent.peer, number).receives
            back = [
                transfer
                for other in range(receives)
                if (transfer := schedule.receive(sent.peer, number, other)).peer == rank
            ]
            assert [(t.tag, t.bytes) for t in back] == [(sent.tag, sent.bytes)]
            checked += 1
    assert math.log2(schedule.rounds) < 31
