"""The store of finished points: one small JSON file each, named by the point's identity.

A congestion matrix, which would make the record a hundred times larger, has a compressed file of its own beside it.

A record is the only thing a running point leaves behind, so everything else (plans, batches, datasets, figures) can be
deleted and made again. Files appear whole or not at all: a campaign may be killed at any moment.

A record proves itself: it says its format, its point's identity, which is a hash of the point, and a checksum of all
that it says. What fails one of these is set aside and counts as missing.
"""

import functools
import gzip
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tramontane.results.proof import (
    FAILURE,
    RECORD,
    UNSOUND,
    checked,
    checked_matrix,
    checksum,
    digest,
    matrix_digest,
    sealed,
    unsealed,
)
from tramontane.study.points.points import Point
from tramontane.support.files import check_writable, dump, write_atomically
from tramontane.support.layout import home

#: Where records lie below the root of a checkout.
POINTS = Path("results", "points")

#: Where records lie that come with the project, because simulating their points takes hours.
PUBLISHED = Path("published")

_RECORD = ".json"
_FAILURE = ".failed.json"
_CONGESTION = ".congestion.json.gz"
_CHECKPOINT = ".checkpoint"


@dataclass(frozen=True)
class Store:
    """The records below a checkout's root.

    Parameters
    ----------
    root : Path
        Root of the checkout (the folder that holds ``configs/`` and ``results/``).
    folder : Path, optional
        Where the records lie below the root.
    """

    root: Path
    folder: Path = POINTS

    @functools.cached_property
    def _place(self) -> Path:
        """The folder in which records lie; what is published lies beside what is studied."""
        return Path(self.root if self.folder == PUBLISHED else home(self.root), self.folder)

    def path(self, identity: str) -> Path:
        """Return where the record of the point `identity` (16 hex digits) lies, or would lie."""
        return self._file(identity, _RECORD)

    def failure_path(self, identity: str) -> Path:
        """Return where the failure of the point `identity` lies, or would lie."""
        return self._file(identity, _FAILURE)

    def congestion_path(self, identity: str) -> Path:
        """Return where the congestion matrix of a point lies, or would lie."""
        return self._file(identity, _CONGESTION)

    def checkpoint_path(self, identity: str) -> Path:
        """Return where the checkpoint of a point that has not ended lies, or would lie."""
        return self._file(identity, _CHECKPOINT)

    def _file(self, identity: str, ending: str) -> Path:
        return self._place.joinpath(identity[:2], identity + ending)

    def has(self, identity: str) -> bool:
        """Return whether the point has a sound result, and its last attempt did not fail."""
        return not self.has_failed(identity) and self._examine(identity, self.path(identity))

    def has_failed(self, identity: str) -> bool:
        """Return whether the last attempt at the point failed."""
        return self._examine(identity, self.failure_path(identity))

    def state(self, identity: str) -> str:
        """Return what is known of a point: whether it has a result or failed, and the checksum of what says so."""
        if self.has_failed(identity):
            return failed(self._proven(identity, self.failure_path(identity)).checksum)
        return ok(self._proven(identity, self.path(identity)).checksum) if self.has(identity) else MISSING

    def digest(self, identities: Iterable[str]) -> str:
        """Return a digest of what is known of points, in whatever order they are given; see `digest_of`."""
        return digest_of({identity: self.state(identity) for identity in identities})

    def read(self, identity: str) -> dict[str, Any]:
        """Return the record of a point: ``{"id", "point", "result", "provenance"}``.

        Raises
        ------
        ValueError
            If the record is damaged, or another point's.
        """
        return unsealed(checked(self.path(identity).read_bytes(), identity, RECORD))

    def revision(self, identity: str) -> int:
        """Return the model revision of a point's record, read as by `read`; 0 if it states none."""
        return int(self.read(identity)["result"].get("model_revision") or 0)

    def read_failure(self, identity: str) -> dict[str, Any]:
        """Return the failure of a point: ``{"id", "point", "message", "provenance"}``; see `read`."""
        return unsealed(checked(self.failure_path(identity).read_bytes(), identity, FAILURE))

    def read_congestion(self, identity: str) -> dict[str, Any] | None:
        """Return a point's congestion matrix, ``{"bins", "ranks", "packets", "sum_s", "max_s"}``, if it has one."""
        record = checked(self.path(identity).read_bytes(), identity, RECORD)
        return checked_matrix(record, self.congestion_path(identity))

    def files(self, identity: str) -> list[Path]:
        """Return the sound files of a point: its record with the congestion matrix, and its failure."""
        found = []
        if self._examine(identity, self.path(identity)):
            found += [self.path(identity)]
            if self.read_congestion(identity) is not None:
                found += [self.congestion_path(identity)]
        return found + [self.failure_path(identity)] * self.has_failed(identity)

    def _examine(self, identity: str, path: Path) -> bool:
        """Return whether a file is there and sound; what is not is set aside, and told."""
        proof = self._proven(identity, path)
        if proof.flaw is not None:
            self._set_aside(path, proof.flaw, proof.stamp)
        return proof.sound

    def _proven(self, identity: str, path: Path) -> "_Proof":
        own = _stamp(path)
        if own is None:  # as most are before a campaign
            return _Proof(None)
        matrix = self.congestion_path(identity)
        return _proven(path, identity, matrix, (own, _stamp(matrix)))

    def _set_aside(self, path: Path, flaw: str, stamp: Any) -> None:
        """Rename an unsound file, or ignore it where that is not ours to do; say so in one line, once."""
        name = path.name if self.folder == PUBLISHED else _rename(path)
        _tell(f"{path}: {flaw}; " + ("ignored" if name == path.name else f"set aside as {name}"), stamp)

    def prepare(self, identity: str) -> None:
        """Make the folder of a point's files.

        Raises
        ------
        UnwritableError
            If nothing can be written there: better now than after hours of simulation.
        """
        check_writable(self.path(identity).parent)

    def write(self, record: dict[str, Any]) -> None:
        """Store a finished point; a failure that an earlier attempt left is forgotten."""
        identity = record["id"]
        result = dict(record["result"])
        congestion = result.pop("congestion", None)
        if congestion is not None:  # before the record, which says that the point is complete
            write_atomically(
                self.congestion_path(identity), gzip.compress(dump(congestion).encode(), compresslevel=6, mtime=0)
            )
        content = {**record, "result": result} | ({} if congestion is None else matrix_digest(congestion))
        write_atomically(self.path(identity), dump(sealed(content)))
        for other in (self.failure_path(identity), self.checkpoint_path(identity)):
            other.unlink(missing_ok=True)

    def failed(self, identity: str, point: Point, message: str, provenance: dict[str, Any]) -> None:
        """Store that a point failed, and why. A result of an earlier model revision stays, but no longer counts."""
        failure = {"id": identity, "point": point.canonical(), "message": message, "provenance": provenance}
        write_atomically(self.failure_path(identity), dump(sealed(failure)))

    def changed_at(self, identity: str) -> int:
        """Return when the point last changed here [ns since the epoch]; 0 if nothing is known of it."""
        return max(_modified(self.path(identity)), _modified(self.failure_path(identity)))

    def identities(self) -> Iterator[str]:
        """Yield the identities of all points that have a record, in order."""
        for path in sorted(self._place.glob(f"??/*{_RECORD}")):
            if not path.name.endswith(_FAILURE) and not path.name.startswith("."):
                yield path.name.removesuffix(_RECORD)


