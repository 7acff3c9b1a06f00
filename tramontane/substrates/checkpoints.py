"""Checkpoints of a long point on the simulator: from one, a later attempt goes on, and ends with the same bits.

A checkpoint is one file: the state of the run in hand, as the simulator wrote it; a line that vouches for it; and how
long that line is. It is for one point and one build of the simulator. A search of the best radix is many runs; the line
holds the results of those that have ended.
"""

import contextlib
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.results.proof import checked, digest, identity_of, sealed
from tramontane.support.files import dump, sync_folder
from tramontane.support.processes import processor_time

#: Environment variable: minutes between two checkpoints of a point.
MINUTES = "TRAMONTANE_CHECKPOINT_MINUTES"

#: Minutes between two checkpoints unless that variable says otherwise, and what it may say.
_USUAL, _LEAST, _MOST = 10.0, 0.001, 1e6

#: At most one part in so many of the time goes into writing.
_SHARE = 50

_LENGTH = 8
_LONGEST_LINE = 1 << 30
_FORM: dict[str, type] = {
    "id": str,
    "point": dict,
    "build": str,
    "bytes": int,
    "state": str,
    "run": str,
    "finished": dict,
    "spent": dict,
}

Result = dict[str, Any]


def interval() -> float:
    """Return the time between two checkpoints [s].

    Raises
    ------
    InputError
        If the environment says something else than minutes.
    """
    text = os.environ.get(MINUTES, str(_USUAL))
    try:
        minutes = float(text)
    except ValueError:
        minutes = 0.0
    if not _LEAST <= minutes <= _MOST:
        raise InputError("environment variable", MINUTES, text, f"{_LEAST:g} ... {_MOST:g} minutes")
    return 60 * minutes


