"""Graphs that somebody has written down: the same as families where they are the same, and what theory says of them."""

from __future__ import annotations

import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from tramontane import _simulator
from tramontane.study.networks import graph_makers as makers
from tramontane.study.networks import graphs
from tramontane.study.networks.machines import Machine

from .points import NS, machine, point, transposition
from .test_routing import NETWORKS, cycle

SAME = (
    "torus",
    "ring",
    "torus of four dimensions",
    "mesh",
    "torus of meshes and rings",
    "dragonfly",
    "square dragonfly",
    "tree",
    "tall tree",
    "tree of subtrees",
    "hyperx",
    "hypercube",
)
TAPERED = machine("fattree", (1, 4)) | {"geometry": {"down": [4, 3, 2], "up": [1, 2, 1]}, "nodes_per_switch": 4}


def packed(folder: Path, rows: list[list[object]], **changes: Any) -> dict[str, Any]:
    """Return a machine whose network is a table of links."""
    file = folder / "links.csv"
    makers.write(file, rows)
    content = bytes(graphs.pack(file))
    table = folder / f"{hash(content)}.pattern"
    table.write_bytes(content)
    net = machine("graph", (), **changes) | {"table": str(table)}
    del net["geometry"]
    if any(row[2:3] == [graphs.NODE] for row in rows):
        del net["nodes_per_switch"]
    return net


def of_family(folder: Path, net: dict[str, Any]) -> dict[str, Any]:
    """Return the machine with the graph of its own network."""
    shape = {key: net[key] for key in ("topology", "geometry", "nodes_per_switch")}
    return packed(folder, makers.of_machine(Machine.model_validate(shape)))


