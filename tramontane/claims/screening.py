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

    An effect is what a margin changes by over the whole range, as far as a step tells; of a choice, with another one.
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

    rows = _whole(places)
    if len(rows) < _FEWEST or np.ptp(margins[rows]) == 0:
        return (), math.inf
    number = len(parameters)
    problem: dict[str, Any] = {"num_vars": number, "names": list(parameters), "bounds": [[0.0, 1.0]] * number}
    kept = rows.ravel()
    found = morris.analyze(problem, places[kept], margins[kept], conf_level=LEVEL, seed=1)
    # SALib divides by the step; but a step takes another choice, which is a whole change.
    step = float(np.abs(np.diff(places[rows[0]], axis=0)).max())
    scale = [step if each.choice is not None else 1.0 for each in parameters.values()]
    means, widths = (np.asarray(found[key], dtype=float) * scale for key in ("mu_star", "mu_star_conf"))
    made = [
        Influence(name, float(mean), float(max(mean - width, 0.0)), float(mean + width))
        for name, mean, width in zip(parameters, means, widths, strict=True)
    ]
    return tuple(sorted(made, key=lambda own: -own.index)), 0.0


def without_influence(found: Sequence[Sequence[Influence]], names: Sequence[str]) -> list[str]:
    """Return the parameters whose mean effect on every statement is below `LEAST` of the largest one on it."""
    mattering = {own.parameter for each in found for own in each if own.index >= LEAST * each[0].index}
    return [name for name in names if name not in mattering] if any(found) else []


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