class Checkpoint:
    """What a point has come to.

    Parameters
    ----------
    file : Path
        Where the checkpoint lies, or will lie.
    point : dict
        The point in canonical form.
    build : str
        Tells the build of the simulator from any other.
    several : bool
        Whether the point consists of several runs.

    Attributes
    ----------
    state : str
        File of the state that the next run goes on from, or empty; see ``simulate`` of the extension.
    resumed : int
        How often the point has gone on from a checkpoint.
    """

    def __init__(self, file: Path, point: dict[str, Any], build: str, *, several: bool = False) -> None:
        self._file, self._point, self._build = file, point, build
        self._several = several
        self._new = file.with_name(f".{file.name}.tmp")
        self._interval = interval()
        self._begun = self._run_begun = time.monotonic()
        self._next = self._begun + self._interval
        self._processor = processor_time()
        self._run = ""
        self._told: set[str] = set()
        self.state = ""
        with contextlib.suppress(OSError):
            self._new.unlink(missing_ok=True)  # half written when an earlier attempt was killed
        known = self._read() or {"run": "", "finished": {}, "spent": {"cpu_s": 0.0, "wall_s": 0.0, "resumed": -1}}
        self._restored: str = known["run"]
        self._finished: dict[str, Result] = known["finished"]
        self._cpu_before: float = known["spent"]["cpu_s"]
        self._wall_before: float = known["spent"]["wall_s"]
        self.resumed: int = known["spent"]["resumed"] + 1

    def cpu_s(self) -> float:
        """Return the processor time that the point has taken, all attempts that count together [s]."""
        return self._cpu_before + processor_time() - self._processor

    def simulate(self, simulate: Callable[..., Result], point: dict[str, Any], threads: int, *limit: Any) -> Result:
        """Simulate one of the point's runs, or what is left of it; see ``simulate`` of the extension."""
        run = digest([point, limit])
        if run in self._finished:
            return self._finished[run]
        resumes = run == self._restored
        self.state = str(self._file) if resumes else ""
        self._run, self._run_begun = run, time.monotonic()
        if not resumes:
            self._wall_before = 0.0
        result = simulate(point, threads, *limit, checkpoint=self)
        result["wall_s"] += self._wall_before
        self._finished[run] = result
        self._run, self._restored, self._wall_before = "", "", 0.0
        if self._several and self._is_due():  # runs may all be shorter than what passes between two questions
            self._keep(self._begin)
        return result

    def wanted(self) -> str:
        """Return the file that the state is to be written to; empty if it is not the time."""
        if not self._is_due():
            return ""
        self._begun = time.monotonic()
        return str(self._new)

    def written(self, error: str) -> None:
        """Vouch for the state that has been written, unless there was an error."""

        def check() -> None:
            if error:
                raise OSError(error)

        self._keep(check)

    def _is_due(self) -> bool:
        return time.monotonic() >= self._next

    def _begin(self) -> None:
        """Begin a checkpoint without a state."""
        self._begun = time.monotonic()
        self._new.write_bytes(b"")

    def _keep(self, begin: Callable[[], None]) -> None:
        """Make a checkpoint of what has been written; a point is worth more, and goes on without one."""
        try:
            begin()
            self._vouch()
        except OSError as error:
            self._new.unlink(missing_ok=True)
            self._tell(f"no checkpoint: {error.strerror or error}")
        now = time.monotonic()
        self._next = now + max(self._interval, _SHARE * (now - self._begun))

    def _vouch(self) -> None:
        with self._new.open("r+b") as stream:
            state = hashlib.file_digest(stream, "sha256").hexdigest()
            size = stream.seek(0, os.SEEK_END)
            line = {
                "id": identity_of(self._point),
                "point": self._point,
                "build": self._build,
                "bytes": size,
                "state": state,
                "run": self._run,
                "finished": self._finished,
                "spent": {
                    "cpu_s": self.cpu_s(),
                    "wall_s": self._wall_before + time.monotonic() - self._run_begun if self._run else 0.0,
                    "resumed": self.resumed,
                },
            }
            text = dump(sealed(line)).encode()
            stream.write(text)
            stream.write(len(text).to_bytes(_LENGTH))
            stream.flush()
            os.fsync(stream.fileno())
        self._new.replace(self._file)
        sync_folder(self._file.parent)

    def _read(self) -> dict[str, Any] | None:
        """Return what the checkpoint says; None, and say why, if there is none that can be believed."""
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            with self._file.open("rb") as stream:
                text, before = _last_line(stream)
                line = checked(text, identity_of(self._point), _FORM)
                if line["build"] != self._build:
                    raise ValueError("of another build of the simulator")
                if line["bytes"] != before or line["state"] != _hash(stream, before):
                    raise ValueError("the state's checksum differs")
        except FileNotFoundError:
            return None
        except OSError as error:
            self._tell(f"{error.strerror or error}; the point begins afresh")
            return None
        except (ValueError, RecursionError) as error:
            self._tell(f"{error}; the point begins afresh")
            return None
        self._tell(f"goes on after {line['spent']['cpu_s']:.0f} s of processor time")
        return line

    def _tell(self, line: str) -> None:
        """Write a line to standard error, once."""
        if line not in self._told:
            print(f"{self._file}: {line}", file=sys.stderr, flush=True)
            self._told.add(line)


def is_one(file: Path) -> bool:
    """Return whether a file is a checkpoint, of whatever point, as far as its end says."""
    with file.open("rb") as stream:
        try:
            line = json.loads(_last_line(stream)[0])
        except (ValueError, RecursionError):
            return False
    return isinstance(line, dict) and _FORM.keys() <= line.keys()


def _last_line(stream: Any) -> tuple[bytes, int]:
    """Return the line that vouches for a state, and how many bytes are before it (ValueError if there is none)."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - _LENGTH))
    length = int.from_bytes(stream.read(_LENGTH))
    if length > min(size - _LENGTH, _LONGEST_LINE):
        raise ValueError("cut short, or no checkpoint")
    stream.seek(size - _LENGTH - length)
    return stream.read(length), size - _LENGTH - length


def _hash(stream: Any, size: int) -> str:
    """Return the checksum of the first `size` bytes of a file."""
    stream.seek(0)
    found = hashlib.sha256()
    while size > 0 and (part := stream.read(min(size, 1 << 20))):
        found.update(part)
        size -= len(part)
    return found.hexdigest()
