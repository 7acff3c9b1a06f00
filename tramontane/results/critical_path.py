"""The critical path of a run: what its end waited for, back to its start, through ranks and messages.

It begins with the rank that is busy last. Where a rank worked, was busy with messages, or waited for the storage, the
path stays with it; where it has several processors, with what another one of these ended at the moment. Where it waited
for a message, the path goes on at the rank that last decided when the message came that ended the wait, by posting it
late or by answering it late, and takes the message's way in between. So the parts of the path follow each other without
a gap from the first start of a rank to the last end, and what makes one of them shorter may make the run shorter.
"""

import bisect
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple, TypeVar

from tramontane.results.timeline import WAITING, Stretch

ON_THE_WAY = ("nic_queue", "network")
"""Parts of a path in which a message was under way."""
NOTHING = "nothing"
"""Of a path: its rank had not started, or was interrupted, or nothing is told of it."""
_Key = TypeVar("_Key")


class Part(NamedTuple):
    """A part of a critical path.

    Attributes
    ----------
    what : str
        "work", "busy", "storage", "nic_queue", "network"; or "nothing", before a rank or its job starts and while noise
        interrupts it.
    rank, origin : int
        Who worked, or waited for the storage; where a message was under way, who got it and who had posted or answered
        it. Both are one rank where it pulled the message from `peer`, or waited for an acknowledgement of that.
    peer : int
        The other end of the message; else the rank.
    begin, end : float
        When [s].
    cpu : int
        Which of the rank's processors worked.
    """

    what: str
    rank: int
    origin: int
    peer: int
    begin: float
    end: float
    cpu: int = 0


def critical_path(stretches: Iterable[Stretch], span: tuple[float, float]) -> list[Part]:
    """Return the parts of the critical path, the first one first.

    Parameters
    ----------
    stretches : iterable of Stretch
        Of all ranks, by rank, processor and begin; those of a processor do not overlap.
    span : tuple of float
        When the first rank starts, and when the last one ends [s]; in between are the parts.

    Raises
    ------
    ValueError
        If there are none.
    """
    by_rank: dict[int, list[list[Stretch]]] = {}
    for number, of_rank in groupby(stretches, key=lambda each: each.rank):
        by_rank[number] = [list(of) for _, of in groupby(of_rank, key=lambda each: each.cpu)]
    if not by_rank:
        raise ValueError("critical path: no rank did anything")
    rank = max(by_rank, key=lambda each: max(of[-1].end for of in by_rank[each]))
    start, time = span
    parts: list[Part] = []

    def add(what: str, begin: float, of: Stretch | None = None, cpu: int = 0) -> None:
        nonlocal time
        begin = max(begin, start)
        if begin < time:
            origin, peer = (of.origin, of.peer) if of else (rank, rank)
            parts.append(Part(what, rank, origin, peer, begin, time, cpu))
            time = begin

    while time > start:
        before = [
            (of, place)
            for of in by_rank.get(rank, ())
            if (place := bisect.bisect_left(of, time, key=attrgetter("begin"))) > 0
        ]
        if not before:
            add(NOTHING, start)
            break
        of, place = max(before, key=lambda each: _nearness(each[0][each[1] - 1], time))
        place -= 1
        last = of[place]
        add(NOTHING, last.end)
        if last.what not in WAITING or last.since >= time:
            add(last.what, last.begin, cpu=last.cpu)
            continue
        # Back along the message: what the rank waited for while it was under way, and before that the network.
        while place >= 0 and time > last.since:
            own = of[place]
            if own.what not in ON_THE_WAY or (own.origin, own.since) != (last.origin, last.since) or own.end < time:
                break
            add(own.what, max(own.begin, last.since), last)
            place -= 1
        add("network", last.since, last)
        rank = last.origin
    return parts[::-1]


def _nearness(stretch: Stretch, time: float) -> tuple[float, bool, int]:
    """Return how near to a moment something ended: what goes on beside that has decided nothing."""
    goes_on = stretch.end > time
    return (-1.0 if goes_on and stretch.cpu else min(stretch.end, time)), not goes_on, -stretch.cpu


def shares(path: Sequence[Part]) -> dict[str, float]:
    """Return the share of each kind of part in the time of a path, the largest first."""
    return _shares(((part.what, part.end - part.begin) for part in path), path)


def shares_of_ranks(path: Sequence[Part]) -> dict[int, float]:
    """Return the share that each rank worked, or was busy, in the time of a path, the largest first."""
    return _shares(((part.rank, part.end - part.begin) for part in path if part.what in ("work", "busy")), path)


def shares_of_pairs(path: Sequence[Part]) -> dict[tuple[int, int], float]:
    """Return the share that messages from a rank to another were under way in the time of a path, the largest first."""
    ends = ((part, part.peer if part.origin == part.rank else part.origin) for part in path if part.what in ON_THE_WAY)
    return _shares((((source, part.rank), part.end - part.begin) for part, source in ends), path)


def _shares(times: Iterable[tuple[_Key, float]], path: Sequence[Part]) -> dict[_Key, float]:
    sums: defaultdict[_Key, float] = defaultdict(float)
    for key, time in times:
        sums[key] += time
    whole = path[-1].end - path[0].begin
    return {key: time / whole for key, time in sorted(sums.items(), key=lambda each: -each[1])}
