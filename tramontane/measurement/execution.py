"""Runs points on a real machine through ReFrame and turns its report into results."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

from tramontane.measurement.cases import BATCH
from tramontane.measurement.reframe_report import CaseOutcome, failed_builds, finished_in, outcome_of, outcomes
from tramontane.measurement.settings import Site, look_around
from tramontane.study.patterns.patterns import PROJECT
from tramontane.study.points.points import MEASURED, Point, SystemChoice
from tramontane.study.values.settings import filled
from tramontane.substrates.mpi import result_of
from tramontane.support import host
from tramontane.support.files import dump, write_atomically
from tramontane.support.layout import SHARE
from tramontane.support.processes import end_with_parent

#: Where the checks are.
CHECKS = SHARE / "reframe-checks"
#: How long ReFrame may take to cancel its jobs [s].
PATIENCE = 20.0
#: What ReFrame's lines about itself begin with.
_ERROR = "ERROR: "

Result = dict[str, Any]


def measure(points: Mapping[str, Point], folder: Path, root: Path, log: TextIO) -> Iterator[tuple[str, Result | str]]:
    """Run points of one system and yield the identity of each, with its result or why it failed.

    Parameters
    ----------
    points : mapping
        Points by identity; all name the same system, partition and environment.
    folder : Path
        Where ReFrame's files go: its report, and what the jobs printed.
    root : Path
        The project's folder, whose systems are meant.
    log : text stream
        Gets what ReFrame says; backed by a file.
    """
    if not points:
        return
    choice = filled(next(iter(points.values())).system)
    for identity, outcome in run_cases(points, choice, folder, root, log, resume=True):
        if isinstance(outcome, str):
            yield identity, outcome
        else:
            yield identity, _result(points[identity], outcome, choice.name)


def run_cases(
    points: Mapping[str, Point | None],
    choice: SystemChoice,
    folder: Path,
    root: Path,
    log: TextIO,
    *,
    resume: bool = False,
) -> Iterator[tuple[str, CaseOutcome | str]]:
    """Run cases on a system and yield the identity of each, with what came of it or why it could not be run.

    Whoever stops it gets those that have passed before it ends; parameters as in :func:`measure`, but that a case
    without a point measures messages, and that `choice` is the system of the points. With `resume` those count that a
    run here had finished before it was killed; the names of cases are to be identities of points then.
    """
    folder = folder.resolve()
    cases, report = folder / "cases.json", folder / "report.json"
    site = look_around(root)
    try:
        partition, environment = choose(site, choice)
    except ValueError as error:
        yield from ((identity, str(error)) for identity in points)
        return
    most = site.systems[choice.name].partitions[partition].ranks
    fitting = {identity: point for identity, point in points.items() if ranks_of(point) <= most}
    for identity, point in points.items():
        if identity not in fitting:
            yield identity, f"{ranks_of(point)} ranks, at most {most} here (partition {partition})"
    if not fitting:
        return
    report.unlink(missing_ok=True)
    if resume:
        for own in _finished(cases):
            if own.case in fitting and (own.partition, own.environment) == (partition, environment):
                del fitting[own.case]
                yield own.case, own
    _forget(cases)
    if not fitting:
        return
    entries = [{"id": key, "point": point.canonical() if point else None} for key, point in fitting.items()]
    write_atomically(cases, dump({"points": entries}))
    log.flush()
    begin = os.fstat(log.fileno()).st_size
    command = _command(f"{choice.name}:{partition}", environment, folder, report)
    try:
        status = _run_reframe(command, cases, root, log)
    except BaseException:  # its report, which it writes in the end, is lost
        yield from ((own.case, own) for own in _finished(cases))
        raise
    found = {outcome.case: outcome for outcome in outcomes(report)} if report.exists() else {}
    why = _nothing_said(report, status, _error_in(log, begin))
    for identity in fitting:
        yield identity, found.get(identity, why)
    _forget(cases)


def _finished(cases: Path) -> Iterator[CaseOutcome]:
    """Yield what came of the cases that have passed, of which ReFrame has not reported."""
    for file in finished_in(cases):
        yield outcome_of(json.loads(file.read_text(encoding="utf-8")))


def _forget(cases: Path) -> None:
    """Remove what is left of cases that have passed: they are reported, or another run's."""
    for file in finished_in(cases):
        file.unlink()


