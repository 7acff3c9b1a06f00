"""Several ranks on a node: what they share, what stays inside, and what must not matter."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.networks.mapping import Mapping

from .points import GB, NS, allreduce, copy_ns, exchange_ns, machine, outcome, point, transposition
from .test_invariants import workloads
from .test_recorded import random_point

INSIDE = {"latency": 500 * NS, "bandwidth": 5 * GB, "memory_bandwidth": "unlimited"}
FREE = INSIDE | {"latency": 1, "bandwidth": 200_000 * GB}
"""A way inside a node that takes no time beside that of the network."""


def shared(ranks: int, workload: dict[str, Any], net: dict[str, Any], per_node: int, **keys: Any) -> dict[str, Any]:
    """Return a point with several ranks a node; keys of the node that the machine lacks are those of `INSIDE`."""
    net = net | {"node": INSIDE | net.get("node", {})}
    return point(ranks, workload, net) | {"ranks_per_node": per_node} | keys


@pytest.mark.parametrize("n", [16, 64, 512, 1024, 8192, 8208, 2**20])
@pytest.mark.parametrize(
    "net",
    [
        machine(geometry=(1, 1, 1), nodes_per_switch=2),
        machine("fattree", (3, 2), link={"bandwidth": GB, "latency": 1000 * NS}),
        machine("dragonfly", (2, 2, 2), 2, "valiant", protocol={"negligible_size": 2000}),
    ],
    ids=["torus", "fattree", "dragonfly"],
)
def test_a_message_inside_a_node_never_meets_the_network(n: int, net: dict[str, Any]) -> None:
    result = _simulator.simulate(shared(2, transposition((2, 2, n // 8), (2, 1)), net, 2))
    assert result["time_s"] * 1e9 == pytest.approx(2 * exchange_ns(n, 500, 5), abs=1e-3)
    assert (result["hops"], result["control_packets"], result["messages"], result["bytes"]) == (0, 0, 4, 4 * n)
    assert result["delays"]["sum_s"] == 0
    assert sum(result["delays"]["packets"]) == result["packets"] == 4 * -(-n // 4096)


def test_the_memory_of_a_node_serves_payloads_one_after_the_other() -> None:
    n = 2**20
    # Both are pulled at the same time; the second begins when the memory, at 2 GB/s, has served the first.
    net = machine(geometry=(1, 1, 1)) | {"node": INSIDE | {"memory_bandwidth": 2 * GB}}
    result = _simulator.simulate(shared(2, transposition((2, 2, n // 8), (2, 1)), net, 2))
    assert result["phases"]["a-b"] * 1e9 == pytest.approx(3 * (500 + 64 / 2) + 500 + 2 * n / 2, abs=1e-3)
    # Ten times the bandwidth of a message: it begins a tenth later.
    net["node"] |= {"memory_bandwidth": 50 * GB}
    result = _simulator.simulate(shared(2, transposition((2, 2, n // 8), (2, 1)), net, 2))
    assert result["phases"]["a-b"] * 1e9 == pytest.approx(3 * (500 + 64 / 5) + 500 + n / 50 + n / 5, abs=1e-3)


CHOICES = ["rank", "block", "round-robin", "destination"]


def railed(nics: int, node: dict[str, Any], switches: int = 2, **changes: Any) -> dict[str, Any]:
    """Return a machine of nodes with several interfaces, one node a switch, whose links never limit."""
    net = machine(geometry=(switches, 1, 1), nodes_per_switch=nics, link={"bandwidth": 1000 * GB}, **changes)
    return net | {"node": FREE | {"nics": nics} | node}


def check_exchange(net: dict[str, Any], per_node: int, n: int) -> None:
    """Check the time of two nodes, each rank of which exchanges per_node n bytes with one of the other's."""
    work = transposition((2 * per_node, 2 * per_node, n // 8), (2, per_node))
    nodes = [rank % 2 for rank in range(2 * per_node)]
    result = _simulator.simulate(shared(2 * per_node, work, net, per_node, mapping={"nodes": nodes}))
    expected = per_node * per_node * n / net["node"]["nics"] / (10 * GB)
    assert expected <= result["phases"]["a-b"] <= 1.02 * expected + 5e-6


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize(("per_node", "nics"), [(1, 1), (2, 1), (4, 1), (8, 1), (2, 2), (4, 2), (8, 4), (6, 3)])
def test_ranks_of_a_node_share_its_interfaces(per_node: int, nics: int, choice: str) -> None:
    check_exchange(railed(nics, {"nic_choice": choice}), per_node, 2**19)


@pytest.mark.parametrize("per_node", [1, 2, 4])
@pytest.mark.parametrize("service", ["fifo", "round-robin"])
@pytest.mark.parametrize(("nics", "choice"), [(2, "rank"), (4, "block"), (4, "round-robin"), (6, "destination")])
def test_stripes_take_all_interfaces(nics: int, choice: str, service: str, per_node: int) -> None:
    net = railed(nics, {"nic_choice": choice, "stripe_above": 10_000}, injection={"service": service})
    check_exchange(net, per_node, 2**20)


@pytest.mark.parametrize(
    ("n", "longest"), [(9_000, 9_000), (10_000, 10_000), (10_016, 4096), (16_384, 4096), (24_576, 8192), (2**20, 2**18)]
)
def test_a_message_alone_is_striped_by_packets(n: int, longest: int) -> None:
    net = railed(4, {"stripe_above": 10_000}, protocol={"eager_limit": 0, "short_limit": 0})
    alone = net | {"node": FREE | {"nics": 4}}
    striped, whole = (
        _simulator.simulate(point(2, transposition((2, 2, n // 8), (2, 1)), each))["phases"]["a-b"]
        for each in (net, alone)
    )
    assert whole - striped == pytest.approx((n - longest) / (10 * GB), rel=1e-3)
    given = point(2, transposition((2, 2, n // 8), (2, 1)), net)
    _, (bound,) = _simulator.earliest_ends(given)
    assert bound <= _simulator.simulate(given)["time_s"]


@pytest.mark.parametrize(
    ("node", "revision"),
    [({}, 2), ({"nic_choice": "block"}, 2), ({"nic_choice": "destination"}, 3), ({"stripe_above": 10_000}, 3)],
)
def test_a_revision_is_of_the_points_that_it_changed(node: dict[str, Any], revision: int) -> None:
    work = transposition((2, 2, 8), (2, 1))
    assert _simulator.model_revision(point(2, work, railed(4, node))) == revision
    by_hardware = railed(4, node, protocol={"progress": "hardware"})
    assert _simulator.model_revision(point(2, work, by_hardware)) == 4
    assert _simulator.MODEL_REVISION == 7


def test_a_destination_has_its_interface() -> None:
    n, ranks = 2**20, 5
    work = {"kind": "collective", "operation": "scatter", "algorithm": "linear", "count": n // 8, "root": 4}
    times = {
        choice: _simulator.simulate(point(ranks, work, railed(4, {"nic_choice": choice}, switches=ranks)))["time_s"]
        for choice in CHOICES
    }
    # The root's one rank has one interface; else each of the four others gets its block by another one.
    assert times["rank"] == times["block"] == pytest.approx(4 * n / (10 * GB), rel=0.02)
    assert times["destination"] == pytest.approx(n / (10 * GB), rel=0.02)
    assert times["round-robin"] == pytest.approx(n / (10 * GB), rel=0.02)


def test_large_allreduce_by_two_nodes() -> None:
    # Recursive doubling: the last stage is between the nodes, and the interface serves all ranks of a node.
    count = 2**17
    times = {}
    for per_node in (1, 2, 4):
        net = machine(geometry=(2, 1, 1), link={"bandwidth": 1000 * GB}) | {"node": FREE}
        times[per_node] = _simulator.simulate(shared(2 * per_node, allreduce(2, count), net, per_node))["time_s"]
    for per_node, time in times.items():
        assert time == pytest.approx(per_node * count * 8 / (10 * GB), rel=0.02)


def test_negligible_messages_stay_inside_a_node_too() -> None:
    net = machine(protocol={"negligible_size": 256}, logp={"out_in_latency": 30 * NS, "hop_latency": 7 * NS})
    result = _simulator.simulate(shared(4, allreduce(2), net, 2))
    stages = [500 + 24 / 5, 30 + 7 + 24 / 10]
    assert result["time_s"] * 1e9 == pytest.approx(sum(stages) + 4 * copy_ns(24), abs=0.01)


NETWORKS = {
    "torus": machine("torus", (4, 4, 2), 2),
    "fattree": machine("fattree", (3, 4), routing="adaptive"),
    "dragonfly": machine("dragonfly", (4, 4, 2), 2, "valiant", buffer=128_000),
    "ugal-g": machine("dragonfly", (4, 4, 2), 2, "ugal-g", buffer=128_000),
}
TILED = {"tile": [2, 2]}
LISTED = {"nodes": [rank * 7 % 16 for rank in range(64)]}


@pytest.mark.parametrize("mapping", ["block", "cyclic", "random", TILED, LISTED], ids=str)
@pytest.mark.parametrize("network", NETWORKS)
def test_windows_and_threads(network: str, mapping: object) -> None:
    net = NETWORKS[network] | {"node": INSIDE | {"nics": 2, "nic_choice": "round-robin", "memory_bandwidth": 20 * GB}}
    for work in (transposition((360, 90, 16), (8, 8), 4), allreduce(4, 200, 3)):
        p = shared(64, work, net, 4, mapping=mapping, seed=3) | {
            "workload": work | {"decomposition": [8, 8]} if "grid" in work else work,
            "mapping": mapping if "grid" in work or mapping != TILED else "block",
            "start_jitter": 300 * NS,
            "noise": {"duration": 900 * NS, "period": 10_000 * NS, "pattern": "random"},
        }
        expected = outcome(p)
        for threads, window in ((2, 0), (3, 7_000), (4, 20_000), (1, 3_000)):
            assert outcome(p, threads=threads, window=window) == expected


def test_the_same_places_give_the_same_bits() -> None:
    net = NETWORKS["torus"] | {"node": INSIDE | {"memory_bandwidth": 8 * GB}}
    work = transposition((360, 90, 16), (8, 8), 4)

    def mapped(mapping: object) -> dict[str, Any]:
        return outcome(shared(64, work, net, 4, mapping=mapping))

    assert mapped("block") == mapped({"nodes": [rank // 4 for rank in range(64)]})
    assert mapped("cyclic") == mapped({"nodes": [rank % 16 for rank in range(64)]})
    assert mapped({"tile": [4, 1]}) == mapped("block")
    tiles = [rank // 8 // 2 * 4 + rank % 8 // 2 for rank in range(64)]
    assert mapped(TILED) == mapped({"nodes": tiles})
    drawn = Mapping("random", 64, 4).node_of(np.arange(64)).tolist()
    assert mapped("random") == mapped({"nodes": drawn})
    assert len({mapped(rule)["time_s"] for rule in ("block", "cyclic", "random", TILED)}) == 4


@pytest.mark.parametrize("number", range(0, 192, 16))
def test_with_one_rank_a_node_the_mapping_is_the_allocation(number: int) -> None:
    p = random_point(number)
    nodes = Random(number).sample(range(p["ranks"]), p["ranks"])
    assert outcome(p | {"mapping": {"nodes": nodes}}) == outcome(p | {"allocation": {"nodes": nodes}})


def test_interfaces_are_nodes_of_the_topology() -> None:
    # Of two switches with four nodes each, the second compute node of two interfaces is on the first switch.
    net = machine(geometry=(2, 1, 1), nodes_per_switch=4) | {"node": INSIDE | {"nics": 2}}
    hops = {
        nodes: _simulator.simulate(shared(4, allreduce(2), net, 2) | {"allocation": {"nodes": list(nodes)}})["hops"]
        for nodes in ((0, 1), (2, 3), (0, 2), (1, 3))
    }
    assert hops == {(0, 1): 4, (2, 3): 4, (0, 2): 8, (1, 3): 8}


@st.composite
def points(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a small point with one to six ranks a node, mapped by any rule."""
    per_node = draw(st.integers(1, 6))
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 6))
    ranks = max(2, rows * columns)
    rows, columns = (rows, columns) if rows * columns == ranks else (2, 1)
    per_switch = draw(st.sampled_from([1, 2, 4]))
    nics = draw(st.sampled_from([n for n in (1, 2, 4) if n <= per_switch]))
    net = draw(
        st.sampled_from(
            [machine("torus", (3, 3, 3), per_switch, routing) for routing in ("minimal", "valiant", "ugal")]
            + [machine("dragonfly", (3, 3, 3), per_switch, "ugal", buffer=128_000)]
        )
    )
    node = {
        "nics": nics,
        "nic_choice": draw(st.sampled_from(CHOICES)),
        "stripe_above": draw(st.sampled_from([0, 5000])),
        "latency": draw(st.sampled_from([1, 100, 500 * NS])),
        "bandwidth": draw(st.sampled_from([GB, 50 * GB])),
        "memory_bandwidth": draw(st.sampled_from([2 * GB, 60 * GB, "unlimited"])),
    }
    net = net | {
        "node": node,
        "injection": net["injection"] | {"service": draw(st.sampled_from(["fifo", "round-robin"]))},
    }
    work = draw(workloads(ranks))
    tiles = [[a, per_node // a] for a in range(1, per_node + 1) if per_node % a == 0]
    fitting = [{"tile": tile} for tile in tiles if columns % tile[0] == 0 and rows % tile[1] == 0]
    mappings: list[Any]
    if draw(st.booleans()) and fitting:
        work, mappings = transposition((24, 24, 12), (columns, rows), draw(st.integers(1, 3))), fitting
    else:
        places = draw(st.permutations([node for node in range(-(-ranks // per_node) + 2) for _ in range(per_node)]))
        mappings = ["block", "cyclic", {"nodes": places[:ranks]}]
    mapping = draw(st.sampled_from(mappings))
    return shared(ranks, work, net, per_node, mapping=mapping, seed=draw(st.integers(1, 99)))


@settings(max_examples=150, deadline=None)
@given(points(), st.integers(1, 4))
def test_every_message_arrives(p: dict[str, Any], threads: int) -> None:
    result = outcome(p, threads=threads)  # a byte that is lost is an error
    alone = outcome(
        {key: value for key, value in p.items() if key not in ("ranks_per_node", "mapping")}
        | {"machine": {key: value for key, value in p["machine"].items() if key != "node"}}
    )
    for count in ("messages", "bytes", "packets"):
        assert result[count] == alone[count]
    assert result["hops"] <= alone["hops"] * 8
    assert sum(result["delays"]["packets"]) == result["packets"]
    assert result == outcome(p)
    # Asked why ranks wait, the simulator goes through each message of the protocol; else answers of NICs take no event.
    watched = outcome(p | {"statistics": {"congestion": 0, "waiting": p["ranks"]}}, threads=threads)
    assert {key: watched[key] for key in result} == result
    _, last = _simulator.earliest_ends(p)
    assert last[-1] <= result["time_s"] * (1 + 1e-12)


def test_repeats_are_cut_short_with_several_ranks_a_node() -> None:
    p = shared(36, allreduce(5, repeats=50), NETWORKS["torus"], 3) | {"steady": {"error": 10_000}}
    result = outcome(p)
    assert result["repeats_left_out"] > 0
    whole = outcome({key: value for key, value in p.items() if key != "steady"})
    assert result["time_s"] == pytest.approx(whole["time_s"], rel=0.02)
    assert result["messages"] == whole["messages"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks_per_node": 0}, "ranks_per_node: found 0, allowed: 1 to 1024"),
        ({"ranks_per_node": 1025}, "ranks_per_node: found 1025, allowed: 1 to 1024"),
        ({"ranks": 33}, "ranks: 9 do not fit on 8 nodes"),
        ({"mapping": "best"}, "mapping: found 'best', allowed: block"),
        ({"mapping": {"nodes": [0] * 5 + [1] * 3}}, "mapping.nodes: found more than 4 ranks on node 0, allowed: "),
        ({"mapping": {"nodes": [0, 1]}}, "mapping.nodes: found 2 nodes, allowed: 8, one for each rank"),
        ({"mapping": {"nodes": [0] * 4 + [2**30] * 4}}, "mapping.nodes: found node 1073741824, allowed: nodes below"),
        ({"mapping": {"nodes": [0] * 4 + [8] * 4}}, "ranks: 9 do not fit on 8 nodes"),
        ({"mapping": {"tile": [2, 2]}}, r"mapping.tile: found \[2, 2\], allowed: "),
        ({"node": {"nics": 3}}, "machine.node.nics: found 3, allowed: what divides the nodes of a switch, 1"),
        ({"node": {"nics": 1025}}, "machine.node.nics: found 1025, allowed: 1 to 1024"),
        ({"node": {"nic_choice": "best"}}, "machine.node.nic_choice: 'best' is unknown"),
        ({"node": {"latency": 0}}, "machine.node.latency: found 0, allowed: 1 ... "),
        ({"node": {"bandwidth": 1}}, "machine.node.bandwidth: found 1, allowed: "),
        ({"node": {"memory_bandwidth": 1}}, "machine.node.memory_bandwidth: found 1, allowed: "),
        ({"machine": machine("torus", (2, 2, 2))}, "machine.node: found no latency and bandwidth, allowed: both"),
        ({"model": "pisces-16"}, "ranks_per_node: model pisces-16 has one rank a node"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    p = shared(8, allreduce(2), machine("torus", (2, 2, 2)), 4)
    if "node" in change:
        p["machine"]["node"] |= change["node"]
    elif "model" in change:
        p["machine"] |= change
    else:
        p |= change
    with pytest.raises(ValueError, match=message):
        _simulator.simulate(p)
