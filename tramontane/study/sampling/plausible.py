"""What a paper does not state: each parameter with what it may plausibly have been, and why.

A file of ``configs/plausible`` belongs to one paper. It is written before any result is looked at; samples of
experiments name it. What is drawn is laid over the finished points of an experiment, so that one draw gives all sides
of a comparison the same machine.
"""

from collections.abc import Mapping, Set
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import Field
from pydantic_core import PydanticCustomError

from tramontane.errors import InputError, closest, show
from tramontane.study.networks.machines import SHAPED_BY
from tramontane.study.networks.network import network
from tramontane.study.reading.layers import Keys, Layers, Origin, split
from tramontane.study.reading.names import is_name
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.reading.typed import check_reference, validated
from tramontane.study.sampling.paths import leaves, unknown_key
from tramontane.study.sampling.sampling import Parameter
from tramontane.study.values.expressions import check_syntax, evaluate, names_in
from tramontane.study.values.fields import Text
from tramontane.study.values.settings import Settings
from tramontane.study.values.units import in_base_units

PLAUSIBLE = Path("configs/plausible")

VALUE = "value"
"""In an expression: what is drawn for the parameter, as an experiment would state it."""
CHANNELS = "channels"
"""In an expression: the virtual channels of the point's network."""

_CONSTANTS = {"True", "False", "None"}


class Unstated(Parameter):
    """A parameter that a paper does not state."""

    base: int | float | str = Field(
        description="What the project's own machine has: a value inside the range, or one of the choices."
    )
    sets: dict[str, Text] = Field(
        description="What it sets: paths of a point, each with an expression of `value` (what is drawn), of parameters "
        "by name, of the point's own values (`machine_link_bandwidth`, `workload_kind`, ...; quantities are numbers of "
        "base units), `ranks` and `channels` (the network's virtual channels). Parameters above it in the file are "
        "set already.",
        examples=[{"machine.packet": "value"}],
    )
    where: Text | None = Field(
        None, description="Text of the same names; the parameter says nothing of points for which it is false."
    )
    overrides: bool = Field(
        False,
        description="Whether it also sets what an experiment varies, because its expression heeds that; otherwise the "
        "experiment's value stays.",
    )
    reason: Text = Field(description="Why this range: where it is said, or two products of the time.")

    @property
    def uses(self) -> set[str]:
        """The names that its expressions use."""
        return {name for text in (*self.sets.values(), self.where or "True") for name in names_in(text)}


class Plausible(Settings):
    """What one paper leaves open."""

    title: Text = Field(description="What it is about.")
    paper: Text = Field(description="Key of `configs/references.yaml`.")
    description: Text = Field(description="How the ranges were chosen.")
    parameters: dict[str, Unstated] = Field(description="Parameters by names of letters, digits and _.")
    unvaried: dict[str, Text] = Field(
        {}, description="What the paper leaves open, too, but is not drawn, and why; for readers."
    )


def list_plausible(root: Path) -> list[Path]:
    """Return the files of plausible ranges below `root`."""
    return sorted((root / PLAUSIBLE).glob("*.yaml"))


def load_plausible(name: str, root: Path, origin: Origin) -> Plausible:
    """Return the plausible ranges of a name.

    Parameters
    ----------
    name : str
        A file of ``configs/plausible`` without its ending.
    root : Path
        The project's folder.
    origin : Origin
        Where the name is written, for the error line.

    Raises
    ------
    InputError
        If there is no such file, or it holds a mistake.
    """
    path = root / PLAUSIBLE / f"{name}.yaml"
    if not is_name(name) or not path.is_file():
        known = [each.stem for each in list_plausible(root)]
        allowed = f"a file of {PLAUSIBLE}: {', '.join(known) or 'there is none'}"
        raise origin.mistake(name, allowed, hint=closest(name, known))
    return read_plausible(path, root)


def read_plausible(path: Path, root: Path) -> Plausible:
    """Read and check a file of plausible ranges (InputError)."""
    found = validated(Plausible, cached_yaml(path), path)
    check_reference(found.paper, root, path, "paper")
    if not found.parameters:
        raise InputError(path, "parameters", None, "parameters by name")
    for name, parameter in found.parameters.items():
        _check(name, parameter, found.parameters.keys(), Origin(path, f"parameters.{name}"))
    return found


