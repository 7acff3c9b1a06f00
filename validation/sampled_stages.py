"""Hold times from sampled stages against those of full simulations.

Usage: ``python validation/sampled_stages.py`` (from the repository's root) prints each point of
``validation/sampled-stages.csv``: the time of all its stages, that told by a part of them (``steady.stages``), and
whether the 95 % interval of the second holds the first; then how many do, and how wide intervals are. With
``--measure`` it simulates what the file lacks, two points at a time, and adds it; `POINTS` were chosen, and committed,
before any of them was run.
"""

from __future__ import annotations

import concurrent.futures
import csv
import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import track

from tramontane.api import simulate

TABLE = Path(__file__).parent / "sampled-stages.csv"
COLUMNS = ("machine", "routing", "ranks", "algorithm", "radix", "grid", "seed", "share")
MEASURED = ("full_s", "sampled_s", "error", "full_cpu_s", "sampled_cpu_s")


class Case(NamedTuple):
    """A transposition, and which part of its stages is simulated."""

    machine: str
    routing: str
    ranks: int
    algorithm: str
    radix: int
    grid: str
    seed: int
    share: str

    def point(self, *, sampled: bool) -> dict[str, Any]:
        """Return the point with all of its stages, or with a part; see :func:`tramontane.simulate`."""
        keys: dict[str, Any] = {
            "ranks": self.ranks,
            "workload": {
                "kind": "transposition",
                "algorithm": self.algorithm,
                "grid": [int(side) for side in self.grid.split("x")],
            },
            "machine": {"name": self.machine} | ({"routing": self.routing} if self.routing else {}),
            "start_jitter": "1 us",
            "seed": self.seed,
        }
        if self.radix:
            keys["workload"]["radix"] = self.radix
        if sampled:
            keys["steady"] = {"stages": self.share}
        return keys


NETWORKS = (
    ("fattree-M", ""),
    ("dragonfly-MM", ""),
    ("dragonfly-SL", "ugal"),
    ("dragonfly-LS", ""),
    ("dragonfly-SL", "valiant"),
    ("dragonfly-SL", ""),
    ("dragonfly-MM", "valiant"),
    ("fattree-tapered-M", ""),
    ("torus-M", ""),
    ("hyperx-M", ""),
)
"""Machines of configs/machines, and routings that aren't their own."""

POINTS = (
    *(Case(*network, 10_000, "ring-k", 1, "2160x1080x130", 301, "75 %") for network in NETWORKS),
    *(Case(*network, 10_000, "ring-k", 1, "1600x800x100", 302, "75 %") for network in NETWORKS),
    *(Case(*network, 20_164, "ring-k", 2, "2840x1420x150", 303, "75 %") for network in NETWORKS[:5]),
    *(Case(*network, 10_000, "sliding-window", 1, "3200x1600x256", 304, "75 %") for network in NETWORKS[:3]),
    *(Case(*network, 10_000, "sliding-window", 1, "1600x800x110", 305, "75 %") for network in NETWORKS[3:5]),
    *(Case(*NETWORKS[number], 100_000, "ring-k", 1, "2000x1000x320", 306, "50 %") for number in (0, 1, 3, 5, 6)),
)


def measure(case: Case) -> dict[str, Any]:
    """Simulate all stages of a case, and a part."""
    full, sampled = (simulate(case.point(sampled=part)).data for part in (False, True))
    return {
        "full_s": full["time_s"],
        "sampled_s": sampled["time_s"],
        "error": sampled["steady_error"],
        "full_cpu_s": round(full["wall_s"], 2),
        "sampled_cpu_s": round(sampled["wall_s"], 2),
    }


def kept() -> dict[Case, dict[str, str]]:
    """Return what the file has."""
    if not TABLE.exists():
        return {}
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {_case(row): {name: row[name] for name in MEASURED} for row in rows}


def _case(row: Mapping[str, str]) -> Case:
    numbers = {name: int(row[name]) for name in ("ranks", "radix", "seed")}
    return Case._make(numbers.get(name, row[name]) for name in COLUMNS)


def add(case: Case, measured: dict[str, Any]) -> None:
    """Add a row to the file."""
    is_new = not TABLE.exists()
    with TABLE.open("a", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        if is_new:
            writer.writerow((*COLUMNS, *MEASURED))
        writer.writerow((*case, *measured.values()))


def main() -> int:
    """Print the table, after simulating what it lacks if asked to."""
    if "--measure" in sys.argv[1:]:
        left = [case for case in POINTS if case not in kept()]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            runs = {pool.submit(measure, case): case for case in left}
            done = concurrent.futures.as_completed(runs)
            for run in track(done, "sampled stages", len(left), console=Console(stderr=True)):
                add(runs[run], run.result())
    show(POINTS, kept())
    return 0


def show(points: Iterable[Case], there: Mapping[Case, Mapping[str, str]]) -> None:
    """Print a table, and how many intervals hold."""
    held, widths, gains = [], [], []
    print("| machine | ranks | grid | all-to-all | stages simulated | time | from a part | interval | |")
    print("|---|---|---|---|---|---|---|---|---|")
    for case in points:
        if case not in there:
            print(f"{case.machine} {case.algorithm}: not measured")
            continue
        full, sampled, error, *cpu = (float(there[case][name]) for name in MEASURED)
        off = sampled / full - 1
        held.append(abs(sampled - full) <= error * sampled)
        widths.append(error)
        gains.append(cpu[0] / cpu[1])
        name = f"{case.machine} {case.routing}".strip()
        grid = case.grid.replace("x", " x ")
        what = f"{case.algorithm.removesuffix('-k')}-{case.radix}" if case.radix else case.algorithm
        print(
            f"| {name} | {case.ranks:,} | {grid} | {what} | {case.share} | {1000 * full:.3f} ms | "
            f"{100 * off:+.1f} % | ± {100 * error:.1f} % | {'' if held[-1] else 'outside'} |"
        )
    if held:
        print(
            f"{sum(held)} of {len(held)} intervals hold the time of all stages; median half-width "
            f"{100 * statistics.median(widths):.1f} %, median speed-up {statistics.median(gains):.1f}"
        )


if __name__ == "__main__":
    sys.exit(main())
