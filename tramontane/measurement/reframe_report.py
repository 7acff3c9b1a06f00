"""What came of a run of ReFrame: its JSON report."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.support.files import dump, write_atomically

#: Attributes of the checks that a report holds.
CASE, MEASURED, BUILT_BY = "case", "measured", "built_by"
#: Results of what was not run: left out, stopped, or waiting for a build that failed.
_NOT_RUN = {"skip", "abort", "fail_deps"}


@dataclass(frozen=True)
class CaseOutcome:
    """What came of a case.

    Attributes
    ----------
    case : str
        Its name.
    measured : dict or None
        What the program printed; None if the case failed.
    failure : str
        Why it failed, in one line; empty if it did not.
    partition, environment : str
        Where it ran.
    seconds : float
        How long the job took, with the start of its ranks [s].
    built_by : str
        What built the program.
    system : str
        The system; empty where nobody asks for it.
    """

    case: str
    measured: dict[str, Any] | None
    failure: str
    partition: str
    environment: str
    seconds: float
    built_by: str = ""
    system: str = ""


def outcomes(report: Path, *, every: bool = False) -> Iterator[CaseOutcome]:
    """Yield what came of each case of a report in the end, or with `every` of each time that it ran.

    Builds, skipped cases and those without a program are left out.
    """
    for test in _tests(report, every=every):
        if test.get("fixture") or test["result"] in _NOT_RUN or CASE not in test:
            continue
        yield outcome_of(test)


def outcome_of(test: Mapping[str, Any]) -> CaseOutcome:
    """Return what came of a case from what ReFrame reports of it."""
    passed = test["result"] == "pass"
    reason = " ".join(str(test.get("fail_reason") or f"failed in {test.get('fail_phase')}").split())
    return CaseOutcome(
        case=str(test[CASE]),
        measured=json.loads(test[MEASURED]) if passed else None,
        failure="" if passed else reason,
        partition=str(test["partition"]),
        environment=str(test["environ"]),
        seconds=float(test.get("time_run") or 0.0),
        built_by=str(test.get(BUILT_BY) or ""),
        system=str(test.get("system") or ""),
    )


def finished_in(cases: Path) -> list[Path]:
    """Return the files of the cases of a batch that have passed, each as ReFrame would report it."""
    return sorted(cases.with_name("passed").glob("*.json"))


def note_passed(cases: Path, test: Mapping[str, Any]) -> None:
    """Write down that a case of a batch has passed, for those who stop ReFrame before it reports."""
    file = cases.with_name("passed") / f"{test[CASE]}.json"
    write_atomically(file, dump({**test, "result": "pass"}))


def failed_builds(report: Path) -> list[str]:
    """Return why programs could not be built, one line each."""
    return [
        " ".join(f"{test['name']} with {test['environ']}: {test.get('fail_reason') or test.get('fail_phase')}".split())
        for test in _tests(report)
        if test.get("fixture") and test["result"] == "fail"
    ]


def _tests(report: Path, *, every: bool = False) -> list[dict[str, Any]]:
    """Return the tests of a report, each as it ended last; with `every`, as often as it ran (`--max-retries`, ...)."""
    runs = json.loads(report.read_text(encoding="utf-8"))["runs"]
    tests: list[dict[str, Any]] = [test for run in runs for test in run["testcases"]]
    if every:
        return tests
    names = ("unique_name", "name", CASE, "partition", "environ")
    return list({tuple(str(test.get(name)) for name in names): test for test in tests}.values())


@dataclass
class Session:
    """What ReFrame has done in this process, which its status does not say.

    Attributes
    ----------
    runs : bool
        Whether it was to run cases, not only to list them, say.
    started : int
        How many cases it has started; builds and skipped cases don't count.
    """

    runs: bool = False
    started: int = 0


SESSION = Session()


def refuse_empty_run(session: Session = SESSION) -> None:
    """End this process with status 1 if ReFrame was to run cases and has started none.

    To be called when ReFrame exits, which it does with status 0 also where a check could not be loaded or no name or
    tag fits.
    """
    if not session.runs or session.started:
        return
    print("no case was run: nothing fits what was asked for, or the checks could not be loaded", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)
