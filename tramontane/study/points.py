"""The typed description of a point: one run of a workload on a machine.

A point's identity is the hash of its canonical form: base units, defaults filled in, keys sorted, names and remarks
left out.
"""

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import Field, field_serializer, model_validator

from tramontane.study.fields import Choice, ChoiceOrLists, ChoiceOrNumbers, Count, NonNegative, Numbers, Text, Whole
from tramontane.study.jobs import Jobs
from tramontane.study.kinds import Workload
from tramontane.study.machines import Machine, Node, OneSidedCosts
from tramontane.study.mapping import ALLOCATIONS, MAPPINGS, MAX_RANKS_PER_NODE, NODES, TILE, Mapping
from tramontane.study.messages import problem
from tramontane.study.schedules import kinds_with
from tramontane.study.settings import Settings, filled
from tramontane.study.units import FRACTION, TIME, PositiveTime, Share, Time, format_quantity
from tramontane.study.workloads import OPTIMAL

NOISE_PATTERNS = ("periodic", "random")
MAX_CONGESTION_BINS = 512
MAX_STEADY_ERROR = 100_000
"""Largest error [ppm] with which repeats may be cut short."""
SUBSTRATES = ("simulator", "mpi", "simgrid", "sstmacro")
MEASURED = "mpi"
"""The substrate that runs on a real machine, where a system takes the place of the network."""
DEFAULT_SYSTEM = "generic"


