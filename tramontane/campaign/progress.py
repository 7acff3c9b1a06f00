"""Watches a campaign: one line that says how far it is and how long it will take.

Progress is read from the store, point by point, and so does not depend on who runs the batches or where.
"""

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tramontane.campaign.packing import Job
from tramontane.results.store import Store
from tramontane.support.formatting import roughly

#: Plain lines appear for each of so many parts of the points, and after so many seconds.
PLAIN_PARTS, PLAIN_SECONDS = 10, 30.0
#: Seconds until the speed is believed more than the estimate.
TRUST_AFTER = 20.0
#: How the workflow says how far it is, and where the last such line surely is [B from the end of what it says].
_STEPS, _STEPS_WITHIN = re.compile(rb"^(\d+) of (\d+) steps ", re.MULTILINE), 1 << 16


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
        points = f"{self.done}/{self.total} points" + f", {self.failed} failed" * (self.failed > 0)
        return f"{points}; {roughly(self.remaining())} left" if self.jobs else points

    def share(self) -> float:
        """Return how much of what is being done has been done, from 0 to 1."""
        return self.seconds_done / self.seconds_total if self.jobs and self.seconds_total else 1.0


@dataclass
class CampaignTally(Tally):
    """Counts the points of a campaign, and when the last one has ended the workflow's steps: figures and the report.

    Parameters
    ----------
    log : Path
        Where what the workflow says is written.
    """

    log: Path = field(kw_only=True)
    steps_done: int = 0
    steps_total: int = 0
    _points_ended: float | None = None
    _steps_before: int = 0

    def update(self) -> None:
        """Look for points, or steps, that have ended."""
        super().update()
        if self.jobs:
            return
        found = _STEPS.findall(_end_of(self.log))
        if found:
            self.steps_done, self.steps_total = map(int, found[-1])
        if self._points_ended is None:
            self._points_ended, self._steps_before = time.monotonic(), self.steps_done

    def line(self) -> str:
        """Return how far the campaign is, in one line."""
        if self.jobs:
            return super().line()
        line = f"{super().line()}; " * (self.total > 0) + "figures and report"
        if self.steps_total:
            line += f": {self.steps_done}/{self.steps_total} steps"
        drawn = self.steps_done - self._steps_before
        if self._points_ended is None or drawn <= 0:
            return line
        each = (time.monotonic() - self._points_ended) / drawn
        return f"{line}; {roughly(each * (self.steps_total - self.steps_done))} left"

    def share(self) -> float:
        """Return how much of the points, then of the steps, has been done, from 0 to 1."""
        return super().share() if self.jobs or not self.steps_total else self.steps_done / self.steps_total


def _end_of(log: Path) -> bytes:
    with log.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _STEPS_WITHIN))
        return stream.read()


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
        self.progress.update(self.task, description=tally.line(), completed=tally.share(), total=1)


def progress(stream: TextIO) -> PlainProgress | LiveProgress:
    """Return the progress that fits `stream`: a line can't change on a terminal that moves no cursor."""
    return LiveProgress(stream) if stream.isatty() and os.environ.get("TERM") != "dumb" else PlainProgress(stream)
