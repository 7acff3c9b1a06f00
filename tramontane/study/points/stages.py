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

#: Stages of a window, at least.
WINDOW = 8

#: Windows of a phase, at least, so that their scatter is known.
LEAST_WINDOWS = 4

#: How much of a stage's time a jump between two windows may add or take, because the stages before leave the network
#: in another state than those that were left out would. Fitted to full simulations: two points of three are off by half
#: of that. More where no rank waits for a stage to end.
JUMP = 0.15
SLIDING_JUMP = 1.0

_ROUNDING = 1e-9

Windows = list[list[tuple[int, int]]]
"""Of each phase, first stage and number of stages of each window, in order."""


def windows(stages: Sequence[int], share: float, seed: int) -> Windows:
    """Draw the stages that are simulated.

    A phase is cut into equal parts, one for each window, which lies in it at random. There are about as many windows as
    stages in each: many windows tell the scatter, long ones are seldom disturbed by a jump. A phase that has too few
    stages is simulated whole, as one window.

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
        length = _length(count, share)
        parts = int(share * count / length + _ROUNDING)
        if parts < LEAST_WINDOWS:
            drawn.append([(0, count)] * (count > 0))
            continue
        edges = [part * count // parts for part in range(parts + 1)]
        where = random.random(parts)
        drawn.append(
            [
                (begin + int(own * (end - begin - length + 1)), length)
                for own, (begin, end) in zip(where, itertools.pairwise(edges), strict=True)
            ]
        )
    return drawn


def least_share(stages: Sequence[int]) -> float:
    """Return the share from which on at least one phase is sampled; more than 1 where none can be."""
    return LEAST_WINDOWS * WINDOW / max([*stages, 1])


def is_sampled(stages: Sequence[int], share: float) -> bool:
    """Whether a phase is sampled at all."""
    return any(share * count + _ROUNDING >= LEAST_WINDOWS * WINDOW for count in stages)


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


def estimate(drawn: Windows, stages: Sequence[int], ends: Sequence[float], jump: float = JUMP) -> Estimate:
    """Return how long all stages take.

    A phase's windows stand for all its stages in proportion. How much a window's pace scatters is taken from the
    differences between neighbours, for the pace changes slowly with the distance of partners, and is a mean of those
    that were drawn; the part of the stages that was simulated does not scatter (Cochran 1977, sections 5.6 and 8.11).
    Neighbouring differences share a window, so that they have fewer degrees of freedom than there are (von Neumann et
    al. 1941); those of phases that scatter differently are joined as by Welch (1947). What jumps may do is the same at
    all of them, and independent of that.

    Parameters
    ----------
    drawn : list of list of (int, int)
        See `windows`.
    stages : sequence of int
        Stages of each phase.
    ends : sequence of float
        When the last rank ended each window, by phase, from the first start of a rank [s].
    jump : float
        What a jump may add or take, in stages.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

    lasts = np.concatenate([[0.0], np.asarray(ends, dtype=float)])
    phases, variances, degrees, jumps, at = [], [], [], 0.0, 0
    for own, count in zip(drawn, stages, strict=True):
        lengths = np.array([length for _, length in own])
        took = np.diff(lasts[at : at + len(own) + 1])
        at += len(own)
        simulated = int(lengths.sum())
        phases.append(float(took.sum()) * count / simulated if simulated else 0.0)
        if len(own) > 1:
            pace = took / lengths
            of_pace = float((np.diff(pace) ** 2).sum()) / (2 * (len(own) - 1))
            variances.append(count**2 * (1 - simulated / count) * of_pace / len(own))
            degrees.append(2 * (len(own) - 1) ** 2 / (3 * len(own) - 4))
            jumps += jump * len(own) * float(took.sum()) / simulated * count / simulated
    variance = sum(variances)
    scatter = 0.0
    if variance > 0:
        joined = 1 / sum((own / variance) ** 2 / of_own for own, of_own in zip(variances, degrees, strict=True))
        scatter = float(stdtrit(joined, 0.975)) * math.sqrt(variance)
    return Estimate(phases, math.hypot(scatter, jumps))


def _length(count: int, share: float) -> int:
    return max(WINDOW, math.isqrt(int(share * count + _ROUNDING)))
