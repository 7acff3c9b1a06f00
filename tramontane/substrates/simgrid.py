"""SimGrid: the skeleton program compiled by ``smpicxx``, run on SMPI's flow model.

A fluid model has neither packets nor buffers nor credits: messages under way share links by max-min fairness. What of a
machine it can mean, it is told (docs/simgrid.md): SMPI's own defaults are those of a TCP cluster and would make the
numbers say nothing about the machine.
"""

import functools
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tramontane.study.networks.machines import COPIES, Machine
from tramontane.study.networks.network import FIXED
from tramontane.study.points.points import Point
from tramontane.study.values.units import UNLIMITED
from tramontane.study.workloads.jobs import Jobs
from tramontane.substrates import skeleton, spack
from tramontane.substrates.building import digest, link, once, options
from tramontane.substrates.mpi import program
from tramontane.substrates.programs import Finished, complaint, run_program
from tramontane.substrates.refusal import Refusal, refusal_of, simulator_only
from tramontane.substrates.slowdown import with_slowdown
from tramontane.support.layout import BUILDS, SHARE

INSTALL = "apt-get install libsimgrid-dev, or spack install simgrid"

PROGRAM, PLATFORM = "tramontane-smpi", "libplatform.so"

_ENVELOPE = 16
"""Bytes that SMPI adds to each message."""
_STACK_KIB = 256
_GUARDED_RANKS = 16_000
"""Up to here each stack has a guard page: two mappings a rank, of which Linux allows a process 65,530."""


class SimGrid:
    """Runs a point on SMPI."""

    name = "simgrid"

    def available(self) -> str | None:
        """Return None, or what is missing."""
        missing = [tool for tool in ("smpicxx", "smpirun") if shutil.which(tool) is None]
        if missing:
            return f"{' and '.join(missing)} not found; installed by: {INSTALL}"
        return program.without_sources()

    def revision(self, point: Point) -> int | None:
        """Return None: the model is SimGrid's, see `version` in results."""
        return None

    def compiler(self) -> str | None:
        """Return the compiler that SMPI's wrapper calls."""
        return _compiler()

    def builder(self) -> str:
        """Return SMPI's wrapper, or the package of Spack that it came with."""
        return spack.origin(Path(str(shutil.which("smpicxx")))) or "smpicxx"

    def refusal(self, point: Point) -> Refusal | None:
        """Return what of a point a fluid model can't express."""
        machine = point.network
        service, allowed = machine.injection.service, FIXED[machine.topology]
        return (
            simulator_only(point, known=["ranks_per_node", "mapping", "machine.node.nics", "workload.steps"])
            or refusal_of("machine.node.nics", machine.node.nics, (1,), "not yet for simgrid")
            or refusal_of("machine.node.copies", machine.node.copies or COPIES[0], COPIES[:1], "not yet for simgrid")
            or refusal_of("machine.routing", machine.routing, allowed, "simgrid routes whole messages")
            or refusal_of("machine.model", machine.model, ("default",), "simgrid is no PISCES")
            or refusal_of("machine.injection.service", service, ("fifo",), "in simgrid messages share links")
        )

    def run(self, point: Point) -> dict[str, Any]:
        """Simulate a point; see :class:`tramontane.substrates.Substrate`."""
        refused = self.refusal(point)
        if refused is not None:
            raise ValueError(str(refused))
        result = _run(point, point.schedule_keys())
        if isinstance(point.workload, Jobs):
            jobs = point.workload
            return with_slowdown(result, jobs, lambda number: _run(point, jobs.alone(number)))
        return result


def _run(point: Point, keys: dict[str, Any]) -> dict[str, Any]:
    """Return the result of a point, or of a part of its workload.

    Raises
    ------
    RuntimeError
        If SMPI fails.
    """
    with tempfile.TemporaryDirectory(prefix="tramontane-simgrid-") as scratch:
        done = _smpirun(point, keys, Path(scratch))
    found = program.last_object(done.output)
    if done.status != 0 or found is None:
        raise RuntimeError(f"smpirun ended with status {done.status}: {complaint(done)}")
    setup = _setup_seconds(done.errors)
    return {
        "substrate": SimGrid.name,
        **skeleton.outcome(found),
        "packets": None,
        "hops": None,
        "imbalance": point.imbalance,
        "wall_s": max(done.wall_s - setup, 0.0),
        "setup_s": setup,
        "peak_rss_bytes": done.peak_rss_bytes,
        "version": version(),
    }


