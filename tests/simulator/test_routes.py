"""Routes by their definitions in docs/routing.md, written down once more: which there are, and how often each is taken.

The models here share no line with the simulator. A leg is a sequence of switches, and comes with its probability.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.patterns import patterns

from .points import machine, point

Route = tuple[int, ...]
Routes = dict[Route, float]
Rule = Callable[[int, int], Routes]


def any_of(routes: Iterable[Route]) -> Routes:
    """Return routes of which each is as likely; one that is told twice is twice as likely."""
    counted = Counter(routes)
    return {route: count / counted.total() for route, count in counted.items()}


def joined(legs: Routes, onward: Rule, target: int) -> Routes:
    """Return legs and the ways on from their ends, cut where a packet meets its destination's switch."""
    all_of_them: dict[Route, float] = defaultdict(float)
    for leg, chance in legs.items():
        for rest, other in onward(leg[-1], target).items():
            route = leg + rest[1:]
            all_of_them[route[: route.index(target) + 1]] += chance * other
    return dict(all_of_them)


def by_intermediate(minimal: Rule, legs: Rule) -> Rule:
    """Return Valiant's routes: a first leg, if there is one, and minimally on."""

    def routes(source: int, target: int) -> Routes:
        return joined(legs(source, target), minimal, target) or minimal(source, target)

    return routes


def to_any(minimal: Rule, switches: Callable[[int, int], Iterable[int]]) -> Rule:
    """Return minimal first legs to any of some switches."""

    def legs(source: int, target: int) -> Routes:
        ends = any_of((end,) for end in switches(source, target) if end not in (source, target))
        return {leg: chance * share for (end,), share in ends.items() for leg, chance in minimal(source, end).items()}

    return legs


# --- grids: torus, HyperX, dragonfly ---------------------------------------------------------------------------------


def place(switch: int, sizes: list[int]) -> list[int]:
    return [int(each) for each in np.unravel_index(switch, sizes, order="F")]


def number(at: list[int], sizes: list[int]) -> int:
    return int(np.ravel_multi_index(at, sizes, order="F"))


def along(sizes: list[int], order: list[int], step: Callable[[int, int, int], int]) -> Rule:
    """Return the routes that go along one dimension after the other, to `step(dimension, at, aim)` in each hop."""

    def routes(source: int, target: int) -> Routes:
        at, aim, route = place(source, sizes), place(target, sizes), [source]
        for d in order:
            while at[d] != aim[d]:
                at[d] = step(d, at[d], aim[d])
                route.append(number(at, sizes))
        return {tuple(route): 1.0}

    return routes


def torus(sizes: list[int], wraps: list[int]) -> Rule:
    def step(d: int, at: int, aim: int) -> int:
        up = (aim - at) % sizes[d]
        upward = 2 * up <= sizes[d] if wraps[d] else aim > at
        return (at + (1 if upward else -1)) % sizes[d]

    return along(sizes, list(range(len(sizes))), step)


def deroutes(sizes: list[int]) -> Rule:
    """Return all routes of DAL: in each dimension to the aim, once by another coordinate."""

    def routes(source: int, target: int) -> Routes:
        found: list[Route] = []

        def go(route: Route, left: frozenset[int]) -> None:
            at, aim = place(route[-1], sizes), place(target, sizes)
            if at == aim:
                found.append(route)
            for d, size in enumerate(sizes):
                for to in set(range(size)) - {at[d]} if at[d] != aim[d] else ():
                    if to == aim[d] or d not in left:
                        then = number([*at[:d], to, *at[d + 1 :]], sizes)
                        go((*route, then), left | ({d} if to != aim[d] else set()))

        go((source,), frozenset())
        return any_of(found)

    return routes


# --- dragonflies -----------------------------------------------------------------------------------------------------


