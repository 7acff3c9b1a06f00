"""Traces on the simulator: what a graph of operations says is what happens, whoever says it."""

from __future__ import annotations

import json
import re
import struct
import subprocess
import sys
import time
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.errors import InputError
from tramontane.results.critical_path import critical_path
from tramontane.results.timeline import trace_events
from tramontane.study import Point, load_point
from tramontane.study.patterns import patterns
from tramontane.study.traces import traces
from tramontane.study.workloads import schedules
from tramontane.substrates import devices
from tramontane.substrates.simulator import Simulator, as_simulated, schedule

from .points import PAIR
from .test_recorded import POINTS, random_point

pytestmark = pytest.mark.usefixtures("tables")

US = 1e-6


def trace(folder: Path, text: str, **more: Any) -> dict[str, Any]:
    """Return the workload of a GOAL text."""
    file = folder / f"{len(list(folder.iterdir()))}.goal"
    file.write_text(text)
    return {"kind": "trace", "file": str(file), **more}


def run(workload: dict[str, Any], ranks: int = 2, net: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return Simulator().run(Point.model_validate({"ranks": ranks, "workload": workload, "machine": net or PAIR, **more}))


@pytest.mark.parametrize("long", [True, False])
def test_a_trace_that_takes_long_is_read_with_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    told: list[str] = []

    def clock(what: str) -> AbstractContextManager[None]:
        told.append(what)
        return nullcontext()

    file = tmp_path / "two.goal"
    file.write_text("num_ranks 2\nrank 0 { calc 1 }\nrank 1 { calc 1 }\n")
    monkeypatch.setattr(traces, "clock", clock)
    monkeypatch.setattr(traces, "LONG", file.stat().st_size + (0 if long else 1))
    traces.pack(file)
    assert told == ["reading two.goal"] * long


CALLS = schedules.words("halo", "calls")
PROGRAMS: list[dict[str, Any]] = [
    {"kind": "halo", "width": 2, "grid": [72, 24, 3]},
    {"kind": "collective", "operation": "allgather", "algorithm": "bruck", "count": 60},
    {"kind": "allreduce", "algorithm": "rabenseifner", "count": 500},
]


@st.composite
def points(draw: st.DrawFn) -> dict[str, Any]:
    """Points of every algorithm, or programs with work and overlap; all of their messages go through the network."""
    drawn = random_point(draw(st.integers(0, POINTS - 1)))
    drawn["machine"]["protocol"]["negligible_size"] = 0
    drawn["machine"]["protocol"]["eager_limit"] = draw(st.sampled_from([1000, 8192]))
    drawn["machine"]["packet"], drawn["machine"]["buffer"] = 1000, 4 * 1000 * draw(st.sampled_from([1, 2, 6]))
    calls = list(CALLS)
    if draw(st.booleans()):
        drawn["machine"]["protocol"]["progress"] = "hardware"
        calls.remove("isend-recv")
    if drawn["ranks"] == 2:  # neighbours twice: a trace tells the two messages apart by tags, a round does not
        calls = [each for each in calls if each != "isend-recv"]
    if draw(st.booleans()):
        halo, allgather, allreduce = PROGRAMS
        grid = {"decomposition": [drawn["ranks"], 1]}
        steps = [
            {"kind": "work", "time": draw(st.integers(0, 90)) * 10**6 + 1000, "imbalance": 0, "noise": 0},
            halo | grid | {"begin": "h"},
            {"kind": "work", "time": draw(st.integers(0, 90)) * 10**6 + 1000},
            draw(st.sampled_from([allgather, allreduce, *[halo | grid | {"calls": each} for each in calls]])),
            {"kind": "end", "of": "h"},
        ]
        drawn["workload"] = {"kind": "program", "repeat": draw(st.integers(1, 3)), "steps": steps}
    return drawn


@settings(max_examples=60)
@given(p=points(), threads=st.integers(1, 2))
def test_a_workload_as_a_trace_takes_the_same_time(
    tmp_path_factory: pytest.TempPathFactory, p: dict[str, Any], threads: int
) -> None:
    """Bit for bit: the ranks do the same in the same order, although nothing here knows of rounds."""
    folder = tmp_path_factory.mktemp("drawn")
    schedule = _simulator.schedule.Schedule(p["workload"], p["ranks"], allow_empty_blocks=True)
    try:
        traces.write_goal(schedule, p["ranks"], folder / "x.goal")
    except ValueError:
        if all(schedule.round(0, number).window <= 1 for number in range(schedule.rounds)):
            raise
        return  # it posts a send when any other one is complete
    table = folder / "x.pattern"
    table.write_bytes(traces.pack(folder / "x.goal"))
    wanted = _simulator.simulate(p)
    found = _simulator.simulate(p | {"workload": {"kind": "trace", "table": str(table)}}, threads)
    for key in ("time_s", "messages", "bytes", "packets", "hops", "control_packets"):
        assert found[key] == wanted[key], key
    for key in ("work_s", "busy_s"):
        sums = sum(step[key] for step in wanted.get("steps", []))
        assert found["steps"][0][key] == pytest.approx(sums, rel=1e-9) or "steps" not in wanted


def anonymous_memory(of: subprocess.Popen[str]) -> int:
    """Return the most memory that belongs to no file of a process until it ends [B]."""
    status, most = Path(f"/proc/{of.pid}/status"), 0
    while of.poll() is None:
        found = re.search(r"RssAnon:\s+(\d+) kB", status.read_text())
        most = max(most, int(found[1]) * 1000 if found else 0)
        time.sleep(0.002)
    return most


def test_a_trace_is_mapped_not_read(tmp_path: Path) -> None:
    """So that 10^8 operations take less than 2 GB beside the file: what the second million takes is the measure."""
    took = []
    for repeats in (1200, 2400):
        program = {"kind": "allreduce", "algorithm": "recursive-doubling", "repeats": repeats}
        schedule = _simulator.schedule.Schedule(program, 64)
        traces.write_goal(schedule, 64, tmp_path / "x.goal")
        table = tmp_path / f"{repeats}.pattern"
        table.write_bytes(traces.pack(tmp_path / "x.goal"))
        point = Point.model_validate({"ranks": 64, "machine": {**PAIR, "nodes_per_switch": 32}, "workload": program})
        told = as_simulated(point) | {"workload": {"kind": "trace", "table": str(table)}}
        command = "import json, sys; from tramontane import _simulator; _simulator.simulate(json.loads(sys.argv[1]))"
        child = subprocess.Popen([sys.executable, "-c", command, json.dumps(told)], text=True)
        counts = traces.counts(table)
        took.append((2 * counts.messages + counts.works, anonymous_memory(child)))
        assert child.returncode == 0
    (few, before), (many, after) = took
    assert many - few > 900_000
    assert (after - before) / (many - few) < 20


def test_an_eager_message_overtakes_no_answer_of_its_interface(tmp_path: Path) -> None:
    """A rank prepares it while its interface, with hardware progress, answers a message of an exchange left open."""
    halo = {"kind": "halo", "width": 2, "grid": [72, 24, 3], "decomposition": [3, 1], "begin": "h"}
    steps = [
        {"kind": "work", "time": "73001 ns"},
        halo,
        {"kind": "work", "time": "1001 ns"},
        {"kind": "collective", "operation": "allgather", "algorithm": "bruck", "count": 60},
        {"kind": "end", "of": "h"},
    ]
    net = {"topology": "torus", "geometry": [3, 1, 1], "nodes_per_switch": 1, "packet": "1000 B", "buffer": "4000 B"}
    net["protocol"] = {
        "eager_limit": "1000 B",
        "short_limit": "512 B",
        "negligible_size": "0 B",
        "progress": "hardware",
    }
    for seed in (3, 9, 38):
        more = {"machine": net, "seed": seed, "start_jitter": "700 ns"}
        more["noise"] = {"duration": "900 ns", "period": "10 us", "pattern": "random"}
        points = [Point.model_validate({"ranks": 3, "workload": {"kind": "program", "steps": steps}, **more})]
        traces.write_goal(schedule(points[0].workload, 3), 3, tmp_path / "x.goal")
        workload = {"kind": "trace", "file": str(tmp_path / "x.goal")}
        points.append(Point.model_validate({"ranks": 3, "workload": workload, **more}))
        wanted, found = (Simulator().run(each)["time_s"] for each in points)
        assert found == wanted, seed


def test_work_adds_up_along_dependencies_only(tmp_path: Path) -> None:
    chain = "l1: calc 3000\nl2: calc 4000\nl2 requires l1\n"
    text = f"num_ranks 2\nrank 0 {{\n{chain}}}\n/* nothing\nmore */ rank 1 {{ calc 500 nic 3 }} // the end"
    assert run(trace(tmp_path, text))["time_s"] == pytest.approx(7 * US, rel=1e-12)
    assert run(trace(tmp_path, text, work_scale="50 %"))["time_s"] == pytest.approx(3.5 * US, rel=1e-12)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            "collectives: {allreduce: ring}",
            "collectives: found with a trace in GOAL; allowed: with a folder of tramontane trace, or OTF2 (collectives "
            "are messages in GOAL)",
        ),
        (
            "work_scale: 200000 %",
            "work_scale: found '200000 %'; allowed: at most 100000 %; a number with a unit (ppm, %), e.g. 1 %",
        ),
        (
            "work_scale: 5000 %",
            "work_scale: found 5000 %; allowed: up to 2000 % with this trace: at most 1000 s of work at a time",
        ),
    ],
)
def test_keys_that_a_trace_can_not_have(tmp_path: Path, more: str, line: str) -> None:
    (tmp_path / "x.goal").write_text("num_ranks 2 rank 0 { a: calc 50000000000 } rank 1 { }")
    point = tmp_path / "x.yaml"
    point.write_text(f"ranks: 2\nmachine: torus-S\nworkload:\n  kind: trace\n  file: x.goal\n  {more}\n")
    with pytest.raises(InputError) as told:
        load_point(point)
    assert str(told.value).partition("workload.")[2] == line


