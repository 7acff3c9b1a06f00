"""The store: files appear whole or not at all, and the last attempt at a point is what counts."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest

from tramontane.results.store import Store, dump, write_atomically, write_if_changed
from tramontane.study.points import Point

IDENTITY = "0123456789abcdef"

POINT = Point.model_validate(
    {
        "ranks": 2,
        "workload": {"kind": "allreduce", "algorithm": "ring"},
        "machine": {"topology": "torus", "geometry": [2, 2, 2]},
    }
)


def record(time_s: float = 1.0) -> dict[str, object]:
    return {"id": IDENTITY, "point": {"ranks": 2}, "result": {"time_s": time_s}, "provenance": {}}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert not store.has(IDENTITY)
    store.write(record())
    assert store.has(IDENTITY)
    assert store.read(IDENTITY) == record()
    assert store.path(IDENTITY) == tmp_path / "results" / "points" / "01" / f"{IDENTITY}.json"
    assert list(store.identities()) == [IDENTITY]


def test_a_failure_counts_until_the_point_succeeds(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.write(record())
    store.failed(IDENTITY, POINT, "deadlock", {"created": "now"})
    assert store.has_failed(IDENTITY)
    assert not store.has(IDENTITY)
    assert store.read_failure(IDENTITY)["message"] == "deadlock"
    store.write(record(2.0))
    assert store.has(IDENTITY)
    assert not store.has_failed(IDENTITY)
    assert list(store.identities()) == [IDENTITY]


def test_a_congestion_matrix_lies_beside_the_record(tmp_path: Path) -> None:
    store = Store(tmp_path)
    matrix = {
        "bins": 2,
        "ranks": 4,
        "packets": [[0, 7], [1, 0]],
        "sum_s": [[0.0, 0.1], [0.25, 0.0]],
        "max_s": [[0.0] * 2] * 2,
    }
    store.write(record())
    assert store.read_congestion(IDENTITY) is None
    store.write({**record(), "result": {"time_s": 1.0, "congestion": matrix}})
    assert store.read(IDENTITY) == record()
    assert store.read_congestion(IDENTITY) == matrix
    before = [path.read_bytes() for path in sorted(store.path(IDENTITY).parent.iterdir())]
    store.write({**record(), "result": {"time_s": 1.0, "congestion": matrix}})
    assert [path.read_bytes() for path in sorted(store.path(IDENTITY).parent.iterdir())] == before
    assert list(store.identities()) == [IDENTITY]


def test_changes_are_dated(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.changed_at(IDENTITY) == 0
    store.write(record())
    written = store.changed_at(IDENTITY)
    assert written == store.path(IDENTITY).stat().st_mtime_ns
    os.utime(store.path(IDENTITY), ns=(1, 1))
    store.failed(IDENTITY, POINT, "", {})
    assert store.changed_at(IDENTITY) == store.failure_path(IDENTITY).stat().st_mtime_ns > 1


def test_an_interrupted_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file.json"
    write_atomically(file, "old")

    def interrupted(self: Path, target: Path) -> Path:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_files_can_be_read_by_others(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        write_atomically(tmp_path / "file", "text")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o644


def write_for_ever(root: Path) -> None:
    store, number = Store(root), 0
    while True:
        number += 1
        store.write({**record(number), "filling": "x" * 200_000})


def test_a_killed_writer_leaves_no_half_written_record(tmp_path: Path) -> None:
    for delay in (0.05, 0.11, 0.17):
        writer = multiprocessing.get_context("fork").Process(target=write_for_ever, args=(tmp_path,))
        writer.start()
        file = Store(tmp_path).path(IDENTITY)
        while not file.exists():
            time.sleep(0.005)
        time.sleep(delay)
        os.kill(writer.pid or 0, signal.SIGKILL)
        writer.join()
        assert json.loads(file.read_text())["result"]["time_s"] >= 1
        assert list(Store(tmp_path).identities()) == [IDENTITY]


def test_an_unchanged_file_keeps_its_time(tmp_path: Path) -> None:
    file = tmp_path / "a" / "file"
    assert write_if_changed(file, "text")
    os.utime(file, ns=(10**9, 10**9))
    assert not write_if_changed(file, "text")
    assert file.stat().st_mtime_ns == 10**9
    assert write_if_changed(file, "other")
    assert file.stat().st_mtime_ns > 10**9


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump({"time_s": float("nan")})
