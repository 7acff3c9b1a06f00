"""What a rank does, as GOAL: messages, work, and collectives, which become messages here."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tramontane.study.collectives.collective_calls import Algorithms, Exchange, Expansion
from tramontane.study.traces import rank_grids
from tramontane.study.traces.rank_grids import Grid, Group, Offset

_Gate = list[tuple[int, bool]]
"""Labels of operations, and whether their start is enough."""


@dataclass(frozen=True)
class Message:
    """A message with a neighbour: "send" or "recv", bytes, offset, tag, and processor."""

    kind: str
    size: int
    away: Offset
    tag: int
    cpu: int


@dataclass(frozen=True)
class Work:
    """Work [ns], and who does it."""

    time: int
    cpu: int


@dataclass(frozen=True)
class Call:
    """A collective call: its operation, communicator, the root's place, the size of a block [B], and tag."""

    operation: str
    group: Group
    root: int
    size: int
    tag: int

    def expansion(self, rank: int, grid: Grid, algorithms: Algorithms) -> Expansion:
        """Return what becomes messages of it in the communicator that a rank is in."""
        members = rank_grids.members(grid, self.group, rank)
        return Expansion(self.tag, Exchange(self.operation, members, self.root, self.size), algorithms)


@dataclass(frozen=True)
class Program:
    """What ranks at a place of the grid do.

    Attributes
    ----------
    steps : sequence of Message, Work or Call
        Those of a kind in the order in which they are matched.
    dependencies : sequence of (int, int, bool)
        The earlier one, the later one, and whether this waits for the start only.
    """

    steps: Sequence[Message | Work | Call]
    dependencies: Sequence[tuple[int, int, bool]]

    @functools.cached_property
    def order(self) -> list[int]:
        """In which steps are told: each after those that it waits for, if kinds stay in order so."""
        sorter: TopologicalSorter[int] = TopologicalSorter()
        last: dict[str, int] = {}
        for number, step in enumerate(self.steps):
            kind = step.kind if isinstance(step, Message) else ""
            sorter.add(number, *([last[kind]] if kind in last else []))
            last[kind] = number
        for earlier, later, _ in self.dependencies:
            sorter.add(later, earlier)
        try:
            return list(sorter.static_order())
        except CycleError:  # GOAL may have any order
            return list(range(len(self.steps)))

    @functools.cached_property
    def needs(self) -> list[list[tuple[int, bool]]]:
        """What each step waits for, and whether its start is enough."""
        found: list[list[tuple[int, bool]]] = [[] for _ in self.steps]
        for earlier, later, on_start in self.dependencies:
            found[later].append((earlier, on_start))
        return found


def text_of(rank: int, program: Program, grid: Grid, algorithms: Algorithms) -> str:
    """Return what a rank does as GOAL.

    Parameters
    ----------
    rank : int
        Its number.
    program : Program
        Of the place where it is.
    grid : Grid
        Of all ranks.
    algorithms : tuple
        By which collectives become messages; see :func:`tramontane.study.collectives.collective_calls.frozen`.
    """
    text = _Text()
    begins: dict[int, _Gate] = {}
    ends: dict[int, _Gate] = {}
    rounds: dict[Call, list[list[tuple[str, int, int, int]]]] = {}

    def gate_of(number: int) -> _Gate:
        found = (begins[earlier] if on_start else ends[earlier] for earlier, on_start in program.needs[number])
        return list(dict.fromkeys(need for needs in found for need in needs))

    for number in program.order:
        step = program.steps[number]
        if isinstance(step, Call):
            if step not in rounds:
                rounds[step] = list(step.expansion(rank, grid, algorithms).rounds(rank))
            begins[number] = gate_of(number)
            ends[number] = text.rounds(rounds[step], begins[number])
            continue
        if isinstance(step, Work):
            label = text.work(step.time, step.cpu)
        else:
            other = rank_grids.neighbour(grid, rank, step.away)
            label = text.message(step.kind, other, step.tag, step.size, step.cpu)
        begins[number], ends[number] = [(label, True)], [(label, False)]
    for number in program.order:
        if not isinstance(program.steps[number], Call):
            text.depend(begins[number][0][0], gate_of(number))
    body = "".join(text.lines + text.waits)
    return f"rank {rank} {{\n{body}}}\n"


class _Text:
    """Operations of a rank, with a label each, and what they wait for."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.waits: list[str] = []

    def _add(self, text: str, cpu: int) -> int:
        label = len(self.lines) + 1
        self.lines.append(f"l{label}: {text}{f' cpu {cpu}' if cpu else ''}\n")
        return label

    def work(self, time: int, cpu: int = 0) -> int:
        """Return the label of work [ns]."""
        return self._add(f"calc {time}", cpu)

    def message(self, kind: str, other: int, tag: int, size: int, cpu: int = 0) -> int:
        """Return the label of a message [B]."""
        what, way = ("send", "to") if kind == "send" else ("recv", "from")
        return self._add(f"{what} {size}b {way} {other} tag {tag}", cpu)

    def depend(self, label: int, gate: _Gate) -> None:
        """Let an operation wait for others."""
        self.waits += [f"l{label} {'irequires' if on_start else 'requires'} l{earlier}\n" for earlier, on_start in gate]

    def rounds(self, rounds: Sequence[Sequence[tuple[str, int, int, int]]], gate: _Gate) -> _Gate:
        """Tell rounds of messages, each of which waits for the one before; return what waits for the last."""
        for messages in rounds:
            labels = [self.message(*message) for message in messages]
            for label in labels:
                self.depend(label, gate)
            gate = [(label, False) for label in labels]
        if rounds and len(gate) > 1:
            label = self.work(0)
            self.depend(label, gate)
            gate = [(label, False)]
        return gate
