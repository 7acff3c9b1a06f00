"""The typed descriptions of what is communicated: transposition, halo, allreduce, other collectives, tables.

Types, explanations and what only a study knows stand here, because schemas and tables for users are made from them.
What keys an algorithm has and what is possible is asked of the compiled descriptions
(:mod:`tramontane.study.workloads.schedules`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from tramontane.errors import closest, show
from tramontane.study.collectives import collective_calls, library_choice
from tramontane.study.patterns import patterns
from tramontane.study.reading.messages import problem
from tramontane.study.traces import traces
from tramontane.study.values.fields import (
    Choice,
    Count,
    DependentChoice,
    Digest,
    Name,
    NonNegative,
    Text,
    WholeList,
    WholeOrWord,
    Wholes,
)
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import DOUBLE, FRACTION, Quantity, Share, Size
from tramontane.study.workloads import schedules

TRANSPOSITION_ALGORITHMS = schedules.words("transposition", "algorithm")
ALLREDUCE_ALGORITHMS = schedules.words("allreduce", "algorithm")
COLLECTIVES = schedules.words("collective", "operation")
BISECTION = "bisection"
OPTIMAL = "optimal"
DATATYPES = "datatypes"
"""Buffers of a halo that is not packed."""
MOST_ROUNDS = 10
"""How often a halo may go round the grid, which is periodic."""
MOST_RADICES = 1000
"""Radices of one search."""
RADICES = (2, 32)
"""Range in which the best radix is searched (Zheng & Marguinaud 2018, section 4.4)."""
LIBRARY_ALGORITHMS = ("library", "library-nonblocking", "library-persistent")
"""The MPI library's own operation, in its three forms; only where a workload runs with an MPI library."""

NODE = "node"
"""Stands for the ranks of a node, where a key is a number of ranks."""
_OF_NODES = ("group", "consecutive", "leaders")
RanksOrNode = Annotated[int | Literal["node"], WholeOrWord(1, NODE)]
GRID = WholeList(("nx", "ny", "nz"), instead="the name of a grid in configs/workloads/grids.yaml")
Grid = Annotated[tuple[int, int, int], GRID]
Decomposition = Annotated[tuple[int, int], WholeList(("cx", "cy"))]
DIMS = WholeList(("nx", "ny", "nz"), optional=2)
Weights = Annotated[tuple[int, ...], Wholes(0, different=False)]
HaloDecomposition = Annotated[tuple[int, int] | Literal["bisection"], WholeList(("cx", "cy"), word=BISECTION)]


def in_numbers(data: Any, ranks: int) -> Any:
    """Return a workload's keys with a number of ranks for the word `node`, where a key is a number of ranks."""
    if isinstance(data, dict):
        return {
            key: ranks if key in _OF_NODES and value == NODE else in_numbers(value, ranks)
            for key, value in data.items()
        }
    return [in_numbers(each, ranks) for each in data] if isinstance(data, list) else data


