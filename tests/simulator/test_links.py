"""Links of several classes: what differs where, and what does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator

from .points import GB, NS, allreduce, machine, outcome, point, transposition

NETWORKS = {
    "torus": machine("torus", (6, 2, 1)),
    "torus, ugal": machine("torus", (6, 2, 1), 1, "ugal", buffer=128_000),
    "dragonfly": machine("dragonfly", (4, 3, 1)),
    "dragonfly, ugal": machine("dragonfly1d", (12, 1), 1, "ugal", buffer=128_000, global_links=2),
    "hyperx": machine("hyperx", (4, 3)) | {"geometry": {"switches": [4, 3], "links": [2, 1]}, "routing": "dal"},
}
UNUSED = {"torus": "dimension-3", "dragonfly": "global", "dragonfly1d": "global"}
WORK = transposition((96, 48, 24), (4, 3), 2)


@pytest.mark.parametrize("name", NETWORKS)
def test_links_that_no_packet_takes_change_nothing(name: str) -> None:
    net = NETWORKS[name]
    p = point(12, WORK, net, seed=3, start_jitter=1000 * NS) | {"statistics": {"congestion": 4}}
    expected = outcome(p)
    slow = {"bandwidth": GB, "latency": 500 * NS}
    if unused := UNUSED.get(net["topology"]):
        p["machine"] = net | {"link": {**net["link"], "classes": {unused: slow}}}
        assert outcome(p, threads=3) == outcome(p) == expected
    # Nor do classes that are all alike, whatever `link` itself says.
    classes = dict.fromkeys(_simulator.Network(net).facts()["link_classes"], net["link"])
    p["machine"] = net | {"link": {**slow, "classes": classes}}
    assert outcome(p) == expected


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_threads_and_windows_do_not_matter_where_links_differ(data: st.DataObject) -> None:
    net = NETWORKS[data.draw(st.sampled_from(sorted(NETWORKS)))]
    names = _simulator.Network(net).facts()["link_classes"]
    kinds = st.fixed_dictionaries({"bandwidth": st.sampled_from([GB, 3 * GB, 25 * GB]), "latency": st.integers(5, 900)})
    classes = {name: {**own, "latency": own["latency"] * NS} for name in names for own in [data.draw(kinds)]}
    work = data.draw(st.sampled_from([WORK, allreduce(4, 300, repeats=2)]))
    p = point(12, work, net | {"link": {**net["link"], "classes": classes}}, data.draw(st.integers(0, 9)), 1000 * NS)
    expected = outcome(p)
    most = min([100, *(own["latency"] // NS for own in classes.values())]) * NS * 200
    assert outcome(p, threads=data.draw(st.integers(2, 5)), window=most // data.draw(st.integers(1, 4))) == expected
    # No search may leave out what simulates faster than its bound.
    assert _simulator.earliest_ends(p)[1][-1] <= expected["time_s"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"globl": {"latency": 5}}, "machine.link.classes: found 'globl' for topology dragonfly; allowed: ejection, l"),
        ({"global": {"latency": 0}}, "machine.link.classes.global.latency: found 0, allowed: 1 ... "),
        ({"local": {"bandwidth": 1}}, "machine.link.classes.local.bandwidth: found 1, allowed: 10"),
    ],
)
def test_classes_that_cannot_be_are_refused(change: dict[str, Any], message: str) -> None:
    net = NETWORKS["dragonfly"]
    with pytest.raises(ValueError, match=message):
        _simulator.simulate(point(2, allreduce(2), net | {"link": {**net["link"], "classes": change}}))
