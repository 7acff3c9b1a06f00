"""Measure the simulator's speed and memory on the points of `benchmarks/points`, against the targets.

Every number is the median of repeated runs, each in a process of its own, in CPU time: other work on the machine
disturbs that less than it disturbs the clock on the wall. The points of `benchmarks/points/long` take minutes to hours
and are run once, on request; otherwise the table says what they are expected to take. Six rows are no points: how
much longer a packet-hop takes at 10^6 ranks than at 10^3, a message where 48 ranks share a node than where each has its
own, and a program than its parts alone, how much memory each of 10^6 ranks takes that do nothing, what the whole
paper is expected to take, and what it takes to make a grid, its parts and their halos, which is run like the long
points. One point is run with two threads as well, in wall time beside one thread's.
"""

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import apart, gain, idle_rank_bytes, measure_apart, partition
from benchmarks.paper import hours
from tramontane.study import Point, load_point
from tramontane.study.points.cost import estimate
from tramontane.study.reading.reading import read_yaml

HERE = Path(__file__).parent
EXPERIMENTS = HERE.parent / "configs" / "experiments"
CORES = 2
WIDEST = 400  # of the table in a file [characters]: nothing in it is folded
SHARED = "dragonfly-MM-1e4"  # the point that is run with as many threads, too
GRID = "grid-G9-1e4"
LEVEL, PARTS, WIDTH = 9, 10_000, 2  # of that: 2,621,442 cells (Wang et al. 2020), METIS's parts, layers of their halos
AT_LEAST = ("hops_per_s", "over_sst_macro", "over_smpi")
COLUMNS = {
    "M hops/s": ("hops_per_s", 1e-6, 2),
    "M packets/s": ("packets_per_s", 1e-6, 2),
    "CPU s": ("cpu_s", 1, 1),
    "wall s": ("wall_s", 1, 1),
    "x 1 thread": ("over_one_thread", 1, 2),
    "set up s": ("setup_s", 1, 2),
    "peak MB": ("peak_rss_bytes", 1e-6, 0),
    "B a rank": ("idle_rank_bytes", 1, 0),
    "x cost a hop": ("growth", 1, 2),
    "us a message": ("s_per_message", 1e6, 2),
    "x cost a message": ("message_growth", 1, 2),
    "x cost of parts": ("parts_growth", 1, 2),
    "h on 2 cores": ("hours", 1, 1),
    "x SST/macro": ("over_sst_macro", 1, 1),
    "x SMPI": ("over_smpi", 1, 1),
}
Row = dict[str, float | None]


def read(name: str) -> dict[str, Any]:
    """Return the content of a YAML file of this folder."""
    return read_yaml(HERE / name)


def sum_up(name: str, runs: list[dict[str, Any]], reference: dict[str, Any]) -> Row:
    """Sum up the runs of one point, beside what others took."""
    cpu = statistics.median(run["cpu_s"] for run in runs)
    packets = runs[0]["packets"]
    theirs = reference["sst-macro"]["packets_per_s"].get(name)
    smpi = reference["smpi"]["cpu_s"].get(name)
    return {
        "hops_per_s": runs[0]["hops"] / cpu,
        "packets_per_s": packets / cpu,
        "s_per_message": cpu / runs[0]["messages"] if runs[0]["messages"] else None,
        "cpu_s": cpu,
        "wall_s": statistics.median(run["wall_s"] for run in runs),
        "setup_s": statistics.median(run["setup_s"] for run in runs),
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in runs),
        "over_sst_macro": packets / cpu / theirs if theirs else None,
        "over_smpi": smpi / cpu if smpi else None,
    }


def expect(point: Point) -> Row:
    """Return what `tramontane estimate` says of a point that is not run."""
    cost = estimate(point)
    return {"cpu_s": cost.seconds, "peak_rss_bytes": cost.memory_bytes}


def judge(row: Row, targets: dict[str, float]) -> str:
    """Say of each target whether it is reached; without a verdict where it was not measured."""
    said = []
    for key, target in targets.items():
        value = row.get(key)
        label, scale = next((label, scale) for label, (name, scale, _) in COLUMNS.items() if name == key)
        sign = ">=" if key in AT_LEAST else "<="
        met = value is not None and (value >= target if key in AT_LEAST else value <= target)
        said.append(f"{label} {sign} {target * scale:g}: {'yes' if met else 'no' if value is not None else '?'}")
    return ", ".join(said)


