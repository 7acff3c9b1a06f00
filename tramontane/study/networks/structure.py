"""What a network is made of, link by link: for its picture, and for the table beside it.

The links come from the compiled extension, which the simulator asks, too.
"""

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from tramontane.study.networks.machines import Machine
from tramontane.study.networks.network import Links, Network, Nodes
from tramontane.study.values.settings import filled
from tramontane.support.formatting import bandwidth, count, picoseconds, plural

MOST_LINKS = 5_000_000
"""Links of the largest network whose links are looked at one by one."""
MOST_FLOW = 300_000
"""Links of the largest network with switches that carry no nodes for which the cut is worked out."""
MOST_PAIRS = 4_000_000
"""Pairs of switches that are looked at for the longest way."""
_NOBODY = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Cut:
    """Links that separate one half of the nodes from the other.

    Attributes
    ----------
    bandwidth : int
        Of these links in one direction [B/s].
    per_node : float
        The same for each node of the smaller half [B/s].
    """

    bandwidth: int
    per_node: float


@dataclass(frozen=True)
class Structure:
    """What a network is made of.

    Attributes
    ----------
    links : dict
        Links between switches by class. A class of one direction only (down a tree) counts its links, too. Empty for a
        network that is too large.
    longest : int
        Links of the longest minimal route.
    exact : bool
        Whether all pairs of switches were looked at for that; else it is at least so long.
    cut : Cut or None
        Between the first half of the nodes and the second; None for a network that is too large.
    """

    links: dict[str, int]
    longest: int
    exact: bool
    cut: Cut | None


def structure(machine: Machine) -> Structure:
    """Return what the network of a machine is made of."""
    net = machine.facts
    longest, exact = _longest(net)
    if net.links > MOST_LINKS:
        return Structure({}, longest, exact, None)
    links = net.links_between(0, net.switches)
    return Structure(_by_class(net, links), longest, exact, _cut(machine, links))


