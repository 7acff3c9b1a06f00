"""How processes begin that work for others."""

import errno
import threading

import pytest

from tramontane.errors import refused_by_system
from tramontane.support.processes import pool


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
