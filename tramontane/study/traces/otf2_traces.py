"""Traces in OTF2: reads those of Score-P and others, and writes what our own workloads do as one."""

import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study.collectives.collective_calls import (
    DEFAULT_ALGORITHMS,
    ROOTED,
    Algorithms,
    Exchange,
    Expansion,
    from_totals,
)
from tramontane.study.traces.calls import INITS, Caller, Meeting, Mistake, Tags, meet, plain
from tramontane.study.traces.operations import Operation, pack
from tramontane.support.otf2 import PER_SECOND, archive, library, parts_of, quietly
from tramontane.support.progress_line import with_progress

_NONE = (1 << 32) - 1
"""In the place of a root: there is none."""
_NO_MESSAGE = (1 << 64) - 1
"""In the place of a message that a probe has found: it is received as others are."""
_MOST = (1 << 63) - 1
"""Bytes that the extension can be told of; it refuses fewer."""
_SYNCHRONOUS = frozenset({"mpi_ssend", "mpi_issend"})


class _Reader(Caller):
    """Follows one rank through its events.

    Parameters
    ----------
    otf2 : module
        The library.
    tags : Tags
        Of all ranks.
    members : function
        Returns the ranks of a communicator that this rank is in (Mistake).
    picoseconds : function
        Returns a time of the trace [ps].
    alike : bool
        See :class:`tramontane.study.traces.calls.Caller`.
    """

    def __init__(
        self,
        otf2: Any,
        tags: Tags,
        members: Callable[[Any], tuple[int, ...]],
        picoseconds: Callable[[int], int],
        *,
        alike: bool,
    ) -> None:
        super().__init__(alike=alike)
        self._otf2, self.tags, self._members, self._picoseconds = otf2, tags, members, picoseconds
        self._depth = 0
        self._call = ""
        self._probed: dict[int, Operation] = {}
        self._since: int | None = None
        self._latest = 0

    def event(self, event: Any) -> None:
        """Take an event (Mistake)."""
        self.position += 1
        time = self._picoseconds(event.time)
        if self._since is None:
            self._since = time
        elif time < self._latest:
            raise Mistake("a time before that of the last event", "clock offsets that turn no clock back")
        self._latest = time
        name = type(event).__name__
        if name in {"Enter", "Leave"}:
            self._region(name == "Enter", event.region, time)
        elif name == "BufferFlush":
            self._since += max(self._picoseconds(event.stop_time) - time, 0)  # the tool's own, and no work
        elif name == "MeasurementOnOff":
            if event.measurement_mode == self._otf2.MeasurementMode.OFF:
                raise Mistake("measurement that is switched off", "a trace of all that ranks do")
        elif name.startswith("Rma") and "Win" not in name:
            raise Mistake("a one-sided call", "messages of two sides, and collectives")
        elif (take := getattr(self, f"_{_snake(name)}", None)) is not None:
            if self._depth == 0:
                self._begin(name, time)
            take(event)
            if self._depth == 0:
                self._end(name, time)

    def _region(self, enters: bool, region: Any, time: int) -> None:
        if region is None:
            raise Mistake("a region without a definition", "those that the archive defines")
        if not (region.paradigm == self._otf2.Paradigm.MPI or region.name.lower().startswith(("mpi_", "pmpi_"))):
            if self._depth == 0:
                self.works()
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
        self._call = plain(name)
        self.begin(name, 0 if plain(name) in INITS else max(time - self._since, 0))

    def _end(self, name: str, time: int) -> None:
        self.end(name)
        self._since = time

    def _line(self, other: int, communicator: Any, tag: int) -> tuple[int, int]:
        """Return the other rank, and the number of the tag (Mistake)."""
        members = self._members(communicator)
        if other >= len(members):
            raise Mistake(f"rank {other} of a communicator", f"0 to {len(members) - 1}")
        return members[other], self.tags.of(members, communicator, tag)

    def _message(self, other: int, event: Any) -> dict[str, Any]:
        peer, tag = self._line(other, event.communicator, event.msg_tag)
        return {"peer": peer, "tag": tag, "amount": min(event.msg_length, _MOST)}

    def _mpi_send(self, event: Any) -> None:
        self.message("send", **self._message(event.receiver, event))
        self._answer(self.ended[-1])
        self._end_answer(self.ended[-1])

    def _mpi_isend(self, event: Any) -> None:
        self._answer(self.open(event.request_id, "send", **self._message(event.receiver, event)))

    def _mpi_isend_complete(self, event: Any) -> None:
        self.ended.append(self.close(event.request_id, "send"))
        self._end_answer(self.ended[-1])

    def _answer(self, sent: Operation) -> None:
        """Let a synchronous send have the receive that it ends with."""
        if self._call in _SYNCHRONOUS:
            tag = self.tags.of_answers(sent.tag)
            sent.answer = self.rank.add("work", self.position, peer=sent.peer, tag=tag)  # until it is received

    def _end_answer(self, sent: Operation) -> None:
        if sent.answer is not None:
            self.ended.append(sent.answer)

    def _mpi_recv(self, event: Any) -> None:
        self.message("receive", **self._message(event.sender, event))

    def _mpi_irecv_request(self, event: Any) -> None:
        self.open(event.request_id, "work")  # until it is known what comes

    def _mpi_irecv(self, event: Any) -> None:
        own = self.close(event.request_id, "receive")
        own.kind = "receive"
        for key, value in self._message(event.sender, event).items():
            setattr(own, key, value)
        self.ended.append(own)

    def _mpi_request_cancelled(self, event: Any) -> None:
        own = self.close(event.request_id, "message")
        own.kind, own.peer, own.amount = "work", 0, 0

    def _mpi_probe(self, event: Any) -> None:
        self.found = True
        if event.message_id != _NO_MESSAGE:
            own = self._probed[event.message_id] = self.rank.add("work", self.position)  # has its place in the order
            own.peer, own.tag = self._line(event.sender, event.communicator, event.tag)

    def _receive_probed(self, message: int) -> Operation:
        own = self._probed.pop(message, None)
        if own is None:
            raise Mistake(f"the receive of message {message}", "messages that a probe has found")
        self.rank.start(own)
        return own

    def _end_probed(self, own: Operation, size: int) -> None:
        own.kind, own.amount = "receive", min(size, _MOST)
        self.ended.append(own)

    def _mpi_mrecv(self, event: Any) -> None:
        self._end_probed(self._receive_probed(event.message_id), event.msg_length)

    def _mpi_imrecv_request(self, event: Any) -> None:
        own = self.requests[event.request_id] = self._receive_probed(event.message_id)
        self.started.append(own)

    def _mpi_imrecv(self, event: Any) -> None:
        self._end_probed(self.close(event.request_id, "receive"), event.msg_length)

    def _mpi_collective_end(self, event: Any) -> None:
        self._collective(self.rank.add("collective", self.position, collective=Expansion()), event)

    def _non_blocking_collective_request(self, event: Any) -> None:
        self.open(event.request_id, "collective", collective=Expansion())

    def _non_blocking_collective_complete(self, event: Any) -> None:
        self._collective(self.close(event.request_id, "collective"), event)

    def _collective(self, own: Operation, event: Any) -> None:
        self.ended.append(own)
        name = _names(self._otf2.CollectiveOp).get(event.collective_op.value, "")
        if not name:
            raise Mistake(f"collective {event.collective_op.value}", "those that OTF2 has")
        root = (0 if event.root == _NONE else event.root) if name in ROOTED else None
        members, said = self._members(event.communicator), (event.size_sent, event.size_received)
        self.meetings.append(Meeting(own, event.communicator, members, name, root, said))


