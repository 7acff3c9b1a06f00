"""Turns what pydantic reports into the one line a user reads.

A validator says what it found and what it allows with :func:`problem`; :func:`explain` adds file and key, looks for a
misspelt name and puts the most telling of several mistakes first (a misspelt key also shows up as a missing one).
"""

import types
from collections.abc import Callable, Sequence
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from tramontane.errors import InputError, closest, show
from tramontane.study.reading.layers import Keys, Origin

Locate = Callable[[Keys], Origin]


def problem(
    text: str, allowed: str, *, key: str = "", hint: str | None = None, instead: dict[str, str] | None = None
) -> PydanticCustomError:
    """Return an error for a validator to raise.

    Parameters
    ----------
    text : str
        What was found.
    allowed : str
        What may stand there.
    key : str, optional
        Dotted path below the validated value, for mistakes that only show when several keys are seen together.
    hint : str, optional
        The value that was probably meant.
    instead : dict of str to str, optional
        The same mistake as one of another key (`problem`, `allowed`, `key`), where that is the one that stands in the
        user's own file.
    """
    context = {"problem": text, "allowed": allowed, "key": key, "hint": hint or "", "instead": instead or {}}
    return PydanticCustomError("tramontane", "{problem}; allowed: {allowed}", context)


def explain(error: ValidationError, model: type[BaseModel], locate: Locate, where: str | None = None) -> InputError:
    """Return the one line for a validation error of `model`.

    Parameters
    ----------
    error : ValidationError
        What pydantic found.
    model : type
        The model that was validated.
    locate : callable
        Gives file and key of a path inside the validated data.
    where : str, optional
        The point of an experiment, if the data were expanded from one.
    """
    details = sorted(error.errors(include_url=False), key=_rank)
    first = details[0]
    if first["type"] == "extra_forbidden":  # what seems to be missing probably is the misspelt key
        details = [detail for detail in details if detail["type"] != "missing"]
    keys, parents = _follow(model, first["loc"])
    context = first.get("ctx", {})
    if first["type"] == "tramontane" and context["key"]:
        around, own = keys, locate(()).source
        keys = _below(around, context["key"])
        instead = context["instead"]
        if instead and locate(keys).source != own and locate(_below(around, instead["key"])).source == own:
            keys = _below(around, instead["key"])
            context.update(instead)
    elif first["type"].startswith("union_tag"):
        keys = (*keys, "kind")
    origin = locate(keys)
    text, allowed, hint = _describe(first, keys, parents)
    return origin.mistake(
        first["input"],
        allowed,
        problem=text,
        hint=hint,
        where=where,
        more=len(details) - 1,
    )


def _below(keys: Keys, dotted: str) -> Keys:
    return (*keys, *(f"[{key}]" if key.isdigit() else key for key in dotted.split(".")))


def field_names(models: Sequence[type[BaseModel]]) -> list[str]:
    """Return the keys of all `models`, in order of declaration, each once."""
    return list(dict.fromkeys(name for model in models for name in model.model_fields))


def submodels(annotation: Any) -> list[type[BaseModel]]:
    """Return the models an annotation consists of, looking through unions and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    if get_origin(annotation) in (Union, types.UnionType) or hasattr(annotation, "__metadata__"):
        return [model for part in get_args(annotation) for model in submodels(part)]
    return []


def elements(field: FieldInfo) -> list[type[BaseModel]]:
    """Return the model of a list's entries, if the field is a list of mappings."""
    return submodels(get_args(field.annotation)[0]) if get_origin(field.annotation) is list else []


def entries(field: FieldInfo) -> list[type[BaseModel]]:
    """Return the model of a mapping's values, if the field is a mapping of names to mappings."""
    return submodels(get_args(field.annotation)[1]) if get_origin(field.annotation) is dict else []


def tag(model: type[BaseModel]) -> str | None:
    """Return the `kind` that selects a model from a union."""
    field = model.model_fields.get("kind")
    words = get_args(field.annotation) if field else ()
    return str(words[0]) if words else None


