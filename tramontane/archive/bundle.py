"""Writes the bundle of a campaign: the same results give the same file, byte for byte."""

import contextlib
import datetime
import errno
import hashlib
import importlib.metadata
import json
import platform
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tramontane import __version__
from tramontane.archive.contents import (
    CHECKSUMS,
    CLAIMS,
    CRATE,
    NAMED,
    README,
    VERSIONS,
    check_outside,
    manifests,
    sources,
)
from tramontane.archive.crate import crate_metadata
from tramontane.claims import evaluate
from tramontane.errors import InputError
from tramontane.results import datasets, manifest
from tramontane.results.store import Store
from tramontane.study import load_experiment
from tramontane.study.experiments.claims import statements
from tramontane.study.reading.project import EXPERIMENTS
from tramontane.support.files import UnwritableError, folder_beside
from tramontane.support.layout import Layout
from tramontane.support.progress_line import with_progress

_CHUNK = 1 << 20
#: The earliest time a ZIP file knows.
_EPOCH = (1980, 1, 1, 0, 0, 0)
_MODE = 0o644 << 16


def write_archive(root: Path, scale: str, out: Path) -> int:
    """Write the bundle of a campaign, whole or not at all.

    Parameters
    ----------
    root : Path
        Root of the checkout.
    scale : str
        Scale of the campaign.
    out : Path
        File to write; ends in ``.zip``.

    Returns
    -------
    int
        Number of files in it.

    Raises
    ------
    InputError
        If there is no such campaign, a dataset of it is not as it was written or not of the records that are there, or
        the file can't be written there.
    UnwritableError
        If the system refuses to write the file.
    """
    if out.suffix != ".zip":
        raise InputError(out, "", str(out.suffix), "a name that ends in .zip", problem=f"found '{out.name}'")
    if not out.absolute().parent.is_dir():
        raise InputError(out, "", None, "a file in a folder that exists", problem=f"no folder {out.parent}")
    check_outside(root, out)
    files, named = sources(root, scale)
    _check_datasets(root, scale)
    about = versions(root, scale) | {NAMED: [str(place) for place in named]}
    texts = {
        PurePosixPath(VERSIONS): _json(about),
        PurePosixPath(CLAIMS): _json([verdict.as_data() for verdict in evaluate(root, scale)]),
        PurePosixPath(README): readme(scale, about),
    }
    sizes = {place: path.stat().st_size for place, path in files.items()}
    sizes |= {place: len(text.encode()) for place, text in texts.items()}
    texts[PurePosixPath(CRATE)] = crate_metadata(root, scale, sizes, about, _cited(root, scale))
    with _naming(out), folder_beside(out) as folder:
        temporary = folder / out.name
        with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as bundle:
            with with_progress(files.items(), "packing files") as packed:
                sums = {place: _copy(bundle, place, path, about["created"]) for place, path in packed}
            sums |= {place: _put(bundle, place, text, about["created"]) for place, text in texts.items()}
            lines = "".join(f"{digest}  {place}\n" for place, digest in sorted(sums.items()))
            _put(bundle, PurePosixPath(CHECKSUMS), lines, about["created"])
        temporary.replace(out)
    return len(sums) + 1


def _check_datasets(root: Path, scale: str) -> None:
    """Refuse a dataset that is not as it was written, or of other records than are there (InputError)."""
    layout, store = Layout(root, scale), Store(root)
    with with_progress(list(manifests(layout)), "checking datasets") as checked:
        for own in checked:
            path = layout.dataset(own["name"])
            if datasets.read(path).attrs.get(datasets.RECORDS) != store.digest(manifest.identities(own)):
                made = f"tramontane reproduce --scale {scale} --no-run makes it"
                raise InputError(
                    path, "", None, f"a dataset of the records that are there; {made}", problem="made of other records"
                )


def _cited(root: Path, scale: str) -> list[str]:
    """Return the keys of the publications that the experiments and statements of a campaign name."""
    named = {paper for _, (paper, _) in statements(root)}
    for own in manifests(Layout(root, scale)):
        named |= set(load_experiment(root / EXPERIMENTS / f"{own['name']}.yaml").references)
    return sorted(named)