def _check(name: str, parameter: Unstated, names: Set[str], origin: Origin) -> None:
    """Check what pydantic can't see of a parameter."""
    if not name.isidentifier() or name in {VALUE, CHANNELS} | _names_of_points():
        allowed = f"a name of letters, digits and _ that no point has, not {VALUE} or {CHANNELS}"
        raise origin.mistake(name, allowed)
    if parameter.place(parameter.base) is None:
        raise origin.below("base").mistake(parameter.base, f"a value in {parameter.spelled}")
    for path, expression in parameter.sets.items():
        written = origin.below("sets", path)
        wrong = unknown_key(split(path))
        if wrong is not None:
            depth, allowed_keys = wrong
            key = split(path)[depth]
            problem = f"unknown key '{key}' in '{path}'"
            allowed = ", ".join(allowed_keys) or "nothing below this key"
            hint = closest(key, allowed_keys)
            raise written.mistake(key, allowed, problem=problem, hint=hint)
        _check_names(expression, names, written)
    if parameter.where is not None:
        _check_names(parameter.where, names, origin.below("where"))


def _check_names(expression: str, names: Set[str], origin: Origin) -> None:
    check_syntax(expression, origin)
    allowed = names | _names_of_points() | {VALUE, CHANNELS} | _CONSTANTS
    for used in sorted(names_in(expression) - allowed):
        known = sorted(names | {VALUE, CHANNELS})
        problem = f"unknown name '{used}' in {show(expression)}"
        shown = f"{', '.join(known)}, or a path of a point with _ for its dots"
        hint = closest(used, sorted(allowed))
        raise origin.mistake(used, shown, problem=problem, hint=hint)


@cache
def _names_of_points() -> frozenset[str]:
    return frozenset("_".join(path) for path in leaves())


def lay_over(
    layers: Layers,
    parameters: Mapping[str, Unstated],
    drawn: Mapping[str, Any],
    varied: Set[Keys],
    origin: Origin,
    where: str,
) -> None:
    """Set in a point what a draw says, parameter by parameter in the file's order.

    Parameters
    ----------
    layers : Layers
        Settings of the point, with the names of machines and grids replaced.
    parameters : mapping
        All parameters of the file, by name. One that is not drawn has its base value, and sets nothing unless its
        expressions name one that is.
    drawn : mapping
        What is drawn, by the name of the parameter.
    varied : set of keys
        Paths that the experiment varies itself.
    origin : Origin
        Of the file's parameters, for error lines.
    where : str
        The point, for error lines.
    """
    names: dict[str, Any] = dict.fromkeys(_names_of_points())
    names |= {"_".join(path): in_base_units(value) for path, value in layers.leaves()}
    values = {name: drawn.get(name, parameter.base) for name, parameter in parameters.items()}
    names |= {name: in_base_units(value) for name, value in values.items()}
    for name, parameter in parameters.items():
        if name not in drawn and not drawn.keys() & parameter.uses:
            continue
        own = names | {VALUE: values[name]}
        below = origin.below(name)
        if parameter.where is not None and not _value(parameter.where, own, layers, below.below("where"), where):
            continue
        for path, expression in parameter.sets.items():
            keys = split(path)
            if keys in varied and not parameter.overrides:
                continue
            written = below.below("sets", path)
            value = _value(expression, own, layers, written, where)
            layers.set(keys, list(value) if isinstance(value, tuple) else value, written)
            names["_".join(keys)] = own["_".join(keys)] = in_base_units(value)


def _value(expression: str, names: Mapping[str, Any], layers: Layers, origin: Origin, where: str) -> Any:
    if CHANNELS in names_in(expression):
        machine = layers.data.get("machine", {})
        try:
            channels = network({key: machine.get(key) for key in SHAPED_BY}).virtual_channels
        except PydanticCustomError:  # which the point's own check says better
            channels = 1
        names = {**names, CHANNELS: channels}
    return evaluate(expression, names, origin, where)
