"""Patterns on the simulator: what a table says is what happens, as if a kind of workload said it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane.study import Point
from tramontane.study.patterns import pattern_makers, patterns
from tramontane.substrates.simgrid import SimGrid
from tramontane.substrates.simulator import Simulator, schedule
from tramontane.substrates.sstmacro import SstMacro

from .points import TORUS

pytestmark = pytest.mark.usefixtures("tables")

RANKS = 32


def point(workload: dict[str, Any], ranks: int = RANKS, **more: Any) -> Point:
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": TORUS, **more})


def run(workload: dict[str, Any], ranks: int = RANKS, threads: int = 1, **more: Any) -> dict[str, Any]:
    return Simulator(threads).run(point(workload, ranks, **more))


def written(folder: Path, columns: dict[str, Any]) -> dict[str, Any]:
    """Return the pattern of a table."""
    file = folder / f"{len(list(folder.iterdir()))}.npz"
    pattern_makers.write(file, {name: np.asarray(column, dtype=np.int64) for name, column in columns.items()})
    return {"kind": "pattern", "file": str(file)}


def as_table(workload: dict[str, Any], ranks: int = RANKS) -> dict[str, Any]:
    """Return the messages of another kind of workload; its rounds become steps."""
    told = schedule(point(workload, ranks).workload, ranks)
    rounds = [told.transfers(number, "send") for number in range(told.rounds)]
    joined = {
        name: np.concatenate([each[key] for each in rounds])
        for name, key in (("source", "source"), ("target", "destination"), ("bytes", "bytes"), ("tag", "tag"))
    }
    return joined | {"step": np.repeat(np.arange(len(rounds)), [len(each["tag"]) for each in rounds])}


HALOS = [
    {"decomposition": [4, 8], "width": 1},
    {"decomposition": [2, 16], "width": 3},  # both neighbours in x are the same rank
    {"decomposition": [16, 2], "width": 5},  # over several neighbours
    {"decomposition": "bisection", "width": 2},
]


@pytest.mark.parametrize("halo", HALOS)
@pytest.mark.parametrize("levels", [1, 300])  # eager, and by rendezvous
def test_a_halo_as_a_table_takes_the_same_time(tmp_path: Path, halo: dict[str, Any], levels: int) -> None:
    """Bit for bit, although receives are posted in order of their source: where no time passes, no order matters."""
    workload = {"kind": "halo", "grid": [37, 41, levels], **halo}
    columns = as_table(workload)
    pattern = written(tmp_path, columns)
    ours, theirs = (schedule(point(each).workload, RANKS) for each in (pattern, workload))
    for number in range(theirs.rounds):
        for key in ("source", "destination", "bytes", "tag"):  # sends in the very order of the halo
            assert ours.transfers(number, "send")[key].tolist() == theirs.transfers(number, "send")[key].tolist()
    drawn: list[dict[str, Any]] = [{}, {"start_jitter": "1 us", "seed": 3}]
    for more in drawn:
        found, wanted = run(pattern, **more), run(workload, **more)
        for key in ("time_s", "messages", "bytes", "packets", "hops", "control_packets"):
            assert found[key] == wanted[key]


def test_steps_come_one_after_the_other_and_all_of_them_again(tmp_path: Path) -> None:
    columns = {"source": [0, 1], "target": [1, 0], "bytes": [4096, 4096], "step": [0, 1]}
    once = run(written(tmp_path, columns), 2)
    assert run({**written(tmp_path, columns), "repeats": 5}, 2)["time_s"] == pytest.approx(5 * once["time_s"])
    assert once["messages"] == 2
    together = run(written(tmp_path, {**columns, "step": [0, 0]}), 2)
    assert once["time_s"] == pytest.approx(2 * together["time_s"])


def test_ranks_that_the_table_does_not_name_do_nothing(tmp_path: Path) -> None:
    columns = {"source": [0, 1], "target": [1, 0], "bytes": [4096, 4096]}
    few, many = (run(written(tmp_path, columns), ranks) for ranks in (2, 32))
    assert few["time_s"] == many["time_s"]
    assert many["messages"] == 2


rows = st.lists(
    st.tuples(*(st.integers(0, most) for most in (RANKS - 1, RANKS - 1, 40_000, 2, 2))),
    min_size=1,
    max_size=120,
    unique_by=lambda row: (row[0], row[1], row[3], row[4]),
).map(lambda drawn: [row for row in drawn if row[0] != row[1]] or [(0, 1, 1, 0, 0)])


@settings(max_examples=30)
@given(rows)
def test_any_pattern_moves_all_bytes_and_has_the_same_bits_on_two_threads(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[tuple[int, ...]]
) -> None:
    names = ("source", "target", "bytes", "tag", "step")
    columns = dict(zip(names, zip(*drawn, strict=True), strict=True))
    pattern = written(tmp_path_factory.mktemp("drawn"), columns)
    one, two = (run(pattern, threads=threads) for threads in (1, 2))
    assert one["messages"] == len(drawn)
    assert one["bytes"] == sum(columns["bytes"])
    for key in ("time_s", "phases", "packets", "hops"):
        assert one[key] == two[key]


def test_a_step_of_a_program_is_the_same_exchange(tmp_path: Path) -> None:
    workload = {"kind": "halo", "grid": [37, 41, 8], "decomposition": [4, 8], "width": 1}
    pattern = written(tmp_path, as_table(workload))
    alone = run(pattern)["time_s"]
    program = run({"kind": "program", "steps": [pattern]})
    assert program["time_s"] == alone
    short = {key: value for key, value in pattern.items() if key != "kind"}
    overlapped = {"overlap": {"exchange": {**pattern, "name": "halo"}, "work": {"time": "1 ms"}}}
    both = point({"kind": "program", "steps": [{"pattern": short}, overlapped]})
    assert patterns.named(both.canonical()) == patterns.named(point(pattern).canonical())
    assert Point.from_canonical(both.canonical()).id == both.id
    found = Simulator().run(both)
    assert [step["name"] for step in found["steps"]][:2] == ["pattern", "halo"]
    assert 1e-3 <= found["time_s"] < 1e-3 + 3 * alone


def test_a_group_that_is_smaller_than_the_table_is_refused(tmp_path: Path) -> None:
    pattern = written(tmp_path, {"source": [0], "target": [7], "bytes": [8]})
    rows = {"communicators": {"rows": {"consecutive": 4}}}
    with pytest.raises(ValueError, match=r"row 1, target: found 7; allowed: ranks from 0 to 3"):
        point({"kind": "program", "steps": [{**pattern, "communicator": "rows"}], **rows})


@pytest.mark.slow
def test_others_run_it_or_say_so(tmp_path: Path) -> None:
    pattern = written(tmp_path, {"source": [0, 1], "target": [1, 0], "bytes": [2**20, 2**20]})
    pair = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 1}
    made = Point.model_validate({"ranks": 2, "workload": pattern, "machine": pair, "substrate": "sstmacro"})
    assert SstMacro().refusal(made) is None
    inside = Point.model_validate(
        {"ranks": 2, "workload": {"kind": "program", "steps": [pattern]}, "machine": pair, "substrate": "sstmacro"}
    )
    assert SstMacro().refusal(inside) is None
    theirs = Point.model_validate({"ranks": 2, "workload": pattern, "machine": pair, "substrate": "simgrid"})
    assert SimGrid().refusal(theirs) is None
    if SimGrid().available() is None:
        found = SimGrid().run(theirs)
        assert (found["messages"], found["bytes"]) == (2, 2**21)
        assert found["time_s"] == pytest.approx(run(pattern, 2)["time_s"], rel=0.05)


MEMORY = """
import sys
from pathlib import Path
from tramontane.extension import simulator

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
schedule = simulator().schedule
keys = {"kind": "pattern", "table": sys.argv[1], "repeats": 1}
before = resident()
made = schedule.Schedule(keys, 1_000_000)
(messages, size), = made.totals().values()
kept = resident() - before  # with all sends
sources = made.transfers(0, "receive")["source"]  # and all receives, of which the list is no part
print(messages, size, kept, resident() - before - 20 * len(sources), int(sources.sum()))
"""


@pytest.mark.long
def test_a_million_ranks_with_eight_neighbours_take_less_than_400_mb(tmp_path: Path, tables: Path) -> None:
    side = 1000
    rank = np.arange(side * side)
    x, y = rank % side, rank // side
    steps = [(dx, dy) for dx in (-1, 0, 1) for dy in (-1, 0, 1) if dx or dy]
    columns = {
        "source": np.concatenate([rank] * 8),
        "target": np.concatenate([(x + dx) % side + (y + dy) % side * side for dx, dy in steps]),
        "bytes": np.full(8 * side * side, 512),
    }
    digest = patterns.kept(written(tmp_path, columns)["file"])
    table = patterns.place(tables, digest)
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(table)], capture_output=True, text=True, check=True, timeout=600
    )
    messages, size, kept, all_of_it, sources = map(int, done.stdout.split())
    assert (messages, size, sources) == (8_000_000, 8_000_000 * 512, 8 * int(rank.sum()))
    assert max(kept, all_of_it) < 400_000_000
    assert table.stat().st_size < 400_000_000


@pytest.mark.parametrize("model", ["default", "pisces-16"])
def test_small_buffers_cost_bandwidth_of_a_ring(tmp_path: Path, model: str) -> None:
    """Half way round eight switches, all by the links upwards: four messages on each. As docs/model.md says."""

    def over_bound(megabytes: int, buffer: str) -> float:
        ranks = np.arange(8)
        half_way = written(tmp_path, {"source": ranks, "target": (ranks + 4) % 8, "bytes": [megabytes * 10**6] * 8})
        ring = {"topology": "torus", "geometry": [8, 1, 1], "nodes_per_switch": 1, "buffer": buffer, "model": model}
        bound = 4 * megabytes * 1e6 / 10e9
        return float(run(half_way, 8, machine=ring)["time_s"]) / bound

    with_room = over_bound(1, "1 MB")
    assert 1 < with_room < 1.01
    assert over_bound(1, "64 KB") / with_room == pytest.approx(1.9, abs=0.05)
    assert over_bound(4, "1 MB") > 1.5
