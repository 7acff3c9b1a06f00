"""What CI says of coverage: the share of Python lines that the tests execute, in all and by room."""

import json
import tempfile
from collections import defaultdict
from pathlib import Path

import coverage


def line() -> str:
    """Return one line on the data that pytest-cov has written; a process of its own that a test starts is not seen."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "coverage.json")
        data = coverage.Coverage()
        data.load()
        data.json_report(outfile=str(file))
        report = json.loads(file.read_text(encoding="utf-8"))
    rooms: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for path, entry in report["files"].items():
        room = "/".join(Path(path).parts[:-1][:2])
        rooms[room][0] += entry["summary"]["covered_lines"]
        rooms[room][1] += entry["summary"]["num_statements"]
    done, lines = (sum(column) for column in zip(*rooms.values(), strict=True))
    shares = ", ".join(f"{room} {share(*counts)}" for room, counts in sorted(rooms.items()))
    return f"coverage, Python: {share(done, lines)} of {lines} lines: {shares}"


def share(done: int, lines: int) -> str:
    return f"{100 * done / lines:.0f} %" if lines else "none"
