"""Wide halo exchange: Zheng & Marguinaud 2018, section 3.2 and Figs. 4b and 9d."""

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.workloads import schedules

from .machine import ELEMENT_BYTES, Box, Range, Values, Workload, cut, matched, shape, slices

Schedule = _simulator.schedule.Schedule
CALLS = schedules.words("halo", "calls")


@st.composite
def workloads(draw: st.DrawFn, most: int = 5, longest: int = 8, widest: int = 20) -> Workload:
    """Halos narrower than a block, wider than several neighbours, and wider than the whole domain."""
    cx, cy = draw(st.integers(1, most)), draw(st.integers(1, most))
    return {
        "kind": "halo",
        "width": draw(st.integers(1, widest)),
        "grid": [draw(st.integers(cx, cx + longest)), draw(st.integers(cy, cy + longest)), draw(st.integers(1, 3))],
        "decomposition": [cx, cy],
        "calls": draw(st.sampled_from(CALLS)),
    }


def rounds_of(workload: Workload, sweep: int) -> range:
    """Rounds of a sweep: one, or one for each direction."""
    several = 2 if workload["calls"] == "sendrecv" else 1
    return range(several * sweep, several * (sweep + 1))


def own_points(workload: Workload) -> list[Box]:
    """Points of every rank, as boxes."""
    nx, ny, nz = workload["grid"]
    cx, cy = workload["decomposition"]
    return [(x, y, (0, nz)) for y, x in itertools.product(cut(ny, cy), cut(nx, cx))]


def grown(box: Box, width: int, axes: int) -> Box:
    """A box with a halo along the first `axes` directions."""
    return tuple((a - width, b + width) if axis < axes else (a, b) for axis, (a, b) in enumerate(box))


def copy_images(values: Values, filled: Values, block: Range, axis: int, points: int, width: int) -> list[int]:
    """Fill what no message brings, as HaloExchange defines it: from one domain length nearer, outward from the block.

    ``values`` and ``filled`` are what the rank holds after the sweep along ``axis``, where ``block`` is its own range.
    Returns the indices along the axis (global, unwrapped) that had to be filled so.
    """
    values, filled = np.moveaxis(values, axis, 0), np.moveaxis(filled, axis, 0)
    first, last = block
    start = first - width
    copied = []
    for step in range(width):
        for index, source in ((first - 1 - step, first - 1 - step + points), (last + step, last + step - points)):
            if (filled[index - start] == 0).all():
                assert (filled[source - start] == 1).all(), "an image of something that is not there"
                values[index - start] = values[source - start]
                filled[index - start] = 1
                copied.append(index)
            assert (filled[index - start] == 1).all()
    return copied


def execute(
    schedule: Any, workload: Workload, field: Values
) -> tuple[list[Box], list[Values], list[Values], list[list[list[int]]]]:
    """Exchange the halos of a field; return the extended blocks and, per rank and sweep, what was copied."""
    width, (nx, ny, _) = workload["width"], workload["grid"]
    own = own_points(workload)
    full = [grown(box, width, 2) for box in own]
    values = [np.full(shape(box), -1) for box in full]
    filled = [np.zeros(shape(box), int) for box in full]
    copied: list[list[list[int]]] = [[], []]
    for rank, box in enumerate(own):
        values[rank][slices(box, full[rank])] = field[slices(box)]
        filled[rank][slices(box, full[rank])] += 1
    for sweep, points in enumerate((nx, ny)):
        moved = []
        for message in (m for number in rounds_of(workload, sweep) for m in matched(schedule, number)):
            (sent,), (received,) = message.sent, message.received
            assert (sent.origin, sent.destination) == (message.source, message.destination)
            source = slices(sent.box, full[message.source])
            assert (filled[message.source][source] == 1).all(), "sent before it was there"
            moved.append((message.destination, received.box, values[message.source][source].copy()))
        for rank, box, data in moved:
            target = slices(box, full[rank])
            values[rank][target] = data
            filled[rank][target] += 1
        for rank, box in enumerate(own):
            held = slices(grown(box, width, sweep + 1), full[rank])
            copied[sweep].append(copy_images(values[rank][held], filled[rank][held], box[sweep], sweep, points, width))
    return full, values, filled, copied


