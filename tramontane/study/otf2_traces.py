"""Traces in OTF2: reads those of Score-P and others, and writes what our own workloads do as one.

Time inside MPI is no work, and time outside is. A receive that was open for any sender is known by who sent, because
events of a trace come after the fact.
"""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study.collective_calls import Call, Expansion
from tramontane.study.operations import Operation, Rank, pack
from tramontane.support.otf2 import PER_SECOND, archive, library

_POLLS = re.compile(r"p?mpi_(test|iprobe|improbe|request_get_status)", re.IGNORECASE)
_WAITS = re.compile(r"p?mpi_(test|iprobe|improbe|request_get_status|wait|probe|mprobe)", re.IGNORECASE)
_FIRST_TAG = 1 << 30
"""Tags of communicators other than that of all ranks, and of collectives, by communicator and tag."""


class _Mistake(ValueError):
    """What can't be in a trace: found, allowed."""


class _Tags:
    """A number for each tag of each communicator."""

    def __init__(self, ranks: int) -> None:
        self._everybody = tuple(range(ranks))
        self._known: dict[Any, int] = {}

    def of(self, members: tuple[int, ...], communicator: Any, tag: int | None) -> int:
        """Return the number; tag None is that of collectives."""
        if members == self._everybody and tag is not None and tag < _FIRST_TAG:
            return tag
        return _FIRST_TAG + self._known.setdefault((communicator, tag), len(self._known))


class _Reader:
    """Follows one rank through its events."""

    def __init__(self, otf2: Any, tags: _Tags, members: Callable[[Any], tuple[int, ...]]) -> None:
        self.rank = Rank()
        self.position = 0
        self._otf2, self._tags, self._members = otf2, tags, members
        self._depth = 0
        self._since: int | None = None
        self._polled = False
        self._started: list[Operation] = []
        self._ended: list[Operation] = []
        self._requests: dict[int, Operation] = {}
        self.calls: list[tuple[Operation, Any, str, int, int, int]] = []

    def event(self, event: Any, time: int) -> None:
        """Take an event at a time [ps]."""
        self.position += 1
        if self._since is None:
            self._since = time
        name = type(event).__name__
        if name in {"Enter", "Leave"}:
            self._region(name == "Enter", event.region, time)
        elif name.startswith("Rma") and "Win" not in name:
            raise _Mistake("a one-sided call", "messages of two sides, and collectives")
        elif (take := getattr(self, f"_{_snake(name)}", None)) is not None:
            if self._depth == 0:
                self._begin(name, time)
            take(event)
            if self._depth == 0:
                self._end(name, time)

    def _region(self, enters: bool, region: Any, time: int) -> None:
        if not (region.paradigm == self._otf2.Paradigm.MPI or region.name.lower().startswith(("mpi_", "pmpi_"))):
            self._polled = self._polled and self._depth > 0
            return
        if enters:
            if self._depth == 0:
                self._begin(region.name, time)
            self._depth += 1
        elif self._depth > 0:
            self._depth -= 1
            if self._depth == 0:
                self._end(region.name, time)

    def _begin(self, name: str, time: int) -> None:
        assert self._since is not None
        waits = self._polled and _WAITS.match(name)
        if time > self._since and not waits and not name.lower().startswith("mpi_init"):
            self.rank.work(self.position, time - self._since)
        self._started, self._ended = [], []

    def _end(self, name: str, time: int) -> None:
        self.rank.call(self.position, self._started, self._ended)
        self._since = time
        self._polled = bool(_POLLS.match(name)) and not self._ended

    def _message(self, other: int, event: Any) -> dict[str, Any]:
        members = self._members(event.communicator)
        if other >= len(members):
            raise _Mistake(f"rank {other} of a communicator", f"0 to {len(members) - 1}")
        tag = self._tags.of(members, event.communicator, event.msg_tag)
        return {"peer": members[other], "tag": tag, "amount": event.msg_length}

    def _request(self, event: Any, what: str) -> Operation:
        operation = self._requests.pop(event.request_id, None)
        if operation is None:
            raise _Mistake(f"the end of request {event.request_id}", f"requests that a {what} has begun")
        return operation

    def _mpi_send(self, event: Any) -> None:
        self._ended.append(self.rank.add("send", self.position, **self._message(event.receiver, event)))

    def _mpi_isend(self, event: Any) -> None:
        own = self.rank.add("send", self.position, **self._message(event.receiver, event))
        self._requests[event.request_id] = own
        self._started.append(own)

    def _mpi_isend_complete(self, event: Any) -> None:
        self._ended.append(self._request(event, "send"))

    def _mpi_recv(self, event: Any) -> None:
        self._ended.append(self.rank.add("receive", self.position, **self._message(event.sender, event)))

    def _mpi_irecv_request(self, event: Any) -> None:
        own = self._requests[event.request_id] = self.rank.add("work", self.position)  # until it is known what comes
        self._started.append(own)

    def _mpi_irecv(self, event: Any) -> None:
        own = self._request(event, "receive")
        own.kind = "receive"
        for key, value in self._message(event.sender, event).items():
            setattr(own, key, value)
        self._ended.append(own)

    def _mpi_request_cancelled(self, event: Any) -> None:
        self._request(event, "receive")

    _mpi_mrecv, _mpi_imrecv_request, _mpi_imrecv = _mpi_recv, _mpi_irecv_request, _mpi_irecv

    def _mpi_collective_end(self, event: Any) -> None:
        own = self.rank.add("collective", self.position, collective=Expansion())
        self._collective(own, event)

    def _non_blocking_collective_request(self, event: Any) -> None:
        own = self.rank.add("collective", self.position, collective=Expansion())
        self._requests[event.request_id] = own
        self._started.append(own)

    def _non_blocking_collective_complete(self, event: Any) -> None:
        self._collective(self._request(event, "collective"), event)

    def _collective(self, own: Operation, event: Any) -> None:
        self._ended.append(own)
        name = _names(self._otf2.CollectiveOp)[event.collective_op.value]
        self.calls.append((own, event.communicator, name, event.root, event.size_sent, event.size_received))


