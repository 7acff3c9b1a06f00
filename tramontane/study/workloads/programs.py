"""The typed description of programs: what a model does in a time step.

A program is a sequence of steps: workloads of the other kinds, on all ranks or on a communicator, and work between them
or while they are under way.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    Field,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

from tramontane.errors import show
from tramontane.study.patterns.cubed_spheres import CubedSphere, on_elements
from tramontane.study.patterns.partitions import DOMAINS, Partition, on_cells
from tramontane.study.reading.messages import problem, submodels, tag
from tramontane.study.values.fields import Choice, Count, Name, NonNegative, WholeList, Wholes
from tramontane.study.values.settings import Settings, filled
from tramontane.study.values.units import (
    FRACTION,
    WHOLE,
    PositiveTime,
    Share,
    Size,
    Time,
    format_quantity,
    parse_quantity,
    time_or_none,
)
from tramontane.study.workloads.spectral import (
    AMOUNTS,
    SAID_BY_MODEL,
    TRANSPOSED_BY,
    TRANSPOSES,
    Spectral,
    on_spectral,
)
from tramontane.study.workloads.workloads import (
    COLLECTIVES,
    OPTIMAL,
    Allreduce,
    ByRules,
    Collective,
    Communication,
    Decomposition,
    Grid,
    Halo,
    Pattern,
    RanksOrNode,
    Transposition,
    Weights,
    in_numbers,
)

ALL = "all"
"""The communicator of all ranks."""


class Communicator(Settings):
    """A set of ranks, or several alike, that communicate among themselves: one rule of these."""

    consecutive: RanksOrNode | None = Field(
        None,
        description="Groups of so many ranks one after the other; the last may be smaller. With cx ranks they are the "
        "rows of processes [cx, cy]; node: ranks_per_node.",
    )
    every: Count | None = Field(
        None,
        description="So many groups, each of the ranks that are alike modulo this. With cx they are the columns of "
        "processes [cx, cy].",
    )
    leaders: RanksOrNode | None = Field(
        None, description="One group: the first rank of each of so many consecutive ones; node: ranks_per_node."
    )
    range: Annotated[tuple[int, int], WholeList(("first", "ranks"), least=0)] | None = Field(
        None, description="One group: the number of its first rank, and how many there are.", examples=[[0, 16]]
    )

    _beside: ClassVar[tuple[str, ...]] = ()
    """Keys that are no rules."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        rules = [key for key in type(self).model_fields if key not in self._beside]
        given = [key for key in rules if getattr(self, key) not in (None, False)]
        if len(given) != 1:
            found = f"found {', '.join(given)}" if given else "found no rule"
            raise problem(found, f"one of {', '.join(rules)}")
        return self


class StepOf(Communication):
    """What a step has beside the keys of its kind."""

    name: Name | None = Field(
        None,
        description="Name of its phase; steps of the same name share one. Default: its kind, or operation.",
        examples=["halo"],
    )
    communicator: Name | None = Field(
        None, description="Communicator: a name of `communicators`. Default: all, that is all ranks.", examples=["rows"]
    )
    begin: Name | None = Field(
        None,
        description="A label, for a step `end` that waits for the messages; until then the program goes on. Of several "
        "rounds the first is begun, and the rest done at the end.",
    )

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys of its kind."""
        return {key: value for key, value in super().schedule_keys().items() if key not in StepOf.model_fields}

    def step_keys(self) -> dict[str, Any]:
        """Return all keys, as the compiled description reads them."""
        own = {key: getattr(self, key) for key in StepOf.model_fields if getattr(self, key) is not None}
        return self.schedule_keys() | own

    @model_validator(mode="after")
    def _own_messages(self) -> Self:
        if self.by_library:
            allowed = ", ".join(self.own_algorithms or ("nothing",))
            raise problem(
                f"found '{self.chosen}' in a program, which has messages of its own", allowed, key="algorithm"
            )
        if self.is_search:
            raise problem(f"found {OPTIMAL} in a program", "a whole number", key="radix")
        return self


SYNCHRONISATIONS = {
    "fence": ("put", "fence"),
    "post-start": ("put", "post", "start", "complete", "wait"),
    "passive": ("put", "lock", "flush", "unlock"),
    "lock": ("put", "lock", "unlock"),
}
"""Ways to synchronise one-sided exchanges, and the costs of `machine.one_sided` that each needs."""
SCOPES = {"fence": "all", "passive": "neighbours", "lock": "all"}
"""Who synchronises where nothing is said; post-start is between neighbours anyway."""


class OneSided(Settings):
    """Messages as puts into windows of the receivers (docs/one-sided.md)."""

    synchronisation: Annotated[str, Choice(tuple(SYNCHRONISATIONS))] = Field(
        description="fence: one before the puts and one after them; post-start: post and start before, complete and "
        "wait after; passive: one lock of all for the whole program, then flush and tell; lock: the same, but locked "
        "and unlocked each time."
    )
    scope: Annotated[str, Choice(("all", "neighbours"))] | None = Field(
        None,
        description="Who synchronises in a fence, or is told after a flush or unlock: all ranks of the communicator by "
        "a barrier, or neighbours by an empty message each. Not for post-start. Default: all; of passive, neighbours.",
    )
    opens: Annotated[str, Choice(("before", "after"))] | None = Field(
        None,
        description="When windows open, by fence or by post and start: just before the puts, or at once after they "
        "were closed the time before. Not for passive and lock. Default: before.",
    )

    @model_validator(mode="after")
    def _meant(self) -> Self:
        chosen, usual = self.synchronisation, SCOPES.get(self.synchronisation)
        if self.scope and usual is None:
            raise problem(f"found {self.scope} with {chosen}, which is between neighbours", "none", key="scope")
        if self.opens == "after" and chosen not in ("fence", "post-start"):
            raise problem(f"found after with {chosen}, whose targets open nothing", "before", key="opens")
        self._fill(
            scope=None if self.scope == usual else self.scope, opens=None if self.opens == "before" else self.opens
        )
        return self

    @property
    def costs(self) -> tuple[str, ...]:
        """The costs of `machine.one_sided` that it needs."""
        return SYNCHRONISATIONS[self.synchronisation]


class PutStep(StepOf):
    """What a step has whose messages may be puts."""

    one_sided: OneSided | None = Field(
        None, description="Puts instead of messages of two sides. Default: messages of two sides."
    )

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys of its kind."""
        return {key: value for key, value in super().schedule_keys().items() if key != "one_sided"}

    def step_keys(self) -> dict[str, Any]:
        """Return all keys, as the compiled description reads them."""
        return super().step_keys() | ({"one_sided": self.one_sided.canonical()} if self.one_sided else {})