class Communication(Settings):
    """What all kinds of workloads have in common."""

    @property
    def chosen(self) -> str | None:
        """The algorithm, of a kind that has several."""
        return getattr(self, "algorithm", None)

    @property
    def by_library(self) -> bool:
        """Whether it is an MPI library's operation, and not messages of ours."""
        return self.chosen in LIBRARY_ALGORITHMS

    @property
    def windowed(self) -> bool:
        """Whether only so many sends may be under way at a time."""
        return self.chosen == "sliding-window"

    @property
    def own_algorithms(self) -> tuple[str, ...]:
        """Algorithms that need no MPI library."""
        return schedules.words(self._kind, "algorithm") if "algorithm" in self._compiled_keys else ()

    @property
    def repeated(self) -> int | None:
        """How often the same is done one time after the other; None for a kind that has no such key."""
        return getattr(self, "repeats", None)

    def puts(self) -> Iterable[Any]:
        """Return what steps say whose messages are puts; only programs have such."""
        return ()

    def accesses(self) -> Iterable[Any]:
        """Return the steps that read or write; only programs have such."""
        return ()

    @property
    def is_search(self) -> bool:
        """Whether it stands for the best of several workloads."""
        return False

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys that the compiled description reads; of a library's operation, those of messages like it."""
        keys = self.canonical()
        if self.by_library:
            keys["algorithm"] = schedules.library_algorithm(self._kind)
        return dict(in_numbers({key: value for key, value in keys.items() if value is not None}, 1))

    def on_nodes(self, ranks: int) -> Self:
        """Return the workload with the ranks of a node in the place of the word that stands for them."""
        data = self.canonical()
        numbers = in_numbers(data, ranks)
        return self if numbers == data else type(self).model_validate(numbers, context={"canonical": True})

    def for_ranks(self, ranks: int) -> Self:
        """Return the workload with what was left out and follows from the number of ranks.

        Raises
        ------
        PydanticCustomError
            If that number of ranks can't have it.
        """
        keys = self.schedule_keys()
        try:
            values = schedules.described(keys, ranks, empty_blocks=False).values
        except PydanticCustomError as refused:
            raise patterns.at_its_row(self.as_written(refused), keys) from None
        follow = [name for name in ("decomposition",) if name in values and getattr(self, name) is None]
        return self.model_copy(update={name: tuple(values[name]) for name in follow}) if follow else self

    def as_written(self, refused: PydanticCustomError) -> PydanticCustomError:
        """Return what the compiled description says of its keys, said of those that a user writes."""
        return refused

    @property
    def limits(self) -> tuple[int, int] | None:
        """The largest cx and cy that its grid can be cut into; None without a decomposition [cx, cy]."""
        if "decomposition" not in self._compiled_keys:
            return None
        whole = {
            key: value for key, value in self.schedule_keys().items() if not isinstance(value, list) or key == "grid"
        }
        found: tuple[int, int] | None = schedules.described(whole, 1).limits
        return found

    def imbalance(self, ranks: int) -> float:
        """Return the largest block of data of any rank at any time, relative to the mean; 1 where all are alike."""
        return float(schedules.described(self.schedule_keys(), ranks).imbalance)

    def setup(self, ranks: int) -> bytes:
        """Return what all ranks have to know of each other, for simulated ones to share; empty: nothing."""
        return bytes(schedules.described(self.schedule_keys(), ranks).setup())

    @model_validator(mode="after")
    def _possible(self) -> Self:
        try:
            schedules.check_keys(self.schedule_keys())
        except PydanticCustomError as refused:
            raise self.as_written(refused) from None
        # What exists only in some cases is left out where it says nothing, so that a new key renames no point.
        unsaid = [
            key.name
            for key in schedules.keys(self._kind)
            if key.within and getattr(self, key.within[0]) == key.within[1] and getattr(self, key.name) == key.default
        ]
        self._fill(**dict.fromkeys(unsaid))
        return self

    @property
    def _kind(self) -> str:
        return str(getattr(self, "kind"))  # noqa: B009 (each kind declares it, with its own name as its type)

    @property
    def _compiled_keys(self) -> set[str]:
        return {key.name for key in schedules.keys(self._kind)}


class Transposition(Communication):
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


class Halo(Communication):
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
    calls: Annotated[str, Choice(schedules.words("halo", "calls"))] | None = Field(
        None,
        description="Calls of MPI that a sweep is made of. irecv-isend: all receives, all sends, one wait; isend-recv: "
        "all sends, then one receive after another, which progress by hardware does not know; irecv-send: all "
        "receives, then one send after another; sendrecv: one direction after another, which tiles of a bisection do "
        "not have. Default: irecv-isend.",
    )
    buffers: Annotated[str, Choice(schedules.words("halo", "buffers"))] | None = Field(
        None,
        description="explicit: messages are packed and unpacked; datatypes: the MPI library takes them from the field "
        "and brings them there, by a datatype of each message. Simulated messages are the same: what either costs a "
        "byte is stated in `machine.overhead`. Only where the halo is the whole workload. Default: explicit.",
    )

    @model_validator(mode="after")
    def _narrow(self) -> Self:
        most = MOST_ROUNDS * min(self.grid[:2])
        if self.width > most:
            allowed = f"at most {most}, {MOST_ROUNDS} times the points of the grid in x or y"
            raise problem(f"found {self.width}", allowed, key="width")
        return self

    @model_validator(mode="after")
    def _library(self) -> Self:
        if self.algorithm is not None and self.decomposition == BISECTION:
            raise problem(f"found {BISECTION} with algorithm {self.algorithm}", "[cx, cy]", key="decomposition")
        for key in ("calls", "buffers"):
            if self.algorithm is not None and (found := getattr(self, key)) is not None:
                raise problem(f"found {found} with algorithm {self.algorithm}", "nothing: the library decides", key=key)
        return self


