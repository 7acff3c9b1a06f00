"""Traces that `tramontane trace` writes: a folder with a file a rank (``tracer/``; docs/your-application.md).

A file is a header and records. A record is numbers of 7 bits a byte, the lowest first: 1 and what a call did, which is
known by its number from then on; 2: forget all of these; 3 and the time since the last call: the program has ended its
use of MPI; 4 or more: a call that did what has that number, the time before it and the time inside it [ns]. What a call
did is its name and actions (`_Reader`). 0 is the end of a program that was killed.
"""

import re
import struct
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.study.calls import Caller, Mistake, Tags, meet
from tramontane.study.collective_calls import Algorithms, Expansion, Messages, from_sizes
from tramontane.study.operations import Operation, pack

VERSION = 1
SUFFIX = ".trace"
_FORMAT = b"TRMTRACE"
_HEADER = struct.Struct("<8s4I3q")
_NAME = re.compile(r"rank-(\d+)\.trace")
_PS = 1000
"""Picoseconds of a nanosecond."""
_DEFINE, _FORGET, _END, _FIRST_CALL = 1, 2, 3, 4


@dataclass(frozen=True)
class Header:
    """What a rank's file says first.

    Attributes
    ----------
    rank, ranks : int
        Whose it is, of how many.
    run : int
        A number that all files of a run have.
    begun : int
        When MPI_Init had ended, by the clock of rank 0 [ns].
    library, program, host : str
        Of the run; empty if it was traced without.
    """

    rank: int
    ranks: int
    run: int
    begun: int
    library: str = ""
    program: str = ""
    host: str = ""


@dataclass
class Summary:
    """What there is in a trace.

    Attributes
    ----------
    ranks, calls, files_bytes : int
        Numbers of each.
    time_s : float
        From the first MPI_Init to the last MPI_Finalize, or to the last call that is known.
    cut : int
        Ranks whose program did not end its use of MPI.
    """

    ranks: int
    calls: int
    files_bytes: int
    time_s: float
    cut: int


class _Numbers:
    """Numbers of a file, one after the other."""

    def __init__(self, data: bytes, at: int, path: Path, rank: int) -> None:
        self.data, self.at = data, at
        self._path, self._rank = path, rank

    def next(self) -> int:
        data, at, value, shift = self.data, self.at, 0, 0
        try:
            while (byte := data[at]) >= 128:
                value |= (byte & 127) << shift
                at, shift = at + 1, shift + 7
        except IndexError:
            raise self.truncated() from None
        self.at = at + 1
        return value | byte << shift

    def take(self, count: int) -> bytes:
        if self.at + count > len(self.data):
            raise self.truncated()
        self.at += count
        return self.data[self.at - count : self.at]

    def truncated(self) -> InputError:
        where = f"rank {self._rank}, byte {len(self.data)}"
        return InputError(self._path, where, None, "a record that is whole", problem="found the end of the file")


def _signed(number: int) -> int:
    return -((number + 1) >> 1) if number & 1 else number >> 1


