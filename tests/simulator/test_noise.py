"""Overheads and noise of the processors: off unless asked for, exact where they can be worked out, seeded."""

from __future__ import annotations

from typing import Any

import pytest

from tramontane import _simulator

from .points import NS, allreduce, machine, outcome, point, transposition

US = 1000 * NS
MS = 1000 * US


@pytest.mark.parametrize("n", [16, 512, 1024, 8192, 8208, 2**20])
def test_an_exchange_takes_longer_by_both_overheads(n: int) -> None:
    # Two exchanges, a-b and c-d, by each of the three protocols.
    work = transposition((2, 2, n // 8), (2, 1))
    without = outcome(point(2, work, machine()))["time_s"]
    slow = machine() | {"overhead": {"send": 700 * NS, "receive": 1300 * NS}}
    assert outcome(point(2, work, slow))["time_s"] - without == pytest.approx(2 * 2000e-9, rel=1e-9)


def test_a_zero_overhead_changes_nothing() -> None:
    work = transposition((64, 64, 16), (4, 4), radix=3)
    plain = point(16, work, machine("torus", (2, 2, 2), 2))
    off = point(16, work, machine("torus", (2, 2, 2), 2) | {"overhead": {"send": 0, "receive": 0}})
    assert outcome(off) == outcome(plain)


def test_an_allreduce_pays_both_overheads_at_each_stage() -> None:
    slow = machine("torus", (2, 2, 2)) | {"overhead": {"send": 300 * NS, "receive": 500 * NS}}
    free, paid = (outcome(point(8, allreduce(2), net))["time_s"] for net in (machine("torus", (2, 2, 2)), slow))
    assert paid - free == pytest.approx(3 * 800e-9, rel=1e-6)


@pytest.mark.parametrize("pattern", ["periodic", "random"])
def test_fine_grained_collectives_amplify_noise(pattern: str) -> None:
    # Noise that takes 2.5 % of each processor, as Ferreira, Bridges and Brightwell (SC 2008) injected it: many short
    # detours or few long ones. A single rank would lose 2.5 %; an allreduce waits for whichever rank is away.
    net = machine("torus", (4, 4, 4)) | {"overhead": {"send": 1 * US, "receive": 1 * US}}
    work = allreduce(2, repeats=300)
    quiet = outcome(point(64, work, net))["time_s"]

    def slowdown(duration: int, period: int, seed: int = 1) -> float:
        noise = {"duration": duration, "period": period, "pattern": pattern}
        return float(outcome(point(64, work, net, seed) | {"noise": noise})["time_s"] / quiet)

    fine, coarse = slowdown(25 * US, 1 * MS), slowdown(250 * US, 10 * MS)
    assert fine > 1.1
    assert coarse > 1.1
    assert slowdown(25 * US, 1 * MS) == fine
    assert slowdown(25 * US, 1 * MS, seed=2) != fine


def test_a_short_operation_meets_as_much_noise_at_random_moments() -> None:
    """An allreduce of a hundredth of the period: 64 ranks begin it in whatever part of their periods they are."""
    net = machine("torus", (4, 4, 4)) | {"overhead": {"send": 200 * NS, "receive": 200 * NS}}

    def mean_s(pattern: str) -> float:
        noise = {"duration": 25 * US, "period": 1 * MS, "pattern": pattern}
        members = [point(64, allreduce(2), net, seed) | {"noise": noise} for seed in range(100)]
        return sum(float(outcome(member)["time_s"]) for member in members) / len(members)

    assert mean_s("random") == pytest.approx(mean_s("periodic"), rel=0.2)


@pytest.mark.parametrize(("pattern", "revision"), [("periodic", 2), ("random", 6)])
def test_a_revision_is_of_the_noise_that_it_changed(pattern: str, revision: int) -> None:
    noise = {"duration": 25 * US, "period": 1 * MS, "pattern": pattern}
    assert _simulator.model_revision(point(4, allreduce(2), machine("torus", (2, 2, 2))) | {"noise": noise}) == revision


@pytest.mark.parametrize(
    "noise",
    [
        {"duration": 0, "period": MS, "pattern": "periodic"},
        {"duration": MS, "period": MS, "pattern": "periodic"},
        {"duration": 1, "period": 2 * 10**15, "pattern": "random"},
    ],
)
def test_noise_that_leaves_no_time_is_refused(noise: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^noise: a duration"):
        _simulator.simulate(point(4, allreduce(2), machine("torus", (2, 2, 2))) | {"noise": noise})


def test_the_compatible_model_has_neither() -> None:
    net = machine("torus", (2, 2, 2), model="pisces-16")
    with pytest.raises(ValueError, match=r"^machine\.overhead"):
        _simulator.simulate(point(4, allreduce(2), net | {"overhead": {"send": 1, "receive": 0}}))
    noise = {"duration": US, "period": MS, "pattern": "periodic"}
    with pytest.raises(ValueError, match=r"^noise"):
        _simulator.simulate(point(4, allreduce(2), net) | {"noise": noise})
