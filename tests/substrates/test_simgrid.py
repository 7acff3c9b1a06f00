"""The substrate simgrid: what it refuses, what it tells SimGrid, and what comes out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tramontane.comparison.networks import read_networks
from tramontane.comparison.points import make_point
from tramontane.comparison.rows import Row, read_rows
from tramontane.study.points.points import Point
from tramontane.substrates import get
from tramontane.substrates import simgrid as smpi
from tramontane.substrates.simgrid import SimGrid, platform_lines, settings
from tramontane.substrates.simulator import schedule

from .points import exchange, point

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
NS = 1e-9
INSIDE = {"latency": "500 ns", "bandwidth": "5 GB/s"}

needs_simgrid = pytest.mark.skipif(SimGrid().available() is not None, reason=str(SimGrid().available()))


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"machine": {"routing": "valiant"}}, "machine.routing: found 'valiant' (simgrid routes whole messages)"),
        ({"machine": {"routing": "ugal"}}, "allowed: minimal"),
        ({"machine": {"topology": "fattree", "geometry": [2, 4], "routing": "adaptive"}}, "allowed: d-mod-k"),
        ({"machine": {"topology": "hyperx", "geometry": [4, 4], "routing": "dal"}}, "allowed: minimal"),
        ({"machine": {"model": "pisces-16"}}, "machine.model: found 'pisces-16'"),
        ({"noise": {"duration": "25 us"}}, "(only the embedded simulator has it)"),
        ({"machine": {"matching": {"posted": "1 ns"}}}, "machine.matching: found {'posted': 1000} (only the embedded"),
        ({"machine": {"protocol": {"expected_eager": "direct"}}}, "machine.protocol.expected_eager: found 'direct'"),
        ({"machine": {"injection": {"service": "round-robin"}}}, "machine.injection.service: found 'round-robin'"),
        ({"ranks_per_node": 2, "machine": {"nodes_per_switch": 2, "node": INSIDE | {"nics": 2}}}, "machine.node.nics"),
    ],
)
def test_what_a_fluid_cannot_do_is_refused_before_anything_runs(changes: dict[str, Any], line: str) -> None:
    made = point(**changes)
    refused = get("simgrid").refusal(made)
    assert refused is not None
    assert line in str(refused)
    with pytest.raises(ValueError, match="found"):
        get("simgrid").run(made)


def test_the_platform_has_the_numbers_of_the_machine() -> None:
    tree = {"topology": "fattree", "geometry": {"nodes_per_leaf": 4, "leaves_per_subtree": 2, "subtrees": 3}}
    lines = list(platform_lines(point(machine=tree, allocation={"nodes": [3, 1]})))
    assert "geometry 4 2 3" in lines
    assert "link_bandwidth 10000000000" in lines
    assert "injection_latency 100000" in lines
    assert "allocation given 3 1" in lines


def test_protocol_limits_become_sections_of_costs() -> None:
    told = settings(point(machine={"protocol": {"short_limit": "256 B", "eager_limit": "4096 B"}}))
    assert told["smpi/lat-factor"] == "0:1;272:3"
    assert told["smpi/send-is-detached-thresh"] == told["smpi/async-small-thresh"] == "4097"
    assert told["smpi/ois"] == "0:0:1.875e-10;64:0:1.885e-10;256:0:0"
    assert told["smpi/or"] == "0:0:1.875e-10;64:0:1.885e-10;4096:0:0"


@needs_simgrid
def test_records_name_the_compiler_behind_the_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    smpi._compiler.cache_clear()
    assert "SimGrid" not in str(SimGrid().compiler())
    assert list(tmp_path.iterdir()) == []


@needs_simgrid
@pytest.mark.parametrize("size", [16, 512, 1024, 8192, 2**20])
def test_two_ranks_exchange_at_full_rate_in_both_directions(size: int) -> None:
    # Through two switches: latencies of injection, link and ejection; above short_limit twice as many before.
    copy = size * 3 / 8 * 0.5 + (size / 1000 if size > 64 else 0)
    latency, copies = (300, 2) if size <= 512 else (900, 1 if size <= 8192 else 0)
    found = SimGrid().run(exchange(size))
    assert (found["messages"], found["bytes"]) == (4, 4 * size)
    assert found["time_s"] / NS == pytest.approx(2 * (latency + size / 10 + copies * copy), rel=1e-4, abs=4)
    assert found["packets"] is None


@needs_simgrid
@pytest.mark.parametrize("size", [16, 512, 8192, 2**20])
@pytest.mark.parametrize("memory", ["unlimited", "5 GB/s"])
def test_a_message_inside_a_node_never_meets_the_network(size: int, memory: str) -> None:
    # Two messages at a time share the node's memory, which does not limit one alone.
    copy = size * 3 / 8 * 0.5 + (size / 1000 if size > 64 else 0)
    latency, copies = (500, 2) if size <= 512 else (1500, 1 if size <= 8192 else 0)
    sharing = 1 if memory == "unlimited" else 2
    link = {"bandwidth": "1 GB/s", "latency": "1 us"}
    net = {"link": link, "node": INSIDE | {"memory_bandwidth": memory}}
    made = point(workload=exchange(size).workload, machine=net, ranks_per_node=2)
    expected = 2 * (latency + sharing * (size + 16) / 5 + copies * copy)
    assert SimGrid().run(made)["time_s"] / NS == pytest.approx(expected, rel=1e-4, abs=8)


@needs_simgrid
@pytest.mark.parametrize("mapping", ["block", "cyclic", {"tile": [2, 2]}], ids=str)
def test_ranks_of_a_node_share_its_injection_as_simulated(mapping: object) -> None:
    steps = [
        {"kind": "transposition", "algorithm": "burst", "grid": [96, 96, 64], "decomposition": [4, 4]},
        {"alltoall": {"algorithm": "leaders", "group": 4, "count": 2000}},
        {"allreduce": {"algorithm": "recursive-doubling", "count": 10_000}},
    ]
    halo = {"kind": "halo", "width": 3, "grid": [128, 128, 64], "decomposition": [4, 4]}
    workload = halo if mapping not in ("block", "cyclic") else {"kind": "program", "steps": steps}
    links = {"link": {"bandwidth": "1000 GB/s", "latency": "100 ns"}}  # of which a fluid knows no queues
    net = {"geometry": [4, 1, 1], "nodes_per_switch": 1, "node": INSIDE} | links
    made = point(ranks=16, workload=workload, machine=net, ranks_per_node=4, mapping=mapping)
    ours, theirs = get("simulator").run(made), SimGrid().run(made)
    assert (ours["messages"], ours["bytes"]) == (theirs["messages"], theirs["bytes"])
    assert ours["time_s"] == pytest.approx(theirs["time_s"], rel=0.1)


EIGHT = {"geometry": [4, 2, 1]}
SWAP = {"kind": "halo", "width": 2, "grid": [64, 64, 16], "decomposition": [4, 2]}
CALLS = ("put", "post", "start", "complete", "wait", "fence", "lock", "unlock", "flush", "notify")


@needs_simgrid
@pytest.mark.parametrize(
    "way",
    [
        {"synchronisation": "post-start"},
        {"synchronisation": "fence"},
        {"synchronisation": "fence", "scope": "neighbours"},
        {"synchronisation": "passive"},
        {"synchronisation": "lock"},
    ],
    ids=lambda way: "-".join(way.values()),
)
def test_puts_have_the_messages_of_the_simulator_and_pay_for_calls(way: dict[str, str]) -> None:
    """How long SMPI's own synchronisation takes is its business; stated costs come on top."""
    steps = [{"loop": {"times": 2, "steps": [SWAP | {"one_sided": way}]}}, {"notify": {"offsets": [1, -1]}}]

    def made(cost: str) -> Point:
        net = EIGHT | {"one_sided": dict.fromkeys(CALLS, cost)}
        return point(ranks=8, workload={"kind": "program", "repeat": 2, "steps": steps}, machine=net)

    free, dear = (SimGrid().run(made(cost)) for cost in ("0 s", "50 us"))
    ours = get("simulator").run(made("0 s"))
    assert (free["messages"], free["bytes"]) == (ours["messages"], ours["bytes"])
    assert ours["time_s"] < free["time_s"] < 10 * ours["time_s"]
    assert dear["time_s"] > free["time_s"] + 4 * 2 * 50e-6  # two calls each time, at the least


