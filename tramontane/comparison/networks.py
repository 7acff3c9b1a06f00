"""The networks that measured points name: ``validation/topologies.csv``, the project's copy."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import PydanticCustomError

from tramontane.errors import InputError
from tramontane.study.networks.network import MAPPINGS, network
from tramontane.study.reading.bounded_yaml import load
from tramontane.study.values.fields import Geometry
from tramontane.support.layout import SHARE

#: Where the table lies below the root of a checkout, or else of what came with this package.
TABLE = Path("validation", "topologies.csv")


@dataclass(frozen=True)
class Network:
    """A network by its name.

    Parameters
    ----------
    name : str
        Name in the column ``topo``.
    machine : mapping
        What it fixes of a canonical machine: topology, geometry, nodes per switch, global links.
    ports : int
        Ports of a switch.
    """

    name: str
    machine: Mapping[str, Any]
    ports: int


def read_networks(root: Path) -> dict[str, Network]:
    """Return the networks of the checkout at `root` by name.

    Raises
    ------
    InputError
        If one of them can't be.
    """
    file = next((path for path in (root / TABLE, SHARE / TABLE) if path.is_file()), root / TABLE)
    networks = {}
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(stream)
        for row in reader:
            networks[row["topo"]] = _network(row)
            check(networks[row["topo"]].machine, file, reader.line_num)
    return networks


def check(machine: Mapping[str, Any], file: Path, line: int) -> None:
    """Refuse a network that can't be, in the words of any other file.

    Raises
    ------
    InputError
        That names the line of the table.
    """
    try:
        network({**machine, "geometry": Geometry(MAPPINGS).read(machine["geometry"])})
    except PydanticCustomError as error:
        told = error.context or {}
        key, hint = f"line {line}, {told['key'] or 'geometry'}", told["hint"] or None
        raise InputError(file, key, None, told["allowed"], problem=told["problem"], hint=hint) from None


def _network(row: Mapping[str, str]) -> Network:
    topology = row["topology"].split()[0]
    machine: dict[str, Any] = {
        "topology": topology,
        "geometry": load(row["geometry"]),
    }
    if topology != "fattree":  # there the number of down ports says it
        machine["nodes_per_switch"] = int(row["nodes_per_switch"])
    links = re.search(r"global_links (\d+)", row["extra"])
    if links:
        machine["global_links"] = int(links[1])
    return Network(row["topo"], machine, int(row["ports_per_switch"]))