@settings(deadline=None, max_examples=80)
@given(workload=workloads())
def test_every_point_of_the_extended_block_is_right(workload: Workload) -> None:
    """Corners included; each point is received once, or is an image of what the rank has already."""
    nx, ny, nz = workload["grid"]
    cx, cy = workload["decomposition"]
    width = workload["width"]
    schedule = Schedule(workload, cx * cy)
    field = np.arange(nx * ny * nz).reshape(nx, ny, nz)
    full, values, filled, copied = execute(schedule, workload, field)
    for rank, box in enumerate(full):
        x, y, z = (np.arange(first, last) for first, last in box)
        np.testing.assert_array_equal(values[rank], field[np.ix_(x % nx, y % ny, z)])
        assert (filled[rank] == 1).all()
        own = own_points(workload)[rank]
        for axis, points in enumerate((nx, ny)):
            # A side brings at most what all the others have; the rest is the block's own image and beyond.
            first, last = own[axis]
            brought = min(width, points - (last - first))
            images = range(brought + 1, width + 1)
            beyond = [first - distance for distance in images] + [last + distance - 1 for distance in images]
            assert sorted(copied[axis][rank]) == sorted(beyond)
            if 2 * width + last - first <= points:
                assert len(set(np.arange(*box[axis]) % points)) == 2 * width + last - first  # nothing twice
        for phase in range(3):
            assert schedule.held(rank, phase) == grown(own, width, phase)


@settings(deadline=None)
@given(workload=workloads(most=12, longest=40, widest=60))
def test_totals_in_closed_form(workload: Workload) -> None:
    """Every side of every block brings min(width, points of all others); y messages are longer by the x halo."""
    nx, ny, nz = workload["grid"]
    cx, cy = workload["decomposition"]
    width = workload["width"]

    def rows(points: int, parts: int) -> int:
        return sum(2 * min(width, points - (last - first)) for first, last in cut(points, parts))

    totals = Schedule(workload, cx * cy).totals()
    assert list(totals) == ["x-sweep", "y-sweep"]
    assert totals["x-sweep"][1] == ELEMENT_BYTES * nz * ny * rows(nx, cx)
    assert totals["y-sweep"][1] == ELEMENT_BYTES * nz * (nx + 2 * width * cx) * rows(ny, cy)


@settings(deadline=None)
@given(workload=workloads(most=9, longest=20, widest=30))
def test_neighbours_are_asked_nearest_first_and_no_further_than_needed(workload: Workload) -> None:
    """Upward first, then downward: the order an independent program has (see test_transposition)."""
    cx, cy = workload["decomposition"]
    width = workload["width"]
    schedule = Schedule(workload, cx * cy)

    def needed(blocks: list[Range], part: int, step: int) -> list[tuple[int, int]]:
        """Members that have a part of the halo on one side: (member, points), nearest first."""
        result, missing = [], width
        for far in range(1, len(blocks)):
            first, last = blocks[(part + step * far) % len(blocks)]
            if missing > 0:
                result.append(((part + step * far) % len(blocks), min(missing, last - first)))
                missing -= last - first
        return result

    for rank in range(cx * cy):
        iy, ix = divmod(rank, cx)
        for sweep, (points, parts, part) in enumerate(((workload["grid"][0], cx, ix), (workload["grid"][1], cy, iy))):
            blocks = cut(points, parts)
            below, above = needed(blocks, part, -1), needed(blocks, part, +1)
            expected = below + above  # what travels upward comes from below
            numbers = rounds_of(workload, sweep)
            received = [(n, i) for n in numbers for i in range(schedule.round(rank, n).receives)]
            sent = [(n, i) for n in numbers for i in range(schedule.round(rank, n).sends)]
            assert len(received) == len(sent) == len(expected)
            for index, (member, amount) in enumerate(expected):
                transfer = schedule.receive(rank, *received[index])
                peer = iy * cx + member if sweep == 0 else member * cx + ix
                assert (transfer.peer, transfer.tag) == (peer, 2 * sweep + (index >= len(below)))
                (piece,) = schedule.receive_contents(rank, *received[index])
                assert shape(piece.box)[sweep] == amount
            sends = [schedule.send(rank, *place).peer for place in sent]
            members = [member for member, _ in above] + [member for member, _ in below]
            assert sends == [iy * cx + m if sweep == 0 else m * cx + ix for m in members]


