"""What the papers state, as data: statements, the curves they are about, and the checks that decide them.

A file of ``configs/claims`` holds the statements of one paper by identifier. The numbers in them are the papers', or
ours with a reason beside them; what a check does with them is in :mod:`tramontane.claims`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NoReturn, Self

from pydantic import AfterValidator, Field, TypeAdapter, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from tramontane.errors import InputError, display_path, show
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.messages import explain, problem
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.reading.typed import check_reference, validated
from tramontane.study.values.expressions import ALLOWED, evaluate, names_in
from tramontane.study.values.fields import Choice, Count, Name, Pattern, Text, Whole, WholeList
from tramontane.study.values.quantities import DRAWABLE, STEPS
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import TIME, parse_quantity
from tramontane.study.workloads.workloads import Halo

CLAIMS = Path("configs/claims")
JUDGEMENT = CLAIMS / "judgement.yaml"

SUBJECTS = ("arithmetic", "transposition", "halo", "allreduce", "one-sided", "input-output", "overlap")
"""What a statement may be about."""

ORDERS = ("order of arrival", "fixed order at each rank", "one order of all ranks")
"""Orders of :mod:`tramontane.claims.sums` that statements may name."""

VARIABLES = (*DRAWABLE, *(quantity.name for quantity in STEPS.values()))
"""Of datasets, as far as a curve may show them."""

Number = Annotated[float, Field(allow_inf_nan=False, ge=0, strict=True)]
Factor = Annotated[float, Field(allow_inf_nan=False, gt=0, strict=True)]


def _ascending(limits: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    first, last = limits
    if first is not None and last is not None and first > last:
        raise problem(f"found {_written(limits)}", "the smaller one first")
    return limits


def _ended(limits: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    if limits == (None, None):
        raise problem(f"found {_written(limits)}, in which everything lies", "one end at least")
    return limits


def _written(limits: tuple[float | None, float | None]) -> str:
    """Return a range as a file has it."""
    return f"[{', '.join('null' if end is None else f'{end:g}' for end in limits)}]"


Range = Annotated[tuple[Number | None, Number | None], AfterValidator(_ascending)]
Between = Annotated[Range, Field(description="First and last process count; by default all of a decade or more.")]


def _bounded(limits: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    first, last = limits
    if not first and last is None:
        raise problem(f"found {_written(limits)}, in which every ratio lies", "one end above 0 at least")
    return limits


Stated = Annotated[Range, AfterValidator(_ended)]
"""A range that something may lie outside of."""
Ratio = Annotated[Stated, AfterValidator(_bounded)]
"""A range that a ratio may lie outside of."""


class _Printed(Settings):
    """Numbers as a paper prints them, of a computation that takes none."""


_Grid = Annotated[tuple[int, int, int], WholeList(("nx", "ny", "nz"))]
_Positive = Annotated[float, Field(gt=0, lt=1e18, allow_inf_nan=False)]
_Whole = Annotated[int, Whole(1, 10**9)]
_Digits = Annotated[
    str, Pattern("a whole number of at most 9 digits", re.compile("[1-9][0-9]{0,8}", re.ASCII).fullmatch)
]


class _PrintedGrid(_Printed):
    grid: _Grid
    points: _Positive
    bytes: _Positive
    processes: Count


class _PrintedAllreduces(_Printed):
    iterations: _Whole
    allreduces: _Whole


class _PrintedWidth(_Printed):
    wind: _Positive
    step: _Positive
    degrees: _Positive
    departure: _Whole
    width: _Whole


class _PrintedPattern(_Printed):
    grid: _Grid
    ranks: Annotated[int, Whole(1, 100_000)]
    width: _Whole

    @model_validator(mode="after")
    def _possible(self) -> Self:
        _check_halo(self.grid, self.width, [self.ranks], "ranks")
        return self


class _PrintedHalo(_Printed):
    grid: _Grid
    depth: _Whole
    corner_columns: _Whole


class _PrintedVolumes(_PrintedHalo):
    megabytes: dict[_Digits, _Positive] = Field(min_length=2)  # what is compared are ratios of neighbours

    @model_validator(mode="after")
    def _possible(self) -> Self:
        _check_halo(self.grid, self.depth, map(int, self.megabytes), "megabytes")
        return self


class _PrintedMessages(_PrintedHalo):
    kilobytes: dict[_Digits, tuple[_Positive, _Positive, _Positive]] = Field(min_length=1)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        _check_halo(self.grid, self.depth, map(int, self.kilobytes), "kilobytes")
        return self


def _check_halo(grid: tuple[int, int, int], width: int, counts: Iterable[int], key: str) -> None:
    """Refuse a halo that can't be, or not with numbers of processes that stand below a key (PydanticCustomError)."""
    try:
        halo = Halo(kind="halo", width=width, grid=grid)
    except ValidationError as error:
        told = explain(error, Halo, Origin(CLAIMS, "").inside)
        raise problem(told.problem, told.allowed) from None
    for ranks in counts:
        try:
            halo.for_ranks(ranks)
        except PydanticCustomError as error:
            context = error.context or {}
            raise problem(context["problem"], context["allowed"], key=key) from None


