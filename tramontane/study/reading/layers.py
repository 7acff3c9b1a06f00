"""Merges settings from several places and remembers where each came from.

A point of an experiment is put together from a base, the values of the swept parameters, a named machine and the
machine's own base file. When the result is wrong, the user wants to know which of these lines to mend; so every value
carries its origin, the file and dotted key where it was written.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tramontane.errors import InputError

Keys = tuple[str, ...]

_NAMED = {("machine",), ("system",)}
"""What may be written as a mere name."""


@dataclass(frozen=True)
class Origin:
    """The file and the dotted key where a value was written."""

    source: Path
    key: str

    def below(self, *keys: str) -> "Origin":
        """Return the origin of a key inside this one."""
        return Origin(self.source, ".".join(part for part in (self.key, *keys) if part).replace(".[", "["))

    def above(self, keys: Keys) -> "Origin":
        """Return the origin of what surrounds `keys`, if they are the end of this one's key."""
        end = ".".join(("", *keys))
        return Origin(self.source, self.key[: -len(end)]) if self.key.endswith(end) else self

    def inside(self, keys: Keys) -> "Origin":
        """Return the origin of a path inside this one."""
        return self.below(*keys)

    def mistake(
        self,
        found: object,
        allowed: str,
        *,
        problem: str | None = None,
        hint: str | None = None,
        where: str | None = None,
        more: int = 0,
    ) -> InputError:
        """Return what is raised for a value that was written there."""
        return InputError(self.source, self.key, found, allowed, problem=problem, hint=hint, where=where, more=more)


def split(path: str) -> Keys:
    """Return the keys of a dotted path."""
    return tuple(path.split("."))


def copied(value: Any) -> Any:
    """Return an independent copy of what a YAML file holds: mappings, lists, and values that nobody can change."""
    if isinstance(value, dict):
        return {key: copied(inner) for key, inner in value.items()}
    return [copied(inner) for inner in value] if isinstance(value, list) else value


@dataclass
class Layers:
    """Nested settings and the origin of each.

    Attributes
    ----------
    data : dict
        The settings merged so far.
    origins : dict
        Origin of each mapping and value, by path.
    """

    data: dict[str, Any] = field(default_factory=dict)
    origins: dict[Keys, Origin] = field(default_factory=dict)

    def copy(self) -> "Layers":
        """Return an independent copy."""
        return Layers(copied(self.data), dict(self.origins))

    def merge(self, settings: Mapping[str, Any], origin: Origin, path: Keys = (), *, dotted: bool = False) -> None:
        """Merge a mapping below `path`; with `dotted`, a key such as ``workload.radix`` reaches into it."""
        for key, value in settings.items():
            keys = split(key) if dotted else (key,)
            self.set((*path, *keys), value, origin.below(key), dotted=dotted)

    def set(self, path: Keys, value: object, origin: Origin, *, dotted: bool = False) -> None:
        """Set one value; a mapping is merged, anything else replaces what stood there."""
        if path in _NAMED and isinstance(value, str):  # `machine: torus-M`, in its long form for overrides
            path = (*path, "name")
        parent = self.data
        for depth, key in enumerate(path[:-1], start=1):
            if not isinstance(parent.get(key), dict):
                parent[key] = {}
                self.origins[path[:depth]] = origin.above(path[depth:])
            parent = parent[key]
        if isinstance(value, dict):
            if not isinstance(parent.get(path[-1]), dict):
                parent[path[-1]] = {}
                self.origins[path] = origin
            self.merge(value, origin, path, dotted=dotted)
        else:
            parent[path[-1]] = copied(value)
            self.origins[path] = origin

    def get(self, path: Keys) -> Any:
        """Return the value at `path`, or None."""
        node: Any = self.data
        for key in path:
            if not isinstance(node, dict) or key not in node:
                return None
            node = node[key]
        return node

    def origin(self, path: Keys) -> Origin | None:
        """Return where the value at `path`, or the nearest mapping around it, was written."""
        for length in range(len(path), 0, -1):
            found = self.origins.get(path[:length])
            if found:
                return found
        return None

    def leaves(self, path: Keys = ()) -> list[tuple[Keys, Any]]:
        """Return every value below a path that is not a filled mapping, with its own path."""
        found: list[tuple[Keys, Any]] = []
        _gather(self.get(path), path, found)
        return found


def _gather(value: Any, path: Keys, found: list[tuple[Keys, Any]]) -> None:
    if isinstance(value, dict) and (value or not path):
        for key, inner in value.items():
            _gather(inner, (*path, key), found)
    elif path:
        found.append((path, value))
