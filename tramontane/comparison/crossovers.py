"""Sizes at which one algorithm becomes faster than another, measured and predicted."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tramontane.support.interpolation import zero_over_logarithm

#: Times closer to each other than by this factor less 1 say nothing about which algorithm is faster.
CLOSE = 0.05
#: Logarithms of the measured and the predicted time by size [B].
Curve = Mapping[int, tuple[float, float]]


@dataclass(frozen=True)
class Crossover:
    """Where two algorithms change places.

    Attributes
    ----------
    place : tuple of str
        Machine, shape, operation and date.
    small, large : str
        The algorithm that is measured to be faster below and above (as predicted, where none is measured).
    measured, predicted : tuple of float
        Sizes at which they change places [B]; several where times are close to each other, none where one is always the
        faster.
    """

    place: tuple[str, str, str, str]
    small: str
    large: str
    measured: tuple[float, ...]
    predicted: tuple[float, ...]


def crossovers(place: tuple[str, str, str, str], curves: Mapping[str, Curve]) -> list[Crossover]:
    """Return the crossovers of all pairs of algorithms that have at least two sizes in common."""
    found = []
    for first, second in itertools.combinations(sorted(curves), 2):
        sizes = sorted(curves[first].keys() & curves[second].keys())
        if len(sizes) < 2:
            continue
        gaps = [[curves[first][size][kind] - curves[second][size][kind] for size in sizes] for kind in (0, 1)]
        measured, predicted = (changes(sizes, own) for own in gaps)
        if measured or predicted:
            start = next(gap for gap in gaps[0 if measured else 1] if abs(gap) > math.log1p(CLOSE))
            names = (first, second) if start < 0 else (second, first)
            found.append(Crossover(place, *names, measured, predicted))
    return found


def changes(sizes: Sequence[int], gaps: Sequence[float]) -> tuple[float, ...]:
    """Return the sizes at which `gaps` change sign, interpolated linearly over the logarithm of the size.

    Gaps of times that are `CLOSE` say nothing.
    """
    found = []
    signed = [(size, gap) for size, gap in zip(sizes, gaps, strict=True) if abs(gap) > math.log1p(CLOSE)]
    for (low, before), (high, after) in itertools.pairwise(signed):
        if (before < 0) != (after < 0):
            found.append(zero_over_logarithm((low, high), (before, after)))
    return tuple(found)
