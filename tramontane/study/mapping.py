"""Which node of a job each rank is on, where nodes hold several.

A job has nodes 0, 1, ...; the allocation says which of the machine's they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tramontane.study.messages import problem

MAPPINGS = ("block", "cyclic")
TILE, NODES = "tile", "nodes"
MAX_RANKS_PER_NODE = 1024
"""As the simulator has it."""

Integers = NDArray[np.int64]


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
    """

    rule: str | tuple[str, tuple[int, ...]]
    ranks: int
    ranks_per_node: int
    grid: tuple[int, int] | None = None

    @property
    def nodes(self) -> int:
        """Nodes of the job."""
        full = -(-self.ranks // self.ranks_per_node)
        return max(full, 1 + max(self.rule[1])) if self.rule[0] == NODES else full

    def node_of(self, ranks: Integers) -> Integers:
        """Return the job's node of some ranks."""
        if self.rule == "cyclic":
            return ranks % self.nodes
        if self.rule[0] == NODES:
            return np.asarray(self.rule[1], dtype=np.int64)[ranks]
        if self.rule[0] == TILE and self.grid:
            (a, b), cx = self.rule[1], self.grid[0]
            return ranks // cx // b * (cx // a) + ranks % cx // a
        return ranks // self.ranks_per_node

    def check(self) -> None:
        """Raise the error of a point (PydanticCustomError) whose ranks can't be mapped so."""
        if self.rule[0] == NODES:
            self._check_nodes(self.rule[1])
        elif self.rule[0] == TILE:
            self._check_tile(self.rule[1])

    def _check_nodes(self, given: tuple[int, ...] | str) -> None:
        if len(given) != self.ranks:
            raise problem(f"found {len(given)} nodes", f"{self.ranks}, one for each rank", key="mapping.nodes")
        held = np.bincount(np.asarray(given, dtype=np.int64))
        if held.max() > self.ranks_per_node:
            found = f"found {held.max()} ranks on node {held.argmax()}"
            raise problem(found, f"at most {self.ranks_per_node}, the places of a node", key="mapping.nodes")

    def _check_tile(self, tile: tuple[int, ...] | str) -> None:
        found = f"found {list(tile)}"
        if self.grid is None:
            raise problem(f"{found} for a workload without processes [cx, cy]", "any other", key="mapping.tile")
        if len(tile) != 2 or int(tile[0]) * int(tile[1]) != self.ranks_per_node:
            raise problem(found, f"[a, b] with a b = {self.ranks_per_node}, ranks_per_node", key="mapping.tile")
        if any(int(size) % int(part) for size, part in zip(self.grid, tile, strict=True)):
            raise problem(found, f"[a, b] that divides the processes, {list(self.grid)}", key="mapping.tile")
