"""Fat trees of any number of levels with tapering and parallel links, against closed forms (Öhring et al. 1995)."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import prod
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .points import NS, machine, outcome, point, transposition

ROUTINGS = ("d-mod-k", "round-robin", "adaptive")


def tree(down: list[int], up: list[int], links: list[int] | None = None, **changes: Any) -> dict[str, Any]:
    """A tree; nothing is said of parallel links where there are none."""
    geometry = {"down": down, "up": up} | ({"links": links} if links else {})
    return machine("fattree", (1, down[0]), **changes) | {"nodes_per_switch": down[0], "geometry": geometry}


@st.composite
def trees(draw: st.DrawFn) -> dict[str, Any]:
    levels = draw(st.integers(2, 4))
    small = st.integers(1, 3)
    down = draw(st.lists(small, min_size=levels, max_size=levels))
    up = [1, *draw(st.lists(small, min_size=levels - 1, max_size=levels - 1))]
    links = [1, *draw(st.lists(st.integers(1, 2), min_size=levels - 1, max_size=levels - 1))]
    return tree(down, up, links, routing=draw(st.sampled_from(ROUTINGS)))


def numbers(net: dict[str, Any]) -> tuple[list[int], list[int], list[int]]:
    geometry = net["geometry"]
    return geometry["down"], geometry["up"], geometry.get("links", [1] * len(geometry["down"]))


@given(net=trees())
@settings(max_examples=60, deadline=None)
def test_counts_distances_and_ways(net: dict[str, Any]) -> None:
    down, up, links = numbers(net)
    levels = len(down)
    facts = _simulator.Network(net).facts()
    at_level = [prod(down[level + 1 :]) * prod(up[: level + 1]) for level in range(levels)]
    ups = [[*up, 0][level + 1] * [*links, 0][level + 1] for level in range(levels)]
    assert (facts["nodes"], facts["switches"]) == (prod(down), sum(at_level))
    assert facts["links"] == sum(count * each for count, each in zip(at_level, ups, strict=True))
    assert facts["ports"] == max(m * p + u for m, p, u in zip(down, links, ups, strict=True))
    # From the first node to each: up to the level at which their subtrees are one, by each of the ways there, and down.
    for target in range(facts["nodes"]):
        level = next(each for each in range(levels) if target < prod(down[: each + 1]))
        routes = _simulator.routes(net, 0, target)
        assert {len(route) for route in routes} == {2 * level + 1}
        switches = {tuple(hop[0] for hop in route) for route in routes}
        free = net["routing"] != "d-mod-k"
        assert len(switches) == (prod(up[: level + 1]) if free else 1)
        assert len(routes) == (prod(up[: level + 1]) * prod(p * p for p in links[: level + 1]) if free else 1)


@given(net=trees())
@settings(max_examples=30, deadline=None)
def test_links_lead_back(net: dict[str, Any]) -> None:
    """Each link is the same from both its ends, so as many links lead from a switch to another as back."""
    facts = _simulator.Network(net).facts()
    pairs: Counter[tuple[int, int]] = Counter()
    routing = {**net, "routing": "adaptive"}
    seen = {
        (hop[0], hop[1], following[0])
        for source in range(facts["nodes"])
        for target in range(facts["nodes"])
        for route in _simulator.routes(routing, source, target)
        for hop, following in pairwise(route)
    }
    for at, _, to in seen:
        pairs[at, to] += 1
    assert all(pairs[to, at] == count for (at, to), count in pairs.items())


@pytest.mark.parametrize("routing", ROUTINGS)
def test_a_full_tree_is_the_same_however_it_is_written(routing: str) -> None:
    full = machine("fattree", (3, 4), routing=routing)
    same = tree([4, 4, 4], [1, 4, 4], routing=routing)
    for work in (transposition((720, 360, 16), (8, 8), 4), transposition((48, 48, 48), (8, 8))):
        results = [outcome(point(64, work, net, 2, 1000 * NS)) for net in (full, same)]
        assert results[0] == results[1]


@pytest.mark.parametrize(
    "net",
    [
        tree([4, 4], [1, 4]),
        tree([4, 4], [1, 2]),  # two links up for four down
        tree([4, 4], [1, 1], [1, 2]),  # the same, by parallel links
        tree([4, 2, 4], [1, 4, 1], [1, 1, 2]),  # only the second level is tapered
        tree([6, 4, 4], [1, 3, 2], [1, 1, 2]),
        tree([2, 2, 2, 2], [1, 2, 2, 1]),
    ],
    ids=lambda net: str(net["geometry"]),
)
def test_d_mod_k_loads_all_links_of_a_level_alike(net: dict[str, Any]) -> None:
    """Where every node sends to its counterpart half the tree away, a subtree's links up share its nodes."""
    down, up, links = numbers(net)
    half = prod(down) // 2
    load: dict[str, Counter[tuple[int, int]]] = {}
    for node in range(2 * half):
        (route,) = _simulator.routes(net, node, (node + half) % (2 * half))
        middle = len(route) // 2
        for number, (at, port, _) in enumerate(route[:-1]):
            name = f"up {number + 1}" if number < middle else f"down {2 * middle - number}"
            load.setdefault(name, Counter())[at, port] += 1
    for level in range(1, len(down)):
        taper = prod(down[:level]) // (prod(up[: level + 1]) * links[level])
        for name in (f"up {level}", f"down {level}"):
            assert set(load[name].values()) == {taper}


@pytest.mark.parametrize(
    ("geometry", "message"),
    [
        (
            {"down": [4], "up": [1]},
            "machine.geometry: found {down: \\[4\\], up: \\[1\\]} for topology fattree; allowed",
        ),
        (
            {"down": [4, 4], "up": [2, 4]},
            "machine.geometry: found nodes with 2 parents and 1 links to each; allowed: 1",
        ),
        ({"down": [4, 4], "up": [1, 4, 4]}, "machine.geometry: found {down: .* for topology fattree; allowed"),
        ({"down": [4, 0]}, "machine.geometry: found 0 as the children of a switch; allowed: 1 to"),
        ({"up": [1, 4]}, "machine.geometry: found {up: .* for topology fattree; allowed"),
        ({"down": [2] * 32}, "machine.geometry: found 32 levels; allowed: at most 31 levels"),
        ({"down": [40_000, 2], "up": [1, 30_000]}, "machine.geometry: found a switch of 70000 ports; allowed: at most"),
        ([4, 4, 1, 2, 1, 1], "machine.geometry: found \\[4, 4, 1, 2, 1, 1\\] for topology fattree; allowed"),
    ],
)
def test_trees_that_cannot_be_are_refused(geometry: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _simulator.Network({"topology": "fattree", "geometry": geometry})
