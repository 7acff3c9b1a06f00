"""Sampled stages: windows of an all-to-all's stages that stand for all of them, and how well they do.

The network is not drained between two windows: ranks go from the last stage of one to the first stage of the next as if
there were none between. Windows rather than single stages are drawn because neighbouring stages meet the same links,
and ranks that are some stages apart disturb each other there (docs/uncertainty.md).
"""

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

#: Stages of a window.
WINDOW = 8

#: Windows of a phase, at least, so that their scatter is known.
LEAST_WINDOWS = 4

Windows = list[list[tuple[int, int]]]
"""Of each phase, first stage and number of stages of each window, in order."""


def windows(stages: Sequence[int], share: float, seed: int) -> Windows:
    """Draw the stages that are simulated.

    A phase is cut into equal parts, one for each window, which lies in it at random. A phase that has too few stages is
    simulated whole, as one window.

    Parameters
    ----------
    stages : sequence of int
        Stages of each phase.
    share : float
        Part of them that is simulated, at most.
    seed : int
        Of the point.
    """
    random = np.random.default_rng([seed, WINDOW])
    drawn: Windows = []
    for count in stages:
        parts = _parts(count, share)
        edges = [part * count // parts for part in range(parts + 1)] if parts else []
        room = [end - begin - WINDOW + 1 for begin, end in itertools.pairwise(edges)]
        firsts = [
            begin + int(where * more) for begin, where, more in zip(edges, random.random(parts), room, strict=False)
        ]
        drawn.append([(first, WINDOW) for first in firsts] or [(0, count)] * (count > 0))
    return drawn


def least_share(stages: Sequence[int]) -> float:
    """Return the share from which on at least one phase is sampled; more than 1 where none can be."""
    return LEAST_WINDOWS * WINDOW / max([*stages, 1])


def is_sampled(stages: Sequence[int], share: float) -> bool:
    """Whether a phase is sampled at all."""
    return any(_parts(count, share) for count in stages)


class Estimate(NamedTuple):
    """What windows tell.

    Attributes
    ----------
    phases : list of float
        From the last end of the phase before to its own last end [s].
    error : float
        Half-width of the 95 % interval of their sum [s].
    """

    phases: list[float]
    error: float


def estimate(drawn: Windows, stages: Sequence[int], ends: Sequence[float]) -> Estimate:
    """Return how long all stages take.

    A phase's windows stand for all its stages in proportion. How much a window's pace scatters is taken from the
    differences between neighbours, for the pace changes slowly with the distance of partners, and is a mean of those
    that were drawn; the part of the stages that was simulated does not scatter (Cochran 1977, sections 5.6 and 8.11).

    Parameters
    ----------
    drawn : list of list of (int, int)
        See `windows`.
    stages : sequence of int
        Stages of each phase.
    ends : sequence of float
        When the last rank ended each window, by phase, from the first start of a rank [s].
    """
    lasts = np.concatenate([[0.0], np.asarray(ends, dtype=float)])
    phases, variance, degrees, at = [], 0.0, 0, 0
    for own, count in zip(drawn, stages, strict=True):
        lengths = np.array([length for _, length in own])
        took = np.diff(lasts[at : at + len(own) + 1])
        at += len(own)
        simulated = int(lengths.sum())
        phases.append(float(took.sum()) * count / simulated if simulated else 0.0)
        if len(own) > 1:
            pace = took / lengths
            scatter = float((np.diff(pace) ** 2).sum()) / (2 * (len(own) - 1))
            variance += count**2 * (1 - simulated / count) * scatter / len(own)
            degrees += len(own) - 1
    error = float(stats.t.ppf(0.975, degrees)) * math.sqrt(variance) if degrees else 0.0
    return Estimate(phases, error)


def _parts(count: int, share: float) -> int:
    parts = int(share * count / WINDOW + 1e-9)
    return parts if parts >= LEAST_WINDOWS else 0
