"""Hold crossbars that are unlimited against shared servers that never limit (docs/model.md).

    python -m benchmarks.crossbars --points 240 --members 5

simulates ensembles of points of all networks and workloads twice: with no server in the switches, and with one of ports
times link bandwidth. It prints how their medians and the orders of workloads agree, and what processor time is saved.
An order counts as changed where one workload is slower than another with all its members, and faster with all of them
the other way.
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tramontane.study import Point
from tramontane.substrates.simulator import Simulator
from tramontane.support.progress_line import with_progress

NETWORKS: dict[str, Any] = {
    "torus": {"geometry": [4, 4, 4], "nodes_per_switch": 4, "routing": ["minimal", "valiant", "ugal"]},
    "dragonfly": {"geometry": [4, 4, 5], "nodes_per_switch": 4, "routing": ["minimal", "valiant", "ugal", "par"]},
    "dragonfly1d": {"geometry": [8, 9], "nodes_per_switch": 4, "global_links": 2, "routing": ["minimal"]},
    "fattree": {"geometry": [3, 7], "routing": ["d-mod-k", "adaptive"]},
}
RANKS = {64: [360, 180, 32], 144: [360, 180, 32], 256: [480, 240, 32]}
ALL_TO_ALLS: dict[str, list[int | None]] = {
    "ring-k": [1, 4],
    "bruck": [2, 4],
    "sliding-window": [4],
    "burst": [None],
    "pairwise": [None],
}


@dataclass(frozen=True)
class Case:
    """A workload on a network, and the times of its members with either crossbar [s]."""

    network: tuple[str, str, int]
    workload: str
    unlimited: Sequence[float]
    server: Sequence[float]

    @property
    def ratio(self) -> float:
        """Median without a server over the median with one."""
        return statistics.median(self.unlimited) / statistics.median(self.server)

    @property
    def agrees(self) -> bool:
        """Whether a median lies within the other's members."""
        return any(
            min(a) <= statistics.median(b) <= max(a)
            for a, b in ((self.unlimited, self.server), (self.server, self.unlimited))
        )


def workloads(grid: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the workloads of a grid."""
    for algorithm, radices in ALL_TO_ALLS.items():
        for radix in radices:
            more = {} if radix is None else {"radix": radix}
            yield {"kind": "transposition", "algorithm": algorithm, "grid": grid, **more}
    for width in (3, 20):
        yield {"kind": "halo", "width": width, "grid": grid}
    yield {"kind": "allreduce", "algorithm": "recursive-k", "radix": 4, "repeats": 10}
    yield {"kind": "allreduce", "algorithm": "rabenseifner", "repeats": 10}


def points() -> list[dict[str, Any]]:
    """Return all points, as a file would have them, in a random order that is always the same."""
    made: list[dict[str, Any]] = []
    for topology, keys in NETWORKS.items():
        for routing in keys["routing"]:
            machine = {"topology": topology, **keys, "routing": routing, "buffer": "128 KB"}
            for ranks, grid in RANKS.items():
                made += [{"ranks": ranks, "workload": each, "machine": machine} for each in workloads(grid)]
    random.Random(1).shuffle(made)
    return made


def run(given: dict[str, Any], members: int) -> tuple[Case, float, float]:
    """Return a point's times with either crossbar, and the processor times they took [s]."""
    simulator = Simulator()
    base = Point.model_validate(given).network
    times: list[list[float]] = []
    costs = []
    for bandwidth in ("unlimited", f"{base.ample_crossbar} B/s"):
        machine = {**given["machine"], "crossbar": {"bandwidth": bandwidth}}
        begun = time.process_time()
        ensemble = [
            Point.model_validate({**given, "machine": machine, "seed": seed, "start_jitter": "1 ns"})
            for seed in range(1, members + 1)
        ]
        times.append([simulator.run(member)["time_s"] for member in ensemble])
        costs.append(time.process_time() - begun)
    network = (base.topology, str(base.routing), int(given["ranks"]))
    return Case(network, json.dumps(given["workload"], sort_keys=True), times[0], times[1]), costs[0], costs[1]


def changed_orders(cases: Sequence[Case]) -> tuple[int, int]:
    """Return how many orders of two workloads on a network changed beyond all members, of how many."""
    changed = pairs = 0
    for a, b in combinations(cases, 2):
        if a.network == b.network:
            pairs += 1
            for x, y in ((a, b), (b, a)):
                changed += max(x.unlimited) < min(y.unlimited) and min(x.server) > max(y.server)
    return changed, pairs


def main() -> None:
    """Print how the two crossbars agree."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=240)
    parser.add_argument("--members", type=int, default=5)
    options = parser.parse_args()
    with with_progress(points()[: options.points], "simulating") as simulated:
        done = [run(each, options.members) for each in simulated]
    cases = [case for case, _, _ in done]
    ratios = sorted(case.ratio for case in cases)
    changed, pairs = changed_orders(cases)
    tenths = statistics.quantiles(ratios, n=20)
    print(f"{len(cases)} points, {options.members} members each")
    print(f"ratio of medians, unlimited / server: median {statistics.median(ratios):.4f}, 5th to 95th percentile")
    print(f"  {tenths[0]:.4f} to {tenths[-1]:.4f}, smallest {ratios[0]:.4f}, largest {ratios[-1]:.4f}")
    print(f"a median lies within the other's members: {sum(case.agrees for case in cases)} of {len(cases)}")
    print(f"orders of two workloads that changed beyond all members: {changed} of {pairs}")
    print(f"processor time, unlimited / server: {sum(d[1] for d in done) / sum(d[2] for d in done):.3f}")
    for case in sorted((case for case in cases if not case.agrees), key=lambda case: case.ratio):
        print(f"  outside: {' '.join(map(str, case.network))} {case.workload}: {case.ratio:.4f}")


if __name__ == "__main__":
    main()