@functools.cache
def version() -> str:
    """Return SimGrid's version, e.g. ``3.32``."""
    done = subprocess.run(["smpirun", "-version"], stdout=subprocess.PIPE, text=True, check=False)
    return next((word for word in done.stdout.split() if word[:1].isdigit()), "unknown")


@functools.cache
def _compiler() -> str | None:
    if shutil.which("smpicxx") is None:
        return None
    # By `--version` it tells SimGrid's; and then it goes on and links a program of nothing, unless it is only to show.
    asked = ["smpicxx", "-compiler-version", "-show"]
    done = subprocess.run(asked, stdout=subprocess.PIPE, text=True, check=False)
    return next(iter(done.stdout.splitlines()), None)


def build_program() -> Path:
    """Compile the skeleton for SMPI unless that has been done; return the program.

    Raises
    ------
    RuntimeError
        If that fails.
    """
    hooks = Path(SHARE, "simulator", "simgrid", "skeleton_hooks.hpp")
    asked = [*options(), *skeleton.options(), "-include", str(hooks)]
    headers = [*program.headers(), hooks]
    return _once("smpicxx", asked, program.sources(), headers, [*skeleton.LIBRARIES, "-o", PROGRAM]) / PROGRAM


def build_platform() -> Path:
    """Compile the library that describes machines to SimGrid unless that has been done; return it.

    Raises
    ------
    RuntimeError
        If that fails.
    """
    simulator = Path(SHARE, "simulator")
    sources = [Path(simulator, "simgrid", "platform.cpp"), *sorted(simulator.glob("topologies/*.cpp"))]
    # What smpicxx compiles sees MPI's names only; the platform is no MPI program.
    compiler, paths = os.environ.get("CXX", "c++"), _search_paths()
    closing = ["-shared", *paths, "-lsimgrid", "-o", PLATFORM]
    headers = [*sorted(simulator.rglob("*.hpp")), *program.headers()]
    include = [f"-I{simulator}", *skeleton.options()]
    return _once(compiler, [*options(), "-fPIC", *include, *paths[:1]], sources, headers, closing) / PLATFORM


def _once(compiler: str, asked: list[str], sources: list[Path], headers: list[Path], closing: list[str]) -> Path:
    name = digest([*sources, *headers], [version(), str(_compiler()), compiler, *asked, *closing])
    folder = Path(BUILDS, "simgrid", name)
    return once(folder, lambda place: link(compiler, asked, sources, closing, place, together=True))


def _search_paths() -> list[str]:
    """Return compiler options that find SimGrid beside the ``smpirun`` that is used."""
    prefix = Path(str(shutil.which("smpirun"))).resolve().parents[1]
    return [f"-I{Path(prefix, 'include')}", f"-L{Path(prefix, 'lib')}", f"-Wl,-rpath,{Path(prefix, 'lib')}"]


def platform_lines(point: Point) -> Iterator[str]:
    """Yield what ``simulator/simgrid/platform.cpp`` reads."""
    machine = point.network
    yield f"topology {machine.topology}"
    yield f"geometry {' '.join(map(str, machine.facts.geometry))}"
    for key, path in machine.table_keys().items():
        yield f"{key} {path}"
    yield f"nodes_per_switch {machine.nodes_per_switch}"
    yield f"global_links {machine.global_links or 0}"
    for name, count in machine.parallel_links.items():
        yield f"parallel_links {name} {count}"
    for name, part in (("link", machine.link), ("injection", machine.injection)):
        yield f"{name}_bandwidth {part.bandwidth}"
        yield f"{name}_latency {part.latency}"
    for name, each in machine.link.classes.items():
        yield f"link_class {name} {each.bandwidth} {each.latency}"
    yield f"crossbar_bandwidth {machine.crossbar_server}"
    if point.ranks_per_node > 1:
        yield f"node_bandwidth {machine.node.bandwidth}"
        yield f"node_latency {machine.node.latency}"
        if machine.node.memory_bandwidth != UNLIMITED:
            yield f"node_memory_bandwidth {machine.node.memory_bandwidth}"
    yield f"nodes {point.rank_mapping.nodes}"
    yield f"seed {point.seed}"
    if isinstance(point.workload, Jobs):
        yield "allocation jobs"
        for job in point.workload.allocation(str(point.allocation), point.ranks_per_node)["jobs"]:
            yield f"job {job['nodes']} {' '.join(_words(job['allocation']))}"
    else:
        yield f"allocation {' '.join(_words(point.listed_nodes or str(point.allocation)))}"


