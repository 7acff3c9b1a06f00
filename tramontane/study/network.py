"""What a network is, in closed form: switches, nodes, ports, virtual channels and distances.

Nothing is built here; Table 1 of Zheng & Marguinaud 2018 follows from these formulas, validation uses them to refuse
what cannot run, and the cost estimate to know how far packets travel. The lists of topologies and routings stand here
and nowhere else.

Geometry conventions are those of Table 1: torus `[X, Y, Z]`; fat tree `[n, d]` with n switch levels of d down ports;
dragonfly `[X, Y, G]` with G groups of X x Y switches, all-to-all linked along each row and column of a group, each
switch linked to every other group. Two more are wired as in SST/macro 16.0, to be compared with it: the fat tree
`{nodes_per_leaf, leaves_per_subtree, subtrees}` of three levels, and the one-dimensional dragonfly `[a, G]` with G
groups of a switches, all-to-all linked, and `global_links` links of each switch to other groups.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Nodes = NDArray[np.int64]

ROUTINGS: dict[str, tuple[str, ...]] = {
    "torus": ("minimal", "valiant", "ugal"),
    "fattree": ("d-mod-k", "round-robin", "adaptive"),
    "dragonfly": ("minimal", "valiant", "valiant-global", "ugal", "ugal-g", "par", "ugal-sstmacro71"),
    "dragonfly1d": ("minimal", "valiant", "valiant-global", "ugal", "ugal-g", "par", "ugal-sstmacro71"),
}
"""Routings each topology offers, defined in docs/routing.md; the first is the default."""

SHORTEST = ("minimal", "d-mod-k", "round-robin", "adaptive")
"""Routings that make no detours."""

PISCES_16: dict[str, tuple[str, ...]] = {
    "torus": ("minimal", "valiant", "ugal"),
    "fattree3": ("round-robin",),
    "dragonfly1d": ("minimal", "valiant", "ugal"),
}
"""Networks (`fattree3`: the tree of three levels) and routings of SST/macro 16, which model pisces-16 follows."""

TOPOLOGIES = tuple(ROUTINGS)

GEOMETRY: dict[str, str] = {
    "torus": "[X, Y, Z]: switches along each dimension",
    "fattree": "[n, d]: n switch levels, d down ports a switch; or {nodes_per_leaf, leaves_per_subtree, subtrees}",
    "dragonfly": "[X, Y, G]: G groups of X x Y switches",
    "dragonfly1d": "[a, G]: G groups of a switches",
}
"""What the numbers of a geometry mean."""

SIZES: dict[str, tuple[int, ...]] = {"torus": (3,), "fattree": (2, 3), "dragonfly": (3,), "dragonfly1d": (2,)}
"""How many numbers a geometry has; three of a fat tree are those of :data:`TREE`."""

TREE = ("nodes_per_leaf", "leaves_per_subtree", "subtrees")
"""Keys of the geometry of a three-level fat tree."""

ARRANGEMENTS = ("circulant",)
"""How the global links of a one-dimensional dragonfly are arranged."""

_VIRTUAL_CHANNELS: dict[tuple[str, str], int] = {
    # Torus: dimension order needs two channels to break each ring's cycle (a dateline); Valiant's second leg two more.
    ("torus", "minimal"): 2,
    ("torus", "valiant"): 4,
    ("torus", "ugal"): 4,
    # Up-down routes of a tree have no cycles.
    **{("fattree", routing): 1 for routing in ROUTINGS["fattree"]},
    # Dimension order inside a group needs no second channel, the way behind a global link does; Valiant's second leg
    # has channels of its own, and the legs of routings that decide again share the same four.
    **{("dragonfly", routing): 4 for routing in ROUTINGS["dragonfly"]},
    ("dragonfly", "minimal"): 2,
    # A channel for each hop: the longest routes, of `par` and `ugal-sstmacro71`, have six.
    **{("dragonfly1d", routing): 6 for routing in ROUTINGS["dragonfly1d"]},
    ("dragonfly1d", "minimal"): 2,
}


@dataclass(frozen=True)
class NetworkFacts:
    """Size of a network.

    Attributes
    ----------
    switches, nodes_per_switch, nodes : int
        Counts; in a fat tree only the lowest level's switches carry nodes.
    ports : int
        Ports of one switch (its radix); the top switches of a full fat tree use only half of theirs, those of a
        one-dimensional dragonfly all but one (SST/macro counts a port to the switch itself).
    """

    switches: int
    nodes_per_switch: int
    nodes: int
    ports: int


def sizes(geometry: Sequence[int] | Mapping[str, int]) -> tuple[int, ...]:
    """Return the numbers of a geometry in canonical form."""
    return tuple(geometry[key] for key in TREE) if isinstance(geometry, Mapping) else tuple(geometry)


def spelled(topology: str, geometry: tuple[int, ...]) -> list[int] | dict[str, int]:
    """Return the canonical form of a geometry: a list, but for the three-level fat tree."""
    if topology == "fattree" and len(geometry) == len(TREE):
        return dict(zip(TREE, geometry, strict=True))
    return list(geometry)


def facts(topology: str, geometry: tuple[int, ...], nodes_per_switch: int, global_links: int = 0) -> NetworkFacts:
    """Return the size of a network as it is built; `global_links` is for `dragonfly1d`.

    A full d-ary n-tree has ``n * d**(n - 1)`` switches; Table 1 of the paper prints one level less, see
    :func:`printed_switches`.
    """
    if topology == "fattree" and len(geometry) == len(TREE):
        per_leaf, leaves, subtrees = geometry
        switches = 2 * leaves * subtrees + per_leaf * leaves
        return NetworkFacts(switches, per_leaf, per_leaf * leaves * subtrees, max(2 * per_leaf, subtrees))
    if topology == "dragonfly1d":
        in_group, groups = geometry
        switches, ports = in_group * groups, in_group + global_links + nodes_per_switch
        return NetworkFacts(switches, nodes_per_switch, switches * nodes_per_switch, ports)
    return _facts(topology, geometry, nodes_per_switch)


def _facts(topology: str, geometry: tuple[int, ...], nodes_per_switch: int) -> NetworkFacts:
    """Return the size of a network of Table 1's kinds."""
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
    if topology == "fattree" and len(geometry) == 2:
        levels, down = geometry
        leaves: int = down ** (levels - 1)
        return (levels - 1) * leaves
    return facts(topology, geometry, nodes_per_switch).switches


