"""The typed description of a point: one run of a workload on a machine.

A point's identity is the hash of its canonical form: base units, defaults filled in, keys sorted, names and remarks
left out.
"""

import hashlib
import itertools
import json
import math
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import Field, field_serializer, model_validator

from tramontane.extension import simulator
from tramontane.study.networks.machines import EXPECTED, PROGRESS, STEP_COSTS, Machine, OneSidedCosts, Storage
from tramontane.study.networks.mapping import (
    ALLOCATION,
    ALLOCATIONS,
    MAX_RANKS_PER_NODE,
    NODES,
    RANK_MAPPING,
    SHAPE,
    Mapping,
    Ruled,
    in_words,
    spelled,
)
from tramontane.study.points import stages
from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import Choice, Count, Text, Whole
from tramontane.study.values.settings import Settings, filled
from tramontane.study.values.units import FRACTION, TIME, WHOLE, PositiveTime, Share, Time, format_quantity
from tramontane.study.workloads.jobs import Job, Jobs
from tramontane.study.workloads.kinds import Workload
from tramontane.study.workloads.schedules import described, stages_of
from tramontane.study.workloads.workloads import OPTIMAL, Allreduce, Transposition

NOISE_PATTERNS = ("periodic", "random")
MAX_STEADY_ERROR = 100_000
"""Largest error [ppm] with which repeats may be cut short."""
STAGED = ("ring-k", "sliding-window")
"""All-to-all algorithms of which stages may be sampled. Stages of pairwise are off by more than the interval says."""
SUBSTRATES = ("simulator", "mpi", "simgrid", "sstmacro")
MEASURED = "mpi"
"""The substrate that runs on a real machine, where a system takes the place of the network."""
DEFAULT_SYSTEM = "generic"
SEED = Whole(0)
"""What seeds may be; no check of a point depends on which one it has."""


_ONLY_WHERE_ASKED = (*STEP_COSTS, "node", "one_sided", "storage")
"""Keys of machines that are left out of an identity where they ask for nothing."""


BY_CLASS, HOTTEST, EACH = "by-class", "hottest", "each"
LINK_COUNTS = (BY_CLASS, HOTTEST, EACH)
"""How what links carry may be counted."""
MOST_EACH = 20_000
"""Links, one direction each, of the largest network of which each is told."""
MAX_CONGESTION_BINS: int = simulator().MAX_CONGESTION_BINS
MAX_TIME_BINS: int = simulator().MAX_TIME_BINS
MAX_WAITING_BINS: int = simulator().MAX_WAITING_BINS


class SystemChoice(Settings):
    """The real machine a point is measured on; a mere name will do."""

    name: Text = Field(description="A file of `configs/systems`.", examples=["generic"])
    partition: Text | None = Field(None, description="Part of the system. Default: its first one.")
    environment: Text | None = Field(
        None, description="MPI library, as the system calls it. Default: the first one that is there."
    )


class Noise(Settings):
    """Noise of the operating system: interruptions of each rank's processor, independent of the others'."""

    duration: Time = Field(0, description="Length of an interruption; 0 for no noise.", examples=["25 us"])
    period: PositiveTime = Field(10**9, description="Interval between two interruptions.", examples=["1 ms"])
    pattern: Annotated[str, Choice(NOISE_PATTERNS)] = Field(
        "periodic",
        description="Interruptions come at equal intervals, or each at a random moment of its period; in both, the "
        "periods of each rank have a random phase.",
    )

    @model_validator(mode="after")
    def _shorter(self) -> Self:
        if self.duration >= self.period:
            found = f"found {format_quantity(self.duration, TIME)}"
            raise problem(found, f"less than the period, {format_quantity(self.period, TIME)}", key="duration")
        if self.duration == 0:
            self._fill(period=type(self).model_fields["period"].default, pattern=NOISE_PATTERNS[0])
        return self


