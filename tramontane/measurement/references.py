"""Turns what a good run has measured into references for the system it ran on.

``python -m tramontane.measurement.references REPORT.json`` prints the block `references` for the system's file in
``configs/systems``: for each case its median time, with bounds.
"""

import argparse
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

from tramontane.measurement.reframe_report import CaseOutcome, outcomes


def references(found: Iterable[CaseOutcome], lower: float, upper: float) -> str:
    """Return the block for the cases that passed; of a case that ran several times the median counts."""
    times: dict[tuple[str, str, str], list[float]] = {}
    for outcome in found:
        if outcome.measured is not None:
            key = (outcome.case, outcome.partition, outcome.environment)
            times.setdefault(key, []).append(float(outcome.measured["time_s"]["median"]))
    lines = [
        f'  - {{case: "{case}", partition: {partition}, environment: {environment}, '
        f"time: {round(statistics.median(values) * 1e9)} ns, lower: {lower:g}, upper: {upper:g}}}"
        for (case, partition, environment), values in sorted(times.items())
    ]
    return "\n".join(["references:", *lines])


def main(arguments: Sequence[str] | None = None) -> None:
    """Read reports, print the block."""
    parser = argparse.ArgumentParser(description="References for configs/systems from ReFrame's reports.")
    parser.add_argument("report", type=Path, nargs="+", help="JSON reports, e.g. of results/reframe/reports")
    parser.add_argument("--lower", type=float, default=-0.5, help="how much faster still passes")
    parser.add_argument("--upper", type=float, default=0.3, help="how much slower still passes")
    options = parser.parse_args(arguments)
    try:
        found = [outcome for report in options.report for outcome in outcomes(report, every=True)]
    except OSError as error:
        parser.error(f"{error.filename}: {error.strerror}")
    except (ValueError, KeyError, TypeError, IndexError):
        parser.error(f"{', '.join(map(str, options.report))}: not a report of ReFrame's")
    print(references(found, options.lower, options.upper))


if __name__ == "__main__":
    main()
