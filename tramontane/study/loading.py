"""Loads a point from a YAML file, as ``tramontane run`` takes it."""

from pathlib import Path

from pydantic import ValidationError

from tramontane.study.catalogue import find_root, locate, resolve_names
from tramontane.study.layers import Layers, Origin
from tramontane.study.messages import explain
from tramontane.study.points import Point
from tramontane.study.reading import read_yaml


def load_point(path: str | Path, substrate: str | None = None) -> Point:
    """Read, complete and check a point.

    Parameters
    ----------
    path : str or Path
        The file.
    substrate : str, optional
        What is to run it, instead of what the file says; for `mpi` a system takes the network's place.

    Raises
    ------
    InputError
        With file, key, what was found and what is allowed.
    """
    source = Path(path)
    layers = Layers()
    layers.merge(read_yaml(source), Origin(source, ""))
    if substrate is not None:
        layers.set(("substrate",), substrate, Origin(source, "substrate"))
    return build_point(layers, find_root(source.parent), source)


def build_point(layers: Layers, root: Path, source: Path, where: str | None = None, prefix: str = "") -> Point:
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
    """
    resolve_names(layers, root)
    try:
        return Point.model_validate(layers.data)
    except ValidationError as error:

        def place(keys: tuple[str, ...]) -> Origin:
            origin = locate(layers, keys, source)
            unwritten = layers.origin(keys) is None
            return Origin(source, f"{prefix}.{origin.key}") if unwritten and prefix else origin

        raise explain(error, Point, place, where) from None
