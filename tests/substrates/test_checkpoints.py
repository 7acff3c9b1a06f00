"""A long point that is killed anywhere goes on from its checkpoint, and ends with the same bits."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from tests.simulator.points import without_costs
from tramontane import _simulator
from tramontane.errors import InputError
from tramontane.study import Point
from tramontane.study.traces import traces
from tramontane.substrates import checkpoints
from tramontane.substrates.checkpoints import MINUTES, interval
from tramontane.substrates.isolation import PointError, PointKilledError, run_forked
from tramontane.substrates.simulator import Simulator

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
TORUS = {"topology": "torus", "geometry": [8, 8, 8], "nodes_per_switch": 2}
DRAGONFLY = {"topology": "dragonfly", "geometry": [4, 4, 9], "nodes_per_switch": 4, "routing": "ugal"}
TRANSPOSITION = {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": [1440, 720, 128]}
HALO = {"kind": "halo", "width": 20, "grid": [2880, 1440, 64]}
SEARCH = {"kind": "allreduce", "algorithm": "recursive-k", "radix": "optimal", "radices": [2, 6], "repeats": 150}
NOISE = {"period": "10 us", "duration": "2 us", "pattern": "random"}


def made(machine: Mapping[str, Any], workload: Mapping[str, Any], ranks: int, **more: Any) -> Point:
    return Point.model_validate({"ranks": ranks, "machine": machine, "workload": workload, **more})


POINTS = {
    "transposition": made(TORUS, TRANSPOSITION, 1024),
    "halo": made(TORUS, HALO, 1024, start_jitter="10 us"),
    "search": made(TORUS, SEARCH, 900, noise=NOISE),
    "steady": made(TORUS, SEARCH | {"repeats": 300}, 999, steady={"error": "1 ppm"}, allocation="random"),
    "ugal": made(DRAGONFLY, TRANSPOSITION, 500),
}


COSTS = dict.fromkeys(("put", "post", "start", "complete", "wait", "fence"), "300 ns")
NODES = {
    "node": {"latency": "300 ns", "bandwidth": "10 GB/s", "memory_bandwidth": "100 GB/s", "copies": "shared"},
    "storage": {"bandwidth": "100 GB/s", "node_bandwidth": "10 GB/s", "latency": "10 us"},
    "one_sided": COSTS,
    "overhead": {"send": "100 ns", "receive": "100 ns", "post": "10 ns"},
    "matching": {"posted": "1 ns", "unexpected": "1 ns"},
    "link": {"bandwidth": "10 GB/s", "latency": "100 ns", "classes": {"dimension-1": {"bandwidth": "5 GB/s"}}},
}
STEPS: list[Any] = [
    HALO | {"grid": [1440, 720, 64], "begin": "halo"},
    {"work": {"time": "20 us", "imbalance": "10 %", "noise": "10 %"}},
    {"end": {"of": "halo"}},
    {"halo": {"width": 9, "grid": [720, 720, 64], "one_sided": {"synchronisation": "post-start"}}},
    {"write": {"total": "100 MB"}},
    {"collective": {"operation": "alltoall", "algorithm": "bruck", "count": 20, "communicator": "rows"}},
]
PROGRAM = {"kind": "program", "repeat": 2, "steps": STEPS, "communicators": {"rows": {"consecutive": 24}}}
COUNTED = {"links": "hottest", "bins": 64}


def program(_: Path) -> Point:
    """Nodes of several ranks, costs of steps, puts, storage, communicators, and all that is counted."""
    return made(TORUS | NODES, PROGRAM, 960, ranks_per_node=2, statistics=COUNTED, start_jitter="1 us")


def jobs(_: Path) -> Point:
    side = {
        "name": "other",
        "ranks": 300,
        "start": "5 us",
        "workload": {"kind": "random-shifts", "bytes": "64 KB", "rounds": 40},
    }
    mine = {"name": "mine", "ranks": 200, "workload": TRANSPOSITION | {"grid": [720, 720, 64]}}
    return made(DRAGONFLY, {"kind": "jobs", "jobs": [mine, side]}, 500, allocation="random")


def pattern(folder: Path) -> Point:
    rows = [f"{rank},{(rank + step) % 500},{1000 * step}\n" for rank in range(500) for step in range(1, 60)]
    file = folder / "messages.csv"
    file.write_text("source,target,bytes\n" + "".join(rows))
    graph = {"topology": "graph", "file": str(ROOT / "configs/machines/jellyfish-M.csv"), "nodes_per_switch": 6}
    return made(graph, {"kind": "pattern", "file": str(file)}, 500)


def trace(folder: Path) -> Point:
    file = folder / "trace.goal"
    workload = TRANSPOSITION | {"grid": [1440, 720, 128], "decomposition": [20, 20]}
    traces.write_goal(_simulator.schedule.Schedule(workload, 400, allow_empty_blocks=True), 400, file)
    return made(TORUS, {"kind": "trace", "file": str(file)}, 400)


def trace_of_several_cpus(folder: Path) -> Point:
    file = folder / "trace.goal"
    trace(folder)
    lines = file.read_text().splitlines()
    works = [each.replace("calc 0", f"calc {i % 2000} cpu {i % 3}") for i, each in enumerate(lines)]
    file.write_text("\n".join(works))
    return made(TORUS, {"kind": "trace", "file": str(file)}, 400)


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(MINUTES, "0.001")
    monkeypatch.setattr(checkpoints, "_SHARE", 0)


class Mortal(Simulator):
    """Kills itself when its checkpoint has been written so many times."""

    def __init__(self, threads: int, checkpoint: Path, lives: int, device: str = "cpu") -> None:
        super().__init__(threads, checkpoint, device)
        self._lives = lives

    def run(self, point: Point) -> dict[str, Any]:
        written: list[Path] = []

        def count(folder: Path) -> None:
            written.append(folder)
            if len(written) == self._lives:
                os.kill(os.getpid(), signal.SIGKILL)

        with patch.object(checkpoints, "sync_folder", count):
            return super().run(point)


def killed(point: Point, file: Path, lives: int = 1, threads: int = 1, device: str = "cpu") -> None:
    with pytest.raises(PointKilledError):
        run_forked(point, Mortal(threads, file, lives, device))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n in ("search", "steady", "ugal") else []) for n in POINTS]
)
@pytest.mark.parametrize("threads", [1, pytest.param(2, marks=pytest.mark.long)])
def test_a_killed_point_goes_on_with_the_same_bits(
    tmp_path: Path, name: str, threads: int, capfd: pytest.CaptureFixture[str]
) -> None:
    point, file = POINTS[name], tmp_path / "p.checkpoint"
    clean = run_forked(point, Simulator(threads))
    for _ in range(2):
        killed(point, file, threads=threads)
    result = run_forked(point, Simulator(3, file))
    assert without_costs(result) == without_costs(clean)
    assert result["resumed"] == 2
    assert result["cpu_s"] > 0.3 * clean["cpu_s"]
    assert capfd.readouterr().err.count("goes on after") == 2


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    "make",
    [*(pytest.param(make, marks=pytest.mark.long) for make in (program, jobs, trace)), pattern, trace_of_several_cpus],
)
def test_newer_kinds_go_on_with_the_same_bits(tmp_path: Path, make: Callable[[Path], Point]) -> None:
    point, file = make(tmp_path), tmp_path / "p.checkpoint"
    clean = run_forked(point, Simulator())
    killed(point, file)
    result = run_forked(point, Simulator(2, file))
    assert without_costs(result) == without_costs(clean)
    assert result["resumed"] == 1


@pytest.mark.parametrize(
    ("links", "writer", "reader"),
    [
        ("by-class", "host", "cpu"),
        ("by-class", "cpu", "host"),
        ("hottest", "host", "cpu"),
        pytest.param("hottest", "cpu", "host", marks=pytest.mark.long),
    ],
)
def test_each_engine_goes_on_from_what_the_other_has_written(
    tmp_path: Path, links: str, writer: str, reader: str
) -> None:
    asked = COUNTED | {"links": links}
    halo = HALO | {"grid": [1440, 720, 64]}
    point, file = made(TORUS, halo, 1024, start_jitter="10 us", statistics=asked), tmp_path / "p.checkpoint"
    clean = run_forked(point, Simulator())
    killed(point, file, device=writer)
    result = run_forked(point, Simulator(2, file, reader))
    assert without_costs(result) == without_costs(clean)
    assert (result["resumed"], result.get("engine", "cpu")) == (1, reader)


def test_a_device_does_not_go_on_from_what_several_threads_have_written(tmp_path: Path) -> None:
    point, file = POINTS["halo"], tmp_path / "p.checkpoint"
    killed(point, file, threads=2)
    with pytest.raises(PointError, match="device: found a checkpoint of 2 threads, allowed: cpu"):
        run_forked(point, Simulator(1, file, "host"))
    assert run_forked(point, Simulator(1, file))["resumed"] == 1


def test_only_what_has_not_ended_is_run_again(tmp_path: Path) -> None:
    point, file = POINTS["search"], tmp_path / "p.checkpoint"
    killed(point, file, lives=4)
    result = run_forked(point, Simulator(1, file))
    clean = run_forked(point, Simulator())
    assert without_costs(result) == without_costs(clean)
    assert result["cpu_s"] < 3 * clean["cpu_s"]  # with all attempts


def damages(content: bytes) -> dict[str, bytes]:
    flipped = bytearray(content)
    flipped[len(content) // 3] ^= 4
    in_line = bytearray(content)
    in_line[-100] ^= 4
    return {
        "cut": content[:-1],
        "half": content[: len(content) // 2],
        "empty": b"",
        "long": content + b"x",
        "flipped": bytes(flipped),
        "flipped-line": bytes(in_line),
        "huge": content[:-8] + b"\xff" * 8,
        "text": b"a checkpoint" * 100,
    }


def test_what_is_damaged_or_of_another_is_told_and_begins_afresh(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    small = TRANSPOSITION | {"grid": [1440, 720, 64]}
    point, file = made(TORUS, small, 512), tmp_path / "p.checkpoint"
    clean = without_costs(run_forked(point, Simulator()))
    killed(point, file)
    monkeypatch.setenv(MINUTES, "10")  # what begins afresh need not write any more
    sound = file.read_bytes()
    for content in damages(sound).values():
        file.write_bytes(content)
        result = run_forked(point, Simulator(1, file))
        assert without_costs(result) == clean
        assert "resumed" not in result
        assert capfd.readouterr().err.count("the point begins afresh") == 1
    file.write_bytes(sound)
    other = POINTS["halo"]
    assert "resumed" not in run_forked(other, Simulator(1, file))
    assert "of another point" in capfd.readouterr().err
    file.write_bytes(sound)
    monkeypatch.setattr(Simulator, "build", lambda self: "0" * 16)
    assert "resumed" not in run_forked(point, Simulator(1, file))
    assert "of another build" in capfd.readouterr().err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_checkpoint_costs_a_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "closed").mkdir(mode=0o555)
    run_forked(POINTS["transposition"], Simulator(1, tmp_path / "closed" / "p.checkpoint"))
    assert capfd.readouterr().err.count("no checkpoint: ") == 1


def test_a_full_disk_costs_the_checkpoint_and_not_the_point(tmp_path: Path) -> None:
    # RLIMIT_FSIZE stands in for a full disk: a state of more than 64 KiB can't be written.
    code = f"""
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
from pathlib import Path
from tests.substrates.test_checkpoints import POINTS
from tramontane.substrates.simulator import Simulator
print(Simulator(1, Path({str(tmp_path)!r}, "p.checkpoint")).run(POINTS["transposition"])["time_s"])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert float(done.stdout) == run_forked(POINTS["transposition"], Simulator())["time_s"]
    assert done.stderr.count("no checkpoint: ") == 1
    assert "File too large" in done.stderr
    assert not list(tmp_path.glob(".*"))


