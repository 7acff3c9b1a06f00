"""Batches: each point is stored the moment it ends, whatever becomes of the others."""

import contextlib
import errno
import io
import json
import math
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.simulator.points import without_costs
from tests.waiting import PATIENCE, wait_for
from tramontane import _simulator
from tramontane.campaign.batch import LONGEST_TOGETHER, Stopped, UnfinishedError, run_batch, stop_on_signals
from tramontane.campaign.deaths import TRIES
from tramontane.errors import InputError
from tramontane.results.store import Store
from tramontane.study import Point
from tramontane.substrates import devices
from tramontane.substrates.isolation import PointError, peak_memory, run_forked
from tramontane.support.files import UnwritableError


def point(ranks: int, **more: Any) -> Point:
    machine = {"topology": "torus", "geometry": [2, 2, 2], "nodes_per_switch": 2}
    workload = {"kind": "allreduce", "algorithm": "ring"}
    return Point.model_validate({"ranks": ranks, "machine": machine, "workload": workload, **more})


def write_batch(root: Path, *ranks: int) -> Path:
    return write_points(root, [point(number) for number in ranks])


def write_points(root: Path, points: Sequence[Point], seconds: Mapping[int, float] | None = None) -> Path:
    """Write a batch of points; `seconds` says how long those of so many ranks are expected to take, if that matters."""
    file = root / "batch.json"
    entries = [
        {
            "id": each.id,
            "memory_bytes": 62 * 10**6,
            "seconds": (seconds or {}).get(each.ranks, 1),
            "point": each.canonical(),
        }
        for each in points
    ]
    file.write_text(json.dumps({"id": "b", "done": "ended/b.done", "points": entries}))
    return file


def identity(ranks: int) -> str:
    return point(ranks).id


def test_a_batch_stores_its_points_and_marks_its_end(tmp_path: Path, fake: Any) -> None:
    log = io.StringIO()
    assert run_batch(write_batch(tmp_path, 4, 2), tmp_path, lambda name: fake, log) == 0
    store = Store(tmp_path)
    for ranks in (2, 4):
        record = store.read(identity(ranks))
        assert record["id"] == record["result"]["id"] == identity(ranks)
        assert record["point"] == point(ranks).canonical()
        assert record["result"]["messages"] == ranks
        assert record["result"]["peak_rss_bytes"] > 1e6
        assert 0 <= record["result"]["cpu_s"] < 60
        assert record["provenance"]["model_revision"] == fake.newest_revision()
    assert (tmp_path / "ended" / "b.done").exists()
    assert [line.split()[0] for line in log.getvalue().splitlines()] == [identity(4), identity(2)]


def test_results_do_not_depend_on_how_points_share_batches(tmp_path: Path) -> None:
    """The simulator itself, in batches of one, in one batch, and in the other order."""
    ways: dict[str, list[tuple[int, ...]]] = {
        "one": [(2,), (4,), (9,)],
        "together": [(2, 4, 9)],
        "backwards": [(9, 4), (2,)],
    }
    found = []
    for way, batches in ways.items():
        (tmp_path / way).mkdir()
        for ranks in batches:
            assert run_batch(write_batch(tmp_path / way, *ranks), tmp_path / way, log=io.StringIO()) == 0
            (tmp_path / way / "ended" / "b.done").unlink()
        records = [Store(tmp_path / way).read(identity(ranks))["result"] for ranks in (2, 4, 9)]
        found.append([without_costs(result) for result in records])
    assert found[0] == found[1] == found[2]