def _expression(text: str) -> str:
    try:
        names_in(text)
    except SyntaxError as error:
        raise problem(f"found {show(text)}, which cannot be read ({error.msg})", ALLOWED) from None
    return text


class _PrintedTable(_Printed):
    columns: dict[Name, dict[Text, _Positive]]
    facts: dict[Text, Annotated[Text, AfterValidator(_expression)]] = Field(min_length=1)

    @model_validator(mode="after")
    def _decided(self) -> Self:
        for expression in self.facts.values():
            try:
                value = evaluate(expression, self.columns, Origin(CLAIMS, ""), "")
            except InputError as error:
                raise problem(error.problem, error.allowed, key="facts") from None
            if not isinstance(value, bool):
                found = f"found {show(expression)}, which is {show(value)}"
                raise problem(found, "what is true or not", key="facts")
        return self


class _PrintedSums(_Printed):
    seeds: Annotated[int, Whole(1, 10_000)]
    owners: Annotated[list[Annotated[int, Whole(2, 8)]], Field(min_length=1)]
    differ: dict[Annotated[str, Choice(ORDERS)], list[Annotated[str, Choice(("runs", "owners"))]]] = Field(min_length=1)


COMPUTATIONS: dict[str, Any] = {
    "networks": _Printed,
    "stages": _Printed,
    "grid": _PrintedGrid,
    "allreduces": _PrintedAllreduces,
    "halo_width": _PrintedWidth,
    "halo_pattern": _PrintedPattern,
    "cells": Annotated[
        dict[Annotated[str, Pattern("a level from 0 to 29", re.compile("[12]?[0-9]", re.ASCII).fullmatch)], Count],
        Field(min_length=1),
    ],
    "table": _PrintedTable,
    "halo_messages": _PrintedMessages,
    "halo_volumes": _PrintedVolumes,
    "elements": Annotated[
        dict[
            _Digits,
            Annotated[
                dict[_Digits, Annotated[list[_Positive], Field(min_length=1, max_length=2)]], Field(min_length=1)
            ],
        ],
        Field(min_length=1),
    ],
    "bits_of_sums": _PrintedSums,
}
"""Functions of :mod:`tramontane.claims.arithmetic` that statements may name, and what each takes."""


class Judged(Settings):
    """A number of ours that decides what counts as equal, most or about."""

    value: Number = Field(description="The number.")
    source: Text = Field(description="Why this number.")