def rows(machine: Machine, found: Structure, varied: Collection[str] = ()) -> list[tuple[str, str]]:
    """Return the lines of a table of the network: words, and what stands beside them.

    Parameters
    ----------
    machine : Machine
        The machine.
    found : Structure
        What its network is made of.
    varied : collection of str
        Keys of the machine that have several values; those it has here say nothing.
    """
    net, nics = machine.facts, machine.node.nics
    fixed = not any(key.startswith("link.") for key in varied)
    lines = [
        ("topology", machine.topology),
        ("size", net.size),
        ("nodes", count(net.nodes // nics)),
        *([("interfaces of a node", count(nics))] if nics > 1 else []),
        ("switches", count(net.switches)),
        ("nodes of a switch", _nodes_of_a_switch(net, nics)),
        ("ports of a switch", count(net.ports)),
        ("groups", count(net.groups)),
        ("links between switches", count(net.links)),
    ]
    for name, each in machine.links.items():
        number = f"{count(found.links[name])} of " if name in found.links else ""
        rate = f"{bandwidth(filled(each.bandwidth))}, {picoseconds(filled(each.latency))}" if fixed else "various rates"
        lines.append((name, number + rate))
    lines.append(("longest route", f"{'' if found.exact else 'at least '}{plural(found.longest, 'link')}"))
    if found.cut and fixed:
        lines.append(("between halves of the nodes", bandwidth(found.cut.bandwidth)))
        if "injection.bandwidth" not in varied:
            share = found.cut.per_node / filled(machine.injection.bandwidth)
            lines.append(("per node, over injection", f"{share:.3g}"))
    routing = "various" if "routing" in varied else f"{machine.routing}, {plural(net.virtual_channels, 'channel')}"
    return [*lines, ("routing", routing)]


def leaf_switches(net: Network) -> Nodes:
    """Return the switches that carry nodes, in the order of their nodes."""
    return net.switches_of(_first_nodes(net))


def _first_nodes(net: Network) -> Nodes:
    """Return the first node of each switch that carries some; those of a graph carry different numbers."""
    return np.sort(np.unique(net.switches_of(np.arange(net.nodes)), return_index=True)[1])


def _nodes_of_a_switch(net: Network, nics: int) -> str:
    """Return how many nodes of so many interfaces a switch has, of those that carry some, e.g. "4" or "1 to 3"."""
    numbers = np.diff(_first_nodes(net), append=net.nodes) // nics
    least, most = int(numbers.min()), int(numbers.max())
    return count(most) if least == most else f"{count(least)} to {count(most)}"


def _by_class(net: Network, links: Links) -> dict[str, int]:
    """Count links; one whose two directions are of one class counts once. A class may have none, as in one group."""
    kinds, numbers = np.unique(links.link_class, return_counts=True)
    return dict.fromkeys(net.link_classes[1:], 0) | {
        net.link_classes[kind]: number // (2 if _both_ways(links, kind) else 1)
        for kind, number in zip(kinds.tolist(), numbers.tolist(), strict=True)
    }


def _by_rate(kinds: Nodes, rates: Sequence[int]) -> dict[int, int]:
    """Return the bandwidth of links of these classes in all, by that of each."""
    found: Counter[int] = Counter()
    for rate, number in zip(rates, np.bincount(kinds, minlength=len(rates)).tolist(), strict=True):
        found[rate] += rate * number
    return +found


def _both_ways(links: Links, kind: int) -> bool:
    """Whether the links of a class lead back."""
    own = np.flatnonzero(links.link_class == kind)[0]
    source, target = links.source[own], links.target[own]
    back = (links.source == target) & (links.target == source)
    return bool(np.any(links.link_class[back] == kind))


def _longest(net: Network) -> tuple[int, bool]:
    """Return the links of the longest minimal route, and whether all pairs were looked at."""
    first = _first_nodes(net)
    leaves = len(first)
    exact = leaves * leaves <= MOST_PAIRS
    if exact:
        source, target = (side.ravel() for side in np.divmod(np.arange(leaves * leaves), leaves))
    else:
        drawn = np.random.default_rng(1)
        source = np.concatenate([np.zeros(leaves, np.int64), drawn.integers(0, leaves, MOST_PAIRS)])
        target = np.concatenate([np.arange(leaves), drawn.integers(0, leaves, MOST_PAIRS)])
    visits = net.visits(first[source], first[target])
    return int(visits.max()) - 1, exact


def _cut(machine: Machine, links: Links) -> Cut | None:
    """Return the least cut between the first half of the nodes and the second, whole switches of them.

    Where no switch ends the first half exactly, that one does which comes nearest to it.
    Switches that carry no nodes belong to the half that needs fewer links: a maximum flow (Ford and Fulkerson 1956).
    """
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import maximum_flow  # noqa: PLC0415

    net = machine.facts
    leaves = leaf_switches(net)
    if len(leaves) < 2:
        return None
    at = net.switches_of(np.arange(net.nodes))
    nodes = np.cumsum(np.bincount(at, minlength=net.switches)[leaves])
    half = int(np.abs(2 * nodes[:-1] - net.nodes).argmin()) + 1
    rates = [filled(each.bandwidth) for each in machine.links.values()]
    side = np.full(net.switches, -1)
    side[leaves[:half]], side[leaves[half:]] = 0, 1
    if np.all(side >= 0):
        flow = sum(_by_rate(links.link_class[(side[links.source] == 0) & (side[links.target] == 1)], rates).values())
    elif len(links.source) > 2 * MOST_FLOW:
        return None
    else:
        known = _by_rate(links.link_class, rates)
        # Flows are numbers of 32 bits: where rates have no common part that makes them small enough, they are rounded.
        unit = max(math.gcd(*known), 4 * sum(known.values()) // _NOBODY + 1)
        capacity = np.array([round(rate / unit) for rate in rates])[links.link_class]
        first, second = net.switches, net.switches + 1
        ends = np.concatenate([leaves[:half], np.full(len(leaves) - half, second)])
        begins = np.concatenate([np.full(half, first), leaves[half:]])
        source = np.concatenate([links.source, begins])
        target = np.concatenate([links.target, ends])
        data = np.concatenate([capacity, np.full(len(leaves), _NOBODY // 4)])
        graph = coo_array((data, (source, target)), shape=(net.switches + 2,) * 2).tocsr()
        flow = unit * int(maximum_flow(graph.astype(np.int32), first, second).flow_value)
    first_half = int(nodes[half - 1])
    return Cut(flow, flow / min(first_half, net.nodes - first_half))
