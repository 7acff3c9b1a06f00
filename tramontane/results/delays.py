"""How packets' delays are distributed: what lies below a delay, where only the counts of bins are known."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def share_below(lower: Floats, upper: Floats, packets: Floats, delay: float) -> Floats:
    """Return the share of packets delayed by less than `delay`.

    Inside a bin packets lie evenly over the logarithm of the delay, as figures draw them; over the delay itself in the
    bin from 0 on, which has no logarithm.

    Parameters
    ----------
    lower, upper
        Bounds of the bins [s].
    packets
        In each bin: of shape (..., bins).
    delay
        [s].

    Returns
    -------
    array
        Of shape (...): between 0 and 1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.log(delay / lower) / np.log(upper / lower)
    part = np.where(lower > 0, part, delay / np.where(lower > 0, 1.0, upper))
    inside = np.where(upper <= delay, 1.0, np.clip(part, 0.0, 1.0))
    return np.asarray((packets * inside).sum(axis=-1) / packets.sum(axis=-1))