class Judgement(Settings):
    """How strictly statements in words are read; see ``configs/claims/judgement.yaml``."""

    most: Judged = Field(description="Share of the process counts at which a comparison of two curves has to hold.")
    first: Judged = Field(description="Least process count of a check that names no range.")
    decades: Judged = Field(description="Decades of process counts that a check without a range spans at least.")
    coincide: Judged = Field(description="Largest relative distance of two curves that coincide.")
    about: Judged = Field(description="Largest factor between a number and what is about the same.")
    same_distribution: Judged = Field(description="Largest distance of two cumulative distributions that are the same.")
    faster_than_band: Judged = Field(description="How much shorter a single run may be than the median.")
    slower_than_band: Judged = Field(description="How much longer a single run may be than the median.")

    @model_validator(mode="after")
    def _sensible(self) -> Self:
        for name in type(self).model_fields:
            least, most = _JUDGED.get(name, (0, 1))
            value = getattr(self, name).value
            if not least <= value <= most:
                raise problem(f"found {value:g}", f"{least} to {most}", key=f"{name}.value")
        return self


_JUDGED = {"first": (1, 10**9), "decades": (0, 9), "about": (1, 1000)}
"""Least and largest value of what is no share."""


class Curve(Settings):
    """Times (or another variable) of an experiment along one dimension, over the members of its ensemble."""

    experiment: Text | None = Field(None, description="Experiment; by default that of the claim.")
    select: dict[str, Text] = Field({}, description="Coordinate of every other dimension, or a shell pattern of it.")
    variable: Annotated[str, Choice(VARIABLES)] = Field("time_s", description="Variable of the dataset.")


class Check(Settings):
    """Something a statement says that is true or not."""

    source: Text | None = Field(None, description="Where its numbers come from, where that is not the statement.")

    @model_validator(mode="after")
    def _compares_different_curves(self) -> Self:
        seen: set[str] = set()
        for key, name in self.called():
            if name in seen:
                raise problem(f"found {show(name)} twice", "different curves", key=key)
            seen.add(name)
        return self

    def called(self) -> Iterator[tuple[str, str]]:
        """Yield the curves that it calls by name: keys below it, and names."""
        for key in ("of", "than"):
            if (name := getattr(self, key, None)) is not None:
                yield key, name
        for number, name in enumerate(getattr(self, "curves", [])):
            yield f"curves[{number}]", name
        for row, group in enumerate(getattr(self, "order", [])):
            for number, name in enumerate(group):
                yield f"order[{row}][{number}]", name


class Trend(Check):
    """A curve falls or rises with the number of processes, beyond its band."""

    kind: Literal["trend"] = Field(description="Kind of check.")
    of: Text = Field(description="Curve.")
    way: Annotated[str, Choice(("falls", "rises"))] = Field(description="falls or rises.")
    between: Between = (None, None)


class Slower(Check):
    """A curve lies above another at most process counts."""

    kind: Literal["slower"] = Field(description="Kind of check.")
    of: Text = Field(description="The slower curve.")
    than: Text = Field(description="The faster curve.")
    by: Factor = Field(1, description="Factor that must be between them at least.")
    between: Between = (None, None)


class Coincide(Check):
    """Curves lie on top of one another at most process counts."""

    kind: Literal["coincide"] = Field(description="Kind of check.")
    curves: list[Text] = Field(description="Curves.", min_length=2)
    within: Number | None = Field(None, description="Largest relative distance; by default that of judgement.yaml.")
    between: Between = (None, None)


class Apart(Check):
    """The largest ratio of two curves lies in a range, or every one does."""

    kind: Literal["apart"] = Field(description="Kind of check.")
    of: Text = Field(description="The slower curve.")
    than: Text = Field(description="The faster curve.")
    ratio: Ratio = Field(description="Least and largest value of the largest ratio.")
    every: bool = Field(False, description="true: the smallest ratio must lie in the range, too, and so all do.")
    between: Between = (None, None)


