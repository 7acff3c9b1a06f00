"""Makes graphs: of families that have a closed form or a recipe, and of the simulator's own networks."""

import itertools
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from tramontane.errors import InputError
from tramontane.study.networks import graphs
from tramontane.study.networks.graphs import NODE
from tramontane.study.networks.machines import LinkClass, Machine
from tramontane.study.networks.network import Links as Directions
from tramontane.study.values.settings import filled
from tramontane.study.values.units import BANDWIDTH, TIME, format_quantity
from tramontane.support.files import write_atomically

Links = list[tuple[int, int]]
MOST_ORDER = 1000
"""Largest order of a field of which a graph is made."""
MOST_SPOILED = 500_000
"""Links of random graphs that are drawn in vain before it is done with more care."""


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

    A graph that is not connected is drawn again. Where switches have links to most of the others, those that they do
    not have are drawn.
    """
    if switches * links_of_switch % 2 or not 0 < links_of_switch < switches:
        allowed = f"1 to {switches - 1}; an even number where that of the switches is odd"
        raise InputError("--links", "", links_of_switch, allowed)
    if links_of_switch == 1 and switches > 2:
        raise InputError("--links", "", 1, "2 or more, with which a graph can be connected")
    drawn = random.Random(seed)
    if 2 * links_of_switch >= switches:
        missing = set(_drawn(switches, switches - 1 - links_of_switch, drawn))
        return [(a, b) for a in range(switches) for b in range(a + 1, switches) if (a, b) not in missing]
    while True:
        links = _drawn(switches, links_of_switch, drawn)
        if graphs.connected_parts(switches, np.array(links))[0] == 1:
            return links


def _drawn(switches: int, links_of_switch: int, drawn: random.Random) -> Links:
    """Return the links of a random graph: of less than half of all pairs of switches, connected or not.

    Ends of links are paired at random. A pair that is no link, or one that is there already, trades ends with any
    other, which may spoil that one; then all is drawn again. The more links there are, the more often that happens; in
    the end pairs trade only with those that it does not spoil.
    """
    tries = 0
    while True:
        ends = [switch for switch in range(switches) for _ in range(links_of_switch)]
        drawn.shuffle(ends)
        pairs = list(zip(ends[::2], ends[1::2], strict=True))
        tries += 1
        _trade(pairs, drawn, spoils=tries * len(pairs) <= MOST_SPOILED)
        links = sorted({_sorted(pair) for pair in pairs if pair[0] != pair[1]})
        if len(links) == len(pairs):
            return links


def _trade(pairs: Links, drawn: random.Random, *, spoils: bool) -> None:
    """Let each pair that is no link, or one that is there already, trade ends with others until it is one.

    Where no trade may spoil a pair, it is given up when there seems to be none.
    """
    there: dict[tuple[int, int], int] = {}
    for pair in pairs:
        there[_sorted(pair)] = there.get(_sorted(pair), 0) + 1
    for place in range(len(pairs)):
        for _ in itertools.count() if spoils else range(100 * len(pairs)):
            if pairs[place][0] != pairs[place][1] and there[_sorted(pairs[place])] == 1:
                break
            other = drawn.randrange(len(pairs))
            (a, b), (c, d) = pairs[place], pairs[other]
            made = {_sorted((a, d)), _sorted((c, b))}
            if not spoils and (len(made) == 1 or any(there.get(new) or new[0] == new[1] for new in made)):
                continue
            for new in ((a, d), (c, b)):
                there[_sorted(new)] = there.get(_sorted(new), 0) + 1
            for old in ((a, b), (c, d)):
                there[_sorted(old)] -= 1
            pairs[place], pairs[other] = (a, d), (c, b)


def _sorted(pair: tuple[int, int]) -> tuple[int, int]:
    return (pair[0], pair[1]) if pair[0] < pair[1] else (pair[1], pair[0])


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
    packet changes its virtual channel. Other networks have shortest routes; where there are parallel links, nodes take
    equally near ones in turn. Of a graph the table has what the graph's own file says of its routing.
    """
    net = machine.facts
    found = net.links_between(0, net.switches)
    classes = np.array(net.link_classes)[found.link_class]
    pairs, rules = _pairs_and_rules(machine, found)
    usual = LinkClass.model_construct(bandwidth=machine.link.bandwidth, latency=machine.link.latency)
    rates = machine.links if any(each != usual for each in machine.links.values()) else {}
    named = {"source_port", "target_port", *(("bandwidth", "latency") if rates else ()), *rules}
    order = [name for name in ("class", "bandwidth", "latency", "source_port", "target_port", "preference", "spread",
                               "ring", "dateline") if name in named | {"class"}]  # fmt: skip
    rows: list[list[object]] = [["source", "target", *order]]
    for a, b in pairs:
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