PING = """num_ranks 2
rank 0 {{
l1: send {size}b to 1 tag 3
l2: calc 50000
l2 {how} l1
}}
rank 1 {{
l0: calc 20000
l1: recv {size}b from 0 tag 3
l1 requires l0
}}
"""


@pytest.mark.parametrize("size", [100, 4096, 10**6])
def test_a_late_receiver_holds_up_a_rendezvous_only(tmp_path: Path, size: int) -> None:
    """Work that waits for the end of a send begins at once for eager ones, and after the transfer for a rendezvous."""
    found = run(trace(tmp_path, PING.format(size=size, how="requires")))["time_s"]
    if size < 10**6:
        assert found == pytest.approx(50 * US, rel=1e-2)
    else:
        assert found > 170 * US
    # Work that waits for its start only begins at once; network interfaces answer for the sender.
    posted = run(trace(tmp_path, PING.format(size=size, how="irequires")))["time_s"]
    assert posted == pytest.approx(found if size < 10**6 else found - 50 * US, rel=1e-2)


@pytest.mark.parametrize("first", [1, 2])
def test_what_came_early_is_answered_in_the_order_in_which_it_came(tmp_path: Path, first: int) -> None:
    """Two headers are there before rank 0 posts both receives; its interface asks for the second 10 us later."""
    text = """num_ranks 4
    rank 0 {{
      c: recv 8b from 3  a: recv 50000b from 1  b: recv 50000b from 2  a requires c  b requires c
      w: calc 1000000  w requires {waits}
    }}
    rank 1 {{ w: calc {one}  s: send 50000b to 0  s requires w }}
    rank 2 {{ w: calc {two}  s: send 50000b to 0  s requires w }}
    rank 3 {{ w: calc 100000  s: send 8b to 0  s requires w }}
    """
    begins = {"one": 20000 * first, "two": 60000 - 20000 * first}  # [ns]
    net = {"topology": "torus", "geometry": [1, 1, 1], "nodes_per_switch": 4, "overhead": {"gap": "10 us"}}
    of_one, of_two = (run(trace(tmp_path, text.format(waits=name, **begins)), 4, net)["time_s"] for name in "ab")
    # Who works before the second has come acknowledges that afterwards: 0.2 us and 64 B more.
    later = 10 * US - (0.2 * US + 64 / 10e9)
    assert of_two - of_one == pytest.approx(later if first == 1 else -later, rel=1e-9)


