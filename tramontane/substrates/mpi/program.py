"""The skeleton program's arguments, its sources, and the line it prints (`skeleton-src/executor/`)."""

import json
from pathlib import Path
from typing import Any

from tramontane.study.points import Point

#: Root of the checkout this package runs from, where the sources are.
ROOT = Path(__file__).resolve().parents[3]

NAME = "tramontane-mpi"

#: Untimed executions, and timed ones, of which the median counts.
WARMUP, REPETITIONS = 2, 10

#: What the study calls algorithms, and the program implementations: the MPI library's own operations.
IMPLEMENTATIONS = {"library": "library", "library-nonblocking": "nonblocking", "library-persistent": "persistent"}


def sources() -> list[Path]:
    """Return the files that are compiled into the program; none where the package came without its sources."""
    return sorted(Path(ROOT, "skeleton-src", "executor").glob("*.cpp"))


def headers() -> list[Path]:
    """Return the headers they include."""
    return sorted(Path(ROOT, "skeleton-src").rglob("*.hpp"))


def arguments(point: Point, warmup: int = WARMUP, repetitions: int = REPETITIONS) -> list[str]:
    """Return the program's arguments for measuring a point with real, verified data."""
    workload = dict(sorted(point.workload.executable().items()))
    implementation = IMPLEMENTATIONS.get(workload.get("algorithm", ""))
    if implementation:
        del workload["algorithm"]
    words = [f"{key}={spelled(value)}" for key, value in workload.items()]
    timing = [f"warmup={warmup}", f"repetitions={repetitions}"]
    return [*words, f"implementation={implementation or 'schedule'}", "data=real", "verify=1", *timing]


def spelled(value: Any) -> str:
    """Return a value of a workload as the program reads it."""
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def outcome(printed: dict[str, Any]) -> dict[str, Any]:
    """Return the common part of a result from what the program has printed: medians over the repetitions."""
    return {
        "time_s": printed["time_s"]["median"],
        "phases": {name: times["median"] for name, times in printed["phases"].items()},
        "messages": printed["messages"],
        "bytes": printed["bytes"],
        "verified": printed["verified"],
    }


def last_object(text: str) -> dict[str, Any] | None:
    """Return the last line of `text` that is a JSON object, or None: launchers print lines of their own."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                return found
    return None


def complaint(errors: str) -> str:
    """Return what the program itself has complained of first, without its name; empty if it has not."""
    prefix = f"{NAME}: "
    return next((line.removeprefix(prefix) for line in errors.splitlines() if line.startswith(prefix)), "")


def first_line(errors: str) -> str:
    """Return the first line with words in it."""
    return next((line.strip() for line in errors.splitlines() if any(map(str.isalpha, line))), "")
