"""Waits for what other processes do: long, since only a test that fails waits to the end, and machines may be busy."""

import time
from collections.abc import Callable

#: How long a test waits for what takes seconds on a quiet machine [s].
PATIENCE = 180.0


def wait_for(condition: Callable[[], object], said: Callable[[], str] = str, every: float = 0.02) -> None:
    """Wait until a condition holds, looking `every` so many seconds; fail with what `said` returns if it never does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"waited in vain; {said()}"
        time.sleep(every)
