"""Routings: every route leads home in bounds, none can deadlock, and adaptive ones do what they are for."""

from __future__ import annotations

from collections import Counter
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from statistics import median
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.networks.network import FAMILIES, ROUTINGS

from .points import machine, point, transposition


def plus(*geometry: int) -> dict[str, Any]:
    """Return a Dragonfly+."""
    keys = ("leaves", "spines", "nodes_per_leaf", "groups", "global_links")
    net = machine("dragonfly-plus", ()) | {"geometry": dict(zip(keys, geometry, strict=True))}
    return net | {"nodes_per_switch": geometry[2]}


NETWORKS = {
    "torus": machine("torus", (4, 3, 5)),
    "ring": machine("torus", (1, 2, 6)),
    "tree": machine("fattree", (3, 3)),
    "tall tree": machine("fattree", (4, 2)),
    "tree of subtrees": machine("fattree", (3, 3, 4)),
    "tree with parallel links": machine("fattree", (5, 2, 3)),
    "tapered tree": machine("fattree", (1, 4))
    | {"geometry": {"down": [4, 3, 2], "up": [1, 2, 1], "links": [1, 1, 2]}, "nodes_per_switch": 4},
    "dragonfly": machine("dragonfly", (3, 2, 4)),
    "square dragonfly": machine("dragonfly", (3, 3, 3)),
    "torus, parallel links": machine("torus", (4, 2, 3)) | {"parallel_links": {"dimension-1": 2, "dimension-3": 3}},
    "dragonfly, parallel links": machine("dragonfly", (2, 3, 3)) | {"parallel_links": {"local": 2, "global": 2}},
    "1D dragonfly, parallel local links": machine("dragonfly1d", (3, 4), global_links=4)
    | {"parallel_links": {"local": 2}},
    "1D dragonfly": machine("dragonfly1d", (4, 9), global_links=2),
    "1D dragonfly, several links": machine("dragonfly1d", (3, 5), global_links=4),
    "1D dragonfly, parallel links": machine("dragonfly1d", (3, 4), global_links=4),
    "dragonfly+": plus(2, 2, 1, 5, 2),
    "dragonfly+, several links": plus(2, 3, 2, 4, 2),
    "dragonfly+, parallel links": plus(3, 2, 1, 3, 4),
    "dragonfly+, spines without the way on": plus(2, 3, 1, 4, 1),
    "torus of four dimensions": machine("torus", (4, 2, 2, 2)),
    "mesh": machine("torus", ()) | {"geometry": {"sizes": [4, 3], "wraps": [0, 0]}},
    "torus of meshes and rings": machine("torus", ()) | {"geometry": {"sizes": [2, 5, 3], "wraps": [0, 1, 0]}},
    "hyperx": machine("hyperx", (4, 3)),
    "hypercube": machine("hyperx", (2, 2, 2)),
    "hyperx of three dimensions": machine("hyperx", (3, 2, 3)),
    "hyperx, parallel links": machine("hyperx", (3, 3)) | {"geometry": {"switches": [3, 3], "links": [2, 1]}},
}
CASES = [(name, routing) for name, net in NETWORKS.items() for routing in ROUTINGS[net["topology"]]]
#: The case that takes longest.
LONGEST = ("dragonfly, parallel links", "ugal-sstmacro71")


