"""Writes what is made from the typed models: the JSON schemas for editors and the tables of the documentation.

Run ``python -m tramontane.study.generate`` after a change to the models; a test compares and names this command. Both
are committed, so that editors and readers have them without running anything.
"""

import json
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from tramontane.errors import InputError, show
from tramontane.study.catalogue import list_machines, load_machine
from tramontane.study.checking import NamedGrid, PrintedAlgorithm, PrintedNetwork, Reference
from tramontane.study.experiments.claims import Claim, Claims, Judgement
from tramontane.study.experiments.experiments import Experiment
from tramontane.study.experiments.studies import Study
from tramontane.study.networks import network
from tramontane.study.networks.machines import Machine
from tramontane.study.points.points import Point, SystemChoice
from tramontane.study.reading.messages import elements, entries, submodels, tag
from tramontane.study.reading.project import find_root
from tramontane.study.sampling.plausible import Plausible
from tramontane.study.systems.libraries import LibraryAlgorithm, library_algorithms
from tramontane.study.systems.systems import System
from tramontane.study.values import units
from tramontane.study.values.fields import (
    Choice,
    ChoiceOrLists,
    Geometry,
    Whole,
    WholeList,
    WholeOrWord,
    Wholes,
    Words,
)
from tramontane.study.workloads.kinds import WORKLOADS
from tramontane.study.workloads.programs import STEPS, CollectiveStep, Program, StepOf
from tramontane.study.workloads.workloads import COLLECTIVES
from tramontane.support.layout import SCALES
from tramontane.support.tables import markdown

COMMAND = "python -m tramontane.study.generate"
SCHEMAS = Path("workflow/schemas")
PAGE = Path("docs/configuration.md")

Json = dict[str, Any]
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SCALE_VALUE: Json = {"type": "string", "pattern": r"^\$[A-Za-z_]\w*$", "description": "A value of the chosen scale."}
_REFERENCE: Json = {"$ref": "#/$defs/scale_value"}
_STEP: Json = {"$ref": "#/$defs/step"}
_LIST_OR_REFERENCE: Json = {"anyOf": [{"type": "array", "minItems": 1}, _REFERENCE]}
_FILE_ONLY = ("name",)


def outputs(root: Path) -> dict[Path, str]:
    """Return the contents of every generated file, by path relative to `root`."""
    texts = {
        SCHEMAS / f"{name}.schema.json": json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in schemas().items()
    }
    page = root / PAGE
    texts[PAGE] = fill(page.read_text(encoding="utf-8"), tables(root))
    return texts


def main(arguments: list[str]) -> int:
    """Write the generated files, or with ``--check`` only say which are out of date."""
    try:
        root = find_root()
        wanted = outputs(root)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    stale = [path for path, text in wanted.items() if _read(root / path) != text]
    for path in stale:
        if "--check" in arguments:
            print(f"{path}: out of date; run {COMMAND}", file=sys.stderr)
        else:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(wanted[path], encoding="utf-8")
            print(f"wrote {path}", file=sys.stderr)
    return 1 if stale and "--check" in arguments else 0


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


# --- schemas -----------------------------------------------------------------------------------------------------


def schemas() -> dict[str, Json]:
    """Return the JSON schema of each kind of YAML file."""
    machine = _object([Machine], skip=_FILE_ONLY) | {"required": []}
    return {
        "point": _titled("A point: one simulation", _object([Point])),
        "machine": _titled("A machine, or parameters that machines extend", machine),
        "system": _titled("A real machine", _object([System])),
        "experiment": _titled("An experiment", _experiment()),
        "grids": _titled("Grids by name", _by_name(NamedGrid)),
        "references": _titled("Publications by key", _by_name(Reference)),
        "libraries": _titled("Algorithms of MPI libraries by key", _by_name(LibraryAlgorithm)),
        "claims": _titled("What a paper states", Claims.model_json_schema()),
        "plausible": _titled("What a paper leaves open", _object([Plausible])),
        "study": _titled("A study of uncertainty", _object([Study])),
        "judgement": _titled("How strictly statements are read", Judgement.model_json_schema()),
        "table1": _titled("Networks as printed in the paper's Table 1", _by_name(PrintedNetwork)),
        "table2": _titled("Algorithms as printed in the paper's Table 2", _by_name(PrintedAlgorithm)),
    }


def _titled(title: str, schema: Json) -> Json:
    own = {key: value for key, value in schema.items() if value != []}
    if _STEP["$ref"] in json.dumps(own):
        own["$defs"] = own.get("$defs", {}) | {"scale_value": _SCALE_VALUE, "step": _step()}
    return {"$schema": _DRAFT, "title": title} | own


def _by_name(model: type[BaseModel]) -> Json:
    return {"type": "object", "additionalProperties": _object([model])}


