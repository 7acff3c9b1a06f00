"""The catalogue of collectives: every algorithm of every operation, on any number of ranks, for any root."""

import itertools
import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .machine import ELEMENT_BYTES, Box, Workload, matched
from .test_allreduce import execute

Schedule = _simulator.schedule.Schedule

BARRIERS: list[Workload] = [{"algorithm": name} for name in ("dissemination", "tree", "linear", "recursive-doubling")]
CHAINS: list[Workload] = [{"algorithm": "chain", "segments": segments} for segments in (1, 3, 100)]
BROADCASTS: list[Workload] = [
    *({"algorithm": name} for name in ("binomial", "scatter-allgather", "scatter-doubling", "linear", "binary")),
    {"algorithm": "binomial-ascending"},
    *({"algorithm": "k-nomial", "radix": radix} for radix in (2, 3, 4, 50)),
    *CHAINS,
]
REDUCES: list[Workload] = [{"algorithm": name} for name in ("binomial", "rabenseifner", "linear", "binary")] + CHAINS
ROOTED: list[Workload] = [{"algorithm": "linear"}, {"algorithm": "binomial"}]
ALLGATHERS: list[Workload] = [
    {"algorithm": "ring"},
    *({"algorithm": "bruck", "radix": radix} for radix in (2, 3, 7)),
    {"algorithm": "recursive-doubling"},
    {"algorithm": "neighbour-exchange"},
]
DIRECT_ALLTOALLS: list[Workload] = [
    {"algorithm": "ring-k", "radix": 3},
    {"algorithm": "burst"},
    {"algorithm": "burst-ascending"},
    *({"algorithm": "bruck", "radix": radix} for radix in (2, 3)),
    {"algorithm": "pairwise"},
    {"algorithm": "sliding-window", "radix": 2},
]
"""Of which alltoallv has all, too."""
ALLTOALLS_BY_LEADERS: list[Workload] = [
    {"algorithm": name, "group": group} for name in ("leaders", "multi-leader") for group in (1, 2, 3, 4, 8, 40)
]
ALLREDUCES: list[Workload] = [
    {"algorithm": "recursive-k", "radix": 3},
    *({"algorithm": name} for name in ("recursive-doubling", "ring", "rabenseifner", "rabenseifner-pairs")),
    *({"algorithm": "hierarchical", "group": group} for group in (1, 2, 3, 4, 8, 40)),
]
GRIDS = [(1,), (2,), (5,), (2, 2), (3, 1), (4, 3), (1, 1, 3), (2, 3, 2), (3, 3, 3), (1, 2, 4)]

MANY = [*range(1, 34), 64, 100]


def workload(operation: str, algorithm: Workload, **more: Any) -> Workload:
    return {"kind": "collective", "operation": operation, **algorithm, **more}


def shown(value: Any) -> str:
    return "-".join(map(str, value.values())) if isinstance(value, dict) else str(value)


def roots(ranks: int) -> list[int]:
    """The first rank, one in the middle and the last."""
    return sorted({0, ranks // 3, ranks - 1})


def levels(ranks: int, radix: int = 2) -> int:
    """ceil(log_r P), exactly."""
    result = 0
    while radix**result < ranks:
        result += 1
    return result


def points(box: Box) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(first, last) for first, last in box)))


