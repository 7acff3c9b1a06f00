"""Datasets in files: written whole or not at all, with a digest of all that is in them, which reading checks."""

import hashlib
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tramontane.errors import InputError
from tramontane.support.files import is_special, write_atomically
from tramontane.support.layout import Layout

#: Values of a dataset that is read: a file of some bytes may claim any number [B].
MOST_BYTES = 8 << 30
#: The attribute that holds the digest.
DIGEST = "content_sha256"
#: The attribute that tells of which records a dataset was made (:func:`tramontane.results.store.digest_of`).
RECORDS = "records_sha256"
#: Where NetCDF 4 keeps the number of a dimension, and those of a variable.
_DIMENSION, _DIMENSIONS = "_Netcdf4Dimid", "_Netcdf4Coordinates"
#: Attributes that say how a dataset lies in its file.
_OF_NETCDF = frozenset(
    {
        *(_DIMENSION, _DIMENSIONS, "_NCProperties", "CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST"),
        *("_FillValue", "coordinates", "dtype"),
    }
)


class _Variable(NamedTuple):
    """What counts of a variable."""

    dims: tuple[str, ...]
    attributes: Mapping[Any, Any]
    values: NDArray[Any]


def digest(dataset: xr.Dataset) -> str:
    """Return the SHA-256 of a dataset's variables and attributes, as long as only their bytes in a file differ."""
    variables = {
        str(name): _Variable(tuple(map(str, of.dims)), of.attrs, of.to_numpy())
        for name, of in dataset.variables.items()
    }
    return _digest(dataset.attrs, variables)


def _digest(attributes: Mapping[Any, Any], variables: Mapping[str, _Variable]) -> str:
    total = hashlib.sha256()

    def add(*texts: object) -> None:
        for text in texts:
            data = str(text).encode()
            total.update(f"{len(data)} ".encode() + data)

    def add_all(of: Mapping[Any, Any]) -> None:
        for key in sorted(of, key=str):
            if key != DIGEST:
                add(key, np.asarray(of[key]).tolist())

    add_all(attributes)
    for name, variable in sorted(variables.items()):
        add(name, *variable.dims, *variable.values.shape)
        add_all(variable.attributes)
        if variable.values.dtype.kind in "OUST":
            add(*variable.values.ravel().tolist())
        else:
            total.update(np.ascontiguousarray(variable.values, dtype="<f8").tobytes())
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


def _has_its_digest(path: Path) -> bool:
    """Return whether what is in a file has its digest, told in a tenth of the time that xarray takes to open it.

    A file for which this is not so may be sound nevertheless: `read` knows.
    """
    import h5py  # noqa: PLC0415

    def attributes(of: h5py.HLObject) -> dict[str, Any]:
        kept = {key: value for key, value in of.attrs.items() if key not in _OF_NETCDF}
        return {key: value[0] if np.shape(value) == (1,) else value for key, value in kept.items()}

    def variable(of: h5py.Dataset) -> _Variable:
        values = of.asstr()[()] if h5py.check_string_dtype(of.dtype) else of[()]
        dims = tuple(names[each] for each in of.attrs.get(_DIMENSIONS, ()))
        return _Variable(dims, attributes(of), np.asarray(values))

    try:
        with h5py.File(path) as file:
            if sum(of.nbytes for of in file.values()) > MOST_BYTES:
                return False
            names = {of.attrs[_DIMENSION]: name for name, of in file.items() if of.is_scale}
            bare = {name for name, of in file.items() if of.is_scale and _DIMENSIONS not in of.attrs}
            variables = {name: variable(of) for name, of in file.items() if name not in bare}
            return bool(_digest(attributes(file), variables) == file.attrs[DIGEST])
    except Exception:
        return False


def remove_unsound(path: Path) -> str:
    """Remove a dataset that is not as it was written, to be made again; return why, or nothing if it is sound."""
    if not is_special(path) and _has_its_digest(path):
        return ""
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
