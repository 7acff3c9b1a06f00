"""Makes graphs: of families that have a closed form or a recipe, and of the simulator's own networks."""

import random
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tramontane.errors import InputError
from tramontane.study.networks.graphs import NODE
from tramontane.study.networks.machines import LinkClass, Machine
from tramontane.study.values.settings import filled
from tramontane.study.values.units import BANDWIDTH, TIME, format_quantity
from tramontane.support.files import write_atomically

Links = list[tuple[int, int]]
MOST_ORDER = 1000
"""Largest order of a field of which a graph is made."""


def slim_fly(order: int) -> Links:
    """Return the links of a Slim Fly: 2 q^2 switches, any two of which are two links apart or less.

    It is the graph of McKay, Miller and Siran (1998) that Besta and Hoefler (2014) build networks of: switches
    (0, x, y) and (1, m, c) over the field of q elements, numbered one half after the other.

    Parameters
    ----------
    order : int
        q, an odd prime; each switch has (3 q - d) / 2 links, where d is 1 or -1 and q - d a multiple of 4.
    """
    _check_prime(order, least=3)
    delta = 1 if order % 4 == 1 else -1
    root = _primitive_root(order)
    power = [pow(root, i, order) for i in range(order - 1)]
    if delta == 1:
        first, second = set(power[0::2]), set(power[1::2])
    else:  # q = 4 w - 1: both sets are symmetric, and meet in two elements
        half = (order + 1) // 2
        first = {*power[0:half:2], *power[half - 1 :: 2]}
        second = {*power[1:half:2], *power[half::2], power[0]}
    links = []
    for side, steps in enumerate((first, second)):
        for column in range(order):
            base = (side * order + column) * order
            links += [(base + a, base + b) for a in range(order) for b in range(a + 1, order) if b - a in steps]
    for x in range(order):
        for m in range(order):
            for c in range(order):
                links.append((x * order + (m * x + c) % order, (order + m) * order + c))
    return links


def polarfly(order: int) -> Links:
    """Return the links of a PolarFly: q^2 + q + 1 switches, any two of which are two links apart or less.

    It is the polarity graph of Erdos and Renyi that Lakhotia et al. (2022) build networks of: switches are the points
    of a projective plane, linked where their vectors are orthogonal.

    Parameters
    ----------
    order : int
        q, a prime; each switch has q + 1 links but for q + 1 of them, which are orthogonal to themselves, with q.
    """
    _check_prime(order, least=2)
    points = np.array(
        [(1, y, z) for y in range(order) for z in range(order)] + [(0, 1, z) for z in range(order)] + [(0, 0, 1)]
    )
    links: Links = []
    for number, point in enumerate(points):
        others = np.flatnonzero(points[number + 1 :] @ point % order == 0) + number + 1
        links += [(number, int(other)) for other in others]
    return links


def jellyfish(switches: int, links_of_switch: int, seed: int) -> Links:
    """Return the links of a Jellyfish: a random graph whose switches all have as many links (Singla et al. 2012).

    Ends of links are paired at random; a pair that is no link, or one that is there already, trades ends with any
    other, and a graph that is not connected is drawn again.
    """
    if switches * links_of_switch % 2 or not 0 < links_of_switch < switches:
        allowed = f"1 to {switches - 1}; an even number where that of the switches is odd"
        raise InputError("--links", "", links_of_switch, allowed)
    if links_of_switch == 1 and switches > 2:
        raise InputError("--links", "", 1, "2 or more, with which a graph can be connected")
    drawn = random.Random(seed)
    while True:
        ends = [switch for switch in range(switches) for _ in range(links_of_switch)]
        drawn.shuffle(ends)
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        there: dict[tuple[int, int], int] = {}
        for pair in pairs:
            there[_sorted(pair)] = there.get(_sorted(pair), 0) + 1
        for place in range(len(pairs)):
            while pairs[place][0] == pairs[place][1] or there[_sorted(pairs[place])] > 1:
                other = drawn.randrange(len(pairs))
                (a, b), (c, d) = pairs[place], pairs[other]
                for new in ((a, d), (c, b)):
                    there[_sorted(new)] = there.get(_sorted(new), 0) + 1
                for old in ((a, b), (c, d)):
                    there[_sorted(old)] -= 1
                pairs[place], pairs[other] = (a, d), (c, b)
        links = sorted({_sorted(pair) for pair in pairs if pair[0] != pair[1]})
        if len(links) == len(pairs) and _connected(switches, links):
            return links


def _sorted(pair: tuple[int, int]) -> tuple[int, int]:
    return (pair[0], pair[1]) if pair[0] < pair[1] else (pair[1], pair[0])


def _connected(switches: int, links: Links) -> bool:
    from scipy.sparse import coo_array  # noqa: PLC0415 - slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    source, target = np.array(links).T
    matrix = coo_array((np.ones(len(links), dtype=np.int8), (source, target)), shape=(switches, switches))
    return bool(connected_components(matrix.tocsr(), directed=False)[0] == 1)


def _check_prime(order: int, least: int) -> None:
    if not least <= order <= MOST_ORDER or any(order % factor == 0 for factor in range(2, int(order**0.5) + 1)):
        raise InputError("ORDER", "", order, f"a prime, {least} to {MOST_ORDER}")


def _primitive_root(prime: int) -> int:
    return next(g for g in range(2, prime) if len({pow(g, i, prime) for i in range(prime - 1)}) == prime - 1)


def of_links(links: Links, parallel: int = 1) -> list[list[object]]:
    """Return the rows of a table of links, the heading first, with `parallel` links between each two switches."""
    rows: list[list[object]] = [["source", "target"]]
    rows.extend([a, b] for a, b in links for _ in range(parallel))
    return rows


