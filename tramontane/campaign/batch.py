"""Runs the points of one batch, one after the other; small ones on a GPU at once. What a job of the workflow does.

Each point's record is written the moment the point ends, so a batch that is stopped, or killed, loses the point in hand
and nothing else: a batch system that starts it again finds the others done. Of short points that run at once, those
in hand are lost; what fails beside others, or is killed, runs again by itself. A long point on the simulator keeps a
checkpoint, from which the next attempt goes on. A point that fails is recorded as failed and the batch goes on. A point
that is killed, mostly for want of memory, is tried again apart from the others, with more memory; if that does not help
it counts as failed.
"""

import math
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from pydantic import BaseModel, ValidationError

from tramontane.campaign.deaths import TRIES, Deaths
from tramontane.errors import InputError
from tramontane.results.provenance import provenance
from tramontane.results.store import Store
from tramontane.study.patterns import patterns
from tramontane.study.points.loading import canonical_point
from tramontane.study.points.points import MEASURED, Point
from tramontane.study.reading.reading import read_json
from tramontane.substrates import Gatherer, Keeper, Substrate, get, require
from tramontane.substrates.isolation import (
    OUT_OF_MEMORY,
    PointError,
    PointKilledError,
    run_forked,
    run_forked_together,
)
from tramontane.support.files import write_atomically
from tramontane.support.formatting import about_bytes, plural
from tramontane.support.layout import plan_of
from tramontane.support.processes import end_with_parent

#: Turns a name into a substrate that can run; tests put one of their own in place.
Resolve = Callable[[str], Substrate]


#: What results say of where they come from, and not of their points.
WHERE_FROM = ("threads", "resumed", "engine", "device_bytes")

#: How long a point may be that runs beside others, and so without a checkpoint [s].
LONGEST_TOGETHER = 600.0

#: What the notes of deaths call points that run at once.
_TOGETHER = "together"

#: Why a point failed that was killed again and again.
_KILLED = f"killed {TRIES} times, as for want of memory"


class _Entry(BaseModel):
    id: str
    memory_bytes: int
    seconds: float = 0.0
    point: dict[str, Any]


class _Batch(BaseModel):
    """What is read of a batch's file (:func:`tramontane.campaign.plan.describe_batch`)."""

    id: str
    done: str
    points: list[_Entry]


def read_batch(file: Path) -> _Batch:
    """Return the batch in a file of a plan.

    Raises
    ------
    InputError
        If it is none, or its mark would lie outside the project.
    """
    allowed = "a batch, as `tramontane plan` writes it"
    try:
        batch = _Batch.model_validate(read_json(file), strict=True)
    except ValidationError as error:
        key = ".".join(map(str, error.errors()[0]["loc"]))
        raise InputError(file, key, None, allowed, problem="found something else") from None
    if Path(batch.done).is_absolute() or ".." in Path(batch.done).parts or Path(batch.done).suffix != ".done":
        raise InputError(file, "done", batch.done, "a file of the project")
    return batch


