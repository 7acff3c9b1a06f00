"""What this room derives in closed form, against what the simulator builds and counts."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tramontane import _simulator
from tramontane.study import Point, estimate, expand, list_experiments, load_experiment
from tramontane.study.models import Machine
from tramontane.study.network import ROUTINGS, switch_visits, virtual_channels

ROOT = Path(__file__).parents[2]
GEOMETRY = {"torus": [4, 3, 5], "fattree": [3, 4], "dragonfly": [3, 4, 5]}


def canonical(topology: str, routing: str) -> dict[str, Any]:
    machine = {"topology": topology, "geometry": GEOMETRY[topology], "routing": routing}
    point = {"ranks": 2, "workload": {"kind": "allreduce", "algorithm": "ring"}, "machine": machine}
    return dict(Point.model_validate(point).canonical()["machine"])


@pytest.mark.parametrize(
    ("topology", "routing"), [(topology, routing) for topology, routings in ROUTINGS.items() for routing in routings]
)
def test_networks(topology: str, routing: str) -> None:
    machine = canonical(topology, routing)
    built = _simulator.network(machine)
    size = Machine.model_validate({"topology": topology, "geometry": GEOMETRY[topology]}).facts
    assert (built["switches"], built["nodes"], built["radix"]) == (size.switches, size.nodes, size.ports)
    assert built["virtual_channels"] == virtual_channels(topology, routing)


@pytest.mark.parametrize("topology", ROUTINGS)
def test_distances(topology: str) -> None:
    machine = canonical(topology, ROUTINGS[topology][0])
    nodes = _simulator.network(machine)["nodes"]
    source, target = np.random.default_rng(3).integers(0, nodes, size=(2, 300))
    visits = switch_visits(topology, tuple(machine["geometry"]), machine["nodes_per_switch"], source, target)
    routes = [_simulator.minimal_route(machine, int(a), int(b)) for a, b in zip(source, target, strict=True)]
    assert visits.tolist() == [len(route) for route in routes]


SMALL = {
    entry.point.id: entry.point
    for path in list_experiments(ROOT)
    for entry in expand(load_experiment(path), "smoke").points
    if entry.point and entry.point.ranks in (32, 128)
}


@pytest.mark.parametrize("identity", SMALL)
def test_counts_of_the_smoke_points(identity: str) -> None:
    point = SMALL[identity]
    cost, counted = estimate(point.canonical()), _simulator.simulate(point.canonical())
    for name in ("messages", "bytes", "control_packets"):
        assert getattr(cost, name) == counted[name]
    exact = point.canonical()["workload"].get("algorithm") != "bruck"
    assert cost.packets == (counted["packets"] if exact else pytest.approx(counted["packets"], rel=0.02))
    assert cost.hops == pytest.approx(counted["hops"], rel=0.1)