def versions(root: Path, scale: str) -> dict[str, Any]:
    """Return what made the results and when; what differs between records is a list."""
    layout = Layout(root, scale)
    store = Store(root)
    identities = set().union(*map(manifest.identities, manifests(layout)))
    records = [store.read(identity) for identity in sorted(identities) if store.has(identity)]
    known = [record["provenance"] for record in records]

    def each(key: str) -> list[Any]:
        return sorted({str(own[key]) for own in known if own.get(key) is not None})

    return {
        "tramontane": __version__,
        "scale": scale,
        "command": json.loads(layout.plan.read_text(encoding="utf-8"))["command"] if layout.plan.exists() else "",
        "created": max(
            (own["created"] for own in known), default=datetime.datetime(*_EPOCH, tzinfo=datetime.UTC).isoformat()
        ),
        "points": len(identities),
        "records": len(records),
        "git_commit": ", ".join(each("git_commit")),
        "model_revision": each("model_revision"),
        "compiler": each("compiler"),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in _packages()},
    }


def _packages() -> list[str]:
    """Return the packages that the project asks for, those of extras only where they are installed."""
    required = importlib.metadata.requires("tramontane") or []
    named = {re.split(r"[^A-Za-z0-9._-]", text)[0]: "extra ==" in text for text in required}
    there = {str(known.name).lower() for known in importlib.metadata.distributions()} if any(named.values()) else set()
    return sorted(name for name, extra in named.items() if not extra or name.lower() in there)


def readme(scale: str, about: Mapping[str, Any]) -> str:
    """Return what a reader of the bundle needs to know."""
    return f"""\
# Results of the {scale} campaign

Made by Tramontane {about["tramontane"]}: {about["records"]} of {about["points"]} points.

| file | |
| --- | --- |
| `results/{scale}/report.html` | the report; it opens without a network |
| `results/{scale}/figures/`, `sheets/`, `schematics/` | figures and captions |
| `results/{scale}/datasets/` | a NetCDF dataset for each experiment |
| `results/points/` | a record of each point |
| `results/tables/` | tables of messages that points name by their digests, if any do |
| `{CLAIMS}` | what became of the papers' statements |
| `configs/`, and files that it names | what was studied |
| `{VERSIONS}`, `requirements.lock` | what made it |
| `{CRATE}` | all this for machines |

`sha256sum -c {CHECKSUMS}` verifies the files, and `tramontane archive --verify FILE` the bundle. With Tramontane
installed,

    tramontane reproduce --scale {scale} --no-run

makes datasets, figures and report anew in this folder, from the records alone.
"""


def _json(data: Any) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def _entry(place: PurePosixPath, created: str) -> zipfile.ZipInfo:
    time = datetime.datetime.fromisoformat(created)
    stamp = (time.year, time.month, time.day, time.hour, time.minute, time.second)
    entry = zipfile.ZipInfo(str(place), max(stamp, _EPOCH))
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, _MODE
    return entry


def _copy(bundle: zipfile.ZipFile, place: PurePosixPath, path: Path, created: str) -> str:
    """Put a file into the bundle and return its checksum."""
    digest = hashlib.sha256()
    entry = _entry(place, created)
    entry.file_size = path.stat().st_size
    with path.open("rb") as source, bundle.open(entry, "w") as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            target.write(chunk)
    return digest.hexdigest()


def _put(bundle: zipfile.ZipFile, place: PurePosixPath, text: str, created: str) -> str:
    """Put a text into the bundle and return its checksum."""
    data = text.encode()
    bundle.writestr(_entry(place, created), data)
    return hashlib.sha256(data).hexdigest()


@contextlib.contextmanager
def _naming(out: Path) -> Iterator[None]:
    """Let the system's refusals name the file; only those of files that are read name these."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) and error.filename is not None:
            raise
        raise UnwritableError(error.errno, error.strerror or str(error), str(out)) from error
