"""Why ranks wait: one late sender, one late receiver, one full interface, one congested link; and that it adds up."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tramontane import _simulator
from tramontane.results.critical_path import critical_path, shares
from tramontane.results.timeline import CAUSES, WAITING, trace_events
from tramontane.study.points.points import Point
from tramontane.substrates.simulator import Simulator, as_simulated

from .points import LINE, allreduce, machine, point, transposition
from .test_traces import trace

pytestmark = pytest.mark.usefixtures("tables")

US = 1e-6
EAGER = {"eager_limit": "10 MB", "short_limit": "10 MB"}


def waiting(
    folder: Path, text: str, ranks: int, nodes_per_switch: int = 2, protocol: dict[str, Any] | None = None
) -> list[dict[str, float]]:
    """Return what each rank of a GOAL text waits for [us]."""
    net = LINE | {"nodes_per_switch": nodes_per_switch} | ({"protocol": protocol} if protocol else {})
    data = {"ranks": ranks, "workload": trace(folder, text), "machine": net, "statistics": {"waiting": ranks}}
    result = Simulator().run(Point.model_validate(data))["waiting"]
    assert list(result) == [f"{cause}_s" for cause in WAITING]
    return [{cause: result[f"{cause}_s"][rank] / US for cause in WAITING} for rank in range(ranks)]


def test_one_late_sender(tmp_path: Path) -> None:
    """Rank 0 works; rank 1 waits for it, and hands on to rank 2, whose sender is late without having worked."""
    text = """num_ranks 3
rank 0 {\nw: calc 100000\ns: send 64b to 1\ns requires w\n}
rank 1 {\nr: recv 64b from 0\ns: send 64b to 2\ns requires r\n}
rank 2 {\nr: recv 64b from 1\n}
"""
    first, second, third = waiting(tmp_path, text, 3)
    assert set(first.values()) == {0.0}
    assert second["imbalance"] == pytest.approx(100, rel=1e-9)
    assert 0 < second["network"] < 1
    assert third["late_sender"] == pytest.approx(100, abs=1)
    assert third["imbalance"] == 0
    for each in (second, third):
        assert each["late_receiver"] == each["nic_queue"] == 0


def test_one_late_receiver(tmp_path: Path) -> None:
    """A pulled message of 10 us waits for its receiver, which works, or which itself waits for another one."""
    text = """num_ranks 2
rank 0 {\ns: send 100000b to 1\n}
rank 1 {\nw: calc 500000\nr: recv 100000b from 0\nr requires w\n}
"""
    sender, receiver = waiting(tmp_path, text, 2, 1)
    assert sender["imbalance"] == pytest.approx(500, abs=1)
    assert sender["late_receiver"] == 0
    assert 10 < sender["network"] < 13
    assert receiver["imbalance"] == receiver["late_sender"] == 0
    text = """num_ranks 3
rank 0 {\ns: send 100000b to 1\n}
rank 1 {\na: recv 64b from 2\nr: recv 100000b from 0\nr requires a\n}
rank 2 {\nw: calc 500000\ns: send 64b to 1\ns requires w\n}
"""
    sender, receiver, _ = waiting(tmp_path, text, 3)
    assert sender["late_receiver"] == pytest.approx(500, abs=1)
    assert sender["imbalance"] == 0
    assert receiver["imbalance"] == pytest.approx(500, abs=1)


def test_one_full_interface(tmp_path: Path) -> None:
    """A small message behind a large one of the same sender: 1 MB at 10 GB/s."""
    text = """num_ranks 3
rank 0 {\na: send 1000000b to 1\nb: send 64b to 2\nb requires a\n}
rank 1 {\nr: recv 1000000b from 0\n}
rank 2 {\nr: recv 64b from 0\n}
"""
    ranks = waiting(tmp_path, text, 3, protocol=EAGER)
    assert ranks[2]["nic_queue"] == pytest.approx(100, abs=1)
    assert ranks[1]["nic_queue"] == pytest.approx(0, abs=1)
    assert ranks[1]["network"] == pytest.approx(100, abs=1)


def test_one_congested_link(tmp_path: Path) -> None:
    """Two senders of a switch share its one link to two receivers: each message takes twice as long."""
    pair = "rank {} {{\ns: send 1000000b to {}\n}}\nrank {} {{\nr: recv 1000000b from {}\n}}\n"
    both = "num_ranks 4\n" + pair.format(0, 2, 2, 0) + pair.format(1, 3, 3, 1)
    alone = "num_ranks 4\n" + pair.format(0, 2, 2, 0) + "rank 1 {\nw: calc 1\n}\nrank 3 {\nw: calc 1\n}\n"
    shared, single = (waiting(tmp_path, text, 4, protocol=EAGER)[2] for text in (both, alone))
    assert single["network"] == pytest.approx(100, abs=2)
    assert shared["network"] == pytest.approx(200, abs=5)
    assert shared["late_sender"] == single["late_sender"] > 0  # copies into the library


def test_a_message_that_many_causes_hold_up(tmp_path: Path) -> None:
    """A pulled message of 100 us: its header behind another message, its receiver at work, its data behind another's.

    Rank 1 asks at 610 us, so its data hold the interface until 710. Rank 2 asks when it has taken a message of 100 kB,
    with two copies of 19 us and 10 on the way, and has worked for 600.
    """
    text = """num_ranks 3