def test_messages_of_a_tag_meet_in_order(tmp_path: Path) -> None:
    """The receive of the second is posted first; the first in the file meets the first all the same."""
    text = """num_ranks 2
    rank 0 { a: send 8b to 1 tag 5  b: send 9b to 1 tag 5  c: send 7b to 1 tag 4 }
    rank 1 { x: recv 8b from 0 tag 5  y: recv 9b from 0 tag 5  x requires y  z: recv 7b from 0 tag 4  y requires z }
    """
    result = run(trace(tmp_path, text))
    assert (result["messages"], result["bytes"]) == (3, 24)
    swapped = text.replace("recv 8b", "recv 0b").replace("recv 9b", "recv 8b").replace("recv 0b", "recv 9b")
    with pytest.raises(
        ValueError, match=r"rank 1, line 3: found a receive from rank 0 with tag 5 of 9 B; allowed: 8 B"
    ):
        run(trace(tmp_path, swapped))


def alone(operations: str) -> str:
    return f"num_ranks 2\nrank 0 {{ {operations} }}\nrank 1 {{ }}\n"


@pytest.mark.parametrize(
    ("operations", "us"),
    [
        ("calc 3000 cpu 1  calc 4000 cpu 2  calc 5000", 5),
        ("calc 3000 cpu 1  calc 4000 cpu 1  calc 5000", 7),
        ("a: calc 3000 cpu 1  b: calc 4000 cpu 2  c: calc 5000  c requires a  c requires b", 9),
        # What is ready first goes first: c before b, which stands before it.
        ("a: calc 1000  b: calc 3000 cpu 1  b requires a  c: calc 2000 cpu 1  d: calc 5000 d requires c", 7),
        ("a: calc 1000  b: calc 3000 cpu 1  b requires a  c: calc 2000 cpu 1  d: calc 5000 d requires b", 10),
        # The start of work on another cpu is when that one has time for it.
        ("calc 6000 cpu 7  a: calc 1000 cpu 7  b: calc 2000  b irequires a", 8),
        ("a: calc 0 cpu 3  b: calc 0 cpu 2  b requires a  c: calc 1000  c requires b", 1),
        # What others wait for to start, lets nothing go when it ends.
        (
            "x: calc 5000  a: calc 1000 cpu 1  b: calc 1000 cpu 1  b irequires a "
            "c: calc 1000 cpu 2  d: calc 3000 cpu 3  d irequires c  x requires d",
            8,
        ),
    ],
)
def test_cpus_of_a_rank_work_at_once(tmp_path: Path, operations: str, us: int) -> None:
    work = sum(map(int, re.findall(r"calc (\d+)", operations))) / 1000
    for threads in (1, 2):
        workload = trace(tmp_path, alone(operations))
        found = Simulator(threads).run(Point.model_validate({"ranks": 2, "workload": workload, "machine": PAIR}))
        assert found["time_s"] == pytest.approx(us * US, rel=1e-12)
        assert found["steps"][0]["work_s"] == pytest.approx(work / 2 * US, rel=1e-12)  # of all cpus; a mean of ranks
    half = run(trace(tmp_path, alone(operations), work_scale="50 %"))
    assert half["time_s"] == pytest.approx(us * US / 2, rel=1e-12)