def routed(name: str, routing: str, **changes: Any) -> dict[str, Any]:
    return {**NETWORKS[name], "routing": routing, **changes}


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    """Networks of every kind with every routing, small enough that all routes of a pair can be walked."""
    topology = draw(st.sampled_from(sorted(ROUTINGS.keys() - {"graph"})))  # which has tests of its own
    routing = draw(st.sampled_from(ROUTINGS[topology]))
    small = st.integers(1, 5)
    two = st.integers(1, 2)
    if topology == "fattree":
        leaves = draw(st.integers(1, 4))
        full = (draw(st.integers(1, 3)), draw(st.integers(1, 3)))
        subtrees = (draw(st.integers(leaves, 4)), leaves, draw(small))
        if draw(st.booleans()):
            return machine(topology, draw(st.sampled_from([full, subtrees])), routing=routing)
        down = [draw(small), 2, 2]
        tapered = {"down": down, "up": [1, draw(two), draw(two)], "links": [1, draw(two), draw(two)]}
        return machine(topology, (1, down[0]), routing=routing) | {"geometry": tapered}
    if topology == "hyperx":
        sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=3 if routing != "dal" else 2))
        parallel = draw(st.lists(st.integers(1, 2), min_size=len(sizes), max_size=len(sizes)))
        net = machine(topology, (), draw(st.integers(1, 2)), routing)
        return net | {"geometry": {"switches": sizes, "links": parallel}}
    if topology == "dragonfly-plus":
        spines, groups = draw(st.integers(1, 3)), draw(st.integers(1, 5))
        links = -(-(groups - 1) // spines) + draw(st.integers(0, 2))
        return plus(draw(st.integers(1, 3)), spines, draw(two), groups, links) | {"routing": routing}
    if topology == "torus" and draw(st.booleans()):
        sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
        wraps = draw(st.lists(st.integers(0, 1), min_size=len(sizes), max_size=len(sizes)))
        return machine(topology, (), draw(two), routing) | {"geometry": {"sizes": sizes, "wraps": wraps}}
    names = ["dimension-1", "dimension-3"] if topology == "torus" else ["local", "global"]
    several: dict[str, Any] = {"parallel_links": draw(st.dictionaries(st.sampled_from(names), two, max_size=1))}
    if topology != "dragonfly1d":
        return machine(topology, (draw(small), draw(small), draw(small)), draw(two), routing) | several
    in_group, groups = draw(small), draw(st.integers(1, 6))
    links = 2 * max(1, -(-(groups // 2) // in_group)) + draw(st.sampled_from([0, 2]))
    return machine(topology, (in_group, groups), draw(two), routing, global_links=links) | several


def longest(net: dict[str, Any], fewest: int) -> int:
    """Most switches on a route by the definitions of docs/routing.md."""
    topology, routing = net["topology"], net["routing"]
    if topology == "dragonfly1d":
        return 1 + {"minimal": 3, "par": 6, "ugal-sstmacro71": 6}.get(routing, 5)
    if not next(each for each in FAMILIES[topology].routings if each.name == routing).non_minimal:
        return fewest
    if topology == "hyperx":  # two hops in each dimension, but for two switches
        return 1 + sum(2 if size > 2 or routing != "dal" else 1 for size in net["geometry"]["switches"])
    if topology == "torus":
        sizes = net["geometry"] if "sizes" not in net["geometry"] else net["geometry"]["sizes"]
        wraps = [1] * len(sizes) if "sizes" not in net["geometry"] else net["geometry"]["wraps"]
        farthest = (size // 2 if ring else size - 1 for size, ring in zip(sizes, wraps, strict=True))
        return 1 + 2 * int(sum(farthest))
    if topology == "dragonfly-plus":  # three hops to a leaf of a third group, three on
        return 1 + 6
    # Before it is diverted, a packet is at most one hop inside a group (par) or two hops away (ugal-sstmacro71).
    return 1 + {"par": 7, "ugal-sstmacro71": 8}.get(routing, 6)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_every_route_leads_home(data: st.DataObject) -> None:
    net = data.draw(networks())
    size = _simulator.Network(net).facts()
    node = st.integers(0, size["nodes"] - 1)
    source, target = data.draw(node), data.draw(node)
    routes = _simulator.routes(net, source, target)
    start, end = (_simulator.minimal_route(net, a, a)[0] for a in (source, target))
    fewest = min(
        len(route) for route in _simulator.routes({**net, "routing": ROUTINGS[net["topology"]][0]}, source, target)
    )
    assert routes
    for route in routes:
        for (at, port, _), (following, _, _) in pairwise(route):
            assert _simulator.neighbours(net, at, [port]) == [following]
            assert at != end
        assert (route[0][0], route[-1][0]) == (start, end)
        assert all(0 <= channel < size["virtual_channels"] for _, _, channel in route)
        # The minimal route of a 1D dragonfly is not always the shortest: gateways are chosen within the group.
        assert (1 if net["topology"] == "dragonfly1d" else fewest) <= len(route) <= longest(net, fewest)


UNUSED = {"dragonfly1d": 1, "ring": 2}
"""Ports that count and lead nowhere: to a switch itself, and round a ring of one."""


@pytest.mark.parametrize("name", NETWORKS)
def test_facts_tell_how_many_links_and_ports_there_are(name: str) -> None:
    net = _simulator.Network(NETWORKS[name])
    facts = net.facts()
    sources = net.links(0, facts["switches"])["source"].tolist()
    assert len(sources) == 2 * facts["links"]
    used = Counter([*sources, *net.switches_of(np.arange(facts["nodes"])).tolist()])
    unused = UNUSED.get(name, UNUSED.get(NETWORKS[name]["topology"], 0))
    assert facts["ports"] == max(used.values()) + unused


def cycle(pairs: list[tuple[int, int]]) -> list[int] | None:
    """A cycle of channels of which each may wait for the next, if there is one."""
    before: dict[int, set[int]] = {}
    for held, wanted in pairs:
        before.setdefault(wanted, set()).add(held)
    try:
        TopologicalSorter(before).prepare()
    except CycleError as error:
        return list(error.args[1])
    return None


@pytest.mark.parametrize(
    ("name", "routing"), [pytest.param(*case, marks=pytest.mark.long if case == LONGEST else []) for case in CASES]
)
def test_no_routing_can_deadlock(name: str, routing: str) -> None:
    # A cycle in this graph is necessary for a deadlock of routes (Dally and Seitz 1987).
    net = routed(name, routing)
    assert cycle(_simulator.channel_dependencies(net)) is None


@pytest.mark.parametrize(
    ("name", "routing"),
    [
        ("torus", "minimal"),
        ("torus", "valiant"),
        ("dragonfly", "valiant"),
        ("1D dragonfly", "minimal"),
        ("hyperx", "valiant"),
        ("hyperx", "dal"),
        ("dragonfly+", "valiant"),
        ("torus of four dimensions", "minimal"),
    ],
)
def test_virtual_channels_are_what_prevents_it(name: str, routing: str) -> None:
    net = routed(name, routing)
    channels = _simulator.Network(net).facts()["virtual_channels"]
    merged = [(held // channels, wanted // channels) for held, wanted in _simulator.channel_dependencies(net)]
    assert cycle(merged) is not None


@pytest.mark.parametrize(("name", "routing"), CASES)
def test_simulations_end_where_a_channel_holds_one_packet(name: str, routing: str) -> None:
    net = routed(name, routing, packet=1000)
    size = _simulator.Network(net).facts()
    net["buffer"] = size["virtual_channels"] * net["packet"]
    columns = size["nodes"] // 4
    work = transposition((48, 48, 48), (4, columns)) | {"algorithm": "burst"}
    del work["radix"]
    result = _simulator.simulate(point(4 * columns, work, net, start_jitter=100_000))
    assert result["hops"] >= result["packets"]


def test_trees_offer_all_ways_up() -> None:
    for routing, ways in (("d-mod-k", 1), ("round-robin", 9), ("adaptive", 9)):
        routes = _simulator.routes(machine("fattree", (3, 3, 4), routing=routing), 0, 35)
        assert len(routes) == ways
        assert {len(route) for route in routes} == {5}
    # Five up ports lead to two aggregation switches: three or two parallel links, down again, too.
    down = {route[1][:2] for route in _simulator.routes(machine("fattree", (5, 2, 3), routing="adaptive"), 0, 9)}
    assert len(down) == 5


def test_d_mod_k_of_subtrees_gives_each_destination_a_way_down_of_its_own() -> None:
    net = machine("fattree", (4, 4, 5))
    links: dict[tuple[int, int], set[int]] = {}
    for target in range(80):
        for source in range(80):
            (route,) = _simulator.routes(net, source, target)
            for at, port, _ in route[len(route) // 2 : -1]:
                links.setdefault((at, port), set()).add(target)
    assert {len(targets) for targets in links.values()} == {1}


def test_detours_relieve_what_is_crowded() -> None:
    # 64 ranks on two groups, whose minimal routes share two links of eighteen.
    net = machine("dragonfly1d", (8, 9), 4, global_links=2, buffer=96_000)
    work = transposition((256, 128, 64), (8, 8), radix=4)

    def time(routing: str) -> float:
        points = (point(64, work, {**net, "routing": routing}, seed, 1_000_000) for seed in range(3))
        return median(float(_simulator.simulate(p)["time_s"]) for p in points)

    direct, *others = map(time, ROUTINGS["dragonfly1d"])
    assert max(others) < 0.6 * direct


@pytest.mark.parametrize("routing", ["round-robin", "adaptive"])
def test_other_ways_up_relieve_what_d_mod_k_crowds(routing: str) -> None:
    # Two nodes of a leaf send to two leaves, to the same place in each, for which D-mod-k takes the same way up. Then
    # the receivers exchange the same amount, undisturbed: one crowded and one free exchange against two free ones.
    # (Messages fit into the buffers, or the pulls would wait behind the NIC's own data.)
    net = machine("fattree", (2, 8), buffer=1_000_000)
    work = {"kind": "allreduce", "algorithm": "recursive-doubling", "count": 100_000, "repeats": 1}

    def time(rule: str) -> float:
        p = point(4, work, {**net, "routing": rule}) | {"allocation": {"nodes": [0, 8, 1, 16]}}
        return float(_simulator.simulate(p)["time_s"])

    assert time("d-mod-k") / time(routing) == pytest.approx(1.5, rel=0.03)


@pytest.mark.parametrize("topology", [name for name, family in FAMILIES.items() if not family.by_table])
def test_a_routing_of_another_topology_is_refused(topology: str) -> None:
    """What the router takes and what a user may write is the same."""
    every = {routing for routings in ROUTINGS.values() for routing in routings} | {"", "shortest"}
    geometry = FAMILIES[topology].example["geometry"]
    net = machine(topology, tuple(geometry), 2, global_links=2) | {"geometry": geometry}
    if topology != "dragonfly1d":
        del net["global_links"]
    work = {"kind": "allreduce", "algorithm": "ring", "count": 1, "repeats": 1}
    for routing in sorted(every):
        if routing in ROUTINGS[topology]:
            _simulator.simulate(point(2, work, {**net, "routing": routing}))
        else:
            with pytest.raises(
                ValueError, match=f"machine.routing: found '{routing}' for topology {topology}; allowed"
            ):
                _simulator.simulate(point(2, work, {**net, "routing": routing}))


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (machine("fattree", (3, 4, 2)), "machine.geometry: found 4 leaves_per_subtree with 3 nodes_per_leaf"),
        (machine("fattree", (3, 4)) | {"nodes_per_switch": 3}, "machine.nodes_per_switch: found 3, where the geometry"),
        (machine("dragonfly1d", (4, 9), global_links=3), "machine.global_links: found 3; allowed: an even number"),
        (machine("dragonfly1d", (2, 9), global_links=2), "machine.global_links: found 2; allowed: .*, 4 or more"),
        (machine("dragonfly1d", (2, 9, 2), global_links=2), "machine.geometry: found \\[2, 9, 2\\]"),
        (machine("torus", (2, 2, 2), global_links=2), "machine.global_links: found 2 for topology torus"),
        (machine("torus", (2, 2, 2), arrangement="circulant"), "machine.arrangement: found circulant for topology"),
        (
            machine("fattree", (2, 2)) | {"parallel_links": {"up-1": 2}},
            "machine.parallel_links: found some for topology fatt",
        ),
        (
            machine("torus", (2, 2, 2)) | {"parallel_links": {"up-1": 2}},
            "parallel_links: found 'up-1' for topology torus; al",
        ),
        (
            machine("torus", (2, 2, 2)) | {"parallel_links": {"ejection": 2}},
            "parallel_links: found 'ejection' for topology",
        ),
        (
            machine("torus", (2, 2, 2)) | {"parallel_links": {"dimension-1": 0}},
            "parallel_links: found 0 as links between",
        ),
    ],
)
def test_impossible_wirings_are_refused(net: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _simulator.Network(net)


@pytest.mark.parametrize("routing", ["minimal", "valiant", "valiant-global", "ugal"])
def test_a_leg_in_a_dragonfly_has_a_channel_before_its_global_link_and_one_behind(routing: str) -> None:
    """Two channels a leg: the second leg begins with the lower of its own, also where the first was between groups."""
    x, y = 2, 3
    net = machine("dragonfly", (x, y, 4), 1, routing)
    seen = set()
    for target in range(1, x * y * 4):
        for route in _simulator.routes(net, 0, target):
            crossed: set[int] = set()
            for (at, _, channel), (following, _, _) in pairwise(route):
                leg, behind = divmod(channel, 2)
                assert behind == (leg in crossed)
                if at // (x * y) != following // (x * y):
                    crossed.add(leg)
                seen.add((leg, behind, 0 in crossed))
    assert seen >= {(0, 0, True), (0, 1, True)}
    if routing != "minimal":
        assert (1, 0, True) in seen