@pytest.mark.parametrize("name", [*SAME, "tapered tree"])
def test_a_family_and_its_graph_take_the_same_time_bit_for_bit(name: str, tmp_path: Path) -> None:
    net = TAPERED if name == "tapered tree" else NETWORKS[name]
    graph = of_family(tmp_path, net)
    own, other = (_simulator.Network(each).facts() for each in (net, graph))
    for key in ("switches", "nodes", "nodes_per_switch", "virtual_channels"):
        assert own[key] == other[key], key
    ranks = own["nodes"] // 4 * 4
    work = transposition((96, 48, 48), (4, ranks // 4)) | {"algorithm": "burst"}
    del work["radix"]
    told = []
    for each in (net, graph):  # a slow crossbar and small buffers: the order of whatever waits matters
        tight = {**each, "crossbar": {"bandwidth": 30 * 10**9}, "buffer": 4 * 4096, "packet": 1500}
        result = _simulator.simulate(point(ranks, work, tight, seed=5, start_jitter=300 * NS))
        told.append({key: result[key] for key in ("time_s", "phases", "delays", "hops", "events")})
    assert told[0] == told[1]


def test_a_mesh_has_one_channel_whatever_its_machine_routes_by(tmp_path: Path) -> None:
    shape = {key: NETWORKS["mesh"][key] for key in ("topology", "geometry", "nodes_per_switch")}
    graph = packed(tmp_path, makers.of_machine(Machine.model_validate(shape | {"routing": "valiant"})))
    assert _simulator.Network(graph).facts()["virtual_channels"] == 1


@pytest.mark.parametrize(
    "name", ["torus, parallel links", "dragonfly, parallel links", "hyperx, parallel links", "two switches"]
)
def test_the_graph_of_a_network_with_parallel_links_uses_each(name: str, tmp_path: Path) -> None:
    two = machine("hyperx", ()) | {"geometry": {"switches": [2], "links": [4]}, "nodes_per_switch": 4}
    net = two if name == "two switches" else NETWORKS[name]
    keys = ("topology", "geometry", "nodes_per_switch", "parallel_links")
    shape = {key: net[key] for key in keys if key in net} | {"nodes_per_switch": 4}
    own = Machine.model_validate(shape).facts
    graph = packed(tmp_path, makers.of_machine(Machine.model_validate(shape)))
    made = _simulator.Network(graph)
    ways = []
    for links in (own.links_between(0, own.switches), made.links(0, own.switches)):
        both = (links["source"], links["target"]) if isinstance(links, dict) else (links.source, links.target)
        ways.append(sorted(zip(*(side.tolist() for side in both), strict=True)))
    assert ways[0] == ways[1]
    used = set()
    for node in range(0, own.nodes, 4):
        for other in range(own.nodes):
            (route,) = _simulator.routes(graph, node, other)
            used |= {(at, port) for at, port, _ in route[:-1]}
    assert len(used) == len(ways[0])


def distances(links: list[tuple[int, int]]) -> Any:
    """Return the links between each two switches, by another's algorithm."""
    ends = np.array(sorted(set(links))).T
    number = int(ends.max()) + 1
    return shortest_path(coo_array((np.ones(ends.shape[1]), (*ends,)), shape=(number, number)).tocsr(), directed=False)


def check_routes(net: dict[str, Any], links: list[tuple[int, int]], nodes: int = 1) -> None:
    """Check that minimal routes are shortest ones, over links that exist."""
    far = distances(links)
    there = {*links, *((b, a) for a, b in links)}
    built = _simulator.Network(net)
    pairs = [(a, b) for a in range(0, len(far), max(1, len(far) // 7)) for b in range(len(far))]
    source, target = (np.array(side) * nodes for side in zip(*pairs, strict=True))
    assert (built.visits(source, target) == 1 + np.array([far[pair] for pair in pairs])).all()
    for a, b in pairs[:: max(1, len(pairs) // 50)]:
        route = _simulator.minimal_route(net, a * nodes, b * nodes)
        assert len(route) == 1 + far[a, b]
        assert all(pair in there for pair in pairwise(route))


@pytest.mark.parametrize("order", [3, 5, 7, 11, 13])
def test_slim_flies_are_those_of_the_closed_form(order: int, tmp_path: Path) -> None:
    links, delta = makers.slim_fly(order), 1 if order % 4 == 1 else -1
    assert len(set(links)) == len(links) == order**2 * (3 * order - delta) // 2
    assert set(np.bincount(np.array(links).ravel())) == {(3 * order - delta) // 2}
    assert distances(links).max() == 2
    net = packed(tmp_path, makers.of_links(links))
    assert _simulator.Network(net).facts()["virtual_channels"] == 2
    check_routes(net, links)


@pytest.mark.parametrize("order", [2, 3, 5, 7, 11])
def test_polarflies_are_those_of_the_closed_form(order: int, tmp_path: Path) -> None:
    links = makers.polarfly(order)
    assert len(set(links)) == len(links) == order * (order + 1) ** 2 // 2
    degrees = np.bincount(np.array(links).ravel())
    assert len(degrees) == order**2 + order + 1
    assert np.bincount(degrees)[[order, order + 1]].tolist() == [order + 1, order**2]
    assert distances(links).max() == 2
    check_routes(packed(tmp_path, makers.of_links(links)), links)


def test_the_jellyfish_is_regular_and_what_its_seed_says(tmp_path: Path) -> None:
    links = makers.jellyfish(1000, 12, 1)
    assert set(np.bincount(np.array(links).ravel())) == {12}
    assert len(set(links)) == 6000
    assert makers.jellyfish(40, 3, 2) == makers.jellyfish(40, 3, 2) != makers.jellyfish(40, 3, 3)
    net = packed(tmp_path, makers.of_links(links))
    # Two graphs that are drawn may differ by a link in the longest way; channels are as many as hops.
    assert _simulator.Network(net).facts()["virtual_channels"] == distances(links).max()
    check_routes(net, links)


@pytest.mark.parametrize(("switches", "links"), [(10, 9), (20, 11), (21, 10), (60, 52)])
def test_a_jellyfish_may_have_most_of_all_links(switches: int, links: int) -> None:
    made = makers.jellyfish(switches, links, 1)
    assert len(set(made)) == len(made)
    assert set(np.bincount(np.array(made).ravel())) == {links}
    assert distances(made).max() <= 2


def test_pairs_of_a_dense_graph_trade_until_each_is_a_link() -> None:
    pairs = [(a, (a + step) % 30) for a in range(30) for step in (1, 2, 3, 4, 5, 6)] * 2
    before = np.bincount(np.array(pairs).ravel()).tolist()
    makers._trade(pairs, random.Random(1), spoils=False)
    assert np.bincount(np.array(pairs).ravel()).tolist() == before
    assert len({tuple(sorted(pair)) for pair in pairs if pair[0] != pair[1]}) == len(pairs)


@st.composite
def any_links(draw: st.DrawFn) -> list[tuple[int, int]]:
    """Connected graphs of all kinds, parallel links among them, always the lower switch first."""
    number = draw(st.integers(2, 14))
    tree = [(draw(st.integers(0, switch - 1)), switch) for switch in range(1, number)]
    end = st.integers(0, number - 1)
    more = draw(st.lists(st.tuples(end, end).filter(lambda pair: pair[0] < pair[1]), max_size=20))
    return [*tree, *more]


@given(links=any_links(), routing=st.sampled_from(["minimal", "valiant", "ugal"]))
@settings(max_examples=60, deadline=None)
def test_no_graph_can_deadlock(links: list[tuple[int, int]], routing: str, tmp_path_factory: Any) -> None:
    net = packed(tmp_path_factory.mktemp("graph"), makers.of_links(links), routing=routing)
    assert cycle(_simulator.channel_dependencies(net)) is None
    check_routes(net, links)


def test_channels_are_found_where_hops_would_need_many(tmp_path: Path) -> None:
    line = [(i, i + 1) for i in range(40)]
    ring = [*line, (0, 40)]
    torus = [(8 * y + x, 8 * y + (x + 1) % 8) for x in range(8) for y in range(8)]
    torus += [(8 * y + x, 8 * ((y + 1) % 8) + x) for x in range(8) for y in range(8)]
    channels = []
    for number, links in enumerate((line, ring, [(min(pair), max(pair)) for pair in torus])):
        folder = tmp_path / str(number)
        folder.mkdir()
        rows = [[*row, ""] for row in makers.of_links(links)]
        rows[0][-1] = "spread"  # that of equally near links by the first, so dimension by dimension
        net = packed(folder, rows)
        channels.append(_simulator.Network(net).facts()["virtual_channels"])
        if number == 1:
            assert cycle(_simulator.channel_dependencies(net)) is None
            merged = [(a // channels[1], b // channels[1]) for a, b in _simulator.channel_dependencies(net)]
            assert cycle(merged) is not None
    assert channels[0] == 1
    assert channels[1] <= 3
    assert channels[2] < 8


def test_a_saturated_link_takes_as_long_as_its_bytes(tmp_path: Path) -> None:
    # Two halves of 4 switches each, one bridge: all nodes of one send to the other, whose link is the slower one.
    halves = [(a + 4 * side, b + 4 * side) for side in (0, 1) for a in range(4) for b in range(a + 1, 4)]
    rows: list[list[object]] = [["source", "target", "class", "bandwidth", "latency"]]
    rows += [[a, b, "local", "10 GB/s", "100 ns"] for a, b in halves]
    rows += [[0, 4, "bridge", "1 GB/s", "2 us"]]
    net = packed(tmp_path, rows, buffer=1_000_000)
    assert _simulator.Network(net).facts()["link_classes"] == ("ejection", "bridge", "local")
    net["protocol"] = {"eager_limit": 10**9, "short_limit": 10**9, "negligible_size": 0}
    work = {"kind": "collective", "operation": "alltoall", "algorithm": "burst", "count": 125_000}
    result = _simulator.simulate(point(8, work, net))
    bridge = 16 * 1_000_000 / 1e9
    assert bridge < result["time_s"] < 1.03 * bridge


def test_datelines_that_leave_a_cycle_are_refused(tmp_path: Path) -> None:
    ring = [[i, (i + 1) % 6, "", ""] if i < 5 else [0, 5, "", ""] for i in range(6)]
    heading: list[object] = ["source", "target", "ring", "dateline"]
    with pytest.raises(ValueError, match=r"machine\.file: found datelines that leave a cycle of channels"):
        _simulator.Network(packed(tmp_path, [heading, *ring]))
    ring[5][3] = "before"
    assert _simulator.Network(packed(tmp_path, [heading, *ring])).facts()["virtual_channels"] == 2