@functools.cache
def _names(constants: Any) -> dict[int, str]:
    """Return the names of the library's constants, by value."""
    return {getattr(constants, name).value: name for name in dir(constants) if name.isupper()}


@functools.cache
def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def read(path: Path) -> bytes:
    """Return the table of operations of an archive.

    Parameters
    ----------
    path : Path
        Its anchor file, such as ``traces.otf2``.

    Raises
    ------
    InputError
        If the library is missing, or the archive can't be read.
    ValueError
        If operations can't be; :func:`tramontane.study.traces.pack` makes one line of it, with rank and event.
    """
    otf2 = library(path)
    try:
        trace = otf2.reader.open(str(path))
    except Exception as error:  # the library has several
        raise _unreadable(path, error) from None
    with trace as opened:
        readers = _follow(otf2, opened, path)
    _join(readers)
    return pack([reader.rank for reader in readers], "event")


def _unreadable(path: Path, error: Exception) -> InputError:
    return InputError(path, "", None, "an OTF2 archive that is whole", problem=f"can't be read: {error}")


def _follow(otf2: Any, trace: Any, path: Path) -> list[_Reader]:
    groups = trace.definitions.groups
    everybody = [
        group
        for group in groups
        if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI
    ]
    if not everybody:
        raise InputError(path, "", None, "a trace of an MPI program", problem="found no ranks of MPI")
    numbers = {location: number for number, location in enumerate(everybody[0].members)}
    known: dict[Any, tuple[int, ...]] = {}

    def members(communicator: Any) -> tuple[int, ...]:
        if communicator not in known:
            if not hasattr(communicator, "group"):
                raise _Mistake("a communicator between two groups", "communicators within one")
            known[communicator] = tuple(numbers[each] for each in communicator.group.members)
        return known[communicator]

    tags = _Tags(len(numbers))
    readers = [_Reader(otf2, tags, members) for _ in numbers]
    resolution = trace.timer_resolution
    events = iter(trace.events)
    while True:
        try:
            location, event = next(events)
        except StopIteration:
            break
        except Exception as error:  # the library has several
            raise _unreadable(path, error) from None
        if location not in numbers:
            if type(event).__name__.startswith("Mpi"):
                where = f"location '{location.name}'"
                raise InputError(path, where, None, "those of one thread a rank", problem="found calls of MPI")
            continue
        reader = readers[numbers[location]]
        try:
            reader.event(event, event.time * PER_SECOND // resolution)
        except _Mistake as error:
            where = f"rank {numbers[location]}, event {reader.position}"
            raise InputError(path, where, None, error.args[1], problem=f"found {error.args[0]}") from None
    return readers


def _join(readers: list[_Reader]) -> None:
    """Tell each collective call what all of its ranks say of it."""
    meetings: dict[tuple[Any, int], dict[int, tuple[Operation, str, int, int, int]]] = {}
    tags: _Tags | None = None
    for number, reader in enumerate(readers):
        tags = reader._tags
        order = {operation: place for place, operation in enumerate(reader.rank.operations)}
        counts: dict[Any, int] = {}
        for own, communicator, name, root, sent, received in sorted(reader.calls, key=lambda call: order[call[0]]):
            count = counts[communicator] = counts.get(communicator, -1) + 1
            meetings.setdefault((communicator, count), {})[number] = (own, name, root, sent, received)
        done = {call[0] for call in reader.calls}
        for each in reader.rank.operations:
            if each.kind == "collective" and each not in done:
                raise ValueError(
                    f"rank {number}, event {each.position}: found a collective that never ends, allowed: ends"
                )
    for (communicator, count), said in meetings.items():
        members = readers[0]._members(communicator) or tuple(said)  # that of a rank alone names nobody
        first = next(iter(said))
        where = f"rank {first}, event {said[first][0].position}"
        if lacking := [rank for rank in members if rank not in said]:
            raise ValueError(
                f"{where}: found a collective, the {count + 1}th of its communicator, that rank {lacking[0]} does not "
                f"call, allowed: calls of all {len(members)} ranks"
            )
        names = {(name, root) for _, name, root, _, _ in said.values()}
        if len(names) > 1:
            (a, _), (b, _) = sorted(names)[:2]
            raise ValueError(f"{where}: found {a} at one rank and {b} at another, allowed: one call, and one root")
        name, root = names.pop()
        call = Call(
            name,
            members,
            root if root < len(members) else 0,
            tuple(said[rank][3] for rank in members),
            tuple(said[rank][4] for rank in members),
        )
        assert tags is not None
        for own, *_ in said.values():
            assert own.collective is not None
            own.collective.call, own.collective.tag = call, tags.of(members, communicator, None)


def write(schedule: Any, ranks: int, file: Path, title: str) -> None:
    """Write what the ranks of a schedule do as calls of MPI; the clock counts their work only.

    Parameters
    ----------
    schedule : Schedule
        Of the extension.
    ranks : int
        How many there are.
    file : Path
        The archive's anchor file, `NAME.otf2`.
    title : str
        Of the job.

    Raises
    ------
    ValueError
        For what calls can't say; nothing is written then.
    InputError
        See :func:`tramontane.support.otf2.archive`.
    """
    for rank in range(ranks):
        schedule.goal(rank)  # refuses what a graph of operations can't say
    with archive(file, list(range(ranks)), title) as out:
        types, paradigm = out.otf2.GroupType, out.otf2.Paradigm.MPI
        locations = tuple(out.locations[rank] for rank in range(ranks))
        out.definitions.group("MPI", types.COMM_LOCATIONS, paradigm=paradigm, members=locations)
        group = out.definitions.group("all ranks", types.COMM_GROUP, paradigm=paradigm, members=locations)
        world = out.definitions.comm("MPI_COMM_WORLD", group=group)
        for rank in range(ranks):
            _write_rank(out, schedule, rank, world)


def _write_rank(out: Any, schedule: Any, rank: int, world: Any) -> None:
    events, time, request = out.events(rank), 0, 0
    roles, paradigms = out.otf2.RegionRole, out.otf2.Paradigm
    work = out.definitions.region("work", region_role=roles.CODE, paradigm=paradigms.USER)
    send, receive, wait = (
        out.definitions.region(name, region_role=roles.POINT2POINT, paradigm=paradigms.MPI)
        for name in ("MPI_Isend", "MPI_Irecv", "MPI_Waitall")
    )
    open_: dict[int, tuple[list[tuple[int, Any]], list[int]]] = {}
    for number in range(schedule.rounds):
        round_ = schedule.round(rank, number)
        if round_.work:
            events.enter(time, work)
            time += round_.work
            events.leave(time, work)
        got: list[tuple[int, Any]] = []
        sent: list[int] = []
        for i in range(round_.receives):
            got.append((request := request + 1, schedule.receive(rank, number, i)))
            events.enter(time, receive)
            events.mpi_irecv_request(time, request)
            events.leave(time, receive)
        for i in range(round_.sends):
            message = schedule.send(rank, number, i)
            sent.append(request := request + 1)
            events.enter(time, send)
            events.mpi_isend(time, message.peer, world, message.tag, message.bytes, request)
            events.leave(time, send)
        if got or sent:
            open_[number] = got, sent
        ended = number - round_.ends if round_.ends else number if round_.waits else None
        if ended not in open_:
            continue
        got, sent = open_.pop(ended)
        if round_.sends_only:
            open_[ended] = got, []
            got = []
        events.enter(time, wait)
        for of, message in got:
            events.mpi_irecv(time, message.peer, world, message.tag, message.bytes, of)
        for of in sent:
            events.mpi_isend_complete(time, of)
        events.leave(time, wait)
