"""Draws docs/architecture.svg, the map of the house: who uses whom, as imports and includes say.

    python workflow/scripts/architecture.py

writes it anew; a test holds it against the sources and against the rules of tests/house/test_house.py.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tramontane.support.imports import imported_names

ROOT = Path(__file__).parents[2]
MAP = ROOT / "docs" / "architecture.svg"

Uses = Mapping[str, set[str]]

#: Column and row of each room, from the top left; a room uses only rooms below it.
ROOMS = {
    "Snakefile, workflow/": (0, 0),
    "analysis/": (1, 0),
    "reframe-checks/": (2, 0),
    "benchmarks/": (3, 0),
    "validation/": (3, 1),
    "tramontane/": (1.5, 2),
    "simulator/": (1.5, 4),
    "sstmacro/": (3, 4),
    "tracer/": (0, 6),
    "skeleton-src/": (1.5, 6),
}
#: The same for the parts of the package. `errors` and `support`, which all may use, are left out.
PARTS = {
    "cli": (1, 0),
    "archive": (2, 1),
    "calibration": (0, 3),
    "comparison": (1, 2),
    "claims": (2, 2),
    "campaign": (1, 3),
    "measurement": (1, 4),
    "api": (0, 4),
    "substrates": (0.5, 5),
    "results": (1.5, 5),
    "study": (1, 6),
    "extension": (0.5, 7),
}
#: What becomes of a point, room by room.
WAY = (
    "configs/*.yaml",
    "study/: points",
    "campaign/: batches",
    "substrates/: a run",
    "results/: a dataset",
    "analysis/: a report",
)


def python_uses(folder: Path) -> set[str]:
    """Return the dotted names that the Python files of a room, or of a part, import."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
    return {name for file in files for name in imported_names(file)}


def cpp_uses(folder: Path) -> set[str]:
    """Return the other rooms whose headers the C++ files of a room include."""
    used = set()
    for file in sorted([*folder.rglob("*.hpp"), *folder.rglob("*.cpp")]):
        for name in re.findall(r'^#include "([^"]+)"', file.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if not any((base / name).exists() for base in (file.parent, folder)):
                used |= {room for room in ("simulator", "skeleton-src") if (ROOT / room / name).exists()}
    return used


def room_uses() -> Uses:
    """Return which rooms each room uses, as its sources say."""
    uses: dict[str, set[str]] = {}
    for label in ROOMS:
        room = label.split(", ")[-1].strip("/")
        names = {name.split(".")[0] for name in python_uses(ROOT / room)} | cpp_uses(ROOT / room)
        if room == "workflow":
            rules = [ROOT / "Snakefile", *(ROOT / room).rglob("*.smk")]
            names |= {name for file in rules for name in re.findall(r"^(?:from|import) +(\w+)", file.read_text(), re.M)}
        if room == "tramontane" and "tramontane._simulator" in (ROOT / room / "extension.py").read_text():
            names.add("simulator")  # as a compiled module
        uses[label] = {other for other in ROOMS if other != label and other.split(", ")[-1].strip("/") in names}
    return uses


def part_uses() -> Uses:
    """Return which parts of the package each part uses, but for those that all use."""
    uses = {}
    for part in PARTS:
        folder = ROOT / "tramontane" / part
        names = python_uses(folder if folder.is_dir() else folder.with_suffix(".py"))
        found = {name.split(".")[1] for name in names if name.startswith("tramontane.")}
        uses[part] = found & PARTS.keys() - {part}
    return uses


def reachable(uses: Uses, start: str) -> set[str]:
    """Return all that `start` uses, directly or not."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        new = uses[waiting.pop()] - seen
        seen |= new
        waiting += sorted(new)
    return seen


def drawn(uses: Uses) -> Iterator[tuple[str, str]]:
    """Yield the arrows: who uses whom, unless the way leads through a third one."""
    for user, used in uses.items():
        for other in sorted(used):
            if not any(other in reachable(uses, third) for third in used - {other}):
                yield user, other


class Frame(NamedTuple):
    """Where a set of boxes is drawn [px]: its corner, the distances of columns and rows, the size of a box."""

    left: float
    top: float
    column: float
    row: float
    width: float
    height: float

    def centre(self, place: tuple[float, float]) -> tuple[float, float]:
        """Return the middle of a box."""
        return self.left + place[0] * self.column + self.width / 2, self.top + place[1] * self.row + self.height / 2

    def box(self, text: str, place: tuple[float, float]) -> str:
        """Return a box with its name."""
        x, y = self.centre(place)
        return (
            f'<rect x="{x - self.width / 2:g}" y="{y - self.height / 2:g}" width="{self.width:g}" '
            f'height="{self.height:g}" rx="5"/><text x="{x:g}" y="{y + 4:g}">{text}</text>'
        )

    def arrow(self, start: tuple[float, float], end: tuple[float, float]) -> str:
        """Return an arrow from the lower edge of a box to the upper edge of another, or within a row."""
        if start[1] == end[1]:
            return self.across(start, end)
        (x1, y1), (x2, y2) = self.centre(start), self.centre(end)
        return f'<line x1="{x1:g}" y1="{y1 + self.height / 2:g}" x2="{x2:g}" y2="{y2 - self.height / 2 - 3:g}"/>'

    def across(self, start: tuple[float, float], end: tuple[float, float]) -> str:
        """Return an arrow between two boxes of a row."""
        (x1, y1), (x2, y2) = self.centre(start), self.centre(end)
        half = self.width / 2 if x1 < x2 else -self.width / 2
        tip = 3 if x1 < x2 else -3
        return f'<line x1="{x1 + half:g}" y1="{y1:g}" x2="{x2 - half - tip:g}" y2="{y2:g}"/>'


def graph(frame: Frame, places: Mapping[str, tuple[float, float]], uses: Uses) -> Iterator[str]:
    """Yield the lines of a drawn graph: arrows first, boxes over them."""
    for user, used in drawn(uses):
        yield frame.arrow(places[user], places[used])
    for name, place in places.items():
        yield frame.box(name, place)


def picture() -> str:
    """Return the map."""
    steps = {text: (number, 0) for number, text in enumerate(WAY)}
    way = Frame(20, 40, 163, 0, 145, 30)
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 520" font-family="sans-serif" font-size="12">',
        "<title>Map of the house: the way of a point, and who uses whom</title>",
        "<style>rect{fill:#eef3f8;stroke:#4a6785}line{stroke:#4a6785;marker-end:url(#tip)}"
        "text{text-anchor:middle;fill:#1b2733}.head{font-weight:bold;text-anchor:start}</style>",
        '<marker id="tip" viewBox="0 0 6 6" refX="3" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
        '<path d="M0 0L6 3L0 6z" fill="#4a6785"/></marker>',
        '<rect x="0" y="0" width="1000" height="520" style="fill:#fff;stroke:none"/>',
        '<text class="head" x="20" y="26">The way of a point</text>',
        *(way.across(steps[a], steps[b]) for a, b in pairwise(WAY)),
        *(way.box(text, place) for text, place in steps.items()),
        '<text class="head" x="20" y="112">Rooms: an arrow means "uses"</text>',
        *graph(Frame(20, 130, 142, 57, 130, 30), ROOMS, room_uses()),
        '<text class="head" x="620" y="112">Inside tramontane/</text>',
        *graph(Frame(620, 130, 125, 50, 105, 28), PARTS, part_uses()),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    MAP.write_text(picture(), encoding="utf-8")
