"""Reads YAML and JSON files; every way in which that can fail becomes one line."""

import json
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from tramontane.errors import InputError, show


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a YAML 1.2 file whose top level is a mapping.

    Raises
    ------
    InputError
        If the file is missing, unreadable, empty, not YAML, has a key twice or holds no mapping.
    """
    text = _text_of(path, "YAML")
    try:
        data = YAML(typ="safe", pure=True).load(text)
    except DuplicateKeyError as error:
        key = str(error.problem).split('"')[1] if '"' in str(error.problem) else "?"
        found = f"key '{key}' stands there twice{_line(error)}"
        raise InputError(path, key, key, "each key once", problem=found) from None
    except MarkedYAMLError as error:
        raise InputError(path, "", None, "YAML", problem=f"not YAML{_line(error)}: {error.problem}") from None
    except (YAMLError, ValueError) as error:
        raise InputError(path, "", None, "YAML", problem=f"not YAML: {error}") from None
    if data is None:
        raise InputError(path, "", None, "a mapping of keys to values", problem="the file is empty")
    if not isinstance(data, dict):
        raise InputError(path, "", data, "a mapping of keys to values")
    return _text_keys(data, path, "")


def read_json(path: str | Path) -> object:
    """Read a JSON file.

    Raises
    ------
    InputError
        If the file is missing, unreadable or not JSON.
    """
    try:
        data: object = json.loads(_text_of(path, "JSON"))
    except ValueError as error:
        raise InputError(path, "", None, "JSON", problem=f"not JSON: {error}") from None
    return data


def _text_of(path: str | Path, kind: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(path, "", None, f"an existing {kind} file", problem="no such file") from None
    except IsADirectoryError:
        raise InputError(path, "", None, f"a {kind} file", problem="found a folder") from None
    except (OSError, UnicodeDecodeError) as error:
        allowed = f"a readable {kind} file in UTF-8"
        raise InputError(path, "", None, allowed, problem=f"cannot be read ({error})") from None


def _line(error: MarkedYAMLError) -> str:
    """Return " (line n)" if the error knows where it is."""
    mark = error.problem_mark or error.context_mark
    return f" (line {mark.line + 1})" if mark else ""


def _text_keys(data: dict[Any, Any], path: str | Path, prefix: str) -> dict[str, Any]:
    """Check that all keys are texts, at any depth; numbers as labels are turned into text."""
    result: dict[str, Any] = {}
    for key, value in data.items():
        name = str(key) if isinstance(key, int | float) and not isinstance(key, bool) else key
        if not isinstance(name, str):
            raise InputError(
                path, prefix or "(top level)", key, "keys that are words", problem=f"found key {show(key)}"
            )
        below = f"{prefix}.{name}" if prefix else name
        result[name] = _text_keys(value, path, below) if isinstance(value, dict) else value
    return result
