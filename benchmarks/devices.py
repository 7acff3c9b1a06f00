"""Measure a device beside one core and all cores, on points from 10^3 ranks up to those that take a core an hour.

    make bench DEVICE=gpu

Each point is run once on each. Results must be the same to the last bit: a row says so, and the exit status. ``host``
measures the device's engine with threads as its lanes, which is no measure of a device.
"""

import argparse
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import apart
from tramontane import _simulator
from tramontane.study import load_point
from tramontane.substrates import devices
from tramontane.support import host

POINTS = Path(__file__).parent / "points"
CHOSEN = ("torus-1024", "dragonfly-MM-1e4", "dragonfly-MM-1e5", "halo-1e6", "transposition-1e6")
COLUMNS = ("point", "M hops", "device s", "M hops/s", "one core s", "all cores s", "x one core", "x all cores", "same")
#: What a result says of its run, not of the point.
OF_THE_RUN = ("wall_s", "setup_s", "threads", "events", "network_bytes", "engine")


def measured(point: dict[str, Any], device: str, threads: int) -> dict[str, Any]:
    """Return the result of a canonical point."""
    if device == "cpu":
        return dict(_simulator.simulate(point, threads))
    return devices.simulate(_simulator, device, point, threads)


def main() -> None:
    """Print the table, a row at a time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__)
    parser.add_argument("--device", default="gpu", choices=["gpu", "host"])
    parser.add_argument("--only", nargs="+", metavar="POINT", default=list(CHOSEN))
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
    table = Table(*COLUMNS, title=f"{arguments.device}: {name}")
    differ = False
    for chosen in arguments.only:
        point = load_point(files[chosen]).canonical()
        by_device = apart(measured, point, arguments.device, host.cores() if arguments.device == "host" else 1)
        one, several = (apart(measured, point, "cpu", threads) for threads in (1, host.cores()))
        told = [{key: each[key] for key in each if key not in OF_THE_RUN} for each in (by_device, one)]
        wall = by_device["wall_s"]
        differ |= told[0] != told[1]
        table.add_row(
            chosen,
            f"{by_device['hops'] * 1e-6:.1f}",
            f"{wall:.2f}",
            f"{by_device['hops'] * 1e-6 / wall:.1f}",
            f"{one['wall_s']:.2f}",
            f"{several['wall_s']:.2f}",
            f"{one['wall_s'] / wall:.2f}",
            f"{several['wall_s'] / wall:.2f}",
            "yes" if told[0] == told[1] else "NO",
        )
    Console().print(table)
    if differ:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
