"""Critical paths: through late senders and late receivers, without a gap, over the links of their messages."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from tests.simulator.points import machine
from tests.simulator.points import point as point_of
from tests.simulator.test_recorded import POINTS, random_point
from tests.simulator.test_traces import trace
from tramontane import _simulator
from tramontane.cli import app
from tramontane.errors import InputError
from tramontane.results.critical_path import (
    Part,
    critical_path,
    shares,
    shares_of_pairs,
    shares_of_ranks,
)
from tramontane.results.timeline import Stretch
from tramontane.study.points.points import Point
from tramontane.substrates.simulator import Simulator

pytestmark = pytest.mark.usefixtures("tables")

US = 1e-6
LINE = {"topology": "torus", "geometry": {"sizes": [3], "wraps": [0]}, "nodes_per_switch": 1}


def path_of(folder: Path, text: str, ranks: int, **net: Any) -> list[Part]:
    """Return the path of a GOAL text on a line of three switches."""
    point = Point.model_validate({"ranks": ranks, "workload": trace(folder, text), "machine": LINE | net})
    result, stretches = Simulator().timeline(point, range(ranks))
    assert result["span_s"] == (0, result["time_s"])
    return critical_path(stretches, result["span_s"])


def check_whole(path: list[Part], start: float = 0) -> None:
    assert path[0].begin == start
    assert all(before.end == after.begin for before, after in pairwise(path))
    assert sum(shares(path).values()) == pytest.approx(1)


def test_a_message_is_under_way_no_earlier_than_its_sender_decided() -> None:
    """A wait that is told from its begin on, although the sender worked for a part of it."""
    found = critical_path(
        [Stretch(0, "work", 0, 0.0, 2.0, 0, 0.0), Stretch(1, "network", 0, 0.0, 4.0, 0, 2.0)], (0.0, 4.0)
    )
    assert found == [Part("work", 0, 0, 0, 0.0, 2.0), Part("network", 1, 0, 0, 2.0, 4.0)]


def test_a_chain_of_late_senders_leads_to_the_work_that_held_them_up(tmp_path: Path) -> None:
    text = """num_ranks 3
rank 0 {\nw: calc 100000\ns: send 64b to 1\ns requires w\n}
rank 1 {\nv: calc 90000\nr: recv 64b from 0\nr requires v\ns: send 64b to 2\ns requires r\n}
rank 2 {\nr: recv 64b from 1\n}
"""
    path = path_of(tmp_path, text, 3)
    check_whole(path)
    assert path[0][:2] == ("work", 0)
    assert path[0].end == pytest.approx(100 * US)
    [first, *others] = shares_of_ranks(path).items()
    assert first[0] == 0
    assert sum(share for _, share in others) < 0.01  # rank 1 had worked less; they take what comes
    assert set(shares_of_pairs(path)) == {(0, 1), (1, 2)}


def test_a_late_receiver_is_on_the_path_of_what_it_pulls(tmp_path: Path) -> None:
    text = """num_ranks 2
rank 0 {\ns: send 100000b to 1\n}
rank 1 {\nw: calc 500000\nr: recv 100000b from 0\nr requires w\n}
"""
    path = path_of(tmp_path, text, 2)
    check_whole(path)
    assert path[0][:2] == ("work", 1)
    assert path[0].end == pytest.approx(500 * US)
    assert list(shares_of_ranks(path)) == [1]
    [(pair, share)] = shares_of_pairs(path).items()
    assert sorted(pair) == [0, 1]
    assert share == pytest.approx(1 - 500 * US / path[-1].end)


def test_a_queue_in_front_of_an_interface_is_on_the_path(tmp_path: Path) -> None:
    """The small message is behind a large one of its sender: 1 MB at 10 GB/s."""
    text = """num_ranks 3