class TranspositionStep(StepOf, Transposition):
    """A transposition in a program."""


class HaloStep(PutStep, Halo):
    """A halo exchange in a program."""


class AllreduceStep(StepOf, Allreduce):
    """Allreduces in a program."""

    repeats: Count = Field(1, description="Allreduces one after the other.")


class CollectiveStep(StepOf, Collective):
    """A collective of the catalogue in a program."""

    transposes: Annotated[str, Choice(TRANSPOSES)] | None = Field(
        None,
        description="An all-to-all between two layouts of the program's `spectral` model: its blocks and ranks, "
        "instead of `count` and `communicator`. Blocks of alltoall are the mean; those of alltoallv differ, instead of "
        "`spread`, `senders`, `receivers` and `groups`.",
    )
    groups: Weights | None = Field(
        None,
        description="Weights of the communicator's groups, one each: blocks of a group are as much more or less than "
        "`count` as its weight is than the mean of all. Only for alltoallv. Default: all alike.",
    )

    @model_validator(mode="before")
    @classmethod
    def _of_a_model(cls, data: Any) -> Any:
        """Refuse a transposition that no model has filled in."""
        if not isinstance(data, dict) or data.get("transposes") not in TRANSPOSES:
            return data
        if data.get("operation") not in TRANSPOSED_BY:
            found = f"found '{data['transposes']}' with operation {data.get('operation')}"
            raise problem(found, f"only with {', '.join(TRANSPOSED_BY)}", key="transposes")
        said = next((key for key in SAID_BY_MODEL if key in data), None)
        if said is not None:
            raise problem("found some beside transposes, which says it", "one of the two", key=said)
        raise problem("found no spectral model", "only in a program with spectral", key="transposes")

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys of its kind."""
        return {key: value for key, value in super().schedule_keys().items() if key != "groups"}

    def step_keys(self) -> dict[str, Any]:
        """Return all keys, as the compiled description reads them; it is called by its operation."""
        groups = {"groups": list(self.groups)} if self.groups else {}
        return {"name": self.operation, **super().step_keys(), **groups}


class PatternStep(PutStep, Pattern):
    """The messages of a table in a program."""


class OwnStep(Settings):
    """A step that no kind of workload is: its keys are all that the compiled description reads."""

    def step_keys(self) -> dict[str, Any]:
        """Return all keys, as the compiled description reads them."""
        return self.canonical()


class Work(OwnStep):
    """Work of the ranks' processors."""

    kind: Literal["work"] = Field("work", description="Kind of step.")
    name: Name | None = Field(None, description="Name of its phase. Default: work.", examples=["dynamics"])
    time: Time = Field(0, description="Work of each rank.", examples=["100 us"])
    per_point: Time = Field(
        0, description="Work for each point that a rank has of `grid`; comes on top of `time`.", examples=["2 ns"]
    )
    per_element: Time | None = Field(
        None, description="The same for each element that a rank has of the program's `cubed_sphere`."
    )
    per_inside: PositiveTime | None = Field(
        None,
        description="Work for each byte that a rank's elements of the program's `cubed_sphere` exchange inside it, as "
        "the mean over ranks; comes on top of `time`.",
    )
    cells: Annotated[str, Choice(DOMAINS)] | None = Field(
        None, description="Work for these cells of a rank, of the program's `partition`; comes on top of `time`."
    )
    of: Annotated[str, Choice(AMOUNTS)] | None = Field(
        None,
        description="What a rank of the program's `spectral` model works for: points, points and fields of the Fourier "
        "transforms, multiplications of the Legendre transforms or of the semi-implicit solve.",
    )
    each: PositiveTime | None = Field(
        None,
        description="Work for each of them; of multiplications, for a million. Comes on top of `time`.",
        examples=["4 us"],
    )
    grid: Grid | None = Field(None, description="Grid points [nx, ny, nz]. For `per_point`.")
    decomposition: Decomposition | None = Field(
        None, description="Processes [cx, cy] that share the grid. For `per_point`. Default: nearest to a square."
    )
    imbalance: Share = Field(
        0,
        description="Ranks work up to so much more or less than that, by a random factor of each that stays the same.",
        examples=["10 %"],
    )
    noise: Share = Field(0, description="The same, drawn anew each time the step is done.", examples=["2 %"])
    seed: NonNegative = Field(
        1,
        description="Seed of imbalance and noise. Steps of one seed draw the same numbers, whatever the seed of the "
        "point.",
    )

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.per_element is not None and (self.per_point or self.grid or self.decomposition):
            raise problem("found per_point, grid or decomposition beside it", "none of them", key="per_element")
        for key in ("per_element", "per_inside"):
            if getattr(self, key) is not None:
                raise problem("found no elements", "only in a program with cubed_sphere", key=key)
        if self.cells is not None:
            found = "found no parts of a grid, or none with per_cell"
            raise problem(found, "only in a program with partition that has per_cell", key="cells")
        for key, other in (("of", "each"), ("each", "of")):
            if getattr(self, key) is not None and getattr(self, other) is None:
                raise problem(f"found no {other} beside it", "both of and each", key=key)
        if self.of is not None:
            raise problem("found no spectral model", "only in a program with spectral", key="of")
        if self.time == 0 and self.per_point == 0:
            raise problem("found no work", "time or per_point of more than 0 s")
        for key in ("imbalance", "noise"):
            if getattr(self, key) > WHOLE:
                found = f"found {format_quantity(getattr(self, key), FRACTION)}"
                raise problem(found, f"at most {format_quantity(WHOLE, FRACTION)}", key=key)
        if self.per_point and self.grid is None:
            raise problem(
                "missing, but per_point needs it", str(type(self).model_fields["grid"].description), key="grid"
            )
        return self