class Steady(Settings):
    """Whether a part of the repeats or of the stages is simulated, and tells the time of all."""

    error: Share = Field(
        0,
        description="Error of the whole time that is allowed; no more repeats are simulated than that takes. 0 %: all.",
        examples=["1 %"],
    )
    stages: Share | None = Field(
        None,
        description="Part of the stages of a transposition that is simulated: windows of neighbouring stages, drawn by "
        "the seed. Default: all.",
        examples=["50 %"],
    )

    @model_validator(mode="after")
    def _part(self) -> Self:
        if self.stages is not None and not 0 < self.stages < WHOLE:
            found = f"found {format_quantity(self.stages, FRACTION)}"
            raise problem(found, "more than 0 %, less than 100 %", key="stages")
        return self

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
    links: Annotated[str, Choice(LINK_COUNTS)] | None = Field(
        None,
        description="Whether what links carry is counted: packets, bytes, the share that these are of what the links "
        "could carry, busy time and longest queue, by class of links; beside it of the "
        f"{simulator().HOTTEST_LINKS} links of each class that carry most, or of each link, in networks of at most "
        f"{MOST_EACH:,} links (one direction each, those to nodes among them). Default: it is not.",
    )
    bins: Annotated[int, Whole(1, MAX_TIME_BINS)] | None = Field(
        None,
        description="Bins of time in which bytes and queues of links are counted; needs `links`. Their width is the "
        "shortest, of powers of two times 5 fs, with which they hold the whole run. Default: none.",
        examples=[64],
    )
    waiting: Annotated[int, Whole(1, MAX_WAITING_BINS)] | None = Field(
        None,
        description="Bins of ranks for which it is counted why they wait: late sender, late receiver, imbalance of "
        "work, queue of the network interface, network, storage; no more than processes are used. Default: it is not "
        "counted.",
        examples=[64],
    )


def counts_each(machine: Machine) -> bool:
    """Return whether a network is small enough for `statistics.links` of each link."""
    return _counted_links(machine) <= MOST_EACH


def _counted_links(machine: Machine) -> int:
    return 2 * machine.facts.links + machine.facts.nodes


