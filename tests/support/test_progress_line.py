"""The line that says how far something is."""

import io
import itertools
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from tramontane.support import progress_line
from tramontane.support.progress_line import Pace, clock, with_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [io.StringIO, Terminal])
def test_all_things_come_in_order(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO]) -> None:
    monkeypatch.setattr(sys, "stderr", stream())
    with with_progress([3, 1, 2], "reading") as read:
        assert list(read) == [3, 1, 2]


def test_a_terminal_that_moves_no_cursor_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with with_progress(range(4), "reading experiments") as read:
        assert len(list(read)) == 4
    assert terminal.getvalue() == ""


def test_a_terminal_says_what_is_done_and_a_log_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        monkeypatch.setattr(sys, "stderr", stream)
        with with_progress(range(4), "reading experiments") as read:
            assert len(list(read)) == 4
    assert "reading experiments" in terminal.getvalue()
    assert log.getvalue() == ""


LINES: list[Callable[[], AbstractContextManager[object]]] = [
    lambda: clock("simulating"),
    lambda: with_progress(range(4), "reading"),
]


@pytest.mark.parametrize("line", LINES)
def test_no_thread_is_left(monkeypatch: pytest.MonkeyPatch, line: Callable[[], AbstractContextManager[object]]) -> None:
    """Processes that have several are not forked."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    there = threading.active_count()
    with line():
        assert threading.active_count() == there + 1
    assert threading.active_count() == there


@pytest.mark.parametrize("line", LINES)
def test_a_line_stands_still_where_no_thread_is_granted(
    monkeypatch: pytest.MonkeyPatch, line: Callable[[], AbstractContextManager[object]]
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with line():
        pass
    assert "simulating" in terminal.getvalue() or "reading" in terminal.getvalue()


def test_one_line_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with with_progress(range(2), "estimating") as estimated:
        for _ in estimated:
            with clock("reading"), with_progress(range(2), "checking") as checked:
                assert list(checked) == [0, 1]
    assert "estimating" in terminal.getvalue()
    assert not any(other in terminal.getvalue() for other in ("reading", "checking"))


def test_an_error_has_its_line_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long it is."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    def fail(_: int) -> None:
        raise ValueError("found " + 30 * "too much ")

    try:
        with with_progress(range(4), "reading experiments") as read:
            for each in read:
                fail(each)
    except ValueError as error:  # as commands do: its traceback has the frames of the loop
        print(error, file=sys.stderr)
    shown = terminal.getvalue()
    assert shown.endswith(f"{30 * 'too much '}\n")
    assert "reading" not in shown[shown.index("found") :]


@pytest.mark.parametrize(
    ("expected", "told"), [(300.0, "of about 5 min"), (7200.0, "of about 2.0 h"), (None, "0:00:00"), (0.5, "")]
)
def test_a_clock_says_how_long_something_lasts_and_is_expected_to(
    monkeypatch: pytest.MonkeyPatch, expected: float | None, told: str
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    terminal, log = Terminal(), io.StringIO()
    for stream in (terminal, log):
        monkeypatch.setattr(sys, "stderr", stream)
        with clock("simulating", expected):
            pass
    assert told in terminal.getvalue()
    assert ("simulating" in terminal.getvalue()) == ("0:00:00" in terminal.getvalue()) == bool(told)
    assert log.getvalue() == ""


def test_a_clock_says_which_part_is_done_and_how_long_the_rest_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    parts = itertools.chain(range(1, 99), itertools.repeat(99))
    monkeypatch.setattr(progress_line, "EVERY", 0.01)
    with clock("simulating", 300.0, lambda: next(parts) / 100):
        while " left" not in terminal.getvalue():
            time.sleep(0.01)
    assert "of about 5 min" in terminal.getvalue()
    assert " %, " in terminal.getvalue()
    assert " left" in terminal.getvalue()


def test_the_rest_takes_as_long_as_at_the_pace_since_a_part_was_first_seen() -> None:
    pace = Pace()
    assert pace.rest(0.0, 60.0) == ""
    assert pace.rest(0.2, 100.0) == ""  # a checkpoint may have had it
    assert pace.rest(0.2, 200.0) == ""
    assert pace.rest(0.4, 300.0) == "about 40 %, 10 min left"
    assert pace.rest(0.6, 500.0) == "about 60 %, 7 min left"
    assert pace.rest(1.2, 1290.0).startswith("about 99 %, ")  # of fewer than there are, as it turns out


def test_of_more_than_all_nothing_is_said() -> None:
    pace = Pace()
    assert [pace.rest(1.5, elapsed) for elapsed in (10.0, 20.0)] == ["", ""]
