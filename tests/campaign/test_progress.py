"""Progress: counted from the store, weighted by cost, quiet in a log."""

import io
import os
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.points import POINT
from tramontane.campaign.packing import Job
from tramontane.campaign.progress import (
    QUEUE_SECONDS,
    CampaignTally,
    ClusterTally,
    PlainProgress,
    Tally,
    progress,
)
from tramontane.results.store import Store
from tramontane.study.points.points import Point


def point(number: int) -> Point:
    return Point.from_canonical({**POINT.canonical(), "seed": number})


def write(store: Store, own: Point, **result: float) -> None:
    store.write({"id": own.id, "point": own.canonical(), "result": result, "provenance": {}})


def tally_of(root: Path, *seconds: float, cores: int = 1) -> Tally:
    points = [point(number) for number in range(len(seconds))]
    jobs = {own.id: Job(own.id, own, cost, 0) for own, cost in zip(points, seconds, strict=True)}
    return Tally(jobs, Store(root), since=10**18, cores=cores, started=time.monotonic())


def finish(tally: Tally, number: int, *, fail: bool = False) -> None:
    own = point(number)
    if fail:
        tally.store.failed(own.id, own, "why", {})
    else:
        write(tally.store, own)
    tally.update()


def test_points_are_counted_as_their_records_appear(tmp_path: Path) -> None:
    tally = tally_of(tmp_path, 1, 2, 3)
    tally.update()
    assert tally.line().startswith("0/3 points; about ")
    finish(tally, 1)
    finish(tally, 0, fail=True)
    assert (tally.done, tally.failed, tally.seconds_done) == (2, 1, 3)
    assert tally.line().startswith("2/3 points, 1 failed; about ")
    finish(tally, 2)
    assert tally.line() == "3/3 points, 1 failed"


def test_when_all_points_have_ended_the_workflows_steps_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    log = tmp_path / "log"
    log.write_text("")
    tally = CampaignTally(tally_of(tmp_path, 1).jobs, Store(tmp_path), since=10**18, cores=1, log=log)
    tally.update()
    log.write_text("1 of 40 steps (2%) done\n")
    assert tally.line().startswith("0/1 points; about ")
    assert tally.share() == 0
    finish(tally, 0)
    assert tally.line() == "1/1 points; figures and report: 1/40 steps"
    # Much else is said between; the last line may be half written.
    log.write_text("1 of 40 steps (2%) done\n" + "words\n" * 10**5 + "11 of 40 steps (28%) done\nrule a:\n12 of")
    now += 20
    tally.update()
    assert tally.line() == "1/1 points; figures and report: 11/40 steps; about 58 s left"
    now += 30  # until the next step ends, the time runs down
    assert tally.line() == "1/1 points; figures and report: 11/40 steps; about 28 s left"
    now += 30
    assert tally.line() == "1/1 points; figures and report: 11/40 steps"
    assert tally.share() == 11 / 40