#: What is known of a point without a record, and without a failure.
MISSING = "missing"


def ok(checksum: str) -> str:
    """Return what is known of a point whose record has this checksum."""
    return f"ok {checksum}"


def failed(checksum: str) -> str:
    """Return what is known of a point whose failure has this checksum."""
    return f"failed {checksum}"


def digest_of(states: Mapping[str, str]) -> str:
    """Return a digest of what is known of points, by their identities; it tells of which records a dataset was made."""
    return digest(dict(states))


class _Proof(NamedTuple):
    """What a look at a file found: nothing (it is not there), what is wrong with it, or its checksum."""

    stamp: Any
    flaw: str | None = None
    checksum: str = ""

    @property
    def sound(self) -> bool:
        return bool(self.checksum)


@functools.cache
def _proven(path: Path, identity: str, matrix: Path, stamp: Any) -> _Proof:
    """Look at a file of a point; once while its `stamp` is the same."""
    for file, known in zip((path, matrix), stamp, strict=True):
        if known is not None and not stat.S_ISREG(known[-1]):  # to read a pipe may never end
            return _Proof(stamp, f"{file.name} is no regular file")
    try:
        form = FAILURE if path.name.endswith(_FAILURE) else RECORD
        record = checked(path.read_bytes(), identity, form)
        if form is RECORD:
            checked_matrix(record, matrix)
        return _Proof(stamp, checksum=checksum(record))
    except FileNotFoundError as error:
        return _Proof(stamp, f"{Path(str(error.filename)).name} is missing")
    except OSError as error:
        return _Proof(stamp, str(error.strerror))
    except UNSOUND as error:
        return _Proof(stamp, " ".join(str(error).split())[:200])


def _rename(path: Path) -> str:
    """Give a file the first free name that says it is damaged; return the name it has then."""
    number = 1
    while Path(aside := path.with_name(f"{path.name}.damaged-{number}")).exists():
        number += 1
    try:
        path.rename(aside)
    except OSError:  # in a place that is read-only, or somebody else was faster
        return path.name
    return aside.name


@functools.cache
def _tell(line: str, stamp: Any) -> None:
    """Write a line to standard error, once for each state of a file."""
    print(line, file=sys.stderr, flush=True)


def _stamp(path: Path) -> tuple[int, ...] | None:
    """Return what changes when a file does, and last its mode; None if there is none."""
    try:
        known = path.stat()
    except OSError:
        return None
    return known.st_ino, known.st_mtime_ns, known.st_ctime_ns, known.st_size, known.st_mode


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:  # none there, or a link to itself
        return 0