class End(OwnStep):
    """Waits for the messages of an exchange that was begun."""

    kind: Literal["end"] = Field("end", description="Kind of step.")
    name: Name | None = Field(
        None, description="Name of a phase of its own. Default: it counts to the phase of what was begun."
    )
    of: Name = Field(description="The label of the exchange, which is begun before, in the same repetition.")


PARTNERS = ("cyclic", "block", "all")
"""Who has a message with whom, between two roles."""


class Amount(OwnStep):
    """Bytes of each of several messages or accesses, or of all together: one of the two."""

    bytes: Size | None = Field(None, description="Bytes of each.", examples=["8 MB"])
    total: Size | None = Field(
        None, description="Bytes of all together, in equal parts. One of bytes and total is needed.", examples=["4 GB"]
    )

    @model_validator(mode="after")
    def _one_amount(self) -> Self:
        if (self.bytes is None) == (self.total is None):
            found = "found none" if self.bytes is None else "found total beside it"
            raise problem(found, "one of bytes, total", key="bytes")
        if self.total == 0:
            raise problem("found 0 B", "more than 0 B", key="total")
        return self


class OfStorage(Amount):
    """An access of a storage; the rank goes on when it is done."""

    name: Name | None = Field(None, description="Name of its phase. Default: its kind.", examples=["output"])
    communicator: Name | None = Field(
        None, description="Who takes part: a name of `communicators`. Default: all.", examples=["heads"]
    )


class Write(OfStorage):
    """Writes to the storage of the machine."""

    kind: Literal["write"] = Field("write", description="Kind of step.")


class Read(OfStorage):
    """Reads from the storage of the machine."""

    kind: Literal["read"] = Field("read", description="Kind of step.")


class Notify(OwnStep):
    """Notifications: empty puts that their targets wait for."""

    kind: Literal["notify"] = Field("notify", description="Kind of step.")
    name: Name | None = Field(None, description="Name of its phase. Default: notify.", examples=["ready"])
    communicator: Name | None = Field(
        None, description="Who takes part: a name of `communicators`. Default: all.", examples=["rows"]
    )
    begin: Name | None = Field(
        None, description="A label, for a step `end` that waits for the notifications of others."
    )
    offsets: Annotated[tuple[int, ...], Wholes(1 - 2**31)] = Field(
        description="Whom each rank notifies: those so much further in the communicator, around its end.",
        examples=[[1, -1]],
    )

    costs: ClassVar[tuple[str, ...]] = ("notify",)
    synchronisation: ClassVar[str] = "notify"


