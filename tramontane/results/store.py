"""The store of finished points: one small JSON file each, named by the point's identity.

A congestion matrix, which would make the record a hundred times larger, has a compressed file of its own beside it.

A record is the only thing a running point leaves behind, so everything else (plans, batches, datasets, figures) can be
deleted and made again. Files appear whole or not at all: a campaign may be killed at any moment.
"""

import contextlib
import gzip
import json
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.study.points import Point

#: Where records lie below the root of a checkout.
POINTS = Path("results", "points")

#: Where records lie that come with the project, because simulating their points takes hours.
PUBLISHED = Path("published")

_RECORD = ".json"
_FAILURE = ".failed.json"
_CONGESTION = ".congestion.json.gz"


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write `content` to `path` so that nobody, at no time, sees half of it.

    The temporary file lies in the same folder, because a rename is atomic inside one file system only.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content.encode() if isinstance(content, str) else content)
        # mkstemp makes files only the owner can read; results are meant to be shared.
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            Path(name).unlink()
        raise


def write_if_changed(path: Path, text: str) -> bool:
    """Write `text` to `path` unless it stands there already; return whether the file was written.

    An unchanged file keeps its time of modification, and so asks nothing of the workflow.
    """
    try:
        if path.read_text(encoding="utf-8") == text:
            return False
    except (FileNotFoundError, UnicodeDecodeError):
        pass
    write_atomically(path, text)
    return True


def dump(data: Any) -> str:
    """Return `data` as JSON text for a file: sorted keys, one line, no NaN."""
    return json.dumps(data, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"


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

    def path(self, identity: str) -> Path:
        """Return where the record of the point `identity` (16 hex digits) lies, or would lie."""
        return Path(self.root, self.folder, identity[:2], identity + _RECORD)

    def failure_path(self, identity: str) -> Path:
        """Return where the failure of the point `identity` lies, or would lie."""
        return Path(self.root, self.folder, identity[:2], identity + _FAILURE)

    def has(self, identity: str) -> bool:
        """Return whether the point has a result, and its last attempt did not fail."""
        return self.path(identity).exists() and not self.has_failed(identity)

    def has_failed(self, identity: str) -> bool:
        """Return whether the last attempt at the point failed."""
        return self.failure_path(identity).exists()

    def read(self, identity: str) -> dict[str, Any]:
        """Return the record of a point: ``{"id", "point", "result", "provenance"}``."""
        return _read(self.path(identity))

    def read_failure(self, identity: str) -> dict[str, Any]:
        """Return the failure of a point: ``{"id", "point", "message", "provenance"}``."""
        return _read(self.failure_path(identity))

    def read_congestion(self, identity: str) -> dict[str, Any] | None:
        """Return a point's congestion matrix, ``{"bins", "ranks", "packets", "sum_s", "max_s"}``, if it has one."""
        try:
            data: dict[str, Any] = json.loads(gzip.decompress(self._congestion_path(identity).read_bytes()))
        except FileNotFoundError:
            return None
        return data

    def write(self, record: dict[str, Any]) -> None:
        """Store a finished point; a failure that an earlier attempt left is forgotten."""
        identity = record["id"]
        result = dict(record["result"])
        congestion = result.pop("congestion", None)
        if congestion is not None:  # before the record, which says that the point is complete
            write_atomically(
                self._congestion_path(identity), gzip.compress(dump(congestion).encode(), compresslevel=6, mtime=0)
            )
        write_atomically(self.path(identity), dump({**record, "result": result}))
        self.failure_path(identity).unlink(missing_ok=True)

    def failed(self, identity: str, point: Point, message: str, provenance: dict[str, Any]) -> None:
        """Store that a point failed, and why. A result of an earlier model revision stays, but no longer counts."""
        failure = {"id": identity, "point": point.canonical(), "message": message, "provenance": provenance}
        write_atomically(self.failure_path(identity), dump(failure))

    def _congestion_path(self, identity: str) -> Path:
        return Path(self.root, self.folder, identity[:2], identity + _CONGESTION)

    def changed_at(self, identity: str) -> int:
        """Return when the point last changed here [ns since the epoch]; 0 if nothing is known of it."""
        return max(_modified(self.path(identity)), _modified(self.failure_path(identity)))

    def identities(self) -> Iterator[str]:
        """Yield the identities of all points that have a record, in order."""
        for path in sorted(Path(self.root, self.folder).glob(f"??/*{_RECORD}")):
            if not path.name.endswith(_FAILURE) and not path.name.startswith("."):
                yield path.name.removesuffix(_RECORD)


def _read(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


def _modified(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0
