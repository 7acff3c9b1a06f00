"""The typed description of a network with its nodes: what a file of ``configs/machines`` may say."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, SerializerFunctionWrapHandler, field_serializer, model_serializer, model_validator

from tramontane.errors import closest
from tramontane.extension import simulator
from tramontane.study.networks import graphs, network
from tramontane.study.patterns import patterns
from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import Choice, Count, DependentChoice, Digest, Geometry, Text, Whole
from tramontane.study.values.settings import Settings, filled
from tramontane.study.values.units import (
    BANDWIDTH,
    FRACTION,
    SIZE,
    UNLIMITED,
    WHOLE,
    Bandwidth,
    BandwidthOrUnlimited,
    CallTime,
    EagerSize,
    Frequency,
    Latency,
    PacketSize,
    PositiveSize,
    Quantity,
    Share,
    Size,
    Time,
    format_quantity,
)

_CHECKED = "checked"
MAX_BUFFER = 2**31 - 1  # the simulator counts a buffer's free bytes in 32 bits
MAX_PORTS = 10**9  # the simulator reserves room for all of them
MAX_THREADS: int = simulator().MAX_THREADS_OF_RANK
SERVICES = ("fifo", "round-robin")
NIC_CHOICES = ("rank", "block", "round-robin", "destination")
NETWORK_MODELS = ("default", "pisces-16")


PROGRESS = ("calls", "hardware")
"""What moves a rendezvous on while its rank works."""
EXPECTED = ("copied", "direct")
COPIES = ("own", "shared")
UNPACKING = ("arrival", "fixed")
NIC_PLACES = ("host", "device")
STEP_COSTS = ("overhead", "matching", "unpack", "threads", "accelerator")
"""Blocks of a machine that only the embedded simulator in its default mode heeds."""


class LinkClass(Settings):
    """Links of one class, where they differ from the others."""

    bandwidth: Bandwidth | None = Field(
        None, description="Bandwidth of one direction of a link of this class. Default: `link.bandwidth`."
    )
    latency: Latency | None = Field(None, description="Its latency. Default: `link.latency`.")


class Link(Settings):
    """The links of switches, to each other and to nodes; each direction has its own bandwidth."""

    bandwidth: Bandwidth = Field(10 * 10**9, description="Bandwidth of one direction of a link.")
    latency: Latency = Field(100_000, description="Time a packet's head takes from one switch to the next.")
    classes: dict[str, LinkClass] = Field(
        {},
        description="Links that differ, by class. Every network has `ejection`, the links from switches to nodes; "
        "torus and HyperX `dimension-1`, `dimension-2`, ...; dragonflies `local` and `global`; a fat tree `up-1`, "
        "`down-1`, `up-2`, ... between its levels 1 and 2, 2 and 3, ...; a graph what its file says, or `network`. "
        "What is said here counts, whatever the file says.",
    )

    @model_serializer(mode="wrap")
    def _without_classes(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = serialize(self)
        if not self.classes:
            data.pop("classes", None)
        return data


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


class _Costs(Settings):
    """Costs that may be left out: nothing and no time are the same, and neither renames a point."""

    @model_validator(mode="after")
    def _none_for_nothing(self) -> Self:
        fields = type(self).model_fields
        self._fill(**{key: None for key, field in fields.items() if field.default is None and not getattr(self, key)})
        return self


class Overhead(_Costs):
    """Time the processor of a node spends on a message of the workload (o of the LogP model) and on its bytes."""

    send: Time = Field(0, description="Time a sender's processor is busy before it hands over a message.")
    receive: Time = Field(0, description="Time a receiver's processor is busy with a message that has arrived.")
    send_per_byte: CallTime | None = Field(
        None, description="Time of the sender for each byte of it (O of LogGOPS).", examples=["20 ps"]
    )
    receive_per_byte: CallTime | None = Field(
        None, description="Time of the receiver for each byte of it.", examples=["20 ps"]
    )
    rendezvous: CallTime | None = Field(
        None,
        description="Time on top, of the sender and of the receiver, of a message above `protocol.eager_limit`.",
        examples=["500 ns"],
    )
    under_way: CallTime | None = Field(
        None,
        description="Time on top, of the sender, for each of its sends that is under way.",
        examples=["10 ns"],
    )
    post: CallTime | None = Field(None, description="Time to post a receive.", examples=["50 ns"])
    gap: CallTime | None = Field(
        None,
        description="Time from the start of one message at a network interface to that of the next one, at least (g of "
        "LogP).",
        examples=["10 ns"],
    )


class Matching(_Costs):
    """Time to match messages and receives, for each entry of a queue that is walked past (docs/model.md)."""

    posted: CallTime | None = Field(
        None, description="Cost of a message for each posted receive that it is compared with.", examples=["10 ns"]
    )
    unexpected: CallTime | None = Field(
        None,
        description="Cost of posting a receive for each message that it is compared with, of those that came before "
        "their receives.",
        examples=["10 ns"],
    )


class Unpack(_Costs):
    """What a rank does with a payload that is there, before its round is over."""

    per_byte: CallTime | None = Field(None, description="Time for each byte.", examples=["50 ps"])
    order: Annotated[str, Choice(UNPACKING)] | None = Field(
        None,
        description="Order in which payloads of a round are unpacked: as they come (arrival), or as the round's "
        "receives are numbered, each after those before it (fixed). Default: arrival.",
    )

    @model_validator(mode="after")
    def _by_default(self) -> Self:
        if self.per_byte is None or self.order == UNPACKING[0]:
            self._fill(order=None)
        return self


class Threads(Settings):
    """The threads of a rank's process that call MPI (MPI_THREAD_MULTIPLE)."""

    count: Annotated[int, Whole(1, MAX_THREADS)] = Field(1, description="How many of a rank communicate.")
    lock_time: CallTime | None = Field(
        None,
        description="Time that the library's lock adds to each call: a send, a receive that is posted, a payload that "
        "is taken. Needed with several threads.",
        examples=["100 ns"],
    )

    @model_validator(mode="after")
    def _chosen(self) -> Self:
        if self.count == 1:
            self._fill(lock_time=None)
        elif self.lock_time is None:
            raise problem("missing", f"a time, e.g. 100 ns, with {self.count} threads", key="lock_time")
        return self