def test_small_points_on_a_device_run_at_once_and_are_what_they_are_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for device in ("cpu", "host"):
        monkeypatch.setenv(devices.VARIABLE, device)
        (tmp_path / device).mkdir()
        log = io.StringIO()
        asked = [point(ranks) for ranks in (2, 3, 4)]
        asked.append(point(9, statistics={"links": "hottest", "bins": 8}))
        asked.append(point(6, statistics={"waiting": 3}))
        asked.append(point(5, steady={"error": "1 %"}))  # which no device does
        failed = run_batch(write_points(tmp_path / device, asked), tmp_path / device, log=log)
        assert failed == (device == "host")
        records = [Store(tmp_path / device).read(each.id) for each in asked[:5]]
        assert [record["provenance"].get("engine", "cpu") for record in records] == [device] * 5
        found[device] = [without_costs(record["result"]) for record in records]
    assert found["cpu"] == found["host"]
    assert log.getvalue().splitlines()[-1].split(maxsplit=2)[::2] == [
        asked[5].id,
        "device: found runs that may end early (steady, a limit), allowed: cpu",
    ]


def gatherer(fake: Any, root: Path, victim: str = "") -> Any:
    """Return a substrate that runs points at once, and dies when the first one has ended, or the batch does."""

    class Gathering(type(fake)):  # type: ignore[misc]
        def gathers(self, point: Point) -> bool:
            return point.ranks > 2

        def run_together(self, points: list[Point], tell: Any) -> None:
            tell(0, {"time_s": float(points[0].ranks), "setup_s": 0.0, "wall_s": 0.0, "engine": "many"})
            if victim:
                wait_for(lambda: Store(root).has(points[0].id))
                os.kill(os.getpid() if victim == "points" else os.getppid(), signal.SIGKILL)
                time.sleep(60)
            for number in range(1, len(points)):
                tell(number, None)

        def run(self, point: Point) -> dict[str, Any]:
            return {"time_s": float(point.ranks), "engine": "one"}

    return Gathering()


@pytest.mark.parametrize("victim", ["", "points", "batch"])
def test_what_fails_or_is_killed_beside_others_runs_by_itself(tmp_path: Path, fake: Any, victim: str) -> None:
    begin_campaign(tmp_path)
    file = write_batch(tmp_path, 2, 3, 4, 5).rename(tmp_path / "plan" / "batches" / "b.json")
    for expected in ([identity(3)], [identity(ranks) for ranks in (2, 3, 4, 5)])[victim != "batch" :]:
        process = multiprocessing.get_context("fork").Process(
            target=run_until_stopped, args=(file, tmp_path, gatherer(fake, tmp_path, victim))
        )
        process.start()
        process.join(PATIENCE)
        assert list(Store(tmp_path).identities()) == sorted(expected)
    assert process.exitcode == 0
    engines = {ranks: Store(tmp_path).read(identity(ranks))["provenance"]["engine"] for ranks in (2, 3, 4, 5)}
    assert engines == {2: "one", 3: "many", 4: "one", 5: "one"}


@pytest.mark.parametrize(
    ("end", "why"),
    [
        (lambda: 1 / 0, " (division by zero)"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), " (its process was ended by signal 9 (SIGKILL))"),
        (lambda: None, ""),
    ],
)
def test_the_log_says_why_points_failed_beside_others(
    tmp_path: Path, fake: Any, end: Callable[[], object], why: str
) -> None:
    class Failing(type(gatherer(fake, tmp_path))):  # type: ignore[misc]
        def run_together(self, points: list[Point], tell: Any) -> None:
            end()

    log = io.StringIO()
    assert run_batch(write_batch(tmp_path, 3, 4), tmp_path, lambda name: Failing(), log) == 0
    assert log.getvalue().splitlines()[0] == f"2 points failed beside others{why}; each runs by itself"


def test_long_points_do_not_run_at_once(tmp_path: Path, fake: Any) -> None:
    """They keep checkpoints; and one from which a point can go on is not passed over."""
    file = write_points(tmp_path, [point(ranks) for ranks in (3, 4, 5, 6)], seconds={4: 2 * LONGEST_TOGETHER})
    checkpoint = Store(tmp_path).checkpoint_path(identity(6))
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    assert run_batch(file, tmp_path, lambda name: gatherer(fake, tmp_path), io.StringIO()) == 0
    engines = {ranks: Store(tmp_path).read(identity(ranks))["provenance"]["engine"] for ranks in (3, 4, 5, 6)}
    assert engines == {3: "many", 4: "one", 5: "one", 6: "one"}


