"""Parts of any grid in a program: what they exchange, and work for their cells."""

import functools
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from tramontane.errors import InputError, display_path
from tramontane.study.patterns import patterns
from tramontane.study.patterns.pattern_makers import read_arrays, sized, whole_numbers
from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import Text, Whole
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import Size, Time, time_or_none

DOMAINS = ("own", "inner", "boundary", "halo")
"""Cells of a part: its own, those of them that no other part needs, those that one does, and those it gets."""
_LINKS = ("source", "target", "cells")
_PARTS = ("own", "boundary")
_BYTES = "partition.bytes"
_ALLOWED = "what `tramontane pattern from-partition --domains` writes"


class Partition(Settings):
    """The parts of a grid, one for each rank, and what neighbours exchange (docs/patterns.md)."""

    file: Text = Field(
        description=f"A .npz file, {_ALLOWED}; beside the YAML file, or below the project's folder.",
        examples=["grist-7-480.npz"],
    )
    bytes: Size = Field(description="Bytes of a cell in each message.", examples=["2400 B"])
    messages: Annotated[int, Whole(1, 1000)] = Field(
        1, description="Messages to each neighbour in an exchange, such as one for each field."
    )
    per_cell: Time = Field(0, description="Work for a cell; all `work` that has `cells` needs it.", examples=["100 us"])

    @model_validator(mode="after")
    def _known(self) -> Self:
        if self.bytes == 0:
            raise problem("found 0 B", "more than 0 B", key="bytes")
        try:
            self.parts()
        except InputError as error:
            where = ": ".join(part for part in (display_path(error.source), error.key, error.problem) if part)
            raise problem(where, error.allowed, key="file") from None
        return self

    @property
    def ranks(self) -> int:
        """Ranks that it is for."""
        return self.parts().number

    def parts(self) -> "Parts":
        """Return what is in the file (InputError)."""
        path = Path(self.file).absolute()
        try:
            changed = path.stat().st_mtime_ns
        except (OSError, ValueError):
            raise InputError(path, "", None, _ALLOWED, problem="no such file") from None
        return _read(path, changed)


class Parts:
    """Cells of the parts of a grid, and of the links between them, checked.

    Raises
    ------
    InputError
        If a file has something else.
    """

    def __init__(self, path: Path) -> None:
        found = read_arrays(path, (*_LINKS, *_PARTS))
        lacking = next((name for name in (*_LINKS, *_PARTS) if name not in found), None)
        if lacking:
            raise InputError(path, lacking, None, _ALLOWED, problem=f"no column '{lacking}'")
        self._columns = {name: whole_numbers(path, name, column, 1) for name, column in found.items()}
        own, boundary = self._columns["own"], self._columns["boundary"]
        for names in (_LINKS, _PARTS):
            if len({len(self._columns[name]) for name in names}) != 1:
                raise InputError(path, "", None, _ALLOWED, problem=f"{', '.join(names)} have different lengths")
        right = (
            len(own) > 1
            and (own > 0).all()
            and ((boundary >= 0) & (boundary <= own)).all()
            and all(((self._columns[name] >= 0) & (self._columns[name] < len(own))).all() for name in _LINKS[:2])
            and (self._columns["cells"] > 0).all()
        )
        if not right:
            raise InputError(path, "", None, _ALLOWED, problem="found parts or links that can't be")

    @property
    def number(self) -> int:
        """How many parts there are."""
        return len(self._columns["own"])

    def messages(self, size: int, number: int) -> dict[str, NDArray[np.int64]]:
        """Return so many messages for each link, of so many bytes a cell (InputError if these are too many)."""
        source, target, cells = (np.repeat(self._columns[name], number) for name in _LINKS)
        return {
            "source": source,
            "target": target,
            "bytes": sized(cells, size, _BYTES),
            "tag": np.tile(np.arange(number), len(cells) // number),
        }

    def cells(self, domain: str) -> float:
        """Return how many cells a part has in a domain, as the mean over all parts."""
        own, boundary = (float(self._columns[name].mean()) for name in _PARTS)
        halo = float(self._columns["cells"].sum()) / len(self._columns["own"])
        return {"own": own, "inner": own - boundary, "boundary": boundary, "halo": halo}[domain]


@functools.lru_cache(maxsize=256)
def _read(path: Path, _changed: int) -> Parts:
    return Parts(path)


@functools.lru_cache(maxsize=256)
def _table(partition: Partition, parts: Parts) -> str:
    """Return the digest of the messages of an exchange."""
    columns = parts.messages(partition.bytes, partition.messages)
    name = f"partition: file {Path(partition.file).name} bytes {partition.bytes} messages {partition.messages}"
    return patterns.kept_messages(columns, name)


def on_cells(step: dict[str, Any], partition: Partition) -> dict[str, Any]:
    """Return a step with what the parts say: the table of a pattern that names none, and the work for cells.

    A step that can't have it stays as it is, and is refused where its own keys are checked.
    """
    if step.get("kind") == "pattern" and step.get("file") is None and step.get("table") is None:
        parts = partition.parts()
        try:
            digest = _table(partition, parts)
            return step | {"table": digest if patterns.is_kept(digest) else _table.__wrapped__(partition, parts)}
        except InputError as error:
            if error.source != _BYTES:
                raise
            raise problem(error.problem, error.allowed, key=_BYTES) from None
    if step.get("kind") == "work" and step.get("cells") in DOMAINS:
        time = time_or_none(step.get("time", "0 s"))
        if time is None or partition.per_cell == 0:
            return step
        made = {key: value for key, value in step.items() if key != "cells"}
        more = round(partition.parts().cells(step["cells"]) * partition.per_cell)
        return made | {"time": f"{max(time + more, 1)} ps"}
    return step
