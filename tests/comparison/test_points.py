"""Rows as points: what they become, and what has no counterpart here."""

from pathlib import Path
from typing import Any

import pytest

from tramontane.comparison.networks import read_networks
from tramontane.comparison.points import CannotRunError, algorithm, make_point, measured_point, members
from tramontane.comparison.rows import Row, read_rows
from tramontane.errors import InputError
from tramontane.study import Point
from tramontane.substrates.simulator import Simulator

from .conftest import ROOT, Write

NETWORKS = read_networks(ROOT)


def only(write: Write, **change: Any) -> Row:
    return read_rows(write(change))[0]


def test_a_row_in_all_its_parts(write: Write) -> None:
    change = {"P": 256, "cx": 16, "cy": 16, "k": 4, "nx": 1440, "ny": 720, "nz": 64, "topo": "torus888x2"}
    change |= {"bw_GBs": "1.0", "inj_bw_GBs": 10, "xbar_bw_GBs": "8.0", "lat_ns": 10, "inj_lat_ns": 1000}
    change |= {"mtu": 1024, "credits": "1MB", "negligible": 256, "routing": "ugal"}
    row = only(write, **change)
    assert make_point(row, NETWORKS, "default").canonical() == {
        "ranks": 256,
        "workload": {
            "kind": "transposition",
            "algorithm": "ring-k",
            "radix": 4,
            "grid": [1440, 720, 64],
            "decomposition": [16, 16],
        },
        "machine": {
            "topology": "torus",
            "geometry": [8, 8, 8],
            "nodes_per_switch": 2,
            "routing": "ugal",
            "link": {"bandwidth": 10**9, "latency": 10_000},
            "injection": {"bandwidth": 10**10, "latency": 1_000_000, "service": "fifo"},
            "crossbar": {"bandwidth": 8 * 10**9},
            "logp": {"bandwidth": 10**9, "hop_latency": 10_000, "out_in_latency": 1_000_000},
            "memory": {"bandwidth": 10**12},
            "processor": {"frequency": 2 * 10**9},
            "packet": 1024,
            "buffer": 1_000_000,
            "protocol": {"eager_limit": 8192, "short_limit": 512, "negligible_size": 256},
            "model": "default",
        },
        "allocation": "first-available",
        "substrate": "simulator",
        "seed": 42,
        "start_jitter": 0,
    }


@pytest.mark.parametrize(
    ("change", "workload", "names"),
    [
        ({"alg": "burst"}, {"kind": "transposition", "algorithm": "burst"}, ("burst", "burst")),
        ({"alg": "bruck", "k": 4}, {"kind": "transposition", "algorithm": "bruck"}, ("bruck", "bruck")),
        ({"op": "halo", "w": 3}, {"kind": "halo", "width": 3}, ("-", "-")),
        (
            {"op": "allreduce", "alg": "rk", "k": 4, "reps": 50},
            {"kind": "allreduce", "algorithm": "recursive-k", "radix": 4, "count": 3, "repeats": 50},
            ("recursive", "recursive-4"),
        ),
    ],
)
def test_operations(write: Write, change: dict[str, Any], workload: dict[str, Any], names: tuple[str, str]) -> None:
    row = only(write, **change)
    shape = {} if workload["kind"] == "allreduce" else {"grid": [8, 8, 8], "decomposition": [2, 2]}
    assert make_point(row, NETWORKS, "default").canonical()["workload"] == workload | shape
    assert algorithm(row) == names


def test_a_measured_point_is_the_point_a_user_would_write(write: Write) -> None:
    point = make_point(only(write), NETWORKS, "default")
    assert Point.from_canonical(point.canonical()).id == point.id