def test_calls_say_what_waits_for_what() -> None:
    """As the slides of Deutscher Wetterdienst (2004) have them; directions are rounds of their own in sendrecv only."""
    workload = {"kind": "halo", "width": 2, "grid": [24, 20, 1], "decomposition": [4, 4]}
    found = {}
    for calls in CALLS:
        schedule = Schedule({**workload, "calls": calls}, 16)
        rounds = [schedule.round(5, number) for number in range(schedule.rounds)]
        found[calls] = [(r.sends, r.receives, r.window, r.in_turn) for r in rounds]
    assert found == {
        "irecv-isend": [(2, 2, 0, False)] * 2,
        "isend-recv": [(2, 2, 0, True)] * 2,
        "irecv-send": [(2, 2, 1, False)] * 2,
        "sendrecv": [(1, 1, 0, False)] * 4,
    }
    assert Schedule(workload, 16).round(5, 0).in_turn is False


def test_pattern_of_fig_9d() -> None:
    """Claim Z-9d: bands beside the diagonal (x), bands at distance cx (y), and corners from periodicity."""
    cx, cy = 6, 5
    workload = {"kind": "halo", "width": 2, "grid": [24, 20, 1], "decomposition": [cx, cy]}
    schedule = Schedule(workload, cx * cy)
    x, y = schedule.transfers(0), schedule.transfers(1)
    assert set((x["destination"] - x["source"]).tolist()) == {1, -1, cx - 1, 1 - cx}
    assert set((y["destination"] - y["source"]).tolist()) == {cx, -cx, cx * (cy - 1), -cx * (cy - 1)}


def test_two_blocks_exchange_twice_with_the_same_partner() -> None:
    workload = {"kind": "halo", "width": 1, "grid": [4, 1, 1], "decomposition": [2, 1]}
    schedule = Schedule(workload, 2)
    transfers = schedule.transfers(0)
    assert transfers["destination"].tolist() == [1, 1, 0, 0]
    assert transfers["tag"].tolist() == [0, 1, 0, 1]


def test_a_single_rank_needs_no_messages() -> None:
    schedule = Schedule({"kind": "halo", "width": 7, "grid": [3, 3, 2], "decomposition": [1, 1]}, 1)
    assert schedule.totals() == {"x-sweep": (0, 0), "y-sweep": (0, 0)}


# Messages and bytes of both sweeps by an independent program (see test_transposition). In the fourth a block has 2 or 3
# points in y and the halo reaches 7 to 9 neighbours on each side.
REFERENCE = [
    ([1440, 720, 16], [8, 8], 30, 256, 162201600),
    ([1440, 720, 16], [16, 64], 3, 4096, 84344832),
    ([1440, 720, 16], [16, 64], 20, 6144, 740556800),
    ([1440, 720, 16], [16, 256], 20, 70048, 2785280000),
    ([720, 360, 16], [8, 8], 60, 384, 250675200),
]


@pytest.mark.parametrize(("grid", "decomposition", "width", "messages", "length"), REFERENCE)
def test_totals_agree_with_an_independent_program(
    grid: list[int], decomposition: list[int], width: int, messages: int, length: int
) -> None:
    workload = {"kind": "halo", "width": width, "grid": grid, "decomposition": decomposition}
    totals = Schedule(workload, math.prod(decomposition)).totals()
    assert tuple(map(sum, zip(*totals.values(), strict=True))) == (messages, length)


@pytest.mark.parametrize("width", [3, 20, 100])
def test_a_million_ranks_on_the_paper_grid(width: int) -> None:
    workload = {"kind": "halo", "width": width, "grid": [28800, 14400, 256]}
    schedule = Schedule(workload, 10**6)
    for rank in (0, 999, 123456, 999999):
        for sweep in range(2):
            for index in range(schedule.round(rank, sweep).sends):
                sent = schedule.send(rank, sweep, index)
                back = [
                    transfer
                    for other in range(schedule.round(sent.peer, sweep).receives)
                    if (transfer := schedule.receive(sent.peer, sweep, other)).peer == rank
                ]
                assert [(t.tag, t.bytes) for t in back] == [(sent.tag, sent.bytes)]
    # Blocks are 28 or 29 points in x, 14 or 15 in y: how many neighbours a width reaches on each side.
    assert schedule.round(500500, 1).sends in (2 * math.floor(width / 15), 2 * math.ceil(width / 14))