@needs_simgrid
def test_datatypes_change_nothing_that_is_simulated() -> None:
    explicit, typed = (
        point(ranks=8, workload=SWAP | {"buffers": buffers}, machine=EIGHT) for buffers in ("explicit", "datatypes")
    )
    for substrate in (SimGrid(), get("simulator")):
        ours, theirs = substrate.run(explicit), substrate.run(typed)
        assert [ours[key] for key in ("time_s", "messages", "bytes")] == [
            theirs[key] for key in ("time_s", "messages", "bytes")
        ]


@needs_simgrid
def test_a_storage_takes_the_time_of_its_closed_form() -> None:
    storage = {"bandwidth": "1 GB/s", "node_bandwidth": "1 GB/s", "latency": "1 ms"}
    steps = [{"write": {"bytes": "1 MB"}}, {"read": {"total": "2 MB"}}]
    made = point(ranks=8, workload={"kind": "program", "steps": steps}, machine=EIGHT | {"storage": storage})
    assert SimGrid().run(made)["time_s"] == pytest.approx(get("simulator").run(made)["time_s"], rel=1e-6)


@needs_simgrid
def test_jobs_have_their_nodes_and_their_slowdown() -> None:
    """Two jobs that share no link do not slow each other down; two whose nodes alternate on a ring do."""
    burst = {"kind": "transposition", "algorithm": "burst", "grid": [4, 4, 4096], "decomposition": [4, 1]}

    def slowdowns(first: list[int], second: list[int]) -> list[float]:
        jobs = [
            {"name": name, "ranks": 4, "workload": burst, "allocation": {"nodes": nodes}, "start": start}
            for name, nodes, start in (("a", first, "0 s"), ("b", second, "1 us"))
        ]
        found = SimGrid().run(point(ranks=8, workload={"kind": "jobs", "jobs": jobs}, machine={"geometry": [8, 1, 1]}))
        assert found["slowdown"] == found["jobs"][0]["slowdown"]
        return [job["slowdown"] for job in found["jobs"]]

    assert slowdowns([0, 1, 2, 3], [4, 5, 6, 7]) == pytest.approx([1, 1], rel=0.05)
    assert min(slowdowns([0, 2, 4, 6], [1, 3, 5, 7])) > 1.2


