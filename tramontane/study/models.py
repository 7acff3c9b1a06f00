"""The typed description of a point: the single source of keys, types, units, defaults and allowed values.

Validation, the JSON schemas for editors (``workflow/schemas``) and the tables of ``docs/configuration.md`` are all made
from these classes, so none of them can disagree with another. A point's identity is the hash of its canonical form:
base units, defaults filled in, keys sorted, names and remarks left out.
"""

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_serializer, model_validator

from tramontane.study import decomposition as blocks
from tramontane.study import network
from tramontane.study.fields import Choice, ChoiceOrNumbers, Count, NonNegative, Text, Whole, WholeList, WholeOrWord
from tramontane.study.messages import problem
from tramontane.study.units import (
    FRACTION,
    SIZE,
    TIME,
    Bandwidth,
    Frequency,
    Latency,
    PositiveSize,
    Share,
    Size,
    Time,
    format_quantity,
)

DOUBLE = 8
"""Bytes of one grid-point value; the paper's fields are in double precision."""

MAX_NODES = 2**31 - 1
MAX_BUFFER = 2**31 - 1  # the simulator counts a buffer's free bytes in 32 bits
MAX_CONGESTION_BINS = 512
MAX_STEADY_ERROR = 100_000
"""Largest error [ppm] with which repeats may be cut short."""
MAX_LEVELS = 31
"""Switch levels with which even a binary tree has as many nodes as ranks can be counted."""

TRANSPOSITION_ALGORITHMS = ("ring-k", "burst", "bruck", "pairwise", "sliding-window")
BRUCK_RADIX = 2
"""Left out of the canonical form, as it was before there were others."""
REMAINDERS = ("paper", "adjacent")
ALLREDUCE_ALGORITHMS = ("recursive-k", "recursive-doubling", "ring", "rabenseifner")
OPTIMAL = "optimal"
RADICES = (2, 32)
"""Range in which the best radix is searched (Zheng & Marguinaud 2018, section 4.4)."""
LIBRARY_ALGORITHMS = ("library", "library-nonblocking", "library-persistent")
"""The MPI library's own operation, in its three forms; only where a workload runs with an MPI library."""
SERVICES = ("fifo", "round-robin")
NETWORK_MODELS = ("default", "pisces-16")
ALLOCATIONS = ("first-available", "random", "round-robin-groups")
NOISE_PATTERNS = ("periodic", "random")
MAX_PERIOD = 10**15
"""Longest period of noise [ps]; the simulator's own time ends at 1844 s."""
SUBSTRATES = ("simulator", "mpi", "simgrid", "sstmacro")
MEASURED = "mpi"
"""The substrate that runs on a real machine, where a system takes the place of the network."""
DEFAULT_SYSTEM = "generic"

GRID = WholeList(("nx", "ny", "nz"), instead="the name of a grid in configs/workloads/grids.yaml")
Grid = Annotated[tuple[int, int, int], GRID]
Decomposition = Annotated[tuple[int, int], WholeList(("cx", "cy"))]
HaloDecomposition = Annotated[tuple[int, int] | Literal["bisection"], WholeList(("cx", "cy"), word=blocks.BISECTION)]


class Settings(BaseModel):
    """Common behaviour: unknown keys are errors and a finished description never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=False)

    @property
    def is_default(self) -> bool:
        """Whether all keys have their defaults."""
        return self == type(self)()

    def _fill(self, **values: object) -> None:
        """Fill in defaults that depend on other keys, during validation only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


class Link(Settings):
    """The links between switches; each direction has its own bandwidth."""

    bandwidth: Bandwidth = Field(10 * 10**9, description="Bandwidth of one direction of a link.")
    latency: Latency = Field(100_000, description="Time a packet's head takes from one switch to the next.")


class Injection(Settings):
    """The network interface of a node."""

    bandwidth: Bandwidth = Field(10 * 10**9, description="Bandwidth at which a node feeds packets into its switch.")
    latency: Latency = Field(100_000, description="Time a packet's head takes from the node to its switch.")
    service: Annotated[str, Choice(SERVICES)] = Field(
        "fifo",
        description="Order in which a node serves the messages it has to send: one after the other as in PISCES, or a "
        "packet of each in turn as real network interfaces with several queue pairs do.",
    )