def test_pisces_16_runs_without(tmp_path: Path) -> None:
    point = made({**TORUS, "geometry": [2, 2, 2], "model": "pisces-16"}, {"kind": "allreduce", "algorithm": "ring"}, 8)
    result = run_forked(point, Simulator(1, tmp_path / "p.checkpoint"))
    assert "resumed" not in result


@pytest.mark.parametrize("text", ["", "soon", "-1", "0", "nan", "inf", "1e9"])
def test_a_wrong_time_between_checkpoints_is_one_line(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(MINUTES, text)
    with pytest.raises(InputError, match=MINUTES):
        interval()


def test_checkpoints_take_a_small_share_of_the_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    clock.monotonic = lambda: clock.now
    monkeypatch.setattr(checkpoints, "time", clock)
    monkeypatch.setattr(checkpoints, "_SHARE", 50)
    checkpoint = checkpoints.Checkpoint(tmp_path / "p.checkpoint", POINTS["halo"].canonical(), "b")
    monkeypatch.setattr(checkpoint, "_vouch", lambda: setattr(clock, "now", clock.now + 2))
    clock.now = 1.0
    assert checkpoint.wanted()
    checkpoint.written("")  # takes 2 s, and has ended at 3 s
    clock.now = 102.9
    assert not checkpoint.wanted()
    clock.now = 103.0
    assert checkpoint.wanted()
