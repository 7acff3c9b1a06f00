"""Reads what a YAML file holds as a typed model, and refuses publications that it cites and nobody knows."""

from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from tramontane.errors import InputError, closest
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.messages import explain
from tramontane.study.reading.project import REFERENCES
from tramontane.study.reading.reading import cached_yaml

Model = TypeVar("Model", bound=BaseModel)


def validated(model: type[Model], data: object, source: Path, key: str = "") -> Model:
    """Return what stands in a file as a model.

    Parameters
    ----------
    model : type
        What it should be.
    data : object
        What stands there.
    source : Path
        The file.
    key : str, optional
        Dotted path of the data in the file; by default all of it is meant.

    Raises
    ------
    InputError
        If it is none.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise explain(error, model, Origin(source, key).inside) from None


def check_reference(cited: str, root: Path, source: Path, key: str) -> None:
    """Refuse a publication, cited at a key of a file, that ``configs/references.yaml`` does not have (InputError)."""
    known = cached_yaml(root / REFERENCES)
    if cited not in known:
        raise InputError(source, key, cited, ", ".join(known), hint=closest(cited, known))
