"""The typed description of a network with its nodes: what a file of ``configs/machines`` may say."""

from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, field_serializer, model_validator

from tramontane.study import network
from tramontane.study.fields import Choice, Count, Text, WholeList
from tramontane.study.messages import problem
from tramontane.study.settings import Settings
from tramontane.study.units import (
    SIZE,
    Bandwidth,
    Frequency,
    Latency,
    PositiveSize,
    Size,
    Time,
    format_quantity,
)

MAX_NODES = 2**31 - 1
MAX_BUFFER = 2**31 - 1  # the simulator counts a buffer's free bytes in 32 bits
MAX_LEVELS = 31
"""Switch levels with which even a binary tree has as many nodes as ranks can be counted."""
SERVICES = ("fifo", "round-robin")
NETWORK_MODELS = ("default", "pisces-16")


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
        channels = self.virtual_channels
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
    def virtual_channels(self) -> int:
        """Virtual channels a link's buffer is divided by."""
        return network.virtual_channels(self.topology, str(self.routing))

    @property
    def label(self) -> str:
        """The machine in few words, e.g. "torus-M" or "torus 8x8x8, 2 nodes a switch"."""
        if self.name:
            return self.name
        size = "x".join(str(extent) for extent in self.geometry)
        return f"{self.topology} {size}, {self.nodes_per_switch} nodes a switch"
