"""From a workload's description to its schedule: what is refused, and in which words; and the bulk methods."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tramontane import _simulator

from .machine import Workload

Schedule = _simulator.schedule.Schedule

TRANSPOSITION = {"kind": "transposition", "algorithm": "ring-k", "radix": 2, "grid": [12, 12, 12]}
HALO = {"kind": "halo", "width": 2, "grid": [12, 12, 12]}
ALLREDUCE = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 3, "count": 3}


def without(workload: Workload, key: str) -> Workload:
    return {k: v for k, v in workload.items() if k != key}


@pytest.mark.parametrize(
    ("workload", "ranks", "message"),
    [
        ({}, 4, "workload.kind: found nothing, allowed: transposition, halo, allreduce"),
        ({"kind": "halos"}, 4, "workload.kind: found 'halos', allowed: transposition, halo, allreduce"),
        (TRANSPOSITION, 0, "ranks: found 0, allowed: an integer from 1 and below 2^31"),
        (TRANSPOSITION | {"algorithm": "ring"}, 4, "workload.algorithm: found 'ring', allowed: ring-k, burst, bruck"),
        (without(TRANSPOSITION, "radix"), 4, "workload.radix: found nothing, but algorithm ring-k needs it"),
        (TRANSPOSITION | {"radix": 0}, 4, "workload.radix: found 0, allowed: an integer from 1"),
        (TRANSPOSITION | {"radix": "4"}, 4, "workload.radix: found '4', allowed: an integer"),
        (TRANSPOSITION | {"radix": True}, 4, "workload.radix: found True, allowed: an integer"),
        (TRANSPOSITION | {"grid": [12, 12]}, 4, "workload.grid: found [12, 12], allowed: three integers"),
        (TRANSPOSITION | {"grid": [12, 0, 12]}, 4, "workload.grid: found [12, 0, 12], allowed: three integers from 1"),
        (TRANSPOSITION | {"grid": [2**30, 2**30, 2]}, 4, "allowed: a field of less than 2^63 bytes"),
        (
            TRANSPOSITION | {"algorithm": "burst"},
            4,
            "workload.radix: found 2, but algorithm burst has none, allowed: only with ring-k",
        ),
        (TRANSPOSITION | {"decomposition": [2, 3]}, 4, "found [2, 3], that is 6 processes, allowed: cx * cy = 4, the"),
        (
            TRANSPOSITION | {"decomposition": [13, 1]},
            13,
            "workload.decomposition: found cx = 13 > nx = 12, allowed: cx <= nx",
        ),
        (TRANSPOSITION, 13, "ranks: found 13, which has no decomposition on the grid 12 x 12 x 12, allowed: a"),
        (HALO | {"width": 0}, 4, "workload.width: found 0, allowed: an integer from 1"),
        (
            HALO | {"radix": 2},
            4,
            "workload.radix: found an unknown key, allowed: the keys kind, width, grid, decomposition",
        ),
        (HALO | {"decomposition": [-2, -2]}, 4, "workload.decomposition: found [-2, -2]"),
        (ALLREDUCE | {"radix": 1}, 4, "workload.radix: found 1, allowed: an integer from 2"),
        (ALLREDUCE | {"count": 0}, 4, "workload.count: found 0, allowed: an integer from 1"),
        (ALLREDUCE | {"repeats": 0}, 4, "workload.repeats: found 0, allowed: an integer from 1"),
        (ALLREDUCE | {"repeats": 2**62}, 4, "allowed: less than 2^31 rounds in all"),
        (
            ALLREDUCE | {"algorithm": "tree"},
            4,
            "workload.algorithm: found 'tree', allowed: recursive-k, recursive-doubling, ring, rabenseifner",
        ),
    ],
)
def test_one_line_names_key_found_and_allowed(workload: Workload, ranks: int, message: str) -> None:
    workload = without(workload, "radix") if workload.get("algorithm") in ("ring", "tree") else workload
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the text is compared below
        Schedule(workload, ranks)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_default_decomposition_is_used() -> None:
    for workload in (TRANSPOSITION, HALO):
        one, other = Schedule(workload, 12), Schedule(workload | {"decomposition": [3, 4]}, 12)
        for number in range(one.rounds):
            expected, found = one.transfers(number), other.transfers(number)
            assert all(np.array_equal(expected[key], found[key]) for key in expected)


@pytest.mark.parametrize("workload", [TRANSPOSITION, HALO, ALLREDUCE])
def test_transfers_lists_what_single_queries_say(workload: Workload) -> None:
    schedule = Schedule(workload, 12)
    for number in range(schedule.rounds):
        rows: dict[str, list[tuple[int, int, int, int]]] = {side: [] for side in ("send", "receive")}
        for rank in range(12):
            work = schedule.round(rank, number)
            for t in (schedule.send(rank, number, i) for i in range(work.sends)):
                rows["send"].append((rank, t.peer, t.tag, t.bytes))
            for t in (schedule.receive(rank, number, i) for i in range(work.receives)):
                rows["receive"].append((t.peer, rank, t.tag, t.bytes))
        for side, expected in rows.items():
            found = schedule.transfers(number, side)
            assert (
                list(zip(*(found[k].tolist() for k in ("source", "destination", "tag", "bytes")), strict=True))
                == expected
            )
        assert sorted(rows["send"]) == sorted(rows["receive"])


def test_phases_and_rounds() -> None:
    schedule = Schedule(TRANSPOSITION, 12)
    assert schedule.phases == ["a-b", "b-c", "c-d"]
    assert [schedule.round(0, number).phase for number in range(schedule.rounds)] == [0, 1, 1, 2]  # 3 x 4, k = 2
    assert Schedule(HALO, 12).phases == ["x-sweep", "y-sweep"]
    assert Schedule(ALLREDUCE, 12).phases == ["allreduce"]


def test_one_rank_has_nothing_to_do() -> None:
    assert Schedule(TRANSPOSITION, 1).rounds == 0
    for algorithm in ("recursive-doubling", "ring", "rabenseifner"):
        assert Schedule(without(ALLREDUCE, "radix") | {"algorithm": algorithm}, 1).rounds == 0
    assert Schedule(ALLREDUCE, 1).rounds == 0


def test_queries_are_checked() -> None:
    schedule = Schedule(HALO, 4)
    queries: tuple[Callable[[], Any], ...] = (
        lambda: schedule.round(4, 0),
        lambda: schedule.round(-1, 0),
        lambda: schedule.send(0, 2, 0),
        lambda: schedule.receive(0, 0, schedule.round(0, 0).receives),
        lambda: schedule.send_contents(0, 0, -1),
        lambda: schedule.held(0, 3),
        lambda: schedule.transfers(2),
    )
    for query in queries:
        with pytest.raises(IndexError, match="is not in"):
            query()
    with pytest.raises(ValueError, match="send, receive"):
        schedule.transfers(0, "both")
