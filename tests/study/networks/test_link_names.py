"""What single links are called."""

from __future__ import annotations

from typing import Any

import pytest

from tramontane import simulate
from tramontane.study.networks.link_names import LinkNames
from tramontane.study.networks.network import network


def names(**machine: Any) -> LinkNames:
    return LinkNames(machine["topology"], network(machine))


def test_links_of_a_torus_say_where() -> None:
    torus = names(topology="torus", geometry=[4, 3, 2], nodes_per_switch=2)
    # Ports by dimension, up and down; then the nodes. Switch 5 is (1, 1, 0).
    assert torus.name("dimension-1", 5, 0) == "dimension-1 link, switch (1, 1, 0) to (2, 1, 0)"
    assert torus.name("dimension-3", 5, 4) == "dimension-3 link, switch (1, 1, 0) to (1, 1, 1)"
    assert torus.name("ejection", 5, 7) == "ejection link, switch (1, 1, 0) to node 11"


def test_links_of_a_dragonfly_say_their_groups() -> None:
    dragonfly = names(topology="dragonfly", geometry=[2, 2, 3], nodes_per_switch=1)
    assert dragonfly.name("global", 5, 6) == "global link, group 1 to 2 (switch 5 to 9)"
    assert dragonfly.name("local", 5, 0) == "local link, group 1, switch 5 to 4"
    assert dragonfly.name("ejection", 5, 7) == "ejection link, switch 5 of group 1 to node 5"


@pytest.mark.parametrize("machine", [{"topology": "fattree", "geometry": [2, 4]}])
def test_links_of_a_tree_say_their_switches(machine: dict[str, Any]) -> None:
    tree = names(**machine)
    for port in range(tree.net.port_numbers):
        behind, node = tree.ends(1, port)
        assert (behind is None) != (node is None)
        assert tree.name("some", 1, port).endswith(f"to {behind}" if node is None else f"to node {node}")


@pytest.mark.parametrize("links", ["by-class", "hottest"])
@pytest.mark.parametrize("machine", ["fattree-M", "dragonfly-MM"])
def test_telling_links_takes_no_memory_for_those_that_nothing_uses(machine: str, links: str) -> None:
    """The networks have 390,625 nodes and over a million links, of which 100 processes use a few."""
    workload = {"kind": "allreduce", "algorithm": "recursive-doubling", "count": 1}
    point = {"ranks": 100, "machine": machine, "workload": workload}
    plain, told = (simulate(point | more).data["peak_rss_bytes"] for more in ({}, {"statistics": {"links": links}}))
    assert told - plain < 6e6