def groups(topology: str, geometry: tuple[int, ...]) -> int:
    """Return the number of a network's parts of equally many consecutive nodes.

    They are the groups of a dragonfly, the subtrees below the top of a fat tree, the planes of a torus.
    """
    return geometry[-1]


def virtual_channels(topology: str, routing: str) -> int:
    """Return the number of virtual channels a link's buffer is divided by."""
    return _VIRTUAL_CHANNELS[topology, routing]


def switch_visits(
    topology: str,
    geometry: tuple[int, ...],
    nodes_per_switch: int,
    source: Nodes,
    target: Nodes,
    global_links: int = 0,
) -> Nodes:
    """Return how many switches a packet visits on a shortest path, in a dragonfly with one global link at most.

    Minimal routes of a one-dimensional dragonfly may visit one more: they take any switch of the group that is linked
    to the target's.

    Parameters
    ----------
    source, target : array of int
        Node numbers; nodes are numbered switch by switch, the switches of a torus or dragonfly with x fastest.
    global_links : int
        Of a switch; only for `dragonfly1d`.

    Returns
    -------
    array of int
        1 for two nodes of one switch.
    """
    if topology == "fattree" and len(geometry) == len(TREE):
        per_leaf, leaves, _ = geometry
        a, b = source // per_leaf, target // per_leaf
        return np.asarray(1 + 2 * (a != b).astype(np.int64) + 2 * (a // leaves != b // leaves), dtype=np.int64)
    if topology == "fattree":
        levels, down = geometry
        visits = np.ones(np.broadcast(source, target).shape, dtype=np.int64)
        for level in range(1, levels):
            visits += 2 * (source // down**level != target // down**level)
        return visits
    a, b = source // nodes_per_switch, target // nodes_per_switch
    if topology == "dragonfly1d":
        return _circulant(a, b, geometry, global_links // 2)
    x, y, z = geometry
    ax, ay, az = a % x, a // x % y, a // (x * y)
    bx, by, bz = b % x, b // x % y, b // (x * y)
    if topology == "torus":
        return np.asarray(1 + _ring(ax, bx, x) + _ring(ay, by, y) + _ring(az, bz, z), dtype=np.int64)
    return np.asarray(1 + (ax != bx).astype(np.int64) + (ay != by) + (az != bz), dtype=np.int64)


def _circulant(a: Nodes, b: Nodes, geometry: tuple[int, ...], half: int) -> Nodes:
    """Return the switches on a shortest path of a one-dimensional dragonfly with one global link at most.

    Switch A of a group is linked to switch A of the groups A * half + 1 ... (A + 1) * half further up and down.
    """
    in_group, groups_ = geometry
    own, aim = a % in_group, b % in_group
    apart = (b // in_group - a // in_group) % groups_

    def linked(switch: Nodes) -> NDArray[np.bool_]:
        first = switch * half + 1
        return np.asarray(((apart - first) % groups_ < half) | ((-apart - first) % groups_ < half))

    inside = 1 + (own != aim).astype(np.int64)
    outside = np.where(linked(own), 2 + (own != aim), np.where(linked(aim), 3, 4))
    return np.asarray(np.where(apart == 0, inside, outside), dtype=np.int64)


def _ring(a: Nodes, b: Nodes, size: int) -> Nodes:
    """Return the shorter way round a ring of `size` switches."""
    forward = (b - a) % size
    return np.asarray(np.minimum(forward, size - forward), dtype=np.int64)
