"""Expands an experiment at a scale to its points.

The order is that of the file: dimensions as declared, their values as listed, the last dimension fastest. Nothing
depends on the order of keys in a mapping other than `cross`, and adding one value to one list adds exactly the points
with that value, because a point's identity depends on nothing but its own settings.
"""

import itertools
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from tramontane.errors import InputError, closest, show
from tramontane.study.catalogue import resolve_names
from tramontane.study.experiments.experiments import DRAW, MEMBER, REFERENCE, Experiment
from tramontane.study.points.loading import build_point
from tramontane.study.points.points import SEED, Point
from tramontane.study.reading.layers import Keys, Layers, Origin, copied, split
from tramontane.study.sampling.paths import value_at
from tramontane.study.sampling.plausible import PLAUSIBLE, Unstated, lay_over
from tramontane.study.values.expressions import evaluate, names_in
from tramontane.study.values.units import in_base_units
from tramontane.study.workloads.kinds import WORKLOADS

Coordinate = str | int | float | bool
MAX_MEMBERS = 1000
MOST_POINTS = 20_000
"""Combinations of an experiment at a scale; what takes longer than a minute to write out was hardly meant."""
JITTER = "1 ns"
"""Start jitter of an ensemble's members where the experiment does not say otherwise."""
_SEED = "seed"
_UNSET = dict.fromkeys(name for model in WORKLOADS for name in model.model_fields)
"""Keys that some workload has, without a value."""


@dataclass(frozen=True)
class ExpandedPoint:
    """One combination of an experiment's parameters.

    Attributes
    ----------
    coords : dict
        Value of each dimension, in order.
    point : Point or None
        The point; None if the combination is excluded.
    excluded : bool
        Whether an `exclude` expression is true for it.
    """

    coords: dict[str, Coordinate]
    point: Point | None
    excluded: bool = False


@dataclass(frozen=True)
class Expansion:
    """An experiment at a scale.

    Attributes
    ----------
    experiment : Experiment
        What was expanded.
    scale : str
        The scale.
    dims : dict
        Dimensions in order, each with the list of its coordinate values.
    points : list of ExpandedPoint
        All combinations in order, excluded ones too.
    base : dict
        What all points have in common, with the scale's values in place of their names.
    values : dict
        The scale's values.
    """

    experiment: Experiment
    scale: str
    dims: dict[str, list[Coordinate]]
    points: list[ExpandedPoint]
    base: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def unique(self) -> dict[str, Point]:
        """Return the points to run by identity; a point with two sets of coordinates is run once."""
        return {entry.point.id: entry.point for entry in self.points if entry.point is not None}


@dataclass(frozen=True)
class _Setting:
    """A value of a parameter: where it goes in a point and where it is written."""

    path: Keys
    value: Any
    origin: Origin


_Row = tuple[Coordinate, list[_Setting]]
"""A value of a dimension, with what it sets."""

_Place = tuple[Coordinate, ...]
"""Values of all dimensions but that of an ensemble's members."""


@dataclass(frozen=True)
class _Dimension:
    """A dimension with what each of its values sets."""

    name: str
    coordinates: list[Coordinate]
    settings: list[list[_Setting]]

    def rows(self) -> list[_Row]:
        """Return each value with what it sets."""
        return list(zip(self.coordinates, self.settings, strict=True))


def expand(experiment: Experiment, scale: str) -> Expansion:
    """Return all points of an experiment at a scale.

    Raises
    ------
    InputError
        If the scale is not defined or a point is impossible; the line names the key to mend and the point.
    """
    if scale not in experiment.scales:
        names = ", ".join(experiment.scales)
        raise InputError(experiment.path, f"scales.{scale}", scale, names, hint=closest(scale, experiment.scales))
    expander = _Expander(experiment, scale)
    dimensions = expander.dimensions()
    points = list(expander.points(dimensions))
    expander.check_axis(dimensions)  # now that the points can have these values
    dims = {dimension.name: dimension.coordinates for dimension in dimensions}
    return Expansion(experiment, scale, dims, points, expander.base.data, expander.values)


def swept(experiment: Experiment, scale: str) -> dict[str, list[Coordinate]]:
    """Return the coordinates of an experiment's dimensions at a scale it has, without making its points."""
    return {dimension.name: dimension.coordinates for dimension in _Expander(experiment, scale).dimensions()}


