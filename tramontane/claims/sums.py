"""Sums of what the owners of a point contribute, in the orders that messages may arrive in (Jamroz & Klöfkorn 2016).

Each owner of a vertex, or of an edge, adds the contributions of the others to its own. A sum of doubles depends on the
order of its terms from the third one on.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]
Ranks = NDArray[np.int64]
Order = Callable[[Ranks], Ranks]
"""Returns who is added after whom, from who is there after whom: its own contribution, then others as they come."""


def _by_number_after_own(arrived: Ranks) -> Ranks:
    return np.concatenate([arrived[..., :1], np.sort(arrived[..., 1:], axis=-1)], axis=-1)


ORDERS: dict[str, Order] = {
    "order of arrival": lambda arrived: arrived,
    "fixed order at each rank": _by_number_after_own,
    "one order of all ranks": lambda arrived: np.sort(arrived, axis=-1),
}


def totals(contributions: Doubles, arrived: Ranks, order: Order) -> Doubles:
    """Return the sum that each owner has.

    Parameters
    ----------
    contributions : ndarray, shape (points, owners)
        Of each owner of each point.
    arrived : ndarray, shape (points, owners, owners)
        For each owner, whose contribution is there after whose, its own first.
    order : callable
        One of `ORDERS`.

    Returns
    -------
    ndarray, shape (points, owners)
    """
    added = np.take_along_axis(contributions[:, None, :], order(arrived), axis=-1)
    found = added[..., 0]
    for term in range(1, added.shape[-1]):  # one after the other: numpy's own sums have an order of their own
        found = found + added[..., term]
    return found


def random_arrivals(points: int, owners: int, chance: np.random.Generator) -> Ranks:
    """Return orders of arrival as `totals` takes them, by chance."""
    when = chance.random((points, owners, owners))
    when[:, range(owners), range(owners)] = -1
    return np.argsort(when, axis=-1)


def differences(owners: int, points: int, order: Order) -> tuple[int, int]:
    """Return at how many points sums differ between two runs, and at how many between the owners in one run.

    Parameters
    ----------
    owners : int
        Who share a point: 2 at an edge, 3 or 4 at a vertex.
    points : int
        Each with contributions and orders of arrival of its own.
    order : callable
        One of `ORDERS`.
    """
    chance = np.random.default_rng(owners)
    contributions = chance.standard_normal((points, owners))
    first, second = (totals(contributions, random_arrivals(points, owners, chance), order) for _ in range(2))
    return int((first != second).any(axis=1).sum()), int((first != first[:, :1]).any(axis=1).sum())