class Accelerator(Settings):
    """Payloads that lie in the memory of an accelerator beside each rank."""

    copy_bandwidth: Bandwidth | None = Field(
        None, description="Bandwidth of a copy between it and the host's memory.", examples=["50 GB/s"]
    )
    copy_latency: CallTime | None = Field(None, description="Time a copy takes without its bytes.", examples=["5 us"])
    nic: Annotated[str, Choice(NIC_PLACES)] | None = Field(
        None,
        description="Where the network interface is: at the host, so that each payload is copied before it is sent and "
        "after it has arrived; or beside the accelerator (device), which it reads and writes. Default: host.",
    )

    @model_validator(mode="after")
    def _staged(self) -> Self:
        if self.nic == NIC_PLACES[1]:
            self._fill(copy_bandwidth=None, copy_latency=None, nic=None)
            return self
        stated = {"copy_bandwidth": self.copy_bandwidth, "copy_latency": self.copy_latency}
        missing = [key for key, value in stated.items() if value is None]
        if missing and (len(missing) == 1 or self.nic):
            example = {"copy_bandwidth": "50 GB/s", "copy_latency": "5 us"}[missing[0]]
            raise problem("missing", f"e.g. {example}, or nic: {NIC_PLACES[1]}", key=missing[0])
        self._fill(nic=None)
        return self


