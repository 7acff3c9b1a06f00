"""Finds the project's files by name: machines (with `extends`), grids, references, experiments.

A name stands for a file in ``configs/``; a machine file may extend another one, so that all machines of the paper's
Table 1 share one file of base parameters and a sensitivity study swaps that file alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from tramontane.errors import InputError, closest, show
from tramontane.study.networks.machines import Machine
from tramontane.study.networks.mapping import FILE, NODES
from tramontane.study.networks.rank_files import nodes_of_ranks
from tramontane.study.reading.layers import Keys, Layers, Origin
from tramontane.study.reading.messages import explain
from tramontane.study.reading.names import is_name
from tramontane.study.reading.project import EXPERIMENTS, GRIDS, MACHINES, SYSTEMS, find_root
from tramontane.study.reading.reading import changed, shared_yaml

Files = tuple[tuple[Path, int | None], ...]
"""Files, each with when it was changed [ns]."""


def list_experiments(root: str | Path) -> list[Path]:
    """Return the experiment files below `root`, sorted by name; one that ends in .yml is refused (InputError)."""
    folder = Path(root) / EXPERIMENTS
    other = min(folder.glob("*.yml"), default=None)
    if other is not None:
        raise InputError(other, "", other.suffix, f"{other.stem}.yaml, as experiments are called")
    return sorted(folder.glob("*.yaml"))


def list_machines(root: str | Path) -> list[str]:
    """Return the names of the machines that can be used in a point (files with a topology), sorted.

    A file that can't be read is among them: whoever names it is told what is wrong with it, and nobody else.
    """
    return [name for name in _machine_files(root) if _is_machine(Path(root), name)]


def _machine_files(root: str | Path) -> list[str]:
    return sorted(file.stem for file in (Path(root) / MACHINES).glob("*.yaml") if is_name(file.stem))


def _is_machine(root: Path, name: str) -> bool:
    try:
        return "topology" in shared_yaml(root / MACHINES / f"{name}.yaml")
    except InputError:
        return True


def load_machine(name: str, root: str | Path | None = None) -> Machine:
    """Return a machine of ``configs/machines`` by its name; `root` is the project's folder, found if not given."""
    folder = find_root() if root is None else Path(root)
    if not _exists(folder, name, named=True):
        known = list_machines(folder)
        problem = f"no machine {show(name)}"
        raise InputError(folder / MACHINES, "", name, ", ".join(known), problem=problem, hint=closest(name, known))
    layers = Layers()
    origin = Origin(folder / MACHINES / f"{name}.yaml", "")
    layers.set(("machine",), {"name": name}, origin)
    resolve_names(layers, folder)
    try:
        return Machine.model_validate(layers.data["machine"])
    except ValidationError as error:
        raise explain(error, Machine, lambda keys: locate(layers, ("machine", *keys), origin.source)) from None


def load_base(name: str, root: Path) -> dict[str, Any]:
    """Return the keys of a machine file and of what it extends, unchecked; what leads nowhere or back is refused."""
    layers = Layers()
    _merge_file(layers, name, root, Origin(root / MACHINES / f"{name}.yaml", "extends"))
    machine: dict[str, Any] = layers.data.get("machine", {})
    return machine


def locate(layers: Layers, keys: Keys, source: Path) -> Origin:
    """Return file and key where the value at `keys` was written; for what was not written, the key it belongs to."""
    exact = layers.origins.get(keys)
    if exact:
        return exact
    around = layers.origin(keys)
    if around is None:
        return Origin(source, ".".join(keys))
    depth = next(length for length in range(len(keys), 0, -1) if keys[:length] in layers.origins)
    return around.below(*keys[depth:])


