"""What there is of experiments does not depend on how many processes read them."""

import threading
from pathlib import Path

import pytest

from tramontane.campaign import overview
from tramontane.campaign.overview import Forecast, Progress, progress, progress_of_all
from tramontane.campaign.packing import Batch, Job
from tramontane.results.store import Store
from tramontane.study import Point
from tramontane.support import processes


def test_many_experiments_are_read_as_one_by_one(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest has some of its own
    first = project / "configs" / "experiments" / "tiny.yaml"
    text = first.read_text(encoding="utf-8")
    names = [f"tiny_{i}" for i in range(processes.FEW)]
    others = [first.with_name(f"{name}.yaml") for name in names]
    for name, file in zip(names, others, strict=True):
        file.write_text(text.replace("tiny", name), encoding="utf-8")
    others[3].write_text("title: [", encoding="utf-8")
    store = Store(project)

    found = progress_of_all([first, *others], store)

    assert [own.experiment.name for own in found if isinstance(own, Progress)] == [
        "tiny",
        *(name for name in names if name != names[3]),
    ]
    assert found[0] == progress(first, store)
    mistake = found[4]
    assert isinstance(mistake, str)
    assert "tiny_3.yaml: not YAML" in mistake


def test_processes_that_read_experiments_import_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "progress", lambda file, _: file.name)  # which only a fork of this process knows
    monkeypatch.setattr(threading, "active_count", lambda: 1)  # pytest has some of its own
    files = [Path(f"{number}.yaml") for number in range(processes.FEW + 1)]
    assert progress_of_all(files, Store(Path())) == [file.name for file in files]


def test_a_forecast_tells_what_cores_and_what_a_gpu_take() -> None:
    workload = {"kind": "allreduce", "algorithm": "recursive-k", "radix": 2}
    machine = {"topology": "torus", "geometry": [4, 4, 4], "nodes_per_switch": 1}
    point = Point.model_validate({"ranks": 8, "machine": machine, "workload": workload})
    jobs = [
        Job("a", point, 5.0, 70),
        Job("b", point, 7.0, 60),
        Job("c", point, 2.0, 80, 900),
        Job("d", point, 1.0, 9, 30),
    ]
    found = Forecast("tiny", "smoke", 6, jobs, [Batch(tuple(jobs[:2]))])
    data = found.as_data()
    assert (data["points"], data["done"], data["to_run"]) == (6, 2, 4)
    assert (data["cpu_s"], data["gpu_s"], data["longest_point_s"]) == (12, 3, 7)
    assert (data["peak_memory_bytes"], data["peak_gpu_memory_bytes"]) == (80, 900)
    [batch] = data["batches"]
    assert (batch["points"], batch["cpu_s"], batch["memory_bytes"]) == (2, 12, 70)
    empty = Forecast("tiny", "smoke", 6, [], []).as_data()
    assert empty["done"] == 6
    assert not any(empty[key] for key in ("longest_point_s", "peak_memory_bytes", "peak_gpu_memory_bytes"))
