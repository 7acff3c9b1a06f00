"""Watches a campaign: one line that says how far it is and how long it will take.

Progress is read from the store, point by point, and so does not depend on who runs the batches or where.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TextIO

from tramontane.campaign.packing import Job
from tramontane.results.store import Store
from tramontane.support.formatting import roughly

#: Plain lines appear for each of so many parts of the points, and after so many seconds.
PLAIN_PARTS, PLAIN_SECONDS = 10, 30.0
#: Seconds until the speed is believed more than the estimate.
TRUST_AFTER = 20.0


@dataclass
class Tally:
    """Counts the points of a plan that have ended since it was made.

    Parameters
    ----------
    jobs : dict
        Points still to come, by identity.
    store : Store
        Where their records appear.
    since : int
        When the plan was made [ns since the epoch, by the clock of the store's file system].
    cores : int
        Number of cores that work on them.
    """

    jobs: dict[str, Job]
    store: Store
    since: int
    cores: int
    done: int = 0
    failed: int = 0
    seconds_done: float = 0.0
    started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.total = len(self.jobs)
        self.seconds_total = sum(job.seconds for job in self.jobs.values())

    def update(self) -> None:
        """Look for points that have ended."""
        ended = [identity for identity in self.jobs if self.store.changed_at(identity) >= self.since]
        for identity in ended:
            self.seconds_done += self.jobs.pop(identity).seconds
            self.done += 1
            self.failed += self.store.has_failed(identity)

    def remaining(self) -> float:
        """Return the estimated time until the last point has ended [s].

        Points are weighted by their estimated cost: the last ten may take longer than the first thousand. How long a
        second of the estimate takes here is learnt on the way.
        """
        elapsed = time.monotonic() - self.started
        believed = 1 / self.cores
        if self.seconds_done > 0:
            measured = elapsed / self.seconds_done
            trust = elapsed / (elapsed + TRUST_AFTER)
            believed = trust * measured + (1 - trust) * believed
        return (self.seconds_total - self.seconds_done) * believed

    def line(self) -> str:
        """Return how far the campaign is, in one line."""
        if not self.jobs:
            return f"{self.done}/{self.total} points{self._failures()}; figures and report"
        return f"{self.done}/{self.total} points{self._failures()}; {roughly(self.remaining())} left"

    def _failures(self) -> str:
        return f", {self.failed} failed" if self.failed else ""


class PlainProgress:
    """Progress for a log: a line for every tenth of the points, and at least one every half minute."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.clock = clock
        self.last_part = 0
        self.last_time = clock()
        self.last_line = ""

    def __enter__(self) -> "PlainProgress":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, tally: Tally) -> None:
        """Print a line if it is time."""
        part = PLAIN_PARTS * tally.done // max(tally.total, 1)
        now = self.clock()
        line = tally.line()
        if part > self.last_part or (now >= self.last_time + PLAIN_SECONDS and line != self.last_line):
            self.last_part, self.last_time, self.last_line = part, now, line
            print(line, file=self.stream, flush=True)


class LiveProgress:
    """Progress for a terminal: one line that changes."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console  # noqa: PLC0415
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

        self.progress = Progress(
            SpinnerColumn(),
            BarColumn(bar_width=30),
            TextColumn("{task.description}", markup=False),
            console=Console(file=stream),
            transient=True,
        )
        self.task = self.progress.add_task("starting", total=None)

    def __enter__(self) -> "LiveProgress":
        self.progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.progress.stop()

    def show(self, tally: Tally) -> None:
        """Bring the line up to date."""
        done = tally.seconds_done if tally.jobs else tally.seconds_total
        self.progress.update(self.task, description=tally.line(), completed=done, total=tally.seconds_total or 1)


def progress(stream: TextIO) -> PlainProgress | LiveProgress:
    """Return the progress that fits `stream`: a line can't change on a terminal that moves no cursor."""
    return LiveProgress(stream) if stream.isatty() and os.environ.get("TERM") != "dumb" else PlainProgress(stream)
