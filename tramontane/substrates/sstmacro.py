"""SST/macro: the skeleton program compiled by ``sst++``, run on PISCES, with our plug-in (`sstmacro/`).

SST/macro ends with status 0 whether its packets arrive, are lost or wait for each other for ever. So a run counts only
if the skeleton's own line is there.
"""

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tramontane.substrates import skeleton
from tramontane.substrates.building import compile_all, digest, once
from tramontane.substrates.imbalance import imbalance
from tramontane.substrates.programs import Finished, complaint, run_program
from tramontane.substrates.refusal import Refusal, refusal_of, simulator_only

INSTALL = "spack install sst-macro@16.0.0, then set SSTMACRO_ROOT or PATH"
LIBRARY = "libtramontane_sst.so"
APPLICATION = "tramontane_mpi"

#: Name and routers by topology; those called tramontane_* are our plug-in's.
NETWORKS: dict[str, tuple[str, dict[str, str]]] = {
    "torus": ("torus", {"minimal": "torus_minimal", "valiant": "torus_valiant", "ugal": "torus_ugal"}),
    "fattree3": ("fat_tree", {"round-robin": "fat_tree"}),
    "dragonfly1d": (
        "dragonfly",
        {"minimal": "dragonfly_minimal", "valiant": "dragonfly_valiant", "ugal": "dragonfly_ugal"},
    ),
    "dragonfly": (
        "tramontane_dragonfly",
        {
            "minimal": "tramontane_dragonfly_minimal",
            "valiant": "tramontane_dragonfly_valiant",
            "ugal": "tramontane_dragonfly_ugal",
        },
    ),
}

_MOST_PORTS = 256
"""PISCES keeps a packet's port in eight bits; beyond, packets go astray without a word."""
_TREE = ("nodes_per_leaf", "leaves_per_subtree", "subtrees")

#: A parameter file: values, and blocks of them.
Parameters = dict[str, Any]


class SstMacro:
    """Runs a point on SST/macro 16.0."""

    name = "sstmacro"

    def available(self) -> str | None:
        """Return None, or what is missing."""
        missing = [tool for tool in ("sst++", "sstmac") if find(tool) is None]
        if missing:
            return f"{' and '.join(missing)} not found; installed by: {INSTALL}"
        if not skeleton.sources():
            return "the sources of the skeleton are not here; run it from a checkout"
        return None

    def revision(self) -> int | None:
        """Return None: the model is SST/macro's."""
        return None

    def compiler(self) -> str | None:
        """Return the compiler behind ``sst++``."""
        return _compiler()

    def refusal(self, point: dict[str, Any]) -> Refusal | None:
        """Return what of a point SST/macro and the plug-in can't express."""
        machine = point["machine"]
        shape = _shape(machine)
        if shape not in NETWORKS:
            allowed = "{nodes_per_leaf, leaves_per_subtree, subtrees}"
            return Refusal("machine.geometry", machine["geometry"], allowed, "sstmacro's tree has three levels")
        name = "sstmacro"
        ports = _ports(machine)
        small = tuple(range(1, _MOST_PORTS + 1))
        return (
            simulator_only(point)
            or refusal_of(
                "machine.routing", machine["routing"], tuple(NETWORKS[shape][1]), f"{name} has no such router"
            )
            or (None if ports in small else Refusal("machine.geometry", f"{ports} ports", "256", f"{name}'s ports"))
            or refusal_of("machine.injection.service", _service(machine), ("fifo",), f"{name} has no other")
            or refusal_of("allocation", point.get("allocation", "first-available"), ("first-available",), name)
            or refusal_of("start_jitter", point.get("start_jitter", 0), (0,), f"{name} launches ranks its own way")
        )

    def run(self, point: dict[str, Any]) -> dict[str, Any]:
        """Simulate a canonical point; see :class:`tramontane.substrates.Substrate`."""
        refused = self.refusal(point)
        if refused is not None:
            raise ValueError(str(refused))
        folder = build()
        with tempfile.TemporaryDirectory(prefix="tramontane-sstmacro-") as scratch:
            Path(scratch, "point.ini").write_text(text(parameters(point, folder)), encoding="utf-8")
            done = run_program([str(find("sstmac")), "-f", "point.ini"], Path(scratch), _environment(folder))
        found = skeleton.last_object(done.output)
        if done.status != 0:
            raise RuntimeError(f"sstmac ended with status {done.status}: {complaint(done)}")
        if found is None:
            raise RuntimeError("sstmac ended without the skeleton's result: packets were lost, or wait for each other")
        loop = _loop_seconds(done)
        return {
            "substrate": self.name,
            **skeleton.outcome(found),
            "packets": None,
            "hops": None,
            "imbalance": imbalance(point),
            "wall_s": loop,
            "setup_s": max(done.wall_s - loop, 0.0),
            "peak_rss_bytes": done.peak_rss_bytes,
            "version": version(),
        }


