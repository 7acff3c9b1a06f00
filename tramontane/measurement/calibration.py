"""What a calibration runs on a machine: messages between two ranks, and operations at several numbers of ranks.

The checks run all of it with the tag `calibration`, so that latency, bandwidth, rate of messages and small allreduces
are watched like anything else; `tramontane calibrate` runs the same cases and fits a machine to them.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from tramontane.study.points.points import MEASURED, Point, SystemChoice

#: ReFrame's tag.
TAG = "calibration"
#: Name of the case that measures messages.
MESSAGES = "calibration-messages"
#: Numbers of ranks of the checks; a partition that holds fewer skips the others.
RANKS = (2, 4, 8, 16)

SIZES = tuple(2**exponent for exponent in range(19))
"""Messages from 1 B to 256 KiB: beyond, times are those of caches more than those of a network."""
_WINDOW, _REPETITIONS, _WARMUP = 16, 200, 20
_GRID = [64, 48, 32]

#: What is measured, and simulated, at each number of ranks. The library's allreduce is simulated as recursive doubling.
WORKLOADS: dict[str, dict[str, Any]] = {
    "allreduce-recursive-doubling": {"kind": "allreduce", "algorithm": "recursive-doubling"},
    "allreduce-library": {"kind": "allreduce", "algorithm": "library"},
    "transposition-burst": {"kind": "transposition", "algorithm": "burst", "grid": _GRID},
    "transposition-bruck": {"kind": "transposition", "algorithm": "bruck", "grid": _GRID},
    "transposition-ring-1": {"kind": "transposition", "algorithm": "ring-k", "radix": 1, "grid": _GRID},
    "halo-3": {"kind": "halo", "width": 3, "grid": _GRID},
}
#: The one whose stages are single messages, so that it says something about the machine.
SMALL_ALLREDUCE = "allreduce-recursive-doubling"


@dataclass(frozen=True)
class Operation:
    """An operation that a calibration measures."""

    name: str
    ranks: int
    point: Point

    @property
    def case(self) -> str:
        """What a report calls it."""
        return f"{TAG}-{self.name}-{self.ranks}"


def operations(ranks: Iterable[int], system: SystemChoice | None = None) -> Iterator[Operation]:
    """Yield each workload at each number of ranks, as points of a system."""
    for number in ranks:
        for name, workload in WORKLOADS.items():
            settings = {"ranks": number, "workload": workload, "substrate": MEASURED, "system": system}
            yield Operation(name, number, Point.model_validate(settings))


def belongs(case: str) -> bool:
    """Return whether a case, by its name, is one of a calibration."""
    return case.startswith(f"{TAG}-")


def per_node(ranks: int, nodes: int, most: int) -> int:
    """Return how many of the ranks a node gets, at most `most`, so that they are spread over so many nodes."""
    return min(-(-ranks // nodes), most)


def hosts_wrong(hosts: Collection[str], nodes: int) -> str:
    """Return what is wrong with where two ranks ran that exchanged messages; empty if nothing is.

    Parameters
    ----------
    hosts : collection of str
        Names of the hosts they ran on.
    nodes : int
        Of the partition: where it has several, messages are to go through its network.
    """
    if nodes < 2 or len(hosts) != 1:
        return ""
    return f"both ranks ran on {', '.join(hosts)}, so messages went through its memory, not through the network"


def messages_arguments() -> list[str]:
    """Return the program's arguments for times of messages."""
    timing = [f"window={_WINDOW}", f"repetitions={_REPETITIONS}", f"warmup={_WARMUP}"]
    return ["kind=pingpong", f"sizes={','.join(map(str, SIZES))}", *timing]
