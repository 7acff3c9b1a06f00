"""The drawn machine on which most statements of a paper hold, as a file of `configs/machines`."""

import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tramontane.claims.matching import Match
from tramontane.claims.uncertainty import Answer, spell
from tramontane.errors import InputError
from tramontane.study.catalogue import resolve_names
from tramontane.study.reading.layers import Layers, Origin
from tramontane.study.sampling.plausible import PLAUSIBLE, Unstated, lay_over
from tramontane.support.files import write_atomically
from tramontane.support.formatting import count, plural

NETWORK = "dragonfly-MM"
"""Whose minimal routing says how many virtual channels a buffer is for, as on the project's own machine."""

_MACHINE = "machine"
_SHAPE = ("name", "extends", "description", "source", "topology", "geometry", "nodes_per_switch", "routing")
_WIDTH = 118


def machine_of(of: Answer, draw: int, root: Path) -> dict[str, Any]:
    """Return what a draw sets of a machine, without a network."""
    origin = Origin(root / PLAUSIBLE / f"{of.study.sample.plausible}.yaml", "parameters")
    layers = Layers()
    layers.set(("machine",), {"name": NETWORK}, origin)
    resolve_names(layers, root)
    known = {name: _of_machine(each) for name, each in of.study.sample.known.items() if isinstance(each, Unstated)}
    lay_over(layers, known, of.draws[draw], set(), origin, f"draw={draw}")
    machine: dict[str, Any] = layers.data["machine"]
    return {key: value for key, value in machine.items() if key not in _SHAPE}


def _of_machine(parameter: Unstated) -> Unstated:
    """Return what of a parameter sets a machine: the rest may ask what only a point has, such as its ranks."""
    sets = {path: text for path, text in parameter.sets.items() if path.startswith(f"{_MACHINE}.")}
    return parameter.model_copy(update={"sets": sets, "where": parameter.where if sets else None})


def file_of(name: str, of: Answer, root: Path) -> str:
    """Return the text of the machine file of the best draw (InputError if no draw has been decided whole).

    Parameters
    ----------
    name : str
        The study's name, for the command that stands in the file.
    of : Answer
        What the study found.
    root : Path
        Root of the checkout, whose machines are extended.
    """
    if not of.matches:
        problem = "no draw has the points of all statements yet"
        raise InputError("--nearest", "", None, f"make uncertainty STUDY={name} SCALE={of.scale}", problem=problem)
    best = of.matches[0]
    machine = machine_of(of, best.draw, root)
    counts = of.study.scales[of.scale].processes
    where = f"{count(counts[0])} to {count(counts[-1])} processes" if counts else "these process counts"
    decided = len(best.holds) + len(best.violated)
    told = [
        f"Written by `tramontane uncertainty {name} --scale {of.scale} --size {of.size}"
        + (f" --waves {len(of.later) + 1}" if of.later else "")
        + f" --nearest FILE`: draw {best.draw}, the best of {plural(len(of.matches), 'whole machine')}.",
        f"Of {plural(decided, 'statement')}, as far as {where} decide them, {len(best.holds)} hold on it: "
        f"{', '.join(best.holds) or 'none'}.",
        f"It violates {', '.join(best.violated) or 'none'}.",
        "Drawn with it, and no part of a machine or set by the experiment: "
        + "; ".join(f"{key} {value}" for key, value in _beside(of, best).items())
        + ".",
    ]
    lines = ["# yaml-language-server: $schema=../../workflow/schemas/machine.schema.json"]
    for text in told:
        lines += textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="#   ")
    lines += [
        f"description: The drawn machine on which most statements hold ({of.study.title}).",
        f"source: drawn from {PLAUSIBLE}/{of.study.sample.plausible}.yaml",
        "extends: base",
        *(f"{key}: {_value(value)}" for key, value in machine.items()),
    ]
    return "\n".join(lines) + "\n"


def write(name: str, of: Answer, root: Path, file: Path) -> Match:
    """Write the machine file of the best draw; return what holds on it (InputError as `file_of`, UnwritableError)."""
    write_atomically(file, file_of(name, of, root))
    return of.matches[0]


def _beside(of: Answer, best: Match) -> dict[str, str]:
    """Return what was drawn, but is not the machine's."""
    found = {}
    for name, parameter in of.parameters.items():
        sets = getattr(parameter, "sets", {})
        if not all(path.startswith("machine.") and path != "machine.routing" for path in sets) or not sets:
            found[name] = spell(of.draws[best.draw][name])
    return found


def _value(value: Any) -> str:
    """Return a value as it stands in a file."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {_value(own)}" for key, own in value.items()) + "}"
    return str(value)
