"""Turns what a good run has measured into references for the system it ran on.

``python -m tramontane.measurement.references REPORT.json`` prints the block `references` for the system's file in
``configs/systems``: for each case its median time, with bounds.
"""

import argparse
import json
import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tramontane.errors import why_unread
from tramontane.measurement.reframe_report import CaseOutcome, outcomes

#: What stands for other letters in a pattern; labels of experiments may hold it.
_SPECIAL = re.compile(r"[*?[]")
#: Bounds that a system's file allows.
_LOWER, _UPPER = (-1.0, 0.0), (1e-9, 1e9)


def references(found: Iterable[CaseOutcome], lower: float, upper: float) -> str:
    """Return the block for the cases that passed; of a case that ran several times the median counts."""
    times: dict[tuple[str, str, str], list[float]] = {}
    for outcome in found:
        # Messages between two ranks have a time for each size, and none of their own.
        if outcome.measured is not None and "time_s" in outcome.measured:
            key = (outcome.case, outcome.partition, outcome.environment)
            times.setdefault(key, []).append(float(outcome.measured["time_s"]["median"]))
    lines = [
        f"  - {{case: {_pattern(case)}, partition: {partition}, environment: {environment}, "
        f"time: {round(statistics.median(values) * 1e9)} ns, lower: {lower:g}, upper: {upper:g}}}"
        for (case, partition, environment), values in sorted(times.items())
    ]
    return "\n".join(["references:", *lines])


def _pattern(case: str) -> str:
    """Return the pattern that fits this case and no other, in quotes as YAML has them."""
    return json.dumps(_SPECIAL.sub(r"[\g<0>]", case), ensure_ascii=False)


def _within(least: float, most: float) -> Callable[[str], float]:
    """Return what reads a number within bounds."""

    def number(text: str) -> float:
        value = float(text)
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(f"found {text}, allowed: {least:g} to {most:g}")
        return value

    return number


def _of_one(found: Sequence[CaseOutcome], system: str | None) -> list[CaseOutcome]:
    """Return the outcomes of one system: its partitions may be called as another's (ValueError if it is not clear)."""
    there = sorted({outcome.system for outcome in found})
    if system is None and len(there) > 1:
        raise ValueError(f"found reports of {', '.join(there)}; --system chooses one of them")
    if system not in {None, *there}:
        raise ValueError(f"--system: found '{system}', allowed: {', '.join(there)}")
    return [outcome for outcome in found if system in {None, outcome.system}]


def main(arguments: Sequence[str] | None = None) -> None:
    """Read reports, print the block."""
    parser = argparse.ArgumentParser(description="References for configs/systems from ReFrame's reports.")
    parser.add_argument("report", type=Path, nargs="+", help="JSON reports, e.g. of results/reframe/reports")
    parser.add_argument("--system", help="whose, where the reports are of several systems")
    parser.add_argument("--lower", type=_within(*_LOWER), default=-0.5, help="how much faster still passes")
    parser.add_argument("--upper", type=_within(*_UPPER), default=0.3, help="how much slower still passes")
    options = parser.parse_args(arguments)
    try:
        found = [outcome for report in options.report for outcome in outcomes(report, every=True)]
    except OSError as error:
        parser.error(f"{error.filename}: {why_unread(error)}")
    except (ValueError, KeyError, TypeError, IndexError):
        parser.error(f"{', '.join(map(str, options.report))}: not a report of ReFrame's")
    try:
        block = references(_of_one(found, options.system), options.lower, options.upper)
    except ValueError as error:
        parser.error(str(error))
    if "\n" not in block:
        parser.error(f"{', '.join(map(str, options.report))}: no case with a time has passed")
    print(block)


if __name__ == "__main__":
    main()