@functools.cache
def _names(constants: Any) -> dict[int, str]:
    """Return the names of the library's constants, by value."""
    return {getattr(constants, name).value: name for name in dir(constants) if name.isupper()}


@functools.cache
def _snake(name: str) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower()


def read(path: Path, algorithms: Algorithms) -> memoryview:
    """Return the table of operations of an archive.

    Parameters
    ----------
    path : Path
        Its anchor file, such as ``traces.otf2``.
    algorithms : tuple
        Of collectives; see :func:`tramontane.study.collectives.collective_calls.frozen`.

    Raises
    ------
    InputError
        If the library is missing, or the archive can't be read.
    ValueError
        If operations can't be; :func:`tramontane.study.traces.traces.pack` makes one line of it, with rank and event.
    """
    readers = _met(path, algorithms)
    return pack([reader.rank for reader in readers], "event")


def read_kept(path: Path, check: Callable[[Exchange, int], None]) -> tuple[memoryview, list[Exchange]]:
    """Return the table of operations of an archive whose collectives stay such, and what these exchange.

    Ranks that call alike do alike: each call has work before it, if only of no time.

    Parameters
    ----------
    path : Path
        Its anchor file.
    check : function
        Refuses what a call exchanges, among so many ranks in all (ValueError: found and allowed, comma between).
    """
    readers = _met(path, DEFAULT_ALGORITHMS, check)
    numbers: dict[Exchange, int] = {}
    for reader in readers:
        for each in reader.rank.operations:
            what = each.collective
            if what is not None and what.exchange is not None and len(what.exchange.members) > 1:
                number = numbers.setdefault(what.exchange, len(numbers))
                each.kind, each.amount, each.tag, each.collective = "kept", number, what.tag, None
    return pack([reader.rank for reader in readers], "event"), list(numbers)


def _met(path: Path, algorithms: Algorithms, check: Callable[[Exchange, int], None] | None = None) -> "list[_Reader]":
    """Return what all ranks do and know of each other; with a check, ranks that call alike do alike."""
    otf2 = library(path)
    try:
        with quietly():
            trace = otf2.reader.open(str(path))
    except Exception as error:  # the library has several
        raise _unreadable(path, error) from None
    with quietly(), trace as opened:
        readers = _follow(otf2, opened, path, alike=check is not None)
    for number, reader in enumerate(readers):
        done = {each.operation for each in reader.meetings}
        for each in reader.rank.operations:
            if each.kind == "collective" and each not in done:
                raise ValueError(
                    f"rank {number}, event {each.position}: found a collective that never ends, allowed: ends"
                )

    def say(name: str, members: tuple[int, ...], root: int, said: list[tuple[int, int]]) -> Exchange | None:
        exchange = from_totals(name, members, root, [sent for sent, _ in said], [received for _, received in said])
        if exchange is not None and check is not None:
            check(exchange, len(readers))
        return exchange

    meet(readers, "event", readers[0].tags, say, algorithms)
    _answer(readers)
    return readers


