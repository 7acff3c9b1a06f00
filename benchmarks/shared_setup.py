"""Measure what one table of set-up information for all processes saves on SST/macro (docs/sstmacro.md).

    python -m benchmarks.shared_setup 250 500 1000 2000 --shared 10000

simulates a halo exchange by bisection twice for each number of processes: with the table in shared memory, and with a
table of each process's own. Numbers after `--shared` are run with the shared one only; what the other would need is its
size times the processes. All messages bypass the packet network, so that little but the set-up takes time.
"""

import argparse
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tramontane.study import Point
from tramontane.substrates import sstmacro
from tramontane.substrates.mpi import program
from tramontane.substrates.programs import Finished
from tramontane.substrates.shared_setup import shared_setup

GRID = [1440, 720, 1]
SWITCHES = [16, 16, 16]


def point(ranks: int) -> Point:
    """Return a point with next to no network."""
    machine = {"topology": "torus", "geometry": SWITCHES, "nodes_per_switch": -(-ranks // (16 * 16 * 16))}
    machine["protocol"] = {"negligible_size": "1 MB"}
    workload = {"kind": "halo", "width": 1, "grid": GRID, "decomposition": "bisection"}
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": machine})


def run(halo: Point, *, shared: bool) -> Finished:
    """Simulate a point with a table for all, or one for each process."""
    application, plugin = sstmacro.build_application(), sstmacro.build_plugin()
    with tempfile.TemporaryDirectory() as folder, shared_setup(halo) as segment:
        setup = segment if shared else None
        done = sstmacro.simulate(sstmacro.parameters(halo, application, plugin, setup), Path(folder))
    if done.status != 0 or program.last_object(done.output) is None:
        raise RuntimeError(f"SST/macro ended with status {done.status}: {done.errors.strip()[-200:]}")
    return done


def row(ranks: int, *, both: bool) -> list[str]:
    """Return what a number of processes took."""
    halo = point(ranks)
    table = len(halo.workload.setup(ranks))
    one = run(halo, shared=True)
    cells = [f"{ranks:,}", f"{table / 1e6:.3f}", f"{table / ranks:.0f}"]
    cells += [f"{one.peak_rss_bytes / 1e6:.0f}", f"{one.cpu_s:.1f}"]
    if not both:
        return [*cells, "-", "-", f"{table * (ranks - 1) / 1e6:,.0f} (not run)"]
    own = run(halo, shared=False)
    saved = (own.peak_rss_bytes - one.peak_rss_bytes) / 1e6
    return [*cells, f"{own.peak_rss_bytes / 1e6:.0f}", f"{own.cpu_s:.1f}", f"{saved:,.0f}"]


def main() -> None:
    """Print a row for each number of processes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("ranks", type=int, nargs="*", default=[], metavar="P", help="run both ways")
    parser.add_argument("--shared", type=int, nargs="*", default=[], metavar="P", help="run with the shared table only")
    asked = parser.parse_args()
    missing = sstmacro.SstMacro().available()
    if missing:
        raise SystemExit(missing)
    table = Table(title="set-up information of a halo exchange by bisection on SST/macro")
    columns = ["P", "table MB", "B a process", "shared: MB", "CPU s", "own: MB", "CPU s", "saved MB"]
    for column in columns:
        table.add_column(column, justify="right")
    for ranks in asked.ranks:
        table.add_row(*row(ranks, both=True))
    for ranks in asked.shared:
        table.add_row(*row(ranks, both=False))
    Console().print(table)


if __name__ == "__main__":
    main()