BY_RULES = library_choice.LIBRARIES
"""In the place of an algorithm: an MPI library whose rules choose one, by size and ranks (docs/collectives.md)."""


class ByRules(Communication):
    """What kinds have in common whose algorithm may be left to the rules of an MPI library."""

    @model_validator(mode="before")
    @classmethod
    def _nothing_beside(cls, data: Any) -> Any:
        """Refuse what only chosen algorithms have."""
        if isinstance(data, dict) and data.get("algorithm") in BY_RULES:
            for key in ("radix", "radices", "exhaustive", "remainder", "segments", "group"):
                if data.get(key) is not None:
                    found = f"found {show(data[key])} with {data['algorithm']}, which chooses"
                    raise problem(found, "none, or an algorithm that has it", key=key)
        return data

    @property
    def by_rules(self) -> bool:
        """Whether the rules of a library choose the algorithm, once the number of ranks is known."""
        return self.chosen in BY_RULES

    @property
    def _operation(self) -> str:
        """As the catalogue calls it."""
        return self._kind

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys that the compiled description reads; as long as no rule has chosen, of a usual algorithm."""
        keys = super().schedule_keys()
        return keys | collective_calls.DEFAULTS.get(self._operation, {}) if self.by_rules else keys

    def as_written(self, refused: PydanticCustomError) -> PydanticCustomError:
        """Return what the compiled description says; it knows no rules."""
        said = refused.context or {}
        if said.get("key") != "algorithm" or self._operation not in collective_calls.DEFAULTS:
            return refused
        hint = said["hint"] or closest(self.chosen, BY_RULES)
        return problem(said["problem"], ", ".join((said["allowed"], *BY_RULES)), key="algorithm", hint=hint)

    def among(self, ranks: int) -> list[dict[str, Any]]:
        """Return the keys of what its library does among so many ranks: as a rule one collective, else several."""
        keys = {key: value for key, value in self.canonical().items() if key != "algorithm"}
        usual = collective_calls.DEFAULTS[self._operation]
        size = DOUBLE * (keys.get("count") or 0)
        steps = library_choice.chosen(str(self.chosen), self._operation, size, ranks) if ranks > 1 else ()
        if not steps:
            return [keys | usual]
        if len(steps) == 1:
            return [keys | steps[0][1]]
        own = {key: value for key, value in keys.items() if key != "repeats"}
        return [own | {"kind": "collective", "operation": operation, **chosen} for operation, chosen in steps]

    def several(self, found: Sequence[dict[str, Any]], allowed: str, key: str) -> PydanticCustomError:
        """Return the error for what `among` gives, where one collective alone can stand."""
        steps = " and a ".join(str(each["operation"]) for each in found)
        return problem(f"found {self.chosen}, which takes a {steps} for this", allowed, key=key)

    def for_ranks(self, ranks: int) -> Self:
        """Return the workload with what was left out and follows from the number of ranks."""
        if not self.by_rules:
            return super().for_ranks(ranks)
        first, *others = self.among(ranks)
        if others:
            raise self.several([first, *others], "an algorithm, or a program with it as a step", "workload.algorithm")
        return type(self).model_validate(first, context={"canonical": True}).for_ranks(ranks)


class Allreduce(ByRules):
    """The allreduces of a Krylov solver (Zheng & Marguinaud 2018, section 3.3)."""

    kind: Literal["allreduce"] = Field(description="Kind of workload.")
    algorithm: Annotated[str, Choice((*ALLREDUCE_ALGORITHMS, *BY_RULES, *LIBRARY_ALGORITHMS))] = Field(
        description="Allreduce algorithm: one of " + ", ".join(ALLREDUCE_ALGORITHMS) + "; the one that the rules of an "
        "MPI library choose, "
        + ", ".join(BY_RULES)
        + "; with an MPI library, MPI_Allreduce as "
        + ", ".join(LIBRARY_ALGORITHMS)
        + "."
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
    remainder: Annotated[str, Choice(schedules.words("allreduce", "remainder"))] | None = Field(
        None,
        description="Who stands in for rank i beyond the largest power of k: paper: rank i - (P - k^p), or i mod k^p "
        "where P > 2 k^p; adjacent: the first of a run of neighbours. Only for recursive-k. Default: paper.",
    )
    count: Count = Field(schedules.default("allreduce", "count"), description="Doubles to reduce.")
    repeats: Count = Field(
        schedules.default("allreduce", "repeats"),
        description="Allreduces one after the other; 2N for GCR with N iterations.",
    )

    @model_validator(mode="after")
    def _search(self) -> Self:
        if self.radix != OPTIMAL:
            for key in ("radices", "exhaustive"):
                if getattr(self, key) is not None:
                    raise problem(f"found radix {self.radix}", f"only with radix {OPTIMAL}", key=key)
            return self
        first, last = self.radices or RADICES
        if not 2 <= first <= last:
            raise problem(f"found [{first}, {last}]", "[first, last] with 2 <= first <= last", key="radices")
        if last - first >= MOST_RADICES:
            allowed = f"at most {MOST_RADICES} radices"
            raise problem(f"found [{first}, {last}], that is {last - first + 1}", allowed, key="radices")
        self._fill(radices=(first, last), exhaustive=bool(self.exhaustive))
        return self

    @property
    def is_search(self) -> bool:
        """Whether the best radix is wanted."""
        return self.radix == OPTIMAL

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys that the compiled description reads; of a search, those of its first radix."""
        first, _ = self.radices or RADICES
        one = self.changed(radix=first if self.is_search else self.radix, radices=None, exhaustive=None)
        return super(Allreduce, one).schedule_keys()

    def with_radix(self, radix: int) -> Self:
        """Return the allreduce with a radix in place of the search for the best one."""
        return self.changed(radix=radix, radices=None, exhaustive=None)


