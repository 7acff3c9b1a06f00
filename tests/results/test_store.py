"""The store: files appear whole or not at all, and the last attempt at a point is what counts."""

import gzip
import json
import multiprocessing
import os
import re
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

from tests.points import POINT
from tramontane.results import datasets
from tramontane.results.proof import sealed
from tramontane.results.store import PUBLISHED, Store
from tramontane.substrates.checkpoints import Checkpoint
from tramontane.support.files import UnwritableError, dump, write_atomically, write_if_changed

IDENTITY = POINT.id


def record(time_s: float = 1.0) -> dict[str, object]:
    return {"id": IDENTITY, "point": POINT.canonical(), "result": {"time_s": time_s}, "provenance": {}}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert not store.has(IDENTITY)
    store.write(record())
    assert store.has(IDENTITY)
    assert store.read(IDENTITY) == record()
    assert store.path(IDENTITY) == tmp_path / "results" / "points" / IDENTITY[:2] / f"{IDENTITY}.json"
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


def write_checkpoint(file: Path) -> None:
    checkpoint = Checkpoint(file, POINT.canonical(), "build")
    file.with_name(f".{file.name}.tmp").write_bytes(b"state")  # as the simulator does
    checkpoint.written("")


WRITERS: dict[str, Callable[[Path], None]] = {
    "text": lambda file: write_atomically(file, "text"),
    "dataset": lambda file: datasets.write(xr.Dataset({"time_s": ("ranks", [1.0])}), file),
    "checkpoint": write_checkpoint,
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_file_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or a power cut may leave an empty file under the name."""
    done: list[tuple[str, int, int]] = []
    fsync, replace = os.fsync, os.replace

    def note(call: str, state: os.stat_result) -> None:
        done.append((call, state.st_ino, state.st_size))

    def noted_fsync(descriptor: int) -> None:
        note("fsync", os.fstat(descriptor))
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        note("replace", source.stat())
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    file = tmp_path / "file"
    WRITERS[what](file)
    written = file.stat()
    mine = [(call, size) for call, number, size in done if number == written.st_ino]
    assert mine == [("fsync", written.st_size), ("replace", written.st_size)]


def test_what_is_no_regular_file_is_not_replaced(tmp_path: Path) -> None:
    pipe, file = tmp_path / "pipe", tmp_path / "file"
    os.mkfifo(pipe)
    with pytest.raises(UnwritableError, match="no regular file"):
        write_atomically(pipe, "text")
    assert pipe.is_fifo()
    file.write_text("old")
    (tmp_path / "link").symlink_to(file)
    write_atomically(tmp_path / "link", "text")
    assert (tmp_path / "link").read_text() == "text"


def test_what_can_not_be_written_is_named_as_it_would_be_called(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()
    for file in (tmp_path / "taken", Path("/proc/nowhere.json")):
        with pytest.raises(UnwritableError) as refused:
            write_atomically(file, "text")
        assert refused.value.filename == str(file)
        assert refused.value.strerror
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


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


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_what_is_no_regular_file_is_not_compared(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "file")
    signal.alarm(20)  # to read a pipe may never end
    with pytest.raises(UnwritableError, match=r"(no regular file|Is a directory): .*file'"):
        write_if_changed(tmp_path / "file", "text")
    signal.alarm(0)


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        dump({"time_s": float("nan")})


def _changed(text: str) -> str:
    return text.replace('"time_s": 1.0', '"time_s": 2.0')


def _of_another_point(text: str) -> str:
    """Return a record with a sound checksum whose point is another one."""
    data = json.loads(text)
    del data["sha256"]
    data["point"]["ranks"] = 4
    return dump(sealed(data))


def _of_the_future(text: str) -> str:
    return text.replace('"format": 1', '"format": 2')


DAMAGE: dict[str, Callable[[str], str]] = {
    "changed": _changed,
    "another point's": _of_another_point,
    "of the future": _of_the_future,
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "other data": lambda text: "{}",
    "a list": lambda text: "[1]",
    "nested": lambda text: "[" * 10**5,
    "NaN": lambda text: text.replace("1.0", "NaN"),
    "no text": lambda text: "\udcff" + text,
    "unproven": lambda text: re.sub(', "sha256": "[0-9a-f]*"', "", text),
}


@pytest.mark.parametrize("how", DAMAGE)
@pytest.mark.parametrize("failed", [False, True])
def test_what_is_not_as_it_was_written_is_set_aside_and_told(
    tmp_path: Path, how: str, failed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store(tmp_path)
    if failed:
        store.failed(IDENTITY, POINT, '"time_s": 1.0', {"time_s": 1.0})
    else:
        store.write(record())
    path = store.failure_path(IDENTITY) if failed else store.path(IDENTITY)
    there = store.has_failed if failed else store.has
    assert there(IDENTITY)
    text = path.read_text()
    damaged = DAMAGE[how](text).encode(errors="surrogateescape")
    assert damaged != text.encode()
    path.write_bytes(damaged)
    assert not there(IDENTITY)
    (line,) = capsys.readouterr().err.splitlines()
    aside = path.with_name(f"{path.name}.damaged-1")
    assert line.startswith(f"{path}: ")
    assert line.endswith(f"; set aside as {aside.name}")
    assert aside.read_bytes() == damaged
    assert not path.exists()
    assert list(store.identities()) == []
    assert store.files(IDENTITY) == []
    store.write(record())
    assert store.has(IDENTITY)


@pytest.mark.parametrize("place", ["record", "matrix"])
@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_regular_file_is_set_aside_unread(
    tmp_path: Path, place: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """To read a pipe, or /dev/zero, would never end."""
    store = Store(tmp_path)
    store.write({**record(), "result": {"time_s": 1.0, "congestion": {"bins": 0}}})
    path = store.path(IDENTITY) if place == "record" else store.congestion_path(IDENTITY)
    path.unlink()
    {"pipe": os.mkfifo, "device": lambda to: to.symlink_to("/dev/zero"), "folder": os.mkdir}[kind](path)
    signal.alarm(20)  # or the test would never end, either
    assert not store.has(IDENTITY)
    signal.alarm(0)
    record_file = store.path(IDENTITY)
    aside = f"{record_file}: {path.name} is no regular file; set aside as {record_file.name}.damaged-1\n"
    assert capsys.readouterr().err == aside
    store.write(record())
    assert store.read(IDENTITY) == record()


def test_a_link_to_itself_is_no_record(tmp_path: Path) -> None:
    store = Store(tmp_path)
    path = store.path(IDENTITY)
    path.parent.mkdir(parents=True)
    path.symlink_to(path.name)
    assert not store.has(IDENTITY)
    assert store.changed_at(IDENTITY) == 0
    store.write(record())
    assert store.read(IDENTITY) == record()


def test_another_points_record_is_not_believed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path)
    store.write(record())
    other = store.path("0" * 16)
    other.parent.mkdir()
    other.write_bytes(store.path(IDENTITY).read_bytes())
    assert not store.has("0" * 16)
    assert "of another point" in capsys.readouterr().err


def test_what_is_published_stays_where_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    published = Store(tmp_path, PUBLISHED)
    published.write(record())
    path = published.path(IDENTITY)
    path.write_text(_changed(path.read_text()))
    assert not published.has(IDENTITY)
    assert not published.has(IDENTITY)
    assert capsys.readouterr().err == f"{path}: the checksum differs; ignored\n"
    assert path.exists()


@pytest.mark.parametrize("how", ["cut", "another", "gone"])
def test_a_record_goes_with_its_congestion_matrix(tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(tmp_path)
    store.write({**record(), "result": {"time_s": 1.0, "congestion": {"bins": 1, "packets": [[1]]}}})
    assert store.has(IDENTITY)
    assert len(store.files(IDENTITY)) == 2
    (matrix,) = store.path(IDENTITY).parent.glob("*.gz")
    content = matrix.read_bytes()
    if how == "gone":
        matrix.unlink()
    else:
        matrix.write_bytes(content[:20] if how == "cut" else gzip.compress(b'{"bins": 1, "packets": [[2]]}'))
    assert not store.has(IDENTITY)
    assert matrix.name in capsys.readouterr().err