class _Reader(Caller):
    """Follows one rank through its file."""

    def __init__(self, world: "_World") -> None:
        super().__init__()
        self._world = world
        self._communicators: dict[int, tuple[Any, tuple[int, ...], tuple[int, ...]]] = {}
        self._created: Counter[Any] = Counter()
        self.did: dict[int, Callable[[_Numbers], object]] = {
            1: lambda n: self.message("send", **self._message(n)),
            2: lambda n: self.message("receive", **self._message(n)),
            3: self._begin_send,
            4: self._begin_receive,
            5: lambda n: self.ended.append(self.close(n.next(), "call")),
            6: self._end_receive,
            7: lambda n: self.close(n.next(), "receive"),
            8: self._collective,
            9: self._neighbours,
            10: self._communicator,
            11: self._phase,
            12: self._threads,
            13: self._one_sided,
        }

    def call(self, did: bytes, numbers: _Numbers, before: int) -> str:
        """Take a call that did this, so long after the end of the last one [ps]; return its name."""
        name = "MPI_" + numbers.take(numbers.next()).decode("ascii", "replace")
        self.begin(name, before)
        while numbers.at < len(did):
            action = numbers.next()
            if (take := self.did.get(action)) is None:
                raise Mistake(f"action {action} of a call", f"1 to {len(self.did)}")
            take(numbers)
        self.end(name)
        return name

    def _of(self, numbers: _Numbers) -> tuple[Any, tuple[int, ...], tuple[int, ...]]:
        number = numbers.next()
        if number not in self._communicators:
            raise Mistake(f"communicator {number}", "those that a call has made")
        return self._communicators[number]

    def _ends(self, communicator: tuple[Any, tuple[int, ...], tuple[int, ...]], numbers: _Numbers) -> dict[str, int]:
        key, members, _ = communicator
        peer, tag, size = numbers.next(), numbers.next(), numbers.next()
        if peer >= self._world.ranks:
            raise Mistake(f"a message of rank {peer}", f"0 to {self._world.ranks - 1}")
        return {"peer": peer, "tag": self._world.tags.of(members, key, tag), "amount": size}

    def _message(self, numbers: _Numbers) -> dict[str, int]:
        return self._ends(self._of(numbers), numbers)

    def _begin_send(self, numbers: _Numbers) -> None:
        self.open(numbers.next(), "send", **self._message(numbers))

    def _begin_receive(self, numbers: _Numbers) -> None:
        request = numbers.next()
        self.open(request, "work")  # until it is known what comes
        self._world.receives[self, request] = self._of(numbers)

    def _end_receive(self, numbers: _Numbers) -> None:
        request = numbers.next()
        own = self.close(request, "receive")
        if (self, request) not in self._world.receives:
            raise Mistake(f"a message of request {request}, which receives none", "requests that a receive has begun")
        communicator = self._world.receives.pop((self, request))
        own.kind = "receive"
        for key, value in self._ends(communicator, numbers).items():
            setattr(own, key, value)
        self.ended.append(own)

    def _start(self, request: int, expansion: Expansion | Messages) -> Operation:
        if request:
            return self.open(request, "collective", collective=expansion)
        own = self.rank.add("collective", self.position, collective=expansion)
        self.ended.append(own)
        return own

    def _collective(self, numbers: _Numbers) -> None:
        request = numbers.next()
        key, members, peers = self._of(numbers)
        if members != peers:
            raise Mistake("a collective between two groups", "collectives within one")
        root = numbers.next()
        name = numbers.take(numbers.next()).decode("ascii", "replace")
        sizes = tuple(numbers.next() for _ in range(numbers.next()))
        self.meetings.append((self._start(request, Expansion()), key, name, root, sizes))

    def _neighbours(self, numbers: _Numbers) -> None:
        request = numbers.next()
        key, members, _ = self._of(numbers)
        messages = []
        for kind in ("send", "receive"):
            for _ in range(numbers.next()):
                peer, edge, size = numbers.next(), numbers.next(), numbers.next()
                messages.append((kind, peer, self._world.tags.of(members, key, ("neighbour", edge)), size))
        messages.sort(key=lambda message: message[0] == "send")  # receives first, each kind in its order
        self._start(request, Messages(messages))

    def _communicator(self, numbers: _Numbers) -> None:
        number = numbers.next()
        members = self._ranks(numbers)
        peers = self._ranks(numbers) or members
        key = members if peers == members else (min(members, peers), max(members, peers))
        count = self._created[key] = self._created[key] + 1
        self._communicators[number] = ((key, count), members, peers)
        self._world.members[key, count] = members

    def _ranks(self, numbers: _Numbers) -> tuple[int, ...]:
        found, last = [], -1
        for _ in range(numbers.next()):
            last += 1 + _signed(numbers.next())
            if not 0 <= last < self._world.ranks:
                raise Mistake(f"rank {last} of a communicator", f"0 to {self._world.ranks - 1}")
            found.append(last)
        return tuple(found)

    def _phase(self, numbers: _Numbers) -> None:
        numbers.next()

    @staticmethod
    def _threads(_: _Numbers) -> None:
        raise Mistake("calls of several threads", "those of one thread a rank")

    @staticmethod
    def _one_sided(_: _Numbers) -> None:
        raise Mistake("a one-sided call", "messages of two sides, and collectives")


