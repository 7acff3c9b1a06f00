"""Watches a campaign: one line that says how far it is and how long it will take.

Progress is read from the store, point by point, and so does not depend on who runs the batches or where.
"""

import contextlib
import heapq
import math
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from tramontane.campaign.packing import Job
from tramontane.results.proof import UNSOUND
from tramontane.results.store import Store
from tramontane.support.formatting import plural, roughly
from tramontane.support.progress_line import can_change

#: Plain lines appear for each of so many parts of the points, and after so many seconds.
PLAIN_PARTS, PLAIN_SECONDS = 10, 30.0
#: Seconds until the speed is believed more than the estimate.
TRUST_AFTER = 20.0
#: How long the queue of a cluster is left alone [s].
QUEUE_SECONDS = 20.0
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
    threads : int
        How many of them work on one point.
    """

    jobs: dict[str, Job]
    store: Store
    since: int
    cores: int
    threads: int = 1
    done: int = 0
    failed: int = 0
    seconds_done: float = 0.0
    started: float = field(default_factory=time.monotonic)
    _taken: float = 0.0
    _estimated: float = 0.0
    _pace: float = 1.0

    def __post_init__(self) -> None:
        self._parallel: float = self.cores
        self.total = len(self.jobs)
        self.seconds_total = sum(job.seconds for job in self.jobs.values())

    def has_ended(self, identity: str) -> bool:
        """Return whether a point has ended since the plan was made."""
        return self.store.changed_at(identity) >= self.since

    def update(self) -> None:
        """Look for points that have ended, and learn from them how far estimates err here."""
        ended = [identity for identity in self.jobs if self.has_ended(identity)]
        for identity in ended:
            seconds = self.jobs.pop(identity).seconds
            self.seconds_done += seconds
            self.done += 1
            self.failed += self.store.has_failed(identity)
            taken = _taken(self.store, identity)
            if taken is not None:
                self._taken += taken
                self._estimated += seconds
        elapsed = time.monotonic() - self.started
        if ended and self.seconds_done > 0 and elapsed > 0:
            self._parallel = max(self.cores, self._taken / elapsed)  # on a cluster nobody knows beforehand
            measured = (self._parallel * elapsed - self._in_hand(elapsed)) / self.seconds_done
            trust = elapsed / (elapsed + TRUST_AFTER)
            self._pace = trust * measured + (1 - trust)

    def remaining(self) -> float:
        """Return the estimated time until the last point has ended [s]; 0 if that should have been before.

        Points are weighted by their estimated cost: the last ten may take longer than the first thousand. How long a
        second of the estimate takes here is learnt where points end; until the next one ends, the time runs down.
        """
        if not self.jobs:
            return 0.0
        elapsed = time.monotonic() - self.started
        left = (self.seconds_total - self.seconds_done) * self._pace - self._in_hand(elapsed)
        longest = max(job.seconds for job in self.jobs.values()) * self._error() / self.threads
        return max(left / self._parallel, longest - elapsed, 0.0)

    def _error(self) -> float:
        """Return by what factor points have taken longer than estimated."""
        return (self._taken + TRUST_AFTER) / (self._estimated + TRUST_AFTER)

    def _in_hand(self, elapsed: float) -> float:
        """Return the processor time that has gone into points which have not ended [s]: all that no other one took.

        They are at most as many as run at once; beyond what these need, time goes into what is no point.
        """
        many = math.ceil(self._parallel / self.threads)
        most = sum(heapq.nlargest(many, (job.seconds for job in self.jobs.values()))) * self._error()
        return min(max(self._parallel * elapsed - self._taken, 0.0), most)

    def line(self) -> str:
        """Return how far the campaign is, in one line."""
        points = f"{self.done}/{self.total} points" + f", {self.failed} failed" * (self.failed > 0)
        return f"{points}; {self.left()}" if self.jobs else points

    def left(self) -> str:
        """Return how long the points will take that have not ended, in words."""
        seconds = self.remaining()
        return f"{roughly(seconds)} left" if seconds > 0 else "longer than estimated"

    def share(self) -> float:
        """Return how much of what is being done has been done, from 0 to 1."""
        return self.seconds_done / self.seconds_total if self.jobs and self.seconds_total else 1.0


def _taken(store: Store, identity: str) -> float | None:
    """Return the processor time that a point took [s], or the time, where it waited for others; None if nobody says."""
    try:
        result = store.read(identity)["result"]
    except (OSError, *UNSOUND):
        return None
    known = max(result.get("cpu_s", 0.0), result.get("setup_s", 0.0) + result.get("wall_s", 0.0))
    return known or None


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
    _step_ended: float = 0.0

    def update(self) -> None:
        """Look for points, or steps, that have ended."""
        super().update()
        if self.jobs:
            return
        before = self.steps_done
        found = _STEPS.findall(_end_of(self.log))
        if found:
            self.steps_done, self.steps_total = map(int, found[-1])
        if self._points_ended is None:
            self._points_ended, self._steps_before = time.monotonic(), self.steps_done
        if self.steps_done > before:
            self._step_ended = time.monotonic()

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
        each = (self._step_ended - self._points_ended) / drawn
        left = each * (self.steps_total - self.steps_done) - (time.monotonic() - self._step_ended)
        return f"{line}; {roughly(left)} left" if left > 0 else line

    def share(self) -> float:
        """Return how much of the points, then of the steps, has been done, from 0 to 1."""
        return super().share() if self.jobs or not self.steps_total else self.steps_done / self.steps_total


@dataclass
class ClusterTally(CampaignTally):
    """Counts the points of a campaign through Slurm: nobody knows how long its jobs will wait, but where they are.

    Parameters
    ----------
    queue : callable
        Returns how many jobs run, and how many wait for which reason.
    """

    queue: Callable[[], tuple[int, Counter[str]]] = field(kw_only=True)
    _jobs_known: str = ""
    _look_at: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._look_at = self.started + QUEUE_SECONDS

    def update(self) -> None:
        """Look for points, or steps, that have ended, and now and then into the queue."""
        super().update()
        if self.jobs and time.monotonic() >= self._look_at:
            self._jobs_known = _in_words(*self.queue())
            self._look_at = time.monotonic() + QUEUE_SECONDS

    def left(self) -> str:
        """Return the processor time of the points that have not ended, and where the jobs are."""
        seconds = (self.seconds_total - self.seconds_done) * self._error()
        return f"{roughly(seconds)} of processor time left{self._jobs_known}"


def _in_words(running: int, waiting: Counter[str]) -> str:
    known = [f"{plural(running, 'job')} running"] * (running > 0)
    known += [f"{plural(number, 'job')} waiting ({reason})" for reason, number in waiting.most_common()]
    return f"; {', '.join(known)}" if known else ""


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

    def show(self, tally: Tally) -> None:
        """Print a line if it is time."""
        part = PLAIN_PARTS * tally.done // max(tally.total, 1)
        now = self.clock()
        line = tally.line()
        if part > self.last_part or (now >= self.last_time + PLAIN_SECONDS and line != self.last_line):
            self.last_part, self.last_time, self.last_line = part, now, line
            print(line, file=self.stream, flush=True)


@contextlib.contextmanager
def progress(stream: TextIO) -> Iterator[Callable[[Tally], None]]:
    """Give what shows a tally: on a terminal in one line that changes, and goes at the end; else in lines of a log."""
    if not can_change(stream):
        yield PlainProgress(stream).show
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn  # noqa: PLC0415

    columns = (SpinnerColumn(), BarColumn(bar_width=30), TextColumn("{task.description}", markup=False))
    with Progress(*columns, console=Console(file=stream), transient=True) as shown:
        task = shown.add_task("starting", total=None)
        yield lambda tally: shown.update(task, description=tally.line(), completed=tally.share(), total=1)
