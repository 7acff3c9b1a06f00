"""A calibration as a dataset, for its figure and for anybody's own analysis."""

import json
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
import xarray as xr

from tramontane import __version__
from tramontane.calibration.fit import Parameters, Stages, deviation, predict, residuals
from tramontane.calibration.measurement import Messages
from tramontane.calibration.side_by_side import Row


def as_dataset(
    name: str, measured: Messages, parameters: Parameters, rows: Sequence[Row], allreduces: Sequence[Stages] = ()
) -> xr.Dataset:
    """Return times over ``size``, stages of allreduces over ``ranks``, and compared points over ``row``."""
    library = str(measured.printed["mpi_library"]).split(",")[0]
    words = (
        f"One-way time of messages between two ranks, and of a stage of small allreduces, with {library}: measured, "
        "fitted and, below, the fit's residuals"
    )
    dataset = xr.Dataset(coords={"size": ("size", list(measured.sizes), {"units": "B", "long_name": "Message size"})})
    columns = {
        "one_way_s": (measured.one_way, "One-way time, shortest of the repetitions", "s"),
        "one_way_median_s": (measured.one_way_median, "One-way time, median of the repetitions", "s"),
        "gap_s": (measured.gap, "Time between messages of a window", "s"),
        "fitted_s": (predict(parameters, measured.sizes), "One-way time by the fit", "s"),
        "residual": (residuals(parameters, measured.sizes, measured.one_way), "Fitted over measured, less 1", "1"),
    }
    for key, (values, long_name, units) in columns.items():
        dataset[key] = ("size", np.asarray(values, dtype=np.float64), {"units": units, "long_name": long_name})
    if allreduces:
        stage_sizes, times = [each.size for each in allreduces], [each.time for each in allreduces]
        dataset = dataset.assign_coords(ranks=("ranks", [each.ranks for each in allreduces]))
        for key, values, long_name, units in (
            ("stage_size", stage_sizes, "Message of a stage of an allreduce", "B"),
            ("stage_s", times, "Time of a stage of an allreduce, shortest of the repetitions", "s"),
            ("stage_residual", residuals(parameters, stage_sizes, times), "Fitted over measured, less 1", "1"),
        ):
            dataset[key] = ("ranks", np.asarray(values, dtype=np.float64), {"units": units, "long_name": long_name})
    if rows:
        dataset["point"] = ("row", np.asarray([f"{row.name}, {row.ranks}" for row in rows], dtype=str))
        for key, values in {
            "measured_s": [row.measured for row in rows],
            "measured_median_s": [row.median for row in rows],
            "simulated_s": [row.simulated for row in rows],
        }.items():
            dataset[key] = ("row", np.asarray(values, dtype=np.float64), {"units": "s"})
    return dataset.assign_attrs(
        Conventions="CF-1.11",
        title=f"Calibration of {name}",
        source=f"Tramontane {__version__}",
        measurement_json=json.dumps(measured.printed),
        parameters_json=json.dumps(asdict(parameters)),
        rms_residual=deviation(parameters, measured.sizes, measured.one_way),
        figure_json=json.dumps({"kind": "calibration", "caption": words}),
    )
