"""What only all points of an experiment show together: figures without results, and values that mean nothing.

None of it is a mistake of a single key; each would run to the end, and then fail or show less than was meant.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from tramontane.errors import InputError, closest, show
from tramontane.study.experiments.expansion import Coordinate, Expansion, swept
from tramontane.study.experiments.experiments import DRAW, MEMBER, Experiment
from tramontane.study.experiments.figures import AGAINST_X
from tramontane.study.points.points import EACH, HOTTEST, MEASURED, Point
from tramontane.study.reading.layers import Origin, split
from tramontane.study.values.units import in_one_unit
from tramontane.study.workloads.programs import Program

_SERIES, _MACHINE = "series", "machine"

#: Kinds of figures that show one point of each series.
_OF_SERIES = ("congestion-matrix", "delay-distribution")


def _searched(point: Point) -> bool:
    return point.workload.is_search


def _cut_short(point: Point) -> bool:
    return bool(point.steady.error)


def _sampled(point: Point) -> bool:
    return point.steady.stages is not None


def _roles(points: Iterable[Point]) -> list[str]:
    """Return the roles of all programs, each once."""
    programs = (point.workload for point in points if isinstance(point.workload, Program))
    return list(dict.fromkeys(role for program in programs for role in program.roles))


_KINDS: Mapping[str, tuple[Callable[[Point], bool], str]] = {
    "congestion-matrix": (lambda point: point.statistics.congestion > 0, "points with statistics.congestion"),
    "links": (lambda point: point.statistics.links in (HOTTEST, EACH), "points with statistics.links hottest or each"),
    "link-map": (lambda point: point.statistics.links == EACH, "points with statistics.links each"),
    "delay-distribution": (lambda point: point.substrate != MEASURED, f"points of another substrate than {MEASURED}"),
    "radix": (_searched, "points with workload.radix: optimal, or a dimension radix"),
    "steps": (
        lambda point: point.workload.kind in ("program", "trace") and point.substrate == "simulator",
        "programs on the simulator, which alone tells what each step took",
    ),
}
_VARIABLES: Mapping[str, tuple[Callable[[Point], bool], str]] = {
    "best_radix": (_searched, "points with workload.radix: optimal"),
    "repeats_simulated": (_cut_short, "points with steady.error"),
    "repeats_left_out": (_cut_short, "points with steady.error"),
    "stages_simulated": (_sampled, "points with steady.stages"),
    "stages_left_out": (_sampled, "points with steady.stages"),
    "steady_error": (lambda point: not point.steady.is_default, "points with steady.error or steady.stages"),
    "slowdown": (lambda point: point.workload.kind == "jobs", "points with jobs"),
}
"""What a figure needs of at least one point, by its kind and by its variable."""


def check_experiment(experiment: Experiment, expansions: Iterable[Expansion]) -> None:
    """Refuse an experiment whose figure would be empty, or whose values mean nothing (InputError)."""
    _check_derived(experiment)
    _check_axes(experiment)
    _check_texts(experiment)
    for expansion in expansions:
        _check_names(expansion)
        _check_results(expansion)
        _check_role(expansion)
        _check_twice(expansion)
    _check_series(experiment)


def _check_derived(experiment: Experiment) -> None:
    """Refuse to derive what a dimension sets: its coordinate would say one thing and the point another."""
    own = [key for key in experiment.cross if key not in experiment.variants]
    given = {split(key) for key in (*own, *itertools.chain.from_iterable(experiment.zip))}
    for key in experiment.derive:
        if split(key) in given:
            problem = f"'{key}' is a dimension"
            raise experiment.origin("derive", key).mistake(key, "what no dimension sets", problem=problem)


def _check_axes(experiment: Experiment) -> None:
    figure = experiment.figure
    taken = [figure.x] if figure.kind in ("scaling", "substrates") else []
    for key, names in (("lines", figure.line_dimensions), ("reduce", tuple(figure.reduce))):
        for name in names:
            if name in taken:
                problem = f"found {show(name)}, which is used already"
                raise experiment.origin("figure", key).mistake(name, "each dimension once", problem=problem)
            taken.append(name)
    for key, given in (("reduce", figure.reduce), ("best", figure.best)):
        if given and figure.kind != "scaling":
            # Of several values at a point, such as its steps, each would be of another point.
            problem = f"found beside kind {figure.kind}"
            raise InputError(experiment.path, f"figure.{key}", None, "beside kind scaling alone", problem=problem)


def _check_texts(experiment: Experiment) -> None:
    """Refuse formulas between dollar signs that can't be drawn."""
    figure = experiment.figure
    texts = {"x_label": figure.x_label, "y_label": figure.y_label}
    texts |= {f"labels.{name}": text for name, text in figure.labels.items()}
    texts |= {f"best[{number}].label": best.text for number, best in enumerate(figure.best)}
    for key, text in texts.items():
        if text is not None:
            _check_text(text, Origin(experiment.path, f"figure.{key}"))


