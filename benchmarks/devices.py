"""Measure a device beside one core and all cores, on points from 10^3 ranks up to those that take a core an hour.

    make bench DEVICE=gpu

Each point is run once on each. The last row is many small points, which differ in their seeds: the device simulates
them at once, each core one after the other, and set-up counts. Results must be the same to the last bit: a row says so,
and the exit status. ``host`` measures the device's engine with threads as its lanes, which is no measure of a device.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import apart
from tramontane import _simulator
from tramontane.campaign.verification import OF_THE_RUN
from tramontane.study import load_point
from tramontane.substrates import devices
from tramontane.support import host

POINTS = Path(__file__).parent / "points"
CHOSEN = (
    *("torus-1024", "dragonfly-MM-1e4", "fattree-M-1e4", "rows-1e5", "allreduce-1e5", "dragonfly-MM-1e5"),
    *("halo-1e6-width-1", "halo-1e6", "transposition-1e6"),
)
#: How many points of that name are simulated at once.
TOGETHER = (64, "torus-1024")
COLUMNS = (
    *("point", "M hops", "device s", "M hops/s", "device GB"),
    *("one core s", "all cores s", "x one core", "x all cores", "same"),
)


def measured(point: dict[str, Any], device: str, threads: int) -> dict[str, Any]:
    """Return the result of a canonical point."""
    if device == "cpu":
        return dict(_simulator.simulate(point, threads))
    return devices.simulate(_simulator, device, point, threads)


def measured_together(points: list[dict[str, Any]], device: str, cores: int) -> tuple[float, list[dict[str, Any]]]:
    """Return how long canonical points take together [s], set-up included, and their results."""
    begun = time.monotonic()
    results: list[dict[str, Any]] = [{} for _ in points]
    if device == "cpu":
        with ThreadPoolExecutor(cores) as pool:
            results = [dict(found) for found in pool.map(_simulator.simulate, points)]
    else:

        def tell(number: int, result: dict[str, Any] | None) -> None:
            results[number] = result or {}

        _simulator.simulate_together(points, tell, device, cores)
    return time.monotonic() - begun, results


def of_the_points(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what results say of points, and not of their runs."""
    return [{key: each[key] for key in each if key not in OF_THE_RUN} for each in results]


def row_of(
    name: str, hops: int, seconds: tuple[float, float, float], memory: int | None, *, same: bool
) -> tuple[str, ...]:
    """Return a row, with the time on the device, on one core and on all cores [s], and the device's memory [B]."""
    wall, one, several = seconds
    return (
        name,
        f"{hops * 1e-6:.1f}",
        f"{wall:.2f}",
        f"{hops * 1e-6 / wall:.1f}",
        "" if memory is None else f"{memory * 1e-9:.2f}",
        f"{one:.2f}",
        f"{several:.2f}",
        f"{one / wall:.2f}",
        f"{several / wall:.2f}",
        "yes" if same else "NO",
    )


def main() -> None:
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__)
    parser.add_argument("--device", default="gpu", choices=["gpu", "host"])
    parser.add_argument("--only", nargs="+", metavar="POINT", default=list(CHOSEN))
    parser.add_argument("--together", type=int, metavar="N", default=TOGETHER[0], help="small points at once; 0: none")
    arguments = parser.parse_args()
    files = {path.stem: path for path in POINTS.glob("**/*.yaml")}
    unknown = sorted(set(arguments.only) - set(files))
    if unknown:
        parser.error(f"unknown point {', '.join(unknown)}; allowed: {', '.join(sorted(files))}")
    if arguments.device == "gpu":
        try:
            name = str(_simulator.accelerator())
        except ValueError as error:
            parser.error(str(error))
    else:
        name = f"{host.cores()} threads as lanes"
    console = Console(width=None if Console().is_terminal else 120)
    table = Table(*COLUMNS, title=f"{arguments.device}: {name}")
    differ = False
    for chosen in arguments.only:
        with console.status(f"{chosen}, the last of {len(arguments.only)} is {arguments.only[-1]}"):
            point = load_point(files[chosen]).canonical()
            by_device = apart(measured, point, arguments.device, host.cores() if arguments.device == "host" else 1)
            one, several = (apart(measured, point, "cpu", threads) for threads in (1, host.cores()))
        same = of_the_points([by_device]) == of_the_points([one])
        differ |= not same
        seconds = (by_device["wall_s"], one["wall_s"], several["wall_s"])
        table.add_row(*row_of(chosen, by_device["hops"], seconds, by_device["device_bytes"], same=same))
    if arguments.together > 0:
        point = load_point(files[TOGETHER[1]]).canonical()
        points = [point | {"seed": seed} for seed in range(1, arguments.together + 1)]
        wall, found = apart(measured_together, points, arguments.device, host.cores())
        (one_s, expected), (all_s, _) = (apart(measured_together, points, "cpu", cores) for cores in (1, host.cores()))
        same = of_the_points(found) == of_the_points(expected)
        differ |= not same
        hops = sum(each["hops"] for each in expected)
        table.add_row(*row_of(f"{arguments.together} x {TOGETHER[1]}", hops, (wall, one_s, all_s), None, same=same))
    console.print(table)
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
