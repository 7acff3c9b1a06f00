"""Verifies a bundle on any machine: that every file is as it was, and that a campaign is complete in it."""

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Container, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tramontane.archive.contents import CHECKSUMS, CLAIMS, CRATE, README, VERSIONS
from tramontane.errors import InputError
from tramontane.results.store import Store
from tramontane.support.layout import Layout

_CHUNK = 1 << 20
_LINE = re.compile(r"([0-9a-f]{64})  (\S.*)")
_ROOT = Path()


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
    except FileNotFoundError:
        raise InputError(file, "", None, "a file written by tramontane archive", problem="no such file") from None
    except IsADirectoryError:
        raise InputError(file, "", None, "a file written by tramontane archive", problem="found a folder") from None
    except zipfile.BadZipFile as error:
        raise InputError(
            file, "", None, "a file written by tramontane archive", problem=f"damaged, or no ZIP file ({error})"
        ) from None


def _verify(bundle: zipfile.ZipFile, file: Path) -> Finding:
    names = [entry.filename for entry in bundle.infolist() if not entry.is_dir()]
    if CHECKSUMS not in names:
        raise InputError(file, "", None, "a file written by tramontane archive", problem=f"no {CHECKSUMS} in it")
    problems = [*_unsafe(names), *_checksums(bundle, names)]
    experiments = 0
    points: set[str] = set()
    try:
        scale = str(_read(bundle, VERSIONS)["scale"])
        layout = Layout(_ROOT, scale)
        problems += _lacking(names, [CRATE, CLAIMS, README, str(layout.report)])
        for name in names:
            if PurePosixPath(name).parent == PurePosixPath(layout.manifests.as_posix()):
                experiments += 1
                own = _read(bundle, name)
                points |= {point["id"] for point in own["points"] if "id" in point}
                problems += _lacking(names, _needed(str(own["name"]), layout))
        described = {str(entity["@id"]).rstrip("/") for entity in _read(bundle, CRATE)["@graph"]}
        problems += [
            f"{name} is not described in {CRATE}"
            for name in names
            if name not in (CRATE, CHECKSUMS) and not _described(PurePosixPath(name), described)
        ]
    except (KeyError, ValueError, TypeError, zipfile.BadZipFile) as error:
        problems.append(f"can't be read: {' '.join(str(error).split())}")
    if not experiments:
        problems.append("no experiment in it")
    records = sum(Store(_ROOT).path(identity).as_posix() in names for identity in points)
    return Finding(len(names), experiments, records, len(points), tuple(dict.fromkeys(problems)))


def _unsafe(names: list[str]) -> Iterator[str]:
    """Yield names that would be unpacked outside the folder, or twice."""
    for name in names:
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts or "\\" in name:
            yield f"{name} lies outside the bundle"
        if names.count(name) > 1:
            yield f"{name} is there twice"


def _checksums(bundle: zipfile.ZipFile, names: list[str]) -> Iterator[str]:
    """Yield what differs between the files and the list of their checksums."""
    listed: dict[str, str] = {}
    for line in bundle.read(CHECKSUMS).decode("utf-8", errors="replace").splitlines():
        match = _LINE.fullmatch(line)
        if match is None:
            yield f"{CHECKSUMS}: found '{line[:40]}' instead of a checksum and a name"
        else:
            listed[match[2]] = match[1]
    for name in sorted(set(names) - listed.keys() - {CHECKSUMS}):
        yield f"{name} has no checksum"
    for name, wanted in listed.items():
        if name not in names:
            yield f"{name} is missing"
            continue
        digest = hashlib.sha256()
        try:
            with bundle.open(name) as stream:
                while chunk := stream.read(_CHUNK):
                    digest.update(chunk)
        except (zipfile.BadZipFile, zlib.error, EOFError):
            yield f"{name} is damaged"
            continue
        if digest.hexdigest() != wanted:
            yield f"{name} has changed"


def _needed(name: str, layout: Layout) -> list[str]:
    """Return the files that an experiment of a campaign has, beside its records."""
    paths = [layout.dataset(name), *layout.figures(name), Path("configs", "experiments", f"{name}.yaml")]
    return [path.as_posix() for path in paths]


def _lacking(names: Container[str], needed: list[str]) -> Iterator[str]:
    return (f"{name} is missing" for name in needed if name not in names)


def _described(place: PurePosixPath, described: set[str]) -> bool:
    return str(place) in described or any(str(parent) in described for parent in place.parents if str(parent) != ".")


def _read(bundle: zipfile.ZipFile, name: str) -> Any:
    return json.loads(bundle.read(name))
