"""The point that stands for a measured collective on a machine with given costs."""

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tramontane.calibration.collectives.parameters import KNOBS, Values, algorithm, messages
from tramontane.study import Machine, Point
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.messages import explain
from tramontane.study.systems.libraries import LibraryAlgorithm
from tramontane.study.systems.timed_collectives import ALGORITHMS, Case
from tramontane.study.values.units import DOUBLE

#: Packets of the longest message of a collective, in jobs of up to so many nodes, and in larger ones.
PACKETS, LARGE, FEWER = 16, 1024, 4
#: A buffer has room for so many packets, as in ``configs/machines/base.yaml``.
ROOM = 16
#: The last switch's link to a node, whose rate is that of the node's interface.
EJECTION = "ejection"
GLOBAL = "global"
#: What a machine file says of the machine, and not of its network.
TOLD = ("extends", "description", "source", "name")


def make_point(
    case: Case,
    paid: Values,
    machine: Machine,
    algorithms: Mapping[str, LibraryAlgorithm],
    seed: int = 1,
    packets: int | None = None,
) -> Point:
    """Return the point of a case.

    Parameters
    ----------
    case : Case
        What ran.
    paid : array
        Times by `KNOBS` [ps, ps/B].
    machine : Machine
        The network; what is paid takes the place of its own costs.
    algorithms : mapping
        Entries of ``configs/libraries.yaml``.
    seed : int
        Draws random nodes.
    packets : int, optional
        At most so many a message, if that makes them coarser than the machine's; by default 16, or 4 in large jobs.
    """
    key = ALGORITHMS[case.operation][algorithm(case)]
    if key is None:
        raise ValueError(f"{case.algorithm} is no algorithm")
    keys: dict[str, Any] = dict(algorithms[key].keys)
    if "radix" in keys:
        keys["radix"] = max(1, min(keys["radix"], case.nodes - 1)) if case.algorithm != "bruck" else keys["radix"]
    given = {
        "ranks": case.nodes,
        "workload": {**keys, "count": math.ceil(case.size / DOUBLE)},
        "machine": costing(
            machine, paid, _packet(case, machine, packets or (PACKETS if case.nodes <= LARGE else FEWER))
        ),
        "allocation": _allocation(case, machine),
        "seed": seed,
    }
    try:
        return Point.model_validate(given, context={"canonical": True})
    except ValidationError as error:
        job = Origin(Path("--machine"), f"{case.operation} on {case.shape} nodes")
        raise explain(error, Point, lambda _: job) from None


def costing(machine: Machine, paid: Values, packet: int | None = None) -> dict[str, Any]:
    """Return the canonical form of a machine that costs what `paid` says."""
    cost = dict(zip(KNOBS, map(float, paid), strict=True))
    found = machine.canonical()
    for name in TOLD:
        found.pop(name, None)
    classes: dict[str, dict[str, Any]] = dict(found["link"].get("classes", {}))
    classes[EJECTION] = {**classes.get(EJECTION, {}), "bandwidth": rate(cost["injection_byte"])}
    if GLOBAL in classes:
        classes[GLOBAL]["latency"] = whole(cost["global"])
    size = packet or machine.packet
    found["link"] = {**found["link"], "bandwidth": rate(cost["link_byte"]), "classes": classes}
    found["injection"] |= {"bandwidth": rate(cost["injection_byte"]), "latency": whole(cost["injection"])}
    found["memory"] = {"bandwidth": rate(cost["copy_byte"])}
    found["processor"] = {"frequency": 10**12}  # copies take what `memory` says, and nothing for the instructions
    found["overhead"] = {"send": whole(cost["send"]), "receive": whole(cost["receive"])}
    found["unpack"] = {"per_byte": round(cost["unpack_byte"])} if round(cost["unpack_byte"]) else {}
    found["protocol"] |= {"short_limit": found["protocol"]["eager_limit"]}
    found["packet"] = size
    found["buffer"] = max(found["buffer"], ROOM * size)
    return found


def rate(per_byte: float) -> int:
    """Return a bandwidth [B/s] for a time of a byte [ps]."""
    return max(10**6, round(1e12 / per_byte))


def whole(time: float) -> int:
    """Return a latency in whole picoseconds; none is zero."""
    return max(1, round(time))


def _packet(case: Case, machine: Machine, packets: int) -> int:
    """Return the size of packets: a power of two, so that the longest message has no more than `packets`."""
    longest = max(messages(case))
    return max(machine.packet, int(2 ** math.ceil(math.log2(max(1.0, longest / packets)))))


def placement(case: Case, machine: Machine) -> str:
    """Return how a job is placed: in its shape on a torus, together if it fits into half a group, else at random."""
    if machine.topology == "torus":
        return "shape"
    return "together" if 2 * case.nodes * machine.facts.groups <= machine.facts.nodes else "random"


def _allocation(case: Case, machine: Machine) -> Any:
    return {"shape": {"shape": sides(case)}, "together": "first-available", "random": "random"}[
        placement(case, machine)
    ]


def sides(case: Case) -> list[int]:
    """Return the job's sides in the torus: a shape of two is taken as folded into a near-cube."""
    given = [int(side) for side in case.shape.split("x")]
    if len(given) != 2 or 2 ** round(math.log2(case.nodes)) != case.nodes:
        return given
    bits = round(math.log2(case.nodes))
    return [2 ** ((bits + extra) // 3) for extra in range(3)]
