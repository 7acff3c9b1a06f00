"""Kinds of values other than quantities: counts, lists of counts, words from a list and texts.

Each says in its error what it allows and in the JSON schema the same, so that an editor marks what validation refuses.
"""

import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from tramontane.errors import closest, show
from tramontane.study.reading.messages import problem
from tramontane.study.reading.names import ALLOWED, is_name

_LARGEST = 2**63 - 1
_LARGEST_OF_LIST = 2**31 - 1


def _is_beyond(most: int, found: object) -> bool:
    """Tell whether a number that was found, or one of a list, is larger than the largest one."""
    numbers = found if isinstance(found, list | tuple) else [found]
    return any(isinstance(number, int | float) and number > most for number in numbers)


def _bounds(least: int, most: int, found: object = None) -> str:
    """Return the bounds of numbers in words; the upper one, of the machine, only where a number is beyond it."""
    return f"{least} to 2^{most.bit_length()} - 1" if _is_beyond(most, found) else f"{least} or more"


def _up_to(most: int, found: object) -> str:
    """Return the upper bound as the begin of what is allowed, where a number is beyond it; else nothing."""
    values = found.values() if isinstance(found, dict) else [found]
    return f"numbers up to 2^{most.bit_length()} - 1; " if any(_is_beyond(most, value) for value in values) else ""