def test_a_workflow_that_has_said_nothing_yet(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("")
    tally = CampaignTally({}, Store(tmp_path), since=0, cores=1, log=log)
    tally.update()
    assert (tally.line(), tally.share()) == ("figures and report", 1)


def test_results_of_earlier_runs_do_not_count(tmp_path: Path) -> None:
    tally = tally_of(tmp_path, 1)
    write(Store(tmp_path), point(0))
    os.utime(Store(tmp_path).path(point(0).id), ns=(10**17, 10**17))
    tally.update()
    assert tally.done == 0


def test_time_left_is_weighted_by_cost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can do better than the longest point; that what has ended took longer holds for the rest, too."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tally = tally_of(tmp_path, 1, 1, 1, 97, cores=2)
    assert tally.remaining() == 97
    tally = tally_of(tmp_path / "more", *[10.0] * 400, cores=2)
    assert tally.remaining() == 2000
    now += 1000
    for number in range(100):
        write(tally.store, point(number), wall_s=20.0)
    tally.update()
    assert tally.remaining() == pytest.approx(300 * 20 / 2, rel=0.02)


def test_time_left_falls_while_points_are_in_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One core works for an hour on a point, the other one for half an hour on short ones."""
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tally = tally_of(tmp_path, 3600, *[100.0] * 18, cores=2)
    for ended in range(1, 19):
        now += 100
        write(tally.store, point(ended), wall_s=100.0)
        tally.update()
        assert tally.remaining() == pytest.approx(3600 - now, rel=0.02)
    for now in (2700.0, 3500.0):
        assert tally.remaining() == pytest.approx(3600 - now)
    now = 3700.0
    assert tally.line() == "18/19 points; longer than estimated"


def test_jobs_of_a_cluster_may_be_more_than_the_cores_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    tally = tally_of(tmp_path, *[100.0] * 500)
    now += 200
    for number in range(200):
        write(tally.store, point(number), wall_s=100.0)
    tally.update()
    assert tally.remaining() == pytest.approx(300, rel=0.02)


def test_of_a_cluster_is_told_where_the_jobs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How long they wait nobody knows, so there is no word of how long the campaign takes."""
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    jobs = tally_of(tmp_path, *[600.0] * 4).jobs
    queue: tuple[int, Counter[str]] = (0, Counter({"PartitionDown": 1}))
    tally = ClusterTally(
        jobs, Store(tmp_path), since=10**18, cores=2, started=now, log=tmp_path / "log", queue=lambda: queue
    )
    tally.update()
    assert tally.line() == "0/4 points; about 40 min of processor time left"
    now += 3600
    tally.update()
    assert tally.line() == "0/4 points; about 40 min of processor time left; 1 job waiting (PartitionDown)"
    queue = (2, Counter({"Priority": 1, "Resources": 3}))
    finish(tally, 0)  # the queue is not looked at again so soon
    assert tally.line() == "1/4 points; about 30 min of processor time left; 1 job waiting (PartitionDown)"
    now += QUEUE_SECONDS
    tally.update()
    words = "2 jobs running, 3 jobs waiting (Resources), 1 job waiting (Priority)"
    assert tally.line() == f"1/4 points; about 30 min of processor time left; {words}"
    queue = (0, Counter())  # Slurm does not answer
    now += QUEUE_SECONDS
    tally.update()
    assert tally.line() == "1/4 points; about 30 min of processor time left"


def test_a_log_gets_a_line_for_every_tenth_and_every_half_minute(tmp_path: Path) -> None:
    now = 0.0
    stream = io.StringIO()
    plain = PlainProgress(stream, clock=lambda: now)
    tally = tally_of(tmp_path, *([1.0] * 100))
    for number in range(100):
        finish(tally, number)
        now += 0.1
        plain.show(tally)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert [line.split()[0] for line in lines] == [f"{count}/100" for count in range(10, 101, 10)]

    slow = tally_of(tmp_path / "slow", *([1000.0] * 100))
    for number in range(4):
        finish(slow, number)
        now += 16
        plain.last_part = 0
        plain.show(slow)
    assert [line.split()[0] for line in stream.getvalue().splitlines()[10:]] == ["2/100", "4/100"]


def test_a_terminal_gets_one_line_that_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def told(stream: io.StringIO, term: str) -> str:
        monkeypatch.setenv("TERM", term)
        tally = tally_of(tmp_path / f"{term}-{stream.isatty()}", 1, 1)
        with progress(stream) as show:
            show(tally)
            finish(tally, 0)
            show(tally)
        return stream.getvalue()

    plain, dumb, changing = told(io.StringIO(), "xterm"), told(Terminal(), "dumb"), told(Terminal(), "xterm")
    assert all("1/2 points" in each for each in (plain, dumb, changing))
    assert ["\x1b" in each for each in (plain, dumb, changing)] == [False, False, True]  # the dumb one moves no cursor
