"""Fit the rates of `tramontane/study/rates.yaml` to points that a campaign has run, and say how good estimates are.

What counts is processor time: wall time says nothing where processes shared the cores. With `--again` some of the
points are simulated again, each in a process of its own and one at a time, instead of taking the time from their
records; which ones is random, but the same at each call.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import measure_apart
from tramontane.study.cost import Cost, estimate, more_with_ranks, rates

RATES = ("packets_per_second", "packet_hops_per_second", "messages_per_second")
LEAST = 1e-9
"""What counts at least [s], so that no rate is infinite."""
CLOSE = 1.3
"""Ratio of measured to estimated up to which an estimate is a good one."""
Numbers = NDArray[np.float64]


def fit_with_growth(counts: Numbers, seconds: Numbers, ranks: Numbers) -> tuple[Numbers, float]:
    """Return how long one of each count takes [s], and by which share longer with ten times the ranks.

    Of growths in steps of 0.05, the one with the least mean deviation of the logarithm of measured over expected.
    """
    best = np.inf, np.zeros(0), 0.0
    for growth in np.linspace(0, 1, 21):
        grown = more_with_ranks(ranks, growth)
        cost = fit(counts, seconds / grown)
        deviation = float(np.mean(np.abs(np.log(seconds / (counts @ cost * grown)))))
        best = min(best, (deviation, cost, float(growth)), key=lambda found: found[0])
    return best[1], best[2]


def fit(counts: Numbers, seconds: Numbers) -> Numbers:
    """Return how long one of each count takes [s], none of it negative.

    Ratios of measured to expected count, not differences, and few far ones little: least squares of ratios with
    weights that are taken anew again and again (IRLS), each time by multiplicative updates, which stay positive.

    Parameters
    ----------
    counts : ndarray, shape (points, kinds)
    seconds : ndarray, shape (points,)
    """
    scale = counts.max(axis=0)
    cost = np.full(counts.shape[1], seconds.sum() / (counts / scale).sum())
    for _ in range(50):
        expected = counts / scale @ cost
        far = np.abs(np.log(seconds / expected))
        weights = 1 / np.sqrt(seconds * expected * (far + 0.05))
        rows, aims = counts / scale * weights[:, None], seconds * weights
        for _ in range(500):
            cost *= (rows.T @ aims) / (rows.T @ rows @ cost)
    return np.maximum(cost / scale, LEAST)


def counted(cost: Cost) -> tuple[float, float, float]:
    """Return what the rates count, in the order of `RATES`."""
    return cost.packets + cost.control_packets, cost.hops, cost.messages


class Run(NamedTuple):
    """A run of the embedded simulator, as a campaign recorded it."""

    point: dict[str, Any]
    cpu_s: float | None


def candidates(results: Path, longest: float) -> Iterator[Run]:
    """Yield the runs of the embedded simulator in a campaign's records, not too long ones [s]."""
    for path in sorted(results.glob("points/*/*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        point: dict[str, Any] = record.get("point", {})
        ours = point.get("substrate") == "simulator" and point["machine"]["model"] == "default"
        if not ours or "steady" in point or "radices" in point["workload"]:
            continue
        if 0.1 < estimate(point).seconds - rates()["seconds_per_point"] < longest:
            yield Run(point, record.get("result", {}).get("cpu_s"))


def describe(what: str, ratios: Numbers) -> str:
    """Sum up ratios of measured to estimated times."""
    low, middle, high = np.quantile(ratios, [0.1, 0.5, 0.9])
    close = np.mean(np.abs(np.log(ratios)) < np.log(CLOSE))
    return (
        f"{what}: measured over estimated {middle:.2f}, eight in ten {low:.2f} to {high:.2f}; "
        f"{close:.0%} of {len(ratios)} within a factor of {CLOSE}"
    )


def main() -> None:
    """Print the rates and how good they are."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rates", description=__doc__)
    parser.add_argument("results", type=Path, help="folder of a campaign's results, with points/")
    parser.add_argument("--again", type=int, default=0, metavar="POINTS", help="how many points to simulate again")
    parser.add_argument("--longest", type=float, default=60, help="of points that are expected to take up to this [s]")
    arguments = parser.parse_args()
    runs = list(candidates(arguments.results, arguments.longest))
    if arguments.again > 0:
        chosen = np.random.default_rng(1).permutation(len(runs))[: arguments.again]
        runs = list(run_again([runs[index].point for index in chosen]))
    timed = [(run.point, run.cpu_s) for run in runs if run.cpu_s is not None]
    if not timed:
        parser.error(
            f"{arguments.results}: found no processor times of the simulator; allowed: a folder with points/, "
            "and --again where the records are older"
        )
    counts = np.array([counted(estimate(point)) for point, _ in timed], dtype=float)
    ranks = np.array([point["ranks"] for point, _ in timed], dtype=float)
    report(counts, ranks, np.array([seconds for _, seconds in timed]))


def run_again(points: list[dict[str, Any]]) -> Iterator[Run]:
    """Simulate canonical points."""
    for number, point in enumerate(points):
        yield Run(point, measure_apart(point)["cpu_s"])
        print(f"\r{number + 1} of {len(points)} points", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def report(counts: Numbers, ranks: Numbers, seconds: Numbers) -> None:
    """Print the rates that fit best, and how good estimates are with them and with those in use."""
    cost, growth = fit_with_growth(counts, seconds, ranks)
    for name, value in zip(RATES, cost, strict=True):
        print(f"{name}: {1 / value:.1e}")
    print(f"growth_with_ranks: {growth:.2f}")
    now = np.array([1 / rates()[name] for name in RATES])
    for what, each, more in (
        ("rates.yaml as it is", now, rates()["growth_with_ranks"]),
        ("these rates", cost, growth),
    ):
        print(describe(what, seconds / (counts @ each * more_with_ranks(ranks, more))))


if __name__ == "__main__":
    main()
