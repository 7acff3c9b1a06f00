"""SST/macro 16: the skeleton program compiled by ``sst++``, run on its packet model PISCES.

SST/macro ends with status 0 whether its packets arrive, are lost or wait for each other for ever. So a run counts only
if the skeleton's own line is there.
"""

import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tramontane import __version__
from tramontane.study.networks.machines import COPIES, Machine
from tramontane.study.networks.mapping import spelled
from tramontane.study.points.points import Point
from tramontane.study.values.settings import filled
from tramontane.study.values.units import BANDWIDTH, UNLIMITED, format_quantity
from tramontane.substrates import skeleton, spack
from tramontane.substrates.building import digest, link, once
from tramontane.substrates.mpi import program
from tramontane.substrates.programs import Finished, complaint, run_program
from tramontane.substrates.refusal import Refusal, refusal_of, simulator_only
from tramontane.substrates.search import search
from tramontane.substrates.shared_setup import shared_setup
from tramontane.support.layout import BUILDS, SHARE

INSTALL = "spack install sst-macro@16.0.0, and SSTMACRO_ROOT or PATH that leads to it"

#: Names of SST/macro's own topologies and routers, by shape and routing. All else is our plug-in's.
OWN: dict[str, tuple[str, dict[str, str]]] = {
    "torus": ("torus", {"minimal": "torus_minimal", "valiant": "torus_valiant", "ugal": "torus_ugal"}),
    "fattree3": ("fat_tree", {"round-robin": "fat_tree"}),
    "dragonfly1d": (
        "dragonfly",
        {"minimal": "dragonfly_minimal", "valiant": "dragonfly_valiant", "ugal": "dragonfly_ugal"},
    ),
}
PLUGGED = "tramontane"
"""Name of the plug-in's topology, router, switch and network interface."""
_UNSEEN = "ugal-g"
"""The routing that looks at queues of other switches."""

APPLICATION, PLUGIN, LOG = "libtramontane_skeleton.so", "libtramontane_plugin.so", "packets.json"
_NODES, _NODE_OF_RANK = "nodes.txt", "node-of-rank.txt"

# In release 16 sst++ drops -O and -D, but hands on what it doesn't know.
_OPTIONS = ("-std=c++20", "-fPIC", "--optimize=2")
_RELEASE = f"--define-macro=TRAMONTANE_RELEASE={__version__}"
_MOST_PORTS, _MOST_CHANNELS = 256, 16
"""PISCES keeps a packet's port in eight bits and its channel in four; beyond, packets go astray without a word."""

_UNCOUNTED: dict[str, Any] = {"packets": None, "hops": None}
"""Of messages that SST/macro's own collectives send, the plug-in can't tell whose they are."""

#: A parameter file: values, and blocks of them.
Parameters = dict[str, Any]


class SstMacro:
    """Runs a point on SST/macro."""

    name = "sstmacro"

    def available(self) -> str | None:
        """Return None, or what is missing."""
        missing = [tool for tool in ("sst++", "sstmac", "sstmacro-config") if _find(tool) is None]
        if missing:
            return f"{', '.join(missing)} not found; installed by: {INSTALL}"
        return program.without_sources()

    def revision(self, point: Point) -> int | None:
        """Return None: the model is SST/macro's, see `version` in results."""
        return None

    def compiler(self) -> str | None:
        """Return the compiler that ``sst++`` calls."""
        return _compiler()

    def builder(self) -> str:
        """Return SST/macro's wrapper, or the package of Spack that it came with."""
        return spack.origin(Path(str(_find("sst++")))) or "sst++"

    def refusal(self, point: Point) -> Refusal | None:
        """Return what of a point SST/macro can't express."""
        machine = point.network
        return (
            simulator_only(point, known=["statistics", "ranks_per_node", "mapping", "machine.node.nics"])
            or _network_refusal(machine)
            or _node_refusal(point)
            or _statistics_refusal(point)
            or refusal_of("machine.injection.service", machine.injection.service, ("fifo",), "sstmacro has no other")
            or _allocation_refusal(point)
        )

    def run(self, point: Point) -> dict[str, Any]:
        """Simulate a point; see :class:`tramontane.substrates.Substrate`."""
        refused = self.refusal(point)
        if refused is not None:
            raise ValueError(str(refused))
        if point.workload.is_search:
            return search(point, self.run)
        application = build_application()
        plugin = build_plugin()
        with tempfile.TemporaryDirectory(prefix="tramontane-sstmacro-") as scratch, shared_setup(point) as setup:
            place_ranks(point, Path(scratch))
            done = simulate(parameters(point, application, plugin, setup), Path(scratch))
            log = Path(scratch, LOG)  # not there if SST/macro could not start
            counted = log.read_text(encoding="utf-8") if log.exists() else ""
        if done.status != 0:
            raise RuntimeError(f"sstmac ended with status {done.status}: {complaint(done)}")
        found = program.last_object(done.output)
        if found is None:
            said = program.complaint(done.errors + done.output)
            raise RuntimeError(said or "sstmac ended without a result: packets were lost, or wait for each other")
        loop = _loop_seconds(done)
        return {
            "substrate": self.name,
            **skeleton.outcome(found),
            **(_UNCOUNTED if point.workload.by_library else json.loads(counted)),
            "imbalance": point.imbalance,
            "wall_s": loop,
            "setup_s": max(done.wall_s - loop, 0.0),
            "peak_rss_bytes": done.peak_rss_bytes,
            "version": version(),
        }


