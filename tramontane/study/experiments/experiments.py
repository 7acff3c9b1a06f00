"""An experiment: a YAML file that says which points to compare, and why.

The grammar: a `base` point; parameters that are varied in all combinations (`cross`) or together (`zip`), by label
(`variants`) or by path; values computed from others (`derive`); combinations left out (`exclude`); the sizes at which
it can be run (`scales`), whose values stand wherever ``$name`` is written; and the `figure` it ends in. The expansion
to points is in :mod:`tramontane.study.experiments.expansion`.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, PrivateAttr, model_validator

from tramontane.errors import InputError, closest, show
from tramontane.study.experiments.figures import Figure
from tramontane.study.reading.layers import Keys, Origin, split
from tramontane.study.reading.messages import problem
from tramontane.study.reading.names import check_name
from tramontane.study.reading.project import find_root
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.reading.typed import check_reference, validated
from tramontane.study.sampling.paths import point_keys, takes_mapping, unknown_key
from tramontane.study.sampling.plausible import load_plausible
from tramontane.study.sampling.sampling import Sample
from tramontane.study.values.expressions import check_syntax, names_in
from tramontane.study.values.fields import Text, is_number_or_name
from tramontane.study.values.settings import Settings
from tramontane.support.layout import SCALES

PROCESSES = "processes"
"""Name of the scale's value that holds the process counts, where a study may ask for others."""

MEMBER = "member"
"""Name of the dimension that `ensemble` adds."""

DRAW = "draw"
"""Name of the dimension that `sample` adds."""

REFERENCE = re.compile(r"\$([A-Za-z_]\w*)")
"""What stands for a value of the scale."""

_MEMBERS = "a whole number, 1 or more, or $name of the scale"


def _number_or_name(value: object) -> object:
    """Refuse what is no whole number, such as true and false, which Python takes for some."""
    if value is not None and not is_number_or_name(value):
        raise problem(f"found {show(value)}", _MEMBERS)
    return value


class Paper(Settings):
    """Where the original is published."""

    figure: Text | None = Field(None, description="Figure or figures of the paper.", examples=["5a"])
    table: Text | None = Field(None, description="Table of the paper.")
    section: Text | None = Field(None, description="Section of the paper.", examples=["4.2"])
    doi: Text | None = Field(None, description="DOI of the paper.", examples=["10.5194/gmd-11-3409-2018"])


class Experiment(Settings):
    """One question, the points that answer it, and the figure."""

    title: Text = Field(description="Title of the experiment.")
    question: Text = Field(description="What it answers, as one sentence.")
    description: Text = Field(description="What is varied, what is kept, what to look at.")
    paper: Paper | None = Field(None, description="The figure it reproduces.")
    references: list[Text] = Field([], description="Keys of `configs/references.yaml`.")
    base: dict[str, Any] = Field({}, description="Any part of a point: what all points have in common.")
    cross: dict[str, Any] = Field(
        {},
        description="Parameters varied in all combinations, in the order of the dataset's dimensions: a path of a "
        "point (`ranks`, `workload.radix`, `machine`) or a name defined in `variants`, each with its list of values.",
    )
    variants: dict[str, dict[str, dict[str, Any]]] = Field(
        {}, description="For a named parameter, what each of its values sets in a point; keys may be dotted paths."
    )
    zip: list[dict[str, Any]] = Field(
        [],
        description="Blocks of equally long lists that vary together; each block is one dimension, named by its first "
        "key.",
    )
    sample: Sample | None = Field(
        None,
        description="Parameters that are drawn together; the dimension is called `draw`. All series share the draws.",
    )
    derive: dict[str, Any] = Field({}, description="Values computed for each point: a path and an expression.")
    exclude: list[Any] = Field([], description="Expressions; a combination for which one is true is left out.")
    ensemble: Annotated[int | str | None, Field(union_mode="left_to_right"), BeforeValidator(_number_or_name)] = Field(
        None,
        description="Number of members: the same point with seed, seed + 1, ... and, unless said otherwise, 1 ns of "
        "`start_jitter`; the dimension is called `member`.",
    )
    scales: dict[str, dict[str, Any]] = Field(
        description=f"The sizes at which it can be run: {', '.join(SCALES)}; each gives values for the names written "
        "with $."
    )
    figure: Figure = Field(Figure(), description="What is drawn.")

    _path: Path = PrivateAttr(Path("experiment.yaml"))
    _root: Path = PrivateAttr(Path())

    @model_validator(mode="after")
    def _known_scales(self) -> Self:
        for name in self.scales:
            if name not in SCALES:
                hint = closest(name, SCALES)
                raise problem(f"unknown scale '{name}'", ", ".join(SCALES), key=f"scales.{name}", hint=hint)
        if not self.scales:
            raise problem("found no scale", f"at least one of {', '.join(SCALES)}", key="scales")
        return self

    @property
    def name(self) -> str:
        """Name of the experiment: its file without the ending."""
        return self._path.stem

    @property
    def path(self) -> Path:
        """The file it was read from."""
        return self._path

    @property
    def root(self) -> Path:
        """The project's folder, in which names of machines and grids are looked up."""
        return self._root

    def origin(self, *keys: str) -> Origin:
        """Return the origin of a key of this file, for error lines."""
        return Origin(self._path, ".".join(keys))

    def dimensions(self) -> dict[str, str]:
        """Return the dimensions of the dataset: name, and the key of the file that makes it, in order.

        A dimension is called like the last part of its path, as many parts as needed to tell it from the others:
        ``workload.radix`` is `radix`; with both ``machine.link.latency`` and ``machine.injection.latency`` they are
        `link_latency` and `injection_latency`.
        """
        keys = [*self.cross, *(next(iter(block)) for block in self.zip if block)]
        names = dict(zip(_short_names(keys), keys, strict=True))
        drawn = {DRAW: "sample"} if self.sample is not None else {}
        return names | drawn | ({MEMBER: "ensemble"} if self.ensemble is not None else {})


