"""Compare the speed of this checkout with another one: what did a change cost or gain? Both must be set up.

    python -m benchmarks.alternate CHECKOUT [--rounds 9] [--only POINT ...]

Runs of the two take turns, each in a process of its own and in CPU time, so that whatever else the machine does, and
how fast it is today, disturbs both alike. The table has the median ratio of the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent


def seconds(checkout: Path, point: Path) -> float:
    """Return the CPU time of a point as simulated by a checkout [s]."""
    command = [str(checkout / ".venv" / "bin" / "tramontane"), "run", str(point)]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{checkout}: {point.name}: {done.stderr.strip()}")
    return float(json.loads(done.stdout)["cpu_s"])


def main() -> None:
    """Print for each point how many times faster this checkout is."""
    points = {path.stem: path.resolve() for path in sorted((HERE / "points").glob("**/*.yaml"))}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.alternate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("checkout", type=Path, help="another checkout, set up")
    parser.add_argument("--rounds", type=int, default=9, help="runs of each point by each checkout")
    parser.add_argument("--only", nargs="+", choices=points, metavar="POINT", help="these points, long or not")
    arguments = parser.parse_args()
    chosen = arguments.only or [name for name, path in points.items() if path.parent.name != "long"]
    table = Table(title=f"CPU time of {arguments.checkout} over that of this checkout, {arguments.rounds} rounds")
    for heading in ("point", "there [s]", "here [s]", "ratio, median", "lowest", "highest"):
        table.add_column(heading, justify="left" if heading == "point" else "right")
    for name in chosen:
        rounds = [
            (seconds(arguments.checkout.resolve(), points[name]), seconds(HERE.parent, points[name]))
            for _ in range(arguments.rounds)
        ]
        if any(here == 0 for _, here in rounds):
            print(f"{name}: too short to be compared", file=sys.stderr)
            continue
        ratios = [there / here for there, here in rounds]
        numbers = [statistics.median(column) for column in zip(*rounds, strict=True)]
        numbers += [statistics.median(ratios), min(ratios), max(ratios)]
        table.add_row(name, *(f"{number:.2f}" for number in numbers))
        print(f"{name}: {numbers[2]:.2f}", file=sys.stderr)
    Console().print(table)


if __name__ == "__main__":
    main()
