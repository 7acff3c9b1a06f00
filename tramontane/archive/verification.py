"""Verifies a bundle on any machine: that every file is as it was, and that a campaign is complete in it."""

import hashlib
import re
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from urllib.parse import unquote

from tramontane.archive.contents import CHECKSUMS, CLAIMS, CRATE, NAMED, README, VERSIONS, needed
from tramontane.errors import InputError, why_unread
from tramontane.results import datasets
from tramontane.results.proof import (
    FAILURE,
    RECORD,
    UNSOUND,
    checked,
    checked_matrix,
    checksum,
    has_matrix,
    parse,
)
from tramontane.results.store import MISSING, POINTS, Store, digest_of, failed, ok
from tramontane.study.patterns import patterns
from tramontane.support.layout import Layout
from tramontane.support.progress_line import with_progress

_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
_IDENTITY = re.compile(r"[0-9a-f]{16}")
_NAME = re.compile(r"[\w.+-]{1,200}")
_ROOT = Path()

#: Bounds of what is read: files, bytes of all files unpacked, of a file of text, and of a dataset.
MOST_FILES = 1_000_000
MOST_BYTES = 1 << 40
MOST_TEXT = 64 << 20
MOST_DATASET = 1 << 30
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_ENCRYPTED = 0x1


@dataclass(frozen=True)
class Finding:
    """What was found in a bundle.

    Attributes
    ----------
    files, experiments, records, points : int
        How many there are; `points` are those that the experiments consist of.
    problems : tuple of str
        One line for each thing that is wrong; none if the bundle is sound and complete.
    """

    files: int
    experiments: int
    records: int
    points: int
    problems: tuple[str, ...]


def verify_archive(file: Path) -> Finding:
    """Return what is in a bundle and what is wrong with it.

    Raises
    ------
    InputError
        If the file is no bundle at all.
    """
    try:
        with zipfile.ZipFile(file) as bundle:
            return _verify(bundle, file)
    except (FileNotFoundError, IsADirectoryError) as error:
        raise InputError(file, "", None, "a file written by tramontane archive", problem=why_unread(error)) from None
    except (zipfile.BadZipFile, NotImplementedError, OSError, *UNSOUND) as error:
        words = " ".join(str(error.strerror if isinstance(error, OSError) else error).split())[:200]
        raise InputError(
            file, "", None, "a file written by tramontane archive", problem=f"damaged, or no ZIP file ({words})"
        ) from None


def _verify(bundle: zipfile.ZipFile, file: Path) -> Finding:
    entries = bundle.infolist()
    _check_bounds(entries)
    counts = Counter(entry.filename for entry in entries)
    names = dict.fromkeys(entry.filename for entry in entries if not entry.is_dir()).keys()
    if CHECKSUMS not in names:
        raise InputError(file, "", None, "a file written by tramontane archive", problem=f"no {CHECKSUMS} in it")
    problems = [*_unsafe(counts), *_links(entries), *_checksums(bundle, names)]
    experiments: dict[str, tuple[_Made | None, set[str]]] = {}
    try:
        about = _read(bundle, VERSIONS)
        layout = Layout(_ROOT, _matching(_NAME, about["scale"]))
        problems += _lacking(names, [CRATE, CLAIMS, README, str(layout.report), *about.get(NAMED, [])])
        there = [name for name in names if PurePosixPath(name).parent == PurePosixPath(layout.manifests.as_posix())]
        with with_progress(there, "checking datasets") as checked:
            for name in checked:
                own = _read(bundle, name)
                points = {_matching(_IDENTITY, point["id"]) for point in own["points"] if "id" in point}
                experiments[name] = None, points
                experiment = _matching(_NAME, own["name"])
                problems += _lacking(names, map(str, needed(experiment, layout.scale)))
                made, flaws = _dataset(bundle, layout.dataset(experiment).as_posix(), names)
                experiments[name] = made, points
                problems += flaws
        described = {unquote(str(entity["@id"])).rstrip("/") for entity in _read(bundle, CRATE)["@graph"]}
        problems += [
            f"{name} is not described in {CRATE}"
            for name in names
            if name not in (CRATE, CHECKSUMS) and not _described(PurePosixPath(name), described)
        ]
    except (zipfile.BadZipFile, AttributeError, *UNSOUND) as error:
        problems.append(f"can't be read: {' '.join(str(error).split())[:200]}")
    if not experiments:
        problems.append("no experiment in it")
    identities = sorted(set().union(*(points for _, points in experiments.values())))
    places = {identity: Store(_ROOT).path(identity).as_posix() for identity in identities}
    records_there = {identity: place for identity, place in places.items() if place in names}
    told = {problem.partition(" ")[0] for problem in problems}
    with with_progress(identities, "checking records") as asked:
        looked = {identity: _state(bundle, identity, names, told) for identity in asked}
    problems += [flaw for _, flaws in looked.values() for flaw in flaws]
    if not any(problem.startswith(f"{POINTS.as_posix()}/") for problem in problems):  # else the records are to blame
        states = {identity: state for identity, (state, _) in looked.items()}
        problems += _of_others(experiments, states)
    problems += _tables(bundle, records_there, names)
    return Finding(len(names), len(experiments), len(records_there), len(identities), tuple(dict.fromkeys(problems)))


