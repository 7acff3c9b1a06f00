"""The loader of YAML: the values of YAML 1.2, as another library reads them, and all else refused with its line."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML
from yaml.error import MarkedYAMLError

from tramontane.study.reading import bounded_yaml
from tramontane.study.reading.bounded_yaml import MOST_DEPTH, MOST_NODES, RefusedError, load

ROOT = Path(__file__).parents[2]

TEXTS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Cn"], exclude_characters="\u2028\u2029"), max_size=12)
LEAVES = st.none() | st.booleans() | st.integers(-(10**18), 10**18) | st.floats(-1e9, 1e9) | TEXTS
VALUES = st.recursive(LEAVES, lambda part: st.lists(part, max_size=4) | st.dictionaries(TEXTS, part, max_size=4))


@pytest.fixture(params=["libyaml", "Python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let either parser of PyYAML read: one of a Python without libyaml must find the same."""
    if request.param == "Python":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML has no libyaml here: pip install --force-reinstall --only-binary :all: pyyaml")


@pytest.mark.usefixtures("parser")
def test_files_hold_what_another_library_reads_in_them() -> None:
    other = YAML(typ="safe", pure=True)
    other.version = (1, 2)
    files = sorted((ROOT / "configs").rglob("*.yaml"))
    assert len(files) > 100
    for file in files[:: 1 if yaml.__with_libyaml__ else 10]:
        text = file.read_text(encoding="utf-8")
        assert json.dumps(load(text)) == json.dumps(other.load(text)), file


@given(VALUES)
def test_what_another_library_writes_is_read(value: Any) -> None:
    written = StringIO()
    other = YAML(typ="safe", pure=True)
    other.default_flow_style = False
    other.dump(value, written)
    assert load(written.getvalue()) == value


@given(VALUES)
def test_json_is_yaml(value: Any) -> None:
    assert load(json.dumps(value, ensure_ascii=False)) == value


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("# nothing\n", None),
        ("[yes, No, on, OFF, y, =]", ["yes", "No", "on", "OFF", "y", "="]),
        ("[2018-01-01, 1:30, 10.5194/gmd, 1 us]", ["2018-01-01", "1:30", "10.5194/gmd", "1 us"]),
        ("[null, ~, '~', True, 'true']", [None, None, "~", True, "true"]),
        ("[1, -2, +3, 0, '1']", [1, -2, 3, 0, "1"]),
        ("[1.5, .5, 1., 1e3, -1.5E-3, 0.0]", [1.5, 0.5, 1.0, 1e3, -1.5e-3, 0.0]),
        ("a: {<<: {x: 1, y: 2}, y: 3}", {"a": {"x": 1, "y": 3}}),
        ("a: {y: 3, <<: {x: 1, y: 2}}", {"a": {"x": 1, "y": 3}}),
        ("a: {<<: [{x: 1}, {x: 2, y: 2}]}", {"a": {"x": 1, "y": 2}}),
        ("a: {'<<': {x: 1}, b: <<}", {"a": {"<<": {"x": 1}, "b": "<<"}}),
        ("a: &a [1, &b {c: 2}]\nd: [*a, *b]\n", {"a": [1, {"c": 2}], "d": [[1, {"c": 2}], {"c": 2}]}),
        ("a: &a 1\nb: &a 2\nc: *a\n", {"a": 1, "b": 2, "c": 2}),
        ("a: >-\n  one\n  two\nb: |\n  three\n", {"a": "one two", "b": "three\n"}),
        ("%YAML 1.2\n---\na: 1\n...\n", {"a": 1}),
    ],
)
def test_values_are_those_of_yaml_1_2(text: str, value: Any) -> None:
    assert repr(load(text)) == repr(value)  # 1 is not 1.0 here, nor True


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


def many(values: int) -> str:
    return "[" + "1," * (values - 1) + "]"


def grown(levels: int) -> str:
    """Return a list of levels, each of which holds the one before twice: twice as large with each."""
    return "- &a0 [1]\n" + "".join(f"- &a{level} [*a{level - 1}, *a{level - 1}]\n" for level in range(1, levels))


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize("text", [nested(MOST_DEPTH), many(MOST_NODES), grown(10), "9" * 40, "- 1e308"])
def test_what_is_at_a_bound_is_read(text: str) -> None:
    assert load(text)


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("text", "problem", "line"),
    [
        (nested(MOST_DEPTH + 1), "found too many levels", 1),
        (nested(50_000), "found too many levels", 1),
        (many(MOST_NODES + 1), "found too many", 1),
        (grown(30), "found too many", 13),
        ("a: &a " + nested(30) + "\nb: " + "[" * 10 + "*a" + "]" * 10, "found too many levels", 2),
        ("a: 1\nb: &a [1, *a]", "found *a inside &a", 2),
        ("a: *a", "found undefined alias 'a'", 1),
        ("a: 1\nb: !!int 2", "found the tag tag:yaml.org,2002:int", 2),
        ("a: !b c", "found the tag !b", 1),
        ("a: 1\nb: 2\na: 3", "key 'a' stands there twice", 3),
        ("a: {b: 1, b: 1}", "key 'b' stands there twice", 1),
        ("[1]: 2", "found a list or a mapping as a key", 1),
        ("a:\n  <<: 3", "found << of something else", 2),
        ("a: <<\n<<: [{x: 1}, 2]", "found << of something else", 2),
        *(
            (f"a: {number}", f"found {number}", 1)
            for number in ("0020", "-01", "0x20", "0o17", "0b1", "1_000", "1_0.5")
        ),
        *((f"a: {number}", f"found {number}", 1) for number in (".inf", "-.INF", ".NaN", "1e309", "1e1000", ".5_0")),
        ("a: " + "9" * 41, f"found {'9' * 37}...", 1),
        ('a: "\\x07"', "found the character U+0007", 1),
        ('"\\0": 1', "found the character U+0000", 1),
        ("a: 1\n---\nb: 2", "found another document", 2),
    ],
)
def test_what_is_beyond_is_refused_with_its_line(text: str, problem: str, line: int) -> None:
    with pytest.raises(MarkedYAMLError) as told:
        load(text)
    assert told.value.problem == problem
    assert told.value.problem_mark is not None
    assert told.value.problem_mark.line + 1 == line
    assert isinstance(told.value, RefusedError) or "alias" in problem or "document" in problem


def test_bounds_stop_the_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read of a text behind the event that exceeds a bound."""
    events = 0

    def counted(loader: Any) -> Any:
        nonlocal events
        events += 1
        return loader._parser.get_event()

    monkeypatch.setattr(bounded_yaml._Loader, "_next", counted)
    with pytest.raises(RefusedError):
        load(nested(50_000))
    assert events < MOST_DEPTH + 5