def resolve_names(layers: Layers, root: Path) -> None:
    """Replace the names of a machine, a grid and files in the settings of a point by what they stand for.

    The name of a system stays: what its file says (limits, options, references) is not the point's identity.

    Raises
    ------
    InputError
        If a name is unknown.
    """
    if isinstance(layers.data.get("machine"), dict):
        _resolve_machine(layers, root)
    elif "machine" in layers.data:
        origin = layers.origins["machine",]
        allowed = f"a mapping of keys to values, or a machine: {', '.join(list_machines(root))}"
        raise origin.mistake(layers.data["machine"], allowed)
    system = layers.get(("system", "name"))
    if isinstance(system, str):
        file = root / SYSTEMS / f"{system}.yaml"
        if not is_name(system) or not file.is_file():
            known = sorted(file.stem for file in (root / SYSTEMS).glob("*.yaml"))
            origin = layers.origins["system", "name"]
            raise origin.mistake(system, ", ".join(known), hint=closest(system, known))
        _check_parts(layers, file)
    mapping = layers.data.get("mapping")
    if isinstance(mapping, dict) and list(mapping) == [FILE] and isinstance(mapping[FILE], str):
        origin = layers.origins["mapping", FILE]
        layers.data["mapping"] = {NODES: nodes_of_ranks(find_file(mapping[FILE], root, origin))}
        layers.origins["mapping", NODES] = origin
    for path, value in [*layers.leaves(("workload",)), *layers.leaves(("machine", "file"))]:
        if isinstance(value, str | list):
            origin = layers.origins[path]
            layers.set(path, _with_names(value, path[-1], root, origin), origin)


def _with_names(value: object, key: str, root: Path, origin: Origin) -> object:
    """Return a value with the names of grids and files replaced, also those in lists of steps."""
    if key == "grid" and isinstance(value, str):
        return grid_points(value, root, origin)
    if key == "file" and isinstance(value, str):
        return str(find_file(value, root, origin))
    if isinstance(value, dict):
        return {name: _with_names(inner, str(name), root, origin.below(str(name))) for name, inner in value.items()}
    if isinstance(value, list):
        return [_with_names(inner, "", root, origin.below(f"[{place}]")) for place, inner in enumerate(value)]
    return value


class Named(NamedTuple):
    """The name of a file, and where it is written."""

    name: str
    origin: Origin


_named: ContextVar[dict[Path, Named] | None] = ContextVar("_named", default=None)


@contextmanager
def files_named() -> Iterator[dict[Path, Named]]:
    """Give the files that are found by their names meanwhile, such as traces, each as it is named first."""
    found: dict[Path, Named] = {}
    token = _named.set(found)
    try:
        yield found
    finally:
        _named.reset(token)


def find_file(name: str, root: Path, origin: Origin) -> Path:
    """Return the file that is meant at some place: beside the file where it is named, or below the project's folder."""
    places = [folder.absolute() / name for folder in (Path(origin.source).parent, root)]
    for place in places:
        with suppress(OSError):  # a name that no file system takes
            if name and place.exists():
                if (found := _named.get()) is not None:
                    found.setdefault(place, Named(name, origin))
                return place
    raise origin.mistake(name, f"a file beside this one, or below {root}", problem=f"no file {show(name)}")


def _check_parts(layers: Layers, file: Path) -> None:
    """Refuse a partition or an environment that a system has not."""
    described = shared_yaml(file)
    for key in ("partition", "environment"):
        name, known = layers.get(("system", key)), described.get(f"{key}s")
        if isinstance(name, str) and isinstance(known, dict) and name not in known:
            origin = locate(layers, ("system", key), file)
            raise origin.mistake(name, ", ".join(known), hint=closest(name, known))


def grid_points(name: str, root: Path, origin: Origin) -> object:
    """Return [nx, ny, nz] of a named grid."""
    grids = shared_yaml(root / GRIDS)
    if name not in grids:
        allowed = f"[nx, ny, nz] or a grid of {GRIDS}: {', '.join(grids)}"
        raise origin.mistake(name, allowed, hint=closest(name, grids))
    points = grids[name].get("points") if isinstance(grids[name], dict) else None
    if not (isinstance(points, list) and len(points) == 3 and all(type(n) is int and n > 0 for n in points)):
        raise InputError(root / GRIDS, f"{name}.points", points, "[nx, ny, nz], numbers from 1")
    return list(points)


