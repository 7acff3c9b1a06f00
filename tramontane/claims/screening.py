"""Which parameters matter at all: mean effects of trajectories that change one parameter a step (Morris 1991)."""

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tramontane.claims.matching import apart
from tramontane.claims.shares import LEVEL, Influence
from tramontane.study.sampling import Parameter

Floats = NDArray[np.float64]

MEAN_EFFECT = "mean effect on the margin"
"""What figures call the index."""
LEAST = 0.1
"""Of the largest mean effect on a statement: a parameter with less, on all statements, may stay as it is."""
RESAMPLES = 100
"""Bootstrap samples of a mean effect."""
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
    rows = _whole(places)
    if len(rows) < _FEWEST or np.ptp(margins[rows]) == 0:
        return (), math.inf
    before, after = rows[:, :-1].ravel(), rows[:, 1:].ravel()
    changed = np.nonzero(places[before] != places[after])
    steps = apart(places[before], places[after], parameters)[changed]
    # A row for each trajectory, in which each parameter changes once: in which order differs.
    by_parameter = np.argsort(changed[1].reshape(len(rows), -1), axis=1)
    sizes = np.abs(margins[after] - margins[before]) / np.where(steps > 0, steps, 1)
    each = np.take_along_axis(sizes.reshape(len(rows), -1), by_parameter, axis=1)
    means = each.mean(axis=0)
    again = np.random.default_rng(1).integers(0, len(rows), (RESAMPLES, len(rows)))
    widths = NormalDist().inv_cdf(0.5 + LEVEL / 2) * each[again].mean(axis=1).std(axis=0, ddof=1)
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