class Point(Settings):
    """One run: a workload on a machine with a number of ranks.

    This frozen object is what all rooms of the package pass on, from the study to the substrates: quantities are whole
    numbers of base units (ps, B, B/s, Hz, ppm) and defaults are filled in. Its canonical form, plain data, exists at
    the edges only: in the identity, in files (records, batches, manifests, datasets) and for the compiled simulator.
    `canonical` writes it, `from_canonical` reads it back.

    Attributes
    ----------
    id : str
        Identity: 16 hexadecimal digits that depend on the physics only, not on how it was written.
    """

    ranks: Count = Field(
        description="Number of MPI processes: a whole number, 1 or more. Each has a node of its own, but with "
        "`ranks_per_node`.",
        examples=[256],
    )
    workload: Workload = Field(description="What is communicated.")
    machine: Machine | None = Field(
        None,
        description="The network: the name of a file in `configs/machines`, or its keys. Every substrate but `mpi` "
        "needs it.",
    )
    allocation: Annotated[Ruled, ALLOCATION] = Field(
        "first-available",
        description="Which nodes the ranks get: the first ones, in order; random ones, by the seed; those of all "
        "groups in turn (groups of a dragonfly, subtrees below the top of a fat tree, planes of a torus); those "
        "given, by rank, or by node of the job where a node has several ranks; or those of a shape of switches that "
        "is folded into a torus.",
    )
    ranks_per_node: Annotated[int, Whole(1, MAX_RANKS_PER_NODE)] = Field(
        1,
        description="Places for ranks on a node. Several need `machine.node`, and no real machine.",
        examples=[48],
    )
    mapping: Annotated[Ruled, RANK_MAPPING] = Field(
        "block",
        description="Which node of the job a rank is on: neighbours fill node by node; cyclic: rank modulo nodes; "
        "random: which rank is where is drawn, by `seed`; tile: a node has a tile of the workload's processes "
        "[cx, cy], with a b = ranks_per_node; or the node given for each rank, as a list or in a CSV file with the "
        "columns rank and node. Ranks of a node are numbered on it in order.",
    )
    substrate: Annotated[str, Choice(SUBSTRATES)] = Field("simulator", description="What runs the point.")
    system: SystemChoice | None = Field(
        None,
        description="The real machine, in the network's place: the name of a file in `configs/systems`, or the name "
        f"with partition and environment. Only for substrate `mpi`; default: {DEFAULT_SYSTEM}.",
        examples=["generic"],
    )
    seed: Annotated[int, SEED] = Field(1, description="Seed of all random choices.")
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
        self._check_links()
        self._check_steady()
        if self.workload.is_search and self.substrate != "simulator":
            raise problem(f"found {OPTIMAL} with substrate {self.substrate}", "a whole number", key="workload.radix")
        on_nodes = self.workload.on_nodes(self.ranks_per_node)
        if on_nodes is not self.workload and self.mapping != "block":
            raise problem("found groups of the ranks of a node", "mapping block, or numbers of ranks", key="workload")
        self._fill(workload=on_nodes.for_ranks(self.ranks))
        self._check_stages()
        self._check_jobs()
        self._check_places()
        self._check_one_sided()
        self._check_storage()
        self._check_trace()
        return self

    def _check_machine(self) -> None:
        """Refuse what the network has not."""
        if self.machine is None:
            description = str(type(self).model_fields["machine"].description)
            raise problem("missing", description, key="machine")
        several, nodes = self.ranks_per_node > 1, self.nodes
        if self.ranks > nodes * self.ranks_per_node:
            each, what = (f" of {self.ranks_per_node} places", "places") if several else ("", "nodes")
            raise problem(
                f"found {self.ranks} ranks on {nodes} nodes{each}",
                f"at most {nodes * self.ranks_per_node}, the {what} of {self.machine.label}",
                key="ranks",
            )
        if self.machine.model == "pisces-16" and self.allocation != "first-available":
            found = f"found {in_words(self.allocation)} with model pisces-16"
            raise problem(found, "first-available", key="allocation")
        if self.machine.model == "pisces-16" and self.workload.kind in ("program", "jobs", "trace"):
            raise problem(f"found '{self.workload.kind}' with model pisces-16", "any other", key="workload.kind")
        if self.machine.model == "pisces-16" and self.workload.windowed:
            found = f"found '{self.workload.chosen}' with model pisces-16, which posts all sends of a round at once"
            raise problem(found, "any other", key="workload.algorithm")
        for name, usual in (("progress", PROGRESS[0]), ("expected_eager", EXPECTED[0])):
            found = getattr(self.machine.protocol, name)
            if found and (self.substrate != "simulator" or self.machine.model == "pisces-16"):
                where = f"substrate {self.substrate}" if self.substrate != "simulator" else "model pisces-16"
                allowed = f"{usual}; {found} only with simulator and model default"
                raise problem(f"found {found} with {where}", allowed, key=f"machine.protocol.{name}")
        if self.substrate == "simulator" and self.workload.by_library:
            allowed = ", ".join(self.workload.own_algorithms or ("nothing",))
            raise problem(
                f"found '{self.workload.chosen}' on the simulator, which has no MPI library",
                f"{allowed}, or substrate {MEASURED}",
                key="workload.algorithm",
            )

    def _check_disturbances(self) -> None:
        """Refuse noise and costs of steps where they would be ignored."""
        costs = [(f"machine.{name}", getattr(self.machine, name)) for name in STEP_COSTS] if self.machine else []
        for key, value in (("noise", self.noise), *costs):
            if value.is_default:
                continue
            if self.substrate != "simulator":
                raise problem(f"found some with substrate {self.substrate}", "only with simulator", key=key)
            if self.machine and self.machine.model == "pisces-16":
                raise problem("found some with model pisces-16", "none", key=key)

    def _check_links(self) -> None:
        """Refuse to count what links carry, or why ranks wait, where there is nobody who does."""
        counted, bins = self.statistics.links, self.statistics.bins
        elsewhere = f"substrate {self.substrate}" if self.substrate != "simulator" else ""
        if self.machine and self.machine.model == "pisces-16":
            elsewhere = elsewhere or "model pisces-16"
        if self.statistics.waiting is not None and elsewhere:
            found = f"found {self.statistics.waiting} with {elsewhere}"
            raise problem(found, "only with simulator and model default", key="statistics.waiting")
        if counted is None:
            if bins is not None:
                raise problem(f"found {bins} without links", f"links: {', '.join(LINK_COUNTS)}", key="statistics.bins")
            return
        if elsewhere:
            allowed = "only with simulator and model default"
            raise problem(f"found {counted} with {elsewhere}", allowed, key="statistics.links")
        if counted == EACH and not counts_each(self.network):
            found = f"found {EACH} with {_counted_links(self.network):,} links of {self.network.label}"
            allowed = f"at most {MOST_EACH:,}; or {HOTTEST}, {BY_CLASS}"
            raise problem(found, allowed, key="statistics.links")

    def _check_steady(self) -> None:
        """Refuse to leave out repeats or stages where there are none, or where they may be alike for a while only."""
        steady, workload = self.steady, self.workload
        if steady.is_default:
            return
        machine_model = self.machine.model if self.machine else None
        if steady.stages is None:
            key, value = "steady.error", steady.error
            fits = (f"workload {workload.kind}", isinstance(workload, Allreduce), "only with allreduce")
        else:
            key, value, kinds = "steady.stages", steady.stages, ", ".join(f"transposition {a}" for a in STAGED)
            named = " ".join(filter(None, (workload.kind, workload.chosen)))
            is_staged = isinstance(workload, Transposition) and workload.algorithm in STAGED
            fits = (f"workload {named}", is_staged and not steady.error, f"only with {kinds}, without steady.error")
        for found, wanted, allowed in (
            (f"substrate {self.substrate}", self.substrate == "simulator", "only with simulator"),
            fits,
            (f"model {machine_model}", machine_model != "pisces-16", "only with model default"),
            (f"statistics.waiting {self.statistics.waiting}", self.statistics.waiting is None, "only without"),
            (f"statistics.links {self.statistics.links}", self.statistics.links is None, "only without"),
            ("noise, whose period may be longer than what is simulated", self.noise.is_default, "only without noise"),
        ):
            if not wanted:
                raise problem(f"found {format_quantity(value, FRACTION)} with {found}", allowed, key=key)

    def _check_stages(self) -> None:
        """Refuse to draw among fewer stages than tell how they scatter."""
        share = self.steady.stages
        if share is None:
            return
        there = stages_of(self.workload.schedule_keys(), self.ranks)
        if stages.is_sampled(there, share / WHOLE):
            return
        least = stages.least_share(there)
        few = stages.LEAST_WINDOWS * stages.WINDOW
        allowed = f"at least {math.ceil(100 * least)} %, which is {few}" if least < 1 else f"only with more than {few}"
        found = f"found {format_quantity(share, FRACTION)} of {max(there)} stages"
        raise problem(found, allowed, key="steady.stages")

    def _check_places(self) -> None:
        """Refuse ranks that can't share nodes like this, and leave out what says nothing."""
        several = self.ranks_per_node > 1
        self.rank_mapping.check()
        if not several and self.rank_mapping.kind not in (NODES, "random"):  # all others are in order then
            self._fill(mapping="block")
        if several or self.mapping != "block" or (self.machine and self.machine.node.nics > 1):
            self._check_sharing()
        if self.machine is None:
            return
        node, needed = self.machine.node, self.rank_mapping.nodes
        if not several:
            self._fill(machine=self.machine.changed(node=node.interfaces))
        for key, example in (("latency", "500 ns"), ("bandwidth", "10 GB/s")):
            if several and getattr(node, key) is None:
                allowed = f"e.g. {example}, with {self.ranks_per_node} ranks a node"
                raise problem("missing", allowed, key=f"machine.node.{key}")
        if needed > self.nodes:
            allowed = f"nodes 0 ... {self.nodes - 1} of {self.machine.label}"
            raise problem(f"found node {needed - 1}", allowed, key="mapping.nodes")
        if isinstance(self.allocation, tuple):
            self._check_nodes(*self.allocation, needed, self.machine.label)

    def _check_jobs(self) -> None:
        """Refuse jobs where they can't be told apart."""
        if not isinstance(self.workload, Jobs):
            return
        if self.substrate not in ("simulator", "simgrid"):
            allowed = "only with simulator or simgrid"
            raise problem(f"found jobs with substrate {self.substrate}", allowed, key="workload.kind")
        if not isinstance(self.allocation, str):
            allowed = f"{', '.join(ALLOCATIONS)}; jobs have nodes of their own (workload.jobs[].allocation)"
            raise problem(f"found {in_words(self.allocation)} beside jobs", allowed, key="allocation")
        if self.mapping != "block":
            raise problem("found some, beside jobs", "block", key="mapping")
        for number, job in enumerate(self.workload.jobs):
            if job.ranks % self.ranks_per_node:
                allowed = f"a multiple of ranks_per_node, {self.ranks_per_node}"
                raise problem(f"found {job.ranks}", allowed, key=f"workload.jobs.[{number}].ranks")
        if any(isinstance(job.allocation, tuple) for job in self.workload.jobs):
            self._check_nodes_of_jobs(self.workload.jobs)

    def _check_nodes_of_jobs(self, jobs: list[Job]) -> None:
        """Refuse nodes that a job before has, as far as it can be told without drawing any."""
        taken: set[int] = set()
        for number, job in enumerate(jobs):
            needed, rule = job.ranks // self.ranks_per_node, job.allocation or self.allocation
            if isinstance(rule, tuple):
                key = f"workload.jobs.[{number}].allocation"
                self._check_nodes(*rule, needed, self.network.label, key)
                if again := taken.intersection(rule[1]):
                    raise problem(f"found {min(again)}", "nodes that no job before has", key=f"{key}.nodes")
                taken.update(rule[1])
            elif rule == ALLOCATIONS[0]:
                free = (node for node in range(self.nodes) if node not in taken)
                taken.update(itertools.islice(free, needed))
            else:
                return

    def _check_one_sided(self) -> None:
        """Refuse one-sided steps whose costs are not stated, and leave out costs that no step needs."""
        if self.machine is None:
            return
        stated = self.machine.one_sided
        needed = {cost: None for each in self.workload.puts() for cost in each.costs}
        missing = [f"one_sided.{cost}" for cost in needed if getattr(stated, cost) is None]
        if missing and self.substrate != MEASURED:
            allowed = "a time of each, e.g. 500 ns: the one-sided steps need it"
            raise problem(f"found no {', '.join(missing)}", allowed, key="machine")
        said = {cost: getattr(stated, cost) for cost in needed}
        if stated.canonical().keys() - said.keys():
            self._fill(machine=self.machine.changed(one_sided=OneSidedCosts.model_construct(**said)))

    def _check_trace(self) -> None:
        """Refuse what operations that depend on one another can't be run on, and costs that they don't have yet."""
        if self.workload.kind != "trace":
            return
        if self.substrate != "simulator":
            raise problem(f"found 'trace' with substrate {self.substrate}", "only with simulator", key="workload.kind")
        machine = self.machine
        if machine is None:
            return
        found = {
            "overhead.post": machine.overhead.post is not None,
            "overhead.under_way": machine.overhead.under_way is not None,
            "matching": not machine.matching.is_default,
            "unpack": not machine.unpack.is_default,
            "threads": not machine.threads.is_default,
            "node.copies": machine.node.copies is not None,
            "protocol.expected_eager": machine.protocol.expected_eager is not None,
        }
        for key in (key for key, is_asked in found.items() if is_asked):
            raise problem("found in a machine for a trace", "none", key=f"machine.{key}")

    def _check_storage(self) -> None:
        """Refuse steps that read or write where no storage is stated, and leave out one that no step needs."""
        if self.machine is None:
            return
        if not any(self.workload.accesses()):
            if not self.machine.storage.is_default:
                self._fill(machine=self.machine.changed(storage=Storage()))
            return
        missing = [f"storage.{key}" for key in Storage.needed if getattr(self.machine.storage, key) is None]
        if missing and self.substrate != MEASURED:
            allowed = "values of the storage: the steps that read or write need them"
            raise problem(f"found no {', '.join(missing)}", allowed, key="machine")
        if self.mapping != "block":
            raise problem("found some, and steps that read or write by nodes", "block", key="mapping")
        if not missing:
            described(self.schedule_keys(), self.ranks)

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys of the workload that the compiled description reads.

        Of one-sided steps the schedule says how long calls take, and of reads and writes how long these take, so that
        it is told what the machine states.
        """
        keys = self.workload.schedule_keys()
        if self.machine and (costs := self.machine.one_sided.canonical()):
            keys |= {"one_sided": costs}
        if self.machine and (storage := self.machine.storage.canonical()):
            keys |= {"storage": storage | {"ranks_per_node": self.ranks_per_node}}
        return keys

    def _check_sharing(self) -> None:
        """Refuse several ranks or interfaces a node, or another mapping, where nothing would heed it."""
        key = (
            "ranks_per_node"
            if self.ranks_per_node > 1
            else "mapping"
            if self.mapping != "block"
            else "machine.node.nics"
        )
        if self.substrate == MEASURED:
            raise problem(f"found some with substrate {MEASURED}", "only with simulator", key=key)
        if self.machine and self.machine.model == "pisces-16":
            raise problem("found some with model pisces-16", "none", key=key)

    def _check_nodes(self, rule: str, given: tuple[int, ...], needed: int, label: str, key: str = "allocation") -> None:
        if rule == SHAPE:
            self.network.facts.fold(given, needed, self.network.node.nics)
            return
        each = "rank" if self.ranks_per_node == 1 else "node of the job"
        if len(given) != needed:
            raise problem(f"found {len(given)} nodes", f"{needed}, one for each {each}", key=f"{key}.nodes")
        if max(given) >= self.nodes:
            raise problem(f"found {max(given)}", f"nodes 0 ... {self.nodes - 1} of {label}", key=f"{key}.nodes")

    @field_serializer("mapping", when_used="json")
    def _spell_mapping(self, mapping: Ruled) -> str | dict[str, list[int]]:
        return spelled(mapping)

    @field_serializer("allocation", when_used="json")
    def _spell_allocation(self, allocation: Ruled) -> str | dict[str, list[int]]:
        return spelled(allocation)

    @classmethod
    def from_canonical(cls, canonical: object) -> "Point":
        """Return the point with this canonical form (base units, see `canonical`), checked like any other."""
        return cls.model_validate(canonical, context={"canonical": True})

    @property
    def network(self) -> Machine:
        """The machine of a point that is simulated; where a system takes its place, there is none (ValueError)."""
        return filled(self.machine)

    @property
    def nodes(self) -> int:
        """Nodes of the network; with several interfaces a node, each is a node of the topology."""
        return self.network.facts.nodes // self.network.node.nics

    @property
    def rank_mapping(self) -> Mapping:
        """Which node of the job each rank is on."""
        grid = getattr(self.workload, "decomposition", None)
        return Mapping(
            self.mapping, self.ranks, self.ranks_per_node, grid if isinstance(grid, tuple) else None, self.seed
        )

    @property
    def listed_nodes(self) -> tuple[int, ...] | None:
        """The machine's node of each of the job's, where a list or a shape says it."""
        if isinstance(self.allocation, str):
            return None
        rule, numbers = self.allocation
        if rule == NODES:
            return numbers
        return tuple(self.network.facts.fold(numbers, self.rank_mapping.nodes, self.network.node.nics).tolist())

    @property
    def imbalance(self) -> float:
        """The largest block of data of any rank at any time, relative to the mean; 1 where all hold the same.

        Kept with every result, because unevenness alone may explain times that grow again with the number of processes:
        256 levels over 250 processes leave some of them 1.95 times the mean (statement Z-T3).
        """
        return self.workload.imbalance(self.ranks)

    @property
    def place(self) -> str:
        """Where it runs, in few words: the network or the system."""
        if self.machine is not None:
            return self.machine.label
        return " ".join(self.system.model_dump(exclude_none=True).values()) if self.system else ""

    def canonical(self) -> dict[str, Any]:
        """Return plain data in base units (ps, B/s, B, Hz), defaults filled in and keys sorted.

        The blocks of `STEP_COSTS`, node, one_sided, storage, ranks_per_node, mapping, noise, steady and statistics are
        left out where they ask for nothing.
        """
        return dict(json.loads(self._canonical_text))

    @cached_property
    def _canonical_text(self) -> str:
        # What asks for nothing is left out, so that a new option renames no point.
        off = {name for name in ("noise", "steady", "statistics") if getattr(self, name).is_default}
        remarks = {"name", "extends", "description", "source"}
        if self.machine:
            remarks |= {name for name in _ONLY_WHERE_ASKED if getattr(self.machine, name).is_default}
            remarks |= {"parallel_links"} if not self.machine.parallel_links else set()
        off |= {name for name, value in (("ranks_per_node", 1), ("mapping", "block")) if getattr(self, name) == value}
        data = self.model_dump(mode="json", exclude_none=True, exclude={"machine": remarks, **dict.fromkeys(off, True)})
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @cached_property
    def id(self) -> str:
        """Identity of the point."""
        return hashlib.sha256(self._canonical_text.encode()).hexdigest()[:16]
