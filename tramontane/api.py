"""One point from Python: ``tramontane.simulate(point)``.

The result is the JSON object of ``tramontane run`` with types, and the same dataset that a campaign would collate.
"""

import operator
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tramontane.errors import InputError
from tramontane.study import Point, find_root, load_point
from tramontane.study.points.loading import build_point, canonical_point
from tramontane.study.reading.bounded_yaml import MOST_DEPTH
from tramontane.study.reading.layers import Layers, Origin
from tramontane.study.reading.project import working_folder
from tramontane.study.reading.reading import text_keys
from tramontane.substrates import MOST_THREADS
from tramontane.substrates.single import run_point
from tramontane.support import host

if TYPE_CHECKING:
    import xarray as xr

#: What errors name as the place of a point that is in no file.
_SOURCE = Path("point")


@dataclass(frozen=True)
class Result:
    """What came of a point.

    Parameters
    ----------
    id : str
        Identity of the point, 16 hex digits.
    substrate : str
        What ran it.
    time_s : float
        Last end minus first start of the operation over all ranks [s].
    phases : dict of str to float
        The same for each phase [s].
    messages, packets, bytes : int
        Of the workload's own data, without control traffic; None where the substrate has no such count.
    hops : int
        Switches that all packets visit, those of control traffic, too; None likewise.
    data : dict
        Everything that ``tramontane run`` prints; docs/model.md explains the keys.
    """

    id: str
    substrate: str
    time_s: float
    phases: dict[str, float]
    messages: int | None
    packets: int | None
    bytes: int | None
    hops: int | None
    data: dict[str, Any] = field(repr=False)

    @property
    def dataset(self) -> "xr.Dataset":
        """The result as a dataset with units: times of phases and steps, and the statistics that were asked for."""
        from tramontane.results.collate import single  # noqa: PLC0415 (xarray takes a second to import)

        return single(self.data)


def simulate(
    point: Point | Mapping[str, Any] | str | Path, *, substrate: str | None = None, threads: int = 1
) -> Result:
    """Run one point, on the simulator unless it says otherwise.

    Parameters
    ----------
    point : Point, mapping, str or Path
        A file, or what such a file would hold: ``{"ranks": 64, "machine": "torus-S", "workload": {...}}``. Numbers and
        arrays of NumPy may stand for numbers and lists, paths for their texts. Names of machines and grids are looked
        up in the project that the working directory lies in, else in the package.
    substrate : str, optional
        What runs it, instead of what the point says.
    threads : int
        Threads that share the work; the result does not depend on them.

    Raises
    ------
    tramontane.errors.InputError
        If the point can't be, or its substrate is not there or can't run it: one line with key, found and allowed.
    tramontane.substrates.single.TooLargeError
        If it needs more memory than there is.
    tramontane.substrates.isolation.PointError
        If it fails.
    """
    working_folder()  # what runs a point starts there
    chosen_threads = _threads(threads)
    if isinstance(point, Point):
        chosen, source = point, _SOURCE
        if substrate is not None:
            chosen = canonical_point({**point.canonical(), "substrate": substrate}, source)
    elif isinstance(point, Mapping):
        chosen, source = _built(point, substrate), _SOURCE
    elif isinstance(point, str | os.PathLike) and isinstance(os.fspath(point), str):
        source = Path(point)
        chosen = load_point(source, substrate)
    else:
        raise InputError(_SOURCE, "", point, "a Point, a mapping, or the path of a file")
    data = run_point(chosen, source, memory=host.memory(), threads=chosen_threads)
    counts = {name: data.get(name) for name in ("messages", "packets", "bytes", "hops")}
    return Result(data["id"], str(data["substrate"]), data["time_s"], dict(data["phases"]), **counts, data=data)


def _whole(value: Any) -> int | None:
    """Return a whole number, also one of NumPy, as Python's own; None for anything else."""
    try:
        return None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return None


def _threads(number: object) -> int:
    whole = _whole(number)
    if whole is None or not 1 <= whole <= MOST_THREADS:
        raise InputError("simulate", "threads", number, f"a whole number, 1 to {MOST_THREADS}")
    return whole


def _built(settings: Mapping[str, Any], substrate: str | None) -> Point:
    layers = Layers()
    plain = text_keys(_plain(settings, "", 0), _SOURCE, "")
    layers.merge({**plain, **({} if substrate is None else {"substrate": substrate})}, Origin(_SOURCE, ""))
    return build_point(layers, find_root(), _SOURCE)


def _plain(value: Any, key: str, depth: int) -> Any:
    """Return what YAML would hold: mappings, lists, texts, and Python's own numbers.

    Parameters
    ----------
    value : object
        What stands at a key.
    key : str
        Its dotted path.
    depth : int
        How many mappings and lists are around it; whoever contains itself has too many.
    """
    if hasattr(value, "tolist") and not isinstance(value, type):  # of NumPy, or like it
        value = value.tolist()
    if isinstance(value, PurePath):
        return str(value)
    if not isinstance(value, Mapping | list | tuple):
        whole = _whole(value)
        return value if whole is None else whole
    if depth > MOST_DEPTH:
        raise InputError(_SOURCE, key, None, f"at most {MOST_DEPTH}", problem="found too many levels")
    if isinstance(value, Mapping):
        return {name: _plain(item, f"{key}.{name}" if key else str(name), depth + 1) for name, item in value.items()}
    return [_plain(item, f"{key}[{number}]", depth + 1) for number, item in enumerate(value)]
