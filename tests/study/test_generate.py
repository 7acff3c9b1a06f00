"""Schemas and tables are those of the models, and the schemas accept what validation accepts."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

from tramontane.errors import InputError
from tramontane.study import load_point
from tramontane.study.generate import COMMAND, fill, outputs, schemas, tables

ROOT = Path(__file__).parents[2]
SCHEMAS = schemas()


def read(path: Path) -> dict[str, Any]:
    return dict(YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8")))


def mistakes(kind: str, data: object) -> list[str]:
    found = jsonschema.Draft202012Validator(SCHEMAS[kind]).iter_errors(data)
    return [f"{error.json_path}: {error.message}" for error in found]


def test_generated_files_are_up_to_date() -> None:
    stale = [
        str(path)
        for path, text in outputs(ROOT).items()
        if not (ROOT / path).exists() or (ROOT / path).read_text(encoding="utf-8") != text
    ]
    assert not stale, f"out of date: {', '.join(stale)}; run: {COMMAND}"


def test_there_are_no_other_schemas() -> None:
    committed = {path.relative_to(ROOT) for path in (ROOT / "workflow/schemas").glob("*.schema.json")}
    assert committed == {path for path in outputs(ROOT) if path.suffix == ".json"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_schemas_are_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMAS[name])


@pytest.mark.parametrize("path", sorted((ROOT / "configs").rglob("*.yaml")), ids=lambda path: path.stem)
def test_files_name_their_schema_and_follow_it(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    named = (path.parent / first.removeprefix("# yaml-language-server: $schema=")).resolve()
    assert named.parent == ROOT / "workflow/schemas"
    assert mistakes(named.name.removesuffix(".schema.json"), read(path)) == []


def test_the_sample_follows_the_schema_of_points(sample: str) -> None:
    assert mistakes("point", YAML(typ="safe", pure=True).load(sample)) == []


POINT = {"ranks": 4, "machine": "torus-S", "workload": {"kind": "halo", "width": 3, "grid": "paper"}}


def changed(data: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    result = copy.deepcopy(data)
    *outer, last = path.split("/")
    node = result
    for key in outer:
        node = node[key]
    node[last] = value
    return result


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("ranks", "4"),
        ("ranks", 0),
        ("rank", 4),
        ("machine", {"topology": "tors", "geometry": [8, 8, 8]}),
        ("machine", {"topology": "torus"}),
        ("machine", {"name": "torus-S", "link": {"latency": 3}}),
        ("machine", {"name": "torus-S", "link": {"latency": "3 GB"}}),
        ("machine", {"name": "torus-S", "topolgy": "torus"}),
        ("workload/kind", "hallo"),
        ("workload/radix", 4),
        ("workload/grid", [1, 2]),
        ("workload", {"kind": "allreduce"}),
    ],
)
def test_an_editor_marks_what_validation_refuses(tmp_path: Path, path: str, value: object) -> None:
    assert mistakes("point", POINT) == []
    wrong = changed(POINT, path, value)
    assert mistakes("point", wrong)
    file = tmp_path / "x.yaml"
    file.write_text(json.dumps(wrong))
    with pytest.raises(InputError):
        load_point(file)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("titel", "x"),
        ("base/workload/gird", "paper"),
        ("variants/series/burst/workload.algoritm", "burst"),
        ("scales/smok", {}),
        ("figure/width", "wide"),
        ("cross/ranks", 4),
    ],
)
def test_an_editor_marks_mistakes_in_experiments(path: str, value: object) -> None:
    good = read(ROOT / "configs/experiments/fig05a-alltoall-algorithms.yaml")
    assert mistakes("experiment", good) == []
    assert mistakes("experiment", changed(good, path, value))


@pytest.mark.parametrize(
    ("table", "key", "value", "default"),
    [
        ("system", "template", "`true` or `false`", "`false`"),
        ("system", "references[].upper", "number", "required"),
        ("figure", "figure.lines", "text or list of texts", ""),
        ("work", "kind", "`work`", "`work`"),
        ("overlap", "exchange", "mapping", "required"),
        ("point", "seed", "whole number, 0 or more", "`1`"),
    ],
)
def test_tables_say_what_may_be_written(table: str, key: str, value: str, default: str) -> None:
    rows = [[cell.strip() for cell in line.split("|")] for line in tables(ROOT)[table].splitlines()]
    assert [row[2:4] for row in rows if row[1] == f"`{key}`"] == [[value, default]]


def test_a_page_must_have_each_table_once() -> None:
    assert fill("a <!-- table: x --> old <!-- end --> b", {"x": "new"}) == (
        "a <!-- table: x -->\n\nnew\n\n<!-- end --> b"
    )
    with pytest.raises(InputError, match="the tables x, each once"):
        fill("no marker", {"x": "new"})


def test_the_example_of_the_page_is_a_valid_point_and_experiment(tmp_path: Path) -> None:
    blocks = (ROOT / "docs/configuration.md").read_text(encoding="utf-8").split("```yaml\n")[1:]
    point, experiment = (block.split("```")[0] for block in blocks)
    file = tmp_path / "x.yaml"
    file.write_text(point)
    assert load_point(file).ranks == 256
    file.write_text(experiment)
    from tramontane.study import validate_file

    assert validate_file(file) == "experiment"
