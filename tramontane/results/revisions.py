"""Which revision of the simulator's model gave the points of a dataset, and what may stand together.

Results of different revisions may differ, so that a value of an older one is always shown as such. A revision need not
change all points: what no later one has changed counts as of the newest. Other substrates have no revision, and nothing
of theirs is older.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

#: Variable of a dataset: the revision that a point's result counts as.
REVISION = "model_revision"
#: Attribute of a dataset: the simulator's own revision when the experiment was planned.
CURRENT = "current_revision"
#: The dimension of ensembles.
MEMBER = "member"


def counts_as(known: int, changed: int | None, newest: int | None) -> int:
    """Return the revision that a result counts as: the newest, if none later than its own has changed such results.

    Parameters
    ----------
    known : int
        The revision that gave it.
    changed, newest : int or None
        The revision that last changed results of such points, and the newest one; None if unknown.
    """
    return known if changed is None or newest is None or known < changed else max(known, newest)


def newest(dataset: xr.Dataset) -> int | None:
    """Return the revision that results are to have: the simulator's, or a newer one that points have; None if unknown.

    Parameters
    ----------
    dataset : xarray.Dataset
        A collated dataset.
    """
    stated = dataset.attrs.get(CURRENT)
    known = [*([] if stated is None else [int(stated)]), *present(_revisions(dataset))]
    return max(known, default=None)


def present(revisions: ArrayLike) -> tuple[int, ...]:
    """Return the revisions that occur, each once, the oldest first; NaN stands for none."""
    values = np.asarray(revisions, dtype=float)
    return tuple(np.unique(values[np.isfinite(values)]).astype(int).tolist())


def tally(dataset: xr.Dataset) -> dict[int, int]:
    """Return how many points each revision gave, the oldest first."""
    values = _revisions(dataset)
    return dict(sorted(Counter(values[np.isfinite(values)].astype(int).tolist()).items()))


def label(revisions: Iterable[float], than: int | None) -> str:
    """Return the words that mark what rests on some revisions; empty unless one of them is older.

    Parameters
    ----------
    revisions : iterable of float
        Revisions; NaN stands for none.
    than : int or None
        What `newest` returned.
    """
    known = present(list(revisions))
    if than is None or not known or known[0] >= than:
        return ""
    first, last = known[0], known[-1]
    return f"revision {first}" if first == last else f"revisions {first} {'and' if last == first + 1 else 'to'} {last}"


def newest_members(dataset: xr.Dataset, only: str | None = None) -> xr.Dataset:
    """Return a dataset whose ensembles hold the members of the newest revision at each place only.

    The numbers of the others are NaN, as if they were not there: a median or a range would mix what may differ. With
    `only` it has that variable, and the revisions.
    """
    if only is not None:
        dataset = dataset[[only, *({REVISION} & set(dataset))]]
    if REVISION not in dataset or MEMBER not in dataset[REVISION].dims:
        return dataset
    revision = dataset[REVISION]
    kept = ~(revision < revision.max(MEMBER))
    if bool(kept.all()):
        return dataset
    changed = {
        name: values.where(kept).transpose(*values.dims)
        for name, values in dataset.data_vars.items()
        if values.dtype.kind == "f" and set(kept.dims) <= set(values.dims)
    }
    return dataset.assign(changed)


def _revisions(dataset: xr.Dataset) -> "np.ndarray[Any, np.dtype[np.float64]]":
    return np.asarray(dataset[REVISION].values if REVISION in dataset else [], dtype=np.float64)
