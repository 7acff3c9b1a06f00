"""What makes a record believed: its format, its identity, the hash of its point, and a checksum of all that it says."""

import gzip
import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

#: The form of a record; it rises when an older program would misread a newer record.
FORMAT = 1

#: What a record and a failure hold beside their proof.
RECORD: dict[str, type] = {"id": str, "point": dict, "result": dict, "provenance": dict}
FAILURE: dict[str, type] = {"id": str, "point": dict, "message": str, "provenance": dict}

#: What reading a file that nobody vouches for may raise.
UNSOUND = (ValueError, TypeError, KeyError, RecursionError, EOFError, zlib.error)

#: The largest record [B] and congestion matrix, unpacked [B], that are read.
_LARGEST = 64 << 20
_LARGEST_MATRIX = 1 << 30

_SUM = "sha256"
_MATRIX = "congestion_sha256"
_PROOF = ("format", _SUM, _MATRIX)


def digest(data: Any) -> str:
    """Return a checksum of plain data, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def identity_of(point: dict[str, Any]) -> str:
    """Return the identity of a point in canonical form."""
    return digest(point)[:16]


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record or a failure with its format and its checksum."""
    content = {**data, "format": FORMAT}
    return {**content, _SUM: digest(content)}


def unsealed(data: dict[str, Any]) -> dict[str, Any]:
    """Return a record or a failure without its proof."""
    return {key: value for key, value in data.items() if key not in _PROOF}


def checksum(data: Mapping[str, Any]) -> str:
    """Return what a record or a failure that has been checked says is its checksum."""
    return str(data[_SUM])


def matrix_digest(matrix: dict[str, Any]) -> dict[str, str]:
    """Return what a record says of the congestion matrix beside it."""
    return {_MATRIX: digest(matrix)}


def parse(content: bytes, largest: int = _LARGEST) -> Any:
    """Return JSON data; refuse what is larger than `largest` [B], and NaN.

    Raises
    ------
    ValueError
        If it is no such data.
    """
    if len(content) > largest:
        raise ValueError(f"larger than {largest} bytes")
    try:
        return json.loads(content, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from None


def checked(content: bytes, identity: str, form: Mapping[str, type]) -> dict[str, Any]:
    """Return a record or a failure, with its proof.

    Parameters
    ----------
    content : bytes
        Content of the file.
    identity : str
        Identity of the point whose file it is.
    form : dict
        `RECORD` or `FAILURE`.

    Raises
    ------
    ValueError
        If it is damaged, of another point, or of a format that this version does not know.
    """
    data = parse(content)
    if not isinstance(data, dict):
        raise ValueError("no record")
    if data.get("format", FORMAT) != FORMAT:
        raise ValueError(f"format {str(data['format'])[:20]}; this version knows {FORMAT}")
    for key, kind in form.items():
        if not isinstance(data.get(key), kind):
            raise ValueError(f"no record: '{key}' is missing or wrong")
    if data["id"] != identity:
        raise ValueError(f"of another point ({data['id'][:16]!r})")
    if _SUM not in data:
        raise ValueError("without a checksum")
    if data[_SUM] != digest({key: value for key, value in data.items() if key != _SUM}):
        raise ValueError("the checksum differs")
    if identity_of(data["point"]) != identity:
        raise ValueError("its identity is not that of its point")
    return data


def has_matrix(record: Mapping[str, Any]) -> bool:
    """Return whether a record that has been checked has a congestion matrix beside it."""
    return _MATRIX in record


def checked_matrix(record: dict[str, Any], file: Path, opened: IO[bytes] | None = None) -> dict[str, Any] | None:
    """Return the congestion matrix that a record says it has; None if it has none.

    Parameters
    ----------
    record : dict
        The record.
    file : Path
        File of the matrix.
    opened : binary file, optional
        What is in the file, if it is not on the disk.

    Raises
    ------
    ValueError, EOFError, OSError, zlib.error
        If it is missing, damaged or of another point.
    """
    if not has_matrix(record):
        return None
    with opened or file.open("rb") as packed, gzip.open(packed) as stream:
        try:
            matrix: dict[str, Any] = parse(stream.read(_LARGEST_MATRIX + 1), _LARGEST_MATRIX)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{file.name}: {error}") from None
    if digest(matrix) != record[_MATRIX]:
        raise ValueError(f"{file.name} does not belong to it")
    return matrix


def _refuse(text: str) -> Any:
    raise ValueError(f"{text} is no number")