class Stopped(BaseException):
    """The batch was asked to stop by a signal."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__(signal.Signals(number).name)


class UnfinishedError(Exception):
    """Points of the batch were killed and are to be tried again; the message is one line."""


def run_batch(file: Path, root: Path, resolve: Resolve = require, log: TextIO | None = None) -> int:
    """Run the points of a batch and mark the batch as ended.

    Parameters
    ----------
    file : Path
        The batch as the plan wrote it.
    root : Path
        Root of the checkout.
    resolve : callable, optional
        Finds a substrate by its name.
    log : text stream, optional
        Gets one line a point; standard error by default.

    Returns
    -------
    int
        Number of points that failed.

    Raises
    ------
    InputError
        If the file holds no batch.
    Stopped
        If SIGINT or SIGTERM arrives; the batch is not marked as ended then.
    UnfinishedError
        If points were killed and are to be tried again; the batch is not marked as ended then.
    """
    batch = read_batch(file)
    mark = Path(root, batch.done)
    run = _Run(root, Store(root), resolve, log or sys.stderr, Deaths(mark.with_suffix(".hand")))
    left = run.left(batch, file)
    measured = {identity: point for identity, point in left.items() if point.substrate == MEASURED}
    failed = run.measure(measured, mark.with_suffix(""))
    run.forgive(left)
    short = {
        entry.id: left[entry.id] for entry in batch.points if entry.seconds <= LONGEST_TOGETHER and entry.id in left
    }
    ended = measured.keys() | run.together(short)
    failed += run.one_by_one(
        {identity: point for identity, point in left.items() if identity not in ended},
        {entry.id: entry.memory_bytes for entry in batch.points},
    )
    write_atomically(mark, "")
    run.deaths.end()
    return failed


def _is_newer(checkpoint: Path, notes: Path) -> bool:
    """Tell whether a point has made a checkpoint since it was noted as the one in hand."""
    try:
        return checkpoint.stat().st_mtime_ns > notes.stat().st_mtime_ns
    except FileNotFoundError:
        return False


def _begun(batch: Path) -> float:
    """Return when the campaign that a batch belongs to was started [ns since the epoch]."""
    try:
        return plan_of(batch).stat().st_mtime_ns
    except FileNotFoundError:
        return math.inf


def record(identity: str, point: Point, result: dict[str, Any], root: Path, substrate: Substrate) -> dict[str, Any]:
    """Return the record of a finished point. Its threads are where it comes from, not what came of it."""
    of_the_run = {key: value for key, value in result.items() if key in WHERE_FROM}
    canonical = point.canonical()
    if tables := patterns.origins(root, canonical):
        of_the_run["tables"] = tables
    return {
        "id": identity,
        "point": canonical,
        "result": {"id": identity, **{key: value for key, value in result.items() if key not in of_the_run}},
        "provenance": provenance_of(root, substrate, point, result.get("build", {}).get("by")) | of_the_run,
    }


def provenance_of(root: Path, substrate: Substrate, point: Point, builder: str | None = None) -> dict[str, Any]:
    """Return where a point's result comes from; `builder` is what it says itself, as it does where programs differ."""
    build = substrate.build() if isinstance(substrate, Keeper) else None
    return provenance(root, substrate.revision(point), substrate.compiler(), builder or substrate.builder(), build)


def stop_on_signals() -> None:
    """Make SIGINT and SIGTERM raise :class:`Stopped`, and end with whoever started this process."""

    def stop(number: int, frame: FrameType | None) -> None:
        for other in (signal.SIGINT, signal.SIGTERM):
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    end_with_parent(signal.SIGTERM)