class Send(Amount):
    """Messages to the ranks of another role, which receives them by a step of its own."""

    kind: Literal["send"] = Field("send", description="Kind of step.")
    name: Name | None = Field(None, description="Name of its phase. Default: send.", examples=["output"])
    target: Name = Field(description="The role that receives, by as many steps, in the same order.")
    partners: Annotated[str, Choice(PARTNERS)] = Field(
        "cyclic",
        description="Who sends to whom. Each rank of the larger role has one partner: by its number modulo the smaller "
        "role's ranks (cyclic), or the same for consecutive ranks (block); or everybody sends to everybody (all).",
    )
    begin: Name | None = Field(None, description="A label, for a step `end` that waits for the messages.")


class Receive(OwnStep):
    """The messages that another role sends to this one."""

    kind: Literal["receive"] = Field("receive", description="Kind of step.")
    name: Name | None = Field(None, description="Name of its phase. Default: receive.", examples=["input"])
    source: Name = Field(description="The role that sends, by as many steps, in the same order.")
    begin: Name | None = Field(None, description="A label, for a step `end` that waits for the messages.")


Exchange = Annotated[
    TranspositionStep | HaloStep | AllreduceStep | CollectiveStep | PatternStep, Field(discriminator="kind")
]


class Overlap(Settings):
    """An exchange, and work while its messages are under way: begins the one, does the other, ends the one."""

    kind: Literal["overlap"] = Field("overlap", description="Kind of step.")
    exchange: Exchange = Field(description="What is begun and ended.")
    work: Work = Field(description="What is done in between.")


Basic = (
    TranspositionStep
    | HaloStep
    | AllreduceStep
    | CollectiveStep
    | PatternStep
    | Work
    | Overlap
    | End
    | Send
    | Receive
    | Write
    | Read
    | Notify
)
OneStep = Annotated[Basic, Field(discriminator="kind")]


class Loop(Settings):
    """Steps that a time step does several times, such as the iterations of a solver."""

    kind: Literal["loop"] = Field("loop", description="Kind of step.")
    times: Count = Field(description="How often.")
    steps: list[OneStep] = Field(min_length=1, description="What is done each time; no loops.")


Step = Annotated[Basic | Loop, Field(discriminator="kind")]
_KINDS = tuple(str(tag(step)) for step in submodels(Step))
MOST_STEPS, MOST_TURNS = 10_000, 100_000
"""Steps of a repetition, those of a loop counted once, and counted each time: estimates walk through all of these."""


def _turns(steps: Iterable[Basic | Loop]) -> int:
    """Return how many steps are done, those of loops each time."""
    return sum(step.times * len(step.steps) if isinstance(step, Loop) else 1 for step in steps)


def _each(steps: Iterable[Basic | Loop]) -> Iterator[Basic]:
    """Yield all steps, those of a loop once."""
    return (step for _, step in _keyed(steps, ""))


def _keyed(steps: Iterable[Basic | Loop], key: str) -> Iterator[tuple[str, Basic]]:
    """Yield the same, each with its own key below that of the steps."""
    for place, step in enumerate(steps):
        own = f"{key}[{place}]"
        if isinstance(step, Loop):
            yield from _keyed(step.steps, f"{own}.steps")
        else:
            yield own, step


def _step_keys(steps: Iterable[Basic | Loop]) -> list[dict[str, Any]]:
    """Return the keys that the compiled description reads: no short forms."""
    keys: list[dict[str, Any]] = []
    for step in steps:
        if isinstance(step, Loop):
            keys.append({"kind": step.kind, "times": step.times, "steps": _step_keys(step.steps)})
            continue
        if not isinstance(step, Overlap):
            keys.append(step.step_keys())
            continue
        label = f"overlap-{len(keys)}"
        keys += [step.exchange.step_keys() | {"begin": label}, step.work.step_keys(), End(of=label).step_keys()]
    return keys


def _is_by_rules(step: Basic) -> bool:
    """Return whether the rules of an MPI library choose the algorithm of a step."""
    exchange = step.exchange if isinstance(step, Overlap) else step
    return isinstance(exchange, ByRules) and exchange.by_rules


