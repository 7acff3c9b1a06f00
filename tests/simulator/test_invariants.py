"""What holds for every simulation: all data arrives, nothing is faster than its links, the same point is the same."""

from __future__ import annotations

from statistics import mean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.points.points import MAX_CONGESTION_BINS

from .points import GB, allreduce, machine, outcome, point, transposition

BOUNDS = ("lower_s", "upper_s")


@st.composite
def machines(draw: st.DrawFn) -> dict[str, Any]:
    """Small machines of every topology and routing, with tight and ample buffers, of at least 24 nodes."""
    topology = draw(st.sampled_from(["torus", "fattree", "dragonfly"]))
    packet = draw(st.sampled_from([256, 1000, 4096]))
    changes: dict[str, Any] = {
        "packet": packet,
        "buffer": 4 * packet * draw(st.sampled_from([1, 2, 10])),
        "crossbar": {"bandwidth": draw(st.sampled_from([5, 20, 100])) * GB},
        "link": {"bandwidth": draw(st.sampled_from([1, 3, 10])) * GB},
        "injection": {"service": draw(st.sampled_from(["fifo", "round-robin"]))},
        "protocol": {
            "negligible_size": draw(st.sampled_from([0, 64, 256])),
            "short_limit": draw(st.sampled_from([0, 512])),
            "eager_limit": draw(st.sampled_from([512, 8192])),
        },
    }
    if topology == "fattree":
        return machine(topology, draw(st.sampled_from([(2, 5), (3, 3), (5, 2)])), **changes)
    geometry = draw(st.sampled_from([(2, 3, 2), (3, 2, 2), (1, 4, 3), (5, 1, 3)]))
    routings = ["minimal", "valiant", "ugal"] + (["valiant-global"] if topology == "dragonfly" else [])
    return machine(topology, geometry, 2, draw(st.sampled_from(routings)), **changes)


SIDES, HEIGHTS, COUNTS = st.integers(24, 48), st.integers(24, 40), st.integers(1, 200)


