"""Turns a measured row into the point that our simulator runs.

What the row does not say is the same in all of them and stands here: SST/macro's memory and processor, and the LogP
path, which takes its bandwidth and latencies from links and injection.
"""

from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from tramontane.comparison.networks import Network, check
from tramontane.comparison.rows import Row
from tramontane.errors import closest
from tramontane.study.networks.machines import Machine
from tramontane.study.points.points import Point
from tramontane.study.workloads.kinds import canonical_workload
from tramontane.study.workloads.schedules import described

ALLTOALL = {"ring": "ring-k", "burst": "burst", "bruck": "bruck"}
#: Column ``alg`` of rows that measured the MPI library's own collective, which is an algorithm of that library.
LIBRARY = "mpi"
MEMORY_BANDWIDTH = 10**12
PROCESSOR_FREQUENCY = 2 * 10**9
ALLREDUCE_DOUBLES = 3
"""As many as the allreduces of the paper reduce (Zheng & Marguinaud 2018, section 3.3)."""


class CannotRunError(Exception):
    """A row that has no counterpart on our simulator; the message says why."""


def make_point(row: Row, networks: dict[str, Network], model: str) -> Point:
    """Return the point of a row.

    Parameters
    ----------
    row : Row
        The measurement.
    networks : dict
        Networks by their names in column ``topo``.
    model : str
        Rules of the network model.

    Raises
    ------
    CannotRunError
        If our simulator has no such point.
    InputError
        If the row holds what can't be read.
    """
    _refuse_what_is_not_ours(row)
    network = networks.get(row["topo"])
    if network is None:
        allowed = f"a name of validation/topologies.csv: {', '.join(networks)}"
        raise row.mistake("topo", allowed, closest(row["topo"], networks))
    ranks, workload, machine = row.whole("P"), _workload(row), _machine(row, network, model)
    return measured_point(ranks, workload, machine, seed=row.whole("seed", least=0))


def measured_point(ranks: int, workload: dict[str, Any], machine: dict[str, Any], seed: int) -> Point:
    """Return a point that was measured elsewhere.

    Machine and workload must be valid. What a user's point must keep beyond that, and a measured one need not, is that
    each rank has a block in each layout: a grid of one row of points cut into several columns is a fine test of a
    network, though nobody would compute on it. The identity is that of any point with this canonical form.

    Raises
    ------
    CannotRunError
        If machine or workload are refused, or don't fit together.
    """
    try:
        network = Machine.model_validate(machine, context={"canonical": True})
        what = canonical_workload(workload)
    except ValidationError as error:
        raise CannotRunError(_reason(error)) from None
    nodes = network.facts.nodes
    if ranks > nodes:
        raise CannotRunError(f"{ranks} ranks on {nodes} nodes")
    try:
        described(what.schedule_keys(), ranks)
    except PydanticCustomError as error:
        raise CannotRunError(str(error)) from None
    return Point.model_construct(ranks=ranks, workload=what, machine=network, seed=seed)


def members(point: Point, count: int, jitter: int) -> list[Point]:
    """Return the members of a point's ensemble.

    Parameters
    ----------
    point : Point
        The first member but for the jitter.
    count : int
        Number of members; they have the seeds s, s + 1, ...
    jitter : int
        Largest random delay of a rank's start [ps].
    """
    return [point.changed(seed=point.seed + shift, start_jitter=jitter) for shift in range(count)]


def algorithm(row: Row) -> tuple[str, str]:
    """Return a row's algorithm without and with its radix, e.g. ("ring", "ring-4"); a halo exchange has just one."""
    if row["op"] == "transpose":
        name = row["alg"]
        return name, f"{name}-{row['k']}" if name == "ring" else name
    if row["op"] == "allreduce" and row["alg"] != LIBRARY:
        return "recursive", f"recursive-{row['k']}"
    return "-", "-"


def _refuse_what_is_not_ours(row: Row) -> None:
    """Name the first thing in a row that our simulator does not have."""
    if not row.ok:
        raise CannotRunError(f"status {row['status'] or 'empty'}")
    if row["op"] not in ("transpose", "halo", "allreduce"):
        raise CannotRunError(f"op {row['op'] or 'empty'}")
    if row["op"] == "allreduce" and row["alg"] == LIBRARY:
        raise CannotRunError("alg mpi: the MPI library's own algorithm")
    known = {"transpose": tuple(ALLTOALL), "allreduce": ("rk",)}.get(row["op"])
    if known and row["alg"] not in known:
        raise row.mistake("alg", ", ".join((*known, LIBRARY)), closest(row["alg"], known))
    ours = {"allocation": "first_available", "indexing": "block", "arb": "cut_through", "xarb": "cut_through"}
    for column, value in ours.items():
        if row[column] != value:
            raise CannotRunError(f"{column} {row[column]}")


def _workload(row: Row) -> dict[str, Any]:
    if row["op"] == "allreduce":
        return {
            "kind": "allreduce",
            "algorithm": "recursive-k",
            "radix": row.whole("k", least=2),
            "count": ALLREDUCE_DOUBLES,
            "repeats": row.whole("reps"),
        }
    if row.whole("reps") != 1:
        raise CannotRunError(f"reps {row['reps']} of {row['op']}")
    shape = {
        "grid": [row.whole(column) for column in ("nx", "ny", "nz")],
        "decomposition": [row.whole(column) for column in ("cx", "cy")],
    }
    if row["op"] == "halo":
        return {"kind": "halo", "width": row.whole("w"), **shape}
    name = ALLTOALL[row["alg"]]
    radix = {"radix": row.whole("k")} if name == "ring-k" else {}
    return {"kind": "transposition", "algorithm": name, **radix, **shape}


def _machine(row: Row, network: Network, model: str) -> dict[str, Any]:
    link = {"bandwidth": row.scaled("bw_GBs", 10**9), "latency": row.scaled("lat_ns", 1000)}
    injection = {"bandwidth": row.scaled("inj_bw_GBs", 10**9), "latency": row.scaled("inj_lat_ns", 1000)}
    return {
        **network.machine,
        "routing": _routing(row, network),
        "link": link,
        "injection": {**injection, "service": "fifo"},
        "crossbar": {"bandwidth": row.scaled("xbar_bw_GBs", 10**9)},
        "logp": {
            "bandwidth": link["bandwidth"],
            "hop_latency": link["latency"],
            "out_in_latency": injection["latency"],
        },
        "memory": {"bandwidth": MEMORY_BANDWIDTH},
        "processor": {"frequency": PROCESSOR_FREQUENCY},
        "packet": row.size("mtu"),
        "buffer": row.size("credits"),
        "protocol": {
            "eager_limit": row.size("eager"),
            "short_limit": row.size("vshort"),
            "negligible_size": row.size("negligible"),
        },
        "model": model,
    }


def _routing(row: Row, network: Network) -> str:
    """Return our name of a row's routing: SST/macro's fat tree has one, which takes the up ports in turn."""
    is_tree = network.machine["topology"] == "fattree"
    routing = "round-robin" if is_tree and row["routing"] == "minimal" else row["routing"]
    check({**network.machine, "routing": routing}, row.source, row.line)
    return routing


def _reason(error: ValidationError) -> str:
    """Return the first mistake that a model found, as "key: what"."""
    first = error.errors(include_url=False)[0]
    context = first.get("ctx", {})
    keys = [str(part) for part in first["loc"]] + ([context["key"]] if context.get("key") else [])
    return ": ".join(part for part in (".".join(keys), str(context.get("problem") or first["msg"])) if part)