def _object(models: list[type[BaseModel]], *, skip: tuple[str, ...] = (), partial: bool = False) -> Json:
    """Return the schema of a mapping; with several models one of them, with `partial` any part of any of them."""
    if len(models) > 1 and not partial:
        return {"oneOf": [_object([model]) for model in models]}
    properties: Json = {}
    for model in models:
        raw = model.model_json_schema().get("properties", {})
        for name, field in model.model_fields.items():
            if name in skip:
                continue
            own = _property(name, field, raw[name], partial=partial)
            properties[name] = _either(properties[name], own) if name in properties else own
    required = [name for model in models for name, field in model.model_fields.items() if field.is_required()]
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return schema if partial or not required else schema | {"required": required}


def _either(first: Json, second: Json) -> Json:
    """Return a schema that allows what either allows."""
    if first == second:
        return first
    options = [*first.get("anyOf", [first]), *(o for o in second.get("anyOf", [second]) if o not in [first])]
    distinct = [option for number, option in enumerate(options) if option not in options[:number]]
    return {"description": first.get("description", ""), "anyOf": distinct}


def _property(name: str, field: FieldInfo, raw: Json, *, partial: bool) -> Json:
    """Return the schema of one key."""
    models = submodels(field.rebuild_annotation())
    if models:
        schema = _object(models, partial=partial)
        if models == [Machine]:
            schema = _machine(schema, partial=partial)
        elif models == [SystemChoice]:
            schema = {"anyOf": [{"type": "string"}, schema]}
        elif partial:
            schema = {"anyOf": [schema, _REFERENCE]}
    else:
        schema = _leaf(raw, elements(field), entries(field), partial=partial)
        schema = {"anyOf": [schema, _REFERENCE]} if partial else schema
    described = {"description": field.description} | schema
    default = _default(field)
    return described if default is None or partial else described | {"default": default}


def _machine(schema: Json, *, partial: bool) -> Json:
    """Return the schema of a machine in a point: its name, or keys of which some are needed."""
    if partial:
        return {"anyOf": [{"type": "string"}, schema]}
    ways = [{"required": ["name"]}, {"required": ["extends"]}, {"required": ["topology", "geometry"]}]
    ways += [{"required": ["topology", key]} for key in ("file", "table")]
    own = {key: value for key, value in schema.items() if key != "required"} | {"anyOf": ways}
    return {"anyOf": [{"type": "string"}, own]}


