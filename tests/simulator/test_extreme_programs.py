"""Extreme points of the newer kinds: programs with work, puts and storage, patterns, jobs, nodes of several ranks.

What the simulator says of them is right, or one line refuses them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tramontane.study import Point
from tramontane.substrates.simulator import as_simulated

from .test_extremes import DAY, REFUSALS, S, outcome, powers

pytestmark = pytest.mark.usefixtures("tables")

ROOT = Path(__file__).parents[2]
PACKETS = 300
"""What the largest message takes at most."""


def times(most: int = 1000 * S) -> st.SearchStrategy[str]:
    return powers(1, most).map("{} ps".format)


LATENCY, TIME, PER_BYTE = times(S), times(), times(10**6)
BANDWIDTH = powers(10**6, 2 * 10**14).map("{} B/s".format)
SHARE = st.sampled_from(["0 %", "1 %", "50 %", "99 %"])
HALO = {"kind": "halo", "grid": [24, 36, 5]}
NETWORKS: dict[str, dict[str, Any]] = {
    "dimension-1": {"topology": "torus", "geometry": [3, 2, 2, 2], "parallel_links": {"dimension-1": 2}},
    "local": {"topology": "dragonfly", "geometry": [2, 2, 3], "routing": "ugal"},
    "global": {
        "topology": "dragonfly-plus",
        "geometry": {"leaves": 2, "spines": 2, "nodes_per_leaf": 4, "groups": 3, "global_links": 2},
    },
    "up-1": {"topology": "fattree", "geometry": {"down": [4, 3, 2], "up": [1, 2, 2], "links": [1, 1, 1]}},
    "dimension-2": {"topology": "hyperx", "geometry": {"switches": [3, 4], "links": [1, 2]}, "routing": "dal"},
    "network": {"topology": "graph", "file": str(ROOT / "configs/machines/slimfly-S.csv"), "nodes_per_switch": 2},
}
"""By a class of links each has."""


@st.composite
def machines(draw: st.DrawFn, largest: int) -> dict[str, Any]:
    """Machines at and between the bounds of what newer keys take, with what programs need."""
    among, block = st.sampled_from, st.fixed_dictionaries
    links = draw(among(sorted(NETWORKS)))
    rate = block({"bandwidth": BANDWIDTH, "latency": LATENCY})
    optional: dict[str, Any] = {
        "overhead": block(dict.fromkeys(("send", "receive"), TIME) | {"post": LATENCY, "receive_per_byte": PER_BYTE}),
        "matching": block({"posted": LATENCY, "unexpected": LATENCY}),
        "unpack": block({"per_byte": PER_BYTE, "order": among(["arrival", "fixed"])}),
        "threads": block({"count": st.integers(1, 64), "lock_time": LATENCY}),
        "accelerator": block({"copy_bandwidth": BANDWIDTH, "copy_latency": LATENCY}),
    }
    needed = {
        "injection": rate,
        "node": block({"latency": LATENCY, "bandwidth": BANDWIDTH, "memory_bandwidth": BANDWIDTH}),
        "storage": block(
            {"bandwidth": BANDWIDTH, "node_bandwidth": BANDWIDTH, "latency": LATENCY},
            optional={"request": LATENCY, "contention": SHARE},
        ),
        "one_sided": block(dict.fromkeys(COSTS, LATENCY)),
        "protocol": block(
            {"eager_limit": powers(0, 10**9).map("{} B".format), "short_limit": st.just("0 B")},
            optional={"progress": among(["calls", "hardware"]), "expected_eager": among(["copied", "direct"])},
        ),
    }
    net = NETWORKS[links] | draw(block(needed, optional=optional))
    net["link"] = draw(rate) | {"classes": {links: draw(rate)}}
    packet = max(draw(powers(1000, 10**8)), largest // PACKETS)
    return net | {"packet": f"{packet} B", "buffer": f"{min(20 * packet, 2**31 - 1)} B"}


COSTS = ("put", "post", "start", "complete", "wait", "fence", "lock", "unlock", "flush", "notify")
SYNCHRONISATIONS = ("fence", "post-start", "passive", "lock")


def steps(largest: int) -> list[st.SearchStrategy[dict[str, Any]]]:
    """Return steps: of messages and work first, then four that jobs side by side may not have."""
    some, widths = powers(1, largest).map("{} B".format), st.integers(1, 4)
    return [
        st.builds(lambda time, noise: {"kind": "work", "time": time, "noise": noise}, TIME, SHARE),
        st.builds(lambda width: HALO | {"width": width}, widths),
        st.builds(
            lambda count: {"kind": "allreduce", "algorithm": "recursive-doubling", "count": count},
            powers(1, max(1, largest // 8)),
        ),
        st.builds(
            lambda time, width: {"overlap": {"exchange": HALO | {"width": width}, "work": {"time": time}}}, TIME, widths
        ),
        st.builds(lambda total: {"kind": "write", "total": total}, some),
        st.builds(lambda size: {"kind": "read", "bytes": size}, some),
        st.just({"kind": "notify", "offsets": [1, 3]}),
        st.builds(
            lambda width, by: HALO | {"width": width, "one_sided": {"synchronisation": by}},
            widths,
            st.sampled_from(SYNCHRONISATIONS),
        ),
    ]


@st.composite
def points(draw: st.DrawFn, folder: Path) -> dict[str, Any]:
    """Programs, patterns and jobs on such machines."""
    ranks, kind = draw(st.sampled_from([4, 6, 12])), draw(st.sampled_from(["program", "pattern", "jobs"]))
    largest = draw(powers(1000, 10**9))
    allowed = steps(largest)[: 4 if kind == "jobs" else None]
    program = {"repeat": draw(st.integers(1, 2)), "steps": draw(st.lists(st.one_of(allowed), min_size=1, max_size=4))}
    workload: dict[str, Any] = {"kind": "program", **program}
    if kind == "pattern":
        ends = st.tuples(st.integers(0, ranks - 1), st.integers(0, ranks - 1)).filter(lambda pair: pair[0] != pair[1])
        sizes = st.dictionaries(ends, powers(0, largest), min_size=1, max_size=12)
        rows = [f"{source},{target},{size}\n" for (source, target), size in draw(sizes).items()]
        file = folder / "pattern.csv"
        file.write_text(f"source,target,bytes\n{''.join(rows)}")
        workload = {"kind": "pattern", "file": str(file)}
    elif kind == "jobs":
        traffic = {"kind": "random-shifts", "bytes": f"{largest} B", "rounds": draw(st.integers(1, 5))}
        jobs = [{"name": "a", "workload": workload}, {"name": "b", "start": draw(TIME), "workload": traffic}]
        workload = {"kind": "jobs", "jobs": [job | {"ranks": ranks // 2} for job in jobs]}
    return {
        "ranks": ranks,
        "ranks_per_node": draw(st.sampled_from([1, 2])) if ranks % 4 == 0 else 1,
        "allocation": draw(st.sampled_from(["first-available", "random"])),
        "seed": draw(st.integers(0, 2**31 - 1)),
        "start_jitter": draw(st.just("0 s") | TIME),
        "machine": draw(machines(largest)),
        "workload": workload,
    }


def least_time(point: dict[str, Any]) -> float:
    """Return what a program's work and accesses to storage alone take [s]."""
    workload = point["workload"]
    if workload["kind"] != "program":
        return 0.0
    latency = point["machine"].get("storage", {"latency": 0})["latency"]
    alone = [step.get("time", 0) + latency * (step["kind"] in ("read", "write")) for step in workload["steps"]]
    return float(workload["repeat"] * sum(alone)) * 1e-12


@given(data=st.data(), threads=st.integers(2, 3), part=st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_an_extreme_point_of_a_newer_kind_is_right_or_refused(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, threads: int, part: int
) -> None:
    drawn = data.draw(points(tmp_path_factory.getbasetemp()))
    try:
        point = Point.model_validate(drawn)
    except ValidationError as error:
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert "allowed: " in refused
        return
    simulated, net = as_simulated(point), point.canonical()["machine"]
    latencies = [net[block]["latency"] for block in ("link", "injection", "node") if "latency" in net.get(block, {})]
    result = outcome(simulated)
    other = outcome(simulated, threads=threads, window=max(1, min(latencies) // part))
    if isinstance(result, str):
        assert "\n" not in result
        assert result.startswith(REFUSALS), result
        assert isinstance(other, str)
        return
    assert other == result
    assert least_time(point.canonical()) * (1 - 1e-9) <= result["time_s"] <= DAY
