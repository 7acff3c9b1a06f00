"""What of a point a substrate can't express, told before anything runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Refusal:
    """One key of a point that a substrate has no counterpart for.

    Attributes
    ----------
    key : str
        Dotted path of the key.
    found : object
        Its value.
    allowed : str
        What the substrate can do.
    why : str
        The reason, in few words.
    """

    key: str
    found: object
    allowed: str
    why: str

    def __str__(self) -> str:
        return f"{self.key}: found {self.found!r} ({self.why}); allowed: {self.allowed}"


def refusal_of(key: str, found: object, allowed: Sequence[object], why: str) -> Refusal | None:
    """Return a refusal unless `found` is one of `allowed`."""
    return None if found in allowed else Refusal(key, found, ", ".join(map(str, allowed)), why)


def simulator_only(point: dict[str, Any], known: Sequence[str] = ()) -> Refusal | None:
    """Return the first thing asked for that only the embedded simulator has; a canonical point names it only then.

    Parameters
    ----------
    point : dict
        A canonical point.
    known : sequence of str
        Keys that a substrate has, too.
    """
    asked = {
        "machine.overhead": point["machine"].get("overhead"),
        "noise": point.get("noise"),
        "steady": point.get("steady"),
        "statistics": point.get("statistics"),
    }
    found = next(((key, value) for key, value in asked.items() if value and key not in known), None)
    return Refusal(*found, "none", "only the embedded simulator has it") if found else None