class _World:
    """What all ranks have in common."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.tags = Tags(ranks)
        self.tags.of(tuple(range(ranks)), (tuple(range(ranks)), 1), 0)  # its tags are as they are
        self.members: dict[Any, tuple[int, ...]] = {}
        self.receives: dict[tuple[Caller, int], Any] = {}


def is_trace(path: Path) -> bool:
    """Return whether this is a folder that such a trace may be in."""
    return path.is_dir()


def read(path: Path, algorithms: Algorithms) -> bytes:
    """Return the table of operations of a trace.

    Of one whose program was killed, messages that have but one end are left out, and collectives that not all have
    called.

    Parameters
    ----------
    path : Path
        Its folder.
    algorithms : tuple
        Of collectives; see :func:`tramontane.study.collective_calls.frozen`.

    Raises
    ------
    InputError
        If the folder holds no trace, or one that is not whole; the line says file, rank and byte.
    ValueError
        If operations can't be; :func:`tramontane.study.traces.pack` makes one line of it, with rank and call.
    """
    files = _files(path)
    world = _World(len(files))
    readers = [_Reader(world) for _ in files]
    whole = [_follow(file, reader)[1] for (file, _), reader in zip(files, readers, strict=True)]
    cut = not all(whole)

    def members(key: Any) -> tuple[int, ...]:
        return world.members[key]

    meet(readers, "call", members, world.tags, from_sizes, algorithms, cut=cut)
    if cut:
        _leave_out(readers)
    return pack([reader.rank for reader in readers], "call")


def summary(path: Path) -> Summary:
    """Return what there is in a trace (InputError as :func:`read`)."""
    files = _files(path)
    world = _World(len(files))
    calls = cut = size = 0
    begins, ends = [], []
    for file, header in files:
        reader = _Reader(world)
        time, whole = _follow(file, reader)
        calls += reader.position
        cut += not whole
        size += file.stat().st_size
        begins.append(header.begun)
        ends.append(header.begun + time)
    return Summary(len(files), calls, size, (max(ends) - min(begins)) / 1e9, cut)


def _files(path: Path) -> list[tuple[Path, Header]]:
    """Return the files of all ranks, in order, with what they say first."""
    found = {int(match[1]): file for file in sorted(path.iterdir()) if (match := _NAME.fullmatch(file.name))}
    if not found:
        raise InputError(path, "", None, "a folder that tramontane trace has written", problem="found no rank-*.trace")
    headers = {number: header(file) for number, file in found.items()}
    first = headers[min(found)]
    for number, each in headers.items():
        if each.rank != number:
            raise InputError(
                found[number], "rank", None, f"{number}, as its name says", problem=f"found rank {each.rank}"
            )
        if (each.run, each.ranks) != (first.run, first.ranks):
            other = found[min(found)].name
            raise InputError(found[number], "", None, f"files of the run of {other}", problem="found another run's")
    if lacking := [number for number in range(first.ranks) if number not in found]:
        problem = f"found no file of rank {lacking[0]}"
        raise InputError(path, "", None, f"files of ranks 0 to {first.ranks - 1}", problem=problem)
    return [(found[number], headers[number]) for number in range(first.ranks)]


def header(file: Path) -> Header:
    """Return what a rank's file says first (InputError)."""
    with file.open("rb") as stream:
        data = stream.read(_HEADER.size)
        if len(data) < _HEADER.size or not data.startswith(_FORMAT):
            raise InputError(file, "", None, "a file that tramontane trace has written", problem="found another one")
        _, version, rank, ranks, words, run, begun, offset = _HEADER.unpack(data)
        if version != VERSION:
            raise InputError(file, f"rank {rank}, byte 8", None, str(VERSION), problem=f"found version {version}")
        if not rank < ranks < 1 << 28:
            raise InputError(
                file, "byte 12", None, "a rank that is less than their number", problem=f"found {rank} of {ranks}"
            )
        text = stream.read(words)
    if len(text) < words:
        raise InputError(file, f"rank {rank}", None, "a header that is whole", problem="found the end of the file")
    names = text.decode("utf-8", "replace").split("\n") if text else []
    return Header(rank, ranks, run, begun + offset, *names[:3])


def _follow(file: Path, reader: _Reader) -> tuple[int, bool]:
    """Take all calls of a rank; return how long they took [ns], and whether the program ended its use of MPI."""
    data = file.read_bytes()
    words, rank = _HEADER.unpack_from(data)[4], _HEADER.unpack_from(data)[2]
    numbers = _Numbers(data, _HEADER.size + words, file, rank)
    shapes: list[bytes] = []
    time = 0
    while numbers.at < len(data) and (record := numbers.next()) != 0:
        if record == _DEFINE:
            shapes.append(numbers.take(numbers.next()))
        elif record == _FORGET:
            shapes.clear()
        elif record == _END:
            time += numbers.next()
            numbers.next()
            if numbers.at != len(data):
                where = f"rank {rank}, byte {numbers.at}"
                raise InputError(file, where, None, "the end of the file", problem="found more after its end")
            return time, True
        else:
            before, inside = numbers.next(), numbers.next()
            time += before + inside
            reader.position += 1
            where = f"rank {rank}, call {reader.position}"
            if record - _FIRST_CALL >= len(shapes):
                problem = f"found what number {record} stands for"
                raise InputError(
                    file, where, None, f"{_FIRST_CALL} to {_FIRST_CALL + len(shapes) - 1}", problem=problem
                )
            did = shapes[record - _FIRST_CALL]
            try:
                reader.call(did, _Numbers(did, 0, file, rank), before * _PS)
            except Mistake as error:
                raise InputError(file, where, None, error.args[1], problem=f"found {error.args[0]}") from None
    return time, False


def _leave_out(readers: list[_Reader]) -> None:
    """Leave out messages that have but one end, which are the last ones of their kind."""
    ends: dict[str, Counter[tuple[int, int, int]]] = {"send": Counter(), "receive": Counter()}

    def key(number: int, operation: Operation) -> tuple[int, int, int]:
        pair = (number, operation.peer) if operation.kind == "send" else (operation.peer, number)
        return (*pair, operation.tag)

    def every() -> Any:
        for number, reader in enumerate(readers):
            for operation in reader.rank.operations:
                if operation.kind in ends:
                    yield number, operation

    for number, operation in every():
        ends[operation.kind][key(number, operation)] += 1
    both = ends["send"] & ends["receive"]
    seen: dict[str, Counter[tuple[int, int, int]]] = {"send": Counter(), "receive": Counter()}
    for number, operation in list(every()):
        which = key(number, operation)
        seen[operation.kind][which] += 1
        if seen[operation.kind][which] > both[which]:
            operation.kind, operation.amount = "work", 0