class Collective(ByRules):
    """A collective of the catalogue, once, among all ranks."""

    kind: Literal["collective"] = Field(description="Kind of workload.")
    operation: Annotated[str, Choice(COLLECTIVES)] = Field(
        description="What the ranks do together: " + ", ".join(COLLECTIVES) + "."
    )
    algorithm: Annotated[str, DependentChoice((*schedules.words("collective", "algorithm"), *BY_RULES))] = Field(
        description="Of "
        + "; of ".join(
            f"{name}: " + ", ".join(schedules.words("collective", "algorithm", ("operation", name)))
            for name in COLLECTIVES
        )
        + "; of "
        + ", ".join(collective_calls.DEFAULTS)
        + ": the one that the rules of an MPI library choose, "
        + ", ".join(BY_RULES)
        + "."
    )
    count: Count | None = Field(
        None,
        description="Doubles of the vector (broadcast, reduce, allreduce), or of each block. Required, but by barrier.",
    )
    spread: Share | None = Field(
        None,
        description="Blocks have up to so much more or less than `count`, each by a random factor of its own. Only for "
        "alltoallv, which needs it.",
        examples=["50 %"],
    )
    seed: NonNegative | None = Field(None, description="Seed of these factors. Only for alltoallv. Default: 1.")
    senders: Weights | None = Field(
        None,
        description="Weights of the ranks, one each, for what they send: blocks are as much more or less than `count` "
        "as the weight is than the mean of all. Only for alltoallv. Default: all alike.",
        examples=[[18, 20, 22, 20]],
    )
    receivers: Weights | None = Field(
        None, description="The same for what they receive; both multiply. Only for alltoallv. Default: all alike."
    )
    root: NonNegative | None = Field(
        None, description="Rank that has, or gets, the data. Only for broadcast, reduce, gather, scatter. Default: 0."
    )
    dims: Annotated[tuple[int, ...], DIMS] | None = Field(
        None,
        description="Sizes of the periodic process grid, along x first; their product is the number of ranks. Only for "
        "neighbourhood.",
        examples=[[4, 4]],
    )
    group: RanksOrNode | None = Field(
        None,
        description="Consecutive ranks of a group; the last one may be smaller. node: ranks_per_node. Only for "
        "hierarchical, leaders and multi-leader.",
    )
    segments: Count | None = Field(None, description="Parts in which the vector goes along a chain. Only for chain.")
    radix: Count | None = Field(
        None,
        description="k of ring-k, recursive-k and sliding-window, as in transposition and allreduce; of bruck: base of "
        "the digits by which blocks travel, by default 2; of k-nomial: that by which ranks hang together, by default "
        "4; of leaders and multi-leader: sends under way at once between "
        "groups, by default all. Only for these.",
    )
    remainder: Annotated[str, Choice(schedules.words("collective", "remainder"))] | None = Field(
        None, description="As in allreduce. Only for recursive-k. Default: paper."
    )

    def as_written(self, refused: PydanticCustomError) -> PydanticCustomError:
        """Return what the compiled description says; it has shares in millionths."""
        said = refused.context or {}
        if said.get("key") != "spread":
            return super().as_written(refused)
        return problem(said["problem"], "a share, e.g. 10 %", key=said["key"])

    @property
    def _operation(self) -> str:
        return self.operation

    @property
    def by_library(self) -> bool:
        """False: no algorithm of the catalogue is a library's."""
        return False

    @property
    def windowed(self) -> bool:
        """Whether only so many sends may be under way at a time."""
        return super().windowed or (self.algorithm in ("leaders", "multi-leader") and self.radix is not None)


