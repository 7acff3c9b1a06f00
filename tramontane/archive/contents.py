"""Which files belong to the bundle of a campaign, and where they lie in it.

The bundle is laid out like a checkout, so that the commands work in it as they do there.
"""

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from tramontane.archive.citation import CITATION
from tramontane.errors import InputError
from tramontane.results import manifest
from tramontane.results.store import Store
from tramontane.study import expand, load_experiment
from tramontane.study.catalogue import Named, files_named
from tramontane.study.patterns import patterns
from tramontane.study.reading.project import EXPERIMENTS
from tramontane.support.layout import SHARE, Layout
from tramontane.support.otf2 import SUFFIX, parts_of

#: Files that say whose results these are, and what the software was built with. The former are the study's own or none:
#: nobody's results get Tramontane's authors or licence.
_ABOUT = (CITATION, "LICENSE", "requirements.lock")
_OF_SOFTWARE = ("requirements.lock",)
#: What a campaign leaves behind that is of no use to others.
_NOT_ARCHIVED = ("logs", "batches", "plan/batches", "plan/plan.json", "plan/shown.json")

CRATE = "ro-crate-metadata.json"
CHECKSUMS = "manifest-sha256.txt"
CLAIMS = "claims.json"
README = "README.md"
VERSIONS = "versions.json"
#: The key of that file for the places of files that experiments name, such as traces.
NAMED = "named_files"

Sources = dict[PurePosixPath, Path]


def sources(root: Path, scale: str) -> tuple[Sources, list[PurePosixPath]]:
    """Return the files of a campaign by their place in the bundle, and the places of those that experiments name.

    Parameters
    ----------
    root : Path
        Root of the checkout.
    scale : str
        Scale of the campaign.

    Raises
    ------
    InputError
        If the campaign has no report yet, an experiment is not the one that was run or lacks a file, or names one that
        others would not find.
    """
    layout = Layout(root, scale)
    if not layout.report.exists():
        allowed = f"a campaign with its report; make one by: tramontane reproduce --scale {scale}"
        raise InputError(layout.report, "", None, allowed, problem="no such file")
    with files_named() as names:
        _check_current(layout)
    named = sorted({path for place, name in names.items() for path in _named(root, place, name)})
    found: Sources = {}
    for path in (*_files(root / "configs"), *named, *_campaign(layout), *_records(layout), *_tables(layout)):
        found[_place(root, path)] = path
    for name in _ABOUT:
        folders = (root, SHARE) if name in _OF_SOFTWARE else (root,)
        own = next((folder / name for folder in folders if (folder / name).exists()), None)
        if own is not None:
            found[PurePosixPath(name)] = own
    for name in (own["name"] for own in manifests(layout)):
        for place in (place for place in needed(name, scale) if place not in found):
            allowed = f"the files of '{name}'; make them by: tramontane reproduce --scale {scale} --no-run"
            raise InputError(root / place, "", None, allowed, problem="no such file")
    return dict(sorted(found.items())), [_place(root, path) for path in named]


def needed(name: str, scale: str) -> list[PurePosixPath]:
    """Return the places of the files that an experiment of a campaign has, beside its manifest and its records."""
    layout = Layout(Path(), scale)
    paths = [layout.dataset(name), *layout.figures(name), EXPERIMENTS / f"{name}.yaml"]
    return [PurePosixPath(path.as_posix()) for path in paths]


def check_outside(root: Path, out: Path) -> None:
    """Refuse to write a bundle where the next one would swallow it (InputError)."""
    for name in ("configs", "results"):
        if out.resolve().is_relative_to((root / name).resolve()):
            allowed = "a file outside of configs/ and results/, for those are archived"
            raise InputError(out, "", None, allowed, problem=f"lies in {name}/")


def _place(root: Path, path: Path) -> PurePosixPath:
    return PurePosixPath(path.relative_to(root).as_posix())


def _named(root: Path, place: Path, named: Named) -> Iterator[Path]:
    """Yield the files that are meant by a name in an experiment; refuse one that says nothing on another machine."""
    path = Path(os.path.normpath(place))
    if Path(named.name).is_absolute() or not path.is_relative_to(root):
        allowed = f"a relative path of a file below {root}, which travels with the experiment"
        raise InputError(named.origin.source, named.origin.key, named.name, allowed)
    for part in parts_of(path) if path.suffix == SUFFIX else [path]:
        yield from (each for each in sorted(part.rglob("*")) if each.is_file()) if part.is_dir() else [part]


def manifests(layout: Layout) -> Iterator[dict[str, Any]]:
    """Yield the manifests of the experiments that have a dataset; refuse one that is damaged."""
    gone = manifest.gone(layout)
    for path in sorted(layout.manifests.glob("*.json")):
        if path.stem not in gone:
            yield manifest.read(path)


def _check_current(layout: Layout) -> None:
    """Refuse an experiment that was changed and not run again: its file would not say what its dataset holds."""
    for own in manifests(layout):
        experiment = load_experiment(layout.root / EXPERIMENTS / f"{own['name']}.yaml")
        if layout.scale in experiment.scales:
            now = manifest.manifest(experiment, expand(experiment, layout.scale))
            if _asked(own) == _asked(now):
                continue
        allowed = f"an experiment as it was run; run it again by: tramontane reproduce --scale {layout.scale}"
        raise InputError(experiment.path, "", None, allowed, problem="changed since then")


def _asked(data: manifest.Manifest) -> tuple[Any, ...]:
    """Return what a manifest has of its experiment alone, and nothing of the simulator."""
    told = (data.get(key) for key in ("title", "question", "description", "figure", "dims"))
    return (*told, [point.get("id") for point in data["points"]])


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(part.startswith(".") for part in path.relative_to(folder).parts):
            yield path


def _campaign(layout: Layout) -> Iterator[Path]:
    gone = {
        path
        for name in manifest.gone(layout)
        for path in (layout.manifest(name), layout.dataset(name), *layout.figures(name))
    }
    for path in _files(layout.folder):
        place = path.relative_to(layout.folder)
        if path not in gone and not any(place.is_relative_to(left) for left in _NOT_ARCHIVED):
            yield path


def _records(layout: Layout) -> Iterator[Path]:
    """Yield all that is known of the points of the campaign: records, congestion matrices, failures; each once."""
    store = Store(layout.root)
    for identity in _identities(layout):
        yield from store.files(identity)


def _tables(layout: Layout) -> Iterator[Path]:
    """Yield the tables of messages that points with a record name."""
    store = Store(layout.root)
    points = (store.read(identity)["point"] for identity in _identities(layout) if store.has(identity))
    for digest in sorted(set().union(*map(patterns.named, points))):
        files = (patterns.place(layout.root, digest), patterns.note_of(layout.root, digest))
        yield from (path for path in files if path.exists())


def _identities(layout: Layout) -> list[str]:
    return sorted(set().union(*map(manifest.identities, manifests(layout))))