@st.composite
def workloads(
    draw: st.DrawFn,
    ranks: int,
    sides: st.SearchStrategy[int] = SIDES,
    heights: st.SearchStrategy[int] = HEIGHTS,
    counts: st.SearchStrategy[int] = COUNTS,
    most_repeats: int = 2,
) -> dict[str, Any]:
    """Workloads of every kind and algorithm; small ones, if nothing else is said."""
    kind = draw(st.sampled_from(["transposition", "halo", "allreduce"]))
    cx = draw(st.sampled_from([d for d in range(1, ranks + 1) if ranks % d == 0]))
    grid = {"grid": [draw(sides), draw(sides), draw(heights)], "decomposition": [cx, ranks // cx]}
    if kind == "halo":
        return {"kind": kind, "width": draw(st.integers(1, 9)), **grid}
    if kind == "allreduce":
        algorithm = draw(
            st.sampled_from(["recursive-k", "recursive-doubling", "ring", "rabenseifner", "rabenseifner-pairs"])
        )
        radix = {"radix": draw(st.integers(2, 9))} if algorithm == "recursive-k" else {}
        repeats = draw(st.integers(1, most_repeats))
        return {"kind": kind, "algorithm": algorithm, "count": draw(counts), "repeats": repeats, **radix}
    algorithm = draw(st.sampled_from(["ring-k", "burst", "bruck", "pairwise", "sliding-window"]))
    radix = {"radix": draw(st.integers(1, 8))} if algorithm in ("ring-k", "sliding-window") else {}
    if algorithm == "bruck":
        radix = draw(st.sampled_from([{}, {"radix": 3}, {"radix": 5}]))
    return {"kind": kind, "algorithm": algorithm, **grid, **radix}


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_every_small_simulation_ends_and_conserves(data: st.DataObject) -> None:
    # Ending at all means no deadlock, and that as many bytes arrived as were sent: the simulator refuses otherwise.
    ranks = data.draw(st.integers(2, 24))
    net = data.draw(machines())
    p = point(ranks, data.draw(workloads(ranks)), net, data.draw(st.integers(0, 9)), data.draw(st.integers(0, 10**6)))
    p["statistics"] = {"congestion": data.draw(st.integers(0, 30))}
    result = outcome(p)
    schedule = _simulator.schedule.Schedule(p["workload"], ranks)
    sends = [int(n) for r in range(schedule.rounds) for n in schedule.transfers(r)["bytes"]]
    assert result["messages"] == len(sends)
    assert result["bytes"] == sum(sends)
    assert result["packets"] == sum(-(-n // net["packet"]) for n in sends)
    assert result["imbalance"] >= 1 - 1e-12
    # No faster than the busiest rank's own link; the phases, begun and ended in order, cover the whole.
    assert result["time_s"] >= result["bytes"] / ranks * result["imbalance"] / (10 * GB)
    assert max(result["phases"].values()) <= result["time_s"] * (1 + 1e-12)
    assert sum(result["phases"].values()) >= result["time_s"] * (1 - 1e-12)
    check_delays(result, p["statistics"]["congestion"], ranks)
    assert outcome(p) == result


def check_delays(result: dict[str, Any], bins: int, ranks: int) -> None:
    """Every packet is counted once, in the histogram and in the matrix."""
    delays = result["delays"]
    assert sum(delays["packets"]) == result["packets"]
    least, most = (sum(n * bound for n, bound in zip(delays["packets"], delays[key], strict=True)) for key in BOUNDS)
    assert least * (1 - 1e-12) <= delays["sum_s"] <= most
    assert delays["max_s"] <= result["time_s"]
    if bins == 0:
        assert "congestion" not in result
        return
    matrix = result["congestion"]
    assert (matrix["bins"], matrix["ranks"]) == (min(bins, ranks), ranks)
    cells = {key: np.array(matrix[key]) for key in ("packets", "sum_s", "max_s")}
    assert {cell.shape for cell in cells.values()} == {(matrix["bins"], matrix["bins"])}
    assert cells["packets"].sum() == result["packets"]
    assert cells["sum_s"].sum() == pytest.approx(delays["sum_s"], rel=1e-12)
    assert cells["max_s"].max() == delays["max_s"]
    assert np.all(cells["sum_s"] <= cells["packets"] * cells["max_s"] * (1 + 1e-12))


def test_delays_are_where_the_traffic_is() -> None:
    # Rows of four ranks exchange among themselves in a-b and c-d, columns in b-c.
    work = transposition((64, 64, 64), (4, 4), radix=3)
    p = point(16, work, machine("torus", (2, 2, 2), 2)) | {"statistics": {"congestion": 16}}
    packets = np.array(outcome(p)["congestion"]["packets"])
    row, column = np.divmod(np.arange(16), 4)
    partners = (row[:, None] == row) ^ (column[:, None] == column)
    assert np.array_equal(packets > 0, partners)
    assert np.array_equal(packets, packets.T)
    alone = {key: value for key, value in outcome(p).items() if key != "congestion"}
    del p["statistics"]
    assert outcome(p) == alone


def test_the_congestion_matrix_has_a_largest_size() -> None:
    p = point(4, allreduce(2), machine("torus", (2, 2, 2), 1)) | {"statistics": {"congestion": MAX_CONGESTION_BINS + 1}}
    with pytest.raises(ValueError, match=r"statistics\.congestion: at most 512 bins"):
        _simulator.simulate(p)


@pytest.mark.parametrize("routing", ["minimal", "valiant", "ugal"])
def test_a_seed_decides_everything(routing: str) -> None:
    net = machine("torus", (3, 3, 3), 2, routing)
    work = transposition((64, 64, 64), (6, 9), radix=4)
    times = {seed: outcome(point(54, work, net, seed))["time_s"] for seed in range(5)}
    assert times == {seed: outcome(point(54, work, net, seed))["time_s"] for seed in range(5)}
    if routing != "minimal":
        assert len(set(times.values())) == 5


def test_start_jitter_is_drawn_from_the_seed() -> None:
    net = machine("torus", (3, 3, 3), 2)
    spread = [outcome(point(54, allreduce(4), net, seed, 1_000_000))["time_s"] for seed in range(5)]
    assert len(set(spread)) == 5
    # A microsecond at most before the last rank starts.
    together = outcome(point(54, allreduce(4), net))["time_s"]
    assert all(together < time < together + 1e-6 for time in spread)


def test_valiant_spreads_what_minimal_crowds() -> None:
    # All ranks of a torus row exchange with their opposites: minimal uses two rows' links, Valiant the whole torus.
    work = transposition((64, 64, 64), (8, 2))
    crowded = outcome(point(16, work, machine("torus", (8, 8, 8), 1, "minimal", buffer=64_000)))
    spread = outcome(point(16, work, machine("torus", (8, 8, 8), 1, "valiant", buffer=128_000)))
    assert spread["hops"] > 1.5 * crowded["hops"]


def test_service_order_decides_who_waits() -> None:
    # Four messages at once from each rank (ring-4): served in turn, no receiver waits for the others' whole messages.
    work = transposition((256, 64, 64), (8, 1), radix=7)

    def times(service: str) -> list[float]:
        net = machine("torus", (1, 1, 1), 8, injection={"service": service})
        return [outcome(point(8, work, net, seed, start_jitter=200_000))["time_s"] for seed in range(1, 31)]

    assert mean(times("round-robin")) < 0.97 * mean(times("fifo"))


@pytest.mark.parametrize(
    ("ranks", "change", "message"),
    [
        (9, {}, "ranks: 9 do not fit on 8 nodes"),
        (4, {"buffer": 8191}, "machine.buffer: 8191 B over 2 virtual channels hold no packet of 4096 B"),
        (4, {"link": {"bandwidth": 10 * GB, "latency": 0}}, "machine.link.latency: found 0, allowed: 1 ... "),
        (4, {"packet": 0}, "machine.packet"),
        (4, {"buffer": 2**31}, "machine.buffer: at most 2"),
    ],
)
def test_what_cannot_be_simulated_is_refused(ranks: int, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _simulator.simulate(point(ranks, allreduce(2), machine("torus", (2, 2, 2), 1) | change))


@pytest.mark.parametrize("negligible", [0, 256])
def test_what_is_beyond_the_cache_ends_too(negligible: int) -> None:
    # Only there the simulator fetches ahead, also what is not there yet: with 256 B no message is cut into packets.
    net = machine("torus", (16, 16, 16), 1, protocol={"negligible_size": negligible})
    result = outcome(point(4096, allreduce(8, repeats=2), net))
    assert result["messages"] == 2 * 4096 * 4 * 7
    assert (result["hops"] == 0) == (negligible > 0)