def test_ranks_without_points_run_although_users_may_not_ask_for_them(write: Write) -> None:
    row = only(write, P=2, cx=2, cy=1, nx=2, ny=1, nz=2)
    point = make_point(row, NETWORKS, "default")
    with pytest.raises(ValueError, match="cx = 2 > ny = 1"):
        Point.from_canonical(point.canonical())
    result = Simulator().run(point)
    assert 0 < result["time_s"] < 1e-5


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"status": "timeout"}, "status timeout"),
        ({"status": ""}, "status empty"),
        ({"op": "none"}, "op none"),
        ({"op": "allreduce", "alg": "mpi"}, "alg mpi"),
        ({"allocation": "random"}, "allocation random"),
        ({"indexing": "random"}, "indexing random"),
        ({"arb": "simple"}, "arb simple"),
        ({"xarb": "null"}, "xarb null"),
        ({"P": 66, "cx": 6, "cy": 11}, "66 ranks on 64 nodes"),
        ({"cx": 4}, "that is 8 processes; allowed: cx \\* cy = 4"),
        ({"reps": 2}, "reps 2 of transpose"),
        ({"credits": "4KB"}, "buffer: found"),
        ({"vshort": "16KB"}, "protocol.short_limit: found"),
    ],
)
def test_what_has_no_counterpart_is_left_out_with_the_reason(write: Write, change: dict[str, Any], reason: str) -> None:
    with pytest.raises(CannotRunError, match=reason):
        make_point(read_rows(write(change))[0], NETWORKS, "default")


def test_an_unknown_network_is_a_mistake(write: Write) -> None:
    with pytest.raises(InputError, match="line 2, topo: found 'torus444x11'; did you mean 'torus444x1'"):
        make_point(only(write, topo="torus444x11"), NETWORKS, "default")


def test_a_routing_that_a_network_has_not_is_a_mistake(write: Write) -> None:
    with pytest.raises(InputError, match="line 2, routing: found 'table' for topology torus; allowed: minimal, valian"):
        make_point(only(write, routing="table"), NETWORKS, "default")


def test_an_unknown_algorithm_is_a_mistake(write: Write) -> None:
    with pytest.raises(InputError, match="line 2, alg: found 'bruk'; did you mean 'bruck'"):
        make_point(only(write, alg="bruk"), NETWORKS, "default")


def test_networks_are_those_of_the_table() -> None:
    assert NETWORKS["torus888x2"].machine == {"topology": "torus", "geometry": [8, 8, 8], "nodes_per_switch": 2}
    assert NETWORKS["dfly16x32x2"].machine == {
        "topology": "dragonfly1d",
        "geometry": [16, 32],
        "nodes_per_switch": 2,
        "global_links": 4,
    }
    tree = NETWORKS["ft1024"].machine
    assert tree["topology"] == "fattree"
    assert dict(tree["geometry"]) == {"nodes_per_leaf": 8, "leaves_per_subtree": 8, "subtrees": 16}
    assert {name: network.ports for name, network in NETWORKS.items()}["dfly16x32x2"] == 22


def test_members_differ_in_their_seeds_only(write: Write) -> None:
    point = make_point(only(write), NETWORKS, "default")
    found = [member.canonical() for member in members(point, 3, 1000)]
    assert [(member.pop("seed"), member.pop("start_jitter")) for member in found] == [
        (42, 1000),
        (43, 1000),
        (44, 1000),
    ]
    assert found[0] == found[1] == found[2]
    assert members(point, 1, 0)[0].id == point.id


def test_other_mistakes_in_a_workload_are_still_found(write: Write) -> None:
    machine = make_point(only(write), NETWORKS, "default").canonical()["machine"]
    with pytest.raises(CannotRunError, match="radix"):
        measured_point(4, {"kind": "allreduce", "algorithm": "recursive-k", "radix": 1}, machine, seed=1)


def test_rows_of_the_projects_table_that_users_could_not_write() -> None:
    """The only rows that need the way around are transpositions on a grid of one row."""
    refused = set()
    for row in read_rows(Path(ROOT, "validation", "sstmacro-16.0.csv")):
        try:
            point = make_point(row, NETWORKS, "default")
        except CannotRunError:
            continue
        try:
            Point.from_canonical(point.canonical())
        except ValueError:
            refused.add((row["tag"], row["op"], row["ny"]))
    assert refused == {("tiny", "transpose", "1")}