rank 0 {\na: send 1000000b to 1\nb: send 64b to 2\nb requires a\n}
rank 1 {\nr: recv 1000000b from 0\n}
rank 2 {\nr: recv 64b from 0\nw: calc 200000\nw requires r\n}
"""
    path = path_of(tmp_path, text, 3, protocol={"eager_limit": "10 MB", "short_limit": "10 MB"})
    check_whole(path)
    assert path[-1][:2] == ("work", 2)
    assert shares(path)["nic_queue"] * path[-1].end == pytest.approx(100 * US, rel=0.05)


@settings(max_examples=40)
@given(number=st.integers(0, POINTS - 1), threads=st.integers(1, 2))
def test_a_path_has_no_gap_and_no_rank_that_is_not_there(number: int, threads: int) -> None:
    check_parts_of(random_point(number), threads)


JITTER, NOISE = 100 * 10**6, {"duration": 5 * 10**6, "period": 20 * 10**6, "pattern": "periodic"}  # picoseconds


@settings(max_examples=25)
@given(
    seed=st.integers(1, 1000),
    disturbed=st.sampled_from([{"start_jitter": JITTER}, {"noise": NOISE}, {"start_jitter": JITTER, "noise": NOISE}]),
    ranks=st.integers(2, 8),
    algorithm=st.sampled_from(["linear", "dissemination"]),
)
@example(seed=1, disturbed={"start_jitter": JITTER}, ranks=2, algorithm="linear")
@example(seed=2, disturbed={"start_jitter": JITTER}, ranks=2, algorithm="linear")
@example(seed=2, disturbed={"noise": NOISE}, ranks=2, algorithm="linear")
@example(seed=5, disturbed={"noise": NOISE}, ranks=2, algorithm="linear")
def test_parts_of_a_disturbed_run_add_up_to_its_time(
    seed: int, disturbed: dict[str, Any], ranks: int, algorithm: str
) -> None:
    barrier = {"kind": "collective", "operation": "barrier", "algorithm": algorithm}
    check_parts_of(point_of(ranks, barrier, machine("torus", (2, 2, 2)), seed) | disturbed, 1)


def check_parts_of(point: dict[str, Any], threads: int) -> None:
    result = _simulator.simulate(point, threads, timeline=list(range(point["ranks"])))
    stretches = [Stretch(*each) for each in result["timeline"]]
    if not stretches:  # messages of no bytes that cost nothing
        return
    path = critical_path(stretches, result["span_s"])
    check_whole(path, result["span_s"][0])
    assert sum(part.end - part.begin for part in path) == pytest.approx(result["time_s"], rel=1e-9)
    assert all(max(part.rank, part.origin, part.peer) < point["ranks"] for part in path)
    assert all(part.peer != part.rank for part in path if part.what in ("nic_queue", "network"))
    again = _simulator.simulate(point, 3, timeline=list(range(point["ranks"])))
    assert path == critical_path([Stretch(*each) for each in again["timeline"]], again["span_s"])


def test_work_of_another_processor_decides_and_not_what_goes_on_beside_it() -> None:
    """Processor 0 waits for a message all the time; processor 2 began what ends last when processor 1 had ended."""
    wait = Stretch(0, "late_sender", 1, 0.0, 20.0, 1, 15.0)
    first, last = Stretch(0, "work", 0, 0.0, 2.0, 0, 0.0, 1), Stretch(0, "work", 0, 2.0, 22.0, 0, 2.0, 2)
    other = Stretch(1, "work", 1, 0.0, 15.0, 1, 0.0)
    path = critical_path([wait, first, last, other], (0.0, 22.0))
    assert [(part.what, part.cpu, part.begin, part.end) for part in path] == [("work", 1, 0, 2), ("work", 2, 2, 22)]


def test_without_ranks_there_is_no_path() -> None:
    with pytest.raises(ValueError, match="no rank did anything"):
        critical_path([], (0.0, 1.0))


def test_the_command_names_ranks_and_links(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("source,target,bytes\n0,2,200000\n")
    file = tmp_path / "p.yaml"
    file.write_text(
        "ranks: 3\nmachine: {topology: torus, geometry: {sizes: [3], wraps: [0]}, nodes_per_switch: 1}\n"
        "workload: {kind: pattern, file: one.csv}\n"
    )
    told = CliRunner().invoke(app, ["critical-path", str(file), "--output", str(tmp_path / "path.json")])
    assert told.exit_code == 0, told.output
    lines = told.stdout.splitlines()
    assert re.fullmatch(r"[\d.e-]+ s; the critical path has \d+ parts?, through [12] of 3 ranks", lines[0])
    assert [line.split("  ")[-1] for line in lines if "switch" in line] in (
        ["switch (0) to (1)", "switch (1) to (2)"],  # as the receiver saw it
        ["switch (2) to (1)", "switch (1) to (0)"],  # as the sender saw the acknowledgement
    )
    parts = json.loads((tmp_path / "path.json").read_text())["parts"]
    assert parts[0]["begin"] == 0
    assert {part["what"] for part in parts} <= {"network", "nic_queue", "busy", "nothing"}


@pytest.mark.parametrize(
    ("ranks", "machine", "line"),
    [
        (5000, "dragonfly-MM", "ranks: found 5000; allowed: at most 4096, for a path"),
        (4, "{topology: torus, geometry: [4, 1, 1], model: pisces-16}", "no timeline of model pisces-16"),
        (1, "torus-S", "p.yaml: workload: no critical path: no rank does anything"),
    ],
)
def test_what_has_no_path_is_told_in_one_line(tmp_path: Path, ranks: int, machine: str, line: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(f"ranks: {ranks}\nmachine: {machine}\nworkload: {{kind: allreduce, algorithm: ring}}\n")
    told = CliRunner().invoke(app, ["critical-path", str(file), "--output", str(tmp_path / "path.json")])
    assert isinstance(told.exception, InputError)
    assert line in str(told.exception)
    assert not (tmp_path / "path.json").exists()