class Meets(Check):
    """A curve that starts below another reaches it near a process count, by its trend if not in the data."""

    kind: Literal["meets"] = Field(description="Kind of check.")
    of: Text = Field(description="The curve that starts below.")
    than: Text = Field(description="The curve that starts above.")
    at: Factor = Field(description="Process count.")
    within: Annotated[float, Field(allow_inf_nan=False, ge=1, strict=True)] = Field(
        description="Largest factor between that and where they meet."
    )


class Jump(Check):
    """A curve rises by a factor within a range of process counts."""

    kind: Literal["jump"] = Field(description="Kind of check.")
    of: Text = Field(description="Curve.")
    by: Factor = Field(description="Least factor.")
    between: Between = (None, None)


class Closing(Check):
    """The ratio of two curves comes closer to 1 from the first process count to the last."""

    kind: Literal["closing"] = Field(description="Kind of check.")
    of: Text = Field(description="The upper curve.")
    than: Text = Field(description="The lower curve.")
    between: Between = (None, None)


class Shallower(Check):
    """A curve falls less steeply than another: its mean slope on logarithmic axes."""

    kind: Literal["shallower"] = Field(description="Kind of check.")
    of: Text = Field(description="The shallower curve.")
    than: Text = Field(description="The steeper curve.")
    between: Between = (None, None)


class Limit(Check):
    """No run of a curve exists beyond a process count."""

    kind: Literal["limit"] = Field(description="Kind of check.")
    of: Text = Field(description="Curve.")
    at: Number = Field(description="Largest process count.")


def _check_time(text: str, key: str) -> None:
    try:
        parse_quantity(text, TIME)
    except PydanticCustomError as error:
        context = error.context or {}
        raise problem(context["problem"], context["allowed"], key=key) from None


class Share(Check):
    """The share of packets that were delayed by more, or by less, than a time."""

    kind: Literal["share"] = Field(description="Kind of check.")
    of: Text = Field(description="Curve whose delays are meant.")
    ranks: Count = Field(description="Number of processes.")
    above: Text | None = Field(None, description="Delay, e.g. `50 us`.")
    below: Text | None = Field(None, description="Delay, e.g. `10 us`.")
    share: Stated = Field(description="Least and largest share.")

    @model_validator(mode="after")
    def _one_side(self) -> Self:
        for key in ("above", "below"):
            if getattr(self, key) is not None:
                _check_time(getattr(self, key), key)
        if max(limit or 0 for limit in self.share) > 1:
            raise problem(f"found {show(self.share)}", "0 to 1", key="share")
        if not self.share[0] and self.share[1] in (None, 1):
            found = f"found {_written(self.share)}, in which every share lies"
            raise problem(found, "an end between 0 and 1", key="share")
        if (self.above is None) == (self.below is None):
            raise problem(f"found {'both' if self.above else 'neither'} of above and below", "one of them")
        return self


class SameDelays(Check):
    """Distributions of delays that are, or are not, the same."""

    kind: Literal["same-delays"] = Field(description="Kind of check.")
    curves: list[Text] = Field(description="Curves whose delays are meant.", min_length=2)
    ranks: Count = Field(description="Number of processes.")
    same: bool = Field(True, description="false: they differ by more.")
    within: Number | None = Field(None, description="Largest distance of the cumulative shares.")


class Congestion(Check):
    """Congestion between processes, ordered from the lowest or most even."""

    kind: Literal["congestion"] = Field(description="Kind of check.")
    order: Annotated[list[Annotated[list[Text], Field(min_length=1)]], Field(min_length=2)] = Field(
        description="Groups of curves, from the lowest; within a group the order is open."
    )
    by: Annotated[str, Choice(("level", "unevenness"))] = Field(
        description="Mean delay of all packets, or how the mean delays of pairs of processes vary."
    )
    ranks: Count = Field(description="Number of processes.")