def test_threads_are_where_a_result_comes_from_and_not_part_of_it(tmp_path: Path, fake: Any) -> None:
    fake.run = lambda point: {"time_s": 1.0, "threads": 2}
    assert run_batch(write_batch(tmp_path, 4), tmp_path, lambda name: fake, io.StringIO()) == 0
    record = Store(tmp_path).read(identity(4))
    assert record["provenance"]["threads"] == 2
    assert "threads" not in record["result"]


def test_a_point_that_fails_is_recorded_and_the_batch_goes_on(tmp_path: Path, fake: Any) -> None:
    file = write_batch(tmp_path, fake.FAILING, 4)
    assert run_batch(file, tmp_path, lambda name: fake, io.StringIO()) == 1
    store = Store(tmp_path)
    assert store.has(identity(4))
    failure = store.read_failure(identity(fake.FAILING))
    assert failure["message"] == "deadlock: rank 0 waits for rank 1"
    assert failure["point"]["ranks"] == fake.FAILING
    assert failure["provenance"]["version"]
    assert (tmp_path / "ended" / "b.done").exists()


def test_a_point_that_is_killed_is_tried_again_and_then_counts_as_failed(tmp_path: Path, fake: Any) -> None:
    begin_campaign(tmp_path)
    file = write_batch(tmp_path, fake.CRASHING, 4).rename(tmp_path / "plan" / "batches" / "b.json")
    store = Store(tmp_path)
    for _ in range(TRIES - 1):
        log = io.StringIO()
        with pytest.raises(UnfinishedError, match="1 point killed"):
            run_batch(file, tmp_path, lambda name: fake, log)
        assert store.has(identity(4))
        assert not store.has_failed(identity(fake.CRASHING))
        assert not (tmp_path / "ended" / "b.done").exists()
    assert len(log.getvalue().splitlines()) == 1  # what was there is not run again
    assert run_batch(file, tmp_path, lambda name: fake, io.StringIO()) == 1
    message = store.read_failure(identity(fake.CRASHING))["message"]
    assert message == ("killed 3 times, as for want of memory; 62 MB were predicted")
    assert [path.name for path in (tmp_path / "ended").iterdir()] == ["b.done"]


