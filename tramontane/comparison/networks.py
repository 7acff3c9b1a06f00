"""The networks that measured points name: ``validation/topologies.csv``, the project's copy."""

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

#: Where the table lies below the root of a checkout.
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
    """Return the networks of the checkout at `root` by name."""
    with Path(root, TABLE).open(encoding="utf-8", newline="") as stream:
        return {row["topo"]: _network(row) for row in csv.DictReader(stream)}


def _network(row: Mapping[str, str]) -> Network:
    topology = row["topology"].split()[0]
    machine: dict[str, Any] = {
        "topology": topology,
        "geometry": YAML(typ="safe", pure=True).load(row["geometry"]),
    }
    if topology != "fattree":  # there the number of down ports says it
        machine["nodes_per_switch"] = int(row["nodes_per_switch"])
    links = re.search(r"global_links (\d+)", row["extra"])
    if links:
        machine["global_links"] = int(links[1])
    return Network(row["topo"], machine, int(row["ports_per_switch"]))
