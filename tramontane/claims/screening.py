"""Which parameters matter at all: mean effects of trajectories that change one parameter a step (Morris 1991)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tramontane.claims.shares import LEVEL, Influence
from tramontane.study.sampling.sampling import Parameter

Floats = NDArray[np.float64]

MEAN_EFFECT = "mean effect on the margin"
"""What figures call the index."""
LEAST = 0.1
"""Of the largest mean effect on a statement: a parameter with less, on all statements, may stay as it is."""
_FEWEST = 2
"""Trajectories from which on a mean says anything."""


def effects(
    places: Floats, margins: Floats, parameters: Mapping[str, Parameter]
) -> tuple[tuple[Influence, ...], float]:
    """Return the mean absolute effect of each parameter on a margin, the largest first; chance is not known (0).

    An effect is what a margin changes by over the whole range, as far as a step tells: divided by the part of the range
    that the step has changed, where values are few not the same as a step in the unit cube; of a choice, with another.
    Machines that lack a margin take their trajectory with them.

    Parameters
    ----------
    places : array
        Where the machines with a margin lie, of shape (machines, parameters), between 0 and 1, in order.
    margins : array
        Margin on each.
    parameters : mapping
        The parameters by name.
    """
    from SALib.analyze import morris  # noqa: PLC0415 - slow to import

    finite = np.isfinite(margins)  # there is no effect on an infinite margin
    places, margins = places[finite], margins[finite]
    rows = _whole(places)
    if len(rows) < _FEWEST or np.ptp(margins[rows]) == 0:
        return (), math.inf
    number = len(parameters)
    problem: dict[str, Any] = {"num_vars": number, "names": list(parameters), "bounds": [[0.0, 1.0]] * number}
    kept = rows.ravel()
    step = float(np.abs(np.diff(places[rows], axis=1)).max())
    changes = _changes(places[rows], list(parameters.values()))
    # SALib divides by the step, so a margin's change is given as if the step had been that part of the range.
    given = np.cumsum(np.diff(margins[rows], axis=1, prepend=0) * np.insert(step / changes, 0, 1, axis=1), axis=1)
    found = morris.analyze(problem, places[kept], given.ravel(), conf_level=LEVEL, seed=1)
    means, widths = (np.asarray(found[key], dtype=float) for key in ("mu_star", "mu_star_conf"))
    made = [
        Influence(name, float(mean), float(max(mean - width, 0.0)), float(mean + width))
        for name, mean, width in zip(parameters, means, widths, strict=True)
    ]
    return tuple(sorted(made, key=lambda own: -own.index)), 0.0


def without_influence(found: Sequence[Sequence[Influence]], names: Sequence[str]) -> list[str]:
    """Return the parameters whose mean effect on every statement is below `LEAST` of the largest one on it."""
    mattering = {own.parameter for each in found for own in each if own.index >= LEAST * each[0].index}
    return [name for name in names if name not in mattering] if any(found) else []


def _changes(places: Floats, parameters: Sequence[Parameter]) -> Floats:
    """Return which part of a range each step of each trajectory changes; all of it where it takes another choice.

    Parameters
    ----------
    places : array
        Where the machines lie, of shape (trajectories, steps + 1, parameters).
    parameters : sequence of Parameter
        What each column is of.
    """
    parts = np.stack([_parts(places[..., column], each) for column, each in enumerate(parameters)], axis=-1)
    changes = np.minimum(np.abs(np.diff(parts, axis=1)), 1).max(axis=-1)
    return np.where(changes > 0, changes, 1.0)  # of nothing changed there is no effect, whatever it is divided by


def _parts(places: Floats, parameter: Parameter) -> Floats:
    """Return where in a range of 0 to 1 what is drawn lies; choices are 0, 1, 2 and so on."""
    values = [parameter.value(at) for at in (0.0, 1.0, *places.ravel().tolist())]
    if parameter.choice is not None:
        return np.array([parameter.choice.index(value) for value in values[2:]], dtype=float).reshape(places.shape)
    if not all(isinstance(value, int) for value in values):
        return places
    numbers = np.log(values) if parameter.log is not None else np.array(values, dtype=float)
    low, high = numbers[:2]
    return np.asarray((numbers[2:] - low) / (high - low)).reshape(places.shape)


def _whole(places: Floats) -> NDArray[np.int_]:
    """Return the rows of whole trajectories, a trajectory a row: each step changes one parameter, once in all."""
    steps = places.shape[1]
    found, first = [], 0
    while first + steps < len(places):
        rows = np.arange(first, first + steps + 1)
        changed = np.diff(places[rows], axis=0) != 0
        if (changed.sum(axis=1) == 1).all() and (changed.sum(axis=0) == 1).all():
            found.append(rows)
            first += steps + 1
        else:
            first += 1
    return np.array(found, dtype=int).reshape(-1, steps + 1)