def of_machine(machine: Machine) -> list[list[object]]:
    """Return the rows of a table of a machine's network, the heading first.

    Ports are those of the network. Of torus and mesh, dragonfly, HyperX and trees without parallel links the table has
    their minimal routing, too: which of equally near links goes first, how trees spread nodes over them, and where a
    packet changes its virtual channel.
    """
    net = machine.facts
    found = net.links_between(0, net.switches)
    classes = np.array(net.link_classes)[found.link_class]
    rules = _RULES.get(machine.topology, _no_rule)(machine)
    usual = LinkClass.model_construct(bandwidth=machine.link.bandwidth, latency=machine.link.latency)
    rates = machine.links if any(each != usual for each in machine.links.values()) else {}
    named = {"source_port", "target_port", *(("bandwidth", "latency") if rates else ()), *rules}
    order = [name for name in ("class", "bandwidth", "latency", "source_port", "target_port", "preference", "spread",
                               "ring", "dateline") if name in named | {"class"}]  # fmt: skip
    rows: list[list[object]] = [["source", "target", *order]]
    for a, b in _pairs(machine.topology, found.source, found.target, found.port):
        told: dict[str, object] = {"class": classes[a], "source_port": found.port[a], "target_port": found.port[b]}
        if rates:
            own, back = (rates[str(classes[end])] for end in (a, b))
            if own != back:
                raise InputError(machine.label, "link.classes", str(classes[b]), f"links like {classes[a]}, both ways")
            told["bandwidth"] = format_quantity(filled(own.bandwidth), BANDWIDTH)
            told["latency"] = format_quantity(filled(own.latency), TIME)
        told |= {name: rule(found, a) for name, rule in rules.items()}
        rows.append([found.source[a], found.target[a], *(told[name] for name in order)])
    at = net.switches_of(np.arange(net.nodes))
    ports = net.node_ports(np.arange(net.nodes))
    where = {"class": NODE, "target_port": None}
    for node in range(net.nodes):
        cells = {**where, "target_port": ports[node]}
        rows.append([f"n{node}", at[node], *(cells.get(name, "") for name in order)])
    return rows


def _pairs(topology: str, source: Any, target: Any, port: Any) -> Iterable[tuple[int, int]]:
    """Yield the two directions of each link, that of the lower switch first."""
    back: dict[tuple[int, ...], list[int]] = {}
    ring = topology == "torus"  # a link that leaves upwards comes in from below: two switches may have both
    for place, (s, t, p) in enumerate(zip(source.tolist(), target.tolist(), port.tolist(), strict=True)):
        if s > t:
            back.setdefault((t, s, p ^ 1 if ring else 0), []).append(place)
    for places in back.values():
        places.reverse()
    for place, (s, t, p) in enumerate(zip(source.tolist(), target.tolist(), port.tolist(), strict=True)):
        if s < t:
            yield place, back[s, t, p if ring else 0].pop()


def _no_rule(machine: Machine) -> dict[str, Any]:
    return {}


def _torus_rules(machine: Machine) -> dict[str, Any]:
    """Dimension order is that of the ports; the second channel begins at the link that closes a ring."""
    if machine.facts.virtual_channels == 1:
        return {"spread": lambda found, a: ""}
    return {
        "spread": lambda found, a: "",
        "ring": lambda found, a: found.port[a] // 2,
        # From the lower switch downwards, so round the ring.
        "dateline": lambda found, a: "before" if found.port[a] % 2 else "",
    }


def _dragonfly_rules(machine: Machine) -> dict[str, Any]:
    """Say the own global link first, then x, then y; the second channel begins behind the global link."""
    x, y, _ = machine.facts.geometry
    return {
        "preference": lambda found, a: 0 if found.port[a] >= x + y else 1 if found.port[a] < x else 2,
        "spread": lambda found, a: "",
        "dateline": lambda found, a: "after" if found.port[a] >= x + y else "",
    }


def _hyperx_rules(machine: Machine) -> dict[str, Any]:
    return {"preference": lambda found, a: found.link_class[a], "spread": lambda found, a: ""}


def _tree_rules(machine: Machine) -> dict[str, Any]:
    """D-mod-k: the ways up from a level are shared by as many consecutive nodes as there are ways to it."""
    net = machine.facts
    spread = {name: _ways(net.shape, net.geometry, level) for level, name in enumerate(_ups(net.link_classes))}
    return {"spread": lambda found, a: spread[net.link_classes[found.link_class[a]]]}


def _ups(classes: Sequence[str]) -> list[str]:
    return [name for name in classes if name.startswith("up-")]


def _ways(shape: str, geometry: Sequence[int], level: int) -> int:
    """Return which way up packets take from a level, 0 the lowest: node / ways modulo the number of ports."""
    if shape == "generalized-fattree":
        ups = geometry[len(geometry) // 3 : 2 * len(geometry) // 3]
        return int(np.prod(ups[: level + 1]))
    return int((geometry[1] if shape == "fattree" else geometry[0]) ** level)


_RULES = {"torus": _torus_rules, "dragonfly": _dragonfly_rules, "hyperx": _hyperx_rules, "fattree": _tree_rules}


def write(file: Path, rows: Iterable[Sequence[object]]) -> None:
    """Write a table of links as .csv, whole or not at all."""
    if file.suffix != ".csv":
        raise InputError("--to", "", file.name, "a name that ends in .csv")
    write_atomically(file, "".join(",".join(map(str, row)) + "\n" for row in rows))