class _Read:
    """An annotation that reads a value before pydantic looks at its type."""

    @property
    def allowed(self) -> str:
        """What may be written, as the end of an error line."""
        return self._allowed()

    def _allowed(self, found: object = None) -> str:
        """Return the same, where something else was found."""
        raise NotImplementedError

    def read(self, value: object) -> object:
        """Return the value or raise the error that says what is allowed."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))


def is_number_or_name(value: object) -> bool:
    """Tell whether a value may be a whole number, or the $name of one: true and false are none, as are parts."""
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, int | str) and not isinstance(value, bool)


@dataclass(frozen=True)
class Whole(_Read):
    """A count: a whole number without a unit, at least `minimum` and at most `maximum`."""

    minimum: int
    maximum: int = _LARGEST

    @property
    def range(self) -> str:
        """The bounds in words."""
        return self._range()

    def _range(self, found: object = None) -> str:
        if self.maximum == _LARGEST:
            return _bounds(self.minimum, self.maximum, found)
        return f"{self.minimum} to {self.maximum}"

    def _allowed(self, found: object = None) -> str:
        return f"a whole number, {self._range(found)}"

    def read(self, value: object) -> object:
        """Return the whole number or raise the error that says what is allowed."""
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # YAML reads 1e6 as a float
        if isinstance(value, bool) or not isinstance(value, int) or not self.is_within(value):
            raise problem(f"found {show(value)}", self._allowed(value))
        return value

    def is_within(self, number: int) -> bool:
        """Return whether a whole number is in the bounds."""
        return self.minimum <= number <= self.maximum

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        most = {} if self.maximum == _LARGEST else {"maximum": self.maximum}
        return {"type": "integer", "minimum": self.minimum, **most}


@dataclass(frozen=True)
class WholeList(_Read):
    """A list of counts with a meaning each, e.g. `[nx, ny, nz]`.

    Attributes
    ----------
    names : tuple of str
        Meaning of each entry; their number is the length of the list.
    instead : str
        What else may be written (a name that is looked up before validation), for error lines.
    optional : int
        How many entries at the end may be left out.
    word : str
        A word that may be written instead, and stays.
    least : int
        The smallest number.
    """

    names: tuple[str, ...]
    instead: str = ""
    optional: int = 0
    word: str = ""
    least: int = 1

    def _allowed(self, found: object = None) -> str:
        bounds = _bounds(self.least, _LARGEST_OF_LIST, found)
        text = f"a list of whole numbers [{', '.join(self.names)}], each {bounds}"
        if self.word:
            text += f", or {self.word}"
        return f"{text}, or {self.instead}" if self.instead else text

    def read(self, value: object) -> object:
        """Return the numbers as a tuple, or the word, or raise the error that says what is allowed."""
        if self.word and value == self.word:
            return value
        lengths = range(len(self.names) - self.optional, len(self.names) + 1)
        if not isinstance(value, list | tuple) or len(value) not in lengths:
            raise problem(f"found {show(value)}", self.allowed)
        whole = _whole_numbers(value, self.least)
        if whole is None:
            raise problem(f"found {show(value)}", self._allowed(value))
        return whole

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        numbers = {
            "type": "array",
            "items": {"type": "integer", "minimum": self.least},
            "minItems": len(self.names) - self.optional,
            "maxItems": len(self.names),
        }
        options: list[dict[str, Any]] = [numbers]
        if self.instead:
            options.append({"type": "string"})
        if self.word:
            options.append({"const": self.word})
        return {"anyOf": options} if len(options) > 1 else numbers


def _whole_numbers(value: object, least: int = 1, most: int = _LARGEST_OF_LIST) -> tuple[int, ...] | None:
    """Return a list of whole numbers as a tuple; None if it is none."""
    if not isinstance(value, list | tuple) or not value:
        return None
    whole = [int(item) if isinstance(item, float) and item.is_integer() else item for item in value]
    counts = [item for item in whole if isinstance(item, int) and not isinstance(item, bool) and least <= item <= most]
    return tuple(counts) if len(counts) == len(whole) else None


@dataclass(frozen=True)
class Wholes(_Read):
    """A list of whole numbers, different ones or any, at least `least`; where that is negative, none is 0."""

    least: int = 0
    different: bool = True

    def _allowed(self, found: object = None) -> str:
        kind = "different whole numbers" if self.different else "whole numbers"
        if self.least >= 0:
            return f"a list of {kind}, each {_bounds(self.least, _LARGEST_OF_LIST, found)}"
        numbers = found if isinstance(found, list | tuple) else ()
        is_beyond = any(isinstance(each, int | float) and not self._is_within(each) for each in numbers)
        return f"a list of {kind}, none 0{', each 1 - 2^31 to 2^31 - 1' if is_beyond else ''}"

    def _is_within(self, number: float) -> bool:
        return self.least <= number <= _LARGEST_OF_LIST

    def read(self, value: object) -> object:
        """Return the numbers as a tuple or raise the error that says what is allowed."""
        whole = _whole_numbers(value, self.least)
        twice = whole is not None and self.different and len(set(whole)) < len(whole)
        if whole is None or twice or (self.least < 0 and 0 in whole):
            raise problem(f"found {show(value)}", self._allowed(value))
        return whole

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        numbers = {"type": "integer", "minimum": self.least}
        return {"type": "array", "items": numbers, "minItems": 1} | ({"uniqueItems": True} if self.different else {})


@dataclass(frozen=True)
class Geometry:
    """The size of a network: a list of counts, or a mapping with the keys of a shape.

    Whether a topology has such a geometry, and how many of what there may be, is known to the simulator only.

    Attributes
    ----------
    mappings : dict
        Keys of the mappings that may be written, and whether each has a list of counts instead of one.
    """

    mappings: dict[tuple[str, ...], bool]
    _RANGE: ClassVar = (-(2**63), _LARGEST)  # what the simulator can be asked about

    @property
    def allowed(self) -> str:
        """What may be written, as the end of an error line."""
        return ", or ".join(["a list of whole numbers, each 1 or more", *map(self._mapping, self.mappings)])

    def _mapping(self, keys: tuple[str, ...]) -> str:
        numbers = ": [...]" if self.mappings[keys] else ""
        return f"a mapping {{{', '.join(key + numbers for key in keys)}}}"

    def read(self, value: object) -> object:
        """Return the numbers as a tuple, or pairs of a mapping's keys and their counts, or tuples of them."""
        if isinstance(value, tuple) and value and isinstance(value[0], tuple):  # has been read before
            value = dict(value)
        if isinstance(value, dict):
            for keys, lists in self.mappings.items():
                if set(value) <= set(keys) and (lists or set(value) == set(keys)):
                    read = tuple((key, self._numbers(value[key], lists)) for key in keys if key in value)
                    if read and all(numbers is not None for _, numbers in read):
                        return read
        elif (numbers := _whole_numbers(value, *self._RANGE)) is not None:
            return numbers
        raise problem(f"found {show(value)}", f"{_up_to(_LARGEST, value)}{self.allowed}")

    @staticmethod
    def _numbers(value: object, lists: bool) -> tuple[int, ...] | int | None:
        numbers = _whole_numbers(value if lists else [value], *Geometry._RANGE)
        return numbers if lists or numbers is None else numbers[0]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        options: list[dict[str, Any]] = [self._numbers_schema(1)]
        for keys, lists in self.mappings.items():
            # Some numbers of a mapping may be 0: a dimension that does not wrap, a group without global links.
            several = self._numbers_schema(0)
            properties = dict.fromkeys(keys, several if lists else several["items"])
            required = list(keys[:1] if lists else keys)
            options.append({"type": "object", "properties": properties, "required": required})
            options[-1]["additionalProperties"] = False
        return {"anyOf": options}

    @staticmethod
    def _numbers_schema(least: int) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "integer", "minimum": least}, "minItems": 1}


