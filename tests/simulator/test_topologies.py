"""Networks: minimal routes that are minimal and lead home, D-mod-k, virtual channels."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .points import machine

SMALL = [
    machine("torus", (4, 3, 5), 2),
    machine("torus", (2, 1, 7), 1),
    machine("fattree", (3, 3)),
    machine("fattree", (1, 5)),
    machine("fattree", (4, 2)),
    machine("dragonfly", (3, 2, 4), 2),
    machine("dragonfly", (1, 1, 5), 1),
]


def distance(net: dict[str, Any], a: int, b: int) -> int:
    """Fewest links between the switches of nodes a and b, by the geometry."""
    if net["topology"] == "fattree":
        _, down = net["geometry"]
        up = 0
        while a // down ** (up + 1) != b // down ** (up + 1):
            up += 1
        return 2 * up
    x, y, z = net["geometry"]
    s, t = a // net["nodes_per_switch"], b // net["nodes_per_switch"]
    here = (s % x, s // x % y, s // x // y)
    there = (t % x, t // x % y, t // x // y)
    if net["topology"] == "dragonfly":
        return sum(p != q for p, q in zip(here, there, strict=True))
    return sum(min((p - q) % n, (q - p) % n) for p, q, n in zip(here, there, (x, y, z), strict=True))


@pytest.mark.parametrize("net", SMALL, ids=lambda net: f"{net['topology']}-{net['geometry']}")
def test_every_minimal_route_is_minimal(net: dict[str, Any]) -> None:
    nodes = _simulator.Network(net).facts()["nodes"]
    for a in range(nodes):
        for b in range(nodes):
            route = _simulator.minimal_route(net, a, b)
            assert len(route) == distance(net, a, b) + 1
            assert len(set(route)) == len(route)


@pytest.mark.parametrize(
    "net",
    [
        machine("fattree", (3, 3)),
        machine("fattree", (4, 2)),
        machine("fattree", (4, 3, 3)),
        machine("dragonfly", (3, 2, 4)),
        machine("dragonfly", (2, 4, 3)),
    ],
    ids=lambda net: f"{net['topology']}-{net['geometry']}",
)
def test_switches_that_minimal_routes_meet(net: dict[str, Any]) -> None:
    built = _simulator.Network(net)
    facts = built.facts()
    each = facts["nodes_per_switch"]
    for own in range(1, facts["nodes"] // each + 1):
        pairs = product(range(own * each), repeat=2)
        met = {switch for a, b in pairs for switch in _simulator.minimal_route(net, a, b)}
        assert len(met) == built.switches_near(own)


@given(down=st.integers(2, 5), levels=st.integers(2, 3), data=st.data())
@settings(max_examples=40, deadline=None)
def test_d_mod_k_gives_each_destination_a_way_down_of_its_own(down: int, levels: int, data: st.DataObject) -> None:
    # For a cyclic shift of all nodes no two messages share a link: the paper's reason for the fat tree's speed.
    net = machine("fattree", (levels, down))
    nodes = down**levels
    shift = data.draw(st.integers(1, nodes - 1))
    links = Counter(
        link for node in range(nodes) for link in pairwise(_simulator.minimal_route(net, node, (node + shift) % nodes))
    )
    assert max(links.values(), default=1) == 1


@pytest.mark.parametrize(
    ("topology", "routing", "channels"),
    [
        ("torus", "minimal", 2),
        ("torus", "valiant", 4),
        ("torus", "ugal", 4),
        ("fattree", "d-mod-k", 1),
        ("dragonfly", "minimal", 2),
        ("dragonfly", "valiant", 4),
        ("dragonfly", "valiant-global", 4),
        ("dragonfly", "ugal", 4),
    ],
)
def test_virtual_channels(topology: str, routing: str, channels: int) -> None:
    net = machine(topology, (2, 3) if topology == "fattree" else (3, 3, 3), routing=routing)
    assert _simulator.Network(net).facts()["virtual_channels"] == channels


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"topology": "hypercube"}, "machine.topology: found 'hypercube'; allowed: torus, fattree"),
        ({"geometry": []}, r"found \[\] for topology torus; allowed: \[X, Y, Z\]"),
        ({"geometry": [0, 2, 2]}, "machine.geometry: found 0 as a torus dimension"),
        (
            {"geometry": [2000, 2000, 2000]},
            "found a network of 8000000000 switches; allowed: at most 2147483647 switches",
        ),
        (
            {"routing": "psychic"},
            "machine.routing: found 'psychic' for topology torus; allowed: minimal, valiant, ugal",
        ),
    ],
)
def test_an_impossible_network_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _simulator.Network(machine() | change)
