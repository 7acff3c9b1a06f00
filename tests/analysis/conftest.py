"""Synthetic datasets with the layout that the collation writes."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

MACHINE = {
    "topology": "torus",
    "geometry": [8, 8, 8],
    "nodes_per_switch": 2,
    "routing": "minimal",
    "link": {"bandwidth": 10_000_000_000, "latency": 100_000},
    "injection": {"bandwidth": 10_000_000_000, "latency": 100_000, "service": "fifo"},
    "packet": 4096,
    "buffer": 64_000,
}
RANKS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
SERIES = ("burst", "bruck", "ring-1", "ring-4")

Factory = Callable[..., xr.Dataset]


def make_dataset(
    series: tuple[Any, ...] = SERIES,
    ranks: tuple[int, ...] = RANKS,
    *,
    members: int = 0,
    name: str = "fig05a-alltoall",
    lines: str = "series",
    extra: dict[str, tuple[Any, ...]] | None = None,
    gaps: dict[tuple[Any, int], str] | None = None,
    figure: dict[str, Any] | None = None,
    machine: dict[str, Any] | None = None,
    units: str = "1",
    attrs: dict[str, Any] | None = None,
) -> xr.Dataset:
    """Build a dataset of `series` x `ranks` (x `extra` x members); `gaps` maps (series, ranks) to a status."""
    dims: dict[str, Any] = {lines: list(series), "ranks": list(ranks)}
    dims |= {key: list(values) for key, values in (extra or {}).items()}
    if members:
        dims["member"] = list(range(members))
    shape = tuple(len(values) for values in dims.values())
    place = np.indices(shape)
    p = np.asarray(ranks, float)[place[1]]
    # Falls with P, and differs by series (and by every further dimension).
    time = 0.4 * (1 + 0.7 * place[0]) * (p / 100.0) ** -(0.9 - 0.12 * place[0])
    for axis in range(2, len(shape)):
        time = time * (1 + 0.03 * place[axis])
    status = np.full(shape, "ok", dtype=object)
    for (which, number), what in (gaps or {}).items():
        status[list(series).index(which), list(ranks).index(number)] = what
    time = np.where(status == "ok", time, np.nan)
    identity = np.array([f"{i:016x}" for i in range(time.size)], dtype=object).reshape(shape)
    identity = np.where(status == "excluded", "", identity)
    names = tuple(dims)
    dataset = xr.Dataset(
        {
            "time_s": (names, time, {"long_name": "time of the operation", "units": "s"}),
            "wall_s": (names, np.where(status == "ok", 2.0, np.nan), {"long_name": "wall time", "units": "s"}),
            "setup_s": (names, np.where(status == "ok", 0.5, np.nan), {"long_name": "set-up time", "units": "s"}),
            "packets": (names, np.where(status == "ok", 1e6, np.nan), {"long_name": "packets", "units": "1"}),
            "id": (names, identity),
            "status": (names, status),
        },
        coords={key: (key, values) for key, values in dims.items()},
        attrs={
            "title": "All-to-all algorithms in the transposition",
            "question": "Which all-to-all algorithm moves a spectral transposition fastest?",
            "experiment": name,
            "scale": "smoke",
            "paper_figure": "5a",
            "references": "Zheng & Marguinaud 2018, doi:10.5194/gmd-11-3409-2018",
            "Conventions": "CF-1.11",
            "source": "tramontane 0.1.0",
            "simulator_revision": 3,
            "git_commit": "0123456789abcdef",
            "created": "2026-01-02T03:04:05Z",
            "base_json": json.dumps(
                {
                    "machine": MACHINE | (machine or {}),
                    "substrate": "simulator",
                    "workload": {"kind": "transposition", "grid": [1440, 720, 64]},
                }
            ),
            "figure_json": json.dumps(
                {
                    "panel": {"figure": "fig05", "letter": "a"},
                    "x": "ranks",
                    "y": "time_s",
                    "lines": lines,
                    "caption": "Time of one transposition.",
                }
                | (figure or {})
            ),
        }
        | (attrs or {}),
    )
    dataset[lines].attrs["units"] = units
    dataset["ranks"].attrs.update(long_name="number of MPI processes", units="1")
    return dataset


@pytest.fixture(scope="session")
def factory() -> Factory:
    """Return the builder of synthetic datasets."""
    return make_dataset