def test_a_point_that_is_refused_memory_is_told_with_its_prediction(tmp_path: Path, fake: Any) -> None:
    class Hungry(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            raise MemoryError

    assert run_batch(write_batch(tmp_path, 4), tmp_path, lambda name: Hungry(), io.StringIO()) == 1
    assert Store(tmp_path).read_failure(identity(4))["message"] == "out of memory; 62 MB were predicted"


def test_a_point_that_takes_the_batch_with_it_comes_last_and_then_counts_as_failed(tmp_path: Path, fake: Any) -> None:
    """As where a batch system kills whole jobs: nobody is left who could record the point."""

    class Deadly(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            if point.ranks == 3:
                os.kill(os.getppid(), signal.SIGKILL)
                time.sleep(60)
            return {"time_s": 1.0}

    begin_campaign(tmp_path)
    file = write_batch(tmp_path, 2, 3, 4).rename(tmp_path / "plan" / "batches" / "b.json")
    store = Store(tmp_path)
    for known in ([2], [2, 4], [2, 4], [2, 4]):
        process = multiprocessing.get_context("fork").Process(target=run_until_stopped, args=(file, tmp_path, Deadly()))
        process.start()
        process.join(PATIENCE)
        assert list(store.identities()) == sorted(identity(ranks) for ranks in known)
    assert process.exitcode == 0
    assert store.read_failure(identity(3))["message"] == ("killed 3 times, as for want of memory; 62 MB were predicted")


def test_a_death_after_a_checkpoint_does_not_count(tmp_path: Path, fake: Any) -> None:
    """The next attempt goes on from there; only a point that gets no further is given up."""
    checkpoint = Store(tmp_path).checkpoint_path(identity(3))
    attempts = tmp_path / "attempts"

    class Slow(type(fake)):  # type: ignore[misc]
        def build(self) -> str:
            return "one"

        def keeping(self, file: Path) -> Any:
            assert file == checkpoint
            return self

        def run(self, point: Point) -> dict[str, Any]:
            with attempts.open("a") as stream:
                stream.write("x")
            if attempts.stat().st_size <= 2 * TRIES:
                time.sleep(0.01)
                checkpoint.parent.mkdir(parents=True, exist_ok=True)
                checkpoint.write_text("further")
            # Alone, and with the batch.
            os.kill(os.getpid() if attempts.stat().st_size % 2 else os.getppid(), signal.SIGKILL)
            time.sleep(60)
            raise AssertionError

    begin_campaign(tmp_path)
    file = write_batch(tmp_path, 3).rename(tmp_path / "plan" / "batches" / "b.json")
    for _ in range(3 * TRIES):
        process = multiprocessing.get_context("fork").Process(target=run_until_stopped, args=(file, tmp_path, Slow()))
        process.start()
        process.join(PATIENCE)
    assert process.exitcode == 0
    assert attempts.stat().st_size == 3 * TRIES
    assert Store(tmp_path).has_failed(identity(3))
    assert checkpoint.exists()  # with more memory it may go on


def test_a_result_that_can_not_be_written_is_no_death_of_its_point(
    tmp_path: Path, fake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: the point did end."""

    def refuse(*_: object) -> None:
        raise UnwritableError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    begin_campaign(tmp_path)
    file = write_batch(tmp_path, 4).rename(tmp_path / "plan" / "batches" / "b.json")
    with monkeypatch.context() as full:
        full.setattr(Store, "write", refuse)
        for _ in range(TRIES):
            with pytest.raises(UnwritableError):
                run_batch(file, tmp_path, lambda name: fake, io.StringIO())
    assert run_batch(file, tmp_path, lambda name: fake, io.StringIO()) == 0
    assert Store(tmp_path).has(identity(4))


def test_no_point_is_run_whose_result_could_not_be_written(tmp_path: Path, fake: Any) -> None:
    """As where somebody else's results lie."""
    folder = Store(tmp_path).path(identity(4)).parent
    folder.parent.mkdir(parents=True)
    folder.symlink_to("nowhere")
    ran = tmp_path / "ran"

    class Watched(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            ran.touch()
            return {"time_s": 1.0}

    with pytest.raises(UnwritableError, match=str(folder)):
        run_batch(write_batch(tmp_path, 4), tmp_path, lambda name: Watched(), io.StringIO())
    assert not ran.exists()


def begin_campaign(root: Path) -> None:
    (root / "plan" / "batches").mkdir(parents=True)
    (root / "plan" / "plan.json").touch()
    time.sleep(0.01)


def test_an_attempt_goes_on_where_the_last_one_was_stopped(tmp_path: Path, fake: Any) -> None:
    folder = tmp_path / "plan" / "batches"
    folder.mkdir(parents=True)
    file = write_batch(tmp_path, 4, fake.FAILING, 2).rename(folder / "b.json")
    log = io.StringIO()
    run_batch(file, tmp_path, lambda name: fake, log)
    (tmp_path / "plan" / "plan.json").touch()  # a campaign is started: records from before are to be made anew
    time.sleep(0.01)
    run_batch(file, tmp_path, lambda name: fake, log)
    assert len(log.getvalue().splitlines()) == 6
    run_batch(file, tmp_path, lambda name: fake, log)
    assert len(log.getvalue().splitlines()) == 6  # what has failed would fail again


def run_until_stopped(file: Path, root: Path, substrate: Any) -> None:
    stop_on_signals()
    try:
        run_batch(file, root, lambda name: substrate, io.StringIO())
    except Stopped as stopped:
        os._exit(128 + stopped.number)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_batch_at_once_and_cleanly(tmp_path: Path, fake: Any, number: signal.Signals) -> None:
    file = write_batch(tmp_path, 4, fake.SLOW, 2)
    process = multiprocessing.get_context("fork").Process(target=run_until_stopped, args=(file, tmp_path, fake))
    process.start()
    store = Store(tmp_path)
    wait_for(lambda: store.has(identity(4)))
    time.sleep(0.2)
    os.kill(process.pid or 0, number)
    process.join(PATIENCE)
    assert process.exitcode == 128 + number
    assert list((tmp_path / "ended").iterdir()) == []
    assert list(store.identities()) == [identity(4)]
    assert not store.has_failed(identity(fake.SLOW))
    assert [path.name for path in tmp_path.rglob("*") if ".tmp" in path.name] == []
    assert children_of(process.pid or 0) == []


def test_a_killed_batch_leaves_no_simulation_behind(tmp_path: Path, fake: Any) -> None:
    file = write_batch(tmp_path, 4, fake.SLOW)
    process = multiprocessing.get_context("fork").Process(target=run_until_stopped, args=(file, tmp_path, fake))
    process.start()
    wait_for(lambda: Store(tmp_path).has(identity(4)))
    wait_for(lambda: bool(children_of(process.pid or 0)))
    [child] = children_of(process.pid or 0)
    time.sleep(0.2)
    process.kill()
    process.join()
    wait_for(lambda: not is_alive(child))


def test_the_memory_of_one_point_is_not_that_of_another(fake: Any) -> None:
    class Hungry(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            held = bytearray(point.ranks * 2**20)
            held[::4096] = b"x" * len(held[::4096])
            return {"held": len(held)}

    large = run_forked(point(1).changed(ranks=200), Hungry())
    small = run_forked(point(1), Hungry())
    assert large["peak_rss_bytes"] > 200 * 2**20
    assert large["peak_rss_bytes"] - small["peak_rss_bytes"] == pytest.approx(199 * 2**20, rel=0.1)
    assert peak_memory() > 0


@pytest.mark.parametrize("found", [math.nan, math.inf, -1e-9, "soon", None])
def test_a_time_that_is_none_is_an_error(fake: Any, found: Any) -> None:
    class Wrong(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            return {"substrate": "other", "time_s": found}

    with pytest.raises(PointError) as told:
        run_forked(point(4), Wrong())
    assert str(told.value) == f"other gave {found!r} as the time [s], which is none"


def test_what_a_program_of_another_does_not_say_is_named(fake: Any) -> None:
    class Silent(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            said: dict[str, Any] = {}
            return {"time_s": said["time_s"]}

    with pytest.raises(PointError, match=r"^KeyError: 'time_s'$"):
        run_forked(point(4), Silent())


def test_threads_that_the_system_refuses_are_told_as_a_limit(fake: Any) -> None:
    class Threaded(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
            if os.getuid() == 0:  # to whom no limit applies
                os.setuid(65534)
            _simulator.simulate(point.canonical(), threads=2)
            return {}

    with pytest.raises(
        PointError, match=r"^Resource temporarily unavailable \(limit: ulimit -u, or pids\.max of the cgroup\)$"
    ):
        run_forked(point(4), Threaded())


def test_a_process_that_ends_without_a_word_is_an_error(fake: Any) -> None:
    class Silent(type(fake)):  # type: ignore[misc]
        def run(self, point: Point) -> dict[str, Any]:
            os._exit(3)

    shown: list[int] = []

    @contextlib.contextmanager
    def line() -> Iterator[None]:
        shown.append(os.getpid())
        try:
            yield
        finally:
            shown.append(-os.getpid())

    with pytest.raises(PointError, match="ended with status 3 and without a result"):
        run_forked(point(4), Silent(), line())
    assert shown == [os.getpid(), -os.getpid()]  # what shows something meanwhile is not in the fork


def children_of(pid: int) -> list[int]:
    try:
        text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    except FileNotFoundError:
        return []
    return [int(child) for child in text.split()]


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.parametrize("mark", ["/b.done", "../b.done", "ended/../../b.done", "ended"])
def test_a_mark_lies_in_the_project(tmp_path: Path, mark: str) -> None:
    file = write_batch(tmp_path, 4)
    file.write_text(file.read_text().replace("ended/b.done", mark))
    with pytest.raises(InputError, match=r"done: found .*; allowed: a file of the project"):
        run_batch(file, tmp_path)
