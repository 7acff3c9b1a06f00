"""Quantities written as text with a unit, turned exactly into integers of one base unit.

A bare number hides whether 100 meant nanoseconds or microseconds; so a physical value without a unit is refused. The
conversion is exact (decimal fractions, never binary floats), hence "10 GB/s" and "10000 MB/s" give the same point with
the same identity.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Annotated, Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tramontane.errors import closest, show
from tramontane.extension import simulator
from tramontane.study.reading.messages import problem

_NUMBER = re.compile(
    r"[ \t]*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?)"
    r"[ \t]*(?![ \t.]|(?:[eE][+-]?)?[0-9])(.*?)[ \t]*"
)
_BITS = re.compile(r"([kMGT]?)b(?:/s|ps)")  # data sheets write bits so, an eighth of bytes
_LONG_EXPONENT = re.compile(r"[0-9.][eE][+-]?[0-9]{3}")
_LONGEST = 100
"""Characters of a quantity: a longer one is no number that somebody meant."""
_DECIMAL = {"": 0, "k": 3, "K": 3, "M": 6, "G": 9, "T": 12}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40}


def _bytes(suffix: str = "") -> dict[str, Fraction]:
    """Units of bytes; KB and kB are 1000 B, KiB is 1024 B."""
    units = {f"{prefix}B{suffix}": Fraction(10**power) for prefix, power in _DECIMAL.items()}
    return units | {f"{prefix}B{suffix}": Fraction(2**power) for prefix, power in _BINARY.items()}


@dataclass(frozen=True, eq=False)
class Dimension:
    """A physical dimension: its base unit and how many base units each accepted unit holds."""

    name: str
    base: str
    units: Mapping[str, Fraction]
    examples: tuple[str, ...]

    @property
    def allowed(self) -> str:
        """What may be written, as the end of an error line."""
        return f"a number with a unit ({', '.join(self.units)}), e.g. {self.examples[0]}"


TIME = Dimension(
    "time",
    "ps",
    {
        "ps": Fraction(1),
        "ns": Fraction(10**3),
        "us": Fraction(10**6),
        "µs": Fraction(10**6),
        "\N{GREEK SMALL LETTER MU}s": Fraction(10**6),  # looks as with the micro sign, and some keyboards write it
        "ms": Fraction(10**9),
        "s": Fraction(10**12),
    },
    ("100 ns", "1 us"),
)
SIZE = Dimension("size", "B", _bytes(), ("4096 B", "64 KB", "32 KiB"))
BANDWIDTH = Dimension(
    "bandwidth",
    "B/s",
    _bytes("/s") | {f"{prefix}bit/s": Fraction(10**power, 8) for prefix, power in _DECIMAL.items() if prefix != "K"},
    ("10 GB/s", "100 Gbit/s"),
)
FREQUENCY = Dimension(
    "frequency",
    "Hz",
    {f"{prefix}Hz": Fraction(10**power) for prefix, power in _DECIMAL.items() if prefix != "K"},
    ("2 GHz",),
)
FRACTION = Dimension("fraction", "ppm", {"ppm": Fraction(1), "%": Fraction(10**4)}, ("1 %", "0.5 %"))
WHOLE = 1_000_000
"""100 % [ppm]."""
DOUBLE = 8
"""Bytes of a value, such as that of a field at a grid point: all are in double precision."""


def parse_quantity(text: object, dimension: Dimension, *, least: int = 1, most: int | None = None) -> int:
    """Turn a text such as "10 GB/s" into whole base units.

    Parameters
    ----------
    text : object
        What was written.
    dimension : Dimension
        The dimension it must have.
    least, most : int
        Bounds [`dimension.base`]; `most` is None where there is none.

    Returns
    -------
    int
        The value [`dimension.base`].

    Raises
    ------
    PydanticCustomError
        If it isn't a text, has no or a wrong unit, is out of bounds or isn't a whole number of base units.
    """
    if isinstance(text, int | float) and not isinstance(text, bool):
        raise problem(f"found {text} without a unit", dimension.allowed)
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise problem(f"found {show(text)}", dimension.allowed)
    return _parsed(text, dimension, least, most)


@lru_cache(maxsize=4096)  # points of an experiment say the same again and again
def _parsed(text: str, dimension: Dimension, least: int, most: int | None) -> int:
    match = _NUMBER.fullmatch(text)
    if match is None:
        limit = "an exponent of two digits at most; " if _LONG_EXPONENT.search(text) else ""
        raise problem(f"found {show(text)}", f"{limit}{dimension.allowed}")
    number, unit = match.groups()
    if not unit:
        raise problem(f"found {show(text)} without a unit", dimension.allowed)
    if unit not in dimension.units:
        hint = _meant(number, unit, dimension, least, most)
        raise problem(f"found unit '{unit}' in {show(text)}", dimension.allowed, hint=hint)
    value = Fraction(number) * dimension.units[unit]
    if value.denominator != 1:
        raise problem(f"found {show(text)}", f"a whole number of {dimension.base}; {dimension.allowed}")
    return _in_range(value.numerator, show(text), dimension, least, most)


def _meant(number: str, unit: str, dimension: Dimension, least: int, most: int | None) -> str | None:
    """Return what an unknown unit was probably meant to be, where that is allowed; 1 PB is not a misspelt 1 B."""
    bits = _BITS.fullmatch(unit)
    name = f"{bits[1]}bit/s" if bits and f"{bits[1]}bit/s" in dimension.units else closest(unit, dimension.units)
    if name is None or (unit[0] in "PEZY" and unit[1:] == name):
        return None
    value = Fraction(number) * dimension.units[name]
    is_allowed = value.denominator == 1 and least <= value and (most is None or value <= most)
    return f"{number} {name}" if is_allowed else None


def _in_range(value: int, shown: str, dimension: Dimension, least: int, most: int | None) -> int:
    """Return base units, unless they are too few or too many."""
    if value < least:
        limit = {0: "zero or more", 1: "more than zero"}.get(least) or f"{format_quantity(least, dimension)} or more"
    elif most is not None and value > most:
        limit = f"at most {format_quantity(most, dimension)}"
    else:
        return value
    raise problem(f"found {shown}", f"{limit}; {dimension.allowed}")


def format_quantity(value: int, dimension: Dimension) -> str:
    """Return `value` base units as short text with a decimal unit, e.g. 100000 ps as "100 ns"."""
    shown = [unit for unit in dimension.units if "i" not in unit and unit[:2] != "kB" and unit.isascii()]
    if dimension is SIZE and value < 10000:
        return f"{value} B"
    best = {TIME: "ns", FRACTION: "%"}.get(dimension, dimension.base) if value == 0 else dimension.base
    for unit in shown:
        factor = dimension.units[unit]
        if value and value % factor == 0 and factor > dimension.units[best]:
            best = unit
    return f"{value // dimension.units[best]} {best}"


def dimension_of(value: object) -> Dimension | None:
    """Return the dimension of a text that is a quantity; None of anything else."""
    match = _NUMBER.fullmatch(value) if isinstance(value, str) and len(value) <= _LONGEST else None
    known = (TIME, SIZE, BANDWIDTH, FRACTION, FREQUENCY)
    return next((each for each in known if match is not None and match[2] in each.units), None)


def in_base_units(value: object) -> object:
    """Return a text that is a quantity, of whatever dimension, as a number of base units; anything else as it is.

    What is none, such as -1 ns, is refused by whoever reads the key it stands at.
    """
    dimension = dimension_of(value)
    if dimension is not None:
        with suppress(PydanticCustomError):
            return parse_quantity(value, dimension, least=0)
    return value


def in_one_unit(values: Sequence[object]) -> tuple[list[float], str] | None:
    """Return quantities of one dimension as numbers of the unit of the first, and that unit; None of anything else."""
    dimension = dimension_of(values[0]) if values else None
    if dimension is None or any(dimension_of(value) is not dimension for value in values):
        return None
    numbers = [number for value in values if isinstance(number := in_base_units(value), int)]
    match = _NUMBER.fullmatch(str(values[0]))
    if match is None or len(numbers) < len(values):
        return None
    return [float(number / dimension.units[match[2]]) for number in numbers], match[2].replace("us", "µs")


@dataclass(frozen=True)
class Quantity:
    """Annotation of a field that is text with a unit in YAML and whole base units inside.

    Attributes
    ----------
    dimension : Dimension
        The dimension it must have.
    least, most : int
        Bounds [`dimension.base`]. Those of times and bandwidths, which the simulator tells, keep its time within its
        range of a day.
    word : str
        A word that may be written instead, and stays.
    """

    dimension: Dimension
    least: int = 0
    most: int | None = None
    word: str = ""

    def _read(self, value: object, info: ValidationInfo) -> object:
        if self.word and value == self.word:
            return value
        # A canonical point already holds base units; only there is a bare number unambiguous.
        if info.context and info.context.get("canonical") and isinstance(value, int) and not isinstance(value, bool):
            return _in_range(value, str(value), self.dimension, self.least, self.most)
        return parse_quantity(value, self.dimension, least=self.least, most=self.most)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_before_validator_function(self._read, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        units = "|".join(re.escape(unit) for unit in self.dimension.units)
        word = f"|{self.word}" if self.word else ""
        return {
            "type": "string",
            "pattern": rf"^(\s*\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{{1,2}})?\s*({units})\s*{word})$",
            "examples": list(self.dimension.examples),
        }


Share = Annotated[int, Quantity(FRACTION)]
UNLIMITED = "unlimited"
_BOUNDS: dict[str, tuple[int, int]] = simulator().BOUNDS
MOST_TIME = _BOUNDS["time"][1]
Time = Annotated[int, Quantity(TIME, most=MOST_TIME)]
PositiveTime = Annotated[int, Quantity(TIME, least=1, most=MOST_TIME)]
CallTime = Annotated[int, Quantity(TIME, *_BOUNDS["cost"])]
Latency = Annotated[int, Quantity(TIME, *_BOUNDS["latency"])]
Size = Annotated[int, Quantity(SIZE)]
PositiveSize = Annotated[int, Quantity(SIZE, least=1)]
PacketSize = Annotated[int, Quantity(SIZE, 1, 10**9)]
EagerSize = Annotated[int, Quantity(SIZE, *_BOUNDS["eager_limit"])]
Bandwidth = Annotated[int, Quantity(BANDWIDTH, *_BOUNDS["bandwidth"])]
BandwidthOrUnlimited = Annotated[int | str, Quantity(BANDWIDTH, *_BOUNDS["bandwidth"], UNLIMITED)]
Frequency = Annotated[int, Quantity(FREQUENCY, *_BOUNDS["frequency"])]


def time_or_none(text: object) -> int | None:
    """Turn a time into picoseconds, zero allowed; None for what the check of its own key refuses."""
    try:
        return parse_quantity(text, TIME, least=0)
    except PydanticCustomError:
        return None
