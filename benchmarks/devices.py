"""Measure a device beside one core and all cores, on points from 10^3 ranks up to those that take a core an hour.

    make bench DEVICE=gpu MINUTES=13

Each point is run once on each, what is not expected to end within the minutes left out. The first row is many small
points, which differ in their seeds: the device simulates them at once, each core one after the other, and set-up
counts. Results must be the same to the last bit: a row says so, and the exit status; a row without a core's result says
nothing. Before all rows the drawn points of the C++ tests are run on the device, where their program is given.
``host`` measures the device's engine with threads as its lanes, which is no measure of a device.
"""

import argparse
import math
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import apart
from tramontane import _simulator
from tramontane.campaign.verification import OF_THE_RUN
from tramontane.study import Point, load_point
from tramontane.study.points.cost import estimate, on_accelerator
from tramontane.substrates import devices
from tramontane.substrates.simulator import as_simulated
from tramontane.support import host

POINTS = Path(__file__).parent / "points"
CHOSEN = (
    *("torus-1024", "dragonfly-MM-1e4", "fattree-M-1e4", "rows-1e5", "allreduce-1e5", "step-1e5-halo"),
    *("dragonfly-MM-1e5", "halo-1e6-width-1", "halo-1e6", "transposition-1e6"),
)
#: How many points of that name are simulated at once.
TOGETHER = (64, "torus-1024")
#: How much longer a run may take than is expected of it.
MARGIN = 1.5
#: How many times as fast all cores of a host are at least, and how many times as long lanes that are threads take.
CORES_GAIN, LANES_TAKE = 2, 4
WIDTH = 130  # of the table in a log [characters]
SAME = "yes"
COLUMNS = (
    *("point", "M hops", "device s", "M hops/s", "device GB"),
    *("one core s", "all cores s", "x one core", "x all cores", "same"),
)


def accelerator() -> str:
    """Return the name of the GPU, some of whose memory, or all of it, this process holds then until it ends."""
    return str(_simulator.accelerator())


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


def verdict(same: bool) -> str:
    """Return what a row says of results that were compared."""
    return SAME if same else "NO"


@dataclass
class Row:
    """What a row says: of seconds, that the device, one core and all cores took; None is what was not run."""

    name: str
    hops: int | None = None
    device: float | None = None
    memory: int | None = None
    one: float | None = None
    several: float | None = None
    same: str = ""

    def cells(self) -> tuple[str, ...]:
        """Return its text by column."""

        def text(value: float | None, over: float = 1.0, digits: int = 2) -> str:
            return "" if value is None else f"{value / over:.{digits}f}"

        def ratio(of: float | None) -> float | None:
            return of / self.device if of and self.device else None

        return (
            *(self.name, text(self.hops, 1e6, 1), text(self.device), text(ratio(self.hops), 1e6, 1)),
            *(text(self.memory, 1e9), text(self.one), text(self.several), text(ratio(self.one))),
            *(text(ratio(self.several)), self.same),
        )


