"""Sums of owners: what every order gives, by exact fractions and by the order in which simulated messages arrive."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from tramontane.claims import sums
from tramontane.study import Point
from tramontane.substrates.simulator import Simulator

OWNERS = 4
MACHINE = {
    "topology": "torus",
    "geometry": [1, 1, 1],
    "nodes_per_switch": OWNERS,
    "protocol": {"short_limit": "1 KiB"},
}


def _rounded(terms: list[float]) -> float:
    """Return a sum in which each step is done exactly and rounded then."""
    found = Fraction(terms[0])
    for term in terms[1:]:
        found = Fraction(float(found + Fraction(term)))
    return float(found)


def test_an_order_adds_one_after_the_other() -> None:
    contributions = np.random.default_rng(3).standard_normal((1, OWNERS))
    for arrived in itertools.permutations(range(OWNERS)):
        own, *others = arrived
        one = np.broadcast_to(np.array(arrived), (1, OWNERS, OWNERS))
        orders = {"order of arrival": arrived, "fixed order at each rank": [own, *sorted(others)]}
        for name, order in (orders | {"one order of all ranks": range(OWNERS)}).items():
            wanted = _rounded([float(contributions[0, rank]) for rank in order])
            assert sums.totals(contributions, one, sums.ORDERS[name])[0, 0] == wanted


def _arrivals(seed: int) -> list[list[int]]:
    """Return for each rank, itself first, whose messages it meets when, if ranks work for different times before."""
    steps = [
        {"kind": "work", "time": "100 us", "noise": "50 %", "seed": seed},
        {"kind": "collective", "operation": "alltoall", "algorithm": "burst", "count": 1},
    ]
    point = Point.model_validate({"ranks": OWNERS, "machine": MACHINE, "workload": {"kind": "program", "steps": steps}})
    _, told = Simulator().timeline(point, range(OWNERS))
    sent = {each.rank: each.end for each in told if each.what == "work"}
    for rank in range(OWNERS):
        waited = [each.peer for each in told if each.rank == rank and each.peer != rank]
        assert waited == sorted(waited, key=sent.__getitem__)  # those that work longer arrive later
    return [sorted(sent, key=lambda peer: (peer != rank, sent[peer])) for rank in range(OWNERS)]


def test_simulated_arrivals_change_bits_unless_the_order_is_fixed() -> None:
    points = 60
    first, second = (np.array([_arrivals(seed) for seed in range(low, low + points)]) for low in (1, 1 + points))
    contributions = np.random.default_rng(1).standard_normal((points, OWNERS))
    found = {
        name: [sums.totals(contributions, arrived, order) for arrived in (first, second)]
        for name, order in sums.ORDERS.items()
    }
    assert (found["order of arrival"][0] != found["order of arrival"][1]).any()
    for name in ("fixed order at each rank", "one order of all ranks"):
        assert (found[name][0] == found[name][1]).all()
    assert (found["fixed order at each rank"][0] != found["fixed order at each rank"][0][:, :1]).any()
    assert (found["one order of all ranks"][0] == found["one order of all ranks"][0][:, :1]).all()


@pytest.mark.parametrize("owners", [2, 3, 4])
@pytest.mark.parametrize("name", sums.ORDERS)
def test_two_terms_have_one_sum(owners: int, name: str) -> None:
    runs, among = sums.differences(owners, 200, sums.ORDERS[name])
    assert (runs > 0) == (owners > 2 and name == "order of arrival")
    assert (among > 0) == (owners > 2 and name != "one order of all ranks")
