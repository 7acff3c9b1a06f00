"""Where curves meet, of which only some points are known."""

import math
from collections.abc import Iterable


def zero_over_logarithm(x: Iterable[float], gaps: Iterable[float]) -> float:
    """Return where a straight line over the logarithm of `x`, through two points with such gaps, is zero.

    Parameters
    ----------
    x, gaps : two float each
        The points; the gaps differ.
    """
    (first, last), (before, after) = map(math.log, x), gaps
    return math.exp(first - before * (last - first) / (after - before))