class Measured:
    """The rows so far, and the time that is left.

    Parameters
    ----------
    device, title : str
        What is measured.
    minutes : float
        What all of it may take.
    file : Path or None
        Where the table is written with each row: who has a device for minutes may be cut off.
    """

    def __init__(self, device: str, title: str, minutes: float, file: Path | None) -> None:
        self.device = device
        self.table = Table(title=title)
        for column in COLUMNS:
            self.table.add_column(column, no_wrap=column == COLUMNS[0])
        self.failed = False
        self._trouble = ""
        self._end = time.monotonic() + 60 * minutes
        self._file = file

    def left(self) -> float:
        """Return the time that is left [s]."""
        return max(0.0, self._end - time.monotonic())

    def take(self, expected: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return what a function says in a process of its own; None where it is not expected to end, or fails."""
        if expected * MARGIN > self.left():
            return None
        try:
            return apart(function, *arguments)
        except Exception as error:
            self._trouble = "failed"
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            return None

    def add(self, row: Row) -> None:
        """Add a row, which says so where a run of it has failed."""
        row.same, self._trouble = self._trouble or row.same, ""
        self.failed |= row.same not in ("", SAME)
        self.table.add_row(*row.cells())
        if self._file is not None:
            with self._file.open("w", encoding="utf-8") as stream:
                Console(file=stream, width=WIDTH).print(self.table)

    def check(self, program: Path) -> None:
        """Run the drawn points of the C++ tests on the device."""
        begun = time.monotonic()
        tests = "[accelerator]" if self.device == "gpu" else "~[accelerator]"
        done = subprocess.run(
            [program, tests], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        print(done.stdout, file=sys.stderr, flush=True)
        # Without an accelerator they say so, and pass.
        passed = done.returncode == 0 and "device: found 'gpu'" not in done.stdout
        self.add(Row(program.name, device=time.monotonic() - begun, same=verdict(passed)))

    def together(self, point: Point, count: int) -> None:
        """Measure many of a small point, which differ in their seeds."""
        points = [as_simulated(point) | {"seed": seed} for seed in range(1, count + 1)]
        cores, one_by_one = host.cores(), count * estimate(point).seconds
        by_device = self.take(one_by_one, measured_together, points, self.device, cores)
        one = self.take(one_by_one, measured_together, points, "cpu", 1)
        several = self.take(one_by_one, measured_together, points, "cpu", cores)
        expected: list[dict[str, Any]] = (one or several or (0.0, []))[1]
        self.add(
            Row(
                f"{count} x {TOGETHER[1]}",
                sum(each["hops"] for each in expected) or None,
                by_device and by_device[0],
                one=one and one[0],
                several=several and several[0],
                same=verdict(of_the_points(by_device[1]) == of_the_points(expected)) if by_device and expected else "",
            )
        )

    def point(self, name: str, point: Point) -> None:
        """Measure one point."""
        keys, cores, cost = as_simulated(point), host.cores(), estimate(point)
        likely = on_accelerator(cost, point.ranks) if self.device == "gpu" else LANES_TAKE * cost.seconds
        by_device = self.take(likely, measured, keys, self.device, cores if self.device == "host" else 1)
        one = self.take(cost.seconds, measured, keys, "cpu", 1)
        several = self.take(cost.seconds / CORES_GAIN, measured, keys, "cpu", cores)
        expected = one or several
        found = by_device or expected
        self.add(
            Row(
                name,
                found and found["hops"],
                by_device and by_device["wall_s"],
                by_device and by_device["device_bytes"],
                one and one["wall_s"],
                several and several["wall_s"],
                verdict(of_the_points([by_device]) == of_the_points([expected])) if by_device and expected else "",
            )
        )


def main() -> None:
    """Print the table."""
    files = {path.stem: path for path in sorted(POINTS.glob("**/*.yaml"))}
    parser = argparse.ArgumentParser(prog="python -m benchmarks.devices", description=__doc__)
    parser.add_argument("--device", default="gpu", choices=["gpu", "host"])
    parser.add_argument("--only", nargs="+", choices=files, metavar="POINT", default=CHOSEN)
    parser.add_argument("--together", type=int, metavar="N", default=TOGETHER[0], help="small points at once; 0: none")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="what all of it may take; default: all it takes"
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="gets the table, with each row")
    parser.add_argument("--tests", type=Path, metavar="PROGRAM", help="device_tests, which is run first")
    arguments = parser.parse_args()
    if arguments.device == "gpu":
        try:
            name = apart(accelerator)
        except ValueError as error:
            parser.error(str(error))
    else:
        name = f"{host.cores()} threads as lanes"
    rows = Measured(arguments.device, f"{arguments.device}: {name}", arguments.minutes, arguments.output)
    console = Console(width=None if Console().is_terminal else WIDTH)
    try:
        if arguments.tests is not None:
            rows.check(arguments.tests)
        if arguments.together > 0:
            rows.together(load_point(files[TOGETHER[1]]), arguments.together)
        for chosen in arguments.only:
            with console.status(f"{chosen}, the last of {len(arguments.only)} is {arguments.only[-1]}"):
                rows.point(chosen, load_point(files[chosen]))
    finally:
        console.print(rows.table)
    if rows.failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