@dataclass
class _Run:
    """A batch under way.

    Attributes
    ----------
    root : Path
        Root of the checkout.
    store : Store
        Gets the records.
    resolve : callable
        Finds a substrate by its name.
    log : text stream
        Gets one line a point.
    deaths : Deaths
        What is noted of points that were killed.
    """

    root: Path
    store: Store
    resolve: Resolve
    log: TextIO
    deaths: Deaths

    def left(self, batch: _Batch, file: Path) -> dict[str, Point]:
        """Return the points that are to be run: an earlier attempt at a batch may have come some way.

        What failed then would fail again.
        """
        begun = _begun(file)
        return {
            entry.id: canonical_point(entry.point, file, f"points[{number}].point")
            for number, entry in enumerate(batch.points)
            if self.store.changed_at(entry.id) <= begun
        }

    def forgive(self, identities: Iterable[str]) -> None:
        """Forget the deaths of points that have made a checkpoint since."""
        self.deaths.forgive(
            identity for identity in identities if _is_newer(self.store.checkpoint_path(identity), self.deaths.file)
        )

    def measure(self, points: Mapping[str, Point], folder: Path) -> int:
        """Run points on a real machine and store what came of them; return how many failed."""
        if not points:
            return 0
        from tramontane.measurement.execution import measure  # noqa: PLC0415 (only where there is something to measure)

        substrate = get(MEASURED)
        failed = 0
        for identity, outcome in measure(points, folder, self.root, self.log):
            if isinstance(outcome, str):
                failed += 1
                self.store.failed(identity, points[identity], outcome, provenance(self.root))
                self._say(f"{identity} failed: {outcome}")
            else:
                self.store.write(record(identity, points[identity], outcome, self.root, substrate))
                self._say(f"{identity} {outcome['time_s']} s measured")
        return failed

    def together(self, points: Mapping[str, Point]) -> set[str]:
        """Run at once those of the points that the simulator gathers; store what came of them, return which ended."""
        ended: set[str] = set()
        known = {identity: point for identity, point in points.items() if point.substrate == "simulator"}
        if not known or self.deaths.of(_TOGETHER) > 0:
            return ended
        substrate = self.resolve("simulator")
        if not isinstance(substrate, Gatherer):
            return ended
        gathered = [
            identity
            for identity, point in known.items()
            if substrate.gathers(point)
            and self.deaths.of(identity) == 0
            and not self.store.checkpoint_path(identity).exists()
        ]
        if len(gathered) < 2:
            return ended

        def tell(number: int, result: dict[str, Any] | None) -> None:
            if result is not None:
                identity = gathered[number]
                self._store(identity, known[identity], result, substrate)
                ended.add(identity)

        for identity in gathered:
            self.store.prepare(identity)
        self.deaths.begin(_TOGETHER)
        try:
            why = run_forked_together([known[identity] for identity in gathered], substrate, tell)
        except (Stopped, OSError):
            self.deaths.stopped()
            raise
        if left := len(gathered) - len(ended):
            because = f" ({why})" if why else ""
            self._say(f"{plural(left, 'point')} failed beside others{because}; each runs by itself")
        return ended

    def one_by_one(self, points: Mapping[str, Point], predicted: Mapping[str, int]) -> int:
        """Run points and store what came of them; return how many failed.

        Raises
        ------
        UnfinishedError
            If points were killed and are to be tried again.
        """
        failed = killed = 0
        # What was killed before comes last: it may take the batch with it again.
        for identity, point in sorted(points.items(), key=lambda entry: self.deaths.of(entry[0])):
            try:
                failed += not self._run_point(identity, point, predicted[identity])
            except PointKilledError as error:
                killed += 1
                self._say(f"{identity} is to be tried again: {error}")
            except (Stopped, OSError):
                self.deaths.stopped()
                raise
        if killed:
            raise UnfinishedError(f"{plural(killed, 'point')} killed (out of memory?), to be tried again")
        return failed

    def _run_point(self, identity: str, point: Point, predicted: int) -> bool:
        """Run one point and store what came of it; return whether it succeeded.

        Raises
        ------
        PointKilledError
            If it was killed, and is to be tried again.
        """
        substrate = self.resolve(point.substrate)
        checkpoint = self.store.checkpoint_path(identity)
        try:
            if self.deaths.of(identity) >= TRIES:
                raise PointError(f"{_KILLED}; {_prediction(predicted)}")
            self.store.prepare(identity)
            self.deaths.begin(identity)
            result = run_forked(point, substrate.keeping(checkpoint) if isinstance(substrate, Keeper) else substrate)
        except PointKilledError:
            if not _is_newer(checkpoint, self.deaths.file):
                self.deaths.killed(identity)
            if self.deaths.of(identity) < TRIES:
                raise
            return self._fail(identity, point, f"{_KILLED}; {_prediction(predicted)}", substrate)
        except PointError as error:
            checkpoint.unlink(missing_ok=True)
            message = f"{error}; {_prediction(predicted)}" if f"{error}" == OUT_OF_MEMORY else f"{error}"
            return self._fail(identity, point, message, substrate)
        self._store(identity, point, result, substrate)
        return True

    def _store(self, identity: str, point: Point, result: dict[str, Any], substrate: Substrate) -> None:
        self.store.write(record(identity, point, result, self.root, substrate))
        self._say(f"{identity} {result.get('time_s', '?')} s simulated in {result.get('wall_s', '?')} s")

    def _fail(self, identity: str, point: Point, message: str, substrate: Substrate) -> bool:
        self.store.failed(identity, point, message, provenance_of(self.root, substrate, point))
        self._say(f"{identity} failed: {message}")
        return False

    def _say(self, line: str) -> None:
        print(line, file=self.log, flush=True)


def _prediction(memory: int) -> str:
    return f"{about_bytes(memory)} were predicted"