def _size_of(communicator: Communicator | None, ranks: int) -> int:
    """Return how many of so many ranks a communicator has; of several alike the largest one."""
    if communicator is None:
        return ranks
    if communicator.range is not None:
        return communicator.range[1]
    if communicator.consecutive is not None:
        return min(int(communicator.consecutive), ranks)
    if communicator.every is not None:
        return -(-ranks // communicator.every)
    return -(-ranks // int(communicator.leaders or 1))


def _in_place_of_rules(
    steps: Sequence[Basic | Loop], ranks: int, communicators: Mapping[str, Communicator], key: str = "workload"
) -> list[dict[str, Any]]:
    """Return the keys of steps with the algorithms that rules of MPI libraries choose.

    Parameters
    ----------
    steps : sequence
        Steps of a program or role.
    ranks : int
        How many do them.
    communicators : mapping
        By name. Of several alike the largest decides, as rules give one algorithm to all.
    key : str
        Key of the program or role, for error lines.

    Raises
    ------
    PydanticCustomError
        If what is begun here and ended later is more than one collective.
    """

    def chosen(step: Basic, number: str) -> list[dict[str, Any]]:
        exchange = step.exchange if isinstance(step, Overlap) else step
        if not isinstance(exchange, ByRules) or not exchange.by_rules:
            return [step.canonical()]
        named = exchange.communicator if isinstance(exchange, StepOf) else None
        found = exchange.among(_size_of(communicators.get(named or ALL), ranks))
        if len(found) == 1:
            return [step.canonical() | {"exchange": found[0]}] if isinstance(step, Overlap) else found
        here = f"{key}.steps{number}{'.exchange' if isinstance(step, Overlap) else ''}"
        if isinstance(step, Overlap) or "begin" in found[0]:
            raise exchange.several(found, "an algorithm, or a step that is not begun", f"{here}.algorithm")
        repeats, most = exchange.repeated or 1, MOST_STEPS // len(found)
        if repeats > most:
            raise exchange.several(found, f"at most {most} repeats, or a loop", f"{here}.repeats")
        operation = getattr(exchange, "operation", exchange.kind)
        return [{"name": operation, **each} for each in found] * repeats

    made: list[dict[str, Any]] = []
    for place, step in enumerate(steps):
        number = f".[{place}]"
        if not isinstance(step, Loop):
            made += chosen(step, number)
            continue
        inside = [each for at, own in enumerate(step.steps) for each in chosen(own, f"{number}.steps.[{at}]")]
        made.append(step.canonical() | {"steps": inside})
    return made


def _as_written(steps: Sequence[Basic | Loop], keys: list[str]) -> list[str]:
    """Return keys of lowered steps, such as ``3.halo.width``, as those of the steps that they were made from."""
    number, rest = int(keys[0]), keys[1:]
    for place, step in enumerate(steps):
        parts = ("exchange", "work", "") if isinstance(step, Overlap) else ("",)
        if number >= len(parts):
            number -= len(parts)
            continue
        if isinstance(step, Loop) and len(rest) > 1 and rest[0] == "steps":
            rest = ["steps", *_as_written(step.steps, rest[1:])]
        return [str(place), *filter(None, [parts[number]]), *rest]
    return keys


class Role(Communicator):
    """A set of ranks with a program of its own, by one rule; in it they have numbers from 0 on."""

    consecutive: RanksOrNode | None = Field(
        None, description="So many consecutive ranks: the group that `group` says, of all that there are."
    )
    every: Count | None = Field(None, description="The ranks that are `group` modulo this.")
    leaders: RanksOrNode | None = Field(
        None, description="The first rank of each of so many consecutive ones; node: ranks_per_node."
    )
    range: Annotated[tuple[int, int], WholeList(("first", "ranks"), least=0)] | None = Field(
        None, description="The number of its first rank, and how many there are.", examples=[[0, 16]]
    )
    ranks: Annotated[tuple[int, ...], Wholes()] | None = Field(None, description="These ranks.", examples=[[0, 7]])
    others: bool | None = Field(None, description="The ranks that all other roles leave.")
    group: NonNegative | None = Field(None, description="Which group of `consecutive` or `every`, from 0.")
    communicators: dict[Name, Communicator] = Field(
        {}, description="Sets of ranks of this role by name, as those of a program."
    )
    steps: list[Step] = Field(min_length=1, description="What the ranks of the role do, as the steps of a program.")

    _beside: ClassVar[tuple[str, ...]] = ("group", "communicators", "steps")

    @model_validator(mode="after")
    def _of_group(self) -> Self:
        many = self.consecutive is not None or self.every is not None
        if many != (self.group is not None):
            found, allowed = ("missing", "a number from 0") if many else ("found one", "only with consecutive or every")
            raise problem(found, allowed, key="group")
        self._fill(others=self.others or None)
        return self

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys that the compiled description reads: no short forms."""
        rule = {key: value for key, value in self.canonical().items() if key not in ("communicators", "steps")}
        named = {name: each.canonical() for name, each in self.communicators.items()}
        keys = rule | {"steps": _step_keys(self.steps), "communicators": named}
        return keys | ({"others": 1} if self.others else {})


_GRIDS: dict[str, tuple[type[Settings], Callable[[dict[str, Any], Any], dict[str, Any]]]] = {
    "cubed_sphere": (CubedSphere, on_elements),
    "partition": (Partition, on_cells),
    "spectral": (Spectral, on_spectral),
}
"""Keys of a program that say what its steps exchange and work for, and who puts that into a step."""


def _scaled(step: dict[str, Any], share: int) -> dict[str, Any]:
    """Return a step whose work is a share of what it states [ppm]."""
    if step.get("kind") != "work":
        return step
    scaled = {}
    for key in {"time", "per_point"} & set(step):
        stated = time_or_none(step[key])
        if stated is None:
            continue
        scaled[key] = f"{max(stated * share // WHOLE, min(stated, 1))} ps"
    return step | scaled


def _filled(step: Any, fill: Callable[[dict[str, Any], Any], dict[str, Any]], grid: Any) -> Any:
    """Return a step, those inside it included, with what a grid, or the program, says."""
    if not isinstance(step, dict):
        return step
    if step.get("kind") == "loop" and isinstance(step.get("steps"), list):
        return step | {"steps": [_filled(each, fill, grid) for each in step["steps"]]}
    if step.get("kind") == "overlap":
        return step | {key: _filled(step[key], fill, grid) for key in ("exchange", "work") if key in step}
    return fill(step, grid)


class Program(Communication):
    """What the ranks of a model do in a time step, again and again: exchanges, collectives and work."""

    kind: Literal["program"] = Field(description="Kind of workload.")
    repeat: Count = Field(1, description="Time steps, one after the other.")
    grid: Grid | None = Field(None, description="Grid points [nx, ny, nz] of all steps that say none.")
    decomposition: Decomposition | None = Field(
        None, description="Processes [cx, cy] of all steps that say none, but have a grid."
    )
    total: Size | None = Field(
        None, description="Bytes of all together, of each send, read and write that says none.", examples=["4 GB"]
    )
    cubed_sphere: CubedSphere | None = Field(
        None,
        description="Elements of all patterns that name no file, and of work that has `per_element` or `per_inside`.",
    )
    partition: Partition | None = Field(
        None, description="Parts of any grid, for all patterns that name no file, and for work that has `cells`."
    )
    spectral: Spectral | None = Field(
        None,
        description="A spectral model: blocks of all collectives that have `transposes`, grid of halos that have none, "
        "and work that has `of`.",
    )
    work_scale: Share | None = Field(
        None,
        description="Share of the work they state that all steps take, such as that of a faster processor.",
        examples=["10 %"],
    )
    communicators: dict[Name, Communicator] = Field(
        {}, description=f"Sets of ranks by name, beside {ALL}.", examples=[{"rows": {"consecutive": 16}}]
    )
    steps: list[Step] = Field(
        [],
        description="What all ranks do, one after the other. `{halo: {width: 5}}` is short for `{kind: halo, width: "
        "5}`. Needed, but with `roles`.",
    )
    roles: dict[Name, Role] = Field(
        {},
        description="Sets of ranks that do something else each, in the place of `steps`. Every rank has one role.",
    )

    _parts: dict[str, int] = PrivateAttr(default_factory=dict)
    """Among how many ranks each of `_GRIDS` is shared, until that is held against those that there are."""

    _on_grid: ClassVar[tuple[str, ...]] = ("transposition", "halo")
    _of_bytes: ClassVar[tuple[str, ...]] = ("send", "read", "write")

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, data: Any) -> Any:
        """Write short forms in full, and the program's grid, decomposition and total where a step has none."""
        if not isinstance(data, dict):
            return data
        if data.get("steps") == [] and not data.get("roles"):
            raise problem("found []", "a list of steps, or roles that have them", key="steps")
        shared = {key: data[key] for key in ("grid", "decomposition", "total") if data.get(key) is not None}

        grids = [(fill, cls._valid(model, data.get(key))) for key, (model, fill) in _GRIDS.items()]

        share = cls._share(data.get("work_scale"))

        def on_grids(step: Any) -> Any:
            for fill, grid in grids:
                step = step if grid is None else _filled(step, fill, grid)
            return step if share is None else _filled(step, _scaled, share)

        model = cls._valid(Spectral, data.get("spectral"))

        def in_full(block: Any, where: str = "") -> Any:
            known = isinstance(block, dict) and isinstance(block.get("steps"), list)
            if not known:
                return block
            named = block.get("communicators") or {}
            if model is not None and "'transposes'" in str(block["steps"]) and isinstance(named, dict):
                block = block | {"communicators": model.communicators() | named}
            steps = cls._all_in_full(block["steps"], shared, f"{where}steps")
            return block | {"steps": [on_grids(step) for step in steps]}

        if isinstance(data.get("roles"), dict):
            dotted = next((name for name in data["roles"] if "." in str(name)), None)
            if dotted:
                raise problem(f"found '{dotted}'", "names without dots", key="roles")
            data = data | {"roles": {name: in_full(role, f"roles.{name}.") for name, role in data["roles"].items()}}
        return in_full(data)

    @staticmethod
    def _valid(model: type[Settings], data: Any) -> Any:
        """Return the elements or parts, if there are; what can't be is told where the key itself is checked."""
        try:
            return None if data is None else model.model_validate(data)
        except ValidationError:
            return None

    @staticmethod
    def _share(text: Any) -> int | None:
        """Return a share [ppm]; what can't be read is told where the key itself is checked."""
        try:
            share = None if text is None else parse_quantity(text, FRACTION, least=0)
        except PydanticCustomError:
            return None
        if share == 0:
            raise problem("found 0 %", "more than 0 %; without work leave its steps out", key="work_scale")
        return share

    @classmethod
    def _all_in_full(cls, steps: list[Any], shared: dict[str, Any], where: str) -> list[Any]:
        return [cls._in_full(step, shared, f"{where}[{number}]") for number, step in enumerate(steps)]

    @classmethod
    def _in_full(cls, step: Any, shared: dict[str, Any], where: str) -> Any:
        if not isinstance(step, dict):
            return step
        if len(step) == 1:
            step = cls._with_kind(*next(iter(step.items())), step)
        word = next((key for key in step if key in _KINDS or key in COLLECTIVES), None)
        if word is not None and "kind" not in step:  # most likely its keys are not indented
            beside = [key for key in step if key != word]
            found = f"found '{beside[0]}' beside '{word}'" if beside else f"found {show(step[word])}"
            raise problem(found, f"one kind of step, its keys inside it: {{{word}: {{...}}}}", key=where)
        if step.get("kind") == "loop" and isinstance(step.get("steps"), list):
            return step | {"steps": cls._all_in_full(step["steps"], shared, f"{where}.steps")}
        if step.get("kind") == "overlap":
            parts = [key for key in ("exchange", "work") if key in step]
            inner = {key: cls._in_full(step[key], shared, f"{where}.{key}") for key in parts}
            if isinstance(inner.get("work"), dict):
                inner["work"] = cls._in_full({"kind": "work", **inner["work"]}, shared, where)
            return step | inner
        if step.get("kind") in cls._on_grid or (step.get("kind") == "work" and "per_point" in step):
            grid = {key: value for key, value in shared.items() if key != "total"}
            return (grid if "grid" not in step else {}) | step
        if step.get("kind") in cls._of_bytes and not {"bytes", "total"} & set(step):
            return {key: value for key, value in shared.items() if key == "total"} | step
        return step

    @staticmethod
    def _with_kind(word: Any, keys: Any, otherwise: dict[Any, Any]) -> dict[Any, Any]:
        """Return a step that is written by its kind, or by the operation of a collective, and its keys alone."""
        if keys is None and (word in _KINDS or word in COLLECTIVES):  # `- barrier:`
            keys = {}
        if not isinstance(keys, dict):
            return otherwise
        if word in COLLECTIVES and word not in _KINDS:
            usual = {"algorithm": "dissemination"} if word == "barrier" else {}
            return {"kind": "collective", "operation": word, **usual, **keys}
        return {"kind": word, **keys}

    @model_validator(mode="after")
    def _countable(self) -> Self:
        if bool(self.steps) == bool(self.roles):
            found = "found some beside roles" if self.steps else "missing"
            raise problem(found, "a list of steps, or roles that have them", key="steps")
        if self.roles and self.communicators:
            raise problem("found some beside roles", "communicators of each role", key="communicators")
        steps = sum(len(list(_each(each))) for each in self._lists)
        if steps > MOST_STEPS:
            raise problem(f"found {steps} steps", f"at most {MOST_STEPS}", key="steps")
        turns = sum(_turns(each) for each in self._lists)
        if turns > MOST_TURNS:
            allowed = f"at most {MOST_TURNS}; repeat does all of them again"
            raise problem(f"found {turns} steps, those of loops each time", allowed, key="steps")
        return self

    @model_validator(mode="after")
    def _shared(self) -> Self:
        if self.cubed_sphere and self.partition:
            raise problem("found some beside cubed_sphere", "one of the two", key="partition")
        grids = {key: getattr(self, key) for key in _GRIDS}
        self._parts = {key: grid.ranks for key, grid in grids.items() if grid is not None}
        self._fill(
            grid=None, decomposition=None, total=None, cubed_sphere=None, partition=None, spectral=None, work_scale=None
        )  # the steps have it now
        return self

    def __hash__(self) -> int:
        return hash(json.dumps(self.canonical(), sort_keys=True))

    @property
    def _lists(self) -> list[list[Step]]:
        """The steps of all ranks, or those of each role."""
        return [role.steps for role in self.roles.values()] or [self.steps]

    @model_serializer(mode="wrap")
    def _without_roles(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out roles where there are none, so that they rename no point."""
        data: dict[str, Any] = handler(self)
        return data if self.roles else {key: value for key, value in data.items() if key != "roles"}

    def on_nodes(self, ranks: int) -> Self:
        """Return the program with the ranks of a node in the place of the word that stands for them."""
        made = super().on_nodes(ranks)
        made._parts = self._parts
        return made

    def for_ranks(self, ranks: int) -> Self:
        """Return the program with what was left out and follows from the number of ranks; see `ByRules`."""
        if self._parts:
            self._check_parts(ranks)
            checked = self.model_copy()
            checked._parts = {}
            return checked.for_ranks(ranks)
        if not any(_is_by_rules(step) for steps in self._lists for step in _each(steps)):
            return super().for_ranks(ranks)
        data = self.canonical()
        if not self.roles:
            data["steps"] = _in_place_of_rules(self.steps, ranks, self.communicators)
        for name, role in self.roles.items():
            among = self._ranks_of(role, ranks)
            key = f"workload.roles.{name}"
            data["roles"][name]["steps"] = _in_place_of_rules(role.steps, among, role.communicators, key)
        return type(self).model_validate(data, context={"canonical": True}).for_ranks(ranks)

    def _check_parts(self, ranks: int) -> None:
        """Refuse what is shared among other ranks than those of the program, or of a role or communicator."""
        all_ranks = [(self.communicators, ranks)]
        sets = [(role.communicators, self._ranks_of(role, ranks)) for role in self.roles.values()] or all_ranks
        whole = [size for _, size in sets]
        some = [_size_of(each, size) for named, size in sets for each in named.values()]
        for key, parts in self._parts.items():
            # Ranks of a communicator may exchange a halo; a spectral model has communicators of its own.
            sizes = sorted({*whole, *(some if key != "spectral" else [])})
            if parts not in sizes:
                what = "the ranks" if sizes == [ranks] else "the ranks of a role or communicator"
                name = f"workload.{key}.{'file' if key == 'partition' else 'parts'}"
                raise problem(
                    f"found {parts} part{'s' * (parts != 1)}", f"{', '.join(map(str, sizes))}, {what}", key=name
                )

    def _ranks_of(self, role: Role, ranks: int) -> int:
        """Return how many ranks a role has; the compiled description refuses those that can't be."""
        if role.others:
            return ranks - sum(self._ranks_of(each, ranks) for each in self.roles.values() if not each.others)
        if role.ranks is not None:
            return len(role.ranks)
        if role.every is not None:
            return len(range(filled(role.group), ranks, role.every))
        if role.consecutive is not None:
            first = int(role.consecutive) * filled(role.group)
            return len(range(first, min(first + int(role.consecutive), ranks)))
        return _size_of(role, ranks)

    def puts(self) -> Iterator[OneSided | Notify]:
        """Yield what steps say whose messages are puts."""
        for step in (step for steps in self._lists for step in _each(steps)):
            exchange = step.exchange if isinstance(step, Overlap) else step
            if isinstance(exchange, Notify):
                yield exchange
            if isinstance(exchange, PutStep) and exchange.one_sided:
                yield exchange.one_sided

    def windowed_steps(self, ranks: int) -> Iterator[tuple[str, Transposition | Collective, int]]:
        """Yield the steps of which only so many sends may be under way at a time: key, step, and how many do it."""
        sets: Mapping[str, tuple[Program | Role, int]] = {
            f"workload.roles.{name}": (role, self._ranks_of(role, ranks)) for name, role in self.roles.items()
        } or {"workload": (self, ranks)}
        for above, (own, size) in sets.items():
            for key, step in _keyed(own.steps, f"{above}.steps"):
                if isinstance(step, Transposition | Collective) and step.windowed:
                    named = step.communicator if isinstance(step, StepOf) else None
                    yield key, step, _size_of(own.communicators.get(named or ALL), size)

    def accesses(self) -> Iterator[Write | Read]:
        """Yield the steps that read or write."""
        return (step for steps in self._lists for step in _each(steps) if isinstance(step, Write | Read))

    @property
    def own_algorithms(self) -> tuple[str, ...]:
        """None: its steps have them."""
        return ()

    @property
    def limits(self) -> tuple[int, int] | None:
        """None: its steps have them."""
        return None

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys that the compiled description reads: no short forms."""
        keys = {"kind": self.kind, "repeat": self.repeat}
        if self.roles:
            roles = {name: role.schedule_keys() for name, role in self.roles.items()}
            return keys | {"roles": in_numbers(roles, 1)}
        communicators = {name: in_numbers(each.canonical(), 1) for name, each in self.communicators.items()}
        return keys | {"steps": _step_keys(self.steps), "communicators": communicators}

    def as_written(self, refused: PydanticCustomError) -> PydanticCustomError:
        """Return what the compiled description says of its keys, said of those that a user writes."""
        said = refused.context or {}
        if "key" not in said:
            return refused
        text = re.sub(
            r"\broles\.[^\s.]+(?:\.steps\.\d+)+",  # a step of another role
            lambda other: re.sub(r"\.(\d+)", r"[\1]", self._as_written(other[0])),
            said["problem"],
        )
        return problem(text, said["allowed"], key=self._as_written(said["key"]), hint=said["hint"])

    def _as_written(self, key: str) -> str:
        """Return the key of a lowered step as that of the step that it was made from; any other as it is."""
        lowered = re.fullmatch(r"((?:workload\.)?(?:roles\.([^.]+)\.)?steps)\.(\d.*)", key)
        if lowered is None:
            return key
        before, role, after = lowered.groups()
        steps = self.roles[role].steps if role else self.steps
        return ".".join([before, *_as_written(steps, after.split("."))])


STEPS: tuple[type[Settings], ...] = (Work, Overlap, End, Loop, Send, Receive, Write, Read, Notify)
"""What only programs have."""
