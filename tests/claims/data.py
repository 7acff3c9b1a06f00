"""Made-up curves and datasets in which statements hold, fail, or lack points."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from tramontane.claims.bands import Band

COUNTS = (100, 200, 500, 1000, 2000, 5000, 10000)


def curve(values: Sequence[float], x: Sequence[float] = COUNTS, width: float = 0.02, name: str = "a") -> Band:
    """Return a curve whose members lie within `width` of its medians."""
    median = np.asarray(values, dtype=float)
    places = np.asarray(x[: len(values)], dtype=float)
    return Band(name, places, median * (1 - width), median, median * (1 + width), np.full(len(values), 5.0))


def power(exponent: float, factor: float = 1.0, width: float = 0.02, name: str = "a") -> Band:
    """Return a curve that goes with a power of the process count, and is `factor` at the first."""
    return curve([factor * (x / COUNTS[0]) ** exponent for x in COUNTS], width=width, name=name)


def dataset(
    lines: Mapping[str, Sequence[float]],
    x: Sequence[int] = COUNTS,
    members: int = 5,
    spread: float = 0.02,
    dim: str = "series",
) -> xr.Dataset:
    """Return a dataset as collated: times over a dimension of lines, process counts and members; NaN is missing."""
    deviations = 1 + spread * np.linspace(-1, 1, members) if members > 1 else np.ones(1)
    times = np.array([[[value * factor for factor in deviations] for value in line] for line in lines.values()])
    dims: tuple[str, ...] = (dim, "ranks", "member")
    if members == 1:
        times, dims = times[..., 0], dims[:2]
    return xr.Dataset(
        {"time_s": (dims, times), "status": (dims, np.where(np.isfinite(times), "ok", "missing").astype(str))},
        coords={dim: list(lines), "ranks": list(x)},
    )
