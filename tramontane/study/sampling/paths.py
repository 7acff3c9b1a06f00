"""Which dotted paths a point has: what experiments, samples and plausible ranges may set."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from tramontane.study.points.points import Point
from tramontane.study.reading.layers import Keys
from tramontane.study.reading.messages import entries, field_names, submodels


@lru_cache(maxsize=4096)
def models_at(path: Keys) -> tuple[list[type[BaseModel]], list[type[BaseModel]]]:
    """Return the models of a mapping of a point, or that of its values where its keys are free names."""
    models: list[type[BaseModel]] = [Point]
    named: list[type[BaseModel]] = []
    for key in path:
        fields = [model.model_fields[key] for model in models if key in model.model_fields]
        models, named = named, [inner for field in fields for inner in entries(field)]
        models = models + [inner for field in fields for inner in submodels(field.rebuild_annotation())]
    return models, named


def point_keys(path: Keys = ()) -> list[str] | None:
    """Return the keys a point may have below `path`, none if they are free; None if it is a value or does not exist."""
    models, named = models_at(path)
    return field_names(models) if models or named else None


def takes_mapping(path: Keys) -> bool:
    """Return whether a value at `path` may be a mapping, such as a geometry or a rule with its numbers."""
    models, _ = models_at(path[:-1])
    fields = [model.model_fields[path[-1]] for model in models if path[-1] in model.model_fields]
    return any(_has_object(TypeAdapter(field.rebuild_annotation()).json_schema()) for field in fields)


def _has_object(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object" or any(map(_has_object, schema.get("anyOf", ())))


def value_at(path: Keys) -> Keys:
    """Return the path of the value that a path leads to or into: a geometry is one value, whatever it names."""
    return next((path[:depth] for depth in range(1, len(path)) if point_keys(path[:depth]) is None), path)


def unknown_key(path: Keys) -> tuple[int, list[str]] | None:
    """Return the position of the first key in `path` that no point has, and those it could be; None if all exist."""
    for depth, key in enumerate(path):
        models, named = models_at(path[:depth])
        if not named and key not in (allowed := field_names(models)):
            return depth, allowed
    return None


def leaves(path: Keys = ()) -> Iterator[Keys]:
    """Yield the paths of all values that some point may have, but those below free names."""
    models, named = models_at(path)
    if not models and not named:
        yield path
    for key in dict.fromkeys(field_names(models)):
        yield from leaves((*path, key))
