"""Fits recover the machine whose times they are given, and the simulator then gives those times back."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tramontane.calibration import comparison, fit, machine, measurement, text
from tramontane.calibration.dataset import as_dataset
from tramontane.study import Point, validate_file
from tramontane.substrates import get

TRUTH = fit.Parameters(latency=400e-9, bandwidth=8e9, copies=20e9, send=150e-9, receive=90e-9, eager_limit=4096)


def printed(parameters: fit.Parameters, noise: float = 0.0) -> dict[str, Any]:
    """Return what the program would print on a machine with these parameters."""
    draw = np.random.default_rng(3)
    sizes = []
    for size, time in zip(measurement.SIZES, fit.predict(parameters, measurement.SIZES), strict=True):
        best = float(time * (1 + noise * draw.uniform(-1, 1)))
        times = {"min": best, "median": 1.1 * best, "max": 3 * best}
        gap = {key: value / 2 for key, value in times.items()}
        send, receive = ({"min": o, "median": 2 * o, "max": 9 * o} for o in (parameters.send, parameters.receive))
        waiting = receive if size <= 1024 else None
        sizes.append({"bytes": size, "one_way_s": times, "gap_s": gap, "send_s": send, "receive_s": waiting})
    return {"mpi_library": "a library", "hosts": {"here": 2}, "sizes": sizes}


def measured(parameters: fit.Parameters, noise: float = 0.0) -> measurement.Messages:
    return measurement.messages(lambda ranks, arguments: printed(parameters, noise))


def fitted(messages: measurement.Messages) -> fit.Parameters:
    return fit.fit(messages.sizes, messages.one_way, messages.send, messages.receive)


@pytest.mark.parametrize("copies", [20e9, None])
@pytest.mark.parametrize("limit", [1, 64, 4096, 65536])
def test_a_fit_finds_the_parameters(copies: float | None, limit: int) -> None:
    truth = fit.Parameters(400e-9, 8e9, copies if limit > 64 else None, 150e-9, 90e-9, limit)
    found = fitted(measured(truth))
    assert found.eager_limit == limit
    assert found.latency == pytest.approx(truth.latency, rel=1e-6)
    assert found.bandwidth == pytest.approx(truth.bandwidth, rel=1e-6)
    if truth.copies is None:
        assert found.copies is None or found.copies > 1e3 * truth.bandwidth
    else:
        assert found.copies == pytest.approx(truth.copies, rel=1e-6)


def test_noise_moves_a_fit_by_no_more_than_itself() -> None:
    found = fitted(measured(TRUTH, noise=0.05))
    assert found.eager_limit == TRUTH.eager_limit
    assert found.latency == pytest.approx(TRUTH.latency, rel=0.1)
    assert found.bandwidth == pytest.approx(TRUTH.bandwidth, rel=0.1)
    assert 0.005 < fit.deviation(found, measurement.SIZES, measured(TRUTH, noise=0.05).one_way) < 0.05


def test_times_that_fit_no_machine_are_refused() -> None:
    sizes = [1, 64, 1024]
    with pytest.raises(ValueError, match="fit no machine"):
        fit.fit(sizes, [3e-6, 2e-6, 1e-6], 0.0, 0.0)
    with pytest.raises(ValueError, match="less than overheads"):
        fit.fit(sizes, [1e-6, 1.1e-6, 1.2e-6], 5e-6, 0.0)


def test_the_simulator_gives_the_times_back() -> None:
    described = machine.settings(TRUTH, 2)
    for count in (1, 8, 64, 512):  # up to the eager limit: two ranks exchange what one sends the other
        workload = {"kind": "allreduce", "algorithm": "recursive-doubling", "count": count, "repeats": 10}
        point = Point.model_validate({"ranks": 2, "workload": workload, "machine": described})
        simulated = get("simulator").run(point.canonical())["time_s"] / 10
        assert simulated == pytest.approx(fit.predict(TRUTH, [8 * count])[0], rel=0.02)


def test_the_file_is_a_machine(tmp_path: Path) -> None:
    folder = tmp_path / "configs" / "machines"
    folder.mkdir(parents=True)
    (tmp_path / "configs" / "experiments").mkdir()
    file = folder / "here.yaml"
    file.write_text(machine.text(machine.settings(TRUTH, 16), "One switch.", "a test: with a colon"))
    validate_file(file)
    assert "latency: 400 ns" in file.read_text()
    assert "eager_limit: 4096 B" in file.read_text()


def test_points_are_measured_and_simulated_alike() -> None:
    asked = []

    def run(ranks: int, arguments: list[str]) -> dict[str, Any]:
        asked.append((ranks, arguments))
        return {"time_s": {"min": 2e-4, "median": 3e-4}, "copy_s": {"min": 1e-4}}

    rows = list(comparison.compare(run, get("simulator").run, machine.settings(TRUTH, 4), [2, 4]))
    assert len(rows) == len(asked) == 2 * len(comparison.WORKLOADS)
    assert [row.ranks for row in rows] == [ranks for ranks, _ in asked]
    library = next(row for row in rows if row.name == "allreduce library")
    assert "implementation=library" in asked[rows.index(library)][1]
    assert library.simulated == rows[0].simulated > 0
    assert rows[0].ratio_without_copies == pytest.approx(2 * rows[0].ratio)
    table = text.comparison(rows, processors=2)
    assert table.count("ranks share processors") == len(comparison.WORKLOADS)


def test_a_calibration_can_be_drawn(tmp_path: Path) -> None:
    from analysis.draw import draw_files
    from analysis.figures import numbers
    from tramontane.results.collate import write

    messages = measured(TRUTH, noise=0.1)
    dataset = as_dataset("here", messages, fitted(messages), [])
    assert json.loads(dataset.attrs["parameters_json"])["eager_limit"] == TRUTH.eager_limit
    write(dataset, tmp_path / "here.nc")
    written = draw_files([tmp_path / "here.nc"], tmp_path / "here")
    assert all(file.stat().st_size > 0 for file in written)
    assert len(numbers(dataset).rows) == len(measurement.SIZES)


def test_the_summary_names_all_that_was_asked_for() -> None:
    messages = measured(TRUTH)
    said = "\n".join(text.summary(messages, fitted(messages)))
    for word in ("latency of a link    400 ns", "8 GB/s", "o_s 150 ns, o_r 90 ns", "eager limit          4096 B"):
        assert word in said
