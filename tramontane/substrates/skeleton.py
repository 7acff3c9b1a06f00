"""The skeleton program as simulators of MPI run it: its arguments, its sources, and the line it prints."""

import json
from pathlib import Path
from typing import Any

#: Root of the checkout this package runs from, where the sources are.
ROOT = Path(__file__).resolve().parents[2]


def sources() -> list[Path]:
    """Return the files that are compiled into the program; none where the package came without its sources."""
    return sorted(Path(ROOT, "skeleton-src", "executor").glob("*.cpp"))


def headers() -> list[Path]:
    """Return the headers they include."""
    return sorted(Path(ROOT, "skeleton-src").rglob("*.hpp"))


def simulated_arguments(point: dict[str, Any]) -> list[str]:
    """Return the program's arguments for one run of a canonical point's workload without data.

    On a simulator nothing is to be warmed up, a second repetition gives what the first one gave, all ranks read the
    same clock, and what messages hold is nobody's business.
    """
    workload = point["workload"]
    words = [f"{key}={_spelled(workload[key])}" for key in sorted(workload)]
    return [*words, "warmup=0", "repetitions=1", "data=null", "verify=0", "clock=global"]


def _spelled(value: Any) -> str:
    return "x".join(map(str, value)) if isinstance(value, list) else str(value)


def last_object(text: str) -> dict[str, Any] | None:
    """Return the last line of `text` that is a JSON object, or None: simulators print lines of their own around it."""
    for line in reversed(text.splitlines()):
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                continue
            if isinstance(found, dict):
                return found
    return None