@pytest.mark.parametrize("limit", [512, 8192])
def test_a_message_as_long_as_a_limit_is_within_it(tmp_path: Path, limit: int) -> None:
    """One byte more takes another protocol, of two more messages."""
    text = "num_ranks 2\nrank 0 {{ send {n}b to 1 }}\nrank 1 {{ recv {n}b from 0 }}\n"
    within, beyond = (run(trace(tmp_path, text.format(n=n)))["control_packets"] for n in (limit, limit + 1))
    assert (within, beyond) == {512: (0, 2), 8192: (2, 3)}[limit]


def test_noise_interrupts_all_cpus(tmp_path: Path) -> None:
    noise = {"duration": "1 us", "period": "10 us"}
    first, other, both = (
        run(trace(tmp_path, alone(text)), noise=noise)["time_s"]
        for text in ("calc 50000", "calc 50000 cpu 1", "calc 50000  calc 50000 cpu 1")
    )
    assert first == other == both > 54 * US


def test_work_of_other_cpus_holds_up_no_message(tmp_path: Path) -> None:
    """A rendezvous advances while another cpu works, and waits for the end of work of processor 0."""
    text = """num_ranks 2
    rank 0 {{ send 1000000b to 1 }}
    rank 1 {{ r: recv 1000000b from 0  w: calc 900000 cpu {cpu}  x: calc 100000 cpu {cpu}  x requires r }}
    """
    busy, free = (run(trace(tmp_path, text.format(cpu=cpu)))["time_s"] for cpu in (0, 1))
    assert free == pytest.approx(1000 * US, rel=1e-9)  # the message is there before the first work has ended
    assert busy > 1090 * US


def test_another_cpu_goes_on_when_an_interface_has_taken_a_message(tmp_path: Path) -> None:
    """Processor 0 works for 1 ms; the other one has its message after header, get request and payload."""
    text = """num_ranks 2
    rank 0 { send 100000b to 1 }
    rank 1 { r: recv 100000b from 0  w: calc 1000000  x: calc 2000000 cpu 1  x requires r }
    """
    found = run(trace(tmp_path, text), net=PAIR | {"protocol": {"progress": "hardware"}})["time_s"]
    assert found == pytest.approx(2000 * US + 3 * 0.3 * US + (64 + 64 + 100_000) / 10e9, rel=1e-6)


