"""A YAML loader for files that people write: what it reads is small, plain and finite, or refused with its line.

YAML can say in a few letters what fills a memory: anchors of anchors, nesting without end, numbers of a million digits.
All of that is counted event by event, before any more of the text is read. Events come from libyaml, in C, because a
parser in Python takes a good part of the time of a short command. PyYAML makes values by the rules of YAML 1.1, so they
are made here.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import yaml
from yaml.error import MarkedYAMLError
from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    StreamEndEvent,
)

from tramontane.errors import show

MOST_BYTES = 256 * 1024
"""Size of a file [B]."""
MOST_DEPTH = 40
"""Levels of nesting, with aliases written out."""
MOST_NODES = 20_000
"""Keys, values and lists of a file, with aliases written out."""
MOST_DIGITS = 40
"""Characters of a number."""

_WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
NUMBER = re.compile(
    r"([-+]?([0-9][0-9_]*|0b[01_]+|0o[0-7_]+|0x[0-9a-fA-F_]+|([0-9][0-9_]*(\.[0-9_]*)?|\.[0-9][0-9_]*)([eE][-+]?[0-9]+)?)"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))\Z"
)
"""What YAML 1.1 or 1.2 takes for a number: 0x20 and 1_000 are some to one and texts to the other."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class RefusedError(MarkedYAMLError):
    """YAML that is not read.

    Attributes
    ----------
    line : int
        Where, from 1.
    allowed : str
        What is allowed instead.
    key : str
        The key that it is about, if it is about one.
    """

    def __init__(self, problem: str, allowed: str, mark: Any, key: str = "") -> None:
        super().__init__(problem=problem, problem_mark=mark)
        self.line = mark.line + 1
        self.allowed = allowed
        self.key = key


def load(text: str) -> Any:
    """Return what a YAML 1.2 text holds.

    Raises
    ------
    RefusedError
        If it is beyond one of the bounds above, leads back to itself, has a key twice, or holds a tag, a number that
        is not finite or not plainly written, or a character that is no text.
    YAMLError
        If it is not YAML.
    """
    return _Loader(text).document()


@dataclass(frozen=True)
class _Anchored:
    """What an alias stands for, and how many nodes and levels that is."""

    value: Any
    nodes: int
    levels: int


class _Loader:
    """Makes values of the events of a text, and counts what there is of them, with aliases written out."""

    def __init__(self, text: str) -> None:
        self._parser: Any = (yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader)(text)
        self._nodes = 0
        self._anchors: dict[str, _Anchored | None] = {}  # None: it is being read

    def document(self) -> Any:
        """Return what the text's only document holds; None if there is none."""
        self._next()  # the stream's start
        if isinstance(self._next(), StreamEndEvent):
            return None
        value, _ = self._value(self._next(), 1)
        self._next()  # the document's end
        if not isinstance(event := self._next(), StreamEndEvent):
            raise MarkedYAMLError(problem="found another document", problem_mark=event.start_mark)
        return value

    def _next(self) -> Any:  # an event; those of values have more attributes than their base
        return self._parser.get_event()

    def _value(self, event: Any, depth: int) -> tuple[Any, int]:
        """Return the value that an event begins, and its levels."""
        if isinstance(event, AliasEvent):
            return self._alias(event, depth)
        if event.tag is not None:
            raise RefusedError(f"found the tag {event.tag}", "values without a tag", event.start_mark)
        before = self._nodes
        self._count(1, depth, event)
        if event.anchor is not None:
            self._anchors[event.anchor] = None
        levels = 1
        if isinstance(event, ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, MappingStartEvent):
            value, below = self._mapping(depth + 1)
            levels += below
        else:
            value, below = self._sequence(depth + 1)
            levels += below
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, self._nodes - before, levels)
        return value, levels

    def _sequence(self, depth: int) -> tuple[list[Any], int]:
        values, most = [], 0
        while not isinstance(event := self._next(), SequenceEndEvent):
            value, levels = self._value(event, depth)
            values.append(value)
            most = max(most, levels)
        return values, most

    def _mapping(self, depth: int) -> tuple[dict[Any, Any], int]:
        own: dict[Any, Any] = {}
        merged: dict[Any, Any] = {}
        most = 0
        while not isinstance(event := self._next(), MappingEndEvent):
            key, levels = self._value(event, depth)
            value, below = self._value(self._next(), depth)
            most = max(most, levels, below)
            if isinstance(event, ScalarEvent) and event.implicit[0] and key == "<<":
                merged = _joined(value, event) | merged  # keys of others, which come first and count less
            elif isinstance(key, list | dict):
                raise RefusedError("found a list or a mapping as a key", "keys that are words", event.start_mark)
            elif key in own:
                raise RefusedError(f"key {show(key)} stands there twice", "each key once", event.start_mark, str(key))
            else:
                own[key] = value
        return merged | own, most

    def _alias(self, event: Any, depth: int) -> tuple[Any, int]:
        if event.anchor not in self._anchors:
            raise MarkedYAMLError(problem=f"found undefined alias {event.anchor!r}", problem_mark=event.start_mark)
        target = self._anchors[event.anchor]
        if target is None:
            raise RefusedError(f"found *{event.anchor} inside &{event.anchor}", "no recursion", event.start_mark)
        self._count(target.nodes, depth + target.levels - 1, event)
        return target.value, target.levels

    def _count(self, nodes: int, depth: int, event: Event) -> None:
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            allowed = f"at most {MOST_NODES} keys and values, with aliases written out"
            raise RefusedError("found too many", allowed, event.start_mark)
        if depth > MOST_DEPTH:
            raise RefusedError("found too many levels", f"at most {MOST_DEPTH}", event.start_mark)


def _joined(value: Any, event: Event) -> dict[Any, Any]:
    """Return the keys that `<<` merges: those of a mapping, or of several, of which an earlier one counts more."""
    several = value if isinstance(value, list) else [value]
    joined: dict[Any, Any] = {}
    for one in several:
        if not isinstance(one, dict):
            raise RefusedError("found << of something else", "a mapping or a list of mappings", event.start_mark)
        joined |= {key: it for key, it in one.items() if key not in joined}
    return joined


def _scalar(event: ScalarEvent) -> Any:
    """Return the value of a scalar; YAML 1.2 has no dates, so one is a text.

    Numbers that mean something else to others are refused: 0020, 0x20, 1_000, .inf, digits without end.
    """
    text: str = event.value
    if found := _CONTROL.search(text):
        character = f"found the character U+{ord(found[0]):04X}"
        raise RefusedError(character, "letters, digits, blanks and line breaks", event.start_mark)
    if not event.implicit[0]:  # it is quoted
        return text
    if text in _WORDS:
        return _WORDS[text]
    if not NUMBER.match(text):
        return text
    if len(text) <= MOST_DIGITS:
        if _WHOLE.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text) and not text.lstrip("+-").isdigit() and math.isfinite(float(text)):
            return float(text)
    shown = text if len(text) <= MOST_DIGITS else f"{text[: MOST_DIGITS - 3]}..."
    allowed = f"a decimal number of at most {MOST_DIGITS} characters, without leading zeros, underscores, inf and nan"
    raise RefusedError(f"found {shown}", allowed, event.start_mark)