def find(tool: str) -> str | None:
    """Return the path of one of SST/macro's programs: below SSTMACRO_ROOT if that is set, else in PATH."""
    root = os.environ.get("SSTMACRO_ROOT")
    return shutil.which(tool, path=str(Path(root, "bin"))) if root else shutil.which(tool)


@functools.cache
def version() -> str:
    """Return SST/macro's version, e.g. ``16.0.0``."""
    done = subprocess.run([str(find("sstmac")), "--version"], capture_output=True, text=True, check=False)
    words = (done.stdout + done.stderr).replace("SST/macro", " ").split()
    return next((word for word in words if word[:1].isdigit() and "." in word), "unknown")


@functools.cache
def _compiler() -> str | None:
    tool = find("sst++")
    if tool is None:
        return None
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, check=False)
    return next(iter(done.stdout.splitlines()), None)


def build() -> Path:
    """Compile application and plug-in unless they are there already; return the folder they are in.

    Raises
    ------
    RuntimeError
        If that fails.
    """
    room = Path(skeleton.ROOT, "sstmacro")
    files = [*skeleton.sources(), *skeleton.headers(), *sorted(room.glob("*.?pp")), Path(room, "Makefile")]
    name = digest(files, [str(find("sst++")), version(), str(_compiler())])

    def make(folder: Path) -> None:
        compile_all([["make", "-C", str(room), f"SSTXX={find('sst++')}", f"BUILD={folder}"]], folder)

    return once(Path(skeleton.ROOT, "build", "sstmacro", name), make)


def parameters(point: dict[str, Any], folder: Path) -> Parameters:
    """Return SST/macro's parameters for a canonical point; `folder` holds the library."""
    machine, protocol = point["machine"], point["machine"]["protocol"]
    link, injection = machine["link"], machine["injection"]
    buffer, packet = f"{machine['buffer']}B", f"{machine['packet']}B"
    application = {
        "name": APPLICATION,
        "exe": str(Path(folder, LIBRARY)),
        "argv": " ".join(skeleton.simulated_arguments(point)),
        "launch_cmd": f"aprun -n {point['ranks']} -N 1",
        "start": "0ms",
        "allocation": "first_available",
        "indexing": "block",
        "mpi": {
            "max_vshort_msg_size": f"{protocol['short_limit']}B",
            "max_eager_msg_size": f"{protocol['eager_limit']}B",
        },
    }
    network = {
        "name": "pisces",
        "negligible_size": f"{protocol['negligible_size']}",
        "injection": {
            "arbitrator": "cut_through",
            "bandwidth": _bandwidth(injection["bandwidth"]),
            "latency": _time(injection["latency"]),
            "credits": buffer,
            "mtu": machine["packet"],
        },
    }
    memory = {
        "name": "pisces",
        "latency": "10ns",
        "total_bandwidth": _bandwidth(machine["memory"]["bandwidth"]),
        "bandwidth": _bandwidth(machine["memory"]["bandwidth"]),
    }
    return {
        "external_libs": f"[{LIBRARY}]",
        "topology": _topology(machine),
        "node": {
            "name": "simple",
            "app1": application,
            "proc": {"ncores": 1, "frequency": f"{machine['processor']['frequency']}Hz"},
            "memory": memory,
            "nic": network,
        },
        "switch": {
            "name": "pisces",
            "arbitrator": "cut_through",
            "mtu": packet,
            "link": {
                "bandwidth": _bandwidth(link["bandwidth"]),
                "latency": _time(link["latency"]),
                "credits": buffer,
            },
            "xbar": {"arbitrator": "cut_through", "bandwidth": _bandwidth(machine["crossbar"]["bandwidth"])},
            "router": {"name": NETWORKS[_shape(machine)][1][machine["routing"]], "seed": point["seed"]},
            "logp": {
                "bandwidth": _bandwidth(machine["logp"]["bandwidth"]),
                "hop_latency": _time(machine["logp"]["hop_latency"]),
                "out_in_latency": _time(machine["logp"]["out_in_latency"]),
            },
        },
    }


