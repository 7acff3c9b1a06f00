"""Runs points on all cores and keeps what they gave in the project's store, so that a second call runs nothing.

Campaigns and comparisons share the store: the same point is run once. A comparison is stricter about what it takes from
there, since it judges the simulator: a record of another model revision or another build of the simulator counts as
absent.
"""

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from tramontane.campaign.batch import provenance_of, record
from tramontane.campaign.plan import make_jobs
from tramontane.campaign.progress import Tally, progress
from tramontane.comparison import worker
from tramontane.results.provenance import BUILD
from tramontane.results.store import Store
from tramontane.study import Point
from tramontane.substrates.simulator import Simulator
from tramontane.support.host import cores as all_cores
from tramontane.support.processes import pool

#: Seconds between two looks at how far the points are.
LOOK = 0.1


@dataclass(frozen=True)
class PointOutcome:
    """What became of a point: its time, or why there is none."""

    time_s: float | None = None
    error: str = ""


@dataclass
class _Tally(Tally):
    """Counts the points of a comparison.

    Parameters
    ----------
    outcomes : dict
        Where they appear; nobody else runs these points, so there is no need to look into the store.
    """

    outcomes: Mapping[str, PointOutcome] = field(default_factory=dict)

    def has_ended(self, identity: str) -> bool:
        """Return whether a point has ended."""
        return identity in self.outcomes


def run_points(
    points: Mapping[str, Point],
    root: Path,
    *,
    cores: int | None = None,
    refresh: bool = False,
    stream: TextIO | None = None,
) -> dict[str, PointOutcome]:
    """Run points that have no record yet and return what all of them gave.

    Parameters
    ----------
    points : mapping
        Points by identity.
    root : Path
        Root of the checkout that holds the store.
    cores : int, optional
        Processes; by default one a core. Results don't depend on it.
    refresh : bool
        Run all points again.
    stream : text stream, optional
        Gets the line of progress; standard error by default.

    Returns
    -------
    dict
        Identity to outcome. Each is in the store as soon as its point has ended: what is interrupted goes on there.
    """
    store, simulator = Store(root), Simulator()
    known = (
        {} if refresh else {identity: _known(identity, point, store, simulator) for identity, point in points.items()}
    )
    outcomes = {identity: outcome for identity, outcome in known.items() if outcome}
    missing = {identity: point for identity, point in points.items() if identity not in outcomes}
    if missing:
        outcomes |= _run(missing, root, store, cores or all_cores(), stream or sys.stderr)
    return outcomes


def _known(identity: str, point: Point, store: Store, simulator: Simulator) -> PointOutcome | None:
    """Return what the store holds of a point, if this simulator gave it."""
    if not store.has(identity):
        return None
    kept = store.read(identity)
    same_revision = kept["result"].get("model_revision") == simulator.revision(point)
    same_build = kept["provenance"].get(BUILD) in (None, simulator.build())
    return PointOutcome(kept["result"]["time_s"]) if same_revision and same_build else None


def _run(missing: Mapping[str, Point], root: Path, store: Store, cores: int, stream: TextIO) -> dict[str, PointOutcome]:
    jobs = dict(zip(missing, make_jobs(list(missing.values())), strict=True))
    outcomes: dict[str, PointOutcome] = {}
    tally = _Tally(dict(jobs), store, time.time_ns(), cores, outcomes=outcomes)
    simulator = Simulator()
    workers = pool(min(cores, len(jobs)), worker.prepare)
    try:
        # The longest first: no core then waits long for the last one.
        order = sorted(jobs, key=lambda identity: jobs[identity].seconds, reverse=True)
        waiting = {identity: workers.submit(worker.work, jobs[identity].point) for identity in order}
        with progress(stream) as show:
            while waiting:
                time.sleep(LOOK)
                for identity in [identity for identity, future in waiting.items() if future.done()]:
                    answer = waiting.pop(identity).result()
                    outcomes[identity] = _keep(identity, jobs[identity].point, answer, root, store, simulator)
                tally.update()
                show(tally)
    finally:
        workers.shutdown(wait=True, cancel_futures=True)
    return outcomes


def _keep(
    identity: str, point: Point, answer: dict[str, Any], root: Path, store: Store, simulator: Simulator
) -> PointOutcome:
    """Store what a point gave."""
    if "error" in answer:
        store.failed(identity, point, answer["error"], provenance_of(root, simulator, point))
        return PointOutcome(error=answer["error"])
    store.write(record(identity, point, answer["result"], root, simulator))
    return PointOutcome(answer["result"]["time_s"])
