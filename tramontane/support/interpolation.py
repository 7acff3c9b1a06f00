"""Where curves meet, of which only some points are known."""

import math
from collections.abc import Sequence


def zero_over_logarithm(x: Sequence[float], gaps: Sequence[float]) -> float:
    """Return where a straight line over the logarithm of `x`, through two points with such gaps, is zero.

    Parameters
    ----------
    x, gaps : sequence of two float
        The points; the gaps differ.
    """
    first, last = map(math.log, x)
    return math.exp(first - gaps[0] * (last - first) / (gaps[1] - gaps[0]))
