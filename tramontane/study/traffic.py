"""What a workload sends: how many messages of which size, between which ranks.

The compiled schedules are asked, all ranks of them where that is quick. Then the numbers are exact; else they are those
of a sample of ranks. Points that differ in their machine only share the answer.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic_core import PydanticCustomError

from tramontane.study import schedules
from tramontane.study.kinds import Workload
from tramontane.study.machines import Protocol

CONTROL = 64
"""Bytes of a header, a get request or an acknowledgement."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Traffic:
    """The messages of a phase, those of all repeats.

    Attributes
    ----------
    sizes : ndarray
        Sizes that occur [B].
    counts : ndarray
        Number of messages of each.
    posted : float
        Messages that all ranks together have under way at a time.
    windowed : bool
        Whether ranks hold sends back until others are done.
    source, destination : ndarray
        Pairs of ranks that talk to each other, a sample.
    pair_bytes, pair_weight : ndarray
        Bytes of the message of each pair, and how many messages it stands for.
    """

    sizes: Integers
    counts: Floats
    posted: float
    windowed: bool
    source: Integers
    destination: Integers
    pair_bytes: Integers
    pair_weight: Floats

    @property
    def messages(self) -> int:
        """Number of messages."""
        return round(float(self.counts.sum()))

    @property
    def bytes(self) -> int:
        """Payload of all messages [B]."""
        return round(float(self.sizes @ self.counts))

    def up_to(self, size: int) -> float:
        """Return the number of messages of at most `size` bytes."""
        return float(self.counts[self.sizes <= size].sum())

    def packets(self, packet: int, above: int = -1) -> int:
        """Return the number of packets of messages larger than `above`; an empty message is one packet, too."""
        return round(float(packets(self.sizes, packet, above) @ self.counts))

    def control(self, protocol: Protocol) -> int:
        """Return the number of control packets on the network."""
        return round(float(control(self.sizes, protocol) @ self.counts))

    def pair_load(self, packet: int, protocol: Protocol) -> Floats:
        """Return the packets, control packets included, that each pair puts on the network; if none do, messages."""
        own = packets(self.pair_bytes, packet, protocol.negligible_size) + control(self.pair_bytes, protocol)
        return self.pair_weight * (own if own.any() else 1)


def packets(sizes: Integers, packet: int, above: int = -1) -> Integers:
    """Return the packets of messages of some sizes [B]; none of those up to `above`, which bypass the network."""
    return np.where(sizes > above, np.maximum(1, -(-sizes // packet)), 0)


def control(sizes: Integers, protocol: Protocol) -> Integers:
    """Return the control packets of messages of some sizes [B].

    Short messages travel with their header, eager ones take a header and a get request, larger ones an acknowledgement
    as well; with a `negligible_size` of 64 B or more, all of them bypass the network.
    """
    if protocol.negligible_size >= CONTROL:
        return np.zeros_like(sizes)
    return 2 * (sizes > protocol.short_limit) + (sizes > protocol.eager_limit)


@lru_cache(maxsize=4096)
def traffic(workload: Workload, ranks: int) -> tuple[Traffic, ...]:
    """Return the traffic of each phase in which something is sent.

    A workload that is impossible sends nothing: whoever runs it says why (points of comparisons are not validated).
    """
    try:
        described = schedules.described(workload.schedule_keys(), ranks)
    except PydanticCustomError:
        return ()
    phases: list[dict[str, Any]] = described.traffic()
    return tuple(
        Traffic(
            sizes=phase["sizes"],
            counts=phase["messages"],
            posted=phase["posted"],
            windowed=phase["windowed"],
            source=phase["source"].astype(np.int64),
            destination=phase["destination"].astype(np.int64),
            pair_bytes=phase["bytes"],
            pair_weight=phase["weight"],
        )
        for phase in phases
        if len(phase["sizes"])
    )
