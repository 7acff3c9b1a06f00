"""Which revision gave a point, what is older, and which members of an ensemble stand together."""

import math

import numpy as np
import pytest
import xarray as xr

from tramontane.results.revisions import CURRENT, counts_as, label, newest, newest_members, tally


def of(revisions: list[list[float]], current: int | None = None) -> xr.Dataset:
    """Return points (a row each) with members, whose time is a hundred times their revision."""
    values = np.array(revisions, dtype=float)
    dims = ("ranks", "member")
    return xr.Dataset(
        {"time_s": (dims, 100 * values), "model_revision": (dims, values), "id": (dims, values.astype(str))},
        attrs={} if current is None else {CURRENT: current},
    )


@pytest.mark.parametrize(
    ("revisions", "words"),
    [
        ([], ""),
        ([math.nan], ""),
        ([2], ""),
        ([3], ""),
        ([1], "revision 1"),
        ([1, 2, math.nan], "revisions 1 and 2"),
        ([0, 1, 2], "revisions 0 to 2"),
    ],
)
def test_what_rests_on_an_older_revision_is_marked(revisions: list[float], words: str) -> None:
    assert label(revisions, 2) == words
    assert label(revisions, None) == ""


def test_the_newest_revision_is_the_simulators_or_that_of_a_newer_point() -> None:
    assert newest(of([[1, 1]], current=2)) == 2
    assert newest(of([[1, 3]], current=2)) == 3
    assert newest(of([[math.nan]])) is None
    assert newest(xr.Dataset()) is None


@pytest.mark.parametrize(
    ("known", "changed", "newest_one", "expected"),
    [(1, 2, 3, 1), (2, 2, 3, 3), (2, 3, 3, 2), (3, 3, 3, 3), (4, 3, 3, 4), (2, None, 3, 2), (2, 2, None, 2)],
)
def test_what_no_later_revision_has_changed_counts_as_of_the_newest(
    known: int, changed: int | None, newest_one: int | None, expected: int
) -> None:
    assert counts_as(known, changed, newest_one) == expected


def test_points_are_counted_by_revision() -> None:
    assert tally(of([[2, 1, math.nan], [2, 2, 1]])) == {1: 2, 2: 3}
    assert tally(xr.Dataset()) == {}


def test_an_ensemble_keeps_the_members_of_its_newest_revision() -> None:
    dataset = of([[2, 1, math.nan], [1, 1, 1], [2, 2, 2]])
    kept = newest_members(dataset)
    nan = math.nan
    np.testing.assert_equal(kept["time_s"].values, [[200, nan, nan], [100, 100, 100], [200, 200, 200]])
    np.testing.assert_equal(kept["model_revision"].values, [[2, nan, nan], [1, 1, 1], [2, 2, 2]])
    assert kept["id"].identical(dataset["id"])
    single = dataset.isel(member=0, drop=True)
    assert newest_members(single) is single