@dataclass(frozen=True)
class Choice(_Read):
    """One word of a list."""

    words: tuple[str, ...]

    @property
    def spelled(self) -> tuple[str, ...]:
        """All that may be written."""
        return self.words

    def _allowed(self, found: object = None) -> str:
        return ", ".join(self.words)

    def read(self, value: object) -> object:
        """Return the word or raise the error that lists the allowed ones."""
        if value not in self.words:
            raise problem(f"found {show(value)}", self.allowed, hint=closest(value, self.words))
        return value

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class DependentChoice(Choice):
    """One word of a list, of which another key allows some: whoever knows that one refuses the others."""

    def read(self, value: object) -> object:
        """Return any text, with the blanks around it: as in other choices, they make it another word."""
        text = Words().read(value)
        return value if isinstance(value, str) else text


@dataclass(frozen=True)
class WholeOrWord(_Read):
    """A whole number of at least `minimum`, or a word."""

    minimum: int
    word: str

    @property
    def range(self) -> str:
        """The bounds in words."""
        return Whole(self.minimum).range

    def _allowed(self, found: object = None) -> str:
        return f"a whole number, {_bounds(self.minimum, _LARGEST, found)}, or {self.word}"

    def read(self, value: object) -> object:
        """Return the number or the word, or raise the error that says what is allowed."""
        if value == self.word:
            return value
        if isinstance(value, str):
            raise problem(f"found {show(value)}", self.allowed, hint=closest(value, [self.word]))
        try:
            return Whole(self.minimum).read(value)
        except PydanticCustomError:
            raise problem(f"found {show(value)}", self._allowed(value)) from None

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": self.minimum}, {"const": self.word}]}


@dataclass(frozen=True)
class Numbers:
    """A list of whole numbers below 2^31, at least `minimum`; of `length`, where that is not 0; maybe all different."""

    minimum: int
    length: int = 0
    different: bool = False

    def read(self, value: object) -> tuple[int, ...] | None:
        """Return the numbers as a tuple; None for anything else."""
        numbers = _whole_numbers(value, self.minimum)
        if numbers is None or self.length not in (0, len(numbers)):
            return None
        return None if self.different and len(set(numbers)) < len(numbers) else numbers

    @property
    def schema(self) -> dict[str, Any]:
        """The list in a JSON schema."""
        bounds: dict[str, Any] = {"maxItems": self.length} if self.length else {}
        bounds |= {"uniqueItems": True} if self.different else {}
        items = {"type": "integer", "minimum": self.minimum}
        return {"type": "array", "items": items, "minItems": max(1, self.length), **bounds}