Rules = dict[str, Callable[[Directions, int], object]]
"""What columns say of a link, by one of its directions."""


def _pairs_and_rules(machine: Machine, found: Directions) -> tuple[Iterable[tuple[int, int]], Rules]:
    """Return the two directions of each link, and its routing."""
    if machine.topology == "graph":
        return _of_graph(machine, found)
    parallel = _has_parallel_links(machine)
    # A link of a ring that leaves upwards comes in from below: two switches may have both.
    pairs = _pairs(found, ring=machine.topology == "torus" and not parallel)
    if parallel and machine.topology != "fattree":  # whose own rule takes each
        return pairs, {"spread": lambda found, a: 1}
    return pairs, _RULES[machine.topology](machine) if machine.topology in _RULES else {}


def _has_parallel_links(machine: Machine) -> bool:
    """Tell whether two switches share links that lead the same way; the two of a ring of two do not."""
    net = machine.facts
    of_hyperx = net.geometry[len(net.geometry) // 2 :] if machine.topology == "hyperx" else ()
    return max((*machine.parallel_links.values(), *of_hyperx), default=1) > 1


def _of_graph(machine: Machine, found: Directions) -> tuple[Iterable[tuple[int, int]], Rules]:
    """Return the links of a graph in the order of its file, and what that says of their routing."""
    links, columns = graphs.links_of(Path(machine.table_keys()["table"]))
    ways = zip(found.source.tolist(), found.port.tolist(), strict=True)
    place = {way: number for number, way in enumerate(ways)}
    ends = zip(links["ends"].tolist(), links["ports"].tolist(), strict=True)
    pairs = [(place[a, p], place[b, q]) for (a, b), (p, q) in ends]
    texts = {name: {a: text for (a, _), text in zip(pairs, column, strict=True)} for name, column in columns.items()}
    return pairs, {name: partial(_looked_up, text) for name, text in texts.items()}


def _looked_up(texts: dict[int, object], _found: Directions, a: int) -> object:
    return texts[a]


def _pairs(found: Directions, *, ring: bool) -> Iterable[tuple[int, int]]:
    """Yield the two directions of each link, that of the lower switch first."""
    back: dict[tuple[int, ...], list[int]] = {}
    ways = list(zip(found.source.tolist(), found.target.tolist(), found.port.tolist(), strict=True))
    for place, (s, t, p) in enumerate(ways):
        if s > t:
            back.setdefault((t, s, p ^ 1 if ring else 0), []).append(place)
    for places in back.values():
        places.reverse()
    for place, (s, t, p) in enumerate(ways):
        if s < t:
            yield place, back[s, t, p if ring else 0].pop()


def _torus_rules(machine: Machine) -> Rules:
    """Dimension order is that of the ports; the second channel begins at the link that closes a ring."""
    net = machine.facts
    if net.shape != "torus" and not any(net.geometry[len(net.geometry) // 2 :]):  # a mesh
        return {"spread": lambda found, a: ""}
    return {
        "spread": lambda found, a: "",
        "ring": lambda found, a: found.port[a] // 2,
        # From the lower switch downwards, so round the ring.
        "dateline": lambda found, a: "before" if found.port[a] % 2 else "",
    }


def _dragonfly_rules(machine: Machine) -> Rules:
    """Say the own global link first, then x, then y; the second channel begins behind the global link."""
    x, y, _ = machine.facts.geometry
    return {
        "preference": lambda found, a: 0 if found.port[a] >= x + y else 1 if found.port[a] < x else 2,
        "spread": lambda found, a: "",
        "dateline": lambda found, a: "after" if found.port[a] >= x + y else "",
    }


def _hyperx_rules(machine: Machine) -> Rules:
    return {"preference": lambda found, a: found.link_class[a], "spread": lambda found, a: ""}


def _tree_rules(machine: Machine) -> Rules:
    """D-mod-k: the ways up from a level are shared by as many consecutive nodes as there are ways to it."""
    net = machine.facts
    ups = [name for name in net.link_classes if name.startswith("up-")]
    spread = {name: _ways(net.shape, net.geometry, level) for level, name in enumerate(ups)}
    return {"spread": lambda found, a: spread[net.link_classes[found.link_class[a]]]}


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
        raise InputError("--output", "", file.name, "a name that ends in .csv")
    write_atomically(file, "".join(",".join(map(str, row)) + "\n" for row in rows))
