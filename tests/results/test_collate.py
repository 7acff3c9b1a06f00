"""Datasets: what was swept becomes dimensions, what came out variables, and nothing is invented in between."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from tramontane.results.collate import collate, collate_manifest, single
from tramontane.results.datasets import DIGEST, digest, write
from tramontane.results.manifest import dump, is_whole, manifest
from tramontane.results.store import Store
from tramontane.study import expand, load_experiment
from tramontane.substrates.simulator import Simulator


def dataset_of(root: Path, scale: str = "smoke") -> xr.Dataset:
    experiment = load_experiment(root / "configs" / "experiments" / "tiny.yaml")
    return collate(experiment, expand(experiment, scale), Store(root))


def test_dimensions_are_what_was_swept_in_the_order_of_the_file(project: Path, execute: Callable[..., Any]) -> None:
    execute(project)
    dataset = dataset_of(project)
    assert list(dataset["time_s"].dims) == ["series", "ranks"]
    assert dataset["series"].values.tolist() == ["rec-2", "rec-3"]
    assert dataset["ranks"].values.tolist() == [2, 4, 8]
    assert dataset["ranks"].dtype.kind == "i"
    assert dataset["time_s"].sel(series="rec-2").values == pytest.approx([2e-6, 4e-6, 8e-6])
    assert dataset["bytes"].sel(series="rec-3", ranks=8) == 800
    assert dataset["phase_time_s"].dims == ("series", "ranks", "phase")
    assert dataset["phase_time_s"].sel(series="rec-3", ranks=4, phase="second") == pytest.approx(2.4e-6)


def test_excluded_missing_and_failed_points_are_told_apart(
    project: Path, execute: Callable[..., Any], fake: Any
) -> None:
    fake.FAILING = 8
    execute(project, substrate=fake)
    experiment = load_experiment(project / "configs" / "experiments" / "tiny.yaml")
    removed = expand(experiment, "smoke").points[1].point
    assert removed is not None
    Store(project).path(removed.id).unlink()

    dataset = dataset_of(project)
    assert dataset["status"].sel(series="rec-2").values.tolist() == ["ok", "missing", "failed"]
    assert dataset["status"].sel(series="rec-3").values.tolist() == ["excluded", "ok", "failed"]
    assert dataset["id"].sel(series="rec-3", ranks=2) == ""
    assert dataset["id"].sel(series="rec-2", ranks=4) == removed.id
    assert np.isfinite(dataset["time_s"].values).tolist() == (dataset["status"] == "ok").values.tolist()


def test_what_was_drawn_stands_beside_the_draws(project: Path, execute: Callable[..., Any]) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    drawn = {
        "machine.link.latency": {"range": ["100 ns", "1 us"]},
        "machine.packet": {"choice": ["1 KiB", "4096 B"]},
        "start_jitter": {"choice": ["1 ns", "1 us"]},
        "allocation": {"choice": ["first-available", "random"]},
        "seed": {"range": [1, 99]},
    }
    file.write_text(file.read_text() + f"sample: {json.dumps({'method': 'sobol', 'size': 4, 'parameters': drawn})}\n")
    execute(project)
    dataset = dataset_of(project)
    assert dataset["time_s"].dims == ("series", "ranks", "draw")
    sample = load_experiment(file).sample
    assert sample is not None
    draws = sample.draws(4)
    latency = dataset["drawn_machine_link_latency"]
    assert latency.dims == ("draw",)
    assert latency.attrs["units"] == "ps"
    assert [f"{value} ps" for value in latency.values.tolist()] == [own["machine.link.latency"] for own in draws]
    assert set(dataset["drawn_machine_packet"].values.tolist()) == {1024, 4096}
    assert dataset["drawn_machine_packet"].attrs["units"] == "B"
    assert dataset["drawn_allocation"].values.tolist() == [own["allocation"] for own in draws]
    assert dataset["drawn_seed"].values.tolist() == [own["seed"] for own in draws]
    assert "units" not in dataset["drawn_seed"].attrs


def test_the_best_radix_stands_where_one_was_searched(project: Path, execute: Callable[..., Any]) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text().replace("rec-3: {workload.radix: 3}", "rec-3: {workload.radix: optimal}"))
    execute(project, substrate=Simulator())
    found = dataset_of(project)["best_radix"]
    assert found.dims == ("series", "ranks")
    assert np.isnan(found.sel(series="rec-2").values).all()
    assert found.sel(series="rec-3", ranks=8) in range(2, 9)
    assert found.attrs["units"] == "1"


def test_repeats_that_were_cut_short_are_stated(project: Path, execute: Callable[..., Any]) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    text = file.read_text().replace("repeats: 1}", "repeats: 50}")
    steady = "rec-3: {workload.radix: 3, steady.error: 1 %, start_jitter: 1 us}"
    file.write_text(text.replace("rec-3: {workload.radix: 3}", steady))
    execute(project, substrate=Simulator())
    dataset = dataset_of(project)
    left_out, error = dataset["repeats_left_out"].sel(series="rec-3"), dataset["steady_error"].sel(series="rec-3")
    both = left_out + dataset["repeats_simulated"].sel(series="rec-3")
    assert both.sel(ranks=[4, 8]).values.tolist() == [50, 50]
    assert float(left_out.max()) > 0
    assert float(error.max()) <= 0.01
    assert np.isnan(dataset["steady_error"].sel(series="rec-2").values).all()
    assert dataset["steady_error"].attrs["units"] == "1"


def test_every_variable_says_what_it_is_and_in_which_unit(project: Path, execute: Callable[..., Any]) -> None:
    execute(project)
    dataset = dataset_of(project)
    numbers = [name for name in dataset.data_vars if name not in ("id", "status")]
    assert len(numbers) == 13
    assert "best_radix" not in numbers
    assert all(dataset[name].attrs["units"] and dataset[name].attrs["long_name"] for name in numbers)
    assert dataset["time_s"].attrs["units"] == "s"
    assert dataset["ranks"].attrs == {"long_name": "processes", "units": "1"}


def test_the_dataset_says_where_it_comes_from(project: Path, execute: Callable[..., Any]) -> None:
    execute(project)
    attributes = dataset_of(project).attrs
    assert attributes["Conventions"] == "CF-1.11"
    assert attributes["experiment"] == "tiny"
    assert attributes["scale"] == "smoke"
    assert attributes["simulator_revision"] == Simulator().newest_revision()
    assert attributes["compiler"] == "none"
    assert attributes["created"].endswith("Z")
    assert json.loads(attributes["figure_json"])["lines"] == "series"
    base = json.loads(attributes["base_json"])
    assert base["workload"] == {"algorithm": "recursive-k", "count": 3, "kind": "allreduce", "repeats": 1}
    assert "ranks" not in base
    assert json.loads(attributes["machine_json"])["geometry"] == [2, 2, 2]


def test_results_of_an_older_revision_are_shown_as_such(project: Path, execute: Callable[..., Any], fake: Any) -> None:
    own = fake.newest_revision()
    execute(project, substrate=fake)
    experiment = load_experiment(project / "configs" / "experiments" / "tiny.yaml")
    first = expand(experiment, "smoke").points[0].point
    assert first is not None
    store = Store(project)
    newer = store.read(first.id)
    newer["result"]["model_revision"] = newer["provenance"]["model_revision"] = own + 1
    store.write(newer)
    dataset = dataset_of(project)
    assert dataset["model_revision"].sel(series="rec-2").values.tolist() == [own + 1, own, own]
    assert dataset.attrs["simulator_revision"] == f"{own} and {own + 1}"


def test_each_member_of_an_ensemble_has_its_revision_and_the_plans_stands_beside(
    project: Path, execute: Callable[..., Any]
) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    file.write_text(file.read_text().replace("variants:", "ensemble: 2\nvariants:", 1))
    plan = execute(project)
    own = Simulator().newest_revision()
    store = Store(project)
    changed = next(identity for identity in sorted(plan.points))
    record = store.read(changed)
    store.write({**record, "result": {**record["result"], "model_revision": own + 1}})
    data = plan.experiments[0].manifest
    dataset = collate_manifest(data, store)
    assert dataset["model_revision"].dims == ("series", "ranks", "member")
    assert (dataset["model_revision"] == own + 1).values.tolist() == (dataset["id"] == changed).values.tolist()
    assert data["model_revision"] == dataset.attrs["current_revision"] == own


def test_the_same_records_give_the_same_dataset(project: Path, execute: Callable[..., Any], tmp_path: Path) -> None:
    execute(project)
    first, second = dataset_of(project), dataset_of(project)
    xr.testing.assert_identical(first, second)
    write(first, tmp_path / "new" / "first.nc")
    write(second, tmp_path / "new" / "second.nc")
    assert (tmp_path / "new" / "first.nc").read_bytes() == (tmp_path / "new" / "second.nc").read_bytes()
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["first.nc", "second.nc"]


def test_a_file_holds_what_was_written(project: Path, execute: Callable[..., Any], tmp_path: Path) -> None:
    execute(project)
    dataset = dataset_of(project)
    write(dataset, tmp_path / "tiny.nc")
    with xr.open_dataset(tmp_path / "tiny.nc", engine="h5netcdf") as read:
        read.load()
    for name in dataset.variables:
        assert np.array_equal(read[name].values.astype(object), dataset[name].values.astype(object)) or np.array_equal(
            read[name].values, dataset[name].values, equal_nan=True
        )
        assert read[name].dims == dataset[name].dims
    assert read.attrs == dataset.attrs | {DIGEST: digest(dataset)}


def test_the_busiest_link_is_told_only_where_single_links_are() -> None:
    link = {
        "name": "local",
        "packets": 3,
        "bytes": 300,
        "load": 0.25,
        "used_load": 0.5,
        "busy_s": 1e-6,
        "peak_queue": 9,
    }
    result = {"id": "0" * 16, "time_s": 1e-6, "links": [link]}
    known = [name for name in single(result).data_vars if str(name).startswith("link_")]
    assert known == ["link_packets", "link_bytes", "link_load", "link_used_load", "link_busy_s", "link_peak_queue"]
    told = single(result | {"links": [link | {"max_load": 0.75}]})
    assert told["link_max_load"].values.tolist() == [0.75]


def test_single_links_and_causes_of_waiting_stand_where_they_were_counted(
    project: Path, execute: Callable[..., Any], tmp_path: Path
) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    counted = "rec-3: {workload.radix: 3, statistics: {links: hottest, waiting: 4}}"
    file.write_text(file.read_text().replace("rec-3: {workload.radix: 3}", counted))
    execute(project, substrate=Simulator())
    dataset = dataset_of(project)
    own, other = dataset.sel(series="rec-3", ranks=8), dataset.sel(series="rec-2", ranks=8)
    loads = own["single_link_load"].dropna("single_link").values
    assert list(loads) == sorted(loads, reverse=True)
    assert loads[0] == own["link_max_load"].max()
    assert own["single_link_name"].values[0].startswith(f"{own['single_link_class'].values[0]} link, ")
    assert set(other["single_link_name"].values) == {""}
    assert other["single_link_load"].isnull().all()
    assert own["waiting_s"].dims == ("cause", "rank_bin")
    assert own["cause"].values.tolist() == ["late sender", "late receiver", "imbalance of work", "NIC queue", "network"]
    waited = own["waiting_s"].sum("cause").values
    assert len(waited) == 4
    assert all(waited > 0)
    assert all(waited <= float(own["time_s"]))
    assert other["waiting_s"].isnull().all()
    write(dataset, tmp_path / "tiny.nc")
    with xr.open_dataset(tmp_path / "tiny.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), dataset.assign_attrs({DIGEST: digest(dataset)}))


def test_the_storage_is_a_cause_where_a_record_has_it(project: Path, execute: Callable[..., Any]) -> None:
    file = project / "configs" / "experiments" / "tiny.yaml"
    counted = "rec-3: {workload.radix: 3, statistics: {waiting: 4}}"
    file.write_text(file.read_text().replace("rec-3: {workload.radix: 3}", counted))
    execute(project, substrate=Simulator())
    store = Store(project)
    for known in map(store.read, list(store.identities())):
        if "waiting" in known["result"] and known["point"]["ranks"] == 8:
            known["result"]["waiting"]["storage_s"] = [1.0, 2.0, 0.0, 0.0]
            store.write(known)
    own = dataset_of(project)["waiting_s"].sel(series="rec-3", cause="storage")
    assert own.sel(ranks=8).values.tolist() == [1, 2, 0, 0]
    assert own.sel(ranks=4).values.tolist() == [0, 0, 0, 0]


def with_delays(project: Path, execute: Callable[..., Any], congestion: bool) -> None:
    """Run the points; all but the last get delays and, where wanted, a matrix of up to 4 bins."""
    execute(project)
    store = Store(project)
    for identity in list(store.identities()):
        known = store.read(identity)
        ranks = known["point"]["ranks"]
        if known["point"]["workload"]["radix"] == 3 and ranks == 8:
            continue
        delays = {"lower_s": [0.0, 1e-9, 10.0], "upper_s": [1e-9, 10.0, 1844.0], "packets": [ranks, 1, 0]}
        known["result"]["delays"] = {**delays, "sum_s": 1e-6 * ranks, "max_s": 3e-7}
        if congestion:
            bins = min(4, ranks)
            packets = [[ranks * (i + 1) if i != j else 0 for j in range(bins)] for i in range(bins)]
            sums = [[2e-6 * count for count in row] for row in packets]
            known["result"]["congestion"] = {
                "bins": bins,
                "ranks": ranks,
                "packets": packets,
                "sum_s": sums,
                "max_s": sums,
            }
        store.write(known)


def test_delays_become_histograms(project: Path, execute: Callable[..., Any]) -> None:
    with_delays(project, execute, congestion=False)
    dataset = dataset_of(project)
    assert dataset["delay_packets"].dims == ("series", "ranks", "delay_bin")
    assert dataset["delay_packets"].sel(series="rec-2", ranks=4).values.tolist() == [4, 1, 0]
    assert dataset["delay_packets"].sel(series="rec-3", ranks=8).isnull().all()
    assert dataset["delay_lower"].values.tolist() == [0.0, 1e-9, 10.0]
    assert dataset["delay_upper"].values.tolist() == [1e-9, 10.0, 1844.0]
    assert dataset["delay_sum"].sel(series="rec-2", ranks=8) == 8e-6
    assert dataset["delay_max"].sel(series="rec-2").values.tolist() == [3e-7] * 3
    assert {dataset[name].attrs["units"] for name in ("delay_lower", "delay_upper", "delay_sum", "delay_max")} == {"s"}
    assert not [name for name in dataset.variables if str(name).startswith("congestion")]


def test_congestion_becomes_matrices(project: Path, execute: Callable[..., Any], tmp_path: Path) -> None:
    with_delays(project, execute, congestion=True)
    dataset = dataset_of(project)
    for name, units in (("mean", "s"), ("sum", "s"), ("max", "s"), ("packets", "1")):
        variable = dataset[f"congestion_{name}"]
        assert variable.dims == ("series", "ranks", "source_bin", "destination_bin")
        assert variable.shape == (2, 3, 4, 4)
        assert variable.attrs["units"] == units
        assert "floor(r * bins / ranks)" in variable.attrs["comment"]
    full = dataset.sel(series="rec-2", ranks=8)
    assert full["congestion_packets"].values[1].tolist() == [16, 0, 16, 16]
    assert full["congestion_sum"].values[1] == pytest.approx([3.2e-5, 0, 3.2e-5, 3.2e-5])
    # No packets, no mean; fewer processes, fewer bins.
    assert full["congestion_mean"].values[1] == pytest.approx([2e-6, np.nan, 2e-6, 2e-6], nan_ok=True)
    small = dataset["congestion_packets"].sel(series="rec-2", ranks=2).values
    assert small[:2, :2].tolist() == [[0, 2], [4, 0]]
    assert np.isnan(small[2:]).all()
    assert np.isnan(small[:, 2:]).all()
    assert dataset["congestion_max"].sel(series="rec-3", ranks=8).isnull().all()
    write(dataset, tmp_path / "tiny.nc")
    with xr.open_dataset(tmp_path / "tiny.nc", engine="h5netcdf") as read:
        xr.testing.assert_identical(read.load(), dataset.assign_attrs({DIGEST: digest(dataset)}))


def test_nothing_has_run_yet(project: Path) -> None:
    dataset = dataset_of(project)
    assert set(dataset["status"].values.ravel()) == {"missing", "excluded"}
    assert dataset["time_s"].isnull().all()
    assert dataset.attrs["created"] == ""


def test_a_manifest_is_enough_to_collate(project: Path, execute: Callable[..., Any]) -> None:
    execute(project)
    experiment = load_experiment(project / "configs" / "experiments" / "tiny.yaml")
    text = dump(manifest(experiment, expand(experiment, "smoke")))
    found = json.loads(text)
    assert is_whole(found)
    assert found.pop("sha256")
    assert found == json.loads(json.dumps(manifest(experiment, expand(experiment, "smoke"))))
    for damaged in (found, {**json.loads(text), "scale": "paper"}, {**json.loads(text), "points": []}):
        assert not is_whole(damaged)
    xr.testing.assert_identical(collate_manifest(json.loads(text), Store(project)), dataset_of(project))