class Printed(Check):
    """Times are those that a paper prints, at each process count."""

    kind: Literal["printed"] = Field(description="Kind of check.")
    of: Text = Field(description="Curve.")
    seconds: dict[_Digits, _Positive] = Field(description="Times by process count [s].", min_length=1)
    runs: _Positive = Field(1, description="How many runs of ours they are times of.")
    within: Number = Field(description="Largest relative distance at any of them.")
    fitted: dict[_Digits, _Positive] = Field(
        {}, description="Further times, to which the machine was fitted: shown beside it, and no part of the check."
    )
    fitted_curves: dict[Text, dict[_Digits, _Positive]] = Field({}, description="The same of other curves, by name.")

    @property
    def told(self) -> dict[str, dict[str, float]]:
        """All times that it knows of, by curve."""
        return {self.of: self.seconds | self.fitted, **self.fitted_curves}


class Optimum(Check):
    """A statistic of the best radix over all process counts."""

    kind: Literal["optimum"] = Field(description="Kind of check.")
    of: Text = Field(description="Curve of the best radix.")
    statistic: Annotated[str, Choice(("minimum", "maximum", "median", "mean below median by"))] = Field(
        description="Statistic."
    )
    value: Stated = Field(description="Least and largest value.")


class Computed(Check):
    """Arithmetic, done with the project's own formulas and schedules; needs no results."""

    kind: Literal["computed"] = Field(description="Kind of check.")
    what: Annotated[str, Choice(tuple(COMPUTATIONS))] = Field(description="Name of the computation.")
    printed: dict[str, Any] = Field({}, description="Numbers as the paper prints them.")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        try:
            TypeAdapter(COMPUTATIONS[self.what]).validate_python(self.printed)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            context = first.get("ctx", {})
            below = [*first["loc"], context.get("key")]
            keys = ".".join(["printed", *(str(part) for part in below if part not in ("[key]", "", None))])
            found = "missing" if first["type"] == "missing" else f"found {show(first['input'])}"
            allowed = context.get("allowed") or first["msg"].lower()
            raise problem(context.get("problem") or found, str(allowed), key=keys) from None
        return self


AnyCheck = Annotated[
    Trend
    | Slower
    | Coincide
    | Apart
    | Meets
    | Jump
    | Closing
    | Shallower
    | Limit
    | Share
    | SameDelays
    | Congestion
    | Printed
    | Optimum
    | Computed,
    Field(discriminator="kind"),
]


def under(text: str, values: Mapping[str, str]) -> str | None:
    """Return a text, or what a choice's values give for a name written with $; None if they give nothing."""
    return values.get(text[1:]) if text.startswith("$") else text


