"""A cubed sphere in a program: whose steps exchange what its elements share, and work for each element."""

import functools
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from tramontane.errors import InputError
from tramontane.study.patterns import element_makers, patterns
from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import Choice, Count, Whole
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import DOUBLE, WHOLE, Share, time_or_none

CURVE, METIS = "curve", "metis"
EDGES, VERTICES = "edges", "vertices"
_NAME = "cubed_sphere"
_PARTS, _LEVELS = f"{_NAME}.parts", f"{_NAME}.levels"
MOST_ALONG = 400
"""Elements along an edge: who is beside whom is worked out whenever a point is read."""


class CubedSphere(Settings):
    """The elements of a cubed sphere, shared among the ranks, and what neighbours exchange (docs/programs.md)."""

    elements: Annotated[int, Whole(1, MOST_ALONG)] = Field(
        description="Elements along an edge of the cube (ne); 6 ne^2 in all. Exchanges of more are a table: "
        "`tramontane pattern elements`.",
        examples=[60],
    )
    parts: Count = Field(description="Parts into which they are divided: the ranks.", examples=[5400])
    partition: Annotated[str, Choice((CURVE, METIS))] = Field(
        CURVE,
        description="Who owns what. curve: consecutive elements of a space-filling curve, in even shares; metis: "
        "METIS's parts, whose work is taken as even all the same.",
    )
    neighbours: Annotated[str, Choice((VERTICES, EDGES))] = Field(
        VERTICES,
        description="vertices: elements that share an edge or a vertex exchange, as spectral elements do; edges: "
        "those that share an edge only, as for fluxes of discontinuous Galerkin methods.",
    )
    points: Annotated[int, Whole(1, 64)] = Field(4, description="Points along an edge of an element (np).")
    levels: Count = Field(1, description="Levels of a point.", examples=[26])
    fields: Count = Field(1, description="Fields of 8 B that are exchanged together.")
    inside_scale: Share | None = Field(
        None,
        description="Share of the work that steps state `per_inside`, for programs that move these bytes otherwise.",
        examples=["150 %"],
    )

    @model_validator(mode="after")
    def _shared(self) -> Self:
        if self.parts > 6 * self.elements**2:
            allowed = f"at most {6 * self.elements**2}, the elements"
            raise problem(f"found {self.parts}", allowed, key="parts")
        if self.parts == 1:
            raise problem("found 1", "2 or more, among which something is sent", key="parts")
        return self

    @property
    def ranks(self) -> int:
        """Ranks that it is for."""
        return self.parts

    @property
    def size(self) -> int:
        """Bytes of a point."""
        return DOUBLE * self.levels * self.fields

    def owners(self) -> element_makers.Integers:
        """Return the part of each element (InputError if METIS leaves one empty)."""
        return _owners(self.elements, self.parts, self.partition)

    def columns(self) -> dict[str, element_makers.Integers]:
        """Return the messages of an exchange: `source`, `target`, `bytes`."""
        return element_makers.messages(self._connected(), self.owners(), self.points, self.size, _LEVELS)

    def inside(self) -> element_makers.Integers:
        """Return the bytes that each part exchanges between its own elements."""
        return element_makers.inside(self._connected(), self.owners(), self.points, self.size)

    def _connected(self) -> element_makers.Connections:
        return _edges(self.elements) if self.neighbours == EDGES else _connections(self.elements)


@functools.lru_cache(maxsize=8)
def _connections(elements: int) -> element_makers.Connections:
    return element_makers.connections(element_makers.cubed_sphere(elements), _NAME)


@functools.lru_cache(maxsize=8)
def _edges(elements: int) -> element_makers.Connections:
    return _connections(elements).edges_only()


@functools.lru_cache(maxsize=8)
def _curve(elements: int) -> element_makers.Integers:
    return element_makers.curve(elements, _edges(elements))


@functools.lru_cache(maxsize=64)
def _owners(elements: int, parts: int, partition: str) -> element_makers.Integers:
    if partition == CURVE:
        return element_makers.even_parts(_curve(elements), parts)
    made = element_makers.metis(_connections(elements), parts)
    element_makers.check_parts(made, parts, f"{_NAME}.partition: {METIS}")
    return made


@functools.lru_cache(maxsize=256)
def _table(sphere: CubedSphere) -> tuple[str, int]:
    """Return the digest of the messages, and the mean bytes that a part has inside."""
    name = " ".join(f"{key} {value}" for key, value in sphere.canonical().items())
    digest = patterns.kept_messages(sphere.columns(), f"{_NAME}: {name}")
    return digest, round(float(sphere.inside().mean()))


def on_elements(step: dict[str, Any], sphere: CubedSphere) -> dict[str, Any]:
    """Return a step with what the elements say: the table of a pattern that names none, and the work for elements.

    Work that can't have it stays as it is, and is refused where its own keys are checked.

    Raises
    ------
    PydanticCustomError
        If that can't be made.
    """
    try:
        shape = sphere.changed(inside_scale=None)  # which moves no element
        digest, inside = _table(shape)
        if not patterns.is_kept(digest):
            _table.__wrapped__(shape)
    except InputError as error:
        raise problem(error.problem, error.allowed, key=_LEVELS if error.source == _LEVELS else _PARTS) from None
    if step.get("kind") == "pattern" and step.get("file") is None and step.get("table") is None:
        return step | {"table": digest}
    if step.get("kind") == "work":
        kept, step = step, dict(step)
        if "per_element" in step:
            if {"per_point", "grid", "decomposition"} & set(step):
                return kept
            each = step.pop("per_element")
            step |= {"per_point": each, "grid": [6 * sphere.elements**2, 1, 1], "decomposition": [sphere.parts, 1]}
        if "per_inside" in step:
            share = WHOLE if sphere.inside_scale is None else sphere.inside_scale
            stated, time = time_or_none(step.pop("per_inside")), time_or_none(step.get("time", "0 s"))
            if not stated or time is None:
                return kept
            # ranks of one element have nothing inside, and a step is some work
            step["time"] = f"{max(time + stated * share * inside // WHOLE, 1)} ps"
    return step
