"""Samples of parameters: how an experiment draws its points instead of listing them.

The plans are those of SciPy and SALib: Latin hypercubes (McKay, Beckman and Conover 1979), scrambled Sobol' sequences
(Owen 1998), trajectories of one step at a time (Morris 1991), and the pairs of samples from which variances are
attributed (Saltelli et al. 2010).
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PrivateAttr, field_validator, model_validator
from pydantic_core import PydanticCustomError

from tramontane.errors import InputError, closest, show
from tramontane.study.reading.messages import problem
from tramontane.study.values.fields import Text, Whole, is_number_or_name
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import (
    BANDWIDTH,
    FRACTION,
    FREQUENCY,
    SIZE,
    TIME,
    Dimension,
    in_base_units,
    parse_quantity,
)

MOST_DRAWS = 20_000
_BY_COLUMN = ("lhs", "sobol")
"""Methods whose parameters are drawn each on its own."""
_DIMENSIONS = (TIME, SIZE, BANDWIDTH, FRACTION, FREQUENCY)
_ENDS = "two numbers or quantities, the smaller one first, e.g. [1 GB/s, 10 GB/s]"

Unit = NDArray[np.float64]


class Parameter(Settings):
    """What a parameter may be: one of three."""

    range: list[Any] | None = Field(
        None,
        description="Its ends; all between are alike. Between whole numbers these are whole numbers.",
        examples=[["1 us", "9 us"]],
    )
    log: list[Any] | None = Field(
        None,
        description="Its ends; equal ratios are alike. Between whole numbers draws are rounded, which leaves half a "
        "share to each end.",
        examples=[["1 GB/s", "100 GB/s"]],
    )
    choice: list[Any] | None = Field(None, description="Two values or more.", examples=[["minimal", "ugal"]])
    later: bool = Field(
        False,
        description="Whether it was added after draws had been made: with lhs and sobol the other parameters keep "
        "theirs, as if it were not there.",
    )

    @model_validator(mode="after")
    def _one(self) -> Self:
        given = [name for name in ("range", "log", "choice") if getattr(self, name) is not None]
        if len(given) != 1:
            raise problem(f"found {', '.join(given) or 'nothing'}", "one of range, log, choice")
        if self.choice is not None:
            if len(self.choice) < 2:
                raise problem(f"found {show(self.choice)}", "two values or more", key="choice")
            for number, value in enumerate(self.choice):
                if value in self.choice[:number]:
                    raise problem(f"found {show(value)} twice", "each value once", key=f"choice[{number}]")
            return self
        _, low, high = _ends(given[0], getattr(self, given[0]))
        if low >= high:
            raise problem(f"found {show(getattr(self, given[0]))}", _ENDS, key=given[0])
        if self.log is not None and low <= 0:
            raise problem(f"found {show(self.log)}", "ends above zero", key="log")
        return self

    def value(self, at: float) -> Any:
        """Return the value at a place between 0 and 1, as an experiment would state it."""
        if self.choice is not None:
            return self.choice[min(int(at * len(self.choice)), len(self.choice) - 1)]
        name, given = ("range", self.range) if self.range is not None else ("log", self.log)
        dimension, low, high = _ends(name, given)
        if self._whole:
            return min(math.floor(low + at * (high - low + 1)), high)
        drawn = low + at * (high - low) if self.log is None else low * (high / low) ** at
        if dimension is not None:
            return f"{min(max(round(drawn), math.ceil(low)), math.floor(high))} {dimension.base}"
        assert given is not None
        return round(drawn) if all(isinstance(end, int) for end in given) else drawn

    def place(self, value: Any) -> float | None:
        """Return where a value lies between 0 and 1; of few the middle of its part. None if it is outside."""
        if self.choice is not None:
            return (self.choice.index(value) + 0.5) / len(self.choice) if value in self.choice else None
        name, given = ("range", self.range) if self.range is not None else ("log", self.log)
        _, low, high = _ends(name, given)
        number = in_base_units(value)
        if isinstance(number, bool) or not isinstance(number, int | float) or not low <= number <= high:
            return None
        if self._whole:
            return (number - low + 0.5) / (high - low + 1)
        return math.log(number / low) / math.log(high / low) if self.log is not None else (number - low) / (high - low)

    @property
    def _whole(self) -> bool:
        """Whether it is a range of whole numbers, of which each has an equal part."""
        return self.range is not None and all(isinstance(end, int) for end in self.range)

    @property
    def spelled(self) -> str:
        """The range or the choices in words."""
        if self.choice is not None:
            return f"choice {', '.join(map(str, self.choice))}"
        name, given = ("range", self.range) if self.range is not None else ("log", self.log)
        return f"{name} {' to '.join(map(str, given or ()))}"


class Sample(Settings):
    """Points that are drawn: each draw sets all parameters."""

    method: Literal["lhs", "sobol", "morris", "saltelli"] = Field(
        description="How: a Latin hypercube (lhs), a scrambled Sobol' sequence (sobol), trajectories that change one "
        "parameter a step (morris), or the pairs of samples that indices of variance need (saltelli). With all but lhs "
        "a larger size keeps the smaller one's draws."
    )
    size: Annotated[int | str, Field(union_mode="left_to_right")] = Field(
        description="Number of draws, or $name of the scale. For k parameters sobol needs a power of two, morris a "
        "multiple of k + 1, saltelli k + 2 times a power of two."
    )
    seed: Annotated[int, Whole(0, 2**31 - 1)] = Field(1, description="The same seed gives the same draws.")
    parameters: dict[str, Parameter] = Field(
        {}, description="What is drawn: paths of a point, each with its range, log range or choice."
    )
    plausible: Text | None = Field(
        None,
        description="Instead of `parameters`: a file of `configs/plausible`, whose parameters are drawn.",
        examples=["zheng2018"],
    )
    only: list[Text] = Field(
        [],
        description="With `plausible`: those of its parameters that are drawn. Default: all; others stay as they are.",
    )

    _known: dict[str, Parameter] = PrivateAttr(default_factory=dict)
    _given: Unit | None = PrivateAttr(None)

    @field_validator("size", mode="before")
    @classmethod
    def _number_or_name(cls, value: object) -> object:
        if not is_number_or_name(value):
            raise problem(f"found {show(value)}", "a whole number, or $name of the scale")
        return value

    @model_validator(mode="after")
    def _some(self) -> Self:
        if (self.plausible is None) == (not self.parameters):
            found = "found both parameters and plausible" if self.parameters else "found none"
            raise problem(found, "paths of a point, or plausible instead", key="parameters")
        if self.only and self.plausible is None:
            raise problem(f"found {show(self.only)} without plausible", "only beside plausible", key="only")
        return self

    @property
    def drawn(self) -> Mapping[str, Parameter]:
        """What is drawn: by path of a point, or by name in the file of plausible ranges."""
        return {name: each for name, each in self.known.items() if not self.only or name in self.only}

    @property
    def known(self) -> Mapping[str, Parameter]:
        """All parameters, drawn or not."""
        return self._known or self.parameters

    def choose(self, known: Mapping[str, Parameter], source: Path, key: str) -> None:
        """Take the parameters of a file of plausible ranges; `source` and `key` are where the sample is written.

        Raises
        ------
        InputError
            If `only` names one that it has not.
        """
        for number, name in enumerate(self.only):
            where = f"{key}.only[{number}]"
            if name not in known:
                raise InputError(source, where, name, ", ".join(known), hint=closest(name, known))
            if name in self.only[:number]:
                raise InputError(source, where, name, "each parameter once", problem=f"found {show(name)} twice")
        self._known = dict(known)

    def sizes(self) -> str:
        """Return in words what sizes the method can have."""
        number = len(self.drawn)
        return {
            "lhs": "1 or more",
            "sobol": "a power of two",
            "morris": f"a multiple of {number + 1}, for {number} parameters",
            "saltelli": f"{number + 2} times a power of two, for {number} parameters",
        }[self.method] + f", at most {MOST_DRAWS}"

    def fits(self, size: int) -> bool:
        """Whether the method can have so many draws."""
        if self._given is not None:
            return size == len(self._given)
        step = {"morris": len(self.drawn) + 1, "saltelli": len(self.drawn) + 2}.get(self.method, 1)
        times, rest = divmod(size, step)
        power = self.method in ("sobol", "saltelli")
        return 1 <= size <= MOST_DRAWS and rest == 0 and (not power or times & (times - 1) == 0)

    def draws(self, size: int) -> list[dict[str, Any]]:
        """Return the values of all parameters, draw by draw.

        Parameters
        ----------
        size : int
            One that `fits`.
        """
        return [
            {path: parameter.value(float(at)) for (path, parameter), at in zip(self.drawn.items(), row, strict=True)}
            for row in self.places(size)
        ]

    def places(self, size: int) -> Unit:
        """Return where the draws lie, each parameter between 0 and 1, of shape (size, parameters)."""
        if self._given is not None:
            return self._given
        later = np.array([each.later for each in self.drawn.values()])
        if self.method not in _BY_COLUMN or not later.any():
            return in_unit_cube(self.method, size, later.size, self.seed)
        places = np.empty((size, later.size))
        first = int((~later).sum())
        if first:
            places[:, ~later] = in_unit_cube(self.method, size, first, self.seed)
        # Each is the last column of a plan that has one more. Columns are scrambled or shuffled on their own, so that
        # those of plans of several widths still cover the cube as one plan does.
        for number, column in enumerate(np.flatnonzero(later), first + 1):
            places[:, column] = in_unit_cube(self.method, size, number, self.seed)[:, -1]
        return places

    def at(self, places: Unit) -> Self:
        """Return a sample whose draws lie at these places, which no method has chosen."""
        given = self.model_copy(update={"size": len(places)})
        given._given = places
        return given


def in_unit_cube(method: str, size: int, number: int, seed: int) -> Unit:
    """Return draws in the unit cube, of shape (size, number)."""
    from SALib.sample import morris, sobol  # noqa: PLC0415 - slow to import
    from scipy.stats import qmc  # noqa: PLC0415

    if method == "lhs":
        places = qmc.LatinHypercube(number, rng=seed).random(size)
    elif method == "sobol":
        places = qmc.Sobol(number, rng=seed).random(size)
    else:
        problem_ = {"num_vars": number, "names": list(map(str, range(number))), "bounds": [[0.0, 1.0]] * number}
        if method == "morris":
            places = morris.sample(problem_, size // (number + 1), seed=seed)
        else:
            places = sobol.sample(problem_, size // (number + 2), calc_second_order=False, seed=seed)
    return np.asarray(places, dtype=np.float64)


def _ends(name: str, given: Sequence[Any] | None) -> tuple[Dimension | None, float, float]:
    """Return what two ends are of, and both in base units."""
    if given is None or len(given) != 2 or any(isinstance(end, bool) for end in given):
        raise problem(f"found {show(given)}", _ENDS, key=name)
    if all(isinstance(end, int | float) for end in given):
        return None, given[0], given[1]
    for dimension in _DIMENSIONS:
        try:
            low, high = (parse_quantity(end, dimension, least=0) for end in given)
        except PydanticCustomError:
            continue
        return dimension, low, high
    raise problem(f"found {show(given)}", _ENDS, key=name)
