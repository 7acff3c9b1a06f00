"""What came of a run of ReFrame: its JSON report."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.measurement.settings import FOLDER
from tramontane.support.files import dump, write_atomically

#: Attributes of the checks that a report holds.
CASE, MEASURED, BUILT_BY = "case", "measured", "built_by"
#: Options of ReFrame that make it run cases.
_RUN = {"-r", "--run"}
_NOT_RUN = {"skip", "abort"}


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
    """

    case: str
    measured: dict[str, Any] | None
    failure: str
    partition: str
    environment: str
    seconds: float
    built_by: str = ""


def outcomes(report: Path) -> Iterator[CaseOutcome]:
    """Yield what came of each case of a report; builds and skipped cases are left out."""
    for test in _tests(report):
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


def ran(report: Path) -> int:
    """Return how many cases were run, whatever came of them; builds don't count."""
    return sum(not test.get("fixture") and test["result"] not in _NOT_RUN for test in _tests(report))


def _tests(report: Path) -> list[dict[str, Any]]:
    runs = json.loads(report.read_text(encoding="utf-8"))["runs"]
    tests: list[dict[str, Any]] = runs[-1]["testcases"] if runs else []
    return tests


def refuse_empty_run(arguments: Sequence[str], since: float, root: Path) -> None:
    """End this process with status 1 if ReFrame was to run cases and has run none since then [s since the epoch].

    To be called when ReFrame exits, which it does with status 0 also where a check could not be loaded or no name or
    tag fits.
    """
    if not _RUN & set(arguments):
        return
    if any(ran(report) for report in _new_reports(arguments, since, root)):
        return
    print("no case was run: nothing fits what was asked for, or the checks could not be loaded", file=sys.stderr)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(1)


def _new_reports(arguments: Sequence[str], since: float, root: Path) -> Iterator[Path]:
    given = [
        Path(value)
        for option, value in zip(arguments, [*arguments[1:], ""], strict=True)
        if option == "--report-file" and value
    ]
    given += [Path(option.partition("=")[2]) for option in arguments if option.startswith("--report-file=")]
    for path in given or sorted(Path(root, FOLDER, "reports").glob("*.json")):
        if path.is_file() and path.stat().st_mtime >= since - 1:
            yield path