def move(
    schedule: Any, grid: tuple[int, int, int], again: bool = False
) -> list[dict[tuple[int, ...], tuple[int, tuple[int, ...]]]]:
    """Move the points of a field; return, of each rank, who had each point that it holds, and which one it is.

    A rank may send only what it has, and gets nothing twice in a phase, unless the same may come again. After each
    phase it holds what it should.
    """

    def wrapped(point: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(index % size for index, size in zip(point, grid, strict=True))

    ranks = schedule.ranks
    memory = [{point: (rank, wrapped(point)) for point in points(schedule.held(rank, 0))} for rank in range(ranks)]
    phases = len(schedule.phases)
    rounds: list[list[int]] = [[] for _ in range(phases)]
    for number in range(schedule.rounds):
        rounds[schedule.round(0, number).phase].append(number)
    for phase in range(phases):
        boxes = [set(points(schedule.held(rank, phase + 1))) for rank in range(ranks)]
        after = [{p: v for p, v in memory[rank].items() if p in boxes[rank]} for rank in range(ranks)]
        transit: list[dict[Any, Any]] = [{} for _ in range(ranks)]
        for number in rounds[phase]:
            arrived = []
            for message in matched(schedule, number):
                source, target = message.source, message.destination
                for sent, received in zip(message.sent, message.received, strict=True):
                    passed_on = transit[source].pop((sent.origin, sent.destination), None)
                    values = passed_on or [(memory[source] | after[source])[p] for p in points(sent.box)]
                    arrived.append((target, received, values))
            for target, received, values in arrived:
                if received.destination != target:
                    assert (received.origin, received.destination) not in transit[target]
                    transit[target][received.origin, received.destination] = values
                    continue
                for point, value in zip(points(received.box), values, strict=True):
                    assert point in boxes[target]
                    assert (again and after[target].get(point) == value) or point not in after[target]
                    after[target][point] = value
        assert not any(transit)
        assert [set(own) for own in after] == boxes
        memory = after
    for own in memory:
        assert all(index == wrapped(point) for point, (_, index) in own.items())
    return memory


def owners(field: dict[Any, Any]) -> dict[tuple[int, ...], int]:
    return {point: owner for point, (owner, _) in field.items()}


def full(*lengths: int) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, lengths)))


@pytest.mark.parametrize("ranks", MANY)
@pytest.mark.parametrize("algorithm", BARRIERS, ids=shown)
def test_no_rank_leaves_a_barrier_before_all_have_come(algorithm: Workload, ranks: int) -> None:
    schedule = Schedule(workload("barrier", algorithm), ranks)
    heard = [{rank} for rank in range(ranks)]
    for number in range(schedule.rounds):
        before = [set(each) for each in heard]
        for message in matched(schedule, number):
            assert message.bytes == 0
            heard[message.destination] |= before[message.source]
    assert all(each == set(range(ranks)) for each in heard)
    depth, bits = levels(ranks), ranks.bit_length() - 1
    extra = ranks - 2**bits
    rounds, messages = {
        "dissemination": (depth, ranks * depth),
        "tree": (2 * depth, 2 * (ranks - 1)),
        "linear": (2 if ranks > 1 else 0, 2 * (ranks - 1)),
        "recursive-doubling": (bits + (2 if extra else 0), 2**bits * bits + 2 * extra),
    }[algorithm["algorithm"]]
    assert schedule.rounds == rounds
    assert schedule.totals() == {"barrier": (messages, 0)}


