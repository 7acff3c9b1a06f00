"""Hypothesis strategies of every typed model, made from its JSON schema: what an editor would let a user write."""

from typing import Any

from hypothesis import strategies as st
from pydantic import BaseModel

Json = dict[str, Any]
_TEXTS = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12)


def written(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    """Return a strategy of what the schema of a model allows, in plain data as a file holds it."""
    schema = model.model_json_schema()
    return _of(schema, schema.get("$defs", {}), depth=0)


def _of(schema: Json, known: dict[str, Json], depth: int) -> st.SearchStrategy[Any]:
    if "$ref" in schema:
        return _of(known[schema["$ref"].rsplit("/", 1)[1]], known, depth)
    options = schema.get("anyOf") or schema.get("oneOf")
    if options:
        return st.one_of([_of(option, known, depth) for option in options])
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "object":
            return _object(schema, known, depth)
        case "array":
            return _array(schema, known, depth)
        case "integer":
            return st.integers(schema.get("minimum", -5), min(schema.get("maximum", 40), 40))
        case "number":
            return st.floats(schema.get("minimum", schema.get("exclusiveMinimum", -10)), 100, allow_nan=False)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "string" | ["string", "number"]:
            return st.from_regex(schema["pattern"]) if "pattern" in schema else _TEXTS
    return st.one_of(st.none(), st.integers(-3, 300), _TEXTS)


def _object(schema: Json, known: dict[str, Json], depth: int) -> st.SearchStrategy[Any]:
    own = {key: _of(value, known, depth + 1) for key, value in schema.get("properties", {}).items()}
    needed = set(schema.get("required", ()))
    if not own:
        values = schema.get("additionalProperties")
        return st.dictionaries(_TEXTS, _of(values if isinstance(values, dict) else {}, known, depth + 1), max_size=2)
    optional = {key: value for key, value in own.items() if key not in needed}
    return st.fixed_dictionaries({key: own[key] for key in own if key in needed}, optional=optional)


def _array(schema: Json, known: dict[str, Json], depth: int) -> st.SearchStrategy[Any]:
    if "prefixItems" in schema:
        return st.tuples(*(_of(item, known, depth + 1) for item in schema["prefixItems"])).map(list)
    least = schema.get("minItems", 0)
    return st.lists(
        _of(schema.get("items", {}), known, depth + 1), min_size=least, max_size=schema.get("maxItems", least + 2)
    )
