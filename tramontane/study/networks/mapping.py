"""Which node of a job each rank is on, where nodes hold several, and how the nodes of jobs may be chosen.

A job has nodes 0, 1, ...; the allocation says which of the machine's they are.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tramontane.extension import simulator
from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import ChoiceOrLists, Numbers

ALLOCATIONS = ("first-available", "random", "round-robin-groups")
MAPPINGS = ("block", "cyclic", "random")
TILE, NODES, SHAPE = "tile", "nodes", "shape"
FILE = "file"
"""A list of nodes may be in one; see :mod:`tramontane.study.networks.rank_files`."""
MAX_RANKS_PER_NODE: int = simulator().MAX_RANKS_PER_NODE
MAX_RANK = 2**31 - 1

Ruled = str | tuple[str, tuple[int, ...]]
"""A rule's word, or its key and numbers."""

_GIVEN = (NODES, Numbers(0, different=True), "[different numbers]")
JOB_ALLOCATION = ChoiceOrLists(ALLOCATIONS, (_GIVEN,))
"""Rules for one of several jobs."""
ALLOCATION = ChoiceOrLists(ALLOCATIONS, (_GIVEN, (SHAPE, Numbers(1), "[X, ...]")))
"""Rules for a job of its own."""
RANK_MAPPING = ChoiceOrLists(MAPPINGS, ((TILE, Numbers(1, 2), "[a, b]"), (NODES, Numbers(0), "[...]")), FILE)

Integers = NDArray[np.int64]


def spelled(rule: Ruled) -> str | dict[str, list[int]]:
    """Return a rule as YAML has it."""
    return rule if isinstance(rule, str) else {rule[0]: list(rule[1])}


def in_words(rule: Ruled) -> str:
    """Return a rule without its numbers, as an error line says it."""
    return rule if isinstance(rule, str) else {NODES: "a list of nodes", SHAPE: "a shape", TILE: "a tile"}[rule[0]]


def is_scattered(rule: Ruled) -> bool:
    """Tell whether an allocation may take nodes from anywhere; otherwise they are close together."""
    return rule != ALLOCATIONS[0] and rule[0] != SHAPE


@dataclass(frozen=True)
class Mapping:
    """How the ranks of a job are mapped to its nodes.

    Attributes
    ----------
    rule : str or tuple
        A word of `MAPPINGS`; or `tile` with the tile [a, b] of processes on a node, or `nodes` with the node of each
        rank.
    ranks, ranks_per_node : int
        Number of ranks, and of places of a node.
    grid : tuple of int, optional
        Processes [cx, cy] of the workload, if it has them.
    seed : int
        The point's, for a mapping at random.
    """

    rule: Ruled
    ranks: int
    ranks_per_node: int
    grid: tuple[int, int] | None = None
    seed: int = 1

    @property
    def kind(self) -> str:
        """One of `MAPPINGS`, `tile` or `nodes`."""
        return self.rule if isinstance(self.rule, str) else self.rule[0]

    @property
    def numbers(self) -> tuple[int, ...]:
        """What is given with the kind: the tile, or the nodes."""
        return () if isinstance(self.rule, str) else self.rule[1]

    @property
    def nodes(self) -> int:
        """Nodes of the job."""
        full = -(-self.ranks // self.ranks_per_node)
        return max(full, 1 + max(self.numbers)) if self.kind == NODES else full

    def node_of(self, ranks: Integers) -> Integers:
        """Return the job's node of some ranks."""
        if self.kind == "cyclic":
            return ranks % self.nodes
        if self.kind == "random":
            return np.asarray(simulator().random_order(self.ranks, self.seed))[ranks] // self.ranks_per_node
        if self.kind == NODES:
            return np.asarray(self.numbers, dtype=np.int64)[ranks]
        if self.kind == TILE and self.grid:
            (a, b), cx = self.numbers, self.grid[0]
            return ranks // cx // b * (cx // a) + ranks % cx // a
        return ranks // self.ranks_per_node

    def check(self) -> None:
        """Raise the error of a point (PydanticCustomError) whose ranks can't be mapped so."""
        if self.kind == NODES:
            self._check_nodes()
        elif self.kind == TILE:
            self._check_tile()

    def _check_nodes(self) -> None:
        if len(self.numbers) != self.ranks:
            raise problem(f"found {len(self.numbers)} nodes", f"{self.ranks}, one for each rank", key="mapping.nodes")
        node, held = Counter(self.numbers).most_common(1)[0]
        if held > self.ranks_per_node:
            allowed = f"at most {self.ranks_per_node}, the places of a node"
            raise problem(f"found {held} ranks on node {node}", allowed, key="mapping.nodes")

    def _check_tile(self) -> None:
        found = f"found {list(self.numbers)}"
        if self.grid is None:
            raise problem(f"{found} for a workload without processes [cx, cy]", "any other", key="mapping.tile")
        if math.prod(self.numbers) != self.ranks_per_node:
            raise problem(found, f"[a, b] with a b = {self.ranks_per_node}, ranks_per_node", key="mapping.tile")
        if any(size % part for size, part in zip(self.grid, self.numbers, strict=True)):
            raise problem(found, f"[a, b] that divides the processes, {list(self.grid)}", key="mapping.tile")