def below(algorithm: Workload, ranks: int, number: int) -> list[int]:
    """The numbers, from the root on, that one sends a vector to in a tree, in their order."""
    match algorithm:
        case {"algorithm": "linear"}:
            return list(range(1, ranks)) if number == 0 else []
        case {"algorithm": "binary"}:  # as far away as the number's row is long, and twice as far
            row = 2 ** ((number + 1).bit_length() - 1)
            return [child for child in (number + row, number + 2 * row) if child < ranks]
        case {"algorithm": "binomial-ascending"}:  # one bit more, above those that it has
            return [child for bit in range(32) if (child := number + 2**bit) < ranks and 2**bit > number]
        case {"algorithm": "k-nomial", "radix": radix}:  # one digit more, below those that it has
            own = next((d for d in range(32) if number // radix**d % radix), 32)
            digits = itertools.product(reversed(range(min(own, levels(ranks, radix)))), range(1, radix))
            return [child for d, digit in digits if (child := number + digit * radix**d) < ranks]
    raise ValueError(algorithm)


def tree_rounds(algorithm: Workload, ranks: int, number: int = 0) -> int:
    """In how many rounds all below have the vector, if one is sent it in each."""
    children = below(algorithm, ranks, number)
    return max((1 + i + tree_rounds(algorithm, ranks, child) for i, child in enumerate(children)), default=0)


TREES = ("linear", "binary", "k-nomial", "binomial-ascending")


@pytest.mark.parametrize("ranks", MANY)
@pytest.mark.parametrize("algorithm", [each for each in BROADCASTS if each["algorithm"] in TREES], ids=shown)
def test_trees_go_from_parents_to_children_in_their_order(algorithm: Workload, ranks: int) -> None:
    for root in roots(ranks):
        schedule = Schedule(workload("broadcast", algorithm, root=root, count=1), ranks)
        sent: dict[int, list[int]] = {rank: [] for rank in range(ranks)}
        for number in range(schedule.rounds):
            for message in matched(schedule, number):
                sent[message.source].append(message.destination)
        for number in range(ranks):
            expected = [(child + root) % ranks for child in below(algorithm, ranks, number)]
            assert sent[(number + root) % ranks] == expected


@pytest.mark.parametrize("ranks", MANY)
@pytest.mark.parametrize("algorithm", BROADCASTS, ids=shown)
def test_broadcast(algorithm: Workload, ranks: int) -> None:
    for root, count in itertools.product(roots(ranks), (1, 5, 2 * ranks)):
        schedule = Schedule(workload("broadcast", algorithm, root=root, count=count), ranks)
        # Round the ring, blocks also come to those that had them for others on their way.
        for field in move(schedule, (count, 1, 1), again=algorithm["algorithm"].startswith("scatter")):
            assert owners(field) == dict.fromkeys(full(count, 1, 1), root)
        depth, length = levels(ranks), ELEMENT_BYTES * count
        messages, total = schedule.totals()["broadcast"]
        if algorithm["algorithm"] == "binomial":
            assert (schedule.rounds, messages, total) == (depth, ranks - 1, (ranks - 1) * length)
        elif algorithm["algorithm"] == "chain":
            segments = min(algorithm["segments"], count)
            assert schedule.rounds == (segments + ranks - 2 if ranks > 1 else 0)
            assert (messages, total) == ((ranks - 1) * segments, (ranks - 1) * length)
        elif algorithm["algorithm"] in TREES:
            rounds = min(1, ranks - 1) if algorithm["algorithm"] == "linear" else tree_rounds(algorithm, ranks)
            assert (schedule.rounds, messages, total) == (rounds, ranks - 1, (ranks - 1) * length)
        else:
            allgather = {"scatter-allgather": "ring", "scatter-doubling": "recursive-doubling"}[algorithm["algorithm"]]
            gathering = Schedule(workload("allgather", {"algorithm": allgather}, count=2), ranks)
            assert schedule.rounds == depth + gathering.rounds
            if count == 2 * ranks:  # blocks alike: those of the subtrees, then (P - 1) / P of the vector for each rank
                subtrees = sum(min(v & -v, ranks - v) for v in range(1, ranks))
                assert messages == ranks - 1 + gathering.totals()["allgather"][0]
                assert total == ELEMENT_BYTES * 2 * (subtrees + ranks * (ranks - 1))


@pytest.mark.parametrize("ranks", MANY)
@pytest.mark.parametrize("algorithm", REDUCES, ids=shown)
def test_reduce(algorithm: Workload, ranks: int) -> None:
    """Vectors of multisets: entry [e, r] counts how often rank r's element e is in a sum."""
    for root, count in itertools.product(roots(ranks), (1, 5, 64)):
        schedule = Schedule(workload("reduce", algorithm, root=root, count=count), ranks)
        vectors = np.zeros((ranks, count, ranks), int)
        for rank in range(ranks):
            vectors[rank, :, rank] = 1
            assert schedule.held(rank, 1) == ((0, count if rank == root else 0), (0, 1), (0, 1))
        assert (execute(schedule, list(vectors), range(schedule.rounds))[root] == 1).all()
        messages, total = schedule.totals()["reduce"]
        if algorithm["algorithm"] != "rabenseifner":
            broadcast = Schedule(workload("broadcast", algorithm, root=root, count=count), ranks)
            assert schedule.rounds == broadcast.rounds
            assert (messages, total) == broadcast.totals()["broadcast"]
        else:
            bits = ranks.bit_length() - 1
            members = 2**bits
            assert schedule.rounds == 2 * bits + (1 if ranks > members else 0)
            if count == 64 and members <= 64:
                assert messages == members * bits + (members - 1) + (ranks - members)
                assert total == ELEMENT_BYTES * (64 * (members - 1) + bits * 32 + 64 * (ranks - members))


@pytest.mark.parametrize("ranks", MANY)
@pytest.mark.parametrize("algorithm", ROOTED, ids=shown)
def test_gather_and_scatter(algorithm: Workload, ranks: int) -> None:
    for root, count in itertools.product(roots(ranks), (1, 3)):
        gather, scatter = (
            Schedule(workload(operation, algorithm, root=root, count=count), ranks)
            for operation in ("gather", "scatter")
        )
        collected, handed_out = move(gather, (count, ranks, 1)), move(scatter, (count, ranks, 1))
        assert owners(collected[root]) == {point: point[1] for point in full(count, ranks, 1)}
        for rank, field in enumerate(handed_out):
            assert owners(field) == {(x, rank, 0): root for x in range(count)}
        linear = algorithm["algorithm"] == "linear"
        blocks = (ranks - 1) if linear else sum(min(v & -v, ranks - v) for v in range(1, ranks))
        for schedule, name in ((gather, "gather"), (scatter, "scatter")):
            assert schedule.rounds == (min(1, ranks - 1) if linear else levels(ranks))
            assert schedule.totals() == {name: (ranks - 1, ELEMENT_BYTES * count * blocks)}


@pytest.mark.parametrize("ranks", MANY)
@pytest.mark.parametrize("algorithm", ALLGATHERS, ids=shown)
def test_allgather(algorithm: Workload, ranks: int) -> None:
    """Whatever the way, each rank sends, and gets, P - 1 blocks: (P - 1) / P of all data."""
    cut_short = algorithm["algorithm"] == "recursive-doubling" and ranks & (ranks - 1)  # its last groups
    for count in (1, 3):
        schedule = Schedule(workload("allgather", algorithm, count=count), ranks)
        for field in move(schedule, (count, ranks, 1)):
            assert owners(field) == {point: point[1] for point in full(count, ranks, 1)}
        exchange = algorithm["algorithm"] == "neighbour-exchange" and ranks % 2 == 0
        ring = algorithm["algorithm"] in ("ring", "neighbour-exchange") and not exchange
        radix = algorithm.get("radix", 2)
        messages, total = schedule.totals()["allgather"]
        assert total == ELEMENT_BYTES * count * ranks * (ranks - 1)
        if exchange:
            assert (schedule.rounds, messages) == (ranks // 2, ranks * ranks // 2)
            continue
        if cut_short:
            assert levels(ranks) < schedule.rounds <= 2 * levels(ranks)
            assert messages <= ranks * schedule.rounds
            continue
        assert schedule.rounds == (ranks - 1 if ring else levels(ranks, radix))
        partners = sum(d * radix**s < ranks for s in range(levels(ranks, radix)) for d in range(1, radix))
        assert messages == ranks * (ranks - 1 if ring else partners)


@pytest.mark.parametrize("ranks", [*range(1, 18), 33])
@pytest.mark.parametrize("algorithm", DIRECT_ALLTOALLS, ids=shown)
def test_alltoall(algorithm: Workload, ranks: int) -> None:
    count = 2
    schedule = Schedule(workload("alltoall", algorithm, count=count), ranks)
    for rank, field in enumerate(move(schedule, (count, ranks, ranks))):
        assert owners(field) == {(x, y, rank): y for x in range(count) for y in range(ranks)}
    same = Schedule.alltoall(algorithm["algorithm"], np.full((ranks, ranks), count), algorithm.get("radix"))
    assert schedule.rounds == same.rounds
    for number in range(schedule.rounds):
        expected, found = same.transfers(number), schedule.transfers(number)
        assert all(np.array_equal(expected[key], found[key]) for key in expected)
        assert schedule.round(0, number).window == same.round(0, number).window


@pytest.mark.parametrize("ranks", [*range(1, 18), 33])
@pytest.mark.parametrize("algorithm", ALLTOALLS_BY_LEADERS, ids=shown)
def test_alltoall_by_leaders(algorithm: Workload, ranks: int) -> None:
    """Gather and scatter move all that is not a leader's own; each block crosses between groups once."""
    schedule = Schedule(workload("alltoall", algorithm, count=1, radix=2), ranks)
    assert schedule.phases == ["gather", "exchange", "scatter"]
    assert schedule.rounds == 3
    for rank, field in enumerate(move(schedule, (1, ranks, ranks))):
        assert owners(field) == {(0, y, rank): y for y in range(ranks)}
    sizes = Counter(rank // algorithm["group"] for rank in range(ranks))
    groups = len(sizes)
    most = 1 if algorithm["algorithm"] == "leaders" else groups
    handed = sum(min(size, most) * (size - 1) for size in sizes.values())
    inside = (handed, ELEMENT_BYTES * ranks * (ranks - groups))
    across = (groups * (groups - 1), ELEMENT_BYTES * (ranks**2 - sum(size**2 for size in sizes.values())))
    assert schedule.totals() == {"gather": inside, "exchange": across, "scatter": inside}
    assert schedule.round(0, 1).window == min(2, ranks)
    assert Schedule(workload("alltoall", algorithm, count=1), ranks).round(0, 1).window == 0


@pytest.mark.parametrize("ranks", MANY)
@pytest.mark.parametrize("algorithm", ALLREDUCES, ids=shown)
def test_allreduce(algorithm: Workload, ranks: int) -> None:
    for count in (1, 5):
        schedule = Schedule(workload("allreduce", algorithm, count=count), ranks)
        vectors = np.zeros((ranks, count, ranks), int)
        for rank in range(ranks):
            vectors[rank, :, rank] = 1
        for result in execute(schedule, list(vectors), range(schedule.rounds)):
            assert (result == 1).all()
        if algorithm["algorithm"] != "hierarchical":
            same = Schedule({"kind": "allreduce", **algorithm, "count": count, "repeats": 1}, ranks)
            assert (schedule.rounds, schedule.totals()) == (same.rounds, same.totals())
            continue
        groups = math.ceil(ranks / algorithm["group"])
        flat = Schedule({"kind": "allreduce", "algorithm": "recursive-doubling", "count": count, "repeats": 1}, groups)
        inside = (ranks - groups, ELEMENT_BYTES * count * (ranks - groups))
        across = flat.totals()["allreduce"]
        assert schedule.totals() == {"reduce": inside, "allreduce": across, "broadcast": inside}
        assert schedule.rounds == flat.rounds + 2 * levels(min(algorithm["group"], ranks))


@pytest.mark.parametrize("dims", GRIDS, ids=str)
@pytest.mark.parametrize("algorithm", ["direct", "sweeps"])
def test_neighbourhood(algorithm: str, dims: tuple[int, ...]) -> None:
    """Directly 3^d - 1 messages, by sweeps 2 d, with as many bytes."""
    ranks, count = math.prod(dims), 2
    nx, ny, nz = (*dims, 1, 1)[:3]
    schedule = Schedule(workload("neighbourhood", {"algorithm": algorithm}, dims=list(dims), count=count), ranks)
    d = sum(size > 1 for size in dims)
    for rank, field in enumerate(move(schedule, (count * nx, ny, nz))):
        cell = (rank % nx, rank // nx % ny, rank // nx // ny)
        reach = [1 if size > 1 else 0 for size in (nx, ny, nz)]
        around = itertools.product(*(range(c - r, c + r + 1) for c, r in zip(cell, reach, strict=True)))
        expected = {
            (x * count + i, y, z): x % nx + nx * (y % ny + ny * (z % nz)) for x, y, z in around for i in range(count)
        }
        assert owners(field) == expected
    messages = 3**d - 1 if algorithm == "direct" else 2 * d
    assert schedule.rounds == (min(d, 1) if algorithm == "direct" else d)
    assert schedule.totals()["neighbourhood"] == (ranks * messages, ranks * ELEMENT_BYTES * count * (3**d - 1))


def any_workloads(ranks: int, root: int) -> list[Workload]:
    """Every algorithm of every operation."""
    nx = next(n for n in range(math.isqrt(ranks), 0, -1) if ranks % n == 0)
    return [
        *(workload("barrier", each) for each in BARRIERS),
        *(workload("broadcast", each, root=root, count=1000) for each in BROADCASTS),
        *(workload("reduce", each, root=root, count=1000) for each in REDUCES),
        *(workload(name, each, root=root, count=3) for name in ("gather", "scatter") for each in ROOTED),
        *(workload("allgather", each, count=3) for each in ALLGATHERS),
        *(workload("alltoall", each, count=3) for each in DIRECT_ALLTOALLS + ALLTOALLS_BY_LEADERS),
        *(workload("allreduce", each, count=3) for each in ALLREDUCES),
        *(
            workload("neighbourhood", {"algorithm": each}, dims=[nx, ranks // nx], count=3)
            for each in ("direct", "sweeps")
        ),
    ]


@settings(deadline=None, max_examples=30)
@given(data=st.data(), ranks=st.integers(34, 10**6))
def test_both_ends_agree_on_any_number_of_ranks(data: st.DataObject, ranks: int) -> None:
    described = data.draw(st.sampled_from(any_workloads(ranks, data.draw(st.integers(0, ranks - 1)))))
    schedule = Schedule(described, ranks)
    dice = random.Random(ranks)
    for _ in range(40):
        rank, number = dice.randrange(ranks), dice.randrange(schedule.rounds)
        sends = schedule.round(rank, number).sends
        for index in [dice.randrange(sends) for _ in range(min(sends, 3))]:
            sent = schedule.send(rank, number, index)
            back = schedule.round(sent.peer, number)
            assert back.phase == schedule.round(rank, number).phase
            received = [schedule.receive(sent.peer, number, i) for i in range(min(back.receives, 2000))]
            same = [(t.tag, t.bytes) for t in received if t.peer == rank and t.tag == sent.tag]
            assert same == [(sent.tag, sent.bytes)] or (not same and back.receives > 2000)


BAD: list[tuple[Workload, int, str]] = [
    ({}, 4, "workload.operation: found nothing, allowed: barrier, broadcast, reduce, gather, scatter, allgather, all"),
    ({"operation": "scan"}, 4, "workload.operation: found 'scan', allowed: barrier, broadcast"),
    (
        {"operation": "barrier"},
        4,
        "workload.algorithm: found nothing, but operation barrier needs it, allowed: dissemination, tree",
    ),
    (
        {"operation": "gather", "algorithm": "ring", "count": 1},
        4,
        "workload.algorithm: found 'ring', allowed: linear, binomial",
    ),
    (
        {"operation": "gather", "algorithm": "linear", "count": 1, "root": 4},
        4,
        "workload.root: found 4, allowed: a rank, 0 to 3",
    ),
    (
        {"operation": "gather", "algorithm": "linear", "count": 1, "root": -1},
        4,
        "workload.root: found -1, allowed: an integer from 0",
    ),
    (
        {"operation": "gather", "algorithm": "linear"},
        4,
        "workload.count: found nothing, but operation gather needs it, allowed: an integer from 1",
    ),
    (
        {"operation": "barrier", "algorithm": "tree", "count": 1},
        4,
        "workload.count: found 1, but operation barrier has none, allowed: only with broadcast, reduce, gather",
    ),
    (
        {"operation": "allgather", "algorithm": "ring", "count": 1, "root": 1},
        4,
        "workload.root: found 1, but operation allgather has none, allowed: only with broadcast, reduce, gather, scat",
    ),
    (
        {"operation": "allgather", "algorithm": "ring", "count": 1, "radix": 2},
        4,
        "workload.radix: found 2, but algorithm ring has none, allowed: only with k-nomial, bruck",
    ),
    (
        {"operation": "alltoall", "algorithm": "leaders", "count": 1},
        4,
        "workload.group: found nothing, but algorithm leaders needs it, allowed: an integer from 1",
    ),
    (
        {"operation": "alltoall", "algorithm": "burst", "count": 2**31 - 1},
        2**20,
        "workload.count: found 2147483647, allowed: blocks of less than 2^63 bytes in all",
    ),
    (
        {"operation": "neighbourhood", "algorithm": "direct", "count": 1, "dims": [2, 3]},
        4,
        "workload.dims: found [2, 3], allowed: one to three sizes whose product is the number of ranks, 4",
    ),
    (
        {"operation": "neighbourhood", "algorithm": "direct", "count": 1, "dims": [2, 2, 1, 1]},
        4,
        "workload.dims: found [2, 2, 1, 1], allowed: one to three sizes",
    ),
]


@pytest.mark.parametrize(("given", "ranks", "message"), BAD)
def test_one_line_names_key_found_and_allowed(given: Workload, ranks: int, message: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the text is compared below
        Schedule({"kind": "collective", **given}, ranks)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_algorithm_has_the_same_keys_in_every_operation() -> None:
    """Keys go with the name of an algorithm, so that one list reads them all."""
    names = [key["name"] for key in _simulator.schedule.kinds()["collective"]["keys"] if key["with"] is None]
    assert names == ["operation"]
    cases = Counter((key["name"], key["with"]) for key in _simulator.schedule.kinds()["collective"]["keys"])
    assert max(cases.values()) == 1


def sizes_of_blocks(own: Workload, ranks: int, count: int, spread: float, **more: Any) -> dict[tuple[int, int], int]:
    """Return the size of each block of an all-to-all, followed on its way."""
    keys = workload("alltoallv", own, count=count, spread=int(1e6 * spread), seed=3, **more)
    found: dict[tuple[int, int], int] = {}
    schedule = Schedule(keys, ranks)
    transit: dict[tuple[int, int, int], int] = {}
    for number in range(schedule.rounds):
        arrived: dict[tuple[int, int, int], int] = {}
        for message in matched(schedule, number):
            for sent, received in zip(message.sent, message.received, strict=True):
                key = sent.origin, sent.destination
                (_, size), *_ = received.box
                if sent.origin != message.source:
                    assert transit.pop((message.source, *key)) == size
                if received.destination == message.destination:
                    assert key not in found
                    found[key] = size
                else:
                    arrived[message.destination, *key] = size
        transit |= arrived
    assert not transit
    return found


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("algorithm", DIRECT_ALLTOALLS, ids=shown)
def test_blocks_of_different_sizes_get_where_they_belong(algorithm: Workload, ranks: int) -> None:
    """Every block once, of the same size by every algorithm, whatever way it takes; the sizes differ by the spread."""
    count, spread = 100, 0.4
    sizes = sizes_of_blocks(algorithm, ranks, count, spread)
    assert sizes == sizes_of_blocks({"algorithm": "burst"}, ranks, count, spread)
    assert sorted(sizes) == [(y, z) for y in range(ranks) for z in range(ranks) if y != z]
    assert all((1 - spread) * count <= size <= (1 + spread) * count for size in sizes.values())
    assert ranks < 7 or len(set(sizes.values())) > ranks


@pytest.mark.parametrize("ranks", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("algorithm", DIRECT_ALLTOALLS, ids=shown)
def test_blocks_go_with_the_weights_of_their_ends(algorithm: Workload, ranks: int) -> None:
    senders, receivers = [3 * (i % 3) + 1 for i in range(ranks)], [*range(1, ranks + 1)]
    sizes = sizes_of_blocks(algorithm, ranks, 1000, 0, senders=senders, receivers=receivers)
    assert sorted(sizes) == [(y, z) for y in range(ranks) for z in range(ranks) if y != z]
    means = sum(senders) / ranks * sum(receivers) / ranks
    for (y, z), size in sizes.items():
        assert size == pytest.approx(1000 * senders[y] * receivers[z] / means, abs=1)


@pytest.mark.parametrize(("ranks", "group"), [(24, 4), (22, 4), (30, 3), (9, 4)])
@pytest.mark.parametrize("algorithm", ["leaders", "multi-leader"])
def test_leaders_exchange_with_the_groups_after_their_own_first(algorithm: str, ranks: int, group: int) -> None:
    """In a cycle over their share, so that not all send to one group at once; who has none of its own begins there."""
    schedule = Schedule(workload("alltoall", {"algorithm": algorithm, "group": group}, count=1), ranks)
    groups = -(-ranks // group)
    order: dict[int, list[int]] = {}
    for message in matched(schedule, 1):
        order.setdefault(message.source, []).append(message.destination // group)
    for rank, found in order.items():
        own, leader = rank // group, rank % group
        leaders = min(group if algorithm == "multi-leader" else 1, groups, ranks - own * group)
        sizes = [groups // leaders + (place < groups % leaders) for place in range(leaders)]
        share = list(range(sum(sizes[:leader]), sum(sizes[: leader + 1])))
        begin = share.index(own) + 1 if own in share else own % len(share)
        assert found == [each for each in (share * 2)[begin : begin + len(share)] if each != own]


def test_weights_and_blocks_are_rounded() -> None:
    """Weights to 1 / 2^20 of their mean: 2/3 to 699,051, 4/3 to 1,398,101; blocks to the nearest element."""
    for count, small, large in ((2**20, 699_051, 1_398_101), (3, 2, 4), (2, 1, 3), (1, 1, 1)):
        sizes = sizes_of_blocks({"algorithm": "burst"}, 2, count, 0, senders=[1, 2])
        assert sizes == {(0, 1): small, (1, 0): large}


def test_blocks_are_spread_evenly_over_their_range() -> None:
    """Of 870 blocks each tenth has about 87, and the mean is that without spread."""
    sizes = np.array(list(sizes_of_blocks({"algorithm": "burst"}, 30, 10**6, 0.5).values()))
    assert sizes.size == 870
    tenths, _ = np.histogram(sizes, bins=10, range=(0.5e6, 1.5e6))
    assert tenths.sum() == 870
    assert np.all(abs(tenths - 87) < 4.5 * np.sqrt(87 * 0.9))
    assert abs(sizes.mean() - 1e6) < 4 * 1e6 / np.sqrt(12 * 870)