def test_messages_of_another_cpu_go_when_it_has_time(tmp_path: Path) -> None:
    text = """num_ranks 2
    rank 0 {{ a: calc 5000  b: calc 40000 cpu 1  s: send 64b to 1 cpu {cpu}  s requires a  {more} }}
    rank 1 {{ r: recv 64b from 0 cpu 9  c: calc 50000  c requires r }}
    """
    late, chained, early = (
        run(trace(tmp_path, text.format(cpu=cpu, more=more)))["time_s"]
        for cpu, more in ((1, ""), (1, "s requires b"), (0, ""))
    )
    assert late == chained == pytest.approx(early + 35 * US, rel=1e-9)


@st.composite
def in_line(draw: st.DrawFn) -> tuple[str, str]:
    """Operations of three ranks in turn, each after that before it; without and with numbers of cpus."""
    told: list[list[str]] = [[], [], []]
    for number in range(draw(st.integers(1, 20))):
        a, b = draw(st.sampled_from([(i, j) for i in range(3) for j in range(3)]))
        if a == b:
            told[a].append(f"calc {draw(st.integers(0, 3000))}")
        else:
            size = draw(st.sampled_from([10_000, 100_000]))
            told[a].append(f"send {size}b to {b} tag {number}")
            told[b].append(f"recv {size}b from {a} tag {number}")

    def text(cpu: Any) -> str:
        ranks = []
        for rank, operations in enumerate(told):
            lines = [f"l{i}: {each}{cpu()}" for i, each in enumerate(operations)]
            lines += [f"l{i} requires l{i - 1}" for i in range(1, len(operations))]
            ranks.append(f"rank {rank} {{\n" + "\n".join(lines) + "\n}\n")
        return "num_ranks 3\n" + "".join(ranks)

    return text(str), text(lambda: draw(st.sampled_from(["", " cpu 1", " cpu 2", " cpu 200"])))


@settings(max_examples=40)
@given(drawn=in_line(), threads=st.integers(1, 2))
def test_where_one_thing_is_done_at_a_time_the_cpu_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[str, str], threads: int
) -> None:
    folder = tmp_path_factory.mktemp("cpus")
    # Rendezvous with hardware progress: else processor 0 would look at what comes while another one works.
    net = {"topology": "torus", "geometry": [3, 1, 1], "nodes_per_switch": 1, "protocol": {"progress": "hardware"}}
    found = [
        Simulator(threads).run(Point.model_validate({"ranks": 3, "workload": trace(folder, text), "machine": net}))
        for text in drawn
    ]
    for key in ("time_s", "messages", "bytes", "packets", "control_packets", "hops"):
        assert found[0][key] == found[1][key], key


def rewritten(workload: dict[str, Any], file: Path, ranks: int) -> dict[str, Any]:
    """Return the same trace, written as GOAL."""
    told = Point.model_validate({"ranks": ranks, "workload": workload, "machine": PAIR | {"geometry": [ranks, 1, 1]}})
    traces.write_goal(schedule(told.workload, ranks), ranks, file)
    return {"kind": "trace", "file": str(file)}


@settings(max_examples=40)
@given(drawn=in_line(), data=st.data())
def test_a_trace_that_is_written_as_goal_is_the_same_point(
    tmp_path_factory: pytest.TempPathFactory, drawn: tuple[str, str], data: st.DataObject
) -> None:
    """Operations, processors and dependencies of both kinds, also some twice."""
    folder = tmp_path_factory.mktemp("goal")
    lines = []
    for line in drawn[1].splitlines():
        words = line.split()
        lines.append(line)
        if words[1:2] == ["requires"]:
            lines[-1] = data.draw(st.sampled_from([line, line.replace("requires", "irequires"), "", f"{line}\n{line}"]))
    given = trace(folder, "\n".join(lines))
    again = rewritten(given, folder / "again", 3)
    assert bytes(traces.pack(Path(given["file"]))) == bytes(traces.pack(Path(again["file"])))


def test_a_trace_is_written_as_goal_with_its_work_as_it_is_scaled(tmp_path: Path) -> None:
    text = PING.format(size=10**6, how="requires")
    whole, half = (
        run(rewritten(trace(tmp_path, text, work_scale=scale), tmp_path / f"{scale}.goal", 2))["time_s"]
        for scale in ("100 %", "50 %")
    )
    assert whole == run(trace(tmp_path, text))["time_s"]
    assert half == run(trace(tmp_path, text, work_scale="50 %"))["time_s"] < whole