def load_experiment(path: str | Path) -> Experiment:
    """Read and check an experiment.

    Everything that can be seen without expanding it is checked; `tramontane.study.expand` checks each point.

    Raises
    ------
    InputError
        With file, key, what was found and what is allowed.
    """
    source = Path(path)
    check_name(source)
    experiment = validated(Experiment, cached_yaml(source), source)
    experiment._path = source
    experiment._root = find_root(source.parent)
    _check(experiment)
    return experiment


def references_in(value: object) -> Iterator[str]:
    """Yield the names written with $ anywhere in a value."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from references_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from references_in(item)
    elif isinstance(value, str):
        match = REFERENCE.fullmatch(value.strip())
        if match:
            yield match[1]


def _short_names(keys: list[str]) -> list[str]:
    """Return for each dotted key as few of its last parts as distinguish it."""
    parts = [split(key) for key in keys]

    def name(own: Keys) -> str:
        for length in range(1, len(own)):
            if sum(other[-length:] == own[-length:] for other in parts) == 1:
                return "_".join(own[-length:])
        return "_".join(own)

    return [name(own) for own in parts]


def _check(experiment: Experiment) -> None:
    """Check what pydantic cannot see, and look up what is only named."""
    if experiment.sample is not None and experiment.sample.plausible is not None:
        origin = experiment.origin("sample", "plausible")
        ranges = load_plausible(experiment.sample.plausible, experiment.root, origin)
        experiment.sample.choose(ranges.parameters, experiment.path, "sample")
    _check_paths(experiment)
    _check_dimensions(experiment)
    _check_expressions(experiment)
    _check_scales(experiment)
    _check_figure(experiment)
    for number, key in enumerate(experiment.references):
        check_reference(key, experiment.root, experiment.path, f"references[{number}]")


def _check_paths(experiment: Experiment) -> None:
    """Check that everything that is set exists in a point."""
    _check_settings(experiment, experiment.base, ("base",), ())
    for label, values in experiment.variants.items():
        if label not in experiment.cross:
            names = ", ".join(experiment.cross) or "nothing yet"
            raise InputError(
                experiment.path,
                f"variants.{label}",
                label,
                f"a key of cross: {names}",
                hint=closest(label, experiment.cross),
            )
        for value, settings in values.items():
            _check_settings(experiment, settings, ("variants", label, value), ())
    for key in experiment.cross:
        if key not in experiment.variants:
            _check_path(experiment, ("cross", key), split(key), others=experiment.variants)
    for number, block in enumerate(experiment.zip):
        for key in block:
            _check_path(experiment, (f"zip[{number}]", key), split(key))
    for key in experiment.sample.parameters if experiment.sample else ():
        _check_path(experiment, ("sample.parameters", key), split(key))
    for key in experiment.derive:
        _check_path(experiment, ("derive", key), split(key))


def _check_settings(experiment: Experiment, settings: Mapping[str, Any], written: Keys, path: Keys) -> None:
    for key, value in settings.items():
        below = (*path, *split(key))
        _check_path(experiment, (*written, key), below)
        if isinstance(value, dict):
            if point_keys(below) is not None:
                _check_settings(experiment, value, (*written, key), below)
            elif not takes_mapping(below):
                raise InputError(experiment.path, ".".join((*written, key)), value, "a value, not a mapping")


def _check_path(experiment: Experiment, written: Keys, path: Keys, others: Mapping[str, Any] | None = None) -> None:
    found = unknown_key(path)
    if found is None:
        return
    depth, allowed = found
    names = [*allowed, *(others or {})]
    extra = "" if others is None else "; or a name with its values under variants"
    inside = f" in '{'.'.join(path)}'" if len(path) > 1 and written[-1] == ".".join(path) else ""
    raise InputError(
        experiment.path,
        ".".join(written),
        path[depth],
        (", ".join(names) or "nothing below this key") + extra,
        problem=f"unknown key '{path[depth]}'{inside}",
        hint=closest(path[depth], names),
    )


def _check_dimensions(experiment: Experiment) -> None:
    names = _short_names([*experiment.cross, *(next(iter(block)) for block in experiment.zip if block)])
    for name in names:
        taken = {MEMBER: experiment.ensemble, DRAW: experiment.sample}
        if names.count(name) > 1 or taken.get(name) is not None:
            raise InputError(experiment.path, "cross", name, "each parameter once", problem=f"two dimensions '{name}'")
    for number, block in enumerate(experiment.zip):
        if not block:
            raise InputError(experiment.path, f"zip[{number}]", block, "paths of a point with a list of values each")
    members = experiment.ensemble
    named = isinstance(members, str) and any(references_in(members))
    if not named and members is not None and (not isinstance(members, int) or members < 1):
        raise InputError(experiment.path, "ensemble", members, _MEMBERS)


def _check_expressions(experiment: Experiment) -> None:
    for number, expression in enumerate(experiment.exclude):
        check_syntax(expression, experiment.origin(f"exclude[{number}]"))
    for key, expression in experiment.derive.items():
        check_syntax(expression, experiment.origin("derive", key))


def _check_scales(experiment: Experiment) -> None:
    """Check that each scale gives the values that are used, and no others."""
    size = experiment.sample.size if experiment.sample else None
    parts = (experiment.base, experiment.cross, experiment.variants, experiment.zip, experiment.ensemble, size)
    used = {name for part in (*parts, experiment.derive) for name in references_in(part)}
    for scale, values in experiment.scales.items():
        inner = {name for value in values.values() for name in references_in(value)}
        for name in sorted((used | inner) - set(values)):
            raise InputError(
                experiment.path,
                f"scales.{scale}.{name}",
                None,
                f"a value, because ${name} is used; the scale has {', '.join(values) or 'none'}",
                problem="missing",
                hint=closest(name, values),
            )
    texts = [*experiment.exclude, *experiment.derive.values()]
    used |= {name for text in texts if isinstance(text, str) for name in names_in(text)}
    for scale, values in experiment.scales.items():
        for name in values:
            if name not in used and name not in references_in(list(values.values())):
                raise InputError(
                    experiment.path,
                    f"scales.{scale}.{name}",
                    values[name],
                    f"names that are used as $name or in an expression: {', '.join(sorted(used))}",
                    problem=f"unused value '{name}'",
                    hint=closest(name, used),
                )


def _check_figure(experiment: Experiment) -> None:
    dimensions = [*experiment.dimensions(), *(["phase"] if experiment.figure.y == "phase_time_s" else [])]
    for key, name in experiment.figure.dimensions():
        if name not in dimensions:
            allowed = f"a dimension: {', '.join(dimensions) or 'but the experiment varies nothing'}"
            raise InputError(experiment.path, f"figure.{key}", name, allowed, hint=closest(name, dimensions))