def simulate(values: Parameters, folder: Path) -> Finished:
    """Run SST/macro with these parameters in a folder, where all that it writes stays."""
    Path(folder, "point.ini").write_text(text(values), encoding="utf-8")
    return run_program([str(_find("sstmac")), "-f", "point.ini"], folder, {})


def _find(tool: str) -> str | None:
    """Return the path of one of SST/macro's programs: below SSTMACRO_ROOT if that is set, else in PATH."""
    root = os.environ.get("SSTMACRO_ROOT")
    return shutil.which(tool, path=str(Path(root, "bin"))) if root else shutil.which(tool)


def version() -> str:
    """Return SST/macro's version, e.g. ``16.0.0``."""
    return _versions_of(_find("sstmacro-config"))[-1]


def _compiler() -> str | None:
    # sst++ first says where it is.
    return next((line for line in _versions_of(_find("sst++")) if not line.startswith("/")), None)


@functools.cache
def _versions_of(program: str | None) -> list[str]:
    if program is None:
        return ["unknown"]
    done = subprocess.run([program, "--version"], stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.splitlines() or ["unknown"]


def build_application() -> Path:
    """Compile the skeleton for SST/macro unless that has been done; return the library.

    Raises
    ------
    RuntimeError
        If that fails.
    """
    hooks = Path(SHARE, "sstmacro", "skeleton_hooks.hpp")
    options = [*_OPTIONS, _RELEASE, *skeleton.options(), "-include", str(hooks)]
    return _once(options, program.sources(), [*program.headers(), hooks], APPLICATION)


def build_plugin() -> Path:
    """Compile the simulator's networks and the log of packets (`sstmacro/`) for SST/macro; return the library.

    What has been done before is taken from there.

    Raises
    ------
    RuntimeError
        If that fails.
    """
    room, simulator = Path(SHARE, "sstmacro"), Path(SHARE, "simulator")
    include = [Path(room, "headers"), simulator, Path(SHARE, "skeleton-src")]
    options = ["--sst-component", *_OPTIONS, *(f"-I{folder}" for folder in include)]
    sources = [*sorted(room.glob("*.cpp")), *sorted(simulator.glob("topologies/*.cpp"))]
    headers = [*sorted(room.rglob("*.hpp")), *sorted(simulator.rglob("*.hpp")), *program.headers()]
    return _once(options, sources, headers, PLUGIN)


def _once(options: list[str], sources: list[Path], headers: list[Path], library: str) -> Path:
    tool = str(_find("sst++"))
    closing = ["-fPIC", "-shared", *skeleton.LIBRARIES, "-o", library]
    name = digest([*sources, *headers], [tool, version(), str(_compiler()), *options, *closing])
    folder = Path(BUILDS, "sstmacro", name)
    return once(folder, lambda place: link(tool, options, sources, closing, place)) / library


def place_ranks(point: Point, folder: Path) -> None:
    """Write where ranks are, if that is anything but one on each of the first nodes."""
    if _is_plain(point):
        return
    nodes = point.rank_mapping.node_of(np.arange(point.ranks))
    if point.listed_nodes:
        nodes = np.asarray(point.listed_nodes)[nodes]
    for name, numbers in ((_NODES, np.unique(nodes)), (_NODE_OF_RANK, nodes)):
        Path(folder, name).write_text(f"{len(numbers)}\n" + "".join(f"{node}\n" for node in numbers), encoding="ascii")


def _is_plain(point: Point) -> bool:
    return point.ranks_per_node == 1 and point.mapping == "block" and not point.listed_nodes


def _placing(point: Point) -> Parameters:
    if _is_plain(point):
        return {"allocation": "first_available", "indexing": "block"}
    files = {"node_id_allocation_file": _NODES, "node_id_indexing_file": _NODE_OF_RANK}
    return {"allocation": "node_id", "indexing": "node_id", **files}


def parameters(point: Point, application: Path, plugin: Path, setup: str | None = None) -> Parameters:
    """Return SST/macro's parameters for a point.

    Parameters
    ----------
    point : Point
        A point.
    application, plugin : Path
        The libraries of the skeleton and of the plug-in.
    setup : str, optional
        Name of the segment of shared memory that holds the set-up information of all ranks.
    """
    machine = point.network
    protocol, injection, link_, logp = machine.protocol, machine.injection, machine.link, machine.logp
    buffer, packet = f"{machine.buffer}B", f"{machine.packet}B"
    program = {
        "exe": str(application),
        "argv": " ".join([*skeleton.simulated_arguments(point), *([f"setup={setup}"] if setup else [])]),
        "launch_cmd": f"aprun -n {point.ranks} -N {point.ranks_per_node}",
        "start": "0ms",
        **_placing(point),
        "env": {"TRAMONTANE_SEED": point.seed, "TRAMONTANE_START_JITTER": point.start_jitter},
        "mpi": {
            "max_vshort_msg_size": f"{protocol.short_limit}B",
            "max_eager_msg_size": f"{protocol.eager_limit}B",
        },
    }
    return {
        "external_libs": f"[{plugin}]",
        "topology": _topology(point),
        "node": {
            "name": "simple",
            "app1": program,
            "proc": {"ncores": point.ranks_per_node, "frequency": f"{machine.processor.frequency}Hz"},
            "memory": _memory(point),
            "nic": {
                "name": PLUGGED,
                "log": _log(point),
                "negligible_size": f"{protocol.negligible_size}B",
                "injection": {
                    "arbitrator": "cut_through",
                    "bandwidth": _bandwidth(injection.bandwidth),
                    "latency": _time(injection.latency),
                    "credits": buffer,
                    "mtu": packet,
                },
            },
        },
        "switch": {
            "name": PLUGGED,
            "arbitrator": "cut_through",
            "mtu": packet,
            "link": {
                "bandwidth": _bandwidth(link_.bandwidth),
                "latency": _time(link_.latency),
                "credits": buffer,
            },
            "xbar": {"arbitrator": "cut_through", "bandwidth": _bandwidth(machine.crossbar_server)},
            "router": _router(machine) | {"seed": point.seed},
            "logp": {
                "bandwidth": _bandwidth(filled(logp.bandwidth)),
                "hop_latency": _time(filled(logp.hop_latency)),
                "out_in_latency": _time(filled(logp.out_in_latency)),
            },
        },
    }


def _memory(point: Point) -> Parameters:
    """Return the memory of a node, which serves copies of eager messages, and what its ranks send each other."""
    machine, ranks = point.network, point.ranks_per_node
    own = _bandwidth(machine.memory.bandwidth)
    memory = {"name": "pisces", "latency": "10ns", "total_bandwidth": own, "bandwidth": own}
    if ranks == 1:
        return memory
    shared = machine.node.memory_bandwidth
    total = ranks * machine.memory.bandwidth if isinstance(shared, str) else shared
    # By default eight accesses are served at a time.
    several = {"total_bandwidth": _bandwidth(total), "max_single_bandwidth": own, "nchannels": max(8, 2 * ranks)}
    return memory | several


def _router(machine: Machine) -> Parameters:
    if _is_own(machine):
        return {"name": OWN[machine.facts.shape][1][str(machine.routing)]}
    return {"name": PLUGGED, "routing": machine.routing}


def _is_own(machine: Machine) -> bool:
    """Tell whether network and routing are SST/macro's own."""
    return machine.routing in OWN.get(machine.facts.shape, ("", {}))[1] and not machine.parallel_links


def _log(point: Point) -> Parameters:
    """Return what the plug-in has to know to count packets and their delays."""
    machine = point.network
    slowest = min(machine.link.bandwidth, machine.injection.bandwidth, machine.crossbar_server)
    return {
        "file": LOG,
        "ranks": point.ranks,
        "congestion": point.statistics.congestion,
        "link_latency": _time(machine.link.latency),
        "slowest": _bandwidth(slowest),
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


def _topology(point: Point) -> Parameters:
    machine = point.network
    shape, geometry = machine.facts.shape, machine.facts.geometry
    if not _is_own(machine):
        return _plugged(point)
    name = {"name": OWN[shape][0]}
    if shape == "fattree3":
        nodes, leaves, subtrees = geometry
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
    if shape == "torus":  # which crashes in a dimension of one switch
        geometry = tuple(extent for extent in geometry if extent > 1)
    described = {**name, "concentration": machine.nodes_per_switch, "geometry": _array(geometry)}
    if shape == "dragonfly1d":
        described |= {"group_connections": machine.global_links, "inter_group": machine.arrangement}
    return described


def _plugged(point: Point) -> Parameters:
    """Return a network of the plug-in's, which is told what the simulator is."""
    machine = point.network
    sizes = {"geometry": _array(machine.facts.geometry)} if machine.facts.geometry else {}
    links = [f"{name}:{count}" for name, count in machine.parallel_links.items()]
    said = {
        "nodes_per_switch": machine.nodes_per_switch,
        "global_links": machine.global_links,
        "arrangement": machine.arrangement,
        "parallel_links": _array(links) if links else None,
        **machine.table_keys(),
    }
    used = 1 + max(point.listed_nodes or (point.rank_mapping.nodes - 1,))
    known = {key: value for key, value in said.items() if value}
    return {"name": PLUGGED, "family": machine.topology, **sizes, **known, "used": used}


def _array(values: Iterable[object]) -> str:
    return "[" + ",".join(map(str, values)) + "]"


def _network_refusal(machine: Machine) -> Refusal | None:
    """Return what of a network SST/macro can't be told."""
    net = machine.facts
    if net.shape == "torus" and net.switches == 1:
        geometry = list(net.geometry)
        return Refusal("machine.geometry", geometry, "two switches or more", "sstmacro has no torus of one switch")
    if net.port_numbers > _MOST_PORTS:
        found = f"{net.port_numbers} ports a switch"
        return Refusal("machine.geometry", found, f"{_MOST_PORTS} or less", "sstmacro loses the others")
    if net.virtual_channels > _MOST_CHANNELS:
        found = f"{net.virtual_channels} virtual channels"
        return Refusal("machine.routing", found, f"{_MOST_CHANNELS} or less", "sstmacro loses the others")
    if machine.link.classes:
        return Refusal("machine.link.classes", [*machine.link.classes], "none", "sstmacro's links are all alike")
    if machine.routing == _UNSEEN:
        why = "a router of sstmacro sees no other switch's queues"
        return Refusal("machine.routing", _UNSEEN, "the network's other routings", why)
    return None


def _statistics_refusal(point: Point) -> Refusal | None:
    """Return what of statistics the log of packets does not count."""
    for key in ("links", "waiting"):
        found = getattr(point.statistics, key)
        if found:
            return Refusal(f"statistics.{key}", found, "congestion", "only the embedded simulator has it")
    return None


def _node_refusal(point: Point) -> Refusal | None:
    """Return what of nodes with several ranks PISCES' memory can't be."""
    node, memory = point.network.node, point.network.memory.bandwidth
    if node.nics > 1:
        return Refusal("machine.node.nics", node.nics, "1", "not yet for sstmacro")
    if point.ranks_per_node == 1:
        return None
    if node.bandwidth != memory:
        allowed = f"{format_quantity(memory, BANDWIDTH)}, as memory.bandwidth"
        found = format_quantity(node.bandwidth or 0, BANDWIDTH)
        return Refusal("machine.node.bandwidth", found, allowed, "in sstmacro one memory serves copies and messages")
    if node.memory_bandwidth != UNLIMITED and not node.copies:
        return Refusal("machine.node.copies", COPIES[0], COPIES[1], "in sstmacro one memory serves copies and messages")
    return None


def _allocation_refusal(point: Point) -> Refusal | None:
    if point.listed_nodes:
        return None
    return refusal_of("allocation", spelled(point.allocation), ("first-available",), "not yet for sstmacro")


def _bandwidth(value: int) -> str:
    return f"{value / 1e9:.15g}GB/s"


def _time(picoseconds: int) -> str:
    return f"{picoseconds}ps"


def _loop_seconds(done: Finished) -> float:
    """Return the wall time of the simulation itself as SST/macro prints it; all of it if it does not."""
    for line in reversed((done.output + done.errors).splitlines()):
        words = line.split()
        if "SST/macro ran for" in line:
            return float(words[words.index("for") + 1])
    return done.wall_s
