"""Reads YAML and JSON files; every way in which that can fail becomes one line."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from yaml.error import MarkedYAMLError, YAMLError

from tramontane.errors import InputError, show, why_unread
from tramontane.study.reading import bounded_yaml
from tramontane.study.reading.layers import copied

MOST_JSON_BYTES = 64 * 1024 * 1024
"""Size of a JSON file [B]; only programs write these."""


def read_yaml(path: str | Path) -> dict[str, Any]:
    """Read a YAML 1.2 file whose top level is a mapping, within the bounds of :mod:`.bounded_yaml`.

    Raises
    ------
    InputError
        If the file is missing, unreadable, empty, too large or deep, not YAML, has a key twice or holds no mapping.
    """
    return parse_yaml(path, _text_of(path, "YAML", bounded_yaml.MOST_BYTES))


def parse_yaml(path: str | Path, text: str) -> dict[str, Any]:
    """Return what a text says that stands in a file, or in an option; see :func:`read_yaml`."""
    try:
        data = bounded_yaml.load(text)
    except bounded_yaml.RefusedError as error:
        problem = f"{error.problem} (line {error.line})"
        raise InputError(path, error.key, None, error.allowed, problem=problem) from None
    except MarkedYAMLError as error:
        raise InputError(path, "", None, "YAML", problem=f"not YAML{_place(error)}: {error.problem}") from None
    except (YAMLError, ValueError, OverflowError) as error:
        raise InputError(path, "", None, "YAML", problem=f"not YAML: {error}") from None
    if data is None:
        raise InputError(path, "", None, "a mapping of keys to values", problem="the file is empty")
    if not isinstance(data, dict):
        raise InputError(path, "", data, "a mapping of keys to values")
    checked: dict[str, Any] = text_keys(data, path, "")
    return checked


def cached_yaml(path: Path) -> dict[str, Any]:
    """Return the contents of a YAML file; it is read once as long as it does not change on disk."""
    contents: dict[str, Any] = copied(shared_yaml(path))
    return contents


def shared_yaml(path: Path) -> dict[str, Any]:
    """Return the contents of a YAML file, which nobody may change."""
    when = changed(path)
    return read_yaml(path) if when is None else _read_at(path, when)  # the former says what is wrong


def changed(path: Path) -> int | None:
    """Return when a file was changed [ns], if it can be told."""
    try:
        return path.stat().st_mtime_ns
    except (OSError, ValueError):
        return None


@lru_cache(maxsize=256)
def _read_at(path: Path, when: int) -> dict[str, Any]:
    return read_yaml(path)


def read_json(path: str | Path) -> object:
    """Read a JSON file.

    Raises
    ------
    InputError
        If the file is missing, unreadable, too large, nested too deeply or not JSON.
    """
    try:
        data: object = json.loads(_text_of(path, "JSON", MOST_JSON_BYTES), parse_constant=_refuse_constant)
    except ValueError as error:
        raise InputError(path, "", None, "JSON", problem=f"not JSON: {error}") from None
    except RecursionError:
        raise InputError(path, "", None, "JSON", problem="nested too deeply") from None
    return data


def _refuse_constant(word: str) -> object:
    raise ValueError(f"found {word}")


def _text_of(path: str | Path, kind: str, most: int) -> str:
    try:
        with Path(path).open("rb") as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise InputError(path, "", None, f"at most {most} bytes", problem="too large")
        return data.decode("utf-8")
    except FileNotFoundError as error:
        raise InputError(path, "", None, f"an existing {kind} file", problem=why_unread(error)) from None
    except (OSError, ValueError) as error:  # a path with a null character is a ValueError
        raise InputError(path, "", None, f"a readable {kind} file in UTF-8", problem=why_unread(error)) from None


def _place(error: MarkedYAMLError) -> str:
    """Return " (line n, column m)" if the error knows where it is."""
    mark = error.problem_mark or error.context_mark
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""


def text_keys(data: Any, path: str | Path, prefix: str) -> Any:
    """Check that all keys are texts, at any depth; numbers as labels are turned into text."""
    if isinstance(data, list):
        return [text_keys(value, path, f"{prefix}[{number}]") for number, value in enumerate(data)]
    if not isinstance(data, dict):
        return data
    result: dict[str, Any] = {}
    for key, value in data.items():
        name = str(key) if isinstance(key, int | float) and not isinstance(key, bool) else key
        if not isinstance(name, str):
            where = prefix or "(top level)"
            raise InputError(path, where, key, "keys that are words", problem=f"found key {show(key)}")
        below = f"{prefix}.{name}" if prefix else name
        if name in result:
            raise InputError(path, below, name, "each key once", problem=f"key {show(name)} stands there twice")
        result[name] = text_keys(value, path, below)
    return result
