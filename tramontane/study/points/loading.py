"""Loads a point from a file, as ``tramontane run`` takes it: YAML as users write it, JSON in canonical form."""

import json
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tramontane.errors import InputError
from tramontane.study.catalogue import locate, resolve_names
from tramontane.study.networks.machines import Machine
from tramontane.study.points.points import Point
from tramontane.study.reading.layers import Layers, Origin
from tramontane.study.reading.messages import explain
from tramontane.study.reading.project import find_root
from tramontane.study.reading.reading import cached_yaml, read_json

_NAMED = ("grid", "machine")
"""Keys whose values may be names in YAML, and only there."""


def load_point(path: str | Path, substrate: str | None = None) -> Point:
    """Read, complete and check a point.

    Parameters
    ----------
    path : str or Path
        The file; what ends in ``.json`` is the canonical form of a point, or the record of one.
    substrate : str, optional
        What is to run it, instead of what the file says; for `mpi` a system takes the network's place.

    Raises
    ------
    InputError
        With file, key, what was found and what is allowed.
    """
    source = Path(path)
    if source.suffix == ".json":
        return _load_canonical(source, substrate)
    layers = Layers()
    layers.merge(cached_yaml(source), Origin(source, ""))
    if substrate is not None:
        layers.set(("substrate",), substrate, Origin(source, "substrate"))
    return build_point(layers, find_root(source.parent), source)


def build_point(
    layers: Layers,
    root: Path,
    source: Path,
    where: str | None = None,
    prefix: str = "",
    adjust: Callable[[Layers], None] | None = None,
) -> Point:
    """Make a point of merged settings.

    Parameters
    ----------
    layers : Layers
        Settings with their origins; names of machines and grids are replaced in place.
    root : Path
        The project's folder.
    source : Path
        File to name in an error about something that was not written at all.
    where : str, optional
        Coordinates of the point in its experiment, for errors.
    prefix : str
        Key below which something that was not written could be written.
    adjust : callable, optional
        Changes the settings when names are replaced, before the point is checked.
    """
    resolve_names(layers, root)
    if adjust is not None:
        adjust(layers)
    try:
        return Point.model_validate(_with_machine(layers.data))
    except ValidationError as error:

        def place(keys: tuple[str, ...]) -> Origin:
            origin = locate(layers, keys, source)
            unwritten = layers.origin(keys) is None
            return Origin(source, f"{prefix}.{origin.key}") if unwritten and prefix else origin

        raise explain(error, Point, place, where) from None


def _with_machine(data: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a point with a machine that has been checked, where it is all right.

    An experiment has few machines and many points, and checking a machine takes longer than all else.
    """
    keys = data.get("machine")
    if not isinstance(keys, dict) or {"file", "table"} & keys.keys():  # what lies in files may change
        return data
    try:
        machine = _machine(json.dumps(keys))
    except TypeError:  # from Python comes what no file can hold: who validates all of the point refuses it
        return data
    return data if machine is None else {**data, "machine": machine}


@lru_cache(maxsize=512)
def _machine(text: str) -> Machine | None:
    """Return a machine, or None if it can't be: who validates all of the point then says why."""
    try:
        return Machine.model_validate(json.loads(text))
    except ValidationError:
        return None


def canonical_point(data: object, source: Path, key: str = "") -> Point:
    """Return the point with a canonical form.

    Parameters
    ----------
    data : object
        What was read.
    source : Path
        The file it was read from.
    key : str
        Where it stands there.

    Raises
    ------
    InputError
        With file, key, what was found and what is allowed.
    """
    try:
        return Point.from_canonical(data)
    except ValidationError as error:
        raise explain(error, Point, Origin(source, key).inside) from None


def _load_canonical(source: Path, substrate: str | None) -> Point:
    data: object = read_json(source)
    key = "point" if isinstance(data, dict) and "point" in data else ""
    data = data[key] if isinstance(data, dict) and key else data
    if substrate is not None and isinstance(data, dict):
        data = {**data, "substrate": substrate}
    try:
        return canonical_point(data, source, key)
    except InputError as error:
        if isinstance(error.found, str) and error.key.rpartition(".")[2] in _NAMED:
            allowed = "what it stands for, in canonical form; write YAML for names"
            raise InputError(error.source, error.key, error.found, allowed, more=error.more) from None
        raise
