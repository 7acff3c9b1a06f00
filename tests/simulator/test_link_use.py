"""What links carry, by class: every packet takes one link from each switch that it visits."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.networks.network import network
from tramontane.study.points.points import BY_CLASS, Point
from tramontane.substrates.simulator import Simulator

from .points import allreduce, machine, point

NETWORKS = {
    "torus": machine("torus", (4, 3, 2), 2),
    "dragonfly": machine("dragonfly", (3, 2, 4), 2, routing="ugal"),
    "fat tree": machine("fattree", (3, 4)),
    "dragonfly-plus": machine("dragonfly-plus", (2, 2, 2, 3, 1), 2) | {
        "geometry": {"leaves": 2, "spines": 2, "nodes_per_leaf": 2, "groups": 3, "global_links": 1}
    },
}  # fmt: skip
COUNTED = {"statistics": {"congestion": 0, "links": BY_CLASS}}


def simulate(ranks: int, net: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return dict(_simulator.simulate(point(ranks, allreduce(ranks, count=2000), net) | changes))


def slower(net: dict[str, Any]) -> dict[str, Any]:
    """The same network whose links of the last class are slower."""
    name = network(net).link_classes[-1]
    return net | {"link": net["link"] | {"classes": {name: {"bandwidth": 4 * 10**9, "latency": 300_000}}}}


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("differ", [False, True], ids=["alike", "different"])
def test_every_visit_of_a_switch_takes_a_link(name: str, differ: bool) -> None:
    net = slower(NETWORKS[name]) if differ else NETWORKS[name]
    plain, counted = simulate(12, net), simulate(12, net, **COUNTED)
    assert (counted["time_s"], counted["hops"], counted["events"]) == tuple(
        plain[key] for key in ("time_s", "hops", "events")
    )
    assert "links" not in plain
    links = {each["name"]: each for each in counted["links"]}
    assert tuple(links) == (*network(net).link_classes, "injection")
    injection, ejection = links.pop("injection"), links["ejection"]
    assert sum(each["packets"] for each in links.values()) == counted["hops"]
    assert ejection["packets"] == counted["packets"] + counted["control_packets"]
    for key in ("packets", "bytes"):
        assert injection[key] == ejection[key]


@pytest.mark.parametrize(
    "net",
    [
        *NETWORKS.values(),
        {"topology": "torus", "geometry": {"sizes": [4, 3, 2], "wraps": [0, 1, 0]}},
        {"topology": "hyperx", "geometry": [3, 4]},
        {"topology": "fattree", "geometry": {"down": [6, 4, 2], "up": [1, 3, 1], "links": [1, 1, 2]}},
        {"topology": "fattree", "geometry": {"down": [2, 4, 6], "up": [1, 1, 5]}},
    ],
    ids=lambda net: str(net["geometry"]),
)
def test_links_of_all_classes_are_all_links(net: dict[str, Any]) -> None:
    """Each in both directions; levels of a tree may have switches of different sizes."""
    facts = network(net)
    assert sum(facts.link_counts().values()) - facts.nodes == 2 * facts.links


@given(source=st.integers(0, 47), target=st.integers(0, 47), size=st.integers(1, 4096))
@settings(max_examples=30, deadline=None)
def test_a_message_takes_the_links_of_its_route(source: int, target: int, size: int) -> None:
    """Two ranks, each with an eager message of one packet for the other, on a torus: as many links as they differ."""
    if source == target:
        return
    net = NETWORKS["torus"]
    doubles = max(1, size // 16)
    p = point(2, allreduce(2, count=doubles), net) | COUNTED | {"allocation": {"nodes": [source, target]}}
    result = _simulator.simulate(p)
    # Switch (x, y, z) is x + 4 (y + 3 z), and has two nodes.
    places = [(node // 2 % 4, node // 8 % 3, node // 24) for node in (source, target)]
    for each, size_of, a, b in zip(result["links"][1:-1], (4, 3, 2), *places, strict=True):
        apart = abs(a - b)
        packets = result["packets"] + result["control_packets"]
        assert each["packets"] == packets * min(apart, size_of - apart)
        assert each["bytes"] == result["links"][0]["bytes"] * min(apart, size_of - apart)


def test_load_is_what_a_saturated_link_carries() -> None:
    """Two switches, a large message each way: both directions of the one link are busy nearly all the time."""
    workload = {"kind": "transposition", "algorithm": "burst", "grid": [400, 400, 20], "decomposition": [2, 1]}
    net = {"topology": "torus", "geometry": {"sizes": [2], "wraps": [0]}, "nodes_per_switch": 1}
    made = Point.model_validate({"ranks": 2, "workload": workload, "machine": net, "statistics": {"links": BY_CLASS}})
    result = Simulator().run(made)
    load = {each["name"]: each["load"] for each in result["links"]}
    assert load["ejection"] == load["dimension-1"] == load["injection"]
    assert 0.9 < load["dimension-1"] <= 1
    assert made.canonical()["statistics"] == {"congestion": 0, "links": BY_CLASS}
