"""Checks of delays and of congestion between processes."""

import numpy as np
import pytest
import xarray as xr

from tramontane.claims import distributions
from tramontane.claims.outcome import Lacking

EDGES = np.array([0, 10e-6, 30e-6, 50e-6, 100e-6, 1e-3])


def delayed(lines: dict[str, list[float]], members: int = 3) -> xr.Dataset:
    """Packets in the bins between `EDGES`, for each line, at 100 and 10,000 processes."""
    packets = np.array([[[values] * members] * 2 for values in lines.values()], dtype=float)
    return xr.Dataset(
        {"delay_packets": (("series", "ranks", "member", "delay_bin"), packets)},
        coords={
            "series": list(lines),
            "ranks": [100, 10000],
            "delay_lower": ("delay_bin", EDGES[:-1]),
            "delay_upper": ("delay_bin", EDGES[1:]),
        },
    )


def own(values: list[float], ranks: int = 10000, name: str = "a") -> distributions.Delays:
    return distributions.delays(delayed({name: values}), name, {"series": name}, ranks)


def test_shares_are_counted_in_whole_bins_and_inside_one_evenly_over_the_logarithm() -> None:
    shares = own([20, 40, 20, 10, 10])
    assert shares.below(30e-6).tolist() == pytest.approx([0.6] * 3)
    assert shares.below(20e-6).tolist() == pytest.approx([0.2 + 0.4 * np.log(2) / np.log(3)] * 3)
    assert shares.below(5e-6).tolist() == pytest.approx([0.1] * 3)  # from 0 on there is no logarithm
    assert shares.below(0).tolist() == [0.0] * 3
    assert shares.below(1).tolist() == pytest.approx([1.0] * 3)


def test_share() -> None:
    shares = own([20, 40, 20, 10, 10])
    assert distributions.share(shares, 10000, 30e-6, "30 us", more=False, stated=(0.5, None)).holds is True
    assert distributions.share(shares, 10000, 30e-6, "30 us", more=False, stated=(0.7, None)).holds is False
    outcome = distributions.share(shares, 10000, 100e-6, "100 us", more=True, stated=(0.05, 0.2))
    assert outcome.holds is True
    assert "10 % of the packets delayed by more than 100 us" in outcome.evidence
    outcome = distributions.share(shares, 10000, 100e-6, "100 us", more=True, stated=(0.1, 0.3))
    assert "(read as at least 10 % and at most 30 %)" in outcome.evidence


def spread(*below: float) -> distributions.Delays:
    """Delays of members of which such shares of the packets were delayed by less than 30 us."""
    packets = np.array([[own, 0, 1 - own, 0, 0] for own in below])
    return distributions.Delays("a", EDGES[:-1], EDGES[1:], packets)


@pytest.mark.parametrize(
    ("below", "stated", "holds", "fragile"),
    [
        ((0.2, 0.6, 0.7), (0.5, None), True, 1),  # the median holds, one member does not
        ((0.2, 0.3, 0.5), (0.5, None), False, 1),  # one member is at the turn
        ((0.6, 0.6, 0.7), (0.5, None), True, 0),
        ((0.2, 0.3, 0.4), (0.1, 0.25), False, 1),  # the upper end
        ((0.5,), (0.5, None), True, 0),  # a single run has no spread
    ],
)
def test_a_share_is_that_of_the_median_and_fragile_where_members_disagree(
    below: tuple[float, ...], stated: tuple[float, float | None], holds: bool, fragile: int
) -> None:
    outcome = distributions.share(spread(*below), 100, 30e-6, "30 us", more=False, stated=stated)
    assert (outcome.holds, outcome.fragile, outcome.compared) == (holds, fragile, 1)


def test_same_delays_are_those_of_medians() -> None:
    one, other = spread(0.1, 0.5, 0.6), spread(0.9, 0.55, 0.2)
    outcome = distributions.same_delays([one, other], 100, 0.1, same=True)
    assert outcome.margin is not None
    assert outcome.margin.value == pytest.approx(0.1 - 0.05)


def test_same_delays() -> None:
    alike = [own([20, 40, 20, 10, 10]), own([22, 38, 20, 10, 10])]
    other = [*alike, own([5, 15, 20, 20, 40])]
    assert distributions.same_delays(alike, 10000, 0.1, same=True).holds is True
    assert distributions.same_delays(other, 10000, 0.1, same=True).holds is False
    assert distributions.same_delays(other[1:], 10000, 0.1, same=False).holds is True
    assert distributions.same_delays(alike, 10000, 0.1, same=False).holds is False


