"""How evenly threads share points: ``python -m benchmarks.balance [--threads 2 16] [POINT ...]``.

Printed is how many times as fast as one thread they could be at most: all events over those of the busiest part in each
window, as if all events took the same, and meeting no time. That needs no machine of so many cores.
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.measure import apart
from tramontane import _simulator
from tramontane.study import load_point
from tramontane.substrates.simulator import as_simulated
from tramontane.support.tables import table

POINTS = Path(__file__).parent / "points"
CHOSEN = ("fattree-M-1e4", "dragonfly-MM-1e4", "torus-M-1e4", "rows-1e5", "step-1e5-halo", "allreduce-1e5")


def load(point: dict[str, Any], threads: int) -> dict[str, Any]:
    """Return how evenly so many threads share a point that the extension reads."""
    return dict(_simulator.load_of_threads(point, threads))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.balance", description=(__doc__ or "").split("\n")[0])
    files = {path.stem: path for path in POINTS.glob("**/*.yaml")}
    parser.add_argument("points", nargs="*", metavar="POINT", default=CHOSEN)
    parser.add_argument("--threads", type=int, nargs="+", default=[2, 16])
    options = parser.parse_args()
    if unknown := sorted(set(options.points) - set(files)):
        parser.error(f"unknown point {', '.join(unknown)}; allowed: {', '.join(sorted(files))}")
    rows = []
    for name in options.points:
        point = as_simulated(load_point(files[name]))
        try:
            loads = [apart(load, point, each) for each in options.threads]
        except ValueError as error:
            parser.error(f"--{error}")
        each_window = loads[0]["events"] / loads[0]["windows"]
        rows.append((name, f"{each_window:,.0f}", *(f"{each['speedup_at_most']:.2f}" for each in loads)))
    print(table(("point", "events a window", *(f"{each} threads" for each in options.threads)), rows))


if __name__ == "__main__":
    main()