def test_a_timeline_and_a_path_of_several_cpus(tmp_path: Path) -> None:
    """The path goes through cpu 1 of the sender and cpu 2 of the receiver; what goes on beside them decides nothing."""
    text = (
        "num_ranks 2\n"
        "rank 0 { v: calc 4000 w: calc 9000 cpu 1 s: send 80b to 1 tag 0 cpu 1 s requires w }\n"
        "rank 1 { r: recv 80b from 0 tag 0 u: calc 5000 cpu 2 u requires r x: calc 13000 cpu 1 }\n"
    )
    point = Point.model_validate({"ranks": 2, "workload": trace(tmp_path, text), "machine": PAIR})
    result, told = Simulator().timeline(point, range(2))
    assert result["time_s"] == run(trace(tmp_path, text))["time_s"]
    works = [(each.rank, each.cpu, each.end - each.begin) for each in told if each.what == "work"]
    assert [each[:2] for each in works] == [(0, 0), (0, 1), (1, 1), (1, 2)]
    assert [each[2] for each in works] == pytest.approx([4e-6, 9e-6, 13e-6, 5e-6])
    path = critical_path(told, result["span_s"])
    assert [(part.rank, part.cpu) for part in path if part.what == "work"] == [(0, 1), (1, 2)]
    assert sum(part.end - part.begin for part in path) == pytest.approx(result["time_s"])
    assert {part.what for part in path} <= {"work", "busy", "network", "nic_queue"}
    events = trace_events(told, "")["traceEvents"]
    names = {each["tid"]: each["args"]["name"] for each in events if each["name"] == "thread_name"}
    assert list(names.values()) == ["rank 0", "rank 0, cpu 1", "rank 1", "rank 1, cpu 1", "rank 1, cpu 2"]
    worked = [names[each["tid"]] for each in events if each["name"] == "work"]
    assert worked == ["rank 0", "rank 0, cpu 1", "rank 1, cpu 1", "rank 1, cpu 2"]


