"""Several ranks on a node: keys, canonical form, the line for each way to get them wrong, and what is estimated."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tramontane import _simulator
from tramontane.errors import InputError
from tramontane.study import Point, estimate, load_point
from tramontane.study.networks.mapping import Mapping
from tramontane.substrates import get

Line = Callable[..., str]
Write = Callable[..., Path]

NODE = "node: {latency: 500 ns, bandwidth: 10 GB/s}"
GIVEN = {"latency": 500_000, "bandwidth": 10 * 10**9}


def text(
    ranks: int = 16, machine: str = NODE, places: str = "ranks_per_node: 4", workload: str = "decomposition: [4, 4]"
) -> str:
    """Return a point of a small torus of 16 nodes, two a switch."""
    return (
        f"ranks: {ranks}\n{places}\n"
        f"workload: {{kind: transposition, algorithm: ring-k, radix: 2, grid: [48, 48, 16], {workload}}}\n"
        f"machine:\n  topology: torus\n  geometry: [2, 2, 2]\n  nodes_per_switch: 2\n  {machine}\n"
    )


def test_one_rank_a_node_is_the_default(write: Write, sample: str) -> None:
    plain = load_point(write(sample))
    for more in ("ranks_per_node: 1", "mapping: block", "mapping: cyclic", "mapping: {tile: [1, 1]}"):
        assert load_point(write(f"{sample}\n{more}\n")).id == plain.id
    for node in ("{}", "{nics: 1}", "{nic_choice: round-robin}", "{latency: 1 us, memory_bandwidth: 50 GB/s}"):
        assert load_point(write(sample.replace("  model:", f"  node: {node}\n  model:"))).id == plain.id


def test_one_rank_a_node_has_all_its_interfaces(write: Write) -> None:
    node = "node: {nics: 2, stripe_above: 2000 B, latency: 500 ns, bandwidth: 10 GB/s}"
    point = load_point(write(text(ranks=8, machine=node, places="", workload="decomposition: [2, 4]")))
    found = point.canonical()["machine"]["node"]
    assert {key: value for key, value in found.items() if value is not None} == {
        "nics": 2,
        "nic_choice": "rank",
        "memory_bandwidth": "unlimited",
        "stripe_above": 2000,
    }


@pytest.mark.parametrize(
    ("places", "canonical"),
    [
        ("ranks_per_node: 4", {"ranks_per_node": 4}),
        ("ranks_per_node: 4\nmapping: cyclic", {"ranks_per_node": 4, "mapping": "cyclic"}),
        ("ranks_per_node: 4\nmapping: {tile: [2, 2]}", {"ranks_per_node": 4, "mapping": {"tile": [2, 2]}}),
        (
            f"ranks_per_node: 4\nmapping: {{nodes: {[3, 2, 1, 0] * 4}}}",
            {"ranks_per_node": 4, "mapping": {"nodes": [3, 2, 1, 0] * 4}},
        ),
    ],
)
def test_points_read_back(write: Write, places: str, canonical: dict[str, Any]) -> None:
    point = load_point(write(text(places=places)))
    found = point.canonical()
    assert {key: found[key] for key in ("ranks_per_node", "mapping") if key in found} == canonical
    assert found["machine"]["node"] == {**GIVEN, "nics": 1, "nic_choice": "rank", "memory_bandwidth": "unlimited"}
    again = Point.from_canonical(found)
    assert (again, again.id) == (point, point.id)
    assert _simulator.simulate(found)["messages"] > 0


NICS = "node: {latency: 500 ns, bandwidth: 10 GB/s, nics: %d}"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranks": 72}, "ranks: found 72 ranks on 16 nodes of 4 places; allowed: at most 64, the places of torus"),
        ({"places": ""}, None),
        ({"places": "ranks_per_node: 0"}, "ranks_per_node: found 0; allowed: a whole number, 1 to 1024"),
        ({"places": "ranks_per_node: 2000"}, "ranks_per_node: found 2000; allowed: a whole number, 1 to 1024"),
        ({"machine": "packet: 4 KB"}, "machine.node.latency: missing; allowed: e.g. 500 ns, with 4 ranks a node"),
        (
            {"machine": "node: {latency: 1 us}"},
            "machine.node.bandwidth: missing; allowed: e.g. 10 GB/s, with 4 ranks a node",
        ),
        ({"machine": NICS % 5}, "machine.node.nics: found 5; allowed: what divides nodes_per_switch, 2: a node is on"),
        (
            {
                "machine": NICS % 2 + "\n  model: pisces-16",
                "places": "",
                "ranks": 8,
                "workload": "decomposition: [2, 4]",
            },
            "machine.node.nics: found some with model pisces-16",
        ),
        (
            {"machine": NICS % 2, "ranks": 36},
            "ranks: found 36 ranks on 8 nodes of 4 places; allowed: at most 32, the places of torus",
        ),
        ({"machine": "node: {latency: 0 ns}"}, "machine.node.latency: found '0 ns'"),
        ({"machine": "node: {nic_choice: best}"}, "machine.node.nic_choice: found 'best'; allowed: rank, block, round"),
        (
            {"mapping": "blok"},
            "mapping: found 'blok'; did you mean 'block'? allowed: block, cyclic, random, {tile: [a, b]}",
        ),
        ({"mapping": "{tile: [2, 2, 1]}"}, "mapping: found {tile: [2, 2, 1]}; allowed: block, cyclic"),
        ({"mapping": "{tile: [4, 2]}"}, "mapping.tile: found [4, 2]; allowed: [a, b] with a b = 4, ranks_per_node"),
        (
            {"mapping": "{tile: [4, 1]}", "ranks": 10, "workload": "decomposition: [2, 5]"},
            "mapping.tile: found [4, 1]; allowed: [a, b] that divides the processes, [2, 5]",
        ),
        ({"mapping": "{nodes: [0, 1]}"}, "mapping.nodes: found 2 nodes; allowed: 16, one for each rank"),
        ({"mapping": f"{{nodes: {[0, 1] * 8}}}"}, "mapping.nodes: found 8 ranks on node 0; allowed: at most 4, the"),
        (
            {"mapping": f"{{nodes: {[0, 1, 2, 16] * 4}}}"},
            "mapping.nodes: found node 16; allowed: nodes 0 ... 15 of torus",
        ),
        ({"mapping": "{nodes: [0, -1]}"}, "mapping: found {nodes: [0, -1]}; allowed: block"),
        (
            {"mapping": "block\nallocation: {nodes: [1, 2, 3]}"},
            "allocation.nodes: found 3 nodes; allowed: 4, one for each node of the job",
        ),
        (
            {"mapping": "block\nallocation: {nodes: [1, 2, 3, 8]}", "machine": NICS % 2},
            "allocation.nodes: found 8; allowed: nodes 0 ... 7 of torus",
        ),
        ({"mapping": "block\nsubstrate: mpi"}, "ranks_per_node: found some with substrate mpi; allowed: only with sim"),
        (
            {"machine": NODE + "\n  model: pisces-16"},
            "ranks_per_node: found some with model pisces-16; allowed: none",
        ),
    ],
)
def test_impossible_places(write: Write, line: Line, changes: dict[str, Any], message: str | None) -> None:
    mapping = changes.pop("mapping", None)
    if mapping is not None:
        changes["places"] = f"ranks_per_node: 4\nmapping: {mapping}"
    file = write(text(**changes))
    if message is None:
        assert load_point(file).ranks_per_node == 1
    else:
        assert message in line(load_point, file)


def test_tiles_need_processes_in_x_and_y(write: Write, line: Line) -> None:
    allreduce = text(places="ranks_per_node: 4\nmapping: {tile: [2, 2]}")
    allreduce = allreduce.replace(allreduce[allreduce.index("workload:") : allreduce.index("machine:")], "")
    file = write(f"{allreduce}\nworkload: {{kind: allreduce, algorithm: recursive-k, radix: 2}}\n")
    assert "mapping.tile: found [2, 2] for a workload without processes [cx, cy]" in line(load_point, file)


def test_other_substrates_refuse_what_they_have_not(write: Write) -> None:
    point = load_point(write(text())).changed(substrate="sstmacro")
    refused = str(get("sstmacro").refusal(point))
    assert refused.startswith(
        "machine.node.bandwidth: found '10 GB/s' (in sstmacro one memory serves copies and messages)"
    )
    with_rails = text(places="", ranks=8, workload="decomposition: [2, 4]", machine=NICS % 2)
    for name in ("simgrid", "sstmacro"):
        refused = str(get(name).refusal(load_point(write(with_rails)).changed(substrate=name)))
        assert refused.startswith("machine.node.nics: found 2 (")


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(1, 4), st.integers(1, 3))
def test_mappings_fill_nodes_of_the_job(a: int, b: int, across: int, down: int) -> None:
    grid = (a * across, b * down)
    ranks = np.arange(grid[0] * grid[1])
    for rule in ("block", "cyclic", "random", ("tile", (a, b))):
        mapping = Mapping(rule, len(ranks), a * b, grid)
        mapping.check()
        held = np.bincount(mapping.node_of(ranks))
        assert (mapping.nodes, len(held), set(held.tolist())) == (across * down, across * down, {a * b})
    tiles = Mapping(("tile", (a, b)), len(ranks), a * b, grid).node_of(ranks)
    x, y = ranks % grid[0], ranks // grid[0]
    for node in range(across * down):
        own = tiles == node
        assert (np.ptp(x[own]), np.ptp(y[own])) == (a - 1, b - 1)


@pytest.mark.parametrize(
    "mapping", ["block", "cyclic", "random", {"tile": [2, 2]}, {"nodes": [0, 1, 2, 3] * 4}], ids=str
)
@pytest.mark.parametrize("nics", [1, 2])
@pytest.mark.parametrize(
    "workload",
    [
        {"kind": "transposition", "algorithm": "burst", "grid": [48, 48, 16], "decomposition": [4, 4]},
        {"kind": "halo", "width": 3, "grid": [48, 48, 16], "decomposition": [4, 4]},
    ],
    ids=lambda value: value["kind"],
)
def test_what_stays_inside_nodes_is_not_estimated_as_traffic(
    workload: dict[str, Any], nics: int, mapping: object
) -> None:
    machine = {"topology": "torus", "geometry": [2, 2, 2], "nodes_per_switch": 2, "node": GIVEN | {"nics": nics}}
    point = Point.model_validate(
        {"ranks": 16, "ranks_per_node": 4, "mapping": mapping, "workload": workload, "machine": machine},
        context={"canonical": True},
    )
    expected, found = estimate(point), _simulator.simulate(point.canonical())
    for count in ("messages", "packets", "bytes", "control_packets", "hops"):
        assert getattr(expected, count) == found[count], count


def test_all_ranks_on_one_node_send_nothing() -> None:
    machine = {"topology": "torus", "geometry": [2, 2, 2], "nodes_per_switch": 2, "node": GIVEN}
    workload = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 2}
    settings = {"ranks": 8, "ranks_per_node": 8, "workload": workload, "machine": machine}
    cost = estimate(Point.model_validate(settings, context={"canonical": True}))
    assert (cost.hops, cost.control_packets) == (0, 0)
    assert cost.messages > 0


def test_a_mapping_with_a_node_twice_as_full_is_an_error_of_the_model() -> None:
    with pytest.raises(ValidationError):
        Point.model_validate({"ranks": 2, "ranks_per_node": 2, "mapping": {"nodes": [0, 0, 0]}})


MAPPED = "rank,node\n" + "".join(f"{rank},{rank % 4}\n" for rank in reversed(range(16)))


def test_a_file_says_where_ranks_are(write: Write) -> None:
    """What is in it is the point's, in any order of its lines; the file is not."""
    places = "ranks_per_node: 4\nmapping: "
    path = write(text(places=f"{places}{{file: map.csv}}"))
    path.with_name("map.csv").write_text(MAPPED)
    point = load_point(path)
    assert point.mapping == ("nodes", tuple(rank % 4 for rank in range(16)))
    listed = load_point(write(text(places=f"{places}{{nodes: [{', '.join(str(rank % 4) for rank in range(16))}]}}")))
    assert point.id == listed.id


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("\n3,3\n", "\n4,3\n", "map.csv: line 14, rank: found rank 4 again; allowed: each rank once"),
        ("\n3,3\n", "\n", "map.csv: found no rank 3; allowed: all ranks from 0 to 15"),
        ("\n3,3\n", "\n3,-1\n", "map.csv: line 14, node: found '-1'; allowed: a whole number, 0 to 2147483647"),
        ("node", "place", "map.csv: line 1: column missing: node; allowed: the columns rank, node"),
        ("15,3\n", "", "mapping.file: found 15 nodes; allowed: 16, one for each rank"),
        ("\n3,3\n", "\n3,2\n", "mapping.file: found 5 ranks on node 2; allowed: at most 4, the places of a node"),
    ],
)
def test_files_that_say_something_else_are_refused(write: Write, old: str, new: str, line: str) -> None:
    path = write(text(places="ranks_per_node: 4\nmapping: {file: map.csv}"))
    path.with_name("map.csv").write_text(MAPPED.replace(old, new))
    with pytest.raises(InputError) as refused:
        load_point(path)
    assert line in str(refused.value)
