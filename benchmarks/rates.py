"""Fit `tramontane/study/points/rates.yaml` to points that a campaign has run, and say how good estimates are.

What counts is processor time: wall time says nothing where processes shared the cores. With `--again` some of the
points are simulated again, each in a process of its own and one at a time, instead of taking the time from their
records; which ones is random, but the same at each call.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import measure_apart
from tramontane.study import Point
from tramontane.study.points.cost import Cost, estimate, rates, slower_with_state

SHARES = (np.linspace(0, 0.6, 7), np.linspace(0, 3, 7))
"""What a factor of ten more state may add, beyond each of the sizes in `rates.yaml`."""
RATES = ("packets_per_second", "packet_hops_per_second", "messages_per_second")
LEAST = 1e-9
"""What counts at least [s], so that no rate is infinite."""
LONG = 60
"""Points that take as long are described by themselves, too [s]."""
CLOSE = 1.3
"""Ratio of measured to estimated up to which an estimate is a good one."""
Numbers = NDArray[np.float64]


def fit_with_growth(
    counts: Numbers, seconds: Numbers, state: Numbers, sizes: Sequence[float]
) -> tuple[Numbers, dict[float, float]]:
    """Return how long one of each count takes [s], and which share a factor of ten more state adds beyond some sizes.

    Of all shares tried, those with the least deviation.

    Parameters
    ----------
    counts : ndarray, shape (points, kinds)
    seconds, state : ndarray, shape (points,)
        Time measured [s], and memory that the simulator goes through [B].
    sizes : sequence of float
        As many as `SHARES` [B].
    """
    best = np.inf, np.zeros(0), dict[float, float]()
    for shares in product(*SHARES):
        growth = dict(zip(sizes, map(float, shares), strict=True))
        slower = slower_with_state(state, growth)
        cost = fit(counts, seconds / slower)
        best = min(best, (deviation(counts @ cost * slower, seconds), cost, growth), key=lambda found: found[0])
    return best[1], best[2]


def deviation(expected: Numbers, seconds: Numbers) -> float:
    """Return the mean deviation of the logarithms of two times [s].

    Each decade of the measured one counts alike: there are few points that take long, and estimates are made for them.
    """
    apart = np.abs(np.log(seconds / expected))
    decades = np.floor(np.log10(seconds))
    return float(np.mean([apart[decades == decade].mean() for decade in np.unique(decades)]))


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
    return np.asarray(np.maximum(cost / scale, LEAST))


def counted(cost: Cost) -> tuple[float, float, float]:
    """Return what the rates count, in the order of `RATES`."""
    return cost.packets + cost.control_packets, cost.hops, cost.messages


class Run(NamedTuple):
    """A run of the embedded simulator, as a campaign recorded it."""

    point: Point
    cpu_s: float | None


def candidates(folders: Iterable[Path], longest: float) -> list[Run]:
    """Return the runs of the embedded simulator in campaigns' records or published ones, not too long ones [s].

    A published record counts once, though campaigns copy it to their results.
    """
    runs: dict[str, Run] = {}
    for path in chain.from_iterable(map(records, folders)):
        record = json.loads(path.read_text(encoding="utf-8"))
        canonical: dict[str, Any] = record.get("point", {})
        ours = canonical.get("substrate") == "simulator" and canonical["machine"]["model"] == "default"
        if not ours or "steady" in canonical or "radices" in canonical["workload"]:
            continue
        point = Point.from_canonical(canonical)
        if 0.1 < estimate(point).seconds - rates()["seconds_per_point"] < longest:
            runs[record["id"]] = Run(point, record.get("result", {}).get("cpu_s"))
    return list(runs.values())


def records(folder: Path) -> list[Path]:
    """Return the files of a campaign's records or of published ones, in order."""
    points = folder / "points"
    return sorted((points if points.is_dir() else folder).glob("??/*.json"))


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
    parser.add_argument("results", type=Path, nargs="+", help="folders of campaigns' results, with points/; published")
    parser.add_argument("--again", type=int, default=0, metavar="POINTS", help="how many points to simulate again")
    parser.add_argument("--longest", type=float, default=60, help="of points that are expected to take up to this [s]")
    arguments = parser.parse_args()
    runs = candidates(arguments.results, arguments.longest)
    if arguments.again > 0:
        chosen = np.random.default_rng(1).permutation(len(runs))[: arguments.again]
        runs = list(run_again([runs[index] for index in chosen]))
    timed = [(estimate(run.point), run.cpu_s) for run in runs if run.cpu_s is not None]
    if not timed:
        parser.error(
            f"{', '.join(map(str, arguments.results))}: found no processor times of the simulator; allowed: folders "
            "with points/ or published, and --again where the records are older"
        )
    counts = np.array([counted(cost) for cost, _ in timed], dtype=float)
    report(counts, np.array([cost.state_bytes for cost, _ in timed]), np.array([seconds for _, seconds in timed]))


def run_again(runs: list[Run]) -> Iterator[Run]:
    """Simulate points once more."""
    for number, run in enumerate(runs):
        yield run._replace(cpu_s=measure_apart(run.point)["cpu_s"])
        print(f"\r{number + 1} of {len(runs)} points", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def report(counts: Numbers, state: Numbers, seconds: Numbers) -> None:
    """Print the rates that fit best, and how good estimates are with them and with those in use."""
    before: dict[float, float] = rates()["growth_with_state"]
    cost, growth = fit_with_growth(counts, seconds, state, list(before))
    for name, value in zip(RATES, cost, strict=True):
        print(f"{name}: {1 / value:.1e}")
    print("growth_with_state:")
    for size, share in growth.items():
        print(f"  {size:.1e}: {share:.1f}")
    now = np.array([1 / rates()[name] for name in RATES])
    for what, each, more in (("rates.yaml as it is", now, before), ("these rates", cost, growth)):
        expected = counts @ each * slower_with_state(state, more)
        print(describe(what, seconds / expected))
        if (seconds >= LONG).any():
            print(describe(f"  of {LONG} s and more", (seconds / expected)[seconds >= LONG]))


if __name__ == "__main__":
    main()
