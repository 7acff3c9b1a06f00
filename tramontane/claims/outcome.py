"""What a single check finds, and how numbers are written in its evidence."""

from dataclasses import dataclass

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


@dataclass(frozen=True)
class Outcome:
    """What a check finds.

    Attributes
    ----------
    holds : bool or None
        None where points lack.
    evidence : str
        The numbers that say so, or what lacks.
    fragile, compared : int
        At how many of the compared places the bands overlap, so that one run of each could have come out either way.
    """

    holds: bool | None
    evidence: str
    fragile: int = 0
    compared: int = 0


class Lacking(Exception):
    """Points that a check needs are not there; the message says which."""


def count(number: float) -> str:
    """Return a process count as text, e.g. "20,000"."""
    return f"{number:,.0f}"


def time(seconds: float) -> str:
    """Return a time with three digits and a fitting unit, e.g. "1.23 ms"."""
    factor, unit = next(((factor, unit) for factor, unit in _UNITS if seconds >= factor), _UNITS[-1])
    return f"{number(seconds / factor)} {unit}"


def number(value: float) -> str:
    """Return a number with three digits, e.g. "0.0123", "12.3", "1,230"."""
    return f"{float(f'{value:.3g}'):,.10g}"


def percent(share: float) -> str:
    """Return a share as text, e.g. "21 %"."""
    return f"{number(100 * share)} %"
