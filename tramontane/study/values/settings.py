"""What the typed descriptions of points, machines, experiments and claims have in common.

Validation, the JSON schemas for editors (``workflow/schemas``) and the tables of ``docs/configuration.md`` are all made
from classes of this kind, which are the single source of keys, types, units, defaults and allowed values: none of them
can disagree with another.
"""

from functools import lru_cache
from typing import Any, Self, TypeVar

from pydantic import BaseModel, ConfigDict

Value = TypeVar("Value")


class Settings(BaseModel):
    """Common behaviour: unknown keys are errors and a finished description never changes."""

    # Compiled when something is first read as it: each command reads a few of a hundred models.
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=False, defer_build=True)

    @property
    def is_default(self) -> bool:
        """Whether all keys have their defaults."""
        return self == _default(type(self))

    def canonical(self) -> dict[str, Any]:
        """Return plain data in base units, without what is not set: what goes into files and to the simulator."""
        return self.model_dump(mode="json", exclude_none=True)

    def changed(self, **values: object) -> Self:
        """Return a copy with other values, which are taken as they are: nothing is checked or filled in."""
        copied = self.model_copy(update=values)
        for name in copied.__dict__.keys() - type(self).model_fields.keys():
            del copied.__dict__[name]  # a cached property, of the original
        return copied

    def _fill(self, **values: object) -> None:
        """Fill in defaults that depend on other keys, during validation only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)


@lru_cache
def _default(model: type[Settings]) -> Settings:
    """Return a description in which nothing is said."""
    return model()


def filled(value: Value | None) -> Value:
    """Return the value of a key that may be left out, and that validation has filled in."""
    if value is None:
        raise ValueError("a value that validation fills in is missing: this was not validated")
    return value
