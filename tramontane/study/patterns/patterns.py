"""Tables of messages, operations or links as points name them: told from others, kept, and found again.

A path says nothing about what is simulated, so a point names a table by the digest of its binary form
(:mod:`tramontane.study.patterns.pattern_tables`, :mod:`tramontane.study.traces.traces`,
:mod:`tramontane.study.networks.graphs`). Tables lie in ``results/tables`` under their digests, where everybody who
runs a point finds them.
"""

import functools
import hashlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from pydantic_core import PydanticCustomError

from tramontane.errors import InputError, display_path, show
from tramontane.study.patterns.pattern_tables import Column, packed, read
from tramontane.study.reading.messages import problem
from tramontane.study.reading.project import find_root, working_folder
from tramontane.study.reading.reading import read_json
from tramontane.study.values.fields import is_digest
from tramontane.support.files import dump, write_atomically
from tramontane.support.layout import home, tables

PROJECT = "TRAMONTANE_PROJECT"
"""The environment variable that names the project's folder, for programs that run elsewhere."""
APART = "TRAMONTANE_TABLES_APART"
"""The environment variable that names a folder of tables that are not to stay, for all processes of a command."""
_SUFFIX = ".pattern"
_KINDS = ("pattern", "trace")
_GRAPH = "graph"
"""The topology whose machines name a table."""

_files_of: dict[str, Path] = {}
"""The file of each table that this process has read, for what is wrong with one of its rows."""

Pack = Callable[[Path], bytes | memoryview]
"""Returns the binary form of what is in a file; InputError if it can't."""


def pack_messages(path: Path) -> memoryview:
    """Return the binary form of the messages in a file (InputError)."""
    return packed(read(path), path)


def kept(file: str | Path, pack: Pack = pack_messages) -> str:
    """Return the digest of the table in a file, and keep the table where everybody finds it by that.

    Parameters
    ----------
    file : path
        By default a ``.csv``, ``.npz`` or ``.nc`` file with the columns `source`, `target` and `bytes`, maybe `tag` and
        `step`.
    pack : function
        Makes the binary form of the table.

    Raises
    ------
    InputError
        If it can't be read, or has no such columns, or a row that can't be; the line names it.
    """
    path = Path(file).absolute()
    try:
        changed = tuple((each.stat().st_mtime_ns, each.stat().st_size) for each in _files(path))
    except (OSError, ValueError):
        raise InputError(path, "", None, "a file", problem="no such file") from None
    named = (path, changed, _root(), pack)
    digest = _kept(*named)
    _files_of[digest] = path
    return digest if is_kept(digest) else _kept.__wrapped__(*named)


@functools.lru_cache(maxsize=256)
def _kept(path: Path, changed: tuple[tuple[int, int], ...], root: Path, pack: Pack) -> str:
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return _keep(pack(path), root, lambda: {"file": name, "sha256": _sha256(*_files(path))})


def kept_messages(columns: Mapping[str, Column], origin: str) -> str:
    """Return the digest of messages that were made, not read, and keep their table where everybody finds it by that.

    Parameters
    ----------
    columns : mapping
        `source`, `target`, `bytes`, and maybe `tag`.
    origin : str
        Of what they were made, in the place of a file's name.

    Raises
    ------
    InputError
        If there is no place to write to.
    """
    zero = columns["source"] * 0
    table = packed({"tag": zero, "step": zero, **columns}, Path(origin))
    return _keep(table, _root(), lambda: {"made_from": origin})


def _keep(content: bytes | memoryview, root: Path, said: Callable[[], dict[str, str]]) -> str:
    """Write a table, and beside it what is said of it, unless they are there; return its digest."""
    digest = hashlib.sha256(content).hexdigest()
    table, note = place(root, digest), note_of(root, digest)
    try:
        if not _is_whole(table, digest):
            write_atomically(table, content)
        if not note.exists():
            write_atomically(note, dump(said()))
    except OSError as error:
        raise InputError(table, "", None, "a place to write to", problem=f"{error.strerror}") from None
    return digest


def file_of(digest: str) -> Path | None:
    """Return from what file a table was made: the one this process has read, else the first one; None if unknown."""
    if digest in _files_of:
        return _files_of[digest]
    note = note_of(_root(), digest)
    said = read_json(note) if note.exists() else None
    return Path(str(said["file"])) if isinstance(said, dict) and "file" in said else None


def is_kept(digest: str) -> bool:
    """Return whether the project has a table; one process may see several projects."""
    return place(_root(), digest).exists()


def by_table(keys: Mapping[str, Any], pack: Pack) -> dict[str, Any]:
    """Return keys with the digest of a table in the place of the file it is in; a mere digest is looked up.

    Raises
    ------
    PydanticCustomError
        If the file or the table can't be read, or is another one than the digest says.
    """
    file, table_ = keys.get("file"), keys.get("table")
    if file is not None and not isinstance(file, str):
        raise problem(f"found {show(file)}", "a file's path", key="file")
    try:
        if file is not None:
            found = kept(file, pack)
            if table_ not in (None, found):
                raise problem(f"found one with digest {found}", f"the one planned, {table_}", key="file")
            return {**{key: value for key, value in keys.items() if key != "file"}, "table": found}
        if isinstance(table_, str) and is_digest(table_):
            table(table_)
    except InputError as error:
        where = ": ".join(part for part in (display_path(error.source), error.key, error.problem) if part)
        raise problem(where, error.allowed, key="table" if file is None else "file", hint=error.hint) from None
    return dict(keys)