def _resolve_machine(layers: Layers, root: Path) -> None:
    """Put the values of the named machine and of the files it extends below the keys written beside its name."""
    own: dict[str, Any] = layers.data["machine"]
    where = layers.origin(("machine",)) or Origin(root, "machine")
    for key in ("name", "extends"):
        if key in own and not isinstance(own[key], str):
            origin = locate(layers, ("machine", key), where.source)
            raise origin.mistake(own[key], f"a name: {', '.join(list_machines(root))}")
    if "name" in own and "topology" in own:
        origin = locate(layers, ("machine", "topology"), where.source)
        raise origin.mistake(
            own["topology"],
            f"either the name of a machine or a topology, but the machine is named '{own['name']}'",
        )
    below = _of_files(layers, own, root, where)
    for path, value in layers.leaves(("machine",)):
        below.set(path, value, layers.origins[path])
    layers.data["machine"] = below.data.get("machine", {})
    layers.origins = {path: origin for path, origin in layers.origins.items() if path[0] != "machine"}
    layers.origins |= below.origins | {("machine",): where}


def _of_files(layers: Layers, own: dict[str, Any], root: Path, where: Origin) -> Layers:
    """Return what the files say that a machine names or extends; they are merged once as long as none changes."""
    written = locate(layers, ("machine", "extends"), where.source)
    if "name" in own:
        base = (own["extends"], written) if "extends" in own else None
        name, origin = own["name"], layers.origins.get(("machine", "name"), where)
    elif "extends" in own:
        base, name, origin = None, own["extends"], written
    else:
        return Layers()
    key = (root, name, own.get("extends"), "name" in own)
    files, merged = _MERGED.get(key, ((), Layers()))
    if not files or any(changed(file) != stamp for file, stamp in files):
        merged = Layers()
        files = _merge_file(merged, name, root, origin, base=base, named="name" in own)
        merged.data.get("machine", {}).pop("extends", None)
        _MERGED[key] = files, merged
    return merged.copy()


#: What files of machines say, by what names them, with when each file was changed.
_MERGED: dict[tuple[Path, str, str | None, bool], tuple[Files, Layers]] = {}


def _exists(root: Path, name: str, *, named: bool) -> bool:
    """Tell whether there is a machine file of this name; a `named` one is more than a base for others."""
    return is_name(name) and (root / MACHINES / f"{name}.yaml").is_file() and (not named or _is_machine(root, name))


def _merge_file(
    layers: Layers,
    name: str,
    root: Path,
    origin: Origin,
    *,
    base: tuple[str, Origin] | None = None,
    named: bool = False,
    seen: tuple[str, ...] = (),
) -> Files:
    """Merge a machine file on top of the file it extends; `base` (a name, and where it stands) replaces the latter.

    Return the files that were read, each with when it was changed.
    """
    file = root / MACHINES / f"{name}.yaml"
    if not _exists(root, name, named=named):
        names = list_machines(root) if named else _machine_files(root)
        raise origin.mistake(
            name,
            ", ".join(names),
            problem=f"found machine {show(name)}" if named else None,
            hint=closest(name, names),
        )
    if name in seen:
        chain = " -> ".join((*seen, name))
        raise origin.mistake(name, "a file that does not lead back", problem=f"found {chain}")
    files: Files = ((file, changed(file)),)
    data = shared_yaml(file)
    parent, where = base or (data.get("extends"), Origin(file, "extends"))
    if "name" in data:
        raise InputError(file, "name", data["name"], "no name; a machine is called like its file")
    if parent is not None:
        if not isinstance(parent, str):
            raise where.mistake(parent, f"one of {', '.join(_machine_files(root))}")
        files += _merge_file(layers, parent, root, where, seen=(*seen, name))
        layers.data.get("machine", {}).pop("description", None)
        layers.data.get("machine", {}).pop("source", None)
    for key, value in data.items():
        if key != "extends":
            layers.set(("machine", key), value, Origin(file, key))
    return files
