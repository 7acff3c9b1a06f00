"""Datasets carry their own proof; a sample of points is run again and compared."""

import errno
import os
import signal
from pathlib import Path

import h5netcdf
import numpy as np
import pytest
import xarray as xr

from tramontane.campaign.plan import make_plan
from tramontane.campaign.verification import verify
from tramontane.errors import InputError
from tramontane.results import datasets
from tramontane.results.store import Store
from tramontane.support.files import UnwritableError


def test_a_dataset_says_whether_it_is_as_it_was_written(tmp_path: Path) -> None:
    file = tmp_path / "x.nc"
    dataset = xr.Dataset({"time_s": ("ranks", [1.0, 2.0])}, {"ranks": [2, 4], "series": ["a"]}, {"title": "T"})
    datasets.write(dataset, file)
    assert datasets.read(file)["time_s"].values.tolist() == [1.0, 2.0]
    changed = datasets.read(file)
    changed["time_s"][0] = 2.0
    changed.to_netcdf(tmp_path / "changed.nc", engine="h5netcdf")
    (tmp_path / "cut.nc").write_bytes(file.read_bytes()[:-200])
    (tmp_path / "none.nc").write_text("nothing")
    dataset.to_netcdf(tmp_path / "unsealed.nc", engine="h5netcdf")
    for name in ("changed", "cut", "none", "unsealed"):
        with pytest.raises(InputError, match=name):
            datasets.read(tmp_path / f"{name}.nc")
        assert datasets.remove_unsound(tmp_path / f"{name}.nc")
        assert not (tmp_path / f"{name}.nc").exists()
    assert not datasets.remove_unsound(file)


def test_a_sound_dataset_is_told_without_opening_it_with_xarray(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which takes ten times as long: so much that it would be most of what a campaign costs that is done."""
    dataset = xr.Dataset(
        {
            "time_s": (("ranks", "bin"), [[1.0, np.nan], [2.0, 3.0]], {"units": "s", "revisions": [6, 7]}),
            "congestion_sum": (("ranks", "bin"), np.zeros((2, 2), np.float32)),
            "id": ("ranks", ["a", "é"]),
            "on": ("ranks", [True, False]),
            "whole": ((), 7),
        },
        {"ranks": [2, 4], "series": ["a"], "lower": ("bin", [0.0, 1.0])},
        {"title": "T", "revision": 7, "known": [6, 7], "share": 0.5, "words": ["a", "b"]},
    )
    datasets.write(dataset, tmp_path / "x.nc")
    monkeypatch.setattr(datasets, "read", None)
    assert not datasets.remove_unsound(tmp_path / "x.nc")


def test_a_full_disk_is_one_line_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HDF5 would end with a segmentation fault there; so it writes nothing itself."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(UnwritableError, match=r"No space left on device: '.*/own\.nc'"):
        datasets.write(xr.Dataset({"time_s": ("x", [1.0])}), tmp_path / "own.nc")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_the_place_of_a_dataset_is_told_and_stays(tmp_path: Path) -> None:
    folder = tmp_path / "own.nc"
    folder.mkdir()
    with pytest.raises(InputError, match=r"own.nc: found a folder; allowed: a dataset, which is a file"):
        datasets.remove_unsound(folder)
    assert folder.is_dir()


def test_a_pipe_in_the_place_of_a_dataset_is_removed_unread(tmp_path: Path) -> None:
    pipe = tmp_path / "own.nc"
    os.mkfifo(pipe)
    signal.alarm(20)  # to read it would never end
    assert not datasets.is_outrun(pipe, "")
    assert datasets.remove_unsound(pipe).endswith("own.nc: no regular file; allowed: a dataset as tramontane wrote it")
    signal.alarm(0)
    assert not pipe.exists()


def test_verifying_finds_what_a_point_does_not_give(project: Path) -> None:
    from tramontane.campaign.batch import run_batch
    from tramontane.campaign.plan import write_plan

    plan = make_plan(project, "smoke")
    write_plan(plan)
    for batch in plan.batches:
        run_batch(plan.layout.batch(batch.identity), project)
    assert verify(project, ["all"], "smoke", 3, 1).differences == ()
    store, victim = Store(project), min(plan.points)
    record = store.read(victim)
    store.write({**record, "result": {**record["result"], "time_s": 2 * record["result"]["time_s"]}})
    found = verify(project, ["all"], "smoke", 10, 1)
    assert found.compared == len(plan.points)
    assert len(found.differences) == 1
    assert victim in found.differences[0]
    assert "time_s was" in found.differences[0]


def test_a_dataset_that_claims_too_much_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A file of some thousand bytes, whose values would fill any memory."""
    with h5netcdf.File(tmp_path / "large.nc", "w") as file:
        file.dimensions = {"x": 1 << 40}
        file.create_variable("time_s", ("x",), float, chunks=(1 << 20,))
    with pytest.raises(InputError, match="8796093022208 B of values; allowed: at most"):
        datasets.read(tmp_path / "large.nc")