@needs_simgrid
def test_a_crossbar_that_limits_is_shared() -> None:
    one_switch = {"geometry": [1, 1, 1], "nodes_per_switch": 2, "crossbar": {"bandwidth": "1 GB/s"}}
    found = SimGrid().run(exchange(2**20, one_switch))
    assert found["time_s"] / NS == pytest.approx(2 * 2 * 2**20, rel=1e-3)


@needs_simgrid
def test_a_dragonfly_has_all_its_global_links() -> None:
    # Five groups of 2 x 2 switches, more than a group has switches; nodes of two groups exchange by links of their own.
    net = {"topology": "dragonfly", "geometry": [2, 2, 5], "nodes_per_switch": 1}
    grid = {"kind": "transposition", "algorithm": "burst", "grid": [8, 8, 4096], "decomposition": [2, 4]}
    nodes = {"nodes": [0, 4, 1, 5, 2, 6, 3, 7]}
    found = SimGrid().run(point(ranks=8, workload=grid, machine=net, allocation=nodes))
    # In a-b the pairs (0, 1), (2, 3), ... exchange 128 KiB over the four links between two groups, each its own.
    assert found["phases"]["a-b"] == pytest.approx(4 * 2 * 2048 * 8 / 10e9 + 3 * 300e-9, rel=0.01)