def test_delays_that_lack_are_said() -> None:
    data = delayed({"a": [20, 40, 20, 10, 10]})
    with pytest.raises(Lacking, match=r"ranks 1000 .there: 100, 10000."):
        distributions.delays(data, "a", {"series": "a"}, 1000)
    with pytest.raises(Lacking, match="the variable delay_packets"):
        distributions.delays(data.drop_vars("delay_packets"), "a", {"series": "a"}, 100)
    with pytest.raises(Lacking, match="the delays of a at 100 processes"):
        distributions.delays(data * np.nan, "a", {"series": "a"}, 100)


def congested(lines: dict[str, np.ndarray]) -> xr.Dataset:
    sums = np.array([[matrix] for matrix in lines.values()], dtype=float)
    dims = ("series", "ranks", "source_bin", "destination_bin")
    return xr.Dataset(
        {"congestion_sum": (dims, sums), "congestion_packets": (dims, np.ones_like(sums))},
        coords={"series": list(lines), "ranks": [10000]},
    )


EVEN, HIGH = np.full((4, 4), 1e-5), np.full((4, 4), 1e-4)
UNEVEN = HIGH * np.arange(16).reshape(4, 4) / 7.5


def groups(names: list[list[str]]) -> list[list[distributions.Matrix]]:
    data = congested({"even": EVEN, "high": HIGH, "uneven": UNEVEN, "low": EVEN / 2})
    return [[distributions.matrix(data, name, {"series": name}, 10000) for name in group] for group in names]


def test_congestion_by_level_and_by_unevenness() -> None:
    assert distributions.congestion(groups([["even", "low"], ["high"]]), "level", 10000).holds is True
    assert distributions.congestion(groups([["even", "high"], ["low"]]), "level", 10000).holds is False
    assert distributions.congestion(groups([["high", "even"], ["uneven"]]), "unevenness", 10000).holds is True
    assert distributions.congestion(groups([["uneven"], ["even"]]), "unevenness", 10000).holds is False
    text = distributions.congestion(groups([["even"], ["high"]]), "level", 10000).evidence
    assert "even 10 µs, high 100 µs" in text


@pytest.mark.parametrize(
    ("one", "other", "holds", "fragile"),
    [
        ((1, 2, 3), (4, 5, 6), True, 0),
        ((1, 2, 5), (4, 5, 6), True, 1),  # one member is above another of the next group
        ((1, 2, 4), (4, 5, 6), True, 1),
        ((1, 6, 7), (2, 3, 4), False, 1),
        ((3,), (2,), False, 0),  # a single run has no spread
    ],
)
def test_congestion_is_that_of_medians_and_fragile_where_members_overlap(
    one: tuple[float, ...], other: tuple[float, ...], holds: bool, fragile: int
) -> None:
    first, second = (
        distributions.Matrix("a", np.array(levels, dtype=float), np.zeros(len(levels))) for levels in (one, other)
    )
    outcome = distributions.congestion([[first], [second]], "level", 100)
    assert (outcome.holds, outcome.fragile, outcome.compared) == (holds, fragile, 1)


def test_a_level_is_of_packets_and_unevenness_of_pairs_that_have_some() -> None:
    """One pair with a packet of 9 s, one with three of 1 s each, and two without any: 3 s a packet, and 9 beside 1."""
    data = congested({"a": np.array([[9.0, 3.0], [0.0, 0.0]])})
    data["congestion_packets"][:] = np.array([[1.0, 3.0], [0.0, 0.0]])
    found = distributions.matrix(data, "a", {"series": "a"}, 10000)
    assert (found.level.tolist(), found.unevenness.tolist()) == ([3.0], [pytest.approx(4 / 5)])


def test_congestion_that_lacks_is_said() -> None:
    with pytest.raises(Lacking, match="the variable congestion_sum"):
        distributions.matrix(delayed({"a": [1, 1, 1, 1, 1]}), "a", {"series": "a"}, 10000)


def test_delays_of_one_process_count_only() -> None:
    data = delayed({"a": [20, 40, 20, 10, 10]}).isel(ranks=1, drop=True).assign_attrs(base_json='{"ranks": 10000}')
    assert distributions.delays(data, "a", {"series": "a"}, 10000).packets.shape == (3, 5)
    with pytest.raises(Lacking, match=r"a at 256 processes \(there: 10,000\)"):
        distributions.delays(data, "a", {"series": "a"}, 256)


def test_members_that_were_left_out_do_not_count() -> None:
    data = delayed({"a": [20, 40, 20, 10, 10]})
    data["delay_packets"][{"member": 1}] = np.nan
    assert distributions.delays(data, "a", {"series": "a"}, 10000).packets.shape == (2, 5)
