"""Compatibility mode `pisces-16`: the times of SST/macro 16.0, to the digits it prints.

These systems are chaotic, so agreement of a long run means that every event of it takes place at SST/macro's own tick;
one tie broken otherwise would show as per cents.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from tramontane import _simulator

from .points import GB, NS, allreduce, machine, point, transposition

TOPOLOGIES: dict[str, dict[str, Any]] = {
    "torus444x1": {"topology": "torus", "geometry": [4, 4, 4], "nodes_per_switch": 1},
    "torus888x2": {"topology": "torus", "geometry": [8, 8, 8], "nodes_per_switch": 2},
    "ft1024": {"topology": "fattree", "geometry": {"nodes_per_leaf": 8, "leaves_per_subtree": 8, "subtrees": 16}},
    "dfly16x32x2": {"topology": "dragonfly1d", "geometry": [16, 32], "nodes_per_switch": 2, "global_links": 4},
}
BUFFERS = {"64KB": 64_000, "1MB": 1_000_000, "4MB": 4_000_000}


def measured() -> list[dict[str, str]]:
    with (Path(__file__).parent / "data" / "sstmacro-16.0.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def name(row: dict[str, str]) -> str:
    what = (
        row[k] for k in ("topo", "routing", "P", "op", "alg", "k", "w", "nx", "xbar_bw_GBs", "lat_ns", "negligible")
    )
    return "-".join(part for part in what if part)


def point_of(row: dict[str, str]) -> dict[str, Any]:
    if row["op"] == "allreduce":
        workload = allreduce(int(row["k"]), repeats=int(row["reps"]))
    else:
        workload = {
            "kind": "transposition" if row["op"] == "transpose" else "halo",
            "grid": [int(row[d]) for d in ("nx", "ny", "nz")],
            "decomposition": [int(row["cx"]), int(row["cy"])],
        }
        if row["op"] == "halo":
            workload["width"] = int(row["w"])
        elif row["alg"] == "ring":
            workload |= {"algorithm": "ring-k", "radix": int(row["k"])}
        else:
            workload["algorithm"] = row["alg"]
    link = {"bandwidth": int(float(row["bw_GBs"]) * GB), "latency": int(row["lat_ns"]) * NS}
    network = machine(
        routing=row["routing"],
        link=link,
        injection={"bandwidth": int(float(row["inj_bw_GBs"]) * GB), "latency": link["latency"]},
        crossbar={"bandwidth": int(float(row["xbar_bw_GBs"]) * GB)},
        logp={
            "bandwidth": link["bandwidth"],
            "hop_latency": link["latency"],
            "out_in_latency": link["latency"],
        },
        packet=int(row["mtu"]),
        buffer=BUFFERS[row["credits"]],
        protocol={"negligible_size": int(row["negligible"])},
        model="pisces-16",
    )
    network |= TOPOLOGIES[row["topo"]]
    if network["topology"] == "fattree":
        network["routing"] = "round-robin"  # SST/macro's only rule
    return point(int(row["P"]), workload, network, seed=int(row["seed"]))


@pytest.mark.parametrize("row", measured(), ids=name)
def test_times_are_those_of_sst_macro(row: dict[str, str]) -> None:
    result = _simulator.simulate(point_of(row))
    assert result["time_s"] == pytest.approx(float(row["tspan_s"]), rel=2e-4)
    assert result["packets"] == int(row["pkts"])
    if row["ab_s"]:
        phases = [float(row[f"{phase}_s"]) for phase in ("ab", "bc", "cd")]
        assert list(result["phases"].values()) == pytest.approx(phases, rel=2e-4)


SMALL = machine("torus", (2, 2, 2), 2, model="pisces-16")


def test_a_point_repeats_and_jitter_is_seeded() -> None:
    workload = transposition((64, 64, 16), (4, 4), radix=2)
    same = [_simulator.simulate(point(16, workload, SMALL)) for _ in range(2)]
    assert same[0]["time_s"] == same[1]["time_s"]
    assert same[0]["hops"] == same[1]["hops"]
    late = [_simulator.simulate(point(16, workload, SMALL, seed=s, start_jitter=10**6))["time_s"] for s in (1, 2, 1)]
    assert late[0] == late[2]
    assert len({same[0]["time_s"], *late}) == 3


def test_delays_follow_the_same_definition_as_in_the_default_model() -> None:
    workload = transposition((256, 64, 64), (4, 4), radix=3)
    means = []
    for model in ("default", "pisces-16"):
        runs = [
            _simulator.simulate(
                point(16, workload, SMALL | {"model": model}, seed=seed, start_jitter=10**6)
                | {"statistics": {"congestion": 4}}
            )
            for seed in range(1, 6)
        ]
        for run in runs:
            assert sum(run["delays"]["packets"]) == sum(map(sum, run["congestion"]["packets"])) == run["packets"]
        means.append(sum(run["delays"]["sum_s"] / run["packets"] for run in runs) / len(runs))
    assert means[1] == pytest.approx(means[0], rel=0.15)
    # An exchange of two ranks delays nothing, however many packets a message has.
    alone = _simulator.simulate(point(2, transposition((256, 64, 64), (2, 1)), SMALL))
    assert alone["delays"]["packets"][0] == alone["packets"] > 1000


@pytest.mark.parametrize("ranks", [1, 2, 3, 5, 7, 12, 16])
def test_any_number_of_ranks_ends(ranks: int) -> None:
    result = _simulator.simulate(point(ranks, allreduce(2), SMALL))
    assert result["bytes"] == 24 * result["messages"]
    assert (result["time_s"] > 0) == (ranks > 1)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"routing": "par"}, "machine.routing"),
        ({"topology": "fattree", "geometry": [2, 2, 2], "routing": "d-mod-k"}, "machine.routing"),
        ({"topology": "fattree", "geometry": [2, 4, 2], "routing": "round-robin"}, "machine.geometry"),
        ({"topology": "fattree", "geometry": [3, 4], "routing": "round-robin"}, "machine.geometry"),
        ({"topology": "dragonfly", "geometry": [2, 2, 2]}, "machine.topology"),
        ({"topology": "dragonfly1d", "geometry": [2, 9], "global_links": 3}, "machine.global_links"),
        ({"topology": "dragonfly1d", "geometry": [2, 9], "global_links": 2}, "machine.global_links"),
        ({"buffer": 8000}, "machine.buffer"),
        ({"injection": {"bandwidth": GB, "latency": NS, "service": "round-robin"}}, "machine.injection.service"),
        ({"nodes_per_switch": 1}, "ranks"),
    ],
)
def test_what_sst_macro_cannot_run_is_refused(change: dict[str, Any], key: str) -> None:
    with pytest.raises(ValueError, match=f"^{key}"):
        _simulator.simulate(point(16, allreduce(2), SMALL | change))
