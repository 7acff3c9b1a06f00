"""What Tables 1 to 3 of Zheng & Marguinaud 2018 print, computed anew from geometry, schedules and grid.

The statements (:mod:`tramontane.claims.arithmetic`) and the report's page of tables both take it from here.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.study.networks.network import Network, network
from tramontane.study.reading.project import TABLE1
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.values.settings import filled
from tramontane.study.values.units import DOUBLE
from tramontane.study.workloads.workloads import Transposition
from tramontane.substrates.simulator import schedule

MILLION = 10**6
"""A round number of processes above 65,536, where cx <= nz binds."""
NUMBERS = ("switches", "nodes_per_switch", "nodes", "radix")
"""What Table 1 says of a network."""


@dataclass(frozen=True)
class NetworkRow:
    """A row of Table 1.

    Attributes
    ----------
    name : str
        Name of the network.
    geometry : tuple of int
        Its geometry.
    printed, built : dict
        `NUMBERS` as printed, and as they follow from the geometry.
    counted : int
        Switches by the paper's counting; see :func:`printed_switches`.
    remark : str
        What is to be said of it.
    """

    name: str
    geometry: tuple[int, ...]
    printed: dict[str, int]
    built: dict[str, int]
    counted: int
    remark: str


def networks(root: Path) -> Iterator[NetworkRow]:
    """Yield the rows of Table 1, from the checkout at `root`."""
    for name, row in cached_yaml(root / TABLE1).items():
        own = network(row)
        built = {
            "switches": own.switches,
            "nodes_per_switch": own.nodes_per_switch,
            "nodes": own.nodes,
            "radix": own.ports,
        }
        printed = {key: row[key] for key in NUMBERS}
        yield NetworkRow(name, tuple(row["geometry"]), printed, built, printed_switches(own), row.get("remark", ""))


def printed_switches(net: Network) -> int:
    """Return the number of switches by the paper's counting, which differs from ours for fat trees.

    The paper calls the nodes of a fat tree its last layer and so counts n - 1 switch layers: 3 * 25**3 = 46,875 for
    "4,25". Three layers of 25 down ports reach 25**3 nodes only, so 25**4 nodes need a fourth: 62,500.
    """
    return net.switches - net.nodes // net.nodes_per_switch if net.shape == "fattree" else net.switches


def all_to_all(algorithm: str, radix: int | None, n: int) -> Any:
    """Return the schedule of a transposition cut in x only, whose first phase is an all-to-all of all n processes."""
    workload = Transposition(
        kind="transposition", algorithm=algorithm, radix=radix, grid=(n, n, n), decomposition=(n, 1)
    )
    return schedule(workload, n)


def stages(algorithm: str, radix: int | None, n: int) -> int:
    """Return the stages of an all-to-all of n processes (Table 2), as its schedule has them."""
    own = all_to_all(algorithm, radix, n)
    return sum(own.round(0, index).phase == 0 for index in range(own.rounds))


@dataclass(frozen=True)
class GridFacts:
    """What Table 3 says of a grid, as it follows.

    Attributes
    ----------
    points : int
        Grid points.
    bytes : int
        Memory of a field in double precision [B].
    processes : int
        Most processes of a transposition that is cut in two directions.
    million : tuple of int or None
        How `MILLION` processes share it.
    """

    points: int
    bytes: int
    processes: int
    million: tuple[int, int] | None


def grid(extents: Sequence[int]) -> GridFacts:
    """Return what Table 3 says of a grid [nx, ny, nz]."""
    nx, ny, nz = extents
    burst = Transposition(kind="transposition", algorithm="burst", grid=(nx, ny, nz))
    processes = math.prod(filled(burst.limits))
    million = burst.for_ranks(MILLION).decomposition if processes >= MILLION else None
    points = nx * ny * nz
    return GridFacts(points, points * DOUBLE, processes, million)
