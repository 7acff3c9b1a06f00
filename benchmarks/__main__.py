"""Measure the simulator's speed and memory on the points of `benchmarks/points`.

Every number is the median of repeated runs, each in a process of its own, in CPU time: other work on the machine
disturbs that less than it disturbs the clock on the wall.
"""

import argparse
import json
import multiprocessing
import statistics
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from ruamel.yaml import YAML

from benchmarks.measure import measure
from tramontane.study import load_point

HERE = Path(__file__).parent


def row(name: str, runs: list[dict[str, Any]], theirs: float | None) -> dict[str, Any]:
    """Sum up the runs of one point; `theirs` is the packet rate of another simulator [1/s]."""
    cpu = statistics.median(run["cpu_s"] for run in runs)
    packets, hops = runs[0]["packets"], runs[0]["hops"]
    return {
        "point": name,
        "hops_per_s": hops / cpu,
        "packets_per_s": packets / cpu,
        "over_sst_macro": packets / cpu / theirs if theirs else None,
        "cpu_s": cpu,
        "peak_rss_bytes": max(run["peak_rss_bytes"] for run in runs),
    }


def main() -> None:
    """Print the table; with --json, one object per point."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repeats", type=int, default=3, help="runs of each point")
    parser.add_argument("--json", action="store_true", help="print JSON lines instead of a table")
    arguments = parser.parse_args()
    reference = YAML(typ="safe").load(HERE / "reference.yaml")["sst-macro"]["packets_per_s"]
    table = Table("point", "M hops/s", "M packets/s", "over SST/macro", "CPU s", "peak MB", title="Simulator, one core")
    context = multiprocessing.get_context("spawn")
    for path in sorted((HERE / "points").glob("*.yaml")):
        point = load_point(path).canonical()
        runs = []
        for _ in range(arguments.repeats):
            with context.Pool(1) as pool:
                runs.append(pool.apply(measure, (point,)))
            print(f"{path.stem}: {runs[-1]['cpu_s']:.1f} s", file=sys.stderr)
        result = row(path.stem, runs, reference.get(path.stem))
        if arguments.json:
            print(json.dumps(result), flush=True)
        table.add_row(
            path.stem,
            f"{result['hops_per_s'] / 1e6:.2f}",
            f"{result['packets_per_s'] / 1e6:.2f}",
            f"{result['over_sst_macro']:.1f} x" if result["over_sst_macro"] else "",
            f"{result['cpu_s']:.1f}",
            f"{result['peak_rss_bytes'] / 1e6:.0f}",
        )
    if not arguments.json:
        Console().print(table)


if __name__ == "__main__":
    main()
