"""The typed description of a network with its nodes: what a file of ``configs/machines`` may say."""

from typing import Annotated, Any, Self

from pydantic import Field, field_serializer, model_validator

from tramontane.study import network
from tramontane.study.fields import Choice, Count, Geometry, Text
from tramontane.study.messages import problem
from tramontane.study.settings import Settings, filled
from tramontane.study.units import (
    BANDWIDTH,
    SIZE,
    UNLIMITED,
    Bandwidth,
    BandwidthOrUnlimited,
    CallTime,
    EagerSize,
    Frequency,
    Latency,
    PacketSize,
    PositiveSize,
    Size,
    Time,
    format_quantity,
)

MAX_BUFFER = 2**31 - 1  # the simulator counts a buffer's free bytes in 32 bits
MAX_PORTS = 10**9  # the simulator reserves room for all of them
SERVICES = ("fifo", "round-robin")
NIC_CHOICES = ("rank", "round-robin")
NETWORK_MODELS = ("default", "pisces-16")


PROGRESS = ("calls", "hardware")
"""What moves a rendezvous on while its rank works."""


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
    """The inside of a switch: where its bandwidth is stated, one server that all packets share, as in PISCES."""

    bandwidth: BandwidthOrUnlimited | None = Field(
        None,
        description=f"Bandwidth of the whole switch, or `{UNLIMITED}`: then nothing waits for the crossbar. Default: "
        f"{UNLIMITED}; in the model `pisces-16`, which always has the server, ports times the link bandwidth.",
        examples=["80 GB/s", UNLIMITED],
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


class Node(Settings):
    """A node with several ranks: its network interfaces (NICs), and the way between two of its ranks.

    It says nothing where points have one rank a node.
    """

    nics: Count = Field(
        1,
        description="Network interfaces of a node, at most `ranks_per_node`. Each is one of the nodes that the "
        "topology counts: consecutive ones, of one switch.",
    )
    nic_choice: Annotated[str, Choice(NIC_CHOICES)] = Field(
        "rank",
        description="Which of them a message leaves and enters by: one for each rank, by its index on the node modulo "
        "`nics`; or each in turn, by that index plus the numbers of the round and of the message in it.",
    )
    latency: Latency | None = Field(
        None,
        description="Time a message takes between two ranks of a node, without its bytes. Needed with several ranks a "
        "node.",
        examples=["500 ns"],
    )
    bandwidth: Bandwidth | None = Field(
        None,
        description="Bandwidth of a message between two ranks of a node. Needed with several ranks a node.",
        examples=["10 GB/s"],
    )
    memory_bandwidth: BandwidthOrUnlimited = Field(
        UNLIMITED,
        description="Bandwidth of a node's memory, which serves the payloads between its ranks one after the other; "
        f"or `{UNLIMITED}`.",
        examples=["100 GB/s"],
    )

    @model_validator(mode="after")
    def _chosen(self) -> Self:
        if self.nics == 1:
            self._fill(nic_choice=NIC_CHOICES[0])
        return self


class OneSidedCosts(Settings):
    """Time of a rank's processor in calls of one-sided exchanges, beside what they wait for; there are no defaults.

    A step needs the costs of its calls (docs/one-sided.md). What no step needs says nothing.
    """

    put: CallTime | None = Field(None, description="Cost of a put, in place of `overhead` and copies.")
    post: CallTime | None = Field(None, description="Cost of post for each origin.", examples=["300 ns"])
    start: CallTime | None = Field(None, description="Cost of start for each target.", examples=["300 ns"])
    complete: CallTime | None = Field(None, description="Cost of complete for each target.", examples=["300 ns"])
    wait: CallTime | None = Field(None, description="Cost of wait for each origin.", examples=["300 ns"])
    flush: CallTime | None = Field(None, description="Cost of flush for each target.", examples=["300 ns"])
    fence: CallTime | None = Field(None, description="Cost of a fence.", examples=["1 us"])
    lock: CallTime | None = Field(None, description="Cost of locking the windows of all ranks.", examples=["1 us"])
    unlock: CallTime | None = Field(None, description="Cost of unlocking them.", examples=["1 us"])


class Protocol(Settings):
    """Message sizes at which the MPI library changes its protocol."""

    eager_limit: EagerSize = Field(
        8192, description="Largest message sent without waiting for its receive; larger ones are pulled (rendezvous)."
    )
    short_limit: Size = Field(512, description="Largest message sent together with its header.")
    negligible_size: EagerSize = Field(
        0, description="Messages up to this size bypass the packet network and take the contention-free path."
    )
    progress: Annotated[str, Choice(PROGRESS)] | None = Field(
        None,
        description="Who answers a rendezvous while its rank works: nobody, it waits until the rank calls MPI (calls); "
        "or the network interface (hardware). Default: calls.",
    )

    @model_validator(mode="after")
    def _by_default(self) -> Self:
        if self.progress == PROGRESS[0]:
            self._fill(progress=None)
        return self

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.short_limit > self.eager_limit:
            raise problem(
                f"found {format_quantity(self.short_limit, SIZE)}",
                f"at most eager_limit, {format_quantity(self.eager_limit, SIZE)}",
                key="short_limit",
            )
        return self


#: Keys that say how the network is wired and how packets are routed in it.
_SHAPED_BY = ("topology", "geometry", "nodes_per_switch", "global_links", "arrangement", "routing")


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
    geometry: Annotated[network.Frozen, Geometry(network.MAPPINGS)] = Field(
        description="Size of the network: "
        + "; ".join(f"{name} {family.text}" for name, family in network.FAMILIES.items()),
        examples=[[8, 8, 8]],
    )
    nodes_per_switch: Count | None = Field(
        None,
        description=f"Nodes attached to a switch. Default: {network.DEFAULT_NODES}; in a fat tree it is the number of "
        "down ports.",
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
    node: Node = Field(Node(), description="What several ranks of a node share.")
    one_sided: OneSidedCosts = Field(OneSidedCosts(), description="Costs of one-sided exchanges.")
    packet: PacketSize = Field(4096, description="Messages are cut into packets of this size.")
    buffer: PositiveSize = Field(
        64_000, description="Buffer of a link, divided by the virtual channels of the routing."
    )
    protocol: Protocol = Field(Protocol(), description="Limits of the MPI protocols.")
    model: Annotated[str, Choice(NETWORK_MODELS)] = Field("default", description="Rules of the network model.")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Check what only several keys show together and fill in the defaults that depend on others."""
        facts = self.facts
        if facts.switches * facts.port_numbers > MAX_PORTS:
            found = f"found a network of {facts.switches} switches with {facts.port_numbers} ports each"
            raise problem(found, f"at most {MAX_PORTS} ports in all", key="geometry")
        arrangements = network.FAMILIES[self.topology].arrangements
        self._fill(
            geometry=network.frozen(facts.spelled),
            nodes_per_switch=facts.nodes_per_switch,
            arrangement=self.arrangement or next(iter(arrangements), None),
            routing=facts.routing.name,
        )
        self._check_model()
        if filled(self.nodes_per_switch) % self.node.nics:
            allowed = f"what divides nodes_per_switch, {self.nodes_per_switch}: a node is on one switch"
            raise problem(f"found {self.node.nics}", allowed, key="node.nics")
        logp = LogP.model_construct(
            bandwidth=self.logp.bandwidth or self.link.bandwidth,
            hop_latency=self.link.latency if self.logp.hop_latency is None else self.logp.hop_latency,
            out_in_latency=self.injection.latency if self.logp.out_in_latency is None else self.logp.out_in_latency,
        )
        self._fill(logp=logp, crossbar=Crossbar.model_construct(bandwidth=self._crossbar()))
        self._check_buffer()
        return self

    def _crossbar(self) -> int | str:
        """Return the bandwidth of a crossbar as stated, or by default."""
        if self.model != "pisces-16":
            return self.crossbar.bandwidth or UNLIMITED
        if self.crossbar.bandwidth == UNLIMITED:
            allowed = f"a bandwidth, e.g. {format_quantity(self.ample_crossbar, BANDWIDTH)}"
            raise problem(f"found {UNLIMITED} with model pisces-16", allowed, key="crossbar.bandwidth")
        return self.crossbar.bandwidth or self.ample_crossbar

    @property
    def ample_crossbar(self) -> int:
        """Bandwidth of all ports of a switch together [B/s], with which a shared server never limits."""
        return self.facts.ports * self.link.bandwidth

    @property
    def crossbar_server(self) -> int:
        """Bandwidth of a crossbar [B/s] for a model that always has its server."""
        given = self.crossbar.bandwidth
        return given if isinstance(given, int) else self.ample_crossbar

    def _check_model(self) -> None:
        """Refuse what SST/macro 16 has not, in the model that follows it tick by tick."""
        if self.model != "pisces-16":
            return
        routings = network.PISCES_16.get(self.facts.shape)
        if routings is None:
            found = "a full fat tree" if self.topology == "fattree" else f"topology {self.topology}"
            allowed = "torus, dragonfly1d, or a fattree of {nodes_per_leaf, leaves_per_subtree, subtrees}"
            raise problem(f"found pisces-16 for {found}, which SST/macro 16 has not", allowed, key="model")
        if self.routing not in routings:
            raise problem(f"found '{self.routing}' with model pisces-16", ", ".join(routings), key="routing")
        if self.injection.service != "fifo":
            raise problem(f"found '{self.injection.service}' with model pisces-16", "fifo", key="injection.service")

    @field_serializer("geometry", when_used="json")
    def _spell_geometry(self, geometry: network.Frozen) -> list[int] | dict[str, Any]:
        return self.facts.spelled

    def _check_buffer(self) -> None:
        if self.buffer > MAX_BUFFER:
            raise problem(f"found {format_quantity(self.buffer, SIZE)}", f"at most {MAX_BUFFER} B", key="buffer")
        channels = self.facts.virtual_channels
        if self.buffer // channels < self.packet:
            raise problem(
                f"found {format_quantity(self.buffer, SIZE)} for {channels} virtual channels, less than a packet of "
                f"{format_quantity(self.packet, SIZE)} each, which would deadlock",
                f"{channels * self.packet} B or more ({self.topology} with {self.routing} routing)",
                key="buffer",
            )

    @property
    def facts(self) -> network.Network:
        """What the network consists of."""
        return network.network({key: getattr(self, key) for key in _SHAPED_BY})

    @property
    def label(self) -> str:
        """The machine in few words, e.g. "torus-M" or "torus 8x8x8, 2 nodes a switch"."""
        if self.name:
            return self.name
        return f"{self.topology} {self.facts.size}, {self.nodes_per_switch} nodes a switch"
