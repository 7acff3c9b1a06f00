"""The closed forms of the networks: against graphs that are really built, and against the paper's Table 1."""

from collections import Counter, defaultdict, deque
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from tramontane import _simulator
from tramontane.claims.tables import printed_switches
from tramontane.study import list_machines, load_machine, load_point
from tramontane.study.networks.machines import Machine
from tramontane.study.networks.network import FAMILIES, ROUTINGS, Network, network
from tramontane.study.points.points import Point
from tramontane.study.reading.project import TABLE1
from tramontane.study.reading.reading import read_yaml

Graph = dict[tuple[int, ...], set[tuple[int, ...]]]


def net(topology: str, geometry: tuple[int, ...], nodes: int | None = None, **keys: int) -> Network:
    return network({"topology": topology, "geometry": geometry, "nodes_per_switch": nodes, **keys})


def torus(geometry: tuple[int, ...]) -> Graph:
    def moved(at: tuple[int, ...], axis: int, step: int) -> tuple[int, ...]:
        return tuple((c + step) % geometry[axis] if i == axis else c for i, c in enumerate(at))

    switches = product(*(range(size) for size in geometry))
    return {at: {moved(at, axis, step) for axis in range(3) for step in (1, -1)} - {at} for at in switches}


def dragonfly(geometry: tuple[int, ...]) -> Graph:
    """Link switches that differ in one coordinate: a row, a column, or the same place in another group."""
    switches = list(product(*(range(size) for size in geometry)))
    return {a: {b for b in switches if sum(p != q for p, q in zip(a, b, strict=True)) == 1} for a in switches}


def fattree(geometry: tuple[int, ...]) -> Graph:
    """Build the d-ary n-tree of Petrini and Vanneschi: (level, digits), linked where all digits but one agree."""
    levels, down = geometry
    switches = [(level, *digits) for level in range(levels) for digits in product(range(down), repeat=levels - 1)]

    def linked(low: tuple[int, ...], high: tuple[int, ...]) -> bool:
        differ = [i for i in range(1, levels) if low[i] != high[i]]
        return high[0] == low[0] + 1 and differ in ([], [levels - 1 - low[0]])

    return {a: {b for b in switches if linked(a, b) or linked(b, a)} for a in switches}


def subtrees(geometry: tuple[int, ...]) -> Graph:
    """Build SST/macro's three-level tree from its rule for up ports."""
    per_leaf, leaves, count = geometry
    graph: Graph = defaultdict(set)
    for subtree, own, up in product(range(count), range(leaves), range(per_leaf)):
        above = (own + up * leaves) // per_leaf
        for a, b in (((0, subtree, own), (1, subtree, above)), ((1, subtree, own), (2, 0, up * leaves + own))):
            graph[a].add(b)
            graph[b].add(a)
    return dict(graph)