class Crossbar(Settings):
    """The inside of a switch: one server that all packets of the switch share, as in PISCES."""

    bandwidth: Bandwidth | None = Field(
        None,
        description="Bandwidth of the whole switch. Default: number of its ports times the link bandwidth.",
        examples=["80 GB/s"],
    )


class LogP(Settings):
    """The contention-free path of messages without payload and of those up to `protocol.negligible_size`."""

    bandwidth: Bandwidth | None = Field(None, description="Bandwidth. Default: that of the links.")
    hop_latency: Latency | None = Field(None, description="Latency of a hop. Default: that of the links.")
    out_in_latency: Latency | None = Field(
        None, description="Latency of leaving and entering nodes. Default: the injection latency."
    )


class Memory(Settings):
    """The memory of a node, used when a message is copied out of a buffer."""

    bandwidth: Bandwidth = Field(1000 * 10**9, description="Bandwidth of copies.")


class Processor(Settings):
    """The processor of a node, used when a message is copied out of a buffer."""

    frequency: Frequency = Field(2 * 10**9, description="Clock; one instruction a cycle.")


class Overhead(Settings):
    """Time the processor of a node spends on a message of the workload, whatever its size (o of the LogP model)."""

    send: Time = Field(0, description="Time a sender's processor is busy before it hands over a message.")
    receive: Time = Field(0, description="Time a receiver's processor is busy with a message that has arrived.")


class Protocol(Settings):
    """Message sizes at which the MPI library changes its protocol."""

    eager_limit: Size = Field(
        8192, description="Largest message sent without waiting for its receive; larger ones are pulled (rendezvous)."
    )
    short_limit: Size = Field(512, description="Largest message sent together with its header.")
    negligible_size: Size = Field(
        0, description="Messages up to this size bypass the packet network and take the contention-free path."
    )

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.short_limit > self.eager_limit:
            raise problem(
                f"found {format_quantity(self.short_limit, SIZE)}",
                f"at most eager_limit, {format_quantity(self.eager_limit, SIZE)}",
                key="short_limit",
            )
        return self


