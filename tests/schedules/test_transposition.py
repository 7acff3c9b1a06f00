"""The three transpositions of a spectral model: Zheng & Marguinaud 2018, section 3.1 and Fig. 3."""

import itertools
import math
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .machine import ELEMENT_BYTES, Box, Values, Workload, cut, matched, shape, slices

Schedule = _simulator.schedule.Schedule

#: Messages, and their bytes.
Totals = tuple[int, int]


@st.composite
def workloads(draw: st.DrawFn, most: int = 5, longest: int = 9) -> Workload:
    """Any algorithm on any grid and any process grid the grid admits."""
    cx, cy = draw(st.integers(1, most)), draw(st.integers(1, most))
    side = st.integers(max(cx, cy), max(cx, cy) + longest)
    workload: Workload = {
        "kind": "transposition",
        "algorithm": draw(st.sampled_from(["ring-k", "burst", "bruck", "pairwise", "sliding-window"])),
        "grid": [draw(side), draw(side), draw(st.integers(cx, cx + longest))],
        "decomposition": [cx, cy],
    }
    if workload["algorithm"] in ("ring-k", "sliding-window"):
        workload["radix"] = draw(st.integers(1, most + 2))
    if workload["algorithm"] == "bruck" and draw(st.booleans()):
        workload["radix"] = draw(st.integers(2, most + 2))
    return workload


def layouts(workload: Workload) -> list[list[Box]]:
    """Fig. 3 a to d, as boxes of every rank."""
    nx, ny, nz = workload["grid"]
    cx, cy = workload["decomposition"]
    ranks = [(ix, iy) for iy in range(cy) for ix in range(cx)]
    return [
        [(cut(nx, cx)[ix], cut(ny, cy)[iy], (0, nz)) for ix, iy in ranks],
        [((0, nx), cut(ny, cy)[iy], cut(nz, cx)[ix]) for ix, iy in ranks],
        [(cut(nx, cy)[iy], (0, ny), cut(nz, cx)[ix]) for ix, iy in ranks],
        [(cut(nx, cy)[iy], cut(ny, cx)[ix], (0, nz)) for ix, iy in ranks],
    ]


def overlap(one: Box, other: Box) -> Box | None:
    """Box of the points in both boxes, or None."""
    box = tuple((max(a, c), min(b, d)) for (a, b), (c, d) in zip(one, other, strict=True))
    return box if all(first < last for first, last in box) else None


def execute(schedule: Any, workload: Workload, field: Values) -> list[list[Values]]:
    """Carry a field from layout a to d; return every rank's part in all four layouts."""
    where = layouts(workload)
    ranks = range(schedule.ranks)
    history = [[field[slices(where[0][rank])].copy() for rank in ranks]]
    number = 0
    for phase in range(3):
        before, after = history[-1], [np.full(shape(where[phase + 1][rank]), -1) for rank in ranks]
        in_transit: list[dict[tuple[int, int], Values]] = [{} for _ in ranks]

        def write(rank: int, box: Box, values: Values, after: list[Values] = after, phase: int = phase) -> None:
            target = after[rank][slices(box, where[phase + 1][rank])]
            assert target.shape == values.shape, "a block for another rank"
            assert (target == -1).all(), "a point that was there already"
            target[...] = values

        for rank in ranks:
            if (own := overlap(where[phase][rank], where[phase + 1][rank])) is not None:
                write(rank, own, before[rank][slices(own, where[phase][rank])])
        while number < schedule.rounds and schedule.round(0, number).phase == phase:
            moved = []
            for message in matched(schedule, number):
                for piece in message.sent:
                    if piece.origin == message.source:
                        values = before[message.source][slices(piece.box, where[phase][message.source])]
                        assert values.shape == shape(piece.box), "a block that was never there"
                    else:
                        values = in_transit[message.source].pop((piece.origin, piece.destination))
                    moved.append((message.destination, piece, values))
            for rank, piece, values in moved:
                if piece.destination == rank:
                    write(rank, piece.box, values)
                else:
                    assert (piece.origin, piece.destination) not in in_transit[rank]
                    in_transit[rank][piece.origin, piece.destination] = values
            number += 1
        assert not any(in_transit)
        history.append(after)
    assert number == schedule.rounds
    return history