def _root() -> Path:
    """Return the project's folder, which each step of a program asks for."""
    return _root_seen_from(os.environ.get(PROJECT), working_folder())


@functools.lru_cache(maxsize=8)
def _root_seen_from(start: str | None, _working_directory: Path) -> Path:
    return find_root(start)


def table(digest: str) -> Path:
    """Return the file of the table with a digest; its content has been checked against that.

    Raises
    ------
    InputError
        If there is none, or it is damaged.
    """
    path = place(_root(), digest)
    try:
        status = path.stat()
    except OSError:
        allowed = "the table of a point, made when its YAML file is read"
        raise InputError(path, "", None, allowed, problem="no such file") from None
    if not _is_right(path, digest, status.st_mtime_ns, status.st_size):
        allowed = "what its name says; remove it, and it is made anew when the point's YAML file is read"
        raise InputError(path, "", None, allowed, problem="its content has changed")
    return path


def named(canonical: object) -> set[str]:
    """Return the digests of all tables that the canonical form of a point names, at any depth."""
    if isinstance(canonical, list):
        return set().union(*map(named, canonical))
    if not isinstance(canonical, dict):
        return set()
    has_table = canonical.get("kind") in _KINDS or canonical.get("topology") == _GRAPH
    table = canonical.get("table") if has_table else None
    return ({table} if isinstance(table, str) else set()).union(*map(named, canonical.values()))


def place(root: Path, digest: str) -> Path:
    """Return the file of a table in a project."""
    return _place(root, f"{digest}{_SUFFIX}")


def _place(root: Path, name: str) -> Path:
    """Return a file among the tables of a project; where those that are made now do not stay, one that is not there."""
    usual, apart = tables(root) / name, os.environ.get(APART)
    return usual if apart is None or usual.exists() else Path(apart, name)


@contextmanager
def kept_apart_if_need_be() -> Iterator[None]:
    """Keep tables in a temporary folder meanwhile, where there is no project, or none that can be written."""
    root = _root()
    if home(root) == root and _can_be_written(tables(root)):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="tramontane-") as folder:
        os.environ[APART] = folder
        try:
            yield
        finally:
            del os.environ[APART]


def _can_be_written(folder: Path) -> bool:
    there = next(each for each in (folder, *folder.parents) if each.exists())
    return there.is_dir() and os.access(there, os.W_OK | os.X_OK)


def by_digest(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Return keys that a program was given with digests in the place of paths of tables, which are a machine's own."""
    tables = {key: value for key, value in keys.items() if isinstance(value, str) and value.endswith(_SUFFIX)}
    return {**keys, **{key: Path(value).stem for key, value in tables.items()}}


def note_of(root: Path, digest: str) -> Path:
    """Return the file that says from what a table was made first: name and digest of that file."""
    return _place(root, f"{digest}.json")


def origins(root: Path, canonical: object) -> dict[str, Any]:
    """Return from what file each table of a point was made, by its digest, as far as that is known."""
    notes = {digest: note_of(root, digest) for digest in sorted(named(canonical))}
    return {digest: read_json(note) for digest, note in notes.items() if note.exists()}


def at_its_row(refused: PydanticCustomError, keys: Any) -> PydanticCustomError:
    """Return the refusal of a table whose ranks are too many, with the row that says so, where its file is known.

    Parameters
    ----------
    refused : PydanticCustomError
        What the compiled description said; anything else is returned as it is.
    keys : dict
        The workload's, as it was given them.
    """
    said = refused.context or {}
    last = re.fullmatch(r"ranks from 0 to (\d+)", said.get("allowed", ""))
    if last is None or not said["key"].endswith("file"):
        return refused
    for digest in sorted(Path(table).stem for table in named(keys)):
        row = _row_beyond(digest, int(last[1]))
        if row is not None:
            return problem(row, said["allowed"], key=said["key"])
    return refused


def _row_beyond(digest: str, last: int) -> str | None:
    """Return in words the first row with a rank beyond the last one, in the file that this process made a table of."""
    path = _files_of.get(digest)
    if path is None:
        return None
    columns = read(path)
    beyond = {name: np.flatnonzero(columns[name] > last) for name in ("source", "target")}
    first = {name: int(rows[0]) for name, rows in beyond.items() if len(rows)}
    if not first:
        return None
    name = min(first, key=lambda name: first[name])
    return f"{path.name}: row {first[name] + 1}, {name}: found {columns[name][first[name]]}"


def _is_whole(path: Path, digest: str) -> bool:
    try:
        status = path.stat()
    except OSError:
        return False
    return _is_right(path, digest, status.st_mtime_ns, status.st_size)


@functools.lru_cache(maxsize=256)
def _is_right(path: Path, digest: str, changed: int, size: int) -> bool:
    try:
        return _sha256(path) == digest
    except OSError:
        return False


def _files(path: Path) -> list[Path]:
    """Return the file, or those of a folder that holds a trace, in order."""
    return sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]


def _sha256(*paths: Path) -> str:
    found = hashlib.sha256()
    for path in paths:
        with path.open("rb") as stream:
            hashlib.file_digest(stream, lambda: found)
    return found.hexdigest()