def _check_names(expansion: Expansion) -> None:
    """Refuse such formulas in coordinates, which name series and panels unless a label stands for them."""
    experiment = expansion.experiment
    for name, key in experiment.dimensions().items():
        for value in expansion.dims[name]:
            if isinstance(value, str) and value not in experiment.figure.labels:
                _check_text(value, experiment.origin("cross" if key in experiment.cross else "zip", key))


def _check_text(text: str, origin: Origin) -> None:
    if "$" in text and not _can_be_drawn(text):
        raise origin.mistake(text, r"a formula of TeX between two $, as matplotlib reads it, or \$ for a dollar sign")


def _can_be_drawn(text: str) -> bool:
    from matplotlib.cbook import is_math_text  # noqa: PLC0415 - slow to import, and seldom needed
    from matplotlib.mathtext import MathTextParser  # noqa: PLC0415

    try:
        for line in filter(is_math_text, text.split("\n")):
            MathTextParser("path").parse(line)
    except ValueError:
        return False
    return True


def _check_role(expansion: Expansion) -> None:
    """Refuse steps of a role that no point has, and those of all roles together, which pass side by side."""
    figure, experiment = expansion.experiment.figure, expansion.experiment
    if figure.kind != "steps":
        return
    roles = _roles(expansion.unique().values())
    if figure.role is None and roles:
        allowed = f"the role whose steps are drawn: {', '.join(roles)}"
        raise InputError(experiment.path, "figure.role", None, allowed, problem="missing")
    if figure.role is not None and figure.role not in roles:
        allowed = ", ".join(roles) or "nothing: no point has roles"
        raise InputError(experiment.path, "figure.role", figure.role, allowed, hint=closest(figure.role, roles))


def _check_results(expansion: Expansion) -> None:
    """Refuse a figure of what no point gives, and words along an axis of numbers."""
    _check_axis(expansion)
    figure, experiment = expansion.experiment.figure, expansion.experiment
    points = list(expansion.unique().values())
    if not points:
        origin = experiment.origin(*(["exclude"] if experiment.exclude else ["scales", expansion.scale]))
        raise origin.mistake(None, "a point at least", problem=f"no point is left at scale {expansion.scale}")
    if figure.kind == "steps" and any(point.workload.kind == "jobs" for point in points):
        problem = "found steps, of several jobs, which pass side by side"
        raise InputError(experiment.path, "figure.kind", figure.kind, "another, or points of one job", problem=problem)
    needs = [("kind", figure.kind, _KINDS)] if not (figure.kind == "radix" and "radix" in expansion.dims) else []
    needs += [("y", figure.y, _VARIABLES)] if figure.kind in ("scaling", "steps") else []
    for key, word, known in needs:
        if word in known and not any(map(known[word][0], points)):
            raise InputError(
                experiment.path,
                f"figure.{key}",
                word,
                f"another, or {known[word][1]}",
                where=f"scale {expansion.scale}",
            )
    others = [name for name, values in expansion.dims.items() if name != MEMBER and len(values) > 1]
    for kinds, apart, what, allowed in (
        (("link-map",), (_MACHINE,), "points a machine", "one point a machine"),
        (("radix",), (figure.x, "radix"), "best ones at an x", "one best radix at each x"),
        (_OF_SERIES, _lines(experiment, expansion.dims), "points a series", "one point a series"),
    ):
        several = [name for name in others if name not in apart]
        if figure.kind in kinds and several:
            problem = f"found {figure.kind}, with several {what}, by {', '.join(several)}"
            raise InputError(experiment.path, "figure.kind", figure.kind, allowed, problem=problem)
    if figure.kind == "pattern" and any(point.workload != points[0].workload for point in points):
        problem = "found pattern, of several workloads"
        raise InputError(experiment.path, "figure.kind", figure.kind, "one workload", problem=problem)