def text(values: Parameters) -> str:
    """Return a parameter file."""
    return "".join(f"{line}\n" for line in _lines(values, ""))


def _lines(values: Parameters, indent: str) -> Iterator[str]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield f"{indent}{key} {{"
            yield from _lines(value, indent + " ")
            yield f"{indent}}}"
        else:
            yield f"{indent}{key} = {value}"


def _topology(machine: dict[str, Any]) -> Parameters:
    shape = _shape(machine)
    name = {"name": NETWORKS[shape][0]}
    if shape == "fattree3":
        nodes, leaves, subtrees = (machine["geometry"][key] for key in _TREE)
        return {
            **name,
            "concentration": nodes,
            "num_agg_subtrees": subtrees,
            "leaf_switches_per_subtree": leaves,
            "agg_switches_per_subtree": leaves,
            "up_ports_per_leaf_switch": nodes,
            "down_ports_per_agg_switch": nodes,
            "up_ports_per_agg_switch": nodes,
            "num_core_switches": nodes * leaves,
            "down_ports_per_core_switch": subtrees,
        }
    described = {
        **name,
        "concentration": machine["nodes_per_switch"],
        "geometry": "[" + ",".join(map(str, machine["geometry"])) + "]",
    }
    if shape == "dragonfly1d":
        described |= {"group_connections": machine["global_links"], "inter_group": machine["arrangement"]}
    return described


def _shape(machine: dict[str, Any]) -> str:
    """Return the topology, with the tree of three levels told from the full one."""
    return "fattree3" if isinstance(machine["geometry"], dict) else str(machine["topology"])


def _ports(machine: dict[str, Any]) -> int:
    """Return the ports of a switch as SST/macro numbers them."""
    shape, geometry = _shape(machine), machine["geometry"]
    if shape == "fattree3":
        return max(2 * int(geometry["nodes_per_leaf"]), int(geometry["subtrees"]))
    links: dict[str, int] = {"torus": 6, "dragonfly": sum(geometry), "dragonfly1d": geometry[0] + machine.get("global_links", 0)}
    return links[shape] + int(machine["nodes_per_switch"])


def _service(machine: dict[str, Any]) -> str:
    return str(machine["injection"].get("service", "fifo"))


def _bandwidth(value: int) -> str:
    return f"{value / 1e9:.15g}GB/s"


def _time(picoseconds: int) -> str:
    return f"{picoseconds}ps"


def _environment(folder: Path) -> dict[str, str]:
    paths = [str(folder), *filter(None, [os.environ.get("SST_LIB_PATH")])]
    return {
        "SST_LIB_PATH": os.pathsep.join(paths),
        "LD_LIBRARY_PATH": os.pathsep.join([str(folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]),
    }


def _loop_seconds(done: Finished) -> float:
    """Return the wall time of the simulation loop as SST/macro prints it."""
    for line in reversed((done.output + done.errors).splitlines()):
        words = line.split()
        if "SST/macro ran for" in line:
            return float(words[words.index("for") + 1])
    return done.wall_s