def _words(allocation: Any) -> list[str]:
    """Return a rule of allocation, or the nodes that it lists, as the platform reads it."""
    nodes = allocation["nodes"] if isinstance(allocation, dict) else allocation
    return [nodes] if isinstance(nodes, str) else ["given", *map(str, nodes)]


def settings(point: Point) -> dict[str, str]:
    """Return SimGrid's configuration for a point."""
    machine = point.network
    short, eager = machine.protocol.short_limit, machine.protocol.eager_limit
    fastest = max(machine.fastest_link, machine.injection.bandwidth, machine.crossbar_server)
    guarded = point.ranks <= _GUARDED_RANKS
    return {
        # The bandwidths and latencies of the machine and nothing else, shared by max-min fairness.
        "network/model": "SMPI",
        "smpi/bw-factor": "0:1",
        "network/crosstraffic": "0",
        "network/weight-S": "0",
        "network/TCP-gamma": "0",
        "network/loopback-bw": str(machine.memory.bandwidth),
        "network/loopback-lat": "0",
        # Above short_limit a header and a get request go before the payload.
        "smpi/lat-factor": f"0:1;{short + _ENVELOPE}:3",
        # Up to eager_limit a sender does not wait, and payloads are copied.
        "smpi/send-is-detached-thresh": str(eager + 1),
        "smpi/async-small-thresh": str(eager + 1),
        "smpi/ois": _copies(machine, short),
        "smpi/os": _copies(machine, short),
        "smpi/or": _copies(machine, eager),
        # Nothing that a program does between its messages takes time, not even to read the clock.
        "smpi/simulate-computation": "no",
        "smpi/wtime": "0",
        # Absolute tolerances: of times [s], and of bandwidths [B/s], where doubles hold no more than 15 digits.
        "surf/precision": "1e-12",
        "maxmin/precision": f"{min(max(1e-5, 1e-13 * fastest), 0.1):g}",
        "contexts/stack-size": str(_STACK_KIB),
        "contexts/guard-size": "1" if guarded else "0",
    }


def _copies(machine: Machine, largest: int) -> str:
    """Return the time a rank spends on copying a message: 3 instructions a word, memory's bandwidth beyond 64 B.

    SMPI's notation: sections "from:seconds:seconds a byte", each for sizes above its first number.
    """
    word = 3 / 8 / machine.processor.frequency
    byte = 1 / machine.memory.bandwidth
    sections = [(0, word), (64, word + byte), (largest, 0.0)]
    return ";".join(f"{size}:0:{cost:.12g}" for size, cost in sections if size < largest or cost == 0)


def _smpirun(point: Point, keys: dict[str, Any], scratch: Path) -> Finished:
    program, platform = build_program(), build_platform()
    machine, hosts = Path(scratch, "machine.txt"), Path(scratch, "hosts")
    machine.write_text("".join(f"{line}\n" for line in platform_lines(point)), encoding="ascii")
    nodes = point.rank_mapping.node_of(np.arange(point.ranks))
    hosts.write_text("".join(f"n{node}\n" for node in nodes.tolist()), encoding="ascii")
    configuration = [f"--cfg={key}:{value}" for key, value in settings(point).items()]
    command = ["smpirun", "-quiet", "-no-privatize", "-platform", str(platform)]
    command += ["-hostfile", str(hosts), "-np", str(point.ranks), "--log=root.thresh:error", *configuration]
    command += [str(program), *skeleton.simulated_arguments(point, keys)]
    environment = {
        "TRAMONTANE_PLATFORM": str(machine),
        "TRAMONTANE_SEED": str(point.seed),
        "TRAMONTANE_START_JITTER": str(point.start_jitter),
        # Stacks are to be mapped, not taken from the heap, whatever glibc has learnt meanwhile.
        "MALLOC_MMAP_THRESHOLD_": "131072",
    }
    return run_program(command, scratch, environment)


def _setup_seconds(errors: str) -> float:
    """Return what the platform says its construction took."""
    for line in errors.splitlines():
        if line.startswith("TRAMONTANE setup_s "):
            return float(line.split()[-1])
    return 0.0