class Node(Settings):
    """A node: its network interfaces (NICs), and, where it has several ranks, the way between two of them."""

    nics: Count = Field(
        1,
        description="Network interfaces of a node. Each is one of the nodes that the topology counts: consecutive "
        "ones, of one switch.",
    )
    nic_choice: Annotated[str, Choice(NIC_CHOICES)] = Field(
        "rank",
        description="Which of them a message leaves and enters by: one for each rank, by its index on the node modulo "
        "`nics` (rank) or so that neighbours share one (block); or each in turn, by that index plus the numbers of the "
        "round and of the message in it (round-robin); or at both ends by the node of the rank that receives plus its "
        "index there (destination).",
    )
    stripe_above: Annotated[int, Quantity(SIZE, 1, 10**12)] | None = Field(
        None,
        description="Payloads larger than this, and than a packet, are striped: each of the node's interfaces sends as "
        "many of their packets. Default: none is.",
        examples=["16 KB"],
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
    copies: Annotated[str, Choice(COPIES)] | None = Field(
        None,
        description="What copies of eager messages pass: each rank has `memory.bandwidth` of its own; or, besides, all "
        "ranks of the node share its `memory_bandwidth`. Default: own.",
    )

    @model_validator(mode="after")
    def _chosen(self) -> Self:
        if self.nics == 1:
            self._fill(nic_choice=NIC_CHOICES[0], stripe_above=None)
        if self.copies == COPIES[0]:
            self._fill(copies=None)
        elif self.copies and self.memory_bandwidth == UNLIMITED:
            raise problem(f"found {self.copies}", f"{COPIES[0]}, or beside a memory_bandwidth", key="copies")
        return self

    @property
    def interfaces(self) -> "Node":
        """What of it matters where a node has one rank."""
        keys = {key: value for key, value in self.canonical().items() if key in ("nics", "nic_choice", "stripe_above")}
        return Node.model_validate(keys, context={"canonical": True})


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
    notify: CallTime | None = Field(
        None, description="Cost of a notification, in place of `overhead`.", examples=["200 ns"]
    )


class Storage(Settings):
    """What steps write to and read from, shared by all nodes; bandwidths and latency have no defaults.

    n nodes with as much data each get 1 / (1 / (n node_bandwidth) + 1 / bandwidth), which saturates in n.
    """

    needed: ClassVar[tuple[str, ...]] = ("bandwidth", "node_bandwidth", "latency")
    """What an access needs; the other keys may be left out."""

    bandwidth: Bandwidth | None = Field(
        None, description="Bandwidth of all nodes together, however many they are.", examples=["100 GB/s"]
    )
    node_bandwidth: Bandwidth | None = Field(
        None, description="Bandwidth of a node that is alone, all of its ranks together.", examples=["5 GB/s"]
    )
    latency: Time | None = Field(None, description="Time of an access without its bytes.", examples=["1 ms"])
    request: Time | None = Field(
        None,
        description="Time of the request of each rank on a node, one after the other. Default: none.",
        examples=["10 ms"],
    )
    contention: Share | None = Field(
        None,
        description="Each further node that takes part adds this share of what the one before it added to the time of "
        "a node that is alone. Default: none.",
        examples=["50 %"],
    )

    @model_validator(mode="after")
    def _asked(self) -> Self:
        if self.contention is not None and self.contention >= WHOLE:
            found = f"found {format_quantity(self.contention, FRACTION)}"
            raise problem(found, "less than 100 %", key="contention")
        self._fill(request=self.request or None, contention=self.contention or None)
        return self


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

    expected_eager: Annotated[str, Choice(EXPECTED)] | None = Field(
        None,
        description="What happens to an eager message whose receive is posted when it arrives: its receiver copies it, "
        "as it does one that comes before (copied); or it goes to where it belongs (direct). Default: copied.",
    )

    @model_validator(mode="after")
    def _by_default(self) -> Self:
        if self.progress == PROGRESS[0]:
            self._fill(progress=None)
        if self.expected_eager == EXPECTED[0]:
            self._fill(expected_eager=None)
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
SHAPED_BY = ("topology", "geometry", "nodes_per_switch", "global_links", "arrangement", "routing", "parallel_links")


class Machine(Settings):
    """A network with its nodes."""

    name: Text | None = Field(
        None, description="A machine of `configs/machines`; the keys beside it override the machine's."
    )
    extends: Text | None = Field(
        None,
        description="A file of `configs/machines` that gives every value not written here but the topology; by default "
        "none.",
    )
    description: Text | None = Field(None, description="What the machine is, in a sentence.")
    source: Text | None = Field(None, description="Where its values come from.")
    topology: Annotated[str, Choice(network.TOPOLOGIES)] = Field(description="Kind of network.")
    geometry: Annotated[network.Frozen | None, Geometry(network.MAPPINGS)] = Field(
        None,
        description="Size of the network: "
        + "; ".join(f"{name} {family.text}" for name, family in network.FAMILIES.items()),
        examples=[[8, 8, 8]],
    )
    file: Text | None = Field(
        None,
        description="The links of a `graph`: a .csv file with the columns source and target, node-link .json of "
        "networkx, or .txt with two names a line (docs/machines.md); beside the YAML file, or below the project's "
        "folder. Required for a graph, unless its table is known.",
        examples=["slimfly-S.csv"],
    )
    table: Digest | None = Field(
        None, description="Digest of what is in the file, which then may not change. Default: that of the file."
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
    routing: Annotated[str, DependentChoice(tuple(dict.fromkeys(sum(network.ROUTINGS.values(), ()))))] | None = Field(
        None,
        description="How packets find their way: "
        + "; ".join(f"{name}: {', '.join(routings)}" for name, routings in network.ROUTINGS.items())
        + ". Default: the first.",
    )
    parallel_links: dict[str, Count] = Field(
        {},
        description="Links between each two switches that are linked, by class of `link.classes`, where there are "
        f"several; packets take any of them at random. For {', '.join(network.WITH_PARALLEL_LINKS)}; `fattree` and "
        "`hyperx` have theirs in the geometry.",
        examples=[{"global": 2}],
    )
    link: Link = Field(Link(), description="Links between switches.")
    injection: Injection = Field(Injection(), description="Network interfaces of the nodes.")
    crossbar: Crossbar = Field(Crossbar(), description="Inside of the switches.")
    logp: LogP = Field(LogP(), description="Contention-free path of tiny messages.")
    memory: Memory = Field(Memory(), description="Memory of the nodes.")
    processor: Processor = Field(Processor(), description="Processors of the nodes.")
    overhead: Overhead = Field(Overhead(), description="Time of the processors a message.")
    matching: Matching = Field(Matching(), description="Time to match messages and receives.")
    unpack: Unpack = Field(Unpack(), description="Time of what has arrived.")
    threads: Threads = Field(Threads(), description="Threads of a rank that communicate.")
    accelerator: Accelerator = Field(Accelerator(), description="Where payloads lie.")
    node: Node = Field(Node(), description="Network interfaces of a node, and what its ranks share.")
    one_sided: OneSidedCosts = Field(OneSidedCosts(), description="Costs of one-sided exchanges.")
    storage: Storage = Field(Storage(), description="Storage for steps that read and write.")
    packet: PacketSize = Field(4096, description="Messages are cut into packets of this size.")
    buffer: PositiveSize = Field(
        64_000, description="Buffer of a link, divided by the virtual channels of the routing."
    )
    protocol: Protocol = Field(Protocol(), description="Limits of the MPI protocols.")
    model: Annotated[str, Choice(NETWORK_MODELS)] = Field("default", description="Rules of the network model.")

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        """Put the digest of a graph's table in the place of its file."""
        return patterns.by_table(data, graphs.pack) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _complete(self) -> Self:
        """Check what only several keys show together and fill in the defaults that depend on others.

        A machine that has been checked is asked again with each point that it is put into; that it is all right is
        noted where a copy that is `changed` doesn't find it.
        """
        if _CHECKED in self.__dict__:
            return self
        facts = self.facts
        if facts.switches * facts.port_numbers > MAX_PORTS:
            found = f"found a network of {facts.switches} switches with {facts.port_numbers} ports each"
            raise problem(found, f"at most {MAX_PORTS} ports in all", key="geometry")
        arrangements = network.FAMILIES[self.topology].arrangements
        self._fill(
            geometry=network.frozen(facts.spelled) or None,
            nodes_per_switch=facts.nodes_per_switch,
            arrangement=self.arrangement or next(iter(arrangements), None),
            routing=facts.routing.name,
            parallel_links={name: count for name, count in self.parallel_links.items() if count > 1},
        )
        self._fill(link=self.link.changed(classes=self._classes()))
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
        self.__dict__[_CHECKED] = True
        return self

    def _classes(self) -> dict[str, LinkClass]:
        """Return the classes of links that differ from the others, with all that is left out."""
        allowed, usual = self.facts.link_classes, self._usual_links
        for name in (name for name in self.link.classes if name not in allowed):
            hint = closest(name, allowed)
            raise problem(f"found class '{name}'", ", ".join(allowed), key=f"link.classes.{name}", hint=hint)
        said = {
            name: LinkClass.model_construct(
                bandwidth=own.bandwidth or usual[name].bandwidth, latency=own.latency or usual[name].latency
            )
            for name, own in self.link.classes.items()
        }
        return {name: own for name, own in said.items() if own != usual[name]}

    @property
    def _usual_links(self) -> dict[str, LinkClass]:
        """Links by class, where `link.classes` says nothing: as a graph's file says, else as `link`."""
        net = self.facts
        return {
            name: LinkClass.model_construct(
                bandwidth=bandwidth or self.link.bandwidth, latency=latency or self.link.latency
            )
            for name, (bandwidth, latency) in zip(net.link_classes, net.link_rates, strict=True)
        }

    @property
    def links(self) -> dict[str, LinkClass]:
        """Bandwidth [B/s] and latency [ps] of the links, by class."""
        return self._usual_links | self.link.classes

    @property
    def fastest_link(self) -> int:
        """Bandwidth of the fastest class of links [B/s]."""
        return max(filled(each.bandwidth) for each in self.links.values())

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
        """Bandwidth of all ports of a switch together [B/s], with which a shared server never limits.

        Where links differ, all ports are taken for the fastest.
        """
        return self.facts.ports * self.fastest_link

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
            trees = {"fattree": "a full fat tree", "generalized-fattree": "a fat tree with tapering"}
            found = trees.get(self.facts.shape, f"topology {self.topology}")
            allowed = "torus, dragonfly1d, or a fattree of {nodes_per_leaf, leaves_per_subtree, subtrees}"
            raise problem(f"found pisces-16 for {found}, which SST/macro 16 has not", allowed, key="model")
        if self.routing not in routings:
            raise problem(f"found '{self.routing}' with model pisces-16", ", ".join(routings), key="routing")
        if self.routing in ("valiant", "ugal"):
            self._check_detours()
        if self.parallel_links:
            found = ", ".join(self.parallel_links)
            raise problem(f"found {found} with model pisces-16", "none", key="parallel_links")
        if self.link.classes:
            allowed = "links that are all alike"
            raise problem(f"found {', '.join(self.link.classes)} with model pisces-16", allowed, key="link.classes")
        if self.injection.service != "fifo":
            raise problem(f"found '{self.injection.service}' with model pisces-16", "fifo", key="injection.service")
        if self.facts.shape == "fattree3":
            nodes, leaves, _ = self.facts.geometry
            if nodes % leaves:
                found = f"found {nodes} nodes_per_leaf with model pisces-16"
                raise problem(found, f"a multiple of leaves_per_subtree, {leaves}", key="geometry")
        least, most = network.PISCES_16_BANDWIDTHS
        for key in ("link", "injection", "memory", "crossbar"):
            bandwidth = self.crossbar_server if key == "crossbar" else filled(getattr(self, key).bandwidth)
            if not least <= bandwidth <= most:
                found = f"found {format_quantity(bandwidth, BANDWIDTH)} with model pisces-16"
                allowed = f"{format_quantity(least, BANDWIDTH)} to {format_quantity(most, BANDWIDTH)}"
                raise problem(found, allowed, key=f"{key}.bandwidth")

    def _check_detours(self) -> None:
        """Refuse networks in which a packet between two switches finds no third one to go by."""
        switches, groups = self.facts.switches, self.facts.groups
        dragonfly = (("switches of a group", switches // groups), ("groups", groups))
        for name, size in (("switches", switches),) if self.topology == "torus" else dragonfly:
            if size == 2:
                found = f"found 2 {name} with routing '{self.routing}' and model pisces-16"
                raise problem(found, "3 or more, or routing minimal", key="geometry")

    @field_serializer("geometry", when_used="json")
    def _spell_geometry(self, geometry: network.Frozen) -> list[int] | dict[str, Any]:
        return self.facts.spelled

    def _check_buffer(self) -> None:
        if self.buffer > MAX_BUFFER:
            raise problem(f"found {format_quantity(self.buffer, SIZE)}", f"at most {MAX_BUFFER} B", key="buffer")
        channels = self.facts.virtual_channels
        if self.buffer // channels < self.packet:
            buffer, packet = format_quantity(self.buffer, SIZE), format_quantity(self.packet, SIZE)
            why = f"({self.topology} with {self.routing} routing)"
            most = self.buffer // channels
            raise problem(
                f"found {buffer} for {channels} virtual channels, less than a packet of {packet} each, which would "
                "deadlock",
                f"{channels * self.packet} B or more {why}",
                key="buffer",
                instead={
                    "problem": f"found {packet}, more than each of {channels} virtual channels has of the buffer of "
                    f"{buffer}, which would deadlock",
                    "allowed": f"{most} B or less {why}, or a larger buffer",
                    "key": "packet",
                },
            )

    @property
    def facts(self) -> network.Network:
        """What the network consists of."""
        return network.network({key: getattr(self, key) for key in SHAPED_BY} | self.table_keys())

    def table_keys(self) -> dict[str, str]:
        """Return the key of a graph that the simulator reads: the path of its table, which is as its digest says."""
        return {} if self.table is None else {"table": str(patterns.table(self.table))}

    @property
    def label(self) -> str:
        """The machine in few words, e.g. "torus-M" or "torus 8x8x8, 2 nodes a switch"."""
        if self.name:
            return self.name
        said = f"{self.topology} {self.facts.size}"
        if self.table is not None:  # a graph, whose switches may have different numbers of nodes
            return f"{said}, {self.facts.nodes} node{'s' * (self.facts.nodes != 1)}"
        return f"{said}, {self.nodes_per_switch} node{'s' * (self.nodes_per_switch != 1)} a switch"
