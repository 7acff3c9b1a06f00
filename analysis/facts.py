"""What a dataset says about itself, read from its attributes and variables.

Caption and report state the same facts; this module is where both take them from. Everything is optional: a dataset
that lacks an attribute yields a shorter caption, not an error.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from tramontane.study.networks.machines import Machine
from tramontane.support import formatting

#: What simulated or ran the points, in words.
SUBSTRATES: Mapping[str, str] = {
    "simulator": "the embedded packet-flow simulator",
    "sstmacro": "SST/macro",
    "simgrid": "SimGrid",
    "mpi": "MPI on a real machine",
}
TIMES = "\u202f×\u202f"


@dataclass(frozen=True)
class Counts:
    """Number of points by what happened to them; excluded ones were never meant to run."""

    ok: int = 0
    failed: int = 0
    missing: int = 0
    excluded: int = 0

    @property
    def planned(self) -> int:
        """All points but the excluded ones."""
        return self.ok + self.failed + self.missing


def counts(dataset: xr.Dataset) -> Counts:
    """Count the points of a dataset by status."""
    names, numbers = np.unique(np.asarray(dataset["status"].values, dtype=str), return_counts=True)
    found = dict(zip(names.tolist(), numbers.tolist(), strict=True))
    return Counts(**{name: found.get(name, 0) for name in Counts.__dataclass_fields__})


def attribute(dataset: xr.Dataset, name: str) -> dict[str, Any]:
    """Return the mapping that a JSON attribute holds; empty if there is none."""
    text = dataset.attrs.get(name)
    if not text:
        return {}
    value = json.loads(text)
    return value if isinstance(value, dict) else {}


def base(dataset: xr.Dataset) -> dict[str, Any]:
    """Return what all points have in common, as a (partial) point."""
    return attribute(dataset, "base_json")


def machines(dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    """Return the machines of the dataset by name, in order; a machine without a name goes by its topology."""
    several = attribute(dataset, "machines_json")
    if several:
        return several
    single = attribute(dataset, "machine_json") or base(dataset).get("machine")
    if isinstance(single, str):
        return {single: {}}
    if not single:
        return {}
    return {str(single.get("name") or single.get("topology") or "machine"): single}


def largest_ranks(dataset: xr.Dataset) -> int | None:
    """Return the largest number of processes of a point that has a result; None if no point has one."""
    done = dataset["status"] == "ok"
    if not bool(done.any()):
        return None
    if "ranks" in dataset.coords:
        return int(dataset["ranks"].where(done).max())
    ranks = base(dataset).get("ranks")
    return int(ranks) if ranks is not None else None


def simulation_seconds(dataset: xr.Dataset) -> float:
    """Return the wall time that all points took, set-up included, in seconds."""
    return float(sum(dataset[name].sum(skipna=True) for name in ("wall_s", "setup_s") if name in dataset))


def peak_memory(dataset: xr.Dataset) -> float | None:
    """Return the largest memory that a point took, in bytes; None if no point says."""
    largest = float(dataset["peak_rss_bytes"].max()) if "peak_rss_bytes" in dataset else np.nan
    return largest if np.isfinite(largest) else None


def grid_text(dataset: xr.Dataset) -> str:
    """Return the grid of the workload (``1440 × 720 × 64``), or several, or nothing if no workload has one."""
    grid = base(dataset).get("workload", {}).get("grid")
    grids = json.loads(dataset.attrs.get("grids_json") or "[]") or ([grid] if grid else [])
    return " and ".join(TIMES.join(map(formatting.number, sizes)) for sizes in grids)


def machine_text(name: str, machine: Mapping[str, Any]) -> str:
    """Describe a machine: ``torus-M (8 × 8 × 8, 2 nodes per switch, minimal routing)``."""
    facts = []
    geometry = machine.get("geometry")
    if isinstance(geometry, Mapping):
        sizes = {key: TIMES.join(map(str, size)) if isinstance(size, list) else size for key, size in geometry.items()}
        facts.append(", ".join(f"{size} {str(key).replace('_', ' ')}" for key, size in sizes.items()))
    elif geometry:
        # A fat tree's geometry is [levels, down ports], Table 1's "4,25"; any other one's are sizes.
        tree = machine.get("topology") == "fattree"
        facts.append(
            "{} levels, {} down ports".format(*geometry) if tree else TIMES.join(map(formatting.number, geometry))
        )
    if machine.get("nodes_per_switch") and machine.get("topology") != "fattree":
        facts.append(f"{formatting.plural(machine['nodes_per_switch'], 'node')} per switch")
    if machine.get("routing"):
        facts.append(f"{machine['routing']} routing")
    topology = machine.get("topology")
    if topology and topology not in name:
        facts.insert(0, str(topology))
    return f"{name} ({', '.join(facts)})" if facts else name


def network_text(machine: Mapping[str, Any]) -> str:
    """Describe a network by its bandwidths, latencies, packet and buffer; empty if the machine states none."""
    parts = []
    usual, classes = _links(machine)
    link, injection = _server(usual), _server(machine.get("injection"))
    if link and link == injection:
        parts.append(f"links and injection {link}")
    else:
        parts += [f"{name} {text}" for name, text in (("links", link), ("injection", injection)) if text]
    parts += [f"{name} links {_server(own)}" for name, own in classes.items()]
    if machine.get("packet"):
        parts.append(f"packets of {_text(machine['packet'], formatting.size)}")
    if machine.get("buffer"):
        parts.append(f"buffers of {_text(machine['buffer'], formatting.size)} per link")
    return ", ".join(parts)


def _links(machine: Mapping[str, Any]) -> tuple[Mapping[str, Any], Mapping[str, Mapping[str, Any]]]:
    """Return the bandwidth and latency of links, and of those classes that differ."""
    link = machine.get("link") or {}
    if machine.get("topology") != "graph":
        return link, link.get("classes", {})
    if not {"bandwidth", "latency"} <= link.keys():
        return {}, {}  # which of its links are swept only the graph's file says
    try:
        links = Machine.model_validate(machine, context={"canonical": True}).links
    except ValueError:  # the dataset is drawn where the graph's table is not, or graphs are swept
        return {}, {}
    rates = {name: {"bandwidth": own.bandwidth, "latency": own.latency} for name, own in links.items()}
    first = next(iter(rates.values()))
    return (first, {}) if all(own == first for own in rates.values()) else ({}, rates)


def _server(values: Mapping[str, Any] | None) -> str:
    known = {"bandwidth": formatting.bandwidth, "latency": formatting.picoseconds}
    return " and ".join(_text(values[key], how) for key, how in known.items() if values and key in values)


def _text(value: Any, how: Any) -> str:
    # Canonical points hold integers in base units; text is the user's own ("10 GB/s").
    return value if isinstance(value, str) else str(how(value))


def substrate_text(dataset: xr.Dataset) -> str:
    """Name what ran the points, the simulator with its revision: ``SimGrid and the embedded packet-flow simulator``."""
    known = dataset.attrs.get("substrates") or base(dataset).get("substrate", "simulator")
    revision = dataset.attrs.get("simulator_revision")
    several = "s" if "and" in str(revision) else ""
    stated = f", model revision{several} {revision}" if revision not in (None, "") else ""
    return " and ".join(
        f"{SUBSTRATES.get(name, name)}{stated if name == 'simulator' else ''}" for name in str(known).split(", ")
    )