class Claim(Settings):
    """One statement of one paper."""

    where: Text = Field(description="Where it stands in the paper.")
    about: Annotated[str, Choice(SUBJECTS)] = Field(description="What it is about.")
    statement: Text = Field(description="The statement, in our words.")
    experiment: Text | None = Field(None, description="Experiment that answers it.")
    along: Text | None = Field(None, description="Dimension whose coordinates are curves of their own name.")
    fixed: dict[str, Text] = Field({}, description="Coordinates of further dimensions, for all curves of the claim.")
    curves: dict[str, Curve] = Field({}, description="Curves that checks call by name, but those along `along`.")
    checks: list[AnyCheck] = Field([], description="All of them must hold.")
    choices: dict[str, dict[str, Text]] = Field(
        {},
        description="Choices of ours that may decide it: for each the values of names written with $ in experiments "
        "and coordinates (a coordinate without one is not chosen); the first is the project's own.",
    )
    grid: Text | None = Field(
        None, description="Grid of `configs/workloads/grids.yaml` without which the statement says nothing."
    )
    out_of_reach: Text | None = Field(None, description="The machine it needs, if we have none like it.")
    lacks: Text | None = Field(None, description="What the project lacks to evaluate it.")
    note: Text | None = Field(None, description="What a reader of the verdict should know.")

    @model_validator(mode="after")
    def _decidable(self) -> Self:
        ways = [bool(self.checks), self.out_of_reach is not None, self.lacks is not None]
        if sum(ways) != 1:
            raise problem("found none or several of checks, out_of_reach and lacks", "one of them", key="checks")
        return self

    @property
    def ways(self) -> list[tuple[str, Mapping[str, str]]]:
        """Choices by name, each with its values, the project's own first; one without a name where there are none."""
        return list(self.choices.items()) or [("", {})]

    @property
    def own_experiments(self) -> set[str]:
        """The experiments that it needs under the project's own choice."""
        return self.experiments(self.ways[0][1])

    def experiments(self, values: Mapping[str, str]) -> set[str]:
        """Return the experiments that it needs under a choice's values."""
        texts = (self.experiment, *(curve.experiment for curve in self.curves.values()))
        found = (under(text, values) for text in texts if text is not None)
        return {name for name in found if name is not None}

    def place(self, name: str, values: Mapping[str, str]) -> tuple[str | None, dict[str, str]]:
        """Return where a curve of a name is under a choice's values: experiment, if it has one, and coordinates."""
        curve = self.curves.get(name)
        select = dict(curve.select) if curve else {}
        if curve is None and self.along is not None:
            select[self.along] = name
        if curve is None or curve.experiment is None:
            select = {**self.fixed, **select}
        found = {dim: under(value, values) for dim, value in select.items()}
        experiment = (curve.experiment if curve else None) or self.experiment
        coordinates = {dim: value for dim, value in found.items() if value is not None}
        return None if experiment is None else under(experiment, values), coordinates


class Claims(Settings):
    """The statements of one paper."""

    paper: Text = Field(description="Key of `configs/references.yaml`.")
    claims: dict[str, Claim] = Field(description="Statements by identifier.")


def list_claims(root: Path) -> list[Path]:
    """Return the files of statements below `root`, that of the main paper first."""
    files = [path for path in (root / CLAIMS).glob("*.yaml") if path.name != JUDGEMENT.name]
    return sorted(files, key=lambda path: (not path.stem.startswith("zheng"), path.name))


def load_claims(path: Path, root: Path) -> Claims:
    """Read and check the statements of one paper.

    Raises
    ------
    InputError
        With file, key, what was found and what is allowed.
    """
    claims = validated(Claims, cached_yaml(path), path)
    check_reference(claims.paper, root, path, "paper")
    return claims


def refuse_twice(path: Path, name: str, other: Path) -> NoReturn:
    """Refuse a statement that stands in two files (InputError)."""
    problem = f"also in {display_path(other)}"
    raise InputError(path, f"claims.{name}", name, "each statement once", problem=problem)


def statements(root: Path) -> Iterator[tuple[str, tuple[str, Claim]]]:
    """Yield each statement's identifier, with the key of its paper (InputError)."""
    seen: dict[str, Path] = {}
    for path in list_claims(root):
        file = load_claims(path, root)
        for name, claim in file.claims.items():
            if name in seen:
                refuse_twice(path, name, seen[name])
            seen[name] = path
            yield name, (file.paper, claim)


def printed_times(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the times that papers print of what curves of experiments show, as figures show them beside.

    Returns
    -------
    dict
        By experiment, for each curve `variable`, `select` (coordinates), and `seconds` of one run of ours by number of
        processes.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for path in list_claims(root):
        for claim in load_claims(path, root).claims.values():
            for check in (each for each in claim.checks if claim.experiment and isinstance(each, Printed)):
                for name, times in check.told.items():
                    if (curve := claim.curves.get(name)) is not None:
                        seconds = {ranks: time / check.runs for ranks, time in times.items()}
                        told = {"variable": curve.variable, "select": curve.select, "seconds": seconds}
                        found.setdefault(str(claim.experiment), []).append(told)
    return found


def load_judgement(root: Path) -> Judgement:
    """Read how strictly statements are read."""
    file = root / JUDGEMENT
    return validated(Judgement, cached_yaml(file), file)