def derive(rows: dict[str, Row]) -> dict[str, Row]:
    """Return what follows from several points that were measured, or is measured of no run, or only estimated."""
    idle = load_point(HERE / "points" / "long" / "allreduce-1e6.yaml")
    derived: dict[str, Row] = {
        "paper": {"hours": hours(EXPERIMENTS, CORES)},
        "idle, 1e6 ranks": {"idle_rank_bytes": idle_rank_bytes(idle)},
    }
    few, many = (rows.get(name, {}).get("hops_per_s") for name in ("allreduce-1e3", "allreduce-1e6"))
    if few and many:
        derived["growth, 1e3 to 1e6"] = {"growth": few / many}
    one, shared = (rows.get(name, {}).get("s_per_message") for name in ("rows-1e5", "rows-1e5-48-a-node"))
    if one and shared:
        derived["48 ranks a node over one"] = {"message_growth": shared / one}
    step, halo, allreduce = (
        rows.get(name, {}).get("cpu_s") for name in ("step-1e5", "step-1e5-halo", "step-1e5-allreduce")
    )
    if step and halo and allreduce:
        derived["step-1e5 over its parts"] = {"parts_growth": step / (halo + allreduce)}
    return derived


def tabulate(title: str, lines: list[list[str]]) -> Table:
    """Return a table of those columns in which there is something."""
    table = Table(title=title)
    used = [i for i, column in enumerate(zip(*lines, strict=True)) if any(column)]
    headings = ["point", *COLUMNS, "targets"]
    for i in used:
        table.add_column(headings[i], no_wrap=i == 0)
    for line in lines:
        table.add_row(*(line[i] for i in used))
    return table


def main() -> None:
    """Print the table; with --json, one object per point."""
    files = {path.stem: path for path in sorted((HERE / "points").glob("**/*.yaml"))}
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each point; long ones are run once")
    parser.add_argument("--long", action="store_true", help="run the long points, too (hours)")
    parser.add_argument("--only", nargs="+", choices=[*files, GRID], metavar="POINT", help="these points, long or not")
    parser.add_argument("--threads", type=int, default=1, help="for each point; CPU time is that of all")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    arguments = parser.parse_args()
    reference, targets = read("reference.yaml"), read("targets.yaml")
    lines: list[list[str]] = []

    def show(name: str, row: Row, measured: bool) -> None:
        if arguments.json:
            print(json.dumps({"point": name, "measured": measured, **row}), flush=True)
        cells = []
        for key, scale, digits in COLUMNS.values():
            value = row.get(key)
            text = "" if value is None else f"{value * scale:.{digits}f}"
            cells.append(f"({text})" if text and not measured else text)
        judged = row if measured or name == "paper" else {}
        lines.append([name, *cells, judge(judged, targets.get(name, {}))])

    rows: dict[str, Row] = {}
    for name in arguments.only or files:
        if name == GRID:
            continue
        point, long = load_point(files[name]), files[name].parent.name == "long"
        measured = not long or arguments.long or bool(arguments.only)
        if measured:
            runs = [measure_apart(point, arguments.threads) for _ in range(1 if long else arguments.repeats)]
            print(f"{name}: {runs[-1]['cpu_s']:.1f} s", file=sys.stderr)
            rows[name] = row = sum_up(name, runs, reference)
        else:
            row = expect(point)
        show(name, row, measured)
        if name == SHARED:
            show(f"{name}, {CORES} threads", {"over_one_thread": gain(point, CORES, arguments.repeats)}, True)
    if arguments.long or GRID in (arguments.only or ()):
        show(GRID, apart(partition, LEVEL, PARTS, WIDTH), True)
    for name, row in derive(rows).items():
        show(name, row, name != "paper")
    if not arguments.json:
        title = f"Simulator, threads a point: {arguments.threads} (in brackets: estimated, not run)"
        Console(width=None if sys.stdout.isatty() else WIDEST).print(tabulate(title, lines))


if __name__ == "__main__":
    main()