def _members(parent: type[BaseModel], key: str) -> list[type[BaseModel]]:
    """Return the models of a union that stands at `key` of `parent`."""
    field = parent.model_fields.get(key)
    return submodels(field.rebuild_annotation()) if field else []


def _rank(detail: ErrorDetails) -> int:
    """Order mistakes: a misspelt key first, since it usually causes the missing one, which comes last."""
    return {"extra_forbidden": 0, "missing": 2}.get(detail["type"], 1)


def _follow(model: type[BaseModel], location: tuple[int | str, ...]) -> tuple[Keys, list[type[BaseModel]]]:
    """Return the keys of an error's location, without pydantic's union tags, and the models around the last key."""
    keys: list[str] = []
    around = [model]
    parents = around
    named: list[type[BaseModel]] = []
    is_chosen = True  # whether it is known which model of a union it is; a field may have the name of a tag
    for part in location:
        if named:  # a name of the user's own, such as that of a partition
            keys.append(str(part))
            around, named, is_chosen = named, [], False
            continue
        tagged = [candidate for candidate in around if tag(candidate) == part]
        if tagged and not is_chosen:
            around = parents = tagged
            is_chosen = True
            continue
        is_chosen = False
        parents = around
        if isinstance(part, int):
            keys.append(f"[{part}]")
            continue
        keys.append(part)
        found = [candidate.model_fields[part] for candidate in around if part in candidate.model_fields]
        around = [inner for field in found for inner in submodels(field.rebuild_annotation()) or elements(field)]
        named = [inner for field in found for inner in entries(field)]
    return tuple(keys), parents


_ALLOWED = {
    **dict.fromkeys(("model_type", "model_attributes_type", "dict_type"), "a mapping of keys to values"),
    **dict.fromkeys(("list_type", "tuple_type"), "a list"),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    "greater_than": "a number of more than {gt:g}",
    "greater_than_equal": "a number, {ge:g} or more",
    "less_than": "a number below {lt:g}",
}
"""What is allowed by the type of a mistake, in place of pydantic's own words."""


def _describe(detail: ErrorDetails, keys: Keys, parents: list[type[BaseModel]]) -> tuple[str, str, str | None]:
    """Return what was found, what is allowed and what was probably meant."""
    context, found = detail.get("ctx", {}), detail["input"]
    last = keys[-1] if keys else ""
    match detail["type"]:
        case "tramontane":
            text, allowed, hint = context["problem"], context["allowed"], context["hint"] or None
        case "extra_forbidden":
            names = field_names(parents)
            text, allowed, hint = f"unknown key '{last}'", ", ".join(names), closest(last, names)
        case "missing":
            fields = [parent.model_fields[last] for parent in parents if last in parent.model_fields]
            text, allowed, hint = "missing", (fields[0].description if fields else None) or "a value", None
        case "union_tag_invalid":
            kinds = str(context["expected_tags"]).replace("'", "").split(", ")
            text, allowed, hint = f"found '{context['tag']}'", ", ".join(kinds), closest(context["tag"], kinds)
        case "union_tag_not_found":
            members = [model for parent in parents for model in _members(parent, keys[-2])]
            kinds = [tag(model) or "" for model in members or parents]  # of a list, the parents are its entries
            text, allowed, hint = "missing", ", ".join(kinds), None
        case "too_short" | "too_long":
            least = detail["type"] == "too_short"
            most = context["min_length" if least else "max_length"]
            kind = "a mapping" if isinstance(found, dict) else "a list"
            entries_ = f"{most} {'entry' if most == 1 else 'entries'}"
            allowed = f"{kind} of {entries_} or more" if least else f"{kind} of at most {entries_}"
            text, hint = f"found {show(found)}", None
        case kind if kind in _ALLOWED:
            text, allowed, hint = f"found {show(found)}", _ALLOWED[kind].format(**context), None
        case _:
            text, allowed, hint = f"found {show(found)}", detail["msg"].lower(), None
    return text, allowed, hint
