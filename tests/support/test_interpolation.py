"""Where curves meet."""

import pytest

from tramontane.support.interpolation import zero_over_logarithm


@pytest.mark.parametrize(
    ("gaps", "place"),
    [((-1, 1), 100), ((3, -1), 10**2.5), ((0, 5), 10), ((-5, 0), 1000), ((1, 2), 0.1), ((-2, -1), 1e5)],
    ids=["halfway", "late", "at the first", "at the last", "before both", "behind both"],
)
def test_a_line_over_the_logarithm_is_zero_where_it_is_by_hand(gaps: tuple[float, float], place: float) -> None:
    assert zero_over_logarithm((10, 1000), gaps) == pytest.approx(place, rel=1e-12)