@settings(deadline=None, max_examples=60)
@given(workload=workloads())
def test_a_becomes_b_becomes_c_becomes_d(workload: Workload) -> None:
    """Every grid point is where Fig. 3 puts it after every phase, and came exactly once."""
    schedule = Schedule(workload, math.prod(workload["decomposition"]))
    field = np.arange(math.prod(workload["grid"])).reshape(workload["grid"])
    for phase, parts in enumerate(execute(schedule, workload, field)):
        for rank, part in enumerate(parts):
            box = layouts(workload)[phase][rank]
            assert schedule.held(rank, phase) == box
            np.testing.assert_array_equal(part, field[slices(box)])


def messages(workload: Workload, phase: int) -> list[tuple[int, int, int]]:
    """Return source, destination and bytes of every message of a phase, by the definitions of the algorithms.

    A block goes from its origin to its destination in one message. With bruck it goes in one message for each digit of
    its way that is not 0, the lowest first, together with all others that are there and have the same digit.
    """
    cx, cy = workload["decomposition"]
    where = layouts(workload)
    rows = [[ix + cx * iy for ix in range(cx)] for iy in range(cy)]
    columns = [[ix + cx * iy for iy in range(cy)] for ix in range(cx)]
    radix = workload.get("radix", 2)
    found = []
    for group in columns if phase == 1 else rows:
        size = len(group)

        def block(origin: int, way: int, group: list[int] = group, size: int = size) -> int:
            source, target = group[origin % size], group[(origin + way) % size]
            shared = overlap(where[phase][source], where[phase + 1][target])
            return 0 if shared is None else ELEMENT_BYTES * math.prod(last - first for first, last in shared)

        if workload["algorithm"] != "bruck":
            found += [(group[i], group[(i + way) % size], block(i, way)) for i in range(size) for way in range(1, size)]
            continue
        weights = [radix**digit for digit in range(size) if radix**digit < size]
        for weight, digit in itertools.product(weights, range(1, radix)):
            ways = [way for way in range(size) if way // weight % radix == digit]
            for i in range(size) if ways else ():
                carried = sum(block(i - way % weight, way) for way in ways)
                found.append((group[i], group[(i + digit * weight) % size], carried))
    return sorted(found)


@settings(deadline=None)
@given(workload=workloads(most=8, longest=20))
def test_messages_in_closed_form(workload: Workload) -> None:
    """Who sends how much to whom, bruck's blocks that are passed on included, from the definition."""
    schedule = Schedule(workload, math.prod(workload["decomposition"]))
    sent: list[list[tuple[int, int, int]]] = [[], [], []]
    for number in range(schedule.rounds):
        for message in matched(schedule, number):  # compares bytes with contents
            size = ELEMENT_BYTES * sum(piece.size for piece in message.sent)
            sent[schedule.round(0, number).phase].append((message.source, message.destination, size))
    assert [sorted(own) for own in sent] == [messages(workload, phase) for phase in range(3)]


@settings(deadline=None)
@given(workload=workloads(most=12, longest=30))
def test_totals_in_closed_form(workload: Workload) -> None:
    """What a rank keeps is what its two layouts share; bruck forwards a block once for every bit of its way."""
    nx, ny, nz = workload["grid"]
    cx, cy = workload["decomposition"]
    bruck = workload["algorithm"] == "bruck"
    radix = workload.get("radix", 2)

    def steps(way: int) -> int:
        return 0 if way == 0 else int(way % radix > 0) + steps(way // radix)

    def expected(members: int, groups: int, whole: int, parted: int, shared: int) -> tuple[int, int]:
        def travels(origin: int, destination: int) -> int:
            way = (destination - origin) % members
            return steps(way) if bruck else int(way > 0)

        elements = shared * sum(
            (b - a) * (d - c) * travels(i, j)
            for i, (a, b) in enumerate(cut(whole, members))
            for j, (c, d) in enumerate(cut(parted, members))
        )
        partners = sum(steps(way) == 1 for way in range(members)) if bruck else members - 1
        return members * groups * partners, ELEMENT_BYTES * elements

    totals = Schedule(workload, cx * cy).totals()
    assert totals == {
        "a-b": expected(cx, cy, nx, nz, ny),
        "b-c": expected(cy, cx, ny, nx, nz),
        "c-d": expected(cx, cy, nz, ny, nx),
    }


# Counts of messages and bytes by an independent program (an MPI skeleton under SST/macro 16): grid, decomposition,
# algorithm, radix, then the three phases.
REFERENCE = [
    ([1440, 720, 64], [8, 8], "ring-k", 4, (448, 464486400), (448, 464486400), (448, 464486400)),
    ([1440, 720, 64], [8, 8], "bruck", None, (192, 796262400), (192, 796262400), (192, 796262400)),
    ([1440, 720, 64], [32, 32], "burst", None, (31744, 514252800), (31744, 514252800), (31744, 514252800)),
    ([1440, 720, 64], [32, 32], "bruck", None, (5120, 1327104000), (5120, 1327104000), (5120, 1327104000)),
    ([1440, 90, 64], [3, 1], "ring-k", 2, (6, 44236800), (0, 0), (6, 44236800)),
    ([1440, 90, 64], [8, 1], "bruck", None, (24, 99532800), (0, 0), (24, 99532800)),
]


@pytest.mark.parametrize(("grid", "decomposition", "algorithm", "radix", "a_b", "b_c", "c_d"), REFERENCE)
def test_totals_agree_with_an_independent_program(
    grid: list[int], decomposition: list[int], algorithm: str, radix: int | None, a_b: Totals, b_c: Totals, c_d: Totals
) -> None:
    workload: Workload = {
        "kind": "transposition",
        "algorithm": algorithm,
        "grid": grid,
        "decomposition": decomposition,
    }
    if radix is not None:
        workload["radix"] = radix
    totals = Schedule(workload, math.prod(decomposition)).totals()
    assert totals == {"a-b": a_b, "b-c": b_c, "c-d": c_d}


@pytest.mark.parametrize(
    ("algorithm", "radix"),
    [
        ("ring-k", 1),
        ("ring-k", 4),
        ("burst", None),
        ("bruck", None),
        ("bruck", 8),
        ("pairwise", None),
        ("sliding-window", 4),
    ],
)
def test_a_million_ranks_on_the_paper_grid(algorithm: str, radix: int | None) -> None:
    """Nothing is stored per rank: any message of 10^6 ranks can be asked for at once, and both ends agree on it."""
    workload = {
        "kind": "transposition",
        "algorithm": algorithm,
        "grid": [28800, 14400, 256],
        "decomposition": [250, 4000],
    } | ({} if radix is None else {"radix": radix})
    schedule = Schedule(workload, 10**6)
    stages: Callable[[int], int] = {
        "ring-k": lambda n: math.ceil((n - 1) / (radix or 1)),
        "burst": lambda n: 1,
        "bruck": lambda n: next(s for s in range(32) if (radix or 2) ** s >= n),
        "pairwise": lambda n: n - 1,
        "sliding-window": lambda n: 1,
    }[algorithm]
    assert schedule.rounds == 2 * stages(250) + stages(4000)
    dice = random.Random(1)
    for _ in range(2000):
        rank, number = dice.randrange(10**6), dice.randrange(schedule.rounds)
        index = dice.randrange(schedule.round(rank, number).sends)
        sent = schedule.send(rank, number, index)
        received = schedule.receive(sent.peer, number, index)
        assert (received.peer, received.tag, received.bytes) == (rank, sent.tag, sent.bytes)
        assert sent.bytes == ELEMENT_BYTES * sum(piece.size for piece in schedule.send_contents(rank, number, index))


def test_empty_blocks_only_on_demand() -> None:
    """Two reference ranks on a grid with ny = 1: layout d leaves one of them without points."""
    workload = {"kind": "transposition", "algorithm": "ring-k", "radix": 1, "grid": [4, 1, 4], "decomposition": [4, 1]}
    with pytest.raises(ValueError, match="found cx = 4 > ny = 1, allowed: cx <= ny = 1"):
        Schedule(workload, 4)
    schedule = Schedule(workload, 4, allow_empty_blocks=True)
    field = np.arange(16).reshape(4, 1, 4)
    for rank, part in enumerate(execute(schedule, workload, field)[-1]):
        np.testing.assert_array_equal(part, field if rank == 0 else field[:, :0])
    assert {int(length) for length in schedule.transfers(3)["bytes"]} == {0, 32}
