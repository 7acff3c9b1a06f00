"""The box of parameters in which a statement holds: the patient rule induction method (PRIM).

Friedman and Fisher 1999, with peeling only, on parameters between 0 and 1: again and again that slice is cut off the
box whose loss gains most for the share of machines on which the statement holds. A few lines of ours, because choices
have to lose a value at a time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

ENOUGH = 0.95
"""Share of machines inside that makes a box."""
SLICE = 0.1
"""Share of the machines inside that a slice holds, at least one."""
FEWEST = 8
"""Machines that a box holds at least: fewer say nothing."""


@dataclass(frozen=True)
class Box:
    """A part of the parameters.

    Attributes
    ----------
    low, high : array
        Its sides, for each parameter between 0 and 1.
    inside : int
        Machines inside.
    density : float
        Share of those on which the statement holds.
    coverage : float
        Share of all machines on which it holds that are inside.
    """

    low: Floats
    high: Floats
    inside: int
    density: float
    coverage: float

    @property
    def cut(self) -> list[int]:
        """The parameters that it restricts."""
        return [number for number in range(self.low.size) if self.low[number] > 0 or self.high[number] < 1]


def find_box(places: Floats, holds: Bools, steps: dict[int, int]) -> Box | None:
    """Return the first box in which a statement holds at `ENOUGH` of the machines; None if there is none.

    Parameters
    ----------
    places : array
        Where the values of machines lie, of shape (machines, parameters), between 0 and 1.
    holds : array
        Whether the statement holds on each.
    steps : dict
        Number of choices of the parameters that are choices: they lose a choice at a time.
    """
    low, high = np.zeros(places.shape[1]), np.ones(places.shape[1])
    while True:
        inside = np.all((places >= low) & (places <= high), axis=1)
        count = int(inside.sum())
        if count < FEWEST or not holds[inside].any():
            return None
        density = float(holds[inside].mean())
        if density >= ENOUGH:
            return Box(low, high, count, density, float(holds[inside].sum() / holds.sum()))
        best: tuple[float, int, int, float] | None = None
        for number in range(places.shape[1]):
            for side, edge in _slices(places[inside, number], low[number], high[number], steps.get(number)):
                kept = inside & (places[:, number] >= edge if side == 0 else places[:, number] <= edge)
                if FEWEST <= kept.sum() < count:
                    # Of slices that gain alike the thinner one: patience leaves more to choose from.
                    gain = (float(holds[kept].mean()) - density) / (count - int(kept.sum()))
                    if best is None or gain > best[0]:
                        best = gain, number, side, edge
        if best is None:
            return None
        _, number, side, edge = best
        low, high = low.copy(), high.copy()
        (low if side == 0 else high)[number] = edge


def _slices(values: Floats, low: float, high: float, choices: int | None) -> list[tuple[int, float]]:
    """Return the edges that a cut from below (0) and from above (1) would leave."""
    if choices is not None:
        step = 1 / choices
        return [(0, low + step), (1, high - step)] if high - low > 1.5 * step else []
    ordered = np.sort(values)
    cut = max(1, int(SLICE * values.size))
    inner, outer = ordered[ordered > ordered[cut - 1]], ordered[ordered < ordered[-cut]]  # equal ones go together
    return [(0, float(inner[0])), (1, float(outer[-1]))] if inner.size else []