class RandomShifts(Communication):
    """Random traffic for the background of other jobs."""

    kind: Literal["random-shifts"] = Field(description="Kind of workload.")
    bytes: Size = Field(description="Size of each message.", examples=["64 KB"])
    rounds: Count = Field(
        description="Messages of a rank, one after the other: each to the rank so much further, by a random number "
        "that is the same for all ranks."
    )
    seed: NonNegative = Field(1, description="Seed of these numbers.")


class Tabled(Communication):
    """What kinds have in common whose messages are in a file."""

    _what: ClassVar[str]
    _pack: ClassVar[patterns.Pack]

    def schedule_keys(self) -> dict[str, Any]:
        """Return the keys that the compiled description reads: the path of the table, which is as its digest says."""
        keys = super().schedule_keys()
        return keys | {"table": str(patterns.table(str(keys["table"])))}

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any) -> Any:
        """Put the digest of the table in the place of its file."""
        if not isinstance(data, dict):
            return data
        file, table = data.get("file"), data.get("table")
        if file is None and table is None:
            raise problem("missing", cls._what, key="file")
        return cls._by_table(data)

    @classmethod
    def _by_table(cls, data: dict[str, Any]) -> dict[str, Any]:
        return patterns.by_table(data, cls._pack)


class Pattern(Tabled):
    """The messages of a table: a sparse exchange of any model."""

    _what = "a table of messages, .csv, .npz or .nc"
    _pack = patterns.pack_messages

    kind: Literal["pattern"] = Field(description="Kind of workload.")
    file: Text | None = Field(
        None,
        description="Table of messages, a .csv, .npz or .nc file with the columns source, target and bytes, and maybe "
        "tag and step; beside the YAML file, or below the project's folder. Required, unless the table is known.",
        examples=["halo.csv"],
    )
    table: Digest | None = Field(
        None, description="Digest of what is in the file, which then may not change. Default: that of the file."
    )
    repeats: Count = Field(
        schedules.default("pattern", "repeats"), description="How often all steps come one after the other."
    )


class Expanded(Settings):
    """The algorithm by which a collective of a trace becomes messages; keys as in collectives of their own."""

    algorithm: Annotated[str, DependentChoice(schedules.words("collective", "algorithm"))] = Field(
        description="An algorithm of the operation; see docs/collectives.md."
    )
    radix: Count | None = Field(None, description="k, where the algorithm has one.")
    segments: Count | None = Field(None, description="Parts in which the vector goes down a chain.")
    group: Count | None = Field(None, description="Consecutive ranks of a group, where the algorithm has groups.")
    remainder: Annotated[str, Choice(schedules.words("collective", "remainder"))] | None = Field(
        None, description="As in allreduce. Only for recursive-k."
    )


