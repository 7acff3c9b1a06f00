"""A timeline as an OTF2 archive says the same as one of trace events; archives replace only archives."""

from __future__ import annotations

import contextlib
import gc
import json
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tramontane.cli import app
from tramontane.errors import InputError, refused_by_system
from tramontane.results.timeline import WAITING
from tramontane.support import otf2 as support
from tramontane.support.files import UnwritableError

otf2 = pytest.importorskip("otf2")

POINT = """ranks: 8
machine: torus-S
workload:
  kind: program
  grid: [32, 32, 16]
  steps:
    - work: {per_point: 10 ns, imbalance: 20 %}
    - halo: {width: 2}
    - allreduce: {algorithm: recursive-doubling, count: 2000}
"""

WRITING = """ranks: 8
machine: {name: torus-S, storage: {bandwidth: 10 GB/s, node_bandwidth: 1 GB/s, latency: 5 us}}
workload: {kind: program, steps: [{write: {bytes: 1 MB}}, {work: {time: 10 us}}]}
"""


def spans(file: Path) -> list[tuple[str, str, float, float, int | None]]:
    """Return location, region, begin and end [us], and for whom is waited, of an archive."""
    found = []
    with otf2.reader.open(str(file)) as trace:
        ticks = trace.timer_resolution / 1e6
        open_: dict[Any, Any] = {}
        for location, event in trace.events:
            if isinstance(event, otf2.events.Enter):
                assert location not in open_
                open_[location] = event
            else:
                begun = open_.pop(location)
                peer = next(iter((begun.attributes or {}).values()), None)
                found.append((location.name, event.region.name, begun.time / ticks, event.time / ticks, peer))
        assert not open_
    return sorted(found)


@contextlib.contextmanager
def small_files() -> Iterator[None]:
    """Let no file be as large as an archive's are, which the library meets as it does a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("command", ["timeline", "goal"])
def test_an_archive_for_which_there_is_no_space_is_told(
    command: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("{ranks: 8, machine: torus-S, workload: {kind: halo, width: 1, grid: [8, 8, 4]}}")
    with small_files():
        done = CliRunner().invoke(app, [command, str(file), "--output", str(tmp_path / "run.otf2")])
    assert isinstance(done.exception, UnwritableError)
    assert refused_by_system(done.exception).endswith(
        "run.otf2: OTF2's library can't write it, as where no space is left"
    )
    del done
    gc.collect()
    assert capfd.readouterr().err == ""
    assert list(tmp_path.iterdir()) == [file]


def test_both_forms_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(POINT)
    for _ in range(2):  # the second one replaces the first
        for output in ("run.json", "run.otf2"):
            told = CliRunner().invoke(
                app, ["timeline", str(file), "--ranks", "1,4-6", "--output", str(tmp_path / output)]
            )
            assert told.exit_code == 0, told.output
    events = json.loads((tmp_path / "run.json").read_text())["traceEvents"]
    wanted = sorted(
        (f"rank {e['tid']}", e["name"], e["ts"], e["ts"] + e["dur"], e.get("args", {}).get("for rank"))
        for e in events
        if e["ph"] == "X"
    )
    found = spans(tmp_path / "run.otf2")
    assert len(found) > 20
    assert {each[1] for each in found} > {"work", WAITING["network"]}
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours[:2] == theirs[:2]
        assert ours[4] == theirs[4]
        assert ours[2:4] == pytest.approx(theirs[2:4], abs=1e-6)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.yaml", "run", "run.def", "run.json", "run.otf2"]


def test_the_storage_is_a_region_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(WRITING)
    arguments = ["timeline", str(tmp_path / "p.yaml"), "--ranks", "3", "--output", str(tmp_path / "run.otf2")]
    told = CliRunner().invoke(app, arguments)
    assert told.exit_code == 0, told.output
    access = 5 + 1000 + 800
    assert [(each[1], each[4]) for each in spans(tmp_path / "run.otf2")] == [("storage", None), ("work", None)]
    assert spans(tmp_path / "run.otf2")[0][3] == pytest.approx(access, rel=1e-6)


def test_processors_beside_a_rank_have_a_location_each(tmp_path: Path) -> None:
    (tmp_path / "cpus.goal").write_text(
        "num_ranks 2\nrank 0 { calc 2000 calc 5000 cpu 1 }\nrank 1 { a: calc 3000 cpu 2 b: calc 1000 b requires a }\n"
    )
    (tmp_path / "p.yaml").write_text(
        f"ranks: 2\nmachine: torus-S\nworkload: {{kind: trace, file: {tmp_path}/cpus.goal}}\n"
    )
    told = CliRunner().invoke(app, ["timeline", str(tmp_path / "p.yaml"), "--output", str(tmp_path / "run.otf2")])
    assert told.exit_code == 0, told.output
    assert [each[:1] + each[2:4] for each in spans(tmp_path / "run.otf2")] == [
        ("rank 0", 0, 2),
        ("rank 0, cpu 1", 0, 5),
        ("rank 1", 3, 4),
        ("rank 1, cpu 2", 0, 3),
    ]


def test_what_is_no_archive_is_kept(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(InputError, match="run is there and belongs to no archive"):
        support.check(tmp_path / "run.otf2")
    (tmp_path / "run.otf2").touch()
    (tmp_path / "run" / "mine.txt").touch()
    with pytest.raises(InputError, match="run holds more than events of an archive"):
        support.check(tmp_path / "run.otf2")


def test_a_failure_leaves_nothing(tmp_path: Path) -> None:
    def fail() -> None:
        with support.archive(tmp_path / "run.otf2", [0, 1], "x") as out:
            out.events(0).enter(5, out.definitions.region("work"))
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        fail()
    assert list(tmp_path.iterdir()) == []


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(InputError, match=r"OTF2's library is missing; allowed: .* pip install otf2"):
        support.check(Path("run.otf2"))
