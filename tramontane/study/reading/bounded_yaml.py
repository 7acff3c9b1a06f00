"""A YAML loader for files that people write: what it reads is small, plain and finite, or refused with its line.

YAML can say in a few letters what fills a memory: anchors of anchors, nesting without end, numbers of a million digits.
All of that is counted while the tree is put together, before any value is made of it.
"""

import math
import re
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError
from ruamel.yaml.events import AliasEvent, ScalarEvent
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

MOST_BYTES = 256 * 1024
"""Size of a file [B]."""
MOST_DEPTH = 40
"""Levels of nesting, with aliases written out."""
MOST_NODES = 20_000
"""Keys, values and lists of a file, with aliases written out."""
MOST_DIGITS = 40
"""Characters of a number."""

_NUMBERS = {"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"}
_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]{1,3})?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class RefusedError(MarkedYAMLError):
    """YAML that is not read; beside the place it says what is allowed."""

    def __init__(self, problem: str, allowed: str, mark: Any) -> None:
        super().__init__(problem=problem, problem_mark=mark)
        self.allowed = allowed


class _BoundedComposer(Composer):
    """Puts the tree together and counts what there is of it, with aliases written out."""

    def __init__(self, loader: Any = None) -> None:
        super().__init__(loader=loader)
        self.warn_double_anchors = False
        self._depth = 0
        self._nodes = 0
        self._sizes: dict[int, tuple[int, int]] = {}  # nodes and levels of what an alias may stand for

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        if isinstance(event, AliasEvent):
            return self._alias(event, parent, index)
        if event.ctag is not None:
            raise RefusedError(f"found the tag {event.ctag}", "values without a tag", event.start_mark)
        if isinstance(event, ScalarEvent):
            _check_text(event)
        before = self._nodes
        self._count(1, 1, event)
        self._depth += 1
        node: Node = super().compose_node(parent, index)
        self._depth -= 1
        _check_node(node)
        self._sizes[id(node)] = (self._nodes - before, 1 + max(map(self._levels, _children(node)), default=0))
        return node

    def _alias(self, event: Any, parent: Any, index: Any) -> Any:
        target = self.anchors.get(event.anchor)
        if target is not None:
            if id(target) not in self._sizes:
                raise RefusedError(f"found *{event.anchor} inside &{event.anchor}", "no recursion", event.start_mark)
            self._count(*self._sizes[id(target)], event)
        return super().compose_node(parent, index)

    def _levels(self, node: Node) -> int:
        return self._sizes[id(node)][1]

    def _count(self, nodes: int, levels: int, event: Any) -> None:
        self._nodes += nodes
        if self._nodes > MOST_NODES:
            allowed = f"at most {MOST_NODES} keys and values, with aliases written out"
            raise RefusedError("found too many", allowed, event.start_mark)
        if self._depth + levels > MOST_DEPTH:
            raise RefusedError("found too many levels", f"at most {MOST_DEPTH}", event.start_mark)


class _PlainConstructor(SafeConstructor):
    """Makes values; YAML 1.2 has no dates, so one is a text."""


_PlainConstructor.add_constructor("tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str)


def load(text: str) -> Any:
    """Return what a YAML 1.2 text holds.

    Raises
    ------
    RefusedError
        If it is beyond one of the bounds above, leads back to itself, or holds a tag, a number that is not finite or
        not plainly written, or a character that is no text.
    YAMLError
        If it is not YAML.
    """
    yaml = YAML(typ="safe", pure=True)
    yaml.Composer = _BoundedComposer
    yaml.Constructor = _PlainConstructor
    yaml.version = (1, 2)
    return yaml.load(text)


def _check_text(event: ScalarEvent) -> None:
    found = _CONTROL.search(event.value)
    if found:
        character = f"found the character U+{ord(found[0]):04X}"
        raise RefusedError(character, "letters, digits, blanks and line breaks", event.start_mark)


def _check_node(node: Node) -> None:
    """Refuse numbers that mean something else to others: 0020, 0x20, 1_000, .inf, digits without end."""
    if not isinstance(node, ScalarNode) or str(node.tag) not in _NUMBERS:
        return
    text = str(node.value)
    plain = _WHOLE if str(node.tag).endswith("int") else _DECIMAL
    if len(text) <= MOST_DIGITS and plain.fullmatch(text) and (plain is _WHOLE or math.isfinite(float(text))):
        return
    shown = text if len(text) <= MOST_DIGITS else f"{text[: MOST_DIGITS - 3]}..."
    allowed = f"a decimal number of at most {MOST_DIGITS} characters, without leading zeros, underscores, inf and nan"
    raise RefusedError(f"found {shown}", allowed, node.start_mark)


def _children(node: Node) -> list[Node]:
    if isinstance(node, MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, SequenceNode) else []
