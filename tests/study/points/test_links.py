"""Classes of links in a machine: what they say, what they need not say, and who has none."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane.study.points.loading import load_point
from tramontane.study.points.points import Point
from tramontane.substrates import get
from tramontane.substrates.simgrid import platform_lines

DRAGONFLY: dict[str, Any] = {"topology": "dragonfly", "geometry": [2, 2, 3]}
SLOW = {"bandwidth": "5 GB/s", "latency": "1 us"}
TEXT = "ranks: 8\nworkload: {kind: allreduce, algorithm: ring}\nmachine: {topology: dragonfly, geometry: [2, 2, 3], "


def point(**changes: Any) -> Point:
    workload = {"kind": "allreduce", "algorithm": "ring"}
    return Point.model_validate({"ranks": 8, "workload": workload, "machine": DRAGONFLY | changes})


def test_what_a_class_leaves_out_is_as_for_all_links() -> None:
    made = point(link={"bandwidth": "20 GB/s", "classes": {"global": {"latency": "1 us"}, "local": {}}})
    link = made.canonical()["machine"]["link"]
    assert link == {
        "bandwidth": 20 * 10**9,
        "latency": 100_000,
        "classes": {"global": {"bandwidth": 20 * 10**9, "latency": 10**6}},
    }
    assert Point.from_canonical(made.canonical()) == made
    same = point(link={"bandwidth": "20 GB/s", "classes": {"global": {"latency": "1000 ns", "bandwidth": "20 GB/s"}}})
    assert same.id == made.id != point(link={"bandwidth": "20 GB/s"}).id
    assert made.network.fastest_link == 20 * 10**9
    assert {name: own.latency for name, own in made.network.links.items()} == {
        "ejection": 100_000,
        "local": 100_000,
        "global": 10**6,
    }


def test_classes_that_differ_in_nothing_say_nothing() -> None:
    assert point(link={"classes": {"local": {"latency": "100 ns"}, "ejection": {}}}).id == point().id


def test_a_crossbar_for_the_fastest_links() -> None:
    machine = point(nodes_per_switch=2, link={"classes": {"global": {"bandwidth": "40 GB/s"}}}).network
    assert machine.crossbar_server == machine.facts.ports * 40 * 10**9


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        (
            "classes: {globl: {latency: 1 us}}",
            "link.classes.globl: found class 'globl'; did you mean 'global'? allowed: ejection, local, global",
        ),
        (
            "classes: {global: {latencies: 1 us}}",
            "link.classes.global.latencies: unknown key 'latencies'; did you mean",
        ),
        ("classes: {global: {latency: 0 s}}", "link.classes.global.latency: found '0 s'; allowed: more than zero"),
        ("classes: {global: 3}", "link.classes.global: found 3; allowed: a mapping of keys to values"),
    ],
)
def test_one_line(write: Callable[[str], Path], line: Callable[..., str], link: str, expected: str) -> None:
    assert expected in line(load_point, write(TEXT + f"link: {{{link}}}}}\n"))


def test_parallel_links_are_part_of_the_network() -> None:
    double = point(parallel_links={"global": 2, "local": 1})
    assert double.canonical()["machine"]["parallel_links"] == {"global": 2}
    assert Point.from_canonical(double.canonical()) == double
    assert double.network.facts.links == point().network.facts.links + 12  # of each pair of three groups, four
    assert (double.network.facts.ports, point().network.facts.ports) == (8, 6)
    assert point(parallel_links={"global": 1}).id == point().id != double.id
    assert "parallel_links global 2" in list(platform_lines(double))
    assert get("sstmacro").refusal(double) is None


def test_trees_with_tapering_in_canonical_form() -> None:
    geometry = {"up": [1, 2], "down": [4, 4]}
    made = point(topology="fattree", geometry=geometry)
    assert made.canonical()["machine"]["geometry"] == {"down": [4, 4], "up": [1, 2]}
    assert made.id == point(topology="fattree", geometry=geometry | {"links": [1, 1]}).id
    assert made.network.label == "fattree 4x4 down, 1x2 up, 4 nodes a switch"
    assert "geometry 4 4 1 2 1 1" in list(platform_lines(made))
    assert get("sstmacro").refusal(made) is None
    with pytest.raises(ValueError, match="found pisces-16 for a fat tree with tapering"):
        point(topology="fattree", geometry=geometry, model="pisces-16")


def test_who_has_no_classes() -> None:
    torus = {"topology": "torus", "geometry": [2, 2, 2], "link": {"classes": {"dimension-2": SLOW}}}
    with pytest.raises(ValueError, match="found dimension-2 with model pisces-16"):
        point(**torus, model="pisces-16")
    refused = get("sstmacro").refusal(point(**torus))
    assert str(refused) == (
        "machine.link.classes: found ['dimension-2'] (sstmacro's links are all alike); allowed: none"
    )
    assert "link_class dimension-2 5000000000 1000000" in list(platform_lines(point(**torus)))
