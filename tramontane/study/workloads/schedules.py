"""What the compiled extension knows of workloads: their keys, decompositions, and what they send.

Each kind of workload is described once, in ``skeleton-src/workloads``; bindings, the MPI program and planning read the
same description. Python keeps types and explanations of the keys (:mod:`tramontane.study.workloads.workloads`), which
editors check files against before anything is compiled, and asks here for everything else.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic_core import PydanticCustomError

from tramontane.errors import Line
from tramontane.extension import simulator
from tramontane.study.reading.messages import problem


@dataclass(frozen=True)
class Key:
    """A key that a kind of workload has, or that it has in some cases.

    Attributes
    ----------
    name : str
        As in the block `workload` of a point.
    words : tuple of str
        Values that are words.
    default : object
        Its value if it is left out; None: there is none.
    most : int
        Its largest value, if it is a number.
    within : tuple of str, or None
        Another key and the value that it must have for this one to exist; None: it always does.
    """

    name: str
    words: tuple[str, ...]
    default: Any
    most: int
    within: tuple[str, str] | None


@cache
def _kinds() -> Any:
    return simulator().schedule.kinds()


@cache
def keys(kind: str) -> tuple[Key, ...]:
    """Return the keys of a kind of workload, beside `kind`; those that exist in several cases once for each."""
    return tuple(
        Key(key["name"], tuple(key["words"]), key["default"], key["most"], key["with"])
        for key in _kinds()[kind]["keys"]
    )


def words(kind: str, name: str, within: tuple[str, str] | None = None) -> tuple[str, ...]:
    """Return the words that a key may be: in one case, or in any."""
    found = [key.words for key in keys(kind) if key.name == name and within in (None, key.within)]
    return tuple(dict.fromkeys(word for words in found for word in words))


def default(kind: str, name: str) -> Any:
    """Return the value of a key that is left out."""
    return next(key.default for key in keys(kind) if key.name == name)


def most(kind: str, name: str) -> int:
    """Return the largest value of a key that is a number."""
    return next(key.most for key in keys(kind) if key.name == name)


def library_algorithm(kind: str) -> str | None:
    """Return the algorithm whose messages stand for those of an MPI library's operation, if algorithms differ."""
    return _kinds()[kind]["library_algorithm"] or None


def check_keys(given: Mapping[str, Any]) -> None:
    """Refuse keys and values that a workload can't have, whatever the number of ranks (PydanticCustomError)."""
    try:
        simulator().schedule.read(dict(given))
    except ValueError as error:
        raise refusal(error, "workload.") from None


def described(given: Mapping[str, Any], ranks: int, *, empty_blocks: bool = True) -> Any:
    """Return the compiled description of a workload: ``values``, ``limits``, ``imbalance``, ``setup``, ``traffic``.

    Parameters
    ----------
    given : dict
        Its keys.
    ranks : int
        Number of processes.
    empty_blocks : bool
        Whether processes may be without points at times, as in some points that were measured with another simulator.

    Raises
    ------
    PydanticCustomError
        If that number of ranks can't have it.
    """
    try:
        return simulator().schedule.Workload(dict(given), ranks, allow_empty_blocks=empty_blocks)
    except ValueError as error:
        raise refusal(error) from None


def refusal(error: ValueError, within: str = "") -> PydanticCustomError:
    """Return what a validator raises for a line of the extension (:class:`tramontane.errors.Line`).

    Parameters
    ----------
    within : str
        Beginning of the key that the validator need not tell.
    """
    line = Line.of(error)
    if line is None:
        raise error
    return problem(line.found.replace("found nothing", "missing", 1), line.allowed, key=line.key.removeprefix(within))


@cache
def _stages(given: str, ranks: int) -> tuple[int, ...]:
    return tuple(simulator().schedule.Schedule(json.loads(given), ranks).stages)


def stages_of(given: Mapping[str, Any], ranks: int) -> tuple[int, ...]:
    """Return how many stages each phase of a workload has, its decomposition filled in.

    Parameters
    ----------
    given : dict
        Its keys.
    ranks : int
        Number of processes.
    """
    return _stages(json.dumps(given, sort_keys=True), ranks)
