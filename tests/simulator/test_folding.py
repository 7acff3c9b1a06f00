"""Jobs folded into tori: neighbours in the shape are one link apart, and a dimension closes where it can."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tramontane import _simulator
from tramontane.study.networks.network import Network, network
from tramontane.study.points.cost import estimate
from tramontane.study.points.points import Point

from .points import allreduce, machine, point

FUGAKU = {"sizes": [24, 23, 24, 2, 3, 2], "wraps": [1, 1, 1, 0, 1, 0]}


def torus(geometry: object, nodes_per_switch: int = 1) -> Network:
    return network({"topology": "torus", "geometry": geometry, "nodes_per_switch": nodes_per_switch})


def places(net: Network, shape: tuple[int, ...]) -> Any:
    """Nodes by place, the first dimension of the shape last."""
    return net.fold(shape, math.prod(shape)).reshape(shape[::-1])


def links(net: Network, first: Any, second: Any) -> set[int]:
    """Numbers of links between nodes of two arrays."""
    return set((net.visits(first.ravel(), second.ravel()) - 1).tolist())


@st.composite
def folds(draw: st.DrawFn) -> tuple[dict[str, list[int]], tuple[int, ...]]:
    """A torus, and a shape that is made of sides of boxes in it."""
    sizes = draw(st.lists(st.integers(1, 6), min_size=1, max_size=6))
    wraps = draw(st.lists(st.integers(0, 1), min_size=len(sizes), max_size=len(sizes)))
    shape = [1] * draw(st.integers(1, len(sizes)))
    for d, size in enumerate(sizes):
        shape[d % len(shape)] *= draw(st.integers(1, size))
    return {"sizes": sizes, "wraps": wraps}, tuple(shape)


@given(fold=folds())
@settings(max_examples=150, deadline=None)
def test_neighbours_in_the_shape_are_one_link_apart(fold: tuple[dict[str, list[int]], tuple[int, ...]]) -> None:
    geometry, shape = fold
    net, sizes = torus(geometry), geometry["sizes"]
    at = places(net, shape)
    assert len(set(at.ravel().tolist())) == math.prod(shape)
    coordinates = np.unravel_index(at.ravel(), sizes, order="F")
    sides = [len(set(each.tolist())) for each in coordinates]
    for d, length in enumerate(shape):
        along = np.moveaxis(at, len(shape) - 1 - d, 0)
        own = range(d, len(sizes), len(shape))
        assert math.prod(sides[each] for each in own) == length
        # No other dimension of the machine changes along this one of the job.
        for other in set(range(len(sizes))) - set(own):
            kept = coordinates[other].reshape(at.shape)
            assert np.all(kept == np.take(kept, [0], axis=len(shape) - 1 - d))
        if length == 1:
            continue
        assert links(net, along[1:], along[:-1]) == {1}
        ring = any(geometry["wraps"][each] and sides[each] == sizes[each] > 1 for each in own)
        several = sum(sides[each] > 1 for each in own) > 1
        closes = length == 2 or ring or (several and length % 2 == 0)
        assert (links(net, along[:1], along[-1:]) == {1}) == closes


@pytest.mark.parametrize("shape", [(64,), (8, 8), (4, 4, 4), (48, 69, 48), (24, 23, 24, 2, 3, 2)], ids=str)
def test_dimensions_of_jobs_on_fugaku_are_rings(shape: tuple[int, ...]) -> None:
    net = torus(FUGAKU)
    at = places(net, shape)
    assert set().union(*(links(net, at, np.roll(at, 1, axis)) for axis in range(at.ndim))) == {1}


def test_the_last_side_that_can_has_the_way_back() -> None:
    """Of a mesh of 3 x 2: the side of two places, out along the second row and home along the first."""
    net = torus({"sizes": [3, 2], "wraps": [0, 0]})
    assert net.fold((6,), 6).tolist() == [0, 3, 4, 5, 2, 1]


def test_the_simulator_folds_the_same() -> None:
    """Rank by rank: nodes of a switch follow one another, and a shape is as good as the list of its nodes."""
    net = machine("torus", (4, 4, 4), 2)
    nodes = torus([4, 4, 4], 2).fold((8, 2), 31).tolist()
    assert nodes[:6] == [0, 1, 32, 33, 64, 65]
    shaped, listed = (
        _simulator.simulate(point(31, allreduce(3), net) | {"allocation": allocation})
        for allocation in ({"shape": [8, 2]}, {"nodes": nodes})
    )
    assert (shaped["time_s"], shaped["hops"]) == (listed["time_s"], listed["hops"])


def test_a_halo_on_its_own_shape_is_one_link_away() -> None:
    """Every packet visits two switches where the processes of a halo are those of the shape; the estimate knows it."""
    workload = {"kind": "halo", "width": 1, "grid": [64, 64, 8], "decomposition": [8, 8]}
    net = {"topology": "torus", "geometry": FUGAKU, "nodes_per_switch": 1}
    folded = {"ranks": 64, "workload": workload, "machine": net, "allocation": {"shape": [8, 8]}}
    made = Point.model_validate(folded)
    counted = _simulator.simulate(made.canonical())
    assert counted["hops"] == 2 * (counted["packets"] + counted["control_packets"])
    assert estimate(made).hops == pytest.approx(counted["hops"], rel=0.01)
