"""What a network is, in closed form: switches, nodes, ports, virtual channels and distances.

Nothing is built here; Table 1 of Zheng & Marguinaud 2018 follows from these formulas, validation uses them to refuse
what cannot run, and the cost estimate to know how far packets travel. The lists of topologies and routings stand here
and nowhere else.

Geometry conventions are those of Table 1: torus `[X, Y, Z]`; fat tree `[n, d]` with n switch levels of d down ports;
dragonfly `[X, Y, G]` with G groups of X x Y switches, all-to-all linked along each row and column of a group, each
switch linked to every other group.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]

ROUTINGS: dict[str, tuple[str, ...]] = {
    "torus": ("minimal", "valiant", "ugal"),
    "fattree": ("d-mod-k",),
    "dragonfly": ("minimal", "valiant", "valiant-global", "ugal"),
}
"""Routings each topology offers; the first is the default."""

TOPOLOGIES = tuple(ROUTINGS)

GEOMETRY: dict[str, str] = {
    "torus": "[X, Y, Z]: switches along each dimension",
    "fattree": "[n, d]: n switch levels, d down ports a switch",
    "dragonfly": "[X, Y, G]: G groups of X x Y switches",
}
"""What the numbers of a geometry mean; their count is the number of names in the brackets."""

_VIRTUAL_CHANNELS: dict[tuple[str, str], int] = {
    # Torus: dimension order needs two channels to break each ring's cycle (a dateline); Valiant's second leg two more.
    ("torus", "minimal"): 2,
    ("torus", "valiant"): 4,
    ("torus", "ugal"): 4,
    # Up-down routes of a tree have no cycles.
    ("fattree", "d-mod-k"): 1,
    # Dimension order inside a group needs no second channel, the way behind a global link does; Valiant's second leg
    # has channels of its own.
    ("dragonfly", "minimal"): 2,
    ("dragonfly", "valiant"): 4,
    ("dragonfly", "valiant-global"): 4,
    ("dragonfly", "ugal"): 4,
}


@dataclass(frozen=True)
class NetworkFacts:
    """Size of a network.

    Attributes
    ----------
    switches, nodes_per_switch, nodes : int
        Counts; in a fat tree only the lowest level's switches carry nodes.
    ports : int
        Ports of one switch (its radix); the top switches of a fat tree use only half of theirs.
    """

    switches: int
    nodes_per_switch: int
    nodes: int
    ports: int


def facts(topology: str, geometry: tuple[int, ...], nodes_per_switch: int) -> NetworkFacts:
    """Return the size of a network as it is built.

    A full d-ary n-tree has ``n * d**(n - 1)`` switches; Table 1 of the paper prints one level less, see
    :func:`printed_switches`.
    """
    if topology == "fattree":
        levels, down = geometry
        leaves: int = down ** (levels - 1)
        return NetworkFacts(levels * leaves, down, leaves * down, 2 * down)
    x, y, z = geometry
    if topology == "torus":
        switches, ports = x * y * z, 6 + nodes_per_switch
    elif topology == "dragonfly":
        switches, ports = x * y * z, (x - 1) + (y - 1) + (z - 1) + nodes_per_switch
    else:
        raise ValueError(f"unknown topology {topology!r}")
    return NetworkFacts(switches, nodes_per_switch, switches * nodes_per_switch, ports)


def printed_switches(topology: str, geometry: tuple[int, ...], nodes_per_switch: int) -> int:
    """Return the number of switches by the paper's counting, which differs from ours for fat trees.

    The paper calls the nodes of a fat tree its last layer and so counts n - 1 switch layers: 3 * 25**3 = 46,875 for
    "4,25". Three layers of 25 down ports reach 25**3 nodes only, so 25**4 nodes need a fourth: 62,500.
    """
    if topology == "fattree":
        levels, down = geometry
        leaves: int = down ** (levels - 1)
        return (levels - 1) * leaves
    return facts(topology, geometry, nodes_per_switch).switches


def virtual_channels(topology: str, routing: str) -> int:
    """Return the number of virtual channels a link's buffer is divided by."""
    return _VIRTUAL_CHANNELS[topology, routing]


def switch_visits(
    topology: str, geometry: tuple[int, ...], nodes_per_switch: int, source: Nodes, target: Nodes
) -> Nodes:
    """Return how many switches a packet visits on a shortest path.

    Parameters
    ----------
    source, target : array of int
        Node numbers; nodes are numbered switch by switch, the switches of a torus or dragonfly with x fastest.

    Returns
    -------
    array of int
        1 for two nodes of one switch.
    """
    if topology == "fattree":
        levels, down = geometry
        visits = np.ones(np.broadcast(source, target).shape, dtype=np.int64)
        for level in range(1, levels):
            visits += 2 * (source // down**level != target // down**level)
        return visits
    a, b = source // nodes_per_switch, target // nodes_per_switch
    x, y, z = geometry
    ax, ay, az = a % x, a // x % y, a // (x * y)
    bx, by, bz = b % x, b // x % y, b // (x * y)
    if topology == "torus":
        return np.asarray(1 + _ring(ax, bx, x) + _ring(ay, by, y) + _ring(az, bz, z), dtype=np.int64)
    return np.asarray(1 + (ax != bx).astype(np.int64) + (ay != by) + (az != bz), dtype=np.int64)


def _ring(a: Nodes, b: Nodes, size: int) -> Nodes:
    """Return the shorter way round a ring of `size` switches."""
    forward = (b - a) % size
    return np.asarray(np.minimum(forward, size - forward), dtype=np.int64)
