"""The skeleton program as simulators of MPI run it: its arguments, its sources, and the line it prints."""

import json
from pathlib import Path
from typing import Any

from tramontane import __version__

#: Root of the checkout this package runs from, where the sources are.
ROOT = Path(__file__).resolve().parents[2]


def sources() -> list[Path]:
    """Return the files that are compiled into the program; none where the package came without its sources."""
    return sorted(Path(ROOT, "skeleton-src", "executor").glob("*.cpp"))


def headers() -> list[Path]:
    """Return the headers they include."""
    return sorted(Path(ROOT, "skeleton-src").rglob("*.hpp"))


def options() -> list[str]:
    """Return the compiler options that the program needs, whoever compiles it."""
    return [f"-I{Path(ROOT, 'skeleton-src')}", f'-DTRAMONTANE_VERSION="{__version__}"']


def simulated_arguments(point: dict[str, Any]) -> list[str]:
    """Return the program's arguments for one run of a canonical point's workload without data.

    On a simulator nothing is to be warmed up, a second repetition gives what the first one gave, all ranks read the
    same clock, and what messages hold is nobody's business.
    """
    workload = point["workload"]
    words = [f"{key}={_spelled(workload[key])}" for key in sorted(workload)]
    return [*words, "warmup=0", "repetitions=1", "data=null", "verify=0", "clock=global"]


def outcome(printed: dict[str, Any]) -> dict[str, Any]:
    """Return the common part of a result from what the program has printed of its only repetition."""
    once = printed["repetitions"][0]
    return {
        "time_s": once["time_s"],
        "phases": once["phases"],
        "messages": printed["messages"],
        "bytes": printed["bytes"],
    }


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