@pytest.mark.parametrize("device", ["cpu", "host"])
def test_a_deadlock_says_who_waits_for_whom(tmp_path: Path, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(devices.VARIABLE, device)
    operations = "r: recv 8b from {other} tag {rank}  s: send 8b to {other} tag {other} s requires r"
    both = "num_ranks 2\n"
    for rank in (0, 1):
        both += f"rank {rank} {{ {operations.format(rank=rank, other=1 - rank)} }}\n"
    circle = "rank 0 waits for a message from rank 1, tag 0; rank 1 waits for a message from rank 0, tag 1"
    line = rf"found 2 of 2 ranks that never end; {circle}; allowed: operations that all end, where a send above"
    with pytest.raises(InputError, match=rf"0\.goal: {line}"):
        run(trace(tmp_path, both))


OPERATION = struct.Struct("<IcIQIBBIIII")


def binary(ranks: list[list[tuple[int, int, int, int, list[int], list[int]]]], cpu: int = 0) -> bytes:
    """Return GOAL in binary; of each operation kind, peer, bytes, tag, who waits for its end, who for its start."""
    parts = []
    for operations in ranks:
        waits = [
            sum(number in (*ends, *starts) for *_, ends, starts in operations) for number in range(len(operations))
        ]
        roots = [number for number, count in enumerate(waits) if count == 0]
        listed: list[int] = []
        packed = b""
        for count, (kind, peer, size, tag, ends, starts) in zip(waits, operations, strict=True):
            at = len(listed)
            listed += [*ends, *starts]
            packed += OPERATION.pack(
                count, bytes([kind]), peer, size, tag, cpu, 0, len(ends), at, len(starts), at + len(ends)
            )
        numbers = [len(operations), len(roots), *roots]
        parts.append(struct.pack(f"<{len(numbers)}I", *numbers) + packed + struct.pack(f"<{len(listed)}I", *listed))
    begin = 6 + 16 * len(ranks)
    jumps = b""
    for part in parts:
        jumps += struct.pack("<QQ", begin, begin + len(part))
        begin += len(part)
    return struct.pack("<QIBB", 4223, len(ranks), 1, 1) + jumps + b"".join(parts)


def test_binary_and_text_are_one_trace(tmp_path: Path) -> None:
    text = "num_ranks 2\nrank 1 { x: recv 64b from 0 tag 9 }\n" + (
        "rank 0 { a: calc 70 b: send 64b to 1 tag 9 c: calc 5 b requires a c irequires b c requires a }"
    )
    written = binary(
        [[(3, 0, 70, 0, [1, 2], []), (1, 1, 64, 9, [], [2]), (3, 0, 5, 0, [], [])], [(2, 0, 64, 9, [], [])]]
    )
    file = tmp_path / "x.bin"
    file.write_bytes(written)
    on_cpu = tmp_path / "cpu.bin"
    on_cpu.write_bytes(binary([[(3, 0, 70, 0, [1], []), (3, 0, 5, 0, [], [])], []], cpu=4))
    assert bytes(traces.pack(on_cpu)) == bytes(
        traces.pack(Path(trace(tmp_path, alone("a: calc 70 cpu 4 b: calc 5 cpu 4 b requires a"))["file"]))
    )
    one, other = ({"kind": "trace", "file": str(file)}, trace(tmp_path, text))
    a, b = (Point.model_validate({"ranks": 2, "workload": each, "machine": PAIR}) for each in (one, other))
    assert a.id == b.id
    assert Point.from_canonical(a.canonical()).id == a.id
    (digest,) = patterns.named(a.canonical())
    assert traces.counts(patterns.table(digest)) == traces.Counts(ranks=2, messages=1, works=2, dependencies=3)
    for length in range(1, len(written)):  # cut anywhere
        file.write_bytes(written[:length])
        with pytest.raises(InputError):
            traces.pack(file)


@pytest.mark.parametrize(
    ("at", "number", "said"),
    [
        (22, 175, "rank 1: found a part from byte 38; allowed: 175 or more, where what is before it ends"),
        (58, 1, "rank 0, operation 0: found 1 operations that it waits for; allowed: 0, as these tell"),
        (97, 2, "rank 0, operation 1: found 2 operations that it waits for; allowed: 1, as these tell"),
        (81, 0, "rank 0, operation 1: found 1 operations that it waits for; allowed: 0, as these tell"),
        (159, 1, "rank 0, operation 2: found 1 operations that wait for it; allowed: a list that is whole"),
    ],
)
def test_binary_says_the_same_in_two_places(tmp_path: Path, at: int, number: int, said: str) -> None:
    """What is left of the list of those that wait is nothing at the third operation."""
    file = tmp_path / "x.bin"
    written = bytearray(binary([[(3, 0, 7, 0, [1], [2]), (3, 0, 7, 0, [], []), (3, 0, 7, 0, [], [])], []]))
    file.write_bytes(written)
    traces.pack(file)
    written[at] = number
    if at == 22:
        written[30:46] = written[14:30]  # the second rank's part is the first one's
    file.write_bytes(written)
    with pytest.raises(InputError) as told:
        traces.pack(file)
    assert str(told.value).endswith(said)


@pytest.mark.parametrize(
    ("kind", "size", "said"),
    [
        (1, 2**63, "rank 0, operation 0: found 9223372036854775808 B; allowed: 0 to 1099511627776 B"),
        (2, 2**40 + 1, "rank 0, operation 0: found 1099511627777 B; allowed: 0 to 1099511627776 B"),
        (3, 2**64 - 1, "rank 0, operation 0: found 18446744073709551615 ns; allowed: 0 to 1000000000000 ns"),
        (4, 2**64 - 1, "rank 0, operation 0: found kind 4; allowed: 1 (send), 2 (recv), 3 (calc)"),
    ],
)
def test_binary_has_sizes_of_64_bits(tmp_path: Path, kind: int, size: int, said: str) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(binary([[(kind, 1, size, 0, [], [])], []]))
    with pytest.raises(InputError) as told:
        traces.pack(file)
    assert str(told.value).endswith(said)


HEAD = "num_ranks 2\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("num_ranks 0\n", "line 1: found 0 ranks; allowed: 1 to 268435456"),
        ("ranks 2", "line 1: found 'ranks'; allowed: 'num_ranks'"),
        (HEAD + "rank 2 { }", "line 2: found rank 2; allowed: 0 to 1"),
        (HEAD + "rank 0 { }\nrank 0 { }", "line 3: found rank 0 again; allowed: each rank once"),
        (HEAD + "rank 0 { calc 5", "rank 0, line 2: found the end; allowed: }"),
        (HEAD + "rank 0 {\n\nsned 5b to 1\n}", "rank 0, line 4: found '5b'; allowed: ':', requires, irequires"),
        (HEAD + "rank 0 {\nsend 5 to 1\n}", "rank 0, line 3: found '5'; allowed: a number of bytes, such as 10b"),
        (HEAD + "rank 0 {\nsend 5b to 2\n}", "rank 0, line 3: found rank 2; allowed: 0 to 1"),
        (HEAD + "rank 0 {\nsend 5b to 0\n}", "rank 0, line 3: found a message to the rank itself; allowed: another"),
        (HEAD + "rank 0 {\nsend -5b to 1\n}", "rank 0, line 3: found -5 B; allowed: 0 to 1099511627776 B"),
        (HEAD + "rank 0 {\nrecv 5b from -1\n}", "rank 0, line 3: found a message from any rank; allowed: the number"),
        (HEAD + "rank 0 {\nrecv 5b from 1 tag -1\n}", "rank 0, line 3: found a message of any tag; allowed: a tag"),
        (HEAD + "rank 0 {\ncalc 5 cpu 256\n}", "rank 0, line 3: found cpu 256; allowed: 0 to 255"),
        (HEAD + "rank 0 {\ncalc 5 cpu -1\n}", "rank 0, line 3: found cpu -1; allowed: 0 to 255"),
        (
            HEAD + "rank 0 {\ncalc 1000000000001\n}",
            "rank 0, line 3: found work of 1000000000001 ns; allowed: 0 to 1000 s",
        ),
        (HEAD + "rank 0 {\na: calc 5\na: calc 6\n}", "rank 0, line 4: found label 'a' again; allowed: each label once"),
        (HEAD + "rank 0 {\na: calc 5\na requires b\n}", "rank 0, line 4: found 'b'; allowed: a label of this rank"),
        (HEAD + "rank 0 {\na: calc 5\na requires \0\n}", "rank 0, line 4: found '?'; allowed: a label of this rank"),
        (HEAD + "rank 0 {\na: calc 5\na requires", "rank 0, line 4: found the end; allowed: a label of this rank"),
        (
            HEAD + "rank 0 {\na: calc 5\nb: calc 6\nc: calc 7\na requires b\nb requires a\nc requires b\n}",
            "rank 0, line 4: found a circle of dependencies through this operation and that of line 3; allowed: no",
        ),
        (
            HEAD + "rank 0 {\nsend 5b to 1 tag 4\n}\nrank 1 { }",
            "rank 0, line 3: found a send to rank 1 with tag 4, which receives none; allowed: a receive for each send",
        ),
        (
            HEAD + "rank 0 {\nrecv 5b from 1 tag 4\n}\nrank 1 { send 5b to 0 tag 3 }",
            "rank 1, line 5: found a send to rank 0 with tag 3, which receives none; allowed: a receive for each send",
        ),
        (
            HEAD + "rank 0 {\nrecv 5b from 1 tag 4\n}\nrank 1 { }",
            "rank 0, line 3: found a receive from rank 1 with tag 4, which sends none; allowed: a send for each",
        ),
        (HEAD + "rank 0 { calc 5 }", "rank 1: found nothing; allowed: what it does, if only { }"),
        ("num_ranks 99999999\n", "line 1: found 99999999 ranks in 19 bytes; allowed: a file that tells of each rank"),
        (HEAD + "rank 0 { calc 5 }\nrank 1 { }", "ranks: found 3; allowed: 2, the ranks of the trace"),
        (HEAD + "/* rank", "line 2: found 'a comment without an end'; allowed: */"),
        ("", "found nothing; allowed: a trace in GOAL, text or binary"),
        ("\x80\x10\0\0\0\0\0\0", "header: found magic number 4224; allowed: 4223, or GOAL in text"),
    ],
)
def test_what_can_not_be_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.goal").write_text(text, encoding="latin1")
    yaml = tmp_path / "x.yaml"
    ranks = 3 if said.startswith("ranks") else 2
    yaml.write_text(f"ranks: {ranks}\nmachine: torus-S\nworkload: {{kind: trace, file: x.goal}}\n")
    with pytest.raises(InputError, match=re.escape(said)) as told:
        load_point(yaml)
    assert "\n" not in str(told.value)


@given(
    text=st.text(st.sampled_from("rank 01{}:lsendcvb/*\n-\x00"))
    | st.binary(max_size=60).map(lambda b: b.decode("latin1"))
)
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    file = tmp_path_factory.mktemp("any") / "x.goal"
    file.write_text(HEAD + "rank 0 {" + text, encoding="latin1")
    try:
        traces.pack(file)
    except InputError as error:
        told = str(error)
        if "allowed: " not in told:
            raise


@pytest.mark.parametrize(
    "change",
    [
        {"substrate": "simgrid"},
        {"machine": PAIR | {"model": "pisces-16"}},
        {"workload": {"kind": "program", "steps": [{"kind": "trace", "table": 64 * "0"}]}},
    ],
)
def test_who_runs_no_traces_says_so(tmp_path: Path, change: dict[str, Any]) -> None:
    made = {"ranks": 2, "workload": trace(tmp_path, HEAD + "rank 0 { calc 5 }"), "machine": PAIR}
    with pytest.raises(ValueError, match="trace"):
        Point.model_validate(made | change)