class Machine(Settings):
    """A network with its nodes."""

    name: Text | None = Field(
        None, description="A machine of `configs/machines`; the keys beside it override the machine's."
    )
    extends: Text | None = Field(
        None, description="A file of `configs/machines` that gives every value not written here; by default none."
    )
    description: Text | None = Field(None, description="What the machine is, in a sentence.")
    source: Text | None = Field(None, description="Where its values come from.")
    topology: Annotated[str, Choice(network.TOPOLOGIES)] = Field(description="Kind of network.")
    geometry: Annotated[tuple[int, ...], WholeList(("a", "b", "c"), optional=1, keys=network.TREE)] = Field(
        description="Size of the network: " + "; ".join(f"{name} {text}" for name, text in network.GEOMETRY.items()),
        examples=[[8, 8, 8]],
    )
    nodes_per_switch: Count | None = Field(
        None, description="Nodes attached to a switch. Default: 2; in a fat tree it is the number of down ports."
    )
    global_links: Count | None = Field(
        None, description="Links of a switch to other groups, an even number. For `dragonfly1d`, which needs it."
    )
    arrangement: Annotated[str, Choice(network.ARRANGEMENTS)] | None = Field(
        None, description="How the global links are arranged. For `dragonfly1d`. Default: circulant."
    )
    routing: Annotated[str, Choice(tuple(dict.fromkeys(sum(network.ROUTINGS.values(), ()))))] | None = Field(
        None,
        description="How packets find their way: "
        + "; ".join(f"{name}: {', '.join(routings)}" for name, routings in network.ROUTINGS.items())
        + ". Default: the first.",
    )
    link: Link = Field(Link(), description="Links between switches.")
    injection: Injection = Field(Injection(), description="Network interfaces of the nodes.")
    crossbar: Crossbar = Field(Crossbar(), description="Inside of the switches.")
    logp: LogP = Field(LogP(), description="Contention-free path of tiny messages.")
    memory: Memory = Field(Memory(), description="Memory of the nodes.")
    processor: Processor = Field(Processor(), description="Processors of the nodes.")
    overhead: Overhead = Field(Overhead(), description="Time of the processors a message.")
    packet: PositiveSize = Field(4096, description="Messages are cut into packets of this size.")
    buffer: PositiveSize = Field(
        64_000, description="Buffer of a link, divided by the virtual channels of the routing."
    )
    protocol: Protocol = Field(Protocol(), description="Limits of the MPI protocols.")
    model: Annotated[str, Choice(NETWORK_MODELS)] = Field("default", description="Rules of the network model.")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Check what only several keys show together and fill in the defaults that depend on others."""
        self._check_geometry()
        allowed = network.ROUTINGS[self.topology]
        if self.routing is not None and self.routing not in allowed:
            raise problem(f"found '{self.routing}' for topology {self.topology}", ", ".join(allowed), key="routing")
        self._fill(routing=self.routing or allowed[0])
        self._check_model()
        if self.facts.nodes > MAX_NODES:
            raise problem(f"found a network of {self.facts.nodes} nodes", f"at most {MAX_NODES} nodes", key="geometry")
        logp = LogP.model_construct(
            bandwidth=self.logp.bandwidth or self.link.bandwidth,
            hop_latency=self.link.latency if self.logp.hop_latency is None else self.logp.hop_latency,
            out_in_latency=self.injection.latency if self.logp.out_in_latency is None else self.logp.out_in_latency,
        )
        crossbar = self.crossbar.bandwidth or self.facts.ports * self.link.bandwidth
        self._fill(logp=logp, crossbar=Crossbar.model_construct(bandwidth=crossbar))
        self._check_buffer()
        return self

    def _check_model(self) -> None:
        """Refuse what SST/macro 16 has not, in the model that follows it tick by tick."""
        if self.model != "pisces-16":
            return
        shape = "fattree3" if self.topology == "fattree" and len(self.geometry) == 3 else self.topology
        routings = network.PISCES_16.get(shape)
        if routings is None:
            found = "a full fat tree" if self.topology == "fattree" else f"topology {self.topology}"
            allowed = "torus, dragonfly1d, or a fattree of {nodes_per_leaf, leaves_per_subtree, subtrees}"
            raise problem(f"found pisces-16 for {found}, which SST/macro 16 has not", allowed, key="model")
        if self.routing not in routings:
            raise problem(f"found '{self.routing}' with model pisces-16", ", ".join(routings), key="routing")
        if self.injection.service != "fifo":
            raise problem(f"found '{self.injection.service}' with model pisces-16", "fifo", key="injection.service")

    def _check_geometry(self) -> None:
        meaning = network.GEOMETRY[self.topology]
        if len(self.geometry) not in network.SIZES[self.topology]:
            raise problem(f"found {list(self.geometry)} for topology {self.topology}", meaning, key="geometry")
        self._check_global_links()
        if self.topology != "fattree":
            self._fill(nodes_per_switch=self.nodes_per_switch or 2)
            return
        down = self._tree_ports()
        if self.nodes_per_switch not in (None, down):
            raise problem(
                f"found {self.nodes_per_switch} in a fat tree with {down} down ports",
                f"{down}, or leave it out",
                key="nodes_per_switch",
            )
        self._fill(nodes_per_switch=down)

    def _tree_ports(self) -> int:
        """Return the nodes a lowest switch of a fat tree carries."""
        if len(self.geometry) == 2:
            if self.geometry[0] > MAX_LEVELS:
                raise problem(f"found {self.geometry[0]} levels", f"at most {MAX_LEVELS} levels", key="geometry")
            return self.geometry[1]
        per_leaf, leaves, _ = self.geometry
        if per_leaf < leaves:
            raise problem(
                f"found {leaves} leaves_per_subtree with {per_leaf} nodes_per_leaf, whose up ports don't reach as many",
                f"at most {per_leaf} leaves_per_subtree",
                key="geometry",
            )
        return per_leaf

    def _check_global_links(self) -> None:
        if self.topology != "dragonfly1d":
            for key in ("global_links", "arrangement"):
                if getattr(self, key) is not None:
                    raise problem(
                        f"found {getattr(self, key)} for topology {self.topology}", "only with dragonfly1d", key=key
                    )
            return
        in_group, groups = self.geometry
        least = max(2, 2 * -(-(groups // 2) // in_group))
        allowed = f"an even number, {least} or more, with which {in_group} switches reach {groups} groups"
        if self.global_links is None:
            raise problem("missing, but topology dragonfly1d needs it", allowed, key="global_links")
        if self.global_links % 2 or self.global_links < least:
            raise problem(f"found {self.global_links}", allowed, key="global_links")
        self._fill(arrangement=self.arrangement or network.ARRANGEMENTS[0])

    @field_serializer("geometry", when_used="json")
    def _spell_geometry(self, geometry: tuple[int, ...]) -> list[int] | dict[str, int]:
        return network.spelled(self.topology, geometry)

    def _check_buffer(self) -> None:
        if self.buffer > MAX_BUFFER:
            raise problem(f"found {format_quantity(self.buffer, SIZE)}", f"at most {MAX_BUFFER} B", key="buffer")
        channels = network.virtual_channels(self.topology, str(self.routing))
        if self.buffer // channels < self.packet:
            raise problem(
                f"found {format_quantity(self.buffer, SIZE)} for {channels} virtual channels, less than a packet of "
                f"{format_quantity(self.packet, SIZE)} each, which would deadlock",
                f"{channels * self.packet} B or more ({self.topology} with {self.routing} routing)",
                key="buffer",
            )

    @cached_property
    def facts(self) -> network.NetworkFacts:
        """Switches, nodes and ports."""
        return network.facts(self.topology, self.geometry, self.nodes_per_switch or 2, self.global_links or 0)

    @property
    def label(self) -> str:
        """The machine in few words, e.g. "torus-M" or "torus 8x8x8, 2 nodes a switch"."""
        if self.name:
            return self.name
        size = "x".join(str(extent) for extent in self.geometry)
        return f"{self.topology} {size}, {self.nodes_per_switch} nodes a switch"


class Transposition(Settings):
    """The transposition of the spectral transform method (Zheng & Marguinaud 2018, section 3.1)."""

    kind: Literal["transposition"] = Field(description="Kind of workload.")
    algorithm: Annotated[str, Choice((*TRANSPOSITION_ALGORITHMS, *LIBRARY_ALGORITHMS))] = Field(
        description="All-to-all algorithm: one of " + ", ".join(TRANSPOSITION_ALGORITHMS) + "; with an MPI library, "
        "MPI_Alltoallv as " + ", ".join(LIBRARY_ALGORITHMS) + "."
    )
    radix: Count | None = Field(
        None,
        description="k of ring-k: partners served at once; of sliding-window: sends under way at once; of bruck: base "
        "of the digits by which blocks travel, by default 2. Only for these.",
    )
    grid: Grid = Field(description="Grid points [nx, ny, nz].", examples=[[1440, 720, 64], "paper"])
    decomposition: Decomposition | None = Field(
        None,
        description="Processes [cx, cy] in x and y. Default: nearest to a square with cx <= nx, ny, nz "
        "and cy <= ny, nx.",
        examples=[[16, 16]],
    )

    @model_validator(mode="after")
    def _radix(self) -> Self:
        if self.algorithm == "bruck":
            if self.radix == 1:
                raise problem("found 1", "a whole number, 2 or more", key="radix")
            self._fill(radix=None if self.radix == BRUCK_RADIX else self.radix)
        else:
            check_radix(self.algorithm, ("ring-k", "sliding-window"), self.radix, optional=("bruck",))
        return self


class Halo(Settings):
    """The wide halo exchange of the semi-Lagrangian method (Zheng & Marguinaud 2018, section 3.2)."""

    kind: Literal["halo"] = Field(description="Kind of workload.")
    algorithm: Annotated[str, Choice(LIBRARY_ALGORITHMS)] | None = Field(
        None,
        description="Default: our own messages. With an MPI library, MPI_Neighbor_alltoallv as "
        + ", ".join(LIBRARY_ALGORITHMS)
        + ".",
    )
    width: Count = Field(description="Width of the halo in grid points.", examples=[20])
    grid: Grid = Field(description="Grid points [nx, ny, nz].", examples=["paper"])
    decomposition: HaloDecomposition | None = Field(
        None,
        description="Processes [cx, cy] in x and y; or bisection: the grid is cut in two again and again, so that for "
        "any number of processes tiles are compact and alike, but do not line up, and all messages go at once. "
        "Default: nearest to a square with cx <= nx and cy <= ny.",
        examples=[[16, 16], "bisection"],
    )

    @model_validator(mode="after")
    def _library(self) -> Self:
        if self.algorithm is not None and self.decomposition == blocks.BISECTION:
            raise problem(f"found {blocks.BISECTION} with algorithm {self.algorithm}", "[cx, cy]", key="decomposition")
        return self


class Allreduce(Settings):
    """The allreduces of a Krylov solver (Zheng & Marguinaud 2018, section 3.3)."""

    kind: Literal["allreduce"] = Field(description="Kind of workload.")
    algorithm: Annotated[str, Choice((*ALLREDUCE_ALGORITHMS, *LIBRARY_ALGORITHMS))] = Field(
        description="Allreduce algorithm: one of " + ", ".join(ALLREDUCE_ALGORITHMS) + "; with an MPI library, "
        "MPI_Allreduce as " + ", ".join(LIBRARY_ALGORITHMS) + "."
    )
    radix: Annotated[int | str, WholeOrWord(2, OPTIMAL)] | None = Field(
        None,
        description="k of recursive-k: processes that reduce among themselves at a stage; optimal: the one that takes "
        "the least time, which is searched. Only for recursive-k.",
    )
    radices: Annotated[tuple[int, int], WholeList(("first", "last"))] | None = Field(
        None, description="With radix optimal, the range that is searched. Default: [2, 32].", examples=[[2, 32]]
    )
    exhaustive: bool | None = Field(
        None,
        description="With radix optimal, whether every radix is run, also those that a lower bound proves slower. "
        "Default: false.",
    )
    remainder: Annotated[str, Choice(REMAINDERS)] | None = Field(
        None,
        description="Who stands in for rank i beyond the largest power of k: paper: rank i - (P - k^p), or i mod k^p "
        "where P > 2 k^p; adjacent: the first of a run of neighbours. Only for recursive-k. Default: paper.",
    )
    count: Count = Field(3, description="Doubles to reduce.")
    repeats: Count = Field(50, description="Allreduces one after the other; 2N for GCR with N iterations.")

    @model_validator(mode="after")
    def _radix(self) -> Self:
        check_radix(self.algorithm, ("recursive-k",), self.radix, minimum=2)
        if self.remainder is not None and self.algorithm != "recursive-k":
            raise problem(
                f"found {self.remainder}, but algorithm {self.algorithm} has none",
                "only with recursive-k",
                key="remainder",
            )
        self._fill(remainder=None if self.remainder == REMAINDERS[0] else self.remainder)
        if self.radix != OPTIMAL:
            for key in ("radices", "exhaustive"):
                if getattr(self, key) is not None:
                    raise problem(f"found radix {self.radix}", f"only with radix {OPTIMAL}", key=key)
            return self
        first, last = self.radices or RADICES
        if not 2 <= first <= last:
            raise problem(f"found [{first}, {last}]", "[first, last] with 2 <= first <= last", key="radices")
        self._fill(radices=(first, last), exhaustive=bool(self.exhaustive))
        return self


Workload = Annotated[Transposition | Halo | Allreduce, Field(discriminator="kind")]
WORKLOADS: tuple[type[Settings], ...] = (Transposition, Halo, Allreduce)


def check_radix(
    algorithm: str, needing: tuple[str, ...], radix: int | str | None, minimum: int = 1, optional: tuple[str, ...] = ()
) -> None:
    """Refuse a radix that is missing for the algorithms that need one, or given to one that has none."""
    if algorithm in needing and radix is None:
        raise problem(f"missing, but algorithm {algorithm} needs it", f"a whole number, {minimum} or more", key="radix")
    if algorithm not in needing and radix is not None:
        found = f"found {radix}, but algorithm {algorithm} has none"
        *others, last = *needing, *optional
        raise problem(found, f"only with {', '.join(others) + ' or ' if others else ''}{last}", key="radix")


class SystemChoice(Settings):
    """The real machine a point is measured on; a mere name will do."""

    name: Text = Field(description="A file of `configs/systems`.", examples=["generic"])
    partition: Text | None = Field(None, description="Part of the system. Default: its first one.")
    environment: Text | None = Field(
        None, description="MPI library, as the system calls it. Default: the first one that is there."
    )


class Noise(Settings):
    """Noise of the operating system: detours that take a rank's processor away for a while, each rank by itself."""

    duration: Time = Field(0, description="How long a detour lasts; 0 for no noise.", examples=["25 us"])
    period: Latency = Field(10**9, description="Every so often there is one.", examples=["1 ms"])
    pattern: Annotated[str, Choice(NOISE_PATTERNS)] = Field(
        "periodic",
        description="Detours come at equal distances, with a random phase of each rank; or each at a random moment of "
        "its period.",
    )

    @model_validator(mode="after")
    def _shorter(self) -> Self:
        if self.duration >= self.period:
            found = f"found {format_quantity(self.duration, TIME)}"
            raise problem(found, f"less than the period, {format_quantity(self.period, TIME)}", key="duration")
        if self.period > MAX_PERIOD:
            raise problem(f"found {format_quantity(self.period, TIME)}", "at most 1000 s", key="period")
        if self.duration == 0:
            self._fill(period=type(self).model_fields["period"].default, pattern=NOISE_PATTERNS[0])
        return self


