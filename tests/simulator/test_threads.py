"""Several threads within one point give what one thread gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.points.points import LINK_COUNTS
from tramontane.substrates import MOST_THREADS

from .points import allreduce, machine, outcome, point, transposition
from .test_invariants import machines, workloads


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_results_do_not_depend_on_the_number_of_threads(data: st.DataObject) -> None:
    ranks = data.draw(st.integers(2, 24))
    net = data.draw(machines())
    p = point(ranks, data.draw(workloads(ranks)), net, data.draw(st.integers(0, 9)), data.draw(st.integers(0, 10**6)))
    p["statistics"] = {"congestion": data.draw(st.integers(0, 5))}
    if data.draw(st.booleans()):
        p["statistics"] |= {"links": data.draw(st.sampled_from(LINK_COUNTS)), "bins": data.draw(st.integers(1, 20))}
    if data.draw(st.booleans()):
        p["noise"] = {"period": 10**7, "duration": 10**6, "pattern": data.draw(st.sampled_from(["periodic", "random"]))}
    assert outcome(p, threads=data.draw(st.integers(2, 4))) == outcome(p)


def test_many_events_are_shared() -> None:
    # Windows of more than a thousand events: the threads really work side by side.
    p = point(1024, transposition((256, 128, 64), (32, 32), radix=4), machine("dragonfly", (8, 8, 4), 4))
    assert _simulator.simulate(p, 2)["threads"] == 2
    assert outcome(p, threads=2) == outcome(p)


def test_threads_are_no_more_than_there_is_work_for() -> None:
    p = point(4, allreduce(2), machine("torus", (2, 2, 2), 2))  # on two switches
    assert _simulator.simulate(p, 8)["threads"] == 2
    assert _simulator.simulate(p | {"steady": {"error": 10_000}}, 8)["threads"] == 1


@pytest.mark.parametrize("threads", [0, -1, MOST_THREADS + 1])
def test_a_bad_number_of_threads_is_refused(threads: int) -> None:
    with pytest.raises(ValueError, match=f"threads: found {threads}, allowed: 1 ... {MOST_THREADS}"):
        _simulator.simulate(point(4, allreduce(2), machine("torus", (2, 2, 2), 1)), threads)
