"""What ranks did when, in the trace event format that Perfetto and chrome://tracing open.

The format is Google's "Trace Event Format": JSON, times in microseconds. A rank is a thread of one process, and
so is each processor that works beside it.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

WAITING = {
    "late_sender": "late sender",
    "late_receiver": "late receiver",
    "imbalance": "imbalance of work",
    "nic_queue": "NIC queue",
    "network": "network",
}
"""Why a rank waits for a message, in words."""
CAUSES = WAITING | {"storage": "storage"}
"""Why a rank waits, in words."""
_COLOURS = {
    "work": "good",
    "busy": "rail_response",
    "late_sender": "bad",
    "late_receiver": "terrible",
    "imbalance": "yellow",
    "nic_queue": "grey",
    "network": "rail_load",
    "storage": "thread_state_iowait",
}
_MICRO = 1e6


class Stretch(NamedTuple):
    """Something that a rank did, or why it waited.

    Attributes
    ----------
    rank : int
        Who.
    what : str
        "work", "busy" (with messages), or a key of `CAUSES`.
    peer : int
        Whom it waited for; itself where it waited for no message.
    begin, end : float
        When [s].
    origin : int
        Where it waited for a message: the last rank that, and not the network, decided when the message came that
        ended it; else the rank itself.
    since : float
        When that rank posted the message, or answered it [s]; else the begin.
    cpu : int
        Which of the rank's processors did it; processor 0 does all but work.
    """

    rank: int
    what: str
    peer: int
    begin: float
    end: float
    origin: int
    since: float
    cpu: int = 0


def name_of(rank: int, cpu: int) -> str:
    """Return the name of a rank's processor."""
    return f"rank {rank}, cpu {cpu}" if cpu else f"rank {rank}"


def trace_events(stretches: Sequence[Stretch], title: str) -> dict[str, Any]:
    """Return the content of a file of trace events.

    Parameters
    ----------
    stretches : sequence of Stretch
        In any order.
    title : str
        What was simulated.
    """
    cpus = 1 + max((each.cpu for each in stretches), default=0)
    names: list[dict[str, Any]] = [{"ph": "M", "name": "process_name", "pid": 0, "args": {"name": title}}]
    for rank, cpu in sorted({(each.rank, each.cpu) for each in stretches}):
        own = {"ph": "M", "name": "thread_name", "pid": 0, "tid": rank * cpus + cpu}
        names.append({**own, "args": {"name": name_of(rank, cpu)}})
    events = [
        {
            "ph": "X",
            "name": CAUSES.get(each.what, each.what),
            "cat": "waiting" if each.what in CAUSES else each.what,
            "pid": 0,
            "tid": each.rank * cpus + each.cpu,
            "ts": each.begin * _MICRO,
            "dur": (each.end - each.begin) * _MICRO,
            "cname": _COLOURS[each.what],
            **({"args": {"for rank": each.peer}} if each.what in WAITING else {}),
        }
        for each in stretches
    ]
    return {"displayTimeUnit": "ns", "traceEvents": names + events}