@needs_simgrid
@pytest.mark.parametrize(
    ("change", "flows"),
    [
        ({"topology": "hyperx", "geometry": {"switches": [2, 2], "links": [1, 1]}}, 3),
        ({"topology": "hyperx", "geometry": {"switches": [2, 2], "links": [3, 1]}}, 2),  # chance leaves one unused
        ({"link": {"classes": {"dimension-1": {"bandwidth": "5 GB/s", "latency": "300 ns"}}}}, 2 * 3),
        ({"parallel_links": {"dimension-1": 3}}, 2),
        ({"topology": "fattree", "geometry": {"down": [3, 2], "up": [1, 1]}}, 3),
    ],
)
def test_links_between_two_switches_are_as_simulated(change: dict[str, Any], flows: int) -> None:
    # Three nodes of each of two switches exchange 96 KiB at once.
    net = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 3} | change
    grid = {"kind": "transposition", "algorithm": "burst", "grid": [6, 6, 4096], "decomposition": [2, 3]}
    nodes = {"nodes": [0, 3, 1, 4, 2, 5]}
    found = SimGrid().run(point(ranks=6, workload=grid, machine=net, allocation=nodes))
    assert found["phases"]["a-b"] == pytest.approx(3 * 400e-9 + flows * 98_304 / 10e9, rel=0.02)


def _rows() -> list[Any]:
    rows = read_rows(ROOT / "validation" / "simgrid-3.32.csv")
    chosen = [row for row in rows if row.ok and row["tag"] == "compare-sstmacro" and row["P"] == "64"]
    return [row for row in chosen if row["alg"] != "mpi" and (row["alg"], row["k"]) not in (("rk", "16"), ("rk", "32"))]


@needs_simgrid
@pytest.mark.parametrize("row", _rows(), ids=lambda row: f"{row['topo']}-{row['op']}-{row['alg']}{row['k']}{row['w']}")
def test_measured_rows_come_out_again(row: Row) -> None:
    # They were measured on SimGrid's own zones, without copies, and without the two more latencies (here of up to 1 us
    # each) that a round of large messages takes for header and get request.
    canonical = make_point(row, read_networks(ROOT), "default").canonical()
    machine = canonical["machine"]
    if machine["topology"] == "fattree":
        machine["routing"] = "d-mod-k"
    machine["processor"]["frequency"] = 10**12  # the most there may be
    made = Point.from_canonical(canonical)
    assert made.ranks == 64
    found = SimGrid().run(made)["time_s"]
    theirs = row.seconds("tspan_s")
    rounds = 0 if row["op"] == "allreduce" else schedule(made.workload, 64).rounds
    # Where rounds of several ranks overlap on full links (ring-1 on the torus), later starts change who shares, too.
    assert theirs * 0.98 < found < theirs * 1.005 + rounds * 2e-6


@needs_simgrid
def test_allreduce_agrees_with_the_simulator() -> None:
    allreduce = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 4, "count": 3, "repeats": 50}
    made = point(ranks=64, workload=allreduce, machine={"geometry": [4, 4, 4], "nodes_per_switch": 1})
    ours, theirs = get("simulator").run(made), SimGrid().run(made)
    assert ours["messages"] == theirs["messages"]
    assert ours["time_s"] == pytest.approx(theirs["time_s"], rel=0.05)


@needs_simgrid
def test_a_program_agrees_with_the_simulator() -> None:
    halo = {"kind": "halo", "width": 2, "grid": [64, 64, 16]}
    steps = [
        {"overlap": {"exchange": halo, "work": {"time": "300 us", "imbalance": "20 %"}}},
        {"kind": "work", "time": "100 us", "name": "more"},
        {"kind": "allreduce", "algorithm": "recursive-doubling", "communicator": "rows"},
        {"barrier": {}},
    ]
    program = {"kind": "program", "repeat": 2, "steps": steps, "communicators": {"rows": {"consecutive": 4}}}
    made = point(ranks=16, workload=program, machine={"geometry": [4, 4, 1], "nodes_per_switch": 1})
    ours, theirs = get("simulator").run(made), SimGrid().run(made)
    assert (ours["messages"], ours["bytes"]) == (theirs["messages"], theirs["bytes"])
    assert ours["time_s"] == pytest.approx(theirs["time_s"], rel=0.05)
    assert theirs["time_s"] > 2 * 400e-6