def circulant(geometry: tuple[int, ...], links: int) -> Graph:
    """Link the switches of each group, and switch A to the switches A of the groups at its offsets.

    Each switch is there twice, (switch, group, global links so far), since a route crosses one global link at most.
    """
    in_group, groups = geometry
    graph: Graph = defaultdict(set)
    for own, group, crossed in product(range(in_group), range(groups), (0, 1)):
        graph[own, group, crossed] |= {(other, group, crossed) for other in range(in_group) if other != own}
        for link in range(1, links // 2 + 1):
            offset = own * links // 2 + link
            if offset % groups and not crossed:
                graph[own, group, 0] |= {(own, (group + o) % groups, 1) for o in (offset, -offset)}
    return dict(graph)


def place_in_group(switch: int, geometry: tuple[int, ...]) -> tuple[int, int]:
    return switch % geometry[0], switch // geometry[0]


@pytest.mark.parametrize("geometry", [(2, 2, 3), (4, 4, 2), (3, 2, 4), (5, 2, 2), (3, 1, 9)])
def test_the_tree_of_subtrees_against_a_built_network(geometry: tuple[int, ...]) -> None:
    graph = subtrees(geometry)
    per_leaf, leaves, _ = geometry
    size = net("fattree", geometry, per_leaf)
    assert size.switches == len(graph)
    assert size.nodes == per_leaf * sum(switch[0] == 0 for switch in graph)
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(size.nodes), np.arange(size.nodes)))
    visits = size.visits(source, target)
    for start in range(0, size.nodes, per_leaf):
        reach = distances(graph, (0, *divmod(start // per_leaf, leaves)))
        expected = [reach[(0, *divmod(int(node) // per_leaf, leaves))] for node in target[source == start]]
        assert visits[source == start].tolist() == expected


@pytest.mark.parametrize("geometry", [(2, 2, 3), (4, 4, 5), (5, 2, 2), (3, 1, 9), (2, 2, 9)])
def test_a_tree_of_subtrees_has_the_links_of_the_built_network(geometry: tuple[int, ...]) -> None:
    per_leaf, leaves, count = geometry
    size = net("fattree", geometry, per_leaf)
    found = size.links_between(0, size.switches)
    ways = Counter(zip(found.source.tolist(), found.target.tolist(), strict=True))
    expected: Counter[tuple[int, int]] = Counter()
    for subtree, own, up in product(range(count), range(leaves), range(per_leaf)):
        leaf, middle = subtree * leaves + own, (count + subtree) * leaves
        core = 2 * count * leaves + up * leaves + own
        for a, b in ((leaf, middle + (own + up * leaves) // per_leaf), (middle + own, core)):
            expected.update([(a, b), (b, a)])
    assert ways == expected
    assert set(size.link_counts().values()) == {size.nodes}  # of each class, that to nodes as well
    assert 2 * size.links == len(found.source)


@pytest.mark.parametrize(
    ("geometry", "links"), [((3, 5), 2), ((4, 9), 2), ((3, 4), 4), ((16, 32), 4), ((5, 3), 6), ((4, 1), 2), ((2, 2), 2)]
)
def test_the_circulant_dragonfly_against_a_built_network(geometry: tuple[int, ...], links: int) -> None:
    graph = circulant(geometry, links)
    size = net("dragonfly1d", geometry, 2, global_links=links)
    assert (size.switches, size.nodes, size.ports) == (len(graph) // 2, len(graph), geometry[0] + links + 2)
    nodes = np.arange(0, size.nodes, 2)
    for start in nodes[: 2 * geometry[0]].tolist():
        reach = distances(graph, (*place_in_group(start // 2, geometry), 0))
        visits = size.visits(np.full_like(nodes, start), nodes)
        for node, count in zip(nodes.tolist(), visits.tolist(), strict=True):
            to = place_in_group(node // 2, geometry)
            assert count == min(reach[*to, crossed] for crossed in (0, 1) if (*to, crossed) in reach)


@pytest.mark.parametrize(
    ("machine", "ports"),  # as SST/macro counts them
    [("fattree3-1024", 16), ("dragonfly1d-1024", 22)],
)
def test_networks_to_be_compared_with_the_reference(machine: str, ports: int, root: Path) -> None:
    loaded = load_machine(machine, root)
    assert (loaded.facts.nodes, loaded.facts.ports) == (1024, ports)
    assert loaded.crossbar_server == ports * 10**10


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "{topology: dragonfly1d, geometry: [4, 9]}",
            "machine.global_links: missing, but topology dragonfly1d needs it",
        ),
        (
            "{topology: dragonfly1d, geometry: [4, 9], global_links: 3}",
            "machine.global_links: found 3; allowed: an even",
        ),
        (
            "{topology: dragonfly1d, geometry: [4, 11], global_links: 2}",
            "machine.global_links: found 2; allowed: an even",
        ),
        ("{topology: torus, geometry: [2, 2, 2], global_links: 2}", "machine.global_links: found 2 for topology torus"),
        ("{topology: fattree, geometry: [2]}", "machine.geometry: found [2] for topology fattree"),
        ("{topology: dragonfly1d, geometry: [4, 9, 2]}", "machine.geometry: found [4, 9, 2]"),
        ("{topology: fattree, geometry: {nodes_per_leaf: 3}}", "machine.geometry: found {"),
        (
            "{topology: fattree, geometry: {nodes_per_leaf: 3, leaves_per_subtree: 4, subtrees: 2}}",
            "machine.geometry: found 4 leaves_per_subtree with 3 nodes_per_leaf",
        ),
        ("{topology: fattree, geometry: [2, 2], routing: valiant}", "machine.routing: found 'valiant'"),
    ],
)
def test_impossible_networks(text: str, message: str, write: Callable[[str], Path], line: Callable[..., str]) -> None:
    said = line(load_point, write(f"ranks: 2\nworkload: {{kind: allreduce, algorithm: ring}}\nmachine: {text}\n"))
    assert said.startswith(f"x.yaml: {message}")


def place(topology: str, geometry: tuple[int, ...], switch: int) -> tuple[int, ...]:
    if topology == "fattree":
        levels, down = geometry
        return (0, *(switch // down ** (levels - 2 - digit) % down for digit in range(levels - 1)))
    return tuple(int(c) for c in np.unravel_index(switch, geometry, order="F"))


def distances(graph: Graph, start: tuple[int, ...]) -> dict[tuple[int, ...], int]:
    found, queue = {start: 1}, deque([start])
    while queue:
        at = queue.popleft()
        for other in graph[at] - set(found):
            found[other] = found[at] + 1
            queue.append(other)
    return found


@pytest.mark.parametrize(
    ("topology", "geometry", "nodes"),
    [
        ("torus", (4, 3, 5), 2),
        ("torus", (2, 1, 6), 1),
        ("dragonfly", (3, 2, 4), 2),
        ("dragonfly", (4, 4, 1), 3),
        ("fattree", (2, 3), 3),
        ("fattree", (3, 2), 2),
        ("fattree", (4, 2), 2),
        ("fattree", (3, 4), 4),
        ("hyperx", (5,), 3),
        ("hyperx", (4, 3), 2),
        ("hyperx", (3, 2, 4), 2),
        ("hyperx", (2, 2, 2, 2), 1),
    ],
)
def test_closed_forms_against_a_built_network(topology: str, geometry: tuple[int, ...], nodes: int) -> None:
    graph = {"torus": torus, "dragonfly": dragonfly, "fattree": fattree, "hyperx": dragonfly}[topology](geometry)
    size = net(topology, geometry, nodes)
    assert size.switches == len(graph)
    carriers = [switch for switch in graph if topology != "fattree" or switch[0] == 0]
    assert size.nodes == nodes * len(carriers)
    if topology != "torus":  # a ring of two switches has two links to the same neighbour
        used = [len(links) + (nodes if switch in carriers else 0) for switch, links in graph.items()]
        assert max(used) == size.ports
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(size.nodes), np.arange(size.nodes)))
    visits = size.visits(source, target)
    for start in range(0, size.nodes, nodes):
        reach = distances(graph, place(topology, geometry, start // nodes))
        own = source == start
        expected = [reach[place(topology, geometry, int(node) // nodes)] for node in target[own]]
        assert visits[own].tolist() == expected


@pytest.mark.parametrize(
    ("switches", "links"),
    [((6,), (1,)), ((4, 4), (1, 1)), ((4, 3), (2, 1)), ((2, 4, 3), (1, 3, 2)), ((2,) * 6, (1,) * 6)],
)
def test_a_hyperx_in_closed_form(switches: tuple[int, ...], links: tuple[int, ...]) -> None:
    """Ports, links, diameter, mean distance and bisection [Ahn2009] against what is wired."""
    geometry = {"switches": [*switches], "links": [*links]}
    made = Machine.model_validate({"topology": "hyperx", "geometry": geometry, "nodes_per_switch": 3})
    net, count = made.facts, int(np.prod(switches))
    wired = sum((size - 1) * many for size, many in zip(switches, links, strict=True))
    assert (net.switches, net.nodes, net.ports) == (count, 3 * count, wired + 3)
    assert net.links == count * wired // 2
    source, target = (3 * grid.ravel() for grid in np.meshgrid(np.arange(count), np.arange(count)))
    hops = net.visits(source, target) - 1
    assert hops.max() == len(switches)
    assert hops.mean() == pytest.approx(sum(1 - 1 / size for size in switches))
    ports = [_simulator.neighbours(made.canonical(), switch, [*range(wired)]) for switch in range(count)]
    between = Counter((a, b) for a, reached in enumerate(ports) for b in reached)
    assert all(between[b, a] == number for (a, b), number in between.items())
    for d, (size, many) in enumerate(zip(switches, links, strict=True)):
        own = np.unravel_index(np.arange(count), switches, order="F")[d]
        across = sum(number for (a, b), number in between.items() if own[a] < size // 2 <= own[b])
        assert across == count // size * (size // 2) * (size - size // 2) * many


@pytest.mark.parametrize(
    "geometry", [(4, 4, 4, 17, 4), (3, 3, 2, 4, 3), (2, 3, 1, 4, 1), (2, 2, 2, 3, 5), (4, 2, 1, 6, 7), (3, 2, 1, 1, 0)]
)
def test_a_dragonfly_plus_in_closed_form(geometry: tuple[int, ...]) -> None:
    """Nodes, ports, links, distances and the cut between groups [Shpiner2017] against what is wired."""
    leaves, spines, nodes, groups, outward = geometry
    keys = ("leaves", "spines", "nodes_per_leaf", "groups", "global_links")
    made = Machine.model_validate(
        {"topology": "dragonfly-plus", "geometry": dict(zip(keys, geometry, strict=True)), "routing": "minimal"}
    )
    net, in_group = made.facts, leaves + spines
    pair = spines * outward // (groups - 1) if groups > 1 else 0
    assert (net.switches, net.nodes, net.groups) == (groups * in_group, groups * leaves * nodes, groups)
    assert net.ports == max(spines + nodes, leaves + outward)
    assert net.links == groups * leaves * spines + pair * groups * (groups - 1) // 2
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(net.nodes), np.arange(net.nodes)))
    leaf, group = source // nodes, source // (nodes * leaves)
    expected = np.where(group == target // (nodes * leaves), np.where(leaf == target // nodes, 0, 2), 3)
    assert (net.visits(source, target) - 1 == expected).all()
    ports = [*range(max(spines, leaves + outward))]
    wires = [_simulator.neighbours(made.canonical(), at, ports) for at in range(net.switches)]
    between = Counter((a, b) for a, reached in enumerate(wires) for b in reached if a != b)
    assert all(between[b, a] == number for (a, b), number in between.items())
    across: Counter[tuple[int, int]] = Counter()
    for (a, b), number in between.items():
        if a // in_group == b // in_group:  # complete and bipartite
            assert (a % in_group < leaves) != (b % in_group < leaves)
            assert number == 1
        else:
            assert min(a % in_group, b % in_group) >= leaves
            across[a // in_group, b // in_group] += number
    assert across == {(a, b): pair for a in range(groups) for b in range(groups) if a != b and pair > 0}


@pytest.mark.parametrize(
    ("sizes", "wraps"),
    [
        ((7,), (1,)),
        ((5,), (0,)),
        ((4, 3), (0, 1)),
        ((3, 2, 4, 2), (1, 1, 0, 0)),
        ((3, 2, 2, 2, 3, 2), (1, 1, 1, 0, 1, 0)),
    ],
)
def test_a_torus_or_mesh_of_any_dimension_in_closed_form(sizes: tuple[int, ...], wraps: tuple[int, ...]) -> None:
    """Links, distances and cuts: rings and paths, dimension by dimension."""
    made = Machine.model_validate(
        {"topology": "torus", "geometry": {"sizes": [*sizes], "wraps": [*wraps]}, "nodes_per_switch": 1}
    )
    net, count = made.facts, int(np.prod(sizes))
    assert net.switches == net.nodes == count
    assert net.links == sum(count if ring else count - count // size for size, ring in zip(sizes, wraps, strict=True))
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(count), np.arange(count)))
    expected = np.zeros(source.size, dtype=np.int64)
    for d, (size, ring) in enumerate(zip(sizes, wraps, strict=True)):
        a, b = (np.unravel_index(each, sizes, order="F")[d] for each in (source, target))
        expected += np.minimum(abs(a - b), size - abs(a - b)) if ring else abs(a - b)
    assert (net.visits(source, target) - 1 == expected).all()
    wires = [_simulator.neighbours(made.canonical(), at, [*range(2 * len(sizes))]) for at in range(count)]
    between = Counter((a, b) for a, reached in enumerate(wires) for b in reached if a != b)
    assert sum(between.values()) == 2 * net.links
    assert net.ports == 1 + max(sum(b != a for b in reached) for a, reached in enumerate(wires))
    for d, (size, ring) in enumerate(zip(sizes, wraps, strict=True)):
        own = np.unravel_index(np.arange(count), sizes, order="F")[d]
        cut = sum(number for (a, b), number in between.items() if own[a] < size // 2 <= own[b])
        assert cut == count // size * (2 if ring else 1)


@pytest.mark.parametrize(("sizes", "links"), [((5, 1, 3), 30), ((1,), 0), ((2, 1), 2)])
def test_a_ring_of_one_switch_has_no_link(sizes: tuple[int, ...], links: int) -> None:
    size = net("torus", sizes, 1)
    assert size.links == len(size.links_between(0, size.switches).source) / 2 == links


def test_a_torus_of_three_rings_is_written_as_ever() -> None:
    spelled = {"sizes": [4, 3, 2], "wraps": [1, 1, 1]}
    canonical = [
        Machine.model_validate({"topology": "torus", "geometry": geometry}).canonical()["geometry"]
        for geometry in ([4, 3, 2], spelled, {"sizes": [4, 3, 2]})
    ]
    assert canonical == [[4, 3, 2]] * 3


def test_the_dragonfly_of_the_paper_is_a_hyperx_of_three_dimensions() -> None:
    """Both link a switch to each that differs from it in one coordinate; they differ in the order of the hops."""
    ours, theirs = (net(topology, (4, 3, 5), 2) for topology in ("hyperx", "dragonfly"))
    assert (ours.ports, ours.links, ours.switches) == (theirs.ports, theirs.links, theirs.switches)
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(ours.nodes), np.arange(ours.nodes)))
    assert (ours.visits(source, target) == theirs.visits(source, target)).all()


def test_every_routing_has_virtual_channels() -> None:
    channels = {
        name: [network(family.example | {"routing": routing}).virtual_channels for routing in ROUTINGS[name]]
        for name, family in FAMILIES.items()
        if not family.by_table
    }
    assert channels == {
        "torus": [2, 4, 4],
        "fattree": [1, 1, 1],
        "dragonfly": [2, 4, 4, 4, 4, 4, 4],
        "dragonfly1d": [2, 6, 6, 6, 6, 6, 6],
        "dragonfly-plus": [1, 2, 2, 2],
        "hyperx": [1, 2, 2, 4],
    }


@pytest.mark.parametrize(("name", "row"), read_yaml(Path(__file__).parents[3] / TABLE1).items())
def test_table_1(name: str, row: dict[str, object], root: Path) -> None:
    """What the paper prints follows from the geometry, but for the switches of four networks, each explained there."""
    machine = load_machine(name, root)
    size = machine.facts
    assert [machine.topology, list(machine.geometry or ())] == [row["topology"], row["geometry"]]
    assert [size.nodes, size.nodes_per_switch, size.ports] == [row["nodes"], row["nodes_per_switch"], row["radix"]]
    assert (size.switches == row["switches"]) == ("remark" not in row)
    if machine.topology == "fattree":
        counted = printed_switches(size)
        built = {"fattree-M": (46_875, 62_500), "fattree-L": (107_811, 143_748)}[name]
        assert (counted, size.switches) == built
        assert counted == row["switches"]
    elif "remark" in row:  # the printed switches contradict the printed nodes
        assert int(str(row["switches"])) * size.nodes_per_switch != row["nodes"]
        assert size.switches == 78_125


def test_all_eight_networks_of_table_1_have_a_file(root: Path) -> None:
    assert set(read_yaml(root / TABLE1)) <= set(list_machines(root))
    assert len(read_yaml(root / TABLE1)) == 8


def test_base_parameters_are_the_defaults_of_the_models(root: Path) -> None:
    """A machine written inline and one of `configs/machines` must not differ by what is left out."""
    geometry = {"topology": "torus", "geometry": [4, 4, 4], "nodes_per_switch": 4}
    named = load_machine("torus-S", root).model_dump(exclude={"name", "description", "source"})
    assert named == Machine.model_validate(geometry).model_dump(exclude={"name", "description", "source"})


def test_all_machines_share_one_base(root: Path) -> None:
    """Those of the paper; a machine with rates of its own says where they are from."""
    for file in (root / "configs/machines").glob("*.yaml"):
        data = read_yaml(file)
        if "injection" in data and "topology" in data:
            assert data["source"]
            continue
        shape = {"topology", "geometry", "nodes_per_switch", "global_links", "arrangement", "routing", "parallel_links"}
        shape |= {"file"} if data.get("topology") == "graph" else set()
        assert set(data.pop("link", {})) <= ({"classes"} if "topology" in data else {"bandwidth", "latency"})
        assert set(data) <= {"extends", "description", "source"} | shape or "topology" not in data
        assert data.get("extends") == "base" or file.stem == "base"


@pytest.mark.parametrize(
    "name", ["torus-S", "fattree-S", "fattree-tapered-S", "dragonfly-S", "dragonfly-parallel-S", "hyperx-S"]
)
def test_small_machines_have_256_nodes(name: str, root: Path) -> None:
    assert load_machine(name, root).facts.nodes == 256


@pytest.mark.parametrize(
    ("topology", "geometry", "ports"), [("torus", [8, 8, 8], 8), ("dragonfly", [4, 5, 6], 14), ("fattree", [3, 4], 8)]
)
def test_a_crossbar_that_nobody_states_is_unlimited(topology: str, geometry: list[int], ports: int) -> None:
    given = {"topology": topology, "geometry": geometry, "link": {"bandwidth": "3 GB/s"}}
    machine = Machine.model_validate(given)
    assert machine.crossbar.bandwidth == "unlimited"
    assert machine.crossbar_server == ports * 3 * 10**9
    assert machine.logp.bandwidth == 3 * 10**9
    assert machine == Machine.model_validate(given | {"crossbar": {"bandwidth": "unlimited"}})
    stated = Machine.model_validate(given | {"crossbar": {"bandwidth": "7 GB/s"}})
    assert stated.crossbar.bandwidth == stated.crossbar_server == 7 * 10**9


@pytest.mark.parametrize(
    ("topology", "geometry", "found"),
    [
        ("torus", [1, 2, 1], "2 switches"),
        ("dragonfly1d", [2, 9], "2 switches of a group"),
        ("dragonfly1d", [4, 2], "2 groups"),
    ],
)
def test_two_switches_have_no_third_one_to_go_by(topology: str, geometry: list[int], found: str) -> None:
    """SST/macro draws it anew until it is another one, which it never is."""
    given: dict[str, object] = {"topology": topology, "geometry": geometry, "model": "pisces-16"}
    given |= {"global_links": 16} if topology == "dragonfly1d" else {}
    for routing in ("valiant", "ugal"):
        with pytest.raises(ValidationError, match=f"found {found} with routing '{routing}' and model pisces-16"):
            Machine.model_validate(given | {"routing": routing})
    Machine.model_validate(given)
    Machine.model_validate(given | {"routing": "valiant", "model": "default"})
    three = [size + (size == 2) for size in geometry]
    Machine.model_validate(given | {"geometry": three, "routing": "valiant"})


def test_the_model_of_sstmacro_always_has_a_crossbar() -> None:
    given = {"topology": "torus", "geometry": [2, 2, 2], "model": "pisces-16"}
    assert Machine.model_validate(given).crossbar.bandwidth == 8 * 10**10
    with pytest.raises(ValidationError, match="found unlimited with model pisces-16"):
        Machine.model_validate(given | {"crossbar": {"bandwidth": "unlimited"}})


def test_fat_tree_carries_as_many_nodes_as_down_ports() -> None:
    machine = {"topology": "fattree", "geometry": [3, 4]}
    point = {"ranks": 64, "workload": {"kind": "allreduce", "algorithm": "ring"}, "machine": machine}
    canonical = Point.model_validate(point).canonical()["machine"]
    assert (canonical["nodes_per_switch"], canonical["routing"]) == (4, "d-mod-k")


def test_fat_tree_refuses_other_nodes(write: Callable[[str], Path], line: Callable[..., str]) -> None:
    text = "ranks: 8\nworkload: {kind: allreduce, algorithm: ring}\nmachine: {topology: fattree, geometry: [3, 4], "
    expected = "x.yaml: machine.nodes_per_switch: found 5, where the geometry makes it 4; allowed: 4, or leave it out"
    assert line(load_point, write(text + "nodes_per_switch: 5}")) == expected


@pytest.mark.parametrize(
    ("topology", "routing", "buffer", "fits"),
    [
        ("torus", "minimal", 8192, True),
        ("torus", "minimal", 8191, False),
        ("torus", "ugal", 4 * 4096, True),
        ("torus", "ugal", 4 * 4096 - 1, False),
        ("fattree", "d-mod-k", 4096, True),
        ("fattree", "d-mod-k", 4095, False),
    ],
)
def test_a_channel_must_hold_a_packet(topology: str, routing: str, buffer: int, fits: bool) -> None:
    geometry = [3, 4] if topology == "fattree" else [4, 4, 4]
    machine = {"topology": topology, "geometry": geometry, "routing": routing, "buffer": f"{buffer} B"}
    if fits:
        assert Machine.model_validate(machine).buffer == buffer
    else:
        with pytest.raises(ValueError, match="would deadlock"):
            Machine.model_validate(machine)