def in_groups(switches: int, groups: int, elsewhere: bool) -> Callable[[int, int], Iterable[int]]:
    """Return the intermediate switches of a dragonfly: of third groups; inside a group those of it."""

    def intermediate(source: int, target: int) -> Iterable[int]:
        ends = {source // switches, target // switches}
        inside = len(ends) == 1 and not elsewhere
        return (each for each in range(switches * groups) if (each // switches in ends) == inside)

    return intermediate


def circulant(switches: int, groups: int, links: int) -> tuple[Rule, Rule]:
    """Return minimal routes and first legs out of a group of the circulant dragonfly."""

    def gateways(group: int, other: int) -> list[int]:
        """Switches of a group that have a link to another one, once for each link."""
        ways = [
            (switch, (group + sign * offset) % groups)
            for switch in range(switches)
            for offset in range(switch * links // 2 + 1, (switch + 1) * links // 2 + 1)
            for sign in (1, -1)
        ]
        return [group * switches + switch for switch, to in ways if to == other != group]

    def over(gateway: int, group: int) -> int:
        return group * switches + gateway % switches

    def minimal(source: int, target: int) -> Routes:
        here, there = source // switches, target // switches
        if here == there:
            return {(source, target) if source != target else (source,): 1.0}
        all_of_them = gateways(here, there)
        starts = [(source,)] if source in all_of_them else [(source, each) for each in set(all_of_them)]
        ends = [(*start, over(start[-1], there)) for start in starts]
        return any_of(end if end[-1] == target else (*end, target) for end in ends)

    def outside(source: int, target: int) -> Routes:
        here = source // switches
        found: dict[Route, float] = defaultdict(float)
        others = set(range(groups)) - {here, target // switches}
        for group in others:
            ways = [each for each in gateways(here, group) if each != source] or [source]
            for leg, chance in any_of((*dict.fromkeys((source, way)), over(way, group)) for way in ways).items():
                found[leg] += chance / len(others)
        return dict(found)

    return minimal, outside


def plus(leaves: int, spines: int, groups: int, links: int) -> tuple[Rule, Rule]:
    """Return minimal routes and first legs of a Dragonfly+."""
    switches, others = leaves + spines, groups - 1
    pairs = range(spines * links // others if others else 0)

    def spine(group: int, other: int, link: int) -> int:
        port = link * others + (other if other < group else other - 1)
        return group * switches + leaves + port // links

    def minimal(source: int, target: int) -> Routes:
        here, there = source // switches, target // switches
        up, down = source % switches < leaves, target % switches < leaves
        if source == target:
            return {(source,): 1.0}
        if here == there:
            middle = range(here * switches + leaves, (here + 1) * switches) if up and down else ()
            return any_of([(source, each, target) for each in middle]) or {(source, target): 1.0}
        ways = [(spine(here, there, link), spine(there, here, link)) for link in pairs]
        return any_of(
            tuple(dict.fromkeys((source, *way, target)))
            for way in ways
            if (up or way[0] == source) and (down or way[1] == target)
        )

    def outside(source: int, target: int) -> Routes:
        here, there = source // switches, target // switches
        ends: dict[int, float] = defaultdict(float)
        for group in set(range(groups)) - {here, there} if here != there else ():
            for link in pairs:
                entry = spine(group, here, link)
                leads_on = any(spine(group, there, way) == entry for way in pairs)
                some = [entry] if leads_on else list(range(group * switches, group * switches + leaves))
                for end in some:
                    ends[end] += 1 / len(some)
        return {
            leg: chance * share / sum(ends.values())
            for end, share in ends.items()
            for leg, chance in minimal(source, end).items()
        }

    return minimal, outside


# --- networks of both ------------------------------------------------------------------------------------------------


def defined(net: dict[str, Any]) -> Rule:
    """Return the rule of a network and its routing."""
    geometry, routing = net["geometry"], net["routing"]
    match net["topology"]:
        case "dragonfly-plus":
            minimal, legs = plus(*(geometry[key] for key in ("leaves", "spines", "groups", "global_links")))
        case "dragonfly1d":
            switches, groups = geometry
            minimal, legs = circulant(switches, groups, net["global_links"])
            if routing == "valiant":
                inside, outside = to_any(minimal, in_groups(switches, groups, elsewhere=False)), legs

                def legs(source: int, target: int) -> Routes:
                    same = source // switches == target // switches
                    return (inside if same else outside)(source, target)

        case "dragonfly":
            x, y, groups = geometry
            minimal = along(geometry, [2, 0, 1], lambda _, at, aim: aim)
            legs = to_any(minimal, in_groups(x * y, groups, routing == "valiant-global"))
        case topology:
            sizes = geometry["sizes" if topology == "torus" else "switches"]
            minimal = (
                torus(sizes, geometry["wraps"])
                if topology == "torus"
                else along(sizes, list(range(len(sizes))), lambda _, at, aim: aim)
            )
            if routing == "dal":
                return deroutes(sizes)
            legs = to_any(minimal, lambda *_: range(math.prod(sizes)))
    return minimal if routing == "minimal" else by_intermediate(minimal, legs)


def net_of(topology: str, geometry: Any, routing: str, per_switch: int = 1, **more: Any) -> dict[str, Any]:
    return machine(topology, (), per_switch, routing, **more) | {"geometry": geometry}


@st.composite
def networks(draw: st.DrawFn) -> dict[str, Any]:
    topology = draw(st.sampled_from(["torus", "hyperx", "dragonfly", "dragonfly1d", "dragonfly-plus"]))
    small, few, two = st.integers(1, 4), st.integers(1, 3), st.integers(1, 2)
    per_switch = draw(two)
    routing = draw(st.sampled_from(["minimal", "valiant"]))
    if topology == "torus":
        sizes = draw(st.lists(small, min_size=1, max_size=4))
        wraps = draw(st.lists(st.integers(0, 1), min_size=len(sizes), max_size=len(sizes)))
        return net_of(topology, {"sizes": sizes, "wraps": wraps}, routing, per_switch)
    if topology == "hyperx":
        sizes = draw(st.lists(st.integers(2, 4), min_size=1, max_size=2))
        parallel = draw(st.lists(two, min_size=len(sizes), max_size=len(sizes)))
        routing = draw(st.sampled_from([routing, "dal"]))
        return net_of(topology, {"switches": sizes, "links": parallel}, routing, per_switch)
    if topology == "dragonfly-plus":
        spines, groups = draw(few), draw(st.integers(1, 5))
        links = -(-(groups - 1) // spines) + draw(small)
        keys = ("leaves", "spines", "nodes_per_leaf", "groups", "global_links")
        geometry = dict(zip(keys, (draw(few), spines, per_switch, groups, links), strict=True))
        return net_of(topology, geometry, routing, per_switch)
    routing = draw(st.sampled_from([routing, "valiant-global"]))
    if topology == "dragonfly":
        return net_of(topology, [draw(small), draw(small), draw(small)], routing, per_switch)
    switches, groups = draw(small), draw(st.integers(2, 7))
    links = 2 * max(1, -(-(groups // 2) // switches)) + draw(st.sampled_from([0, 2]))
    return net_of(topology, [switches, groups], routing, per_switch, global_links=links)


@given(data=st.data())
@settings(max_examples=300, deadline=None)
def test_routes_are_those_that_the_definitions_give(data: st.DataObject) -> None:
    net = data.draw(networks())
    node = st.integers(0, _simulator.Network(net).facts()["nodes"] - 1)
    source, target = data.draw(node), data.draw(node)
    found = {tuple(at for at, _, _ in route) for route in _simulator.routes(net, source, target)}
    start, end = (_simulator.minimal_route(net, each, each)[0] for each in (source, target))
    assert found == (set(defined(net)(start, end)) if start != end else {(start,)})
    (visits,) = _simulator.Network(net).visits(np.array([source]), np.array([target]))
    assert visits == min(len(route) for route in defined(net | {"routing": "minimal"})(start, end))


PLUS = {"leaves": 2, "spines": 3, "nodes_per_leaf": 1, "groups": 4, "global_links": 3}


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("net", "source", "target"),
    [
        (net_of("torus", {"sizes": [4, 3, 3], "wraps": [1, 1, 0]}, "valiant"), 0, 29),
        (net_of("hyperx", {"switches": [4, 3], "links": [3, 2]}, "valiant"), 0, 11),
        (net_of("dragonfly", [3, 2, 6], "valiant"), 0, 35),
        (net_of("dragonfly", [3, 2, 6], "valiant"), 0, 5),
        (net_of("dragonfly", [3, 2, 6], "valiant-global"), 0, 5),
        (net_of("dragonfly1d", [5, 7], "minimal", global_links=2), 3, 33),
        (net_of("dragonfly1d", [4, 9], "valiant", global_links=2), 0, 20),
        (net_of("dragonfly1d", [3, 5], "valiant", global_links=4), 2, 13),
        (net_of("dragonfly1d", [3, 5], "valiant-global", global_links=4), 0, 1),
        (net_of("dragonfly1d", [2, 3], "minimal", global_links=4), 0, 3),
        (net_of("dragonfly-plus", PLUS, "minimal"), 0, 7),
        (net_of("dragonfly-plus", PLUS, "valiant"), 0, 7),
    ],
    ids=lambda value: f"{value['topology']}-{value['routing']}" if isinstance(value, dict) else str(value),
)
def test_each_route_is_taken_as_often_as_its_chances_say(net: dict[str, Any], source: int, target: int) -> None:
    """One message of many packets; headers, get requests and acknowledgements are three more at most."""
    packets, size = 3000, 512
    columns = {"source": [source], "target": [target], "bytes": [packets * size]}
    table = patterns.kept_messages({name: np.array(column) for name, column in columns.items()}, "one message")
    nodes = _simulator.Network(net).facts()["nodes"]
    work = {"kind": "pattern", "table": str(patterns.table(table)), "repeats": 1}
    statistics = {"congestion": 0, "links": "each", "bins": 0, "waiting": 0}
    run = point(nodes, work, net | {"packet": size}) | {"statistics": statistics}
    start, end = (_simulator.minimal_route(net, each, each)[0] for each in (source, target))
    chances: dict[Route, float] = defaultdict(float)
    for route, chance in defined(net)(start, end).items():
        for hop in pairwise(route):
            chances[hop] += chance
    carried = _simulator.simulate(run)["single_links"]
    counted = {(link["switch"], link["port"]): link["packets"] for link in carried if "switch" in link}
    links = _simulator.Network(net).links(0, _simulator.Network(net).facts()["switches"])
    hops = list(zip(links["source"].tolist(), links["target"].tolist(), strict=True))
    parallel = Counter(hops)
    for hop, port in zip(hops, links["port"].tolist(), strict=True):
        chance = chances[hop] / parallel[hop]
        error = 4 * math.sqrt(packets * chance * max(0, 1 - chance))
        assert abs(counted.get((hop[0], port), 0) - packets * chance) <= error + 3, (hop, port)