def point_of_each_draw(experiment: Experiment, scale: str) -> list[Point]:
    """Return a point of each draw of a sample, each at another place of the other dimensions (InputError).

    It tells whether draws can be points, far sooner than all points do.
    """
    expander = _Expander(experiment, scale)
    dimensions = {dimension.name: dimension.rows() for dimension in expander.dimensions()}
    number = len(dimensions[DRAW])
    made = []
    for draw, row in enumerate(dimensions[DRAW]):
        places = list(itertools.product(*(dimensions | {DRAW: [row]}).values()))
        first = draw * len(places) // number
        turned = (expander.point(dimensions, each) for each in places[first:] + places[:first])
        made += list(itertools.islice((each.point for each in turned if each.point is not None), 1))
    return made


def left(experiment: Experiment, scale: str, dim: str, select: Mapping[str, str]) -> list[Coordinate]:
    """Return the coordinates of a dimension at which some point is not excluded, without making points.

    Parameters
    ----------
    experiment, scale
        An experiment, at a scale it has.
    dim : str
        One of its dimensions.
    select : mapping
        Coordinates of other dimensions, or shell patterns of them: points elsewhere do not count.
    """
    expander = _Expander(experiment, scale)
    rows = {
        each.name: [row for row in each.rows() if fnmatchcase(str(row[0]), select.get(each.name, "*"))]
        for each in expander.dimensions()
    }
    return [
        row[0]
        for row in rows[dim]
        if any(expander.is_left(rows, each) for each in itertools.product(*(rows | {dim: [row]}).values()))
    ]


def scale_values(experiment: Experiment, scale: str) -> dict[str, Any]:
    """Return the values a scale defines, with ranges of process counts written out."""
    raw = experiment.scales[scale]
    return {name: _listed(value, experiment.origin("scales", scale, name)) for name, value in raw.items()}


def decades(low: int, high: int, steps: list[int]) -> list[int]:
    """Return the numbers step * 10^e between `low` and `high`, both included, in ascending order."""
    powers = range(len(str(high)) + 1)
    return sorted({step * 10**power for power in powers for step in steps if low <= step * 10**power <= high})


def coordinate(value: object) -> Coordinate:
    """Return a swept value as the coordinate of a dataset: numbers and words as they are, anything else as text."""
    if isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return str(value["name"])
    if isinstance(value, list) and all(isinstance(item, int) for item in value):
        return "x".join(str(item) for item in value)
    return json.dumps(value, sort_keys=True)


def _listed(value: object, origin: Origin) -> object:
    """Write out {decades: [low, high], steps: [...]}."""
    if not (isinstance(value, dict) and "decades" in value):
        return value
    allowed = "{decades: [first, last]}, optionally with steps: a list of whole numbers from 1 to 9"
    steps = value.get("steps", list(range(1, 10)))
    limits = value["decades"]
    for key in value:
        if key not in ("decades", "steps"):
            raise origin.below(key).mistake(key, allowed, problem=f"unknown key '{key}'")
    if not isinstance(limits, list) or len(limits) != 2 or not all(_whole(limit) for limit in limits):
        raise origin.below("decades").mistake(limits, allowed)
    if not isinstance(steps, list) or not steps or not all(_whole(step) and step <= 9 for step in steps):
        raise origin.below("steps").mistake(steps, allowed)
    counts = decades(int(limits[0]), int(limits[1]), [int(step) for step in steps])
    if not counts:
        raise origin.below("decades").mistake(limits, "first <= last")
    return counts


def _whole(value: object) -> bool:
    """Tell whether a value is a count of ranks or members."""
    if isinstance(value, float):
        return value.is_integer() and 1 <= value < 2**31
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31