def ranks_of(point: Point | None) -> int:
    """Return the ranks of a case; messages are between two."""
    return point.ranks if point else 2


def choose(site: Site, choice: SystemChoice) -> tuple[str, str]:
    """Return the partition and the environment that the system of a point means here.

    Raises
    ------
    ValueError
        If there is no such one; the message says what is missing.
    """
    name = choice.name
    if name not in site.systems:
        absent = [line for line in site.absent if line.startswith((f"{name}:", f"{name},"))]
        raise ValueError(f"system {name}: nothing of it can be used here: {'; '.join(absent) or 'it is a template'}")
    # What another machine takes would be recorded as this system's.
    if not (system := site.systems[name]).is_at(own := host.names()):
        raise ValueError(f"system {name}: this is {own[0]}, none of its hosts ({', '.join(system.hosts)})")
    partition = choice.partition or next(iter(system.partitions))
    if partition not in system.partitions:
        raise ValueError(f"system.partition: found '{partition}'; allowed here: {', '.join(system.partitions)}")
    usable = [key for key in system.partitions[partition].environments if key in system.environments]
    environment = choice.environment or usable[0]
    if environment not in usable:
        raise ValueError(f"system.environment: found '{environment}'; allowed here: {', '.join(usable)}")
    return partition, environment


def find_unmeasurable(root: Path, choices: Mapping[str, SystemChoice]) -> dict[str, list[str]]:
    """Return the points that can't be measured here, by the reason.

    Parameters
    ----------
    root : Path
        The project's folder.
    choices : mapping
        The system of each point, by the point's identity.
    """
    if not choices:
        return {}
    site = look_around(root)
    reasons: dict[str, list[str]] = {}
    for identity, choice in choices.items():
        try:
            choose(site, choice)
        except ValueError as error:
            reasons.setdefault(f"substrate {MEASURED}: {error}", []).append(identity)
    return reasons


def _command(system: str, environment: str, folder: Path, report: Path) -> list[str]:
    """Return the command that runs the cases there."""
    return [
        *(sys.executable, str(Path(sys.executable).with_name("reframe")), "--nocolor"),
        *("-C", str(CHECKS / "config.py"), "-c", str(CHECKS), "-R"),
        *("--system", system, "-p", environment, "--report-file", str(report)),
        *("--stage", str(folder / "stage"), "--output", str(folder / "output"), "--run"),
    ]


def _run_reframe(command: list[str], cases: Path, root: Path, log: TextIO) -> int:
    """Run ReFrame and return its status; it ends with this process, and takes its jobs with it."""
    process = subprocess.Popen(
        command,
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        env={**os.environ, BATCH: str(cases), PROJECT: str(root.resolve())},
        preexec_fn=_interrupt_with_parent,  # noqa: PLW1509 (there are no threads)
    )
    try:
        return process.wait()
    except BaseException:
        process.send_signal(signal.SIGINT)  # ReFrame then cancels its jobs
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        process.kill()
        process.wait()
        raise


def _interrupt_with_parent() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    end_with_parent(signal.SIGINT)


def _nothing_said(report: Path, status: int, error: str) -> str:
    """Return why a case is not in the report."""
    builds = failed_builds(report) if report.exists() else []
    words = f": {error}" if error else " and without a word on this point"
    return "; ".join(builds) or f"ReFrame ended with status {status}{words}; see the batch's log"


def _error_in(log: TextIO, begin: int) -> str:
    """Return the first error that ReFrame has written into a log from there on; empty if the log is no file."""
    with contextlib.suppress(OSError), Path(f"/proc/self/fd/{log.fileno()}").open("rb") as stream:
        stream.seek(begin)
        lines = stream.read().decode(errors="replace").splitlines()
        return next((line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)), "")
    return ""


def _result(point: Point, outcome: CaseOutcome, system: str) -> Result | str:
    if outcome.measured is None:
        return outcome.failure
    where = {"name": system, "partition": outcome.partition, "environment": outcome.environment}
    here = {"wall_s": outcome.seconds, "setup_s": 0.0, "build": {"by": outcome.built_by}}
    return {**result_of(point, outcome.measured, where), **here}
