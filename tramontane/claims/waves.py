"""More draws near the machines that fit best: the waves of history matching (Craig et al. 1997).

A first wave spans all plausible machines, and shares are its alone. Each later one stays near those on which most
statements hold, half as far as the one before.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tramontane.study.sampling.sampling import Parameter, in_unit_cube

Floats = NDArray[np.float64]

CENTRES = 4
"""Machines near which a wave draws."""
WAVE = 16
"""Draws of a wave, unless the first one has fewer."""
_WIDTH = 0.5
"""Of a range, of the first wave near machines; each later one has half the width."""
_KEPT = 0.5
"""Share of the draws that keep a machine's choice."""


def near(centres: Floats, parameters: Sequence[Parameter], size: int, wave: int, seed: int) -> Floats:
    """Return where the draws of a wave lie, of shape (size, parameters), between 0 and 1.

    Parameters
    ----------
    centres : array
        Where the best machines lie, the best one first, of shape (machines, parameters); they take turns.
    parameters : sequence of Parameter
        What is drawn.
    size : int
        Draws.
    wave : int
        Its number, from 2 on.
    seed : int
        The study's.
    """
    width = _WIDTH / 2 ** (wave - 2)
    units = in_unit_cube("lhs", size, len(parameters), seed + wave)
    around = centres[np.arange(size) % len(centres)]
    found = np.empty_like(units)
    for number, parameter in enumerate(parameters):
        unit, centre = units[:, number], around[:, number]
        if parameter.choice is None:
            moved = np.abs(centre + width * (unit - 0.5))  # what leaves the range comes back as far inside
            found[:, number] = np.where(moved > 1, 2 - moved, moved)
        else:
            found[:, number] = np.where(unit < _KEPT, centre, (unit - _KEPT) / (1 - _KEPT))
    return found