class _Made(NamedTuple):
    """Of which records a dataset was made: their digest, which older datasets lack, and what became of each point."""

    records: str | None
    became: dict[str, str]

    def of(self, states: Mapping[str, str]) -> bool:
        """Return whether these are the records."""
        if self.records is not None:
            return self.records == digest_of(states)
        return all(states.get(identity, MISSING).split()[0] == became for identity, became in self.became.items())


def _of_others(experiments: Mapping[str, tuple[_Made | None, set[str]]], states: Mapping[str, str]) -> Iterator[str]:
    """Yield the experiments whose dataset was made of other records than those in the bundle.

    Parameters
    ----------
    experiments : mapping
        By its manifest, of which records the dataset of an experiment was made, if it can be read, and its points.
    states : mapping
        What the bundle knows of each point.
    """
    for name, (made, points) in experiments.items():
        if made is not None and not made.of({identity: states[identity] for identity in points}):
            yield f"the dataset of {_short(PurePosixPath(name).stem)} was made of other records"


def _check_bounds(entries: Collection[zipfile.ZipInfo]) -> None:
    """Refuse what no campaign writes, before anything is unpacked; unpacking never gives more than an entry states.

    Raises
    ------
    ValueError
        If there are too many files, or too much is in them, or one can't be read.
    """
    if len(entries) > MOST_FILES:
        raise ValueError(f"{len(entries)} files; at most {MOST_FILES}")
    if (total := sum(entry.file_size for entry in entries)) > MOST_BYTES:
        raise ValueError(f"{total} bytes unpacked; at most {MOST_BYTES}")
    for entry in entries:
        if entry.flag_bits & _ENCRYPTED:
            raise ValueError(f"{_short(entry.filename)} is encrypted")
        if entry.compress_type not in _METHODS:
            raise ValueError(f"{_short(entry.filename)} has the unknown compression {entry.compress_type}")


def _unsafe(counts: Counter[str]) -> Iterator[str]:
    """Yield names that would be unpacked outside the folder, or twice."""
    for name, count in counts.items():
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
            yield f"{_short(name)} lies outside the bundle"
        if count > 1:
            yield f"{_short(name)} is there twice"


def _links(entries: Iterable[zipfile.ZipInfo]) -> Iterator[str]:
    """Yield links: what is unpacked after one might be written where it leads."""
    for entry in entries:
        if stat.S_ISLNK(entry.external_attr >> 16):
            yield f"{_short(entry.filename)} is a link"