class _Expander:
    """Holds what all points of an expansion share."""

    def __init__(self, experiment: Experiment, scale: str) -> None:
        self.experiment = experiment
        self.scale = scale
        self.values = scale_values(experiment, scale)
        self.base = Layers()
        self._merge(self.base, experiment.base, (), experiment.origin("base"))
        derived = {name for text in experiment.derive.values() if isinstance(text, str) for name in names_in(text)}
        self._differ_by_seed = not {MEMBER, _SEED} & (derived | experiment.derive.keys())
        self._last: tuple[_Place, Layers, _Setting | None] | None = None
        self._first_members: dict[_Place, Point] = {}

    def _merge(self, layers: Layers, settings: Mapping[str, Any], path: Keys, origin: Origin) -> None:
        for key, value in settings.items():
            below = (*path, *split(key))
            written = origin.below(key)
            if isinstance(value, dict):
                self._merge(layers, value, below, written)
            else:
                final, written = self.substitute(value, written)
                layers.set(below, final, written)

    def substitute(self, value: Any, origin: Origin) -> tuple[Any, Origin]:
        """Replace $name by the scale's value, anywhere inside `value`; the origin becomes the scale's line."""
        if isinstance(value, str):
            match = REFERENCE.fullmatch(value.strip())
            if not match:
                return value, origin
            name = match[1]
            if name not in self.values:
                raise origin.mistake(
                    value,
                    ", ".join(f"${known}" for known in self.values),
                    hint=closest(name, self.values),
                )
            return copied(self.values[name]), self.experiment.origin("scales", self.scale, name)
        if isinstance(value, list):
            return [self.substitute(item, origin)[0] for item in value], origin
        if isinstance(value, dict):
            return {key: self.substitute(item, origin)[0] for key, item in value.items()}, origin
        return value, origin

    def dimensions(self) -> list[_Dimension]:
        """Return the dimensions with their values at this scale."""
        made = []
        for name, key in self.experiment.dimensions().items():
            if key == "ensemble" and name == MEMBER:
                made.append(self._members())
            elif key == "sample" and name == DRAW:
                made.append(self._drawn())
            elif key in self.experiment.cross:
                made.append(self._crossed(name, key))
            else:
                number = next(n for n, block in enumerate(self.experiment.zip) if next(iter(block)) == key)
                made.append(self._zipped(name, number))
        self._check_overlap(made)
        self._check_number(made)
        return made

    def check_axis(self, dimensions: list[_Dimension]) -> None:
        """Refuse a logarithmic axis for values that it can't have."""
        figure = self.experiment.figure
        values = next((dimension.coordinates for dimension in dimensions if dimension.name == figure.x), [])
        numbers = (in_base_units(value) for value in values)
        lowest = min((number for number in numbers if isinstance(number, int | float)), default=1)
        if figure.x_scale == "log" and lowest <= 0:
            problem = f"found log, for {figure.x} from {lowest} on"
            raise self.experiment.origin("figure", "x_scale").mistake("log", "linear", problem=problem)

    def _check_number(self, dimensions: list[_Dimension]) -> None:
        """Refuse too many points before any is made."""
        number = math.prod(len(dimension.coordinates) for dimension in dimensions)
        if number > MOST_POINTS:
            sizes = " x ".join(f"{len(dimension.coordinates)} {dimension.name}" for dimension in dimensions)
            problem = f"found {number} points, {sizes}"
            origin = self.experiment.origin("scales", self.scale)
            raise origin.mistake(number, f"at most {MOST_POINTS}", problem=problem)

    def _list(self, value: object, origin: Origin) -> tuple[list[Any], Origin]:
        listed, origin = self.substitute(value, origin)
        listed = _listed(listed, origin)
        if not isinstance(listed, list) or not listed:
            raise origin.mistake(listed, "a list of values, or $name of a list of the scale")
        return listed, origin

    def _crossed(self, name: str, key: str) -> _Dimension:
        values, origin = self._list(self.experiment.cross[key], self.experiment.origin("cross", key))
        variants = self.experiment.variants.get(key)
        if variants is None:
            settings = [[_Setting(split(key), value, origin)] for value in values]
        else:
            settings = [self._variant(key, value, origin) for value in values]
        return _Dimension(name, self._distinct(values, origin), settings)

    def _variant(self, label: str, value: object, origin: Origin) -> list[_Setting]:
        variants = self.experiment.variants[label]
        if str(value) not in variants:
            raise origin.mistake(value, f"{', '.join(variants)} (variants.{label})", hint=closest(value, variants))
        layers = Layers()
        self._merge(layers, variants[str(value)], (), self.experiment.origin("variants", label, str(value)))
        return [_Setting(path, leaf, layers.origins[path]) for path, leaf in layers.leaves()]

    def _zipped(self, name: str, number: int) -> _Dimension:
        columns = {
            key: self._list(value, self.experiment.origin(f"zip[{number}]", key))
            for key, value in self.experiment.zip[number].items()
        }
        first, (values, origin) = next(iter(columns.items()))
        for other, where in columns.values():
            if len(other) != len(values):
                allowed = f"{len(values)}, as many as {first}"
                raise where.mistake(other, allowed, problem=f"found {len(other)} values")
        settings = [
            [_Setting(split(key), column[row], where) for key, (column, where) in columns.items()]
            for row in range(len(values))
        ]
        return _Dimension(name, self._distinct(values, origin), settings)

    def _members(self) -> _Dimension:
        number, origin = self.substitute(self.experiment.ensemble, self.experiment.origin("ensemble"))
        if not _whole(number) or int(number) > MAX_MEMBERS:
            raise origin.mistake(number, f"a whole number from 1 to {MAX_MEMBERS}")
        members = list(range(int(number)))
        return _Dimension(MEMBER, list(members), [[_Setting((MEMBER,), member, origin)] for member in members])

    def _drawn(self) -> _Dimension:
        sample = self.experiment.sample
        assert sample is not None
        size, origin = self.substitute(sample.size, self.experiment.origin("sample", "size"))
        if not _whole(size) or not sample.fits(int(size)):
            raise origin.mistake(size, f"with {sample.method} {sample.sizes()}")
        written = self.experiment.origin("sample", "parameters")
        draws = sample.draws(int(size))
        if sample.plausible is not None:
            settings = [[_Setting((DRAW,), each, written)] for each in draws]
            return _Dimension(DRAW, list(range(int(size))), settings)
        settings = [
            [_Setting(split(path), value, written.below(path)) for path, value in each.items()] for each in draws
        ]
        return _Dimension(DRAW, list(range(int(size))), settings)

    @staticmethod
    def _distinct(values: list[Any], origin: Origin) -> list[Coordinate]:
        coordinates = [coordinate(value) for value in values]
        seen = set()
        for value in coordinates:
            if value in seen:
                raise origin.mistake(value, "each value once", problem=f"found {show(value)} twice")
            seen.add(value)
        return coordinates

    def _check_overlap(self, dimensions: list[_Dimension]) -> None:
        """Refuse two dimensions that set the same value: one of them would have no effect."""
        owners: dict[Keys, str] = {}
        for dimension in dimensions:
            for setting in {setting.path: setting for row in dimension.settings for setting in row}.values():
                owner = owners.setdefault(value_at(setting.path), dimension.name)
                if owner != dimension.name:
                    raise InputError(
                        setting.origin.source,
                        setting.origin.key,
                        None,
                        "each value in one dimension",
                        problem=f"'{'.'.join(setting.path)}' is set by dimension '{owner}' too",
                    )

    def points(self, dimensions: list[_Dimension]) -> Iterator[ExpandedPoint]:
        """Yield all combinations in order."""
        names = [dimension.name for dimension in dimensions]
        for combination in itertools.product(*(dimension.rows() for dimension in dimensions)):
            yield self.point(names, combination)

    def is_left(self, names: Iterable[str], combination: Sequence[_Row]) -> bool:
        """Return whether a combination of values of all dimensions is not excluded."""
        coords = {name: value for name, (value, _) in zip(names, combination, strict=True)}
        layers, _ = self._layers(coords, [setting for _, row in combination for setting in row])
        return not self._is_excluded(coords, layers, _in_words(coords))

    def point(self, names: Iterable[str], combination: Sequence[_Row]) -> ExpandedPoint:
        """Return a combination of values of all dimensions."""
        coords = {name: value for name, (value, _) in zip(names, combination, strict=True)}
        settings = [setting for _, row in combination for setting in row]
        where = _in_words(coords)
        layers, draw = self._layers(coords, settings)
        if self._is_excluded(coords, layers, where):
            return ExpandedPoint(coords, None, True)
        first, seed = self._first_members.get(_place(coords)), layers.data.get(_SEED)
        if first is not None and isinstance(seed, int) and SEED.is_within(seed):
            return ExpandedPoint(coords, first.changed(seed=seed))
        if MEMBER in coords:
            layers = layers.copy()  # other members go on from these
        for key, expression in self.experiment.derive.items():
            origin = self.experiment.origin("derive", key)
            value = evaluate(self.substitute(expression, origin)[0], self._names(coords, layers), origin, where)
            layers.set(split(key), list(value) if isinstance(value, tuple) else value, origin)
        experiment = self.experiment
        varied = {setting.path for setting in settings} | {split(key) for key in experiment.derive}
        adjust = None if draw is None else partial(self._lay_over, drawn=draw.value, varied=varied, where=where)
        point = build_point(layers, experiment.root, experiment.path, where, "base", adjust)
        if MEMBER in coords and self._differ_by_seed and draw is None:  # what is drawn may set the seed
            self._first_members[_place(coords)] = point
        return ExpandedPoint(coords, point)

    def _layers(self, coords: Mapping[str, Coordinate], settings: Sequence[_Setting]) -> tuple[Layers, _Setting | None]:
        """Return the settings of a point before what is derived, and what is drawn for it.

        Of members next to one another they are merged once: keys of the first level tell these apart.
        """
        member = next((setting for setting in settings if setting.path == (MEMBER,)), None)
        if member is None:
            return self._merged(settings)
        if self._last is None or self._last[0] != _place(coords):
            self._last = _place(coords), *self._merged([setting for setting in settings if setting is not member])
        _, shared, draw = self._last
        layers = Layers(dict(shared.data), dict(shared.origins))
        self._jitter(layers, member)
        return layers, draw

    def _merged(self, settings: Iterable[_Setting]) -> tuple[Layers, _Setting | None]:
        layers = self.base.copy()
        draw = None
        for setting in settings:
            if setting.path == (DRAW,):
                draw = setting
            else:
                layers.set(setting.path, setting.value, setting.origin)
        if self.experiment.exclude or self.experiment.derive:
            resolve_grid_only(layers, self.experiment)
        return layers, draw

    def _is_excluded(self, coords: Mapping[str, Coordinate], layers: Layers, where: str) -> bool:
        names = self._names(coords, layers) if self.experiment.exclude else {}
        for number, expression in enumerate(self.experiment.exclude):
            origin = self.experiment.origin(f"exclude[{number}]")
            excluded = evaluate(expression, names, origin, where)
            if not isinstance(excluded, bool):
                raise origin.mistake(excluded, "an expression that is true or false", where=where)
            if excluded:
                return True
        return False

    def _lay_over(self, layers: Layers, *, drawn: Mapping[str, Any], varied: Set[Keys], where: str) -> None:
        sample = self.experiment.sample
        assert sample is not None
        known = {name: each for name, each in sample.known.items() if isinstance(each, Unstated)}
        origin = Origin(self.experiment.root / PLAUSIBLE / f"{sample.plausible}.yaml", "parameters")
        lay_over(layers, known, drawn, varied, origin, where)

    @staticmethod
    def _jitter(layers: Layers, member: _Setting) -> None:
        """Make the settings those of one member of an ensemble."""
        seed = layers.data.get(_SEED, Point.model_fields[_SEED].default)
        if isinstance(seed, int):
            layers.set((_SEED,), seed + member.value, layers.origins.get((_SEED,), member.origin))
        if "start_jitter" not in layers.data:
            layers.set(("start_jitter",), JITTER, member.origin)

    def _names(self, coords: Mapping[str, Coordinate], layers: Layers) -> dict[str, Any]:
        """Return the names an expression may use: coordinates, the point's values by the last part, scale values.

        Keys that a workload could have but this one has not are None.
        """
        leaves = {path[-1]: value for path, value in layers.leaves()}
        return {**_UNSET, **self.values, **leaves, **coords}


def _place(coords: Mapping[str, Coordinate]) -> _Place:
    return tuple(value for name, value in coords.items() if name != MEMBER)


def _in_words(coords: Mapping[str, Coordinate]) -> str:
    """Return a combination in words, for error lines."""
    return ", ".join(f"{name}={value}" for name, value in coords.items())


def resolve_grid_only(layers: Layers, experiment: Experiment) -> None:
    """Replace the name of a grid by its extents, so that expressions can use them."""
    workload = Layers({"workload": layers.data.get("workload", {})}, layers.origins)
    resolve_names(workload, experiment.root)