RANK_MAPPING = ChoiceOrLists(MAPPINGS, ((TILE, Numbers(1, 2), "[a, b]"), (NODES, Numbers(0), "[...]")))


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
        description="Interruptions come at equal intervals, with a random phase of each rank; or each at a random "
        "moment of its period.",
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

    This frozen object is what all rooms of the package pass on, from the study to the substrates: quantities are whole
    numbers of base units (ps, B, B/s, Hz, ppm) and defaults are filled in. Its canonical form, plain data, exists at
    the edges only: in the identity, in files (records, batches, manifests, datasets) and for the compiled simulator.
    :meth:`canonical` writes it, :meth:`from_canonical` reads it back.

    Attributes
    ----------
    id : str
        Identity: 16 hexadecimal digits that depend on the physics only, not on how it was written.
    """

    ranks: Count = Field(description="Number of MPI processes, by default one a node.", examples=[256])
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
        "given, by rank, or by node of the job where a node has several ranks.",
    )
    ranks_per_node: Annotated[int, Whole(1, MAX_RANKS_PER_NODE)] = Field(
        1, description="Places for ranks on a node. Several need `machine.node`, and the simulator.", examples=[48]
    )
    mapping: Annotated[str | tuple[str, tuple[int, ...]], RANK_MAPPING] = Field(
        "block",
        description="Which node of the job a rank is on: neighbours fill node by node; cyclic: rank modulo nodes; "
        "tile: a node has a tile of the workload's processes [cx, cy], with a b = ranks_per_node; or the node given "
        "for each rank. Ranks of a node are numbered on it in order.",
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
        if self.workload.is_search and self.substrate != "simulator":
            raise problem(f"found {OPTIMAL} with substrate {self.substrate}", "a whole number", key="workload.radix")
        on_nodes = self.workload.on_nodes(self.ranks_per_node)
        if on_nodes is not self.workload and self.mapping != "block":
            raise problem("found groups of the ranks of a node", "mapping block, or numbers of ranks", key="workload")
        self._fill(workload=on_nodes.for_ranks(self.ranks))
        self._check_jobs()
        self._check_places()
        self._check_one_sided()
        return self

    def _check_machine(self) -> None:
        """Refuse what the network has not."""
        if self.machine is None:
            description = str(type(self).model_fields["machine"].description)
            raise problem("missing", description, key="machine")
        nics, several = self.machine.node.nics, self.ranks_per_node > 1
        if nics > self.ranks_per_node:
            allowed = f"at most ranks_per_node, {self.ranks_per_node}"
            raise problem(f"found {nics}", allowed, key="machine.node.nics")
        nodes = self.nodes
        if self.ranks > nodes * self.ranks_per_node:
            each, what = (f" of {self.ranks_per_node} places", "places") if several else ("", "nodes")
            raise problem(
                f"found {self.ranks} ranks on {nodes} nodes{each}",
                f"at most {nodes * self.ranks_per_node}, the {what} of {self.machine.label}",
                key="ranks",
            )
        if self.machine.model == "pisces-16" and self.allocation != "first-available":
            found = self.allocation if isinstance(self.allocation, str) else "a list of nodes"
            raise problem(f"found {found} with model pisces-16", "first-available", key="allocation")
        if self.machine.model == "pisces-16" and self.workload.kind in ("program", "jobs"):
            raise problem(f"found '{self.workload.kind}' with model pisces-16", "any other", key="workload.kind")
        if self.machine.model == "pisces-16" and self.workload.windowed:
            found = f"found '{self.workload.chosen}' with model pisces-16, which posts all sends of a round at once"
            raise problem(found, "any other", key="workload.algorithm")
        progress = self.machine.protocol.progress
        if progress and (self.substrate != "simulator" or self.machine.model == "pisces-16"):
            where = f"substrate {self.substrate}" if self.substrate != "simulator" else "model pisces-16"
            allowed = "calls; hardware only with simulator and model default"
            raise problem(f"found {progress} with {where}", allowed, key="machine.protocol.progress")
        if self.substrate == "simulator" and self.workload.by_library:
            allowed = ", ".join(self.workload.own_algorithms or ("nothing",))
            raise problem(
                f"found '{self.workload.chosen}' on the simulator, which has no MPI library",
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
        repeated = ", ".join(kinds_with("repeats"))
        for found, wanted, allowed in (
            (f"substrate {self.substrate}", self.substrate == "simulator", "only with simulator"),
            (f"workload {self.workload.kind}", self.workload.repeated is not None, f"only with {repeated}"),
            (f"model {machine_model}", machine_model != "pisces-16", "only with model default"),
            ("noise, whose period may be longer than what is simulated", self.noise.is_default, "only without noise"),
        ):
            if not wanted:
                value = format_quantity(self.steady.error, FRACTION)
                raise problem(f"found {value} with {found}", allowed, key="steady.error")

    def _check_places(self) -> None:
        """Refuse ranks that can't share nodes like this, and leave out what says nothing."""
        several = self.ranks_per_node > 1
        self.rank_mapping.check()
        if not several and self.rank_mapping.kind != NODES:
            self._fill(mapping="block")
        if several or self.mapping != "block":
            self._check_sharing()
        if self.machine is None:
            return
        node, needed = self.machine.node, self.rank_mapping.nodes
        if not several:
            self._fill(machine=self.machine.changed(node=Node()))
        for key, example in (("latency", "500 ns"), ("bandwidth", "10 GB/s")):
            if several and getattr(node, key) is None:
                allowed = f"e.g. {example}, with {self.ranks_per_node} ranks a node"
                raise problem("missing", allowed, key=f"machine.node.{key}")
        if needed > self.nodes:
            allowed = f"nodes 0 ... {self.nodes - 1} of {self.machine.label}"
            raise problem(f"found node {needed - 1}", allowed, key="mapping.nodes")
        if isinstance(self.allocation, tuple):
            self._check_nodes(self.allocation, needed, self.machine.label)

    def _check_jobs(self) -> None:
        """Refuse jobs where they can't be told apart."""
        if not isinstance(self.workload, Jobs):
            return
        if self.substrate != "simulator":
            raise problem(f"found jobs with substrate {self.substrate}", "only with simulator", key="workload.kind")
        if not isinstance(self.allocation, str):
            allowed = f"{', '.join(ALLOCATIONS)}; jobs have nodes of their own (workload.jobs[].allocation)"
            raise problem("found a list of nodes beside jobs", allowed, key="allocation")
        if self.mapping != "block":
            raise problem("found some, beside jobs", "block", key="mapping")
        for number, job in enumerate(self.workload.jobs):
            if job.ranks % self.ranks_per_node:
                allowed = f"a multiple of ranks_per_node, {self.ranks_per_node}"
                raise problem(f"found {job.ranks}", allowed, key=f"workload.jobs.[{number}].ranks")

    def _check_one_sided(self) -> None:
        """Refuse one-sided steps whose costs are not stated, and leave out costs that no step needs."""
        if self.machine is None:
            return
        stated = self.machine.one_sided
        needed = {cost: None for each in self.workload.puts() for cost in each.costs}
        missing = [f"one_sided.{cost}" for cost in needed if getattr(stated, cost) is None]
        if missing and self.substrate == "simulator":
            allowed = "a time of each, e.g. 500 ns: the one-sided steps need it"
            raise problem(f"found no {', '.join(missing)}", allowed, key="machine")
        said = {cost: getattr(stated, cost) for cost in needed}
        if stated.canonical().keys() - said.keys():
            self._fill(machine=self.machine.changed(one_sided=OneSidedCosts.model_construct(**said)))

    def _check_sharing(self) -> None:
        """Refuse several ranks a node, or another mapping, where nothing would heed it."""
        key = "ranks_per_node" if self.ranks_per_node > 1 else "mapping"
        if self.substrate == MEASURED:
            raise problem(f"found some with substrate {MEASURED}", "only with simulator", key=key)
        if self.machine and self.machine.model == "pisces-16":
            raise problem("found some with model pisces-16", "none", key=key)

    def _check_nodes(self, given: tuple[int, ...], needed: int, label: str) -> None:
        each = "rank" if self.ranks_per_node == 1 else "node of the job"
        if len(given) != needed:
            raise problem(f"found {len(given)} nodes", f"{needed}, one for each {each}", key="allocation.nodes")
        if max(given) >= self.nodes:
            raise problem(f"found {max(given)}", f"nodes 0 ... {self.nodes - 1} of {label}", key="allocation.nodes")

    @field_serializer("mapping", when_used="json")
    def _spell_mapping(self, mapping: str | tuple[str, tuple[int, ...]]) -> str | dict[str, list[int]]:
        return mapping if isinstance(mapping, str) else {mapping[0]: list(mapping[1])}

    @field_serializer("allocation", when_used="json")
    def _spell_allocation(self, allocation: str | tuple[int, ...]) -> str | dict[str, list[int]]:
        return allocation if isinstance(allocation, str) else {"nodes": list(allocation)}

    @classmethod
    def from_canonical(cls, canonical: object) -> "Point":
        """Return the point with this canonical form (base units, see :meth:`canonical`), checked like any other."""
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
        return Mapping(self.mapping, self.ranks, self.ranks_per_node, grid if isinstance(grid, tuple) else None)

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

        Overhead, node, one_sided, ranks_per_node, mapping, noise, steady and statistics are left out where they ask for
        nothing.
        """
        return dict(json.loads(self._canonical_text))

    @cached_property
    def _canonical_text(self) -> str:
        # What asks for nothing is left out, so that a new option renames no point.
        off = {name for name in ("noise", "steady", "statistics") if getattr(self, name).is_default}
        remarks = {"name", "extends", "description", "source"}
        if self.machine:
            remarks |= {name for name in ("overhead", "node", "one_sided") if getattr(self.machine, name).is_default}
        off |= {name for name, value in (("ranks_per_node", 1), ("mapping", "block")) if getattr(self, name) == value}
        data = self.model_dump(mode="json", exclude_none=True, exclude={"machine": remarks, **dict.fromkeys(off, True)})
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @cached_property
    def id(self) -> str:
        """Identity of the point."""
        return hashlib.sha256(self._canonical_text.encode()).hexdigest()[:16]
