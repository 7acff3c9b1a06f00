"""One point from Python: ``tramontane.simulate(point)``.

The result is the JSON object of ``tramontane run`` with types, and the same dataset that a campaign would collate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tramontane.study import Point, find_root, load_point
from tramontane.study.layers import Layers, Origin
from tramontane.study.loading import build_point
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
    messages, packets, bytes, hops : int
        Of the workload's own data, without control traffic; None where the substrate has no such count.
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
        A file, or what such a file would hold: ``{"ranks": 64, "machine": "torus-S", "workload": {...}}``. Names of
        machines and grids are looked up in the project that the working directory lies in, else in the package.
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
    if isinstance(point, Point):
        chosen, source = point, _SOURCE
        if substrate is not None:
            chosen = Point.from_canonical({**point.canonical(), "substrate": substrate})
    elif isinstance(point, Mapping):
        chosen, source = _built(point, substrate), _SOURCE
    else:
        source = Path(point)
        chosen = load_point(source, substrate)
    data = run_point(chosen, source, memory=host.memory(), threads=threads)
    counts = {name: data.get(name) for name in ("messages", "packets", "bytes", "hops")}
    return Result(data["id"], str(data["substrate"]), data["time_s"], dict(data["phases"]), **counts, data=data)


def _built(settings: Mapping[str, Any], substrate: str | None) -> Point:
    layers = Layers()
    layers.merge({**settings, **({} if substrate is None else {"substrate": substrate})}, Origin(_SOURCE, ""))
    return build_point(layers, find_root(), _SOURCE)
