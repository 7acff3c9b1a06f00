"""What the typed descriptions of points, machines, experiments and claims have in common.

Validation, the JSON schemas for editors (``workflow/schemas``) and the tables of ``docs/configuration.md`` are all made
from classes of this kind, which are the single source of keys, types, units, defaults and allowed values: none of them
can disagree with another.
"""

from pydantic import BaseModel, ConfigDict


class Settings(BaseModel):
    """Common behaviour: unknown keys are errors and a finished description never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=False)

    @property
    def is_default(self) -> bool:
        """Whether all keys have their defaults."""
        return self == type(self)()

    def _fill(self, **values: object) -> None:
        """Fill in defaults that depend on other keys, during validation only."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
