"""What single links carry, and what links carry in bins of time."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tramontane import _simulator
from tramontane.study.points.points import BY_CLASS, EACH, HOTTEST, Point
from tramontane.substrates.simulator import Simulator

from .points import GB, LINE, NS, allreduce, machine, point, transposition
from .test_link_use import NETWORKS, slower


def counted(p: dict[str, Any], links: str, bins: int | None = None, **how: Any) -> dict[str, Any]:
    asked = {"congestion": 0, "links": links} | ({"bins": bins} if bins else {})
    return dict(_simulator.simulate(p | {"statistics": asked}, **how))


def test_a_saturated_link_is_busy_in_each_bin() -> None:
    """Two switches, a large message each way, pulled: header and get request first, then nothing but the data."""
    workload = {"kind": "transposition", "algorithm": "burst", "grid": [800, 400, 20], "decomposition": [2, 1]}
    asked = {"links": EACH, "bins": 16}
    made = Point.model_validate({"ranks": 2, "workload": workload, "machine": LINE, "statistics": asked})
    result = Simulator().run(made)
    links = {each["name"]: each for each in result["single_links"]}
    there = links["dimension-1 link, switch (0) to (1)"]
    assert (there["to_switch"], there["class"], there["switch"]) == (1, "dimension-1", 0)
    full = result["bin_s"] * 10e9
    busy = [each / full for each in there["bytes_in_bins"]]
    assert max(busy) <= 1.001
    last = max(i for i, each in enumerate(busy) if each > 0)
    assert all(each > 0.99 for each in busy[1:last])
    assert 8 <= last <= 15
    assert there["busy_s"] == pytest.approx(there["bytes"] / 10e9, rel=1e-9)
    assert there["load"] == pytest.approx(there["busy_s"] / result["time_s"], rel=1e-9)
    assert {name.split(" link")[0] for name in links} == {"dimension-1", "ejection", "injection"}
    assert links["ejection link, switch (1) to node 1"]["to_node"] == 1
    injection = links["injection link, node 1 to switch (1)"]
    assert injection["node"] == 1
    assert all(each > 0.99 * full for each in injection["bytes_in_bins"][1 : last - 1])


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("differ", [False, True], ids=["alike", "different"])
def test_bins_and_links_add_up(name: str, differ: bool) -> None:
    net = slower(NETWORKS[name]) if differ else NETWORKS[name]
    p = point(12, allreduce(12, count=2000), net)
    whole, by_class, each = counted(p, BY_CLASS), counted(p, BY_CLASS, 5), counted(p, EACH, 5)
    keys = ("time_s", "hops", "events")
    assert [whole[key] for key in keys] == [each[key] for key in keys]
    assert by_class["links"] == each["links"]
    assert by_class["bin_s"] == each["bin_s"]
    for of_class, plain in zip(each["links"], whole["links"], strict=True):
        assert {key: of_class[key] for key in plain} == plain
        assert sum(of_class["bytes_in_bins"]) == of_class["bytes"]
        assert max(of_class["peak_queue_in_bins"]) == of_class["peak_queue"]
        single = [link for link in each["single_links"] if link["class"] == of_class["name"]]
        assert of_class["used"] == len(single)
        for key in ("packets", "bytes"):
            assert sum(link[key] for link in single) == of_class[key]
        for i in range(5):
            assert sum(link["bytes_in_bins"][i] for link in single) == of_class["bytes_in_bins"][i]
            assert (
                max((link["peak_queue_in_bins"][i] for link in single), default=0) == of_class["peak_queue_in_bins"][i]
            )
    # As few bins as possible are empty at the end: half as wide ones would not hold the run.
    used = [any(link["bytes_in_bins"][i] or link["peak_queue_in_bins"][i] for link in each["links"]) for i in range(5)]
    assert any(used[2:])


def test_the_hottest_are_the_first_of_all() -> None:
    p = point(12, transposition((24, 24, 4), (3, 4)), NETWORKS["dragonfly"])
    every, few = counted(p, EACH, 3), counted(p, HOTTEST, 3)
    most = _simulator.HOTTEST_LINKS
    for link_class in ("ejection", "local", "global"):
        own = [link for link in every["single_links"] if link["class"] == link_class]
        order = sorted(own, key=lambda link: (-link["bytes"], link["switch"], link["port"]))
        assert own == order
        assert [link for link in few["single_links"] if link["class"] == link_class] == order[:most]
    assert few["links"] == every["links"]


def test_the_longest_queue_is_what_a_packet_finds() -> None:
    """Two nodes a switch; each sends a packet to its counterpart on the other switch at the same moment."""
    size = 512
    net = machine("torus", (2, 1, 1), 2)
    links = {each["name"]: each for each in counted(point(4, allreduce(2, count=size // 8), net), BY_CLASS)["links"]}
    assert links["dimension-1"]["peak_queue"] == size
    assert links["ejection"]["peak_queue"] == 0
    alone = {each["name"]: each for each in counted(point(2, allreduce(2, count=size // 8), net), BY_CLASS)["links"]}
    assert alone["ejection"]["peak_queue"] == 0


@pytest.mark.parametrize("gap", [10_000, 10**9])
def test_the_gap_between_messages_is_no_queue(gap: int) -> None:
    """A rank sends a message to each of 8 others: the first has left when the next comes, and the last finds six."""
    size = 64
    net = machine("torus", (3, 3, 1)) | {"overhead": {"send": 0, "receive": 0, "gap": gap * NS}}
    spread = {"kind": "collective", "operation": "scatter", "algorithm": "linear", "count": size // 8}
    links = {each["name"]: each for each in counted(point(9, spread, net), BY_CLASS)["links"]}
    assert links["injection"]["peak_queue"] == 6 * size


@pytest.mark.parametrize("faster", [1, 2, 100, 20_000])
def test_no_queue_is_longer_than_all_that_there_is(faster: int) -> None:
    """Bytes that come slowly leave slots of a fast link idle, which are no queue."""
    size = 4000
    net = machine("torus", (2, 1, 1), 3, packet=size, link={"bandwidth": faster * 10 * GB})
    gather = {"kind": "collective", "operation": "gather", "algorithm": "linear", "count": size // 8}
    links = {each["name"]: each for each in counted(point(3, gather, net, start_jitter=NS), BY_CLASS)["links"]}
    carried = links["ejection"]["bytes"]
    assert 0 < links["ejection"]["peak_queue"] < carried


@pytest.mark.parametrize("links", [BY_CLASS, HOTTEST])
def test_neither_threads_nor_windows_matter(links: str) -> None:
    p = point(64, transposition((64, 64, 16), (8, 8), radix=2), machine("dragonfly", (4, 4, 4), 2, routing="ugal"))

    def outcome(threads: int, window: int = 0) -> dict[str, Any]:
        result = counted(p, links, 9, threads=threads, window=window)
        return {key: result[key] for key in ("time_s", "links", "bin_s", *(["single_links"] * (links == HOTTEST)))}

    first = outcome(1)
    assert all(outcome(threads) == first for threads in (2, 3, 4))
    assert outcome(1, window=5_000) == first


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"bins": 8}, "found 8 without links; allowed: links: by-class, hottest, each"),
        ({"links": EACH, "bins": 5000}, "found 5000; allowed: a whole number, 1 to 1024"),
        ({"links": "all"}, "found 'all'; allowed: by-class, hottest, each"),
    ],
)
def test_bad_statistics_are_refused(asked: dict[str, Any], says: str) -> None:
    data = {"ranks": 2, "workload": {"kind": "allreduce", "algorithm": "recursive-k", "radix": 2}, "machine": LINE}
    with pytest.raises(ValueError, match=re.escape(says)):
        Point.model_validate(data | {"statistics": asked})


@pytest.mark.parametrize("how", [{}, {"device": "host"}], ids=["cpu", "host"])
def test_a_queue_that_no_counter_holds_is_refused(how: dict[str, Any]) -> None:
    """Of four switches' messages to one of their nodes, three wait."""
    gather = {
        "operation": "gather",
        "kind": "collective",
        "name": "gather",
        "algorithm": "linear",
        "count": 250_000_000,
    }
    net = machine("hyperx", (4,), 1, buffer=2**31 - 1, packet=GB)
    p = point(4, {"kind": "program", "steps": [gather]}, net)
    assert _simulator.simulate(p, **how)["time_s"] > 0.6
    with pytest.raises(RuntimeError, match=re.escape("statistics.links: found a queue of 4 GiB, allowed: less")):
        counted(p, BY_CLASS, **how)


def test_each_link_of_a_large_network_is_refused() -> None:
    net = {"topology": "torus", "geometry": [20, 20, 20], "nodes_per_switch": 2}
    workload = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 2}
    data = {"ranks": 2, "workload": workload, "machine": net, "statistics": {"links": EACH}}
    with pytest.raises(ValueError, match="64,000 links of torus 20x20x20"):
        Point.model_validate(data)
