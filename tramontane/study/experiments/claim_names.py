"""Checks that what statements name exists: experiments, their dimensions and coordinates, curves, names of choices."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NoReturn

from tramontane.errors import InputError, closest
from tramontane.study.catalogue import list_experiments
from tramontane.study.experiments.claims import Claim, list_claims, load_claims, refuse_twice, under
from tramontane.study.experiments.expansion import swept
from tramontane.study.experiments.experiments import load_experiment
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.project import EXPERIMENTS

STEP = "step"
"""A dimension that no experiment declares: the steps of a program, which are known when it has run."""

Dimensions = Mapping[str, Collection[str]]
"""Coordinates as text, by dimension."""


def check_claims(path: Path, root: Path) -> None:
    """Check the statements of one paper, and that what they name exists (InputError)."""
    known = [file.stem for file in list_experiments(root)]
    dimensions = cache(lambda name: _dimensions(root / EXPERIMENTS / f"{name}.yaml"))
    others = _elsewhere(path, root)
    for identity, claim in load_claims(path, root).claims.items():
        if identity in others:
            refuse_twice(path, identity, others[identity])
        here = Origin(path, "").below("claims", identity)
        _check_choices(claim, here)
        for written, text in _experiments(claim):
            for choice, values in claim.ways:
                experiment = under(text, values)
                if experiment is not None:
                    _check_one(experiment, known, here.below(*written), "an experiment", choice)
        for written, name in _curves(claim):
            _check_curve(claim, name, dimensions, here.below(*written))


def _elsewhere(path: Path, root: Path) -> dict[str, Path]:
    """Return the files of the statements of all other files that can be read."""
    found: dict[str, Path] = {}
    for file in list_claims(root):
        if file.resolve() != path.resolve():
            with contextlib.suppress(InputError):  # what is wrong there, its own check says
                found |= dict.fromkeys(load_claims(file, root).claims, file)
    return found


def _check_curve(claim: Claim, name: str, dimensions: Callable[[str], Dimensions], here: Origin) -> None:
    """Refuse a curve that no choice has; that some lack it may be meant, and is told with the verdict."""
    if name not in claim.curves and claim.along is None:
        _refuse(name, claim.curves, here, "a curve", "")
    first: InputError | None = None
    for choice, values in claim.ways:
        experiment, select = claim.place(name, values)
        if experiment is None:
            continue
        try:
            _check_place(select, dimensions(experiment), here, choice)
        except InputError as error:
            first = first or error
        else:
            return
    if first is not None:
        raise first


def _dimensions(path: Path) -> Dimensions:
    """Return the coordinates that an experiment has at any of its scales."""
    experiment = load_experiment(path)
    found: dict[str, set[str]] = {}
    for scale in experiment.scales:
        for name, coordinates in swept(experiment, scale).items():
            found.setdefault(name, set()).update(map(str, coordinates))
    return found


def _check_choices(claim: Claim, here: Origin) -> None:
    """Refuse names written with $ that no choice gives, and such that are given for nothing."""
    texts = [text for _, text in _experiments(claim)]
    selections = (claim.fixed, *(curve.select for curve in claim.curves.values()))
    texts += [text for select in selections for text in select.values()]
    asked = {text[1:] for text in texts if text.startswith("$")}
    given = {name: choice for choice, values in claim.choices.items() for name in values}
    for name in sorted(asked - given.keys()):
        _refuse(f"${name}", given, here.below("choices"), "a name that a choice gives", "")
    for name in sorted(given.keys() - asked):
        _refuse(name, asked, here.below("choices", given[name]), "a name that is written with $", "")


def _experiments(claim: Claim) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield names of experiments, with the keys at which they are written."""
    if claim.experiment is not None:
        yield ("experiment",), claim.experiment
    for name, curve in claim.curves.items():
        if curve.experiment is not None:
            yield ("curves", name, "experiment"), curve.experiment


def _curves(claim: Claim) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield names of curves, with the keys at which they are written."""
    for name in claim.curves:
        yield ("curves", name, "select"), name
    for number, check in enumerate(claim.checks):
        for key, name in check.called():
            if name not in claim.curves:
                yield ("checks", f"[{number}]", key), name


def _check_place(select: Mapping[str, str], there: Dimensions, here: Origin, choice: str) -> None:
    """Check dimensions and coordinates of a curve, which may be shell patterns."""
    for dim, pattern in select.items():
        if dim == STEP:
            continue
        _check_one(dim, there, here, "a dimension", choice)
        if not any(fnmatchcase(coordinate, pattern) for coordinate in there[dim]):
            _refuse(pattern, there[dim], here, f"a coordinate of {dim}", choice)


def _check_one(name: str, there: Collection[str], here: Origin, what: str, choice: str) -> None:
    if name not in there:
        _refuse(name, there, here, what, choice)


def _refuse(name: str, there: Collection[str], here: Origin, what: str, choice: str) -> NoReturn:
    where = f"choice '{choice}'" if choice else None
    known = sorted(there)
    allowed = f"{what}: {', '.join(known) or 'there is none'}"
    raise here.mistake(name, allowed, hint=closest(name, known), where=where)
