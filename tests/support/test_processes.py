"""How processes begin that work for others."""

import errno
import os
import threading

import pytest

from tramontane.errors import refused_by_system
from tramontane.support import host, processes
from tramontane.support.processes import FEW, on_all_cores, pool


def process_of(_: int) -> int:
    return os.getpid()


@pytest.mark.parametrize(
    ("number", "cores", "threads", "inside"),
    [(FEW, 3, 1, True), (FEW + 1, 3, 1, False), (FEW + 1, 1, 1, True), (FEW + 1, 3, 2, True)],
)
def test_other_processes_read_many_things_unless_they_can_not(
    monkeypatch: pytest.MonkeyPatch, number: int, cores: int, threads: int, inside: bool
) -> None:
    monkeypatch.setattr(host, "cores", lambda: cores)
    monkeypatch.setattr(threading, "active_count", lambda: threads)  # pytest has some of its own
    found = on_all_cores(process_of, range(number), "reading")
    assert len(found) == number
    assert (set(found) == {os.getpid()}) == inside
    assert on_all_cores(abs, range(-number, 0), "reading") == list(range(number, 0, -1))


def test_a_process_that_is_granted_no_others_reads_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EAGAIN, "can't start new thread")

    monkeypatch.setattr(host, "cores", lambda: 3)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(processes, "pool", refuse)
    assert set(on_all_cores(process_of, range(FEW + 1), "reading")) == {os.getpid()}


def test_what_other_processes_raise_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "cores", lambda: 2)
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    with pytest.raises(ZeroDivisionError):
        on_all_cores(divide, range(FEW + 1), "dividing")


def divide(number: int) -> float:
    return 1 / (FEW - number)


@pytest.mark.parametrize("granted", range(5))
def test_threads_that_are_refused_are_told_as_a_limit_before_any_process_begins(
    monkeypatch: pytest.MonkeyPatch, granted: int
) -> None:
    """Of a pool of two: two processes, two threads, and the process that keeps track."""
    begin, before = threading.Thread.start, threading.active_count()

    def refuse(thread: threading.Thread) -> None:
        if threading.active_count() >= before + granted:
            raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(OSError, match="can't start new thread") as found:
        pool(2)
    assert found.value.errno == errno.EAGAIN
    assert refused_by_system(found.value) == "can't start new thread (limit: ulimit -u, or pids.max of the cgroup)"
    assert threading.active_count() == before