def _answer(readers: "Sequence[_Reader]") -> None:
    """Let receivers answer synchronous sends, each when its receive has ended, whatever the rank calls then."""
    sends: dict[tuple[int, int, int], list[Operation]] = {}
    for number, reader in enumerate(readers):
        for each in reader.rank.operations:
            if each.kind == "send":
                sends.setdefault((number, each.peer, each.tag), []).append(each)
    for number, reader in enumerate(readers):
        places: Counter[tuple[int, int, int]] = Counter()
        for each in list(reader.rank.operations):
            line = each.peer, number, each.tag
            if each.kind != "receive" or places[line] >= len(sends.get(line, ())):
                continue
            answer = sends[line][places[line]].answer
            places[line] += 1
            if answer is not None:
                answer.kind = "receive"
                reader.rank.operations.append(
                    Operation("send", each.position, [(each, False)], peer=each.peer, tag=answer.tag)
                )


def _unreadable(path: Path, error: Exception) -> InputError:
    events, definitions, _ = parts_of(path)
    allowed = (
        f"an OTF2 archive that is whole, with {definitions.name}, and with events of each location in {events.name}"
    )
    return InputError(path, "", None, allowed, problem=f"can't be read: {error}")


def _follow(otf2: Any, trace: Any, path: Path, *, alike: bool) -> list[_Reader]:
    groups = trace.definitions.groups
    everybody = [
        group
        for group in groups
        if group.group_type == otf2.GroupType.COMM_LOCATIONS and group.paradigm == otf2.Paradigm.MPI
    ]
    if not everybody or not everybody[0].members:
        raise InputError(path, "", None, "a trace of an MPI program", problem="found no ranks of MPI")
    ranks = range(len(everybody[0].members))
    numbers = dict(zip(everybody[0].members, ranks, strict=True))
    known: dict[Any, tuple[tuple[int, ...], frozenset[int]]] = {}
    resolution: int = trace.timer_resolution

    def members(rank: int, communicator: Any) -> tuple[int, ...]:
        if communicator not in known:
            if communicator is None:
                raise Mistake("a communicator without a definition", "those that the archive defines")
            if not hasattr(communicator, "group"):
                raise Mistake("a communicator between two groups", "communicators within one")
            if not numbers.keys() >= set(communicator.group.members):
                raise Mistake("a communicator of more than ranks of MPI", "those of ranks of MPI")
            places = [numbers[each] for each in communicator.group.members]
            known[communicator] = tuple(places), frozenset(places)
        if communicator.group.group_type == otf2.GroupType.COMM_SELF:
            return (rank,)
        found, those = known[communicator]
        if rank not in those:
            raise Mistake("a communicator that the rank is not in", "those that it is in")
        return found

    def picoseconds(ticks: int) -> int:
        return ticks * PER_SECOND // resolution

    tags = Tags(len(ranks))
    readers = [_Reader(otf2, tags, functools.partial(members, rank), picoseconds, alike=alike) for rank in ranks]
    events = iter(trace.events)
    while True:
        try:
            location, event = next(events)
        except StopIteration:
            break
        except Exception as error:  # the library has several
            raise _unreadable(path, error) from None
        if location not in numbers:
            if type(event).__name__.startswith(("Mpi", "NonBlockingCollective")):
                where = f"location '{location.name}'"
                raise InputError(path, where, None, "those of one thread a rank", problem="found calls of MPI")
            continue
        reader = readers[numbers[location]]
        try:
            reader.event(event)
        except Mistake as error:
            where = f"rank {numbers[location]}, event {reader.position}"
            raise InputError(path, where, None, error.args[1], problem=f"found {error.args[0]}") from None
    for reader in readers:
        reader.end_turns()
    return readers


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
    if schedule.is_graph:
        raise ValueError("workload.kind: found 'trace', allowed: any other in OTF2; a trace can be written as GOAL")
    with with_progress(range(ranks), "checking ranks") as checked:
        for rank in checked:
            schedule.goal(rank)  # refuses what a graph of operations can't say
    with archive(file, list(range(ranks)), title) as out:
        types, paradigm = out.otf2.GroupType, out.otf2.Paradigm.MPI
        locations = tuple(out.locations[rank] for rank in range(ranks))
        out.definitions.group("MPI", types.COMM_LOCATIONS, paradigm=paradigm, members=locations)
        group = out.definitions.group("all ranks", types.COMM_GROUP, paradigm=paradigm, members=locations)
        world = out.definitions.comm("MPI_COMM_WORLD", group=group)
        with with_progress(range(ranks), "writing ranks") as written:
            for rank in written:
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