class Steady(Settings):
    """Whether identical repeats are cut short when those that were simulated tell the time of all."""

    error: Share = Field(
        0,
        description="Error of the whole time that is allowed; no more repeats are simulated than that takes. 0 %: all.",
        examples=["1 %"],
    )

    @model_validator(mode="after")
    def _small(self) -> Self:
        if self.error > MAX_STEADY_ERROR:
            raise problem(
                f"found {format_quantity(self.error, FRACTION)}",
                f"at most {format_quantity(MAX_STEADY_ERROR, FRACTION)}",
                key="error",
            )
        return self


class Statistics(Settings):
    """What is kept of a simulation besides its times and counts."""

    congestion: Annotated[int, Whole(0, MAX_CONGESTION_BINS)] = Field(
        0,
        description="Bins a side of a matrix of the packets' queueing delays between source and destination processes; "
        "no more than processes are used, 0 for no matrix.",
    )


class Point(Settings):
    """One run: a workload on a machine with a number of ranks.

    Attributes
    ----------
    id : str
        Identity: 16 hexadecimal digits that depend on the physics only, not on how it was written.
    """

    ranks: Count = Field(description="Number of MPI processes, one a node.", examples=[256])
    workload: Workload = Field(description="What is communicated.")
    machine: Machine | None = Field(
        None,
        description="The network: the name of a file in `configs/machines`, or its keys. Every substrate but `mpi` "
        "needs it.",
    )
    allocation: Annotated[str | tuple[int, ...], ChoiceOrNumbers(ALLOCATIONS, "nodes")] = Field(
        "first-available",
        description="Which nodes the ranks get: the first ones, in order; random ones, by the seed; those of all "
        "groups in turn (groups of a dragonfly, subtrees below the top of a fat tree, planes of a torus); or those "
        "given, by rank.",
    )
    substrate: Annotated[str, Choice(SUBSTRATES)] = Field("simulator", description="What runs the point.")
    system: SystemChoice | None = Field(
        None,
        description="The real machine, in the network's place: the name of a file in `configs/systems`, or the name "
        f"with partition and environment. Only for substrate `mpi`; default: {DEFAULT_SYSTEM}.",
        examples=["generic"],
    )
    seed: NonNegative = Field(1, description="Seed of all random choices.")
    start_jitter: Time = Field(
        0,
        description="Ranks start later by a random time of up to this much, which makes members of an ensemble differ.",
    )
    noise: Noise = Field(Noise(), description="Noise of the operating system.")
    steady: Steady = Field(Steady(), description="Whether repeats are cut short.")
    statistics: Statistics = Field(Statistics(), description="What is kept besides times and counts.")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.substrate == MEASURED:
            self._fill(machine=None, system=self.system or SystemChoice(name=DEFAULT_SYSTEM))
        else:
            self._fill(system=None)
            self._check_machine()
        self._check_disturbances()
        self._check_steady()
        if isinstance(self.workload, Allreduce) and self.workload.radix == OPTIMAL and self.substrate != "simulator":
            raise problem(f"found {OPTIMAL} with substrate {self.substrate}", "a whole number", key="workload.radix")
        if not isinstance(self.workload, Allreduce):
            decomposition = self._decomposed(self.workload)
            self._fill(workload=self.workload.model_copy(update={"decomposition": decomposition}))
        return self

    def _check_machine(self) -> None:
        """Refuse what the network has not."""
        if self.machine is None:
            description = str(type(self).model_fields["machine"].description)
            raise problem("missing", description, key="machine")
        nodes = self.machine.facts.nodes
        if self.ranks > nodes:
            raise problem(
                f"found {self.ranks} ranks on {nodes} nodes",
                f"at most {nodes}, the nodes of {self.machine.label}",
                key="ranks",
            )
        if isinstance(self.allocation, tuple):
            self._check_nodes(self.allocation, self.machine)
        if self.machine.model == "pisces-16" and self.allocation != "first-available":
            found = self.allocation if isinstance(self.allocation, str) else "a list of nodes"
            raise problem(f"found {found} with model pisces-16", "first-available", key="allocation")
        if self.machine.model == "pisces-16" and self.workload.algorithm == "sliding-window":
            raise problem("found 'sliding-window' with model pisces-16", "any other", key="workload.algorithm")
        if self.substrate == "simulator" and self.workload.algorithm in LIBRARY_ALGORITHMS:
            own = {"transposition": TRANSPOSITION_ALGORITHMS, "allreduce": ALLREDUCE_ALGORITHMS}
            allowed = ", ".join(own.get(self.workload.kind, ("nothing",)))
            raise problem(
                f"found '{self.workload.algorithm}' on the simulator, which has no MPI library",
                f"{allowed}, or substrate {MEASURED}",
                key="workload.algorithm",
            )

    def _check_disturbances(self) -> None:
        """Refuse noise and overheads where they would be ignored."""
        overhead = [("machine.overhead", self.machine.overhead)] if self.machine else []
        for key, value in (("noise", self.noise), *overhead):
            if value.is_default:
                continue
            if self.substrate != "simulator":
                raise problem(f"found some with substrate {self.substrate}", "only with simulator", key=key)
            if self.machine and self.machine.model == "pisces-16":
                raise problem("found some with model pisces-16", "none", key=key)

    def _check_steady(self) -> None:
        """Refuse to cut repeats short where there are none, or where they may be alike for a while only."""
        if self.steady.is_default:
            return
        machine_model = self.machine.model if self.machine else None
        for found, wanted, allowed in (
            (f"substrate {self.substrate}", self.substrate == "simulator", "only with simulator"),
            (f"workload {self.workload.kind}", isinstance(self.workload, Allreduce), "only with allreduce"),
            (f"model {machine_model}", machine_model != "pisces-16", "only with model default"),
            ("noise, whose period may be longer than what is simulated", self.noise.is_default, "only without noise"),
        ):
            if not wanted:
                value = format_quantity(self.steady.error, FRACTION)
                raise problem(f"found {value} with {found}", allowed, key="steady.error")

    def _check_nodes(self, given: tuple[int, ...], machine: Machine) -> None:
        if len(given) != self.ranks:
            raise problem(f"found {len(given)} nodes", f"{self.ranks}, one for each rank", key="allocation.nodes")
        if max(given) >= machine.facts.nodes:
            last = machine.facts.nodes - 1
            raise problem(f"found {max(given)}", f"nodes 0 ... {last} of {machine.label}", key="allocation.nodes")

    @field_serializer("allocation", when_used="json")
    def _spell_allocation(self, allocation: str | tuple[int, ...]) -> str | dict[str, list[int]]:
        return allocation if isinstance(allocation, str) else {"nodes": list(allocation)}

    def _decomposed(self, workload: Transposition | Halo) -> tuple[int, int] | str:
        """Return the decomposition, the default one if none is given, or say which bound it violates."""
        if isinstance(workload.decomposition, str):
            self._check_bisection(workload)
            return workload.decomposition
        limits = blocks.bounds(workload.kind, workload.grid)
        if workload.decomposition is None:
            found = blocks.nearest_square(self.ranks, limits)
            if found is None:
                nx, ny, nz = workload.grid
                raise problem(
                    f"found {self.ranks}, which has no decomposition on the grid {nx} x {ny} x {nz}",
                    f"a number of ranks that can be cut into cx * cy with {_tightest(limits)}",
                    key="ranks",
                )
            return found
        cx, cy = workload.decomposition
        if cx * cy != self.ranks:
            raise problem(
                f"found [{cx}, {cy}], that is {cx * cy} processes",
                f"cx * cy = {self.ranks}, the number of ranks",
                key="workload.decomposition",
            )
        bound = blocks.violated((cx, cy), limits)
        if bound:
            side, extent, value = bound
            raise problem(
                f"found {side} = {cx if side == 'cx' else cy} > {extent} = {value}",
                _tightest(limits),
                key="workload.decomposition",
            )
        return cx, cy

    def _check_bisection(self, workload: Transposition | Halo) -> None:
        nx, ny, _ = workload.grid
        largest = blocks.bisected(nx, ny, self.ranks)
        if largest is None:
            raise problem(f"found {self.ranks}, too many to bisect {nx} x {ny} points", "fewer", key="ranks")
        most = min(nx - largest.x, ny - largest.y)
        if isinstance(workload, Halo) and workload.width > most:
            allowed = f"at most {most}, so that no process has its own points in its halo"
            raise problem(f"found {workload.width}", allowed, key="workload.width")

    @classmethod
    def from_canonical(cls, canonical: dict[str, Any]) -> "Point":
        """Return the point with this canonical form (base units, see :meth:`canonical`)."""
        return cls.model_validate(canonical, context={"canonical": True})

    @property
    def place(self) -> str:
        """Where it runs, in few words: the network or the system."""
        if self.machine is not None:
            return self.machine.label
        return " ".join(self.system.model_dump(exclude_none=True).values()) if self.system else ""

    def canonical(self) -> dict[str, Any]:
        """Return plain data in base units (ps, B/s, B, Hz), defaults filled in and keys sorted.

        Overhead, noise, steady and statistics are left out where they ask for nothing.
        """
        return dict(json.loads(self._canonical_text))

    @cached_property
    def _canonical_text(self) -> str:
        # What asks for nothing is left out, so that a new option renames no point.
        off = {name for name in ("noise", "steady", "statistics") if getattr(self, name).is_default}
        remarks = {"name", "extends", "description", "source"}
        if self.machine and self.machine.overhead.is_default:
            remarks.add("overhead")
        data = self.model_dump(mode="json", exclude_none=True, exclude={"machine": remarks, **dict.fromkeys(off, True)})
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @cached_property
    def id(self) -> str:
        """Identity of the point."""
        return hashlib.sha256(self._canonical_text.encode()).hexdigest()[:16]


def _tightest(limits: list[blocks.Bound]) -> str:
    """Return in words the bound that matters for each side."""
    lowest = [min((bound for bound in limits if bound[0] == side), key=lambda bound: bound[2]) for side in ("cx", "cy")]
    return " and ".join(f"{side} <= {extent} = {value}" for side, extent, value in lowest)
