"""Folders as `tramontane trace` writes them, by hand (``tracer/tracer.hpp``): calls of ranks that nobody has run."""

import struct
from collections.abc import Sequence
from pathlib import Path

from tramontane.study.traces.mpi_traces import VERSIONS

EVERYBODY = 0
"""The communicator that all ranks have from the beginning."""


def _numbers(*values: int) -> bytes:
    """Return numbers of 7 bits a byte, the lowest first."""
    found = bytearray()
    for value in values:
        left = value
        while left > 127:
            found.append(left & 127 | 128)
            left >>= 7
        found.append(left)
    return bytes(found)


def _ranks(members: Sequence[int]) -> bytes:
    """Return ranks as differences."""
    steps = [member - before - 1 for before, member in zip([-1, *members], members, strict=False)]
    return _numbers(len(members), *(2 * step if step >= 0 else -2 * step - 1 for step in steps))


def communicator(number: int, members: Sequence[int]) -> bytes:
    return _numbers(10, number) + _ranks(members) + _numbers(0)


def send(peer: int, tag: int, size: int) -> bytes:
    return _numbers(1, EVERYBODY, peer, tag, size)


def receive(peer: int, tag: int, size: int) -> bytes:
    return _numbers(2, EVERYBODY, peer, tag, size)


def begin_send(request: int, peer: int, tag: int, size: int, of: int = EVERYBODY) -> bytes:
    return _numbers(3, request, of, peer, tag, size)


def begin_receive(request: int, of: int = EVERYBODY) -> bytes:
    return _numbers(4, request, of)


def end_send(request: int) -> bytes:
    return _numbers(5, request)


def end_receive(request: int, peer: int, tag: int, size: int) -> bytes:
    return _numbers(6, request, peer, tag, size)


def collective(name: str, *sizes: int, root: int = 0, of: int = EVERYBODY, request: int = 0) -> bytes:
    return _numbers(8, request, of, root, len(name)) + name.encode() + _numbers(len(sizes), *sizes)


def region(level: int) -> bytes:
    return _numbers(11, level)


def put(target: int, size: int) -> bytes:
    return _numbers(13, 1, EVERYBODY, 0, target, size)


def fence() -> bytes:
    return _numbers(13, 3, EVERYBODY)


class Calls:
    """The calls of a rank.

    Parameters
    ----------
    rank, ranks : int
        Which of how many.
    """

    def __init__(self, rank: int, ranks: int) -> None:
        self.rank, self.ranks = rank, ranks
        self._content = struct.pack("<8s4I3q", b"TRMTRACE", VERSIONS[0], rank, ranks, 0, 7, 0, 0)
        self._known: dict[bytes, int] = {}
        self._made: set[int] = set()
        self("Init", communicator(EVERYBODY, range(ranks)), after=0)

    def __call__(self, name: str, *actions: bytes, after: int = 100) -> None:
        """Call something, so long after the last call [ns]."""
        what = _numbers(len(name)) + name.encode() + b"".join(actions)
        if what not in self._known:
            self._known[what] = 4 + len(self._known)
            self._content += _numbers(1, len(what)) + what
        self._content += _numbers(self._known[what], after, 50)

    def split(self, number: int, members: Sequence[int]) -> int:
        """Return the number of a communicator, which is made if there is none yet."""
        if number not in self._made:
            self._made.add(number)
            self("Comm_split", communicator(number, members))
        return number

    def write(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        (folder / f"rank-{self.rank:07}.trace").write_bytes(self._content + _numbers(3, 0, 0))