def _leaf(raw: Json, models: list[type[BaseModel]], named: list[type[BaseModel]], *, partial: bool) -> Json:
    """Return pydantic's schema of a value without what editors don't need."""
    schema = {key: value for key, value in raw.items() if key not in ("title", "default", "description")}
    if models:
        return {"type": "array", "items": _STEP if tag(models[0]) else _object(models, partial=partial)}
    if named:
        return {"type": "object", "additionalProperties": _object(named, partial=partial)}
    options = [option for option in schema.get("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        only: Json = options[0]
        return only | {key: value for key, value in schema.items() if key != "anyOf"}
    return schema | ({"anyOf": options} if options else {})


def _step() -> Json:
    """Return the schema of a program's step: its kind beside its keys, or its kind alone with the keys below it.

    Nothing is required, because steps take what they lack from the program.
    """
    models = elements(Program.model_fields["steps"])
    full = [_object([model], partial=True) | {"required": ["kind"]} for model in models]
    short = {str(tag(model)): _object([model], skip=("kind",), partial=True) for model in models}
    collective = _object([CollectiveStep], skip=("kind", "operation"), partial=True)
    properties = dict.fromkeys(COLLECTIVES, collective) | short
    only = {"type": "object", "properties": properties, "additionalProperties": False, "maxProperties": 1}
    return {"anyOf": [*full, only]}


def _default(field: FieldInfo) -> Any:
    """Return a default as it would be written in YAML."""
    value = field.default
    if field.is_required() or value is None or isinstance(value, BaseModel | dict | list | tuple):
        return None
    quantity = next((item for item in field.metadata if isinstance(item, units.Quantity)), None)
    return units.format_quantity(value, quantity.dimension) if quantity and value != quantity.word else value


def _experiment() -> Json:
    """Return the schema of an experiment: parts of points with scale values, dimensions, figure."""
    schema = _object([Experiment])
    partial = _with_paths(_object([Point], partial=True))
    schema["$defs"] = {"partial": partial, "scale_value": _SCALE_VALUE}
    part = {"$ref": "#/$defs/partial"}
    paths = sorted(partial["properties"])
    shown: dict[str, Json] = {
        "base": part,
        "cross": {"type": "object", "additionalProperties": _LIST_OR_REFERENCE},
        "variants": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": part},
        },
        "zip": {
            "type": "array",
            "items": {
                "type": "object",
                "propertyNames": {"enum": paths},
                "additionalProperties": _LIST_OR_REFERENCE,
            },
        },
        "derive": {"type": "object", "propertyNames": {"enum": paths}},
        "exclude": {"type": "array", "items": {"type": ["string", "boolean"]}},
        "ensemble": {"anyOf": [{"type": "integer", "minimum": 1}, _REFERENCE]},
        "scales": {
            "type": "object",
            "properties": {scale: {"type": "object"} for scale in SCALES},
            "additionalProperties": False,
            "minProperties": 1,
        },
    }
    for name, own in shown.items():
        schema["properties"][name] = {"description": Experiment.model_fields[name].description} | own
    return schema


def _with_paths(partial: Json) -> Json:
    """Return a partial mapping's schema that also allows dotted paths as keys."""
    return partial | {"properties": dict(_paths(partial))}


def _paths(schema: Json, prefix: str = "") -> Iterator[tuple[str, Json]]:
    for name, own in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        yield path, own
        for option in own.get("anyOf", []):
            yield from _paths(option, f"{path}.")


# --- tables ------------------------------------------------------------------------------------------------------


def fill(page: str, contents: dict[str, str]) -> str:
    """Replace what stands between the markers ``<!-- table: name -->`` and ``<!-- end -->``.

    Raises
    ------
    InputError
        If the page has a marker without a table or lacks one.
    """
    found = re.findall(r"<!-- table: (\S+) -->", page)
    if sorted(found) != sorted(contents):
        raise InputError(PAGE, "", ", ".join(found), f"the tables {', '.join(contents)}, each once")

    def replace(match: re.Match[str]) -> str:
        return f"<!-- table: {match[1]} -->\n\n{contents[match[1]]}\n\n<!-- end -->"

    return re.sub(r"<!-- table: (\S+) -->.*?<!-- end -->", replace, page, flags=re.DOTALL)


def tables(root: Path) -> dict[str, str]:
    """Return the tables of the page on configuration, by name."""
    made = {
        "units": _units_table(),
        "point": _model_table(Point, only=lambda name: name not in ("machine", "workload")),
        "machine": _model_table(Machine),
        "networks": _networks_table(),
        "machines": _machines_table(root),
        "system": _model_table(System),
        "experiment": _model_table(Experiment, only=lambda name: name != "figure"),
        "figure": _rows_table(list(_rows(Experiment.model_fields["figure"].annotation, "figure."))),
        "plausible": _model_table(Plausible),
        "study": _model_table(Study),
        "claims": _model_table(Claims),
        "checks": _checks_table(),
        "judgement": _judgement_table(),
        "grid": _model_table(NamedGrid),
        "reference": _model_table(Reference),
        "library": _model_table(LibraryAlgorithm),
        "libraries": _libraries_table(root),
    }
    made |= {tag(model) or "": _model_table(model) for model in (*WORKLOADS, *STEPS)}
    return made | {"step": _model_table(StepOf)}


def _rows_table(rows: list[list[str]]) -> str:
    return markdown(["key", "value", "default", "meaning"], rows)


def _model_table(model: type[BaseModel], only: Any = lambda name: True) -> str:
    return _rows_table([row for row in _rows(model, "") if only(row[0].strip("`").split(".")[0])])


def _rows(model: Any, prefix: str) -> Iterator[list[str]]:
    """Yield a row for each key of a model; nested mappings become dotted keys."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{name}"
        models = submodels(field.rebuild_annotation())
        if models and tag(models[0]) is None and models != [Machine]:
            yield from _rows(models[0], f"{path}.")
            continue
        yield [f"`{path}`", _value_text(field), _default_text(field), field.description or ""]
        for model_inside in elements(field):
            if tag(model_inside) is None:  # steps have tables of their own
                yield from _rows(model_inside, f"{path}[].")
        for model_inside in entries(field):
            yield from _rows(model_inside, f"{path}.NAME.")


def _value_text(field: FieldInfo) -> str:
    """Return what may be written for a key."""
    annotated = next((text for item in _metadata(field) if (text := _annotation_text(item))), None)
    if annotated:
        return annotated
    kinds = _kinds_of(field.rebuild_annotation())
    words = [kind for kind in kinds if kind.startswith("`")]
    known = {
        ("list",): "list",
        ("mapping",): "mapping",
        ("number",): "number",
        ("text",): "text",
        ("true or false",): "`true` or `false`",
        ("number", "text"): "number or `$name`",
        ("text", "list"): "text or list of texts",
        ("list", "text"): "text or list of texts",
    }
    return ", ".join(words) if words == kinds else known[tuple(kinds)]


def _kinds_of(annotation: Any) -> list[str]:
    """Return the kinds of values that an annotation has, each once; words of a choice stand for themselves."""
    origin = get_origin(annotation)
    if origin is Literal:
        return [f"`{word}`" for word in get_args(annotation)]
    if origin in (Union, types.UnionType):
        return list(dict.fromkeys(kind for part in get_args(annotation) for kind in _kinds_of(part)))
    if hasattr(annotation, "__metadata__"):
        return _kinds_of(get_args(annotation)[0])
    if annotation is type(None):
        return []
    plain = origin or annotation
    kinds = {bool: "true or false", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    kinds[tuple] = "`[least, most]`"
    return ["mapping" if issubclass(plain, BaseModel) else kinds[plain]]


def _annotation_text(item: object) -> str | None:
    """Return what a field's annotation allows, if it says so."""
    match item:
        case units.Quantity():
            return f"{item.dimension.name}, e.g. `{item.dimension.examples[0]}`"
        case Choice() | ChoiceOrLists():
            return ", ".join(f"`{word}`" for word in item.spelled)
        case Whole() | WholeOrWord():
            return f"whole number, {item.range}" + (f", or `{item.word}`" if isinstance(item, WholeOrWord) else "")
        case WholeList():
            most, to = len(item.names), "or" if item.optional == 1 else "to"
            several = f"list of {most - item.optional} {to} {most} whole numbers"
            numbers = several if item.optional else f"`[{', '.join(item.names)}]`"
            if item.word:
                numbers += f" or `{item.word}`"
            return f"{numbers} or a name" if item.instead else numbers
        case Geometry() | Wholes() | Words():
            return "text" if isinstance(item, Words) else item.allowed
    return None


def _metadata(field: FieldInfo) -> Iterator[Any]:
    """Yield what annotates a field, also inside `X | None`."""
    yield from field.metadata
    if get_origin(field.annotation) in (list, dict):
        return
    parts = [part for part in get_args(field.annotation) if part is not type(None)]
    if len(parts) == 1:
        yield from getattr(parts[0], "__metadata__", ())


def _default_text(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = _default(field)
    return "" if value is None else f"`{show(value) if isinstance(value, bool) else value}`"


def _units_table() -> str:
    dimensions = (units.TIME, units.BANDWIDTH, units.SIZE, units.FREQUENCY)
    rows = [
        [dimension.name, ", ".join(f"`{unit}`" for unit in dimension.units), f"`{dimension.base}`"]
        for dimension in dimensions
    ]
    return markdown(["quantity", "units", "canonical form, whole numbers of"], rows)


def _checks_table() -> str:
    """Return the keys of each kind of check; `kind` and `source` have all of them."""
    rows = [
        [f"`{tag(check)}`", *row]
        for check in elements(Claim.model_fields["checks"])
        for row in _rows(check, "")
        if row[0] not in ("`kind`", "`source`")
    ]
    return markdown(["check", "key", "value", "default", "meaning"], rows)


def _judgement_table() -> str:
    rows = [[f"`{name}`", field.description or ""] for name, field in Judgement.model_fields.items()]
    return markdown(["number", "meaning"], rows)


def _networks_table() -> str:
    rows = []
    for topology, family in network.FAMILIES.items():
        if family.by_table:
            words = ", ".join(f"`{each.name}`" for each in family.routings)
            rows.append([f"`{topology}`", family.text, words, "found for each (docs/routing.md)"])
            continue
        channels = (
            f"`{each.name}` {network.network(family.example | {'routing': each.name}).virtual_channels}"
            for each in family.routings
        )
        example = ", ".join(f"{key} {_as_yaml(value)}" for key, value in family.example.items() if key != "topology")
        rows.append([f"`{topology}`", family.text, ", ".join(channels), example])
    return markdown(["topology", "geometry", "routings and their virtual channels", "counted on"], rows)


def _as_yaml(value: object) -> str:
    """Return a list or mapping as YAML has it in one line."""
    return str(value).replace("'", "")


def _libraries_table(root: Path) -> str:
    rows = []
    for each in library_algorithms(root).values():
        ours = f"`{each.algorithm}`" + (f", `radix: {each.radix}`" if each.radix else "")
        copied = str(each.copied or "")
        rows.append([each.operation, each.library, f"`{each.name}`", ours, copied, each.differs or ""])
    return markdown(["operation", "library", "its algorithm", "ours", "copied", "what differs"], rows)


def _machines_table(root: Path) -> str:
    rows = []
    for name in list_machines(root):
        machine = load_machine(name, root)
        facts = machine.facts
        numbers = [facts.switches, facts.nodes_per_switch, facts.nodes, facts.ports]
        geometry = _as_yaml(facts.spelled) if facts.spelled else ""
        rows.append(
            [
                f"`{name}`",
                f"`{machine.topology}`",
                f"`{geometry}`" if geometry else "",
                *(f"{number:,}" for number in numbers),
            ]
        )
    return markdown(["name", "topology", "geometry", "switches", "nodes per switch", "nodes", "ports (radix)"], rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