@dataclass(frozen=True)
class ChoiceOrLists:
    """One word of a list, or a mapping of one of some keys to its list of numbers.

    Attributes
    ----------
    words : tuple of str
        The words.
    lists : tuple of (str, Numbers, str)
        Each key, what it may say, and that in words.
    file : str, optional
        A key that names a file in YAML; whoever reads the YAML puts one of the lists in its place.
    """

    words: tuple[str, ...]
    lists: tuple[tuple[str, Numbers, str], ...]
    file: str | None = None

    @property
    def spelled(self) -> tuple[str, ...]:
        """All that may be written."""
        named = (f"{{{self.file}: table}}",) if self.file else ()
        return (*self.words, *(f"{{{key}: {text}}}" for key, _, text in self.lists), *named)

    @property
    def allowed(self) -> str:
        """What may be written, as the end of an error line."""
        return ", ".join(self.spelled)

    def read(self, value: object) -> object:
        """Return the word, or the pair of key and numbers, or raise the error that says what is allowed."""
        if isinstance(value, tuple) and len(value) == 2:  # has been read before
            value = {value[0]: value[1]}
        if isinstance(value, dict) and len(value) == 1:
            for key, numbers, _ in self.lists:
                found = numbers.read(value.get(key))
                if found is not None:
                    return key, found
        elif isinstance(value, str) and value in self.words:
            return value
        allowed = f"{_up_to(_LARGEST_OF_LIST, value)}{self.allowed}"
        raise problem(f"found {show(value)}", allowed, hint=closest(value, self.words))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        options: list[dict[str, Any]] = [{"type": "string", "enum": list(self.words)}]
        for key, numbers, _ in self.lists:
            given = {"type": "object", "properties": {key: numbers.schema}, "required": [key]}
            options.append(given | {"additionalProperties": False})
        if self.file:
            given = {"type": "object", "properties": {self.file: {"type": "string"}}, "required": [self.file]}
            options.append(given | {"additionalProperties": False})
        return {"anyOf": options}


@dataclass(frozen=True)
class Words(_Read):
    """A text that is not empty."""

    allowed: str = "a text"

    def read(self, value: object) -> object:
        """Return the text without surrounding blanks; a number is not a text, but may stand for one."""
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str) or not value.strip():
            raise problem(f"found {show(value)}", self.allowed)
        return value.strip()

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {"type": ["string", "number"]}


@dataclass(frozen=True)
class Pattern(Words):
    """A text for which a test holds."""

    accepts: Callable[[str], object] = bool

    def read(self, value: object) -> object:
        """Return the text, or raise the error that says what is allowed."""
        text = super().read(value)
        if not self.accepts(str(text)):
            raise problem(f"found {show(value)}", self.allowed)
        return text


def is_digest(text: str) -> bool:
    """Tell whether a text may be a SHA-256 digest."""
    return re.fullmatch("[0-9a-f]{64}", text) is not None


def _is_letter(text: str) -> bool:
    return re.fullmatch("[A-Za-z0-9]{1,3}", text) is not None


def _is_regular(text: str) -> bool:
    """Tell whether a text is a regular expression, in which no repetition is repeated: that may take for ever."""
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return len(text) <= 500 and re.search(r"[*+}]\)*\)[*+{]", text) is None


def _is_command(text: str) -> bool:
    try:
        return bool(shlex.split(text))
    except ValueError:
        return False


Count = Annotated[int, Whole(1)]
NonNegative = Annotated[int, Whole(0)]
Text = Annotated[str, Words()]
Digest = Annotated[str, Pattern("64 hexadecimal digits", is_digest)]
Name = Annotated[str, Pattern(f"a name of {ALLOWED}", is_name)]
Letter = Annotated[str, Pattern("a letter or digit, three at most", _is_letter)]
Regular = Annotated[str, Pattern("a regular expression without nested repetitions", _is_regular)]
Command = Annotated[str, Pattern("a command whose quotes are closed", _is_command)]