def _checksums(bundle: zipfile.ZipFile, names: Collection[str]) -> Iterator[str]:
    """Yield what differs between the files and the list of their checksums."""
    listed: dict[str, str] = {}
    for line in _content(bundle, CHECKSUMS).decode("utf-8", errors="replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            yield f"{CHECKSUMS}: found '{line[:40]}' instead of a checksum and a name"
            break
        listed[match[2]] = match[1]
    for name in sorted(set(names) - listed.keys() - {CHECKSUMS}):
        yield f"{_short(name)} has no checksum"
    with with_progress(listed.items(), "checking files") as checked:
        for name, wanted in checked:
            if name not in names:
                yield f"{_short(name)} is missing"
                continue
            try:
                if _sha256(bundle, name) != wanted:
                    yield f"{_short(name)} has changed"
            except (zipfile.BadZipFile, zlib.error, EOFError):
                yield f"{_short(name)} is damaged"


def _state(
    bundle: zipfile.ZipFile, identity: str, names: Container[str], told: Container[str]
) -> tuple[str, list[str]]:
    """Return what a bundle knows of a point, as :meth:`Store.state` would, and what is wrong with its files.

    What is wrong with a congestion matrix that was told of already is not told again.
    """
    store = Store(_ROOT)
    state, flaws = MISSING, []
    files = ((store.path(identity), RECORD, ok), (store.failure_path(identity), FAILURE, failed))
    for place, form, said in ((path.as_posix(), form, said) for path, form, said in files):
        if place not in names:
            continue
        try:
            data = checked(_content(bundle, place), identity, form)
            state = said(checksum(data))
            matrix = store.congestion_path(identity)
            if form is RECORD and has_matrix(data) and matrix.as_posix() not in told:
                _check_matrix(bundle, data, matrix, names)
        except (zipfile.BadZipFile, *UNSOUND) as error:
            flaws.append(f"{place}: {' '.join(str(error).split())[:200]}")
    return state, flaws


def _check_matrix(bundle: zipfile.ZipFile, record: dict[str, Any], matrix: Path, names: Container[str]) -> None:
    """Refuse the congestion matrix of a record (ValueError)."""
    if matrix.as_posix() not in names:
        raise ValueError(f"{matrix.name} is missing")
    with bundle.open(matrix.as_posix()) as packed:
        checked_matrix(record, matrix, packed)


def _dataset(bundle: zipfile.ZipFile, name: str, names: Container[str]) -> tuple[_Made | None, list[str]]:
    """Return of which records a dataset was made, if it can be read, and what is wrong with it."""
    try:
        if name in names:
            dataset = datasets.read(Path(name), _content(bundle, name, MOST_DATASET))
            points = (dataset[key].to_numpy().ravel().tolist() if key in dataset else () for key in ("id", "status"))
            became = {str(identity): str(status) for identity, status in zip(*points, strict=True) if identity}
            return _Made(dataset.attrs.get(datasets.RECORDS), became), []
    except InputError as error:
        return None, [f"{name}: {error.problem}"]
    except ValueError as error:
        return None, [str(error)]
    except (zipfile.BadZipFile, zlib.error, EOFError):
        pass
    return None, []  # told already


def _tables(bundle: zipfile.ZipFile, records: dict[str, str], names: Container[str]) -> Iterator[str]:
    """Yield what is wrong with the tables of messages that points name."""
    wanted: set[str] = set()
    for place in records.values():
        try:
            wanted |= patterns.named(_read(bundle, place).get("point"))
        except (zipfile.BadZipFile, AttributeError, *UNSOUND):
            continue  # told already
    for digest in sorted(wanted):
        name = patterns.place(_ROOT, digest).as_posix()
        if name not in names:
            yield f"{_short(name)} is missing"
            continue
        try:
            right = _sha256(bundle, name) == digest
        except (zipfile.BadZipFile, zlib.error, EOFError):
            right = False
        if not right:
            yield f"{_short(name)} is not what its name says"


def _lacking(names: Container[str], needed: Iterable[str]) -> Iterator[str]:
    return (f"{_short(str(name))} is missing" for name in needed if name not in names)


def _described(place: PurePosixPath, described: set[str]) -> bool:
    return str(place) in described or any(str(parent) in described for parent in place.parents if str(parent) != ".")


def _read(bundle: zipfile.ZipFile, name: str) -> Any:
    return parse(_content(bundle, name))


def _content(bundle: zipfile.ZipFile, name: str, most: int | None = None) -> bytes:
    most = MOST_TEXT if most is None else most
    if (size := bundle.getinfo(name).file_size) > most:
        raise ValueError(f"{_short(name)} has {size} bytes; at most {most}")
    return bundle.read(name)


def _sha256(bundle: zipfile.ZipFile, name: str) -> str:
    with bundle.open(name) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def _matching(pattern: re.Pattern[str], text: Any) -> str:
    if not isinstance(text, str) or not pattern.fullmatch(text):
        raise ValueError(f"found {_short(repr(text))}, which is no name")
    return text


def _short(text: str) -> str:
    """Return a strange name on one line of bearable length."""
    return text[:200] if text.isprintable() else ascii(text[:200])
