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

from tramontane.study.networks.machines import Protocol
from tramontane.study.workloads import schedules
from tramontane.study.workloads.kinds import Workload

CONTROL = 64
"""Bytes of a header, a get request or an acknowledgement."""

NO_PUT, PLAIN_PUT, ACKNOWLEDGED_PUT = range(3)
"""Whether a message is a put, as `KindOfMessage` of the compiled traffic numbers it."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Puts = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Traffic:
    """The messages of a phase, those of all repeats.

    Attributes
    ----------
    sizes : ndarray
        Sizes that occur [B].
    puts : ndarray
        Which of them are puts, and of which kind; a size may occur several times.
    counts : ndarray
        Number of messages of each.
    posted : float
        Messages that all ranks together have under way at a time.
    windowed : bool
        Whether ranks hold sends back until others are done.
    source, destination : ndarray
        Pairs of ranks that talk to each other, a sample.
    pair_bytes, pair_put, pair_weight : ndarray
        Bytes of the message of each pair, which put it is, and how many messages it stands for.
    """

    sizes: Integers
    puts: Puts
    counts: Floats
    posted: float
    windowed: bool
    source: Integers
    destination: Integers
    pair_bytes: Integers
    pair_put: Puts
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

    def packets(self, packet: int) -> int:
        """Return the number of packets of all messages as the simulator counts them: an empty message has none."""
        return round(float(-(-self.sizes // packet) @ self.counts))

    def travelling(self, packet: int, protocol: Protocol) -> float:
        """Return the number of packets on the network, without control packets; an empty message is one, too."""
        return float(packets(self.sizes, packet, protocol.negligible_size) @ self.counts)

    def control(self, packet: int, protocol: Protocol) -> int:
        """Return the number of control packets on the network."""
        return round(float(control(self.sizes, self.puts, packet, protocol) @ self.counts))

    def pair_control(self, packet: int, protocol: Protocol) -> Floats:
        """Return the control packets that each pair puts on the network."""
        return self.pair_weight * control(self.pair_bytes, self.pair_put, packet, protocol)

    def pair_load(self, packet: int, protocol: Protocol) -> Floats:
        """Return the packets, control packets included, that each pair puts on the network; if none do, messages."""
        own = self.pair_weight * packets(self.pair_bytes, packet, protocol.negligible_size)
        load = own + self.pair_control(packet, protocol)
        return load if load.any() else self.pair_weight


def packets(sizes: Integers, packet: int, above: int) -> Integers:
    """Return the packets of messages of some sizes [B]; none of those up to `above`, which bypass the network."""
    return np.where(sizes > above, np.maximum(1, -(-sizes // packet)), 0)


def control(sizes: Integers, puts: Puts, packet: int, protocol: Protocol) -> Integers:
    """Return the control packets of messages of some sizes [B], some of which are puts.

    Short messages and puts travel with their header, eager ones take a header and a get request, larger ones an
    acknowledgement as well. Of puts, some take an acknowledgement, whatever their size. Each is a message of 64 B, so
    several packets where these are smaller. With a `negligible_size` of 64 B or more, all bypass the network.
    """
    if protocol.negligible_size >= CONTROL:
        return np.zeros_like(sizes)
    of_two_sides = 2 * (sizes > protocol.short_limit) + (sizes > protocol.eager_limit)
    return np.where(puts == NO_PUT, of_two_sides, puts == ACKNOWLEDGED_PUT) * -(-CONTROL // packet)


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
            puts=phase["puts"],
            counts=phase["messages"],
            posted=phase["posted"],
            windowed=phase["windowed"],
            source=phase["source"].astype(np.int64),
            destination=phase["destination"].astype(np.int64),
            pair_bytes=phase["bytes"],
            pair_put=phase["put"],
            pair_weight=phase["weight"],
        )
        for phase in phases
        if len(phase["sizes"])
    )