def algorithms_of(given: object) -> collective_calls.Algorithms:
    """Return by which algorithms collectives of a trace become messages.

    Parameters
    ----------
    given : object
        What a point says as `collectives`.

    Raises
    ------
    PydanticCustomError
        With problem, allowed and key, for what can't be.
    """
    if given is None:
        return collective_calls.DEFAULT_ALGORITHMS
    operations = ", ".join(collective_calls.DEFAULTS)
    libraries = ", ".join(library_choice.LIBRARIES)
    if not isinstance(given, dict):
        raise problem(f"found {show(given)}", f"algorithms of {operations}", key="collectives")
    library = given.get(collective_calls.LIBRARY)
    if library is not None and library not in library_choice.LIBRARIES:
        raise problem(f"found {show(library)}", libraries, key=f"collectives.{collective_calls.LIBRARY}")
    chosen = {}
    for operation, asked in given.items():
        if operation == collective_calls.LIBRARY:
            continue
        where = f"collectives.{operation}"
        keys = {"algorithm": asked} if isinstance(asked, str) else asked
        chosen[operation] = keys
        if operation not in collective_calls.DEFAULTS:
            raise problem(f"found '{operation}'", operations, key="collectives")
        if not isinstance(keys, dict):
            raise problem(f"found {show(keys)}", "an algorithm, or a mapping of keys to values", key=where)
        if unknown := keys.keys() - Expanded.model_fields.keys():
            allowed = ", ".join(Expanded.model_fields)
            raise problem(f"unknown key '{min(map(str, unknown))}'", allowed, key=where)
        count = {} if operation == "barrier" else {"count": 1}
        try:
            Collective.model_validate({"kind": "collective", "operation": operation, **count, **keys})
        except ValidationError as error:
            first = error.errors()[0]
            said = first.get("ctx", {})
            allowed = said.get("allowed", "an algorithm of `tramontane docs collectives`")
            raise problem(said.get("problem", first["msg"].lower()), allowed, key=where) from None
    return collective_calls.frozen(chosen, library)


@dataclass(frozen=True)
class _PackTrace:
    """Reads a trace, with collectives by these algorithms."""

    algorithms: collective_calls.Algorithms

    def __call__(self, path: Path) -> memoryview:
        return traces.pack(path, self.algorithms)


class Trace(Tabled):
    """What the ranks of an application did: messages and work, each after those that it depends on."""

    _what = traces.WHAT

    @classmethod
    def _by_table(cls, data: dict[str, Any]) -> dict[str, Any]:
        """Put the digest of the operations in the place of the file and of what makes operations of its collectives."""
        algorithms = algorithms_of(data.get("collectives"))
        if "collectives" in data and data.get("file") is None:
            raise problem("found a table, in which collectives are messages", "a file", key="collectives")
        rest = {key: value for key, value in data.items() if key != "collectives"}
        table = patterns.by_table(rest, _PackTrace(algorithms))
        if "collectives" in data and traces.is_goal(Path(data["file"])):
            raise problem("found with a trace in GOAL", traces.WITH_COLLECTIVES, key="collectives")
        return table

    kind: Literal["trace"] = Field(description="Kind of workload.")
    file: Text | None = Field(
        None,
        description="Trace in GOAL, text or binary, the anchor file of one in OTF2 (.otf2), or the folder that "
        "`tramontane trace` has written; beside the YAML file, or below the project's folder. Required, unless the "
        "trace is known.",
        examples=["model.goal"],
    )
    table: Digest | None = Field(
        None, description="Digest of what is in the file, which then may not change. Default: that of the file."
    )
    collectives: dict[Name, Expanded | Text] = Field(  # never set: the table has the messages they become
        None,  # type: ignore[arg-type]
        description="Algorithms by which collectives of a program or of OTF2 become messages, by operation ("
        + ", ".join(collective_calls.DEFAULTS)
        + "): a name, or a mapping of keys. As `library`: who chooses all others, by size and ranks, "
        + " or ".join(library_choice.LIBRARIES)
        + ". Default: those of docs/your-application.md.",
    )
    work_scale: Annotated[int, Quantity(FRACTION, most=schedules.most("trace", "work_scale"))] = Field(
        schedules.default("trace", "work_scale"),
        description="Work, relative to that of the trace: 50 % on processors that are twice as fast.",
        examples=["50 %"],
    )