def _check_axis(expansion: Expansion) -> None:
    """Refuse words along an axis of numbers (InputError): known before any point runs, and seen when all have."""
    figure = expansion.experiment.figure
    values = expansion.dims.get(figure.x, [])
    words = any(isinstance(value, bool | str) for value in values) and in_one_unit(values) is None
    if figure.kind in (*AGAINST_X, "radix") and words:
        allowed = "a dimension whose values are numbers, or quantities such as 10 GB/s"
        raise InputError(expansion.experiment.path, "figure.x", figure.x, allowed)


def _check_twice(expansion: Expansion) -> None:
    """Refuse two values of a dimension that always give the same point, such as 1 ns and 1000 ps.

    Draws of a sample may coincide: nobody chose their values.
    """
    experiment = expansion.experiment
    keys = experiment.dimensions()
    for name, values in expansion.dims.items():
        if name in (MEMBER, DRAW) or keys[name] in experiment.variants:
            continue
        found: dict[Coordinate, dict[tuple[Coordinate, ...], str]] = {value: {} for value in values}
        for entry in expansion.points:
            if entry.point is not None:
                others = tuple(value for other, value in entry.coords.items() if other != name)
                found[entry.coords[name]][others] = entry.point.id
        seen: dict[tuple[tuple[tuple[Coordinate, ...], str], ...], Coordinate] = {}
        for value, points in found.items():
            first = seen.setdefault(tuple(points.items()), value)
            if points and first != value:
                problem = f"found {show(first)} and {show(value)}, which give the same points"
                origin = experiment.origin("cross" if keys[name] in experiment.cross else "zip", keys[name])
                raise origin.mistake(value, "each value once", problem=problem)


def _check_series(experiment: Experiment) -> None:
    """Refuse labels and patterns of series that no scale has."""
    figure = experiment.figure
    try:
        made = [_series(experiment, swept(experiment, scale)) for scale in experiment.scales]
    except InputError:  # a mistake of another scale than those checked here is told when that one is asked for
        return
    if any(names is None for names in made):
        return
    names = sorted({name for names in made for name in names or ()})
    allowed = f"a series: {', '.join(names) or 'there is none'}"
    for number, best in enumerate(figure.best):
        for pattern in [best.of] if isinstance(best.of, str) else best.of:
            if not any(fnmatchcase(name, pattern) for name in names):
                key = f"figure.best[{number}].of"
                raise InputError(experiment.path, key, pattern, allowed, hint=closest(pattern, names))
    for name in figure.labels:
        if name not in names and name not in (best.series for best in figure.best):
            problem = f"no series {show(name)}"
            hint = closest(name, names)
            raise InputError(experiment.path, f"figure.labels.{name}", name, allowed, problem=problem, hint=hint)
    firsts: dict[str, str] = {}
    for name, text in figure.labels.items():
        first = firsts.setdefault(text, name)
        if first != name:  # bars of both would be one, and the legend could not tell lines apart
            problem = f"found {show(text)}, as {show(first)} is called"
            raise InputError(experiment.path, f"figure.labels.{name}", text, "a text of its own", problem=problem)


def _lines(experiment: Experiment, dims: Mapping[str, Sequence[Coordinate]]) -> tuple[str, ...]:
    """Return the dimensions that make lines; where the figure names none, the series do."""
    return experiment.figure.line_dimensions or ((_SERIES,) if _SERIES in dims else ())


def _series(experiment: Experiment, dims: Mapping[str, Sequence[Coordinate]]) -> list[str] | None:
    """Return the names of the series; None where some are numbers, which get units that only a dataset knows."""
    figure, lines = experiment.figure, _lines(experiment, dims)
    named = {figure.x, MEMBER, *figure.reduce, *lines}
    others = [name for name, values in dims.items() if name not in named and len(values) > 1]
    parts = [dims[name] for name in (*lines, *others) if name in dims]
    if not all(isinstance(value, str) for values in parts for value in values):
        return None
    return [", ".join(map(str, combination)) for combination in itertools.product(*parts)]