rank 0 {\na: send 100000b to 2\nb: send 1000000b to 2\nc: send 1000000b to 1\n}
rank 1 {\nw: calc 610000\nc: recv 1000000b from 0\nc requires w\n}
rank 2 {\na: recv 100000b from 0\nw: calc 600000\nw requires a\nb: recv 1000000b from 0\nb requires w\n}
"""
    ranks = waiting(tmp_path, text, 3, protocol={"eager_limit": "200 kB", "short_limit": "200 kB"})
    assert ranks[2]["nic_queue"] == pytest.approx(710 - (2 * 18.75 + 10 + 600), abs=1)
    assert ranks[2]["network"] == pytest.approx(10 + 100, abs=1)
    assert ranks[2]["late_receiver"] == ranks[2]["imbalance"] == 0
    assert ranks[1]["nic_queue"] == 0


@pytest.mark.parametrize("progress", [{}, {"progress": "hardware"}], ids=["host", "hardware"])
@pytest.mark.parametrize("count", [3, 900, 20000])
def test_what_ranks_wait_is_what_they_neither_work_nor_are_busy(progress: dict[str, str], count: int) -> None:
    steps = [
        {"kind": "work", "time": "20 us", "imbalance": "40 %"},
        {"kind": "allreduce", "algorithm": "recursive-doubling", "count": count},
        {"kind": "halo", "width": 4, "grid": [96, 96, 12]},
    ]
    net = {"topology": "dragonfly", "geometry": [2, 2, 3], "nodes_per_switch": 2, "protocol": progress}
    workload = {"kind": "program", "steps": steps, "repeat": 3}
    data = {"ranks": 16, "workload": workload, "machine": net, "statistics": {"waiting": 1}}
    result = Simulator().run(Point.model_validate(data))
    waits = sum(each["time_s"] - each["work_s"] - each["busy_s"] for each in result["steps"])
    assert sum(each[0] for each in result["waiting"].values()) == pytest.approx(waits, rel=1e-9)


STORAGE = {"bandwidth": "10 GB/s", "node_bandwidth": "1 GB/s", "latency": "5 us"}
CALLS = ("put", "post", "start", "complete", "wait", "fence", "lock", "unlock", "flush", "notify")
STRIPES = {"kind": "halo", "width": 2, "grid": [64, 64, 8], "decomposition": [8, 1]}
ACCESSES: dict[str, list[dict[str, Any]]] = {
    "storage": [
        {"kind": "write", "bytes": "10 MB", "communicator": "heads"},
        {"kind": "allreduce", "algorithm": "recursive-doubling", "count": 3},
        {"kind": "work", "time": "20 us", "imbalance": "40 %"},
        {"kind": "read", "total": "1 MB"},
        STRIPES,
    ],
    **{
        way: [{"kind": "work", "time": "20 us", "imbalance": "40 %"}, STRIPES | {"one_sided": {"synchronisation": way}}]
        for way in ("fence", "post-start", "lock", "passive")
    },
}


def accessing(steps: list[dict[str, Any]], bins: int = 8) -> Point:
    """Return a point of 8 ranks that read, write or put."""
    net = LINE | {"geometry": [8], "storage": STORAGE, "one_sided": dict.fromkeys(CALLS, "100 us")}
    workload = {"kind": "program", "steps": steps, "communicators": {"heads": {"leaders": 4}}}
    data = {"ranks": 8, "workload": workload, "machine": net, "statistics": {"waiting": bins}}
    return Point.model_validate(data)


@pytest.mark.parametrize("steps", ACCESSES.values(), ids=ACCESSES)
def test_neither_storage_nor_calls_of_windows_are_work(steps: list[dict[str, Any]]) -> None:
    """Timelines, causes and steps say the same, on each engine."""
    made = accessing(steps)
    result, stretches = Simulator().timeline(made, range(8))
    by_step = {key: 8 * sum(each[f"{key}_s"] for each in result["steps"]) for key in ("time", "work", "busy")}
    for key in ("work", "busy"):
        told = sum(each.end - each.begin for each in stretches if each.what == key)
        assert told == pytest.approx(by_step[key], rel=1e-9), key
    waits = sum(sum(times) for times in result["waiting"].values())
    assert waits == pytest.approx(by_step["time"] - by_step["work"] - by_step["busy"], rel=1e-9)
    for cause in CAUSES:
        of_ranks = [sum(each.end - each.begin for each in stretches if each[:2] == (rank, cause)) for rank in range(8)]
        assert of_ranks == pytest.approx(result["waiting"].get(f"{cause}_s", [0] * 8), rel=1e-9, abs=1e-15), cause
    by_lanes = _simulator.simulate(as_simulated(made), 1, device="host")
    assert by_lanes["waiting"] == result["waiting"]
    assert by_lanes["steps"] == result["steps"]


def test_who_waits_for_the_storage_and_who_for_them() -> None:
    """Each head of four ranks writes 10 MB; the others wait for what only the heads can send."""
    made = accessing(ACCESSES["storage"][:2])
    result, stretches = Simulator().timeline(made, range(8))
    access = 5e-6 + 10e6 / 1e9 + 20e6 / 10e9
    assert result["waiting"]["storage_s"] == pytest.approx([access, 0, 0, 0] * 2, rel=1e-9)
    assert result["waiting"]["imbalance_s"] == [0] * 8
    assert result["waiting"]["late_sender_s"][1] == pytest.approx(access, rel=1e-3)
    path = critical_path(stretches, result["span_s"])
    assert path[0].what == "storage"
    assert path[0].rank % 4 == 0
    assert shares(path)["storage"] == pytest.approx(access / result["time_s"], rel=1e-9)
    [written] = [
        each for each in trace_events(stretches, "x")["traceEvents"] if each["name"] == "storage" and each["tid"] == 0
    ]
    assert written["cat"] == "waiting"
    assert "args" not in written
    assert written["dur"] == pytest.approx(access * 1e6, rel=1e-9)


def test_no_work_is_on_the_path_of_calls_alone() -> None:
    result, stretches = Simulator().timeline(accessing(ACCESSES["fence"][1:]), range(8))
    assert set(shares(critical_path(stretches, result["span_s"]))) == {"busy", "network"}


def test_a_result_has_the_storage_only_where_somebody_waits_for_it() -> None:
    assert "storage_s" not in Simulator().run(accessing(ACCESSES["fence"]))["waiting"]
    assert list(Simulator().run(accessing(ACCESSES["storage"]))["waiting"]) == [f"{cause}_s" for cause in CAUSES]


def test_timelines_say_the_same() -> None:
    """Stretches of a rank do not overlap, and their sums by cause are what is counted without them."""
    p = point(36, allreduce(6, count=2000, repeats=3), machine("dragonfly", (2, 3, 3), 2), start_jitter=10**6)
    counted = _simulator.simulate(p | {"statistics": {"congestion": 0, "waiting": 36}})
    told = _simulator.simulate(p, timeline=list(range(0, 36, 5)))
    assert counted["time_s"] == told["time_s"] == _simulator.simulate(p)["time_s"]
    by_rank: dict[int, list[Any]] = {}
    for each in told["timeline"]:
        by_rank.setdefault(each[0], []).append(each)
    assert list(by_rank) == list(range(0, 36, 5))
    for rank, own in by_rank.items():
        assert all(before[4] <= after[3] for before, after in pairwise(own))
        for cause in WAITING:
            total = sum(end - begin for _, what, _, begin, end, *_ in own if what == cause)
            assert total == pytest.approx(counted["waiting"][f"{cause}_s"][rank], rel=1e-9, abs=1e-15)


def test_a_bin_has_the_mean_of_its_ranks() -> None:
    """Of 7 ranks in 3 bins, ranks r with the same floor(3 r / 7)."""
    p = point(7, allreduce(2, count=2000), machine("torus", (7, 1, 1)), start_jitter=10**6)
    each, binned = (_simulator.simulate(p | {"statistics": {"congestion": 0, "waiting": n}})["waiting"] for n in (7, 3))
    for cause, own in each.items():
        means = [sum(own[first:last]) / (last - first) for first, last in ((0, 3), (3, 5), (5, 7))]
        assert binned[cause] == pytest.approx(means, rel=1e-12)


def test_threads_do_not_matter() -> None:
    net = machine("dragonfly", (4, 4, 4), 2, routing="ugal")
    p = point(64, transposition((64, 64, 16), (8, 8), radix=2), net) | {"statistics": {"congestion": 0, "waiting": 64}}

    def outcome(threads: int) -> Any:
        result = _simulator.simulate(p, threads, timeline=[0, 1, 40])
        return result["waiting"], result["timeline"]

    first = outcome(1)
    assert all(outcome(threads) == first for threads in (2, 3, 4))


def test_trace_events_name_ranks_and_causes() -> None:
    p = point(4, allreduce(2, count=2000), machine("torus", (4, 1, 1)))
    told = Simulator().timeline(Point.from_canonical(p), [1, 3])[1]
    events = trace_events(told, "x")["traceEvents"]
    assert [each["args"]["name"] for each in events if each["ph"] == "M"] == ["x", "rank 1", "rank 3"]
    spans = [each for each in events if each["ph"] == "X"]
    assert len(spans) == len(told)
    for span, stretch in zip(spans, told, strict=True):
        assert span["tid"] == stretch.rank
        assert span["ts"] + span["dur"] == pytest.approx(stretch.end * 1e6, rel=1e-12)


def test_a_rank_that_is_not_there_has_no_timeline() -> None:
    with pytest.raises(ValueError, match=r"timeline: found rank 4, allowed: 0 \.\.\. 3"):
        _simulator.simulate(point(4, allreduce(2), machine("torus", (4, 1, 1))), timeline=[4])
