"""Datasets in files: written whole or not at all, with a digest of all that is in them, which reading checks."""

import hashlib
import io
from pathlib import Path

import numpy as np
import xarray as xr

from tramontane.errors import InputError
from tramontane.support.files import is_special, write_atomically
from tramontane.support.layout import Layout

#: Values of a dataset that is read: a file of some bytes may claim any number [B].
MOST_BYTES = 8 << 30
#: The attribute that holds the digest.
DIGEST = "content_sha256"
#: The attribute that tells of which records a dataset was made (:func:`tramontane.results.store.digest_of`).
RECORDS = "records_sha256"


def digest(dataset: xr.Dataset) -> str:
    """Return the SHA-256 of a dataset's variables and attributes, as long as only their bytes in a file differ."""
    total = hashlib.sha256()

    def add(*texts: object) -> None:
        for text in texts:
            data = str(text).encode()
            total.update(f"{len(data)} ".encode() + data)

    def attributes(of: xr.Dataset | xr.DataArray) -> None:
        for key in sorted(of.attrs, key=str):
            if key != DIGEST:
                add(key, np.asarray(of.attrs[key]).tolist())

    attributes(dataset)
    for name in sorted(dataset.variables, key=str):
        variable = dataset[name]
        add(name, *variable.dims, *variable.shape)
        attributes(variable)
        values = variable.to_numpy()
        if values.dtype.kind in "OUST":
            add(*values.ravel().tolist())
        else:
            total.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return total.hexdigest()


def write(dataset: xr.Dataset, path: Path) -> None:
    """Write a dataset as NetCDF 4 with its digest, whole or not at all (UnwritableError).

    It is made in memory: HDF5 ends with a segmentation fault where a disk is full.
    """
    # Most cells of a congestion matrix are zeros.
    large = {str(name): {"zlib": True} for name in dataset.data_vars if str(name).startswith("congestion_")}
    sealed = dataset.assign_attrs({DIGEST: digest(dataset)})
    content = io.BytesIO()
    sealed.to_netcdf(content, engine="h5netcdf", encoding=large)
    write_atomically(path, content.getbuffer())


def read(path: Path, content: bytes | None = None) -> xr.Dataset:
    """Return a dataset, if it is as it was written.

    Parameters
    ----------
    path : Path
        Its file.
    content : bytes, optional
        What is in the file, if it is not on the disk.

    Raises
    ------
    InputError
        If it is damaged, too large for any campaign, has changed, or has no digest.
    """
    allowed = "a dataset as tramontane wrote it"
    if content is None and is_special(path):  # to read a pipe may never end
        raise InputError(path, "", None, allowed, problem="no regular file")
    try:
        with xr.open_dataset(path if content is None else io.BytesIO(content), engine="h5netcdf") as opened:
            if opened.nbytes > MOST_BYTES:
                raise InputError(path, "", None, f"at most {MOST_BYTES} B", problem=f"{opened.nbytes} B of values")
            dataset = opened.load()
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(path, "", None, allowed, problem="no such file") from None
    except Exception as error:
        raise InputError(path, "", None, allowed, problem=f"damaged, or no dataset ({type(error).__name__})") from None
    if dataset.attrs.get(DIGEST) != digest(dataset):
        raise InputError(path, "", None, allowed, problem="it has no digest or has changed since")
    return dataset


def of_experiment(root: Path, scale: str, experiment: str, source: str) -> xr.Dataset:
    """Return the dataset of an experiment of a campaign.

    Parameters
    ----------
    root, scale, experiment
        The checkout, the campaign's scale, and the experiment's name.
    source : str
        What asks, for error lines.

    Raises
    ------
    InputError
        If there is none, with those that there are; else as `read`.
    """
    file = Layout(root, scale).dataset(experiment)
    if not file.exists():
        known = ", ".join(sorted(path.stem for path in file.parent.glob("*.nc"))) or "nothing yet"
        raise InputError(source, "", experiment, known, problem=f"no results of '{experiment}' at scale {scale}")
    return read(file)


def is_outrun(path: Path, records: str) -> bool:
    """Return whether a dataset was made of other records than those with this digest; what is damaged says nothing."""
    import h5py  # noqa: PLC0415 (xarray would read all variables' names and sizes, too)

    if is_special(path):
        return False
    try:
        with h5py.File(path) as file:
            return bool(file.attrs.get(RECORDS) != records)
    except OSError:
        return False


def remove_unsound(path: Path) -> str:
    """Remove a dataset that is not as it was written, to be made again; return why, or nothing if it is sound."""
    try:
        read(path)
    except InputError as error:
        if not path.exists():
            return ""
        if path.is_dir():
            raise InputError(path, "", None, "a dataset, which is a file", problem="found a folder") from None
        path.unlink()
        return str(error)
    return ""
