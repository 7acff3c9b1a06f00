"""The skeleton program's arguments, its sources, and the line it prints (`skeleton-src/executor/`)."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tramontane.study.points.points import Point
from tramontane.study.workloads.kinds import Workload
from tramontane.support.layout import SHARE

NAME = "tramontane-mpi"

#: The library that traces MPI programs.
TRACER = "tramontane-trace"

#: Untimed executions, and timed ones, of which the median counts.
WARMUP, REPETITIONS = 2, 10

#: What the study calls algorithms, and the program implementations: the MPI library's own operations.
IMPLEMENTATIONS = {"library": "library", "library-nonblocking": "nonblocking", "library-persistent": "persistent"}


def sources() -> list[Path]:
    """Return the files that are compiled into the program."""
    schedules = Path(SHARE, "skeleton-src")
    return [*sorted(schedules.glob("*.cpp")), *sorted(schedules.glob("executor/*.cpp"))]


def without_sources() -> str | None:
    """Return None, or that the sources are not here."""
    return None if sources() else "the sources of the skeleton are not here; run it from a checkout"


def headers() -> list[Path]:
    """Return the headers they include."""
    return sorted(Path(SHARE, "skeleton-src").rglob("*.hpp"))


def tracer_sources() -> list[Path]:
    """Return the files that the tracing library is made of."""
    return sorted(Path(SHARE, "tracer").glob("*.?pp"))


def arguments(point: Point, warmup: int = WARMUP, repetitions: int = REPETITIONS) -> list[str]:
    """Return the program's arguments for measuring a point with real, verified data."""
    timing = [f"warmup={warmup}", f"repetitions={repetitions}"]
    return [*workload_arguments(point.workload), "data=real", "verify=1", *timing]


def workload_arguments(workload: Workload, keys: dict[str, Any] | None = None) -> list[str]:
    """Return the program's arguments for a workload: `key=value`, a key of a block within being `block.key`.

    Parameters
    ----------
    workload : Workload
        What is communicated.
    keys : dict, optional
        What its compiled description reads, with what steps cost; default: without.
    """
    keys = dict(keys or workload.schedule_keys())
    if workload.by_library:
        del keys["algorithm"]
    words = [f"{key}={_spelled(value)}" for key, value in sorted(_flat(keys, ""))]
    return [*words, f"implementation={IMPLEMENTATIONS.get(workload.chosen or '', 'schedule')}"]


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield keys and values of blocks within blocks, and of lists of blocks by number."""
    within = f"{key}." if key else ""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _flat(inner, f"{within}{name}")
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{within}{number}")
    else:
        yield key, value


def _spelled(value: Any) -> str:
    """Return a value of a workload as the program reads it."""
    return "x".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


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


def complaint(errors: str, name: str = NAME) -> str:
    """Return what a program itself has complained of first, without its name; empty if it has not."""
    prefix = f"{name}: "
    return next((line.removeprefix(prefix) for line in errors.splitlines() if line.startswith(prefix)), "")


def first_line(errors: str) -> str:
    """Return the first line with words in it."""
    return next((line.strip() for line in errors.splitlines() if any(map(str.isalpha, line))), "")
