"""Percentiles and orderings, by hand and by property."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramontane.comparison.statistics import AXES, Entry, Ordering, Summary, agreement, orderings, summarise


def entry(
    ours: float,
    theirs: float,
    algorithm: str = "ring-1",
    topology: str = "torus",
    routing: str = "minimal",
    **other: object,
) -> Entry:
    setting, crossbars = other.get("setting", 0), other.get("crossbars", (80, 1))
    return Entry(algorithm, topology, routing, setting, crossbars, ours, theirs)  # type: ignore[arg-type]


def test_summary_by_hand() -> None:
    # Deviations 0, 0.1, 0.1, 0.2, 0.5: the 90th percentile lies at position 3.6, the 95th at 3.8.
    found = summarise([1.0, 1.1, 0.9, 1.2, 0.5])
    assert found.n == 5
    assert found.median_ratio == 1.0
    assert found.p90_deviation == pytest.approx(0.2 + 0.6 * 0.3)
    assert found.p95_deviation == pytest.approx(0.2 + 0.8 * 0.3)
    assert found.worst_deviation == 0.5
    assert found.near == 0.2


def test_nothing_has_no_median() -> None:
    assert summarise([]) == Summary(0, None, None, None, None)
    assert agreement([]) is None


RATIOS = st.lists(st.floats(0.01, 100), min_size=1, max_size=30)


@given(RATIOS)
def test_percentiles_are_in_order(ratios: list[float]) -> None:
    found = summarise(ratios)
    assert found.median_ratio is not None
    assert min(ratios) <= found.median_ratio <= max(ratios)
    assert 0 <= found.p90_deviation <= found.p95_deviation * (1 + 1e-12)  # type: ignore[operator]
    assert found.p95_deviation <= found.worst_deviation * (1 + 1e-12)  # type: ignore[operator]
    assert found.worst_deviation == max(abs(ratio - 1) for ratio in ratios)


@given(RATIOS, st.randoms())
def test_the_order_of_rows_does_not_matter(ratios: list[float], random: object) -> None:
    shuffled = list(ratios)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert summarise(shuffled) == summarise(ratios)


@given(st.integers(1, 50))
def test_equal_times_agree_exactly(n: int) -> None:
    assert summarise([1.0] * n) == Summary(n, 1.0, 0.0, 0.0, 0.0, 1.0)


def test_orderings_by_hand() -> None:
    entries = [
        entry(1.0, 1.0),
        entry(2.0, 1.2, algorithm="ring-4"),  # with 0: slower by both
        entry(0.9, 1.3, routing="valiant"),  # with 0: theirs slower, ours faster
        entry(5.0, 5.0, topology="fattree", routing="valiant"),  # differs from 2 in the topology only
        entry(3.0, 1.0, algorithm="bruck", setting=1),  # another setting: nothing to compare with
    ]
    assert orderings(entries) == [
        Ordering("algorithm", 0, 1, True),
        Ordering("routing", 0, 2, False),
        Ordering("topology", 2, 3, True),
    ]
    assert agreement(orderings(entries)) == pytest.approx(2 / 3)


@pytest.mark.parametrize(("theirs", "counts"), [(1.05, False), (1.0501, True), (0.96, False), (0.9, True)])
def test_a_difference_of_five_per_cent_is_none(theirs: float, counts: bool) -> None:
    assert bool(orderings([entry(1.0, 1.0), entry(1.5, theirs, algorithm="burst")])) is counts


def test_equal_times_of_ours_agree_with_no_order() -> None:
    assert [pair.agrees for pair in orderings([entry(1.0, 1.0), entry(1.0, 2.0, routing="ugal")])] == [False]


@pytest.mark.parametrize(
    ("change", "crossbars", "counts"),
    [
        ({"topology": "fattree"}, (160, 1), True),  # as much per port
        ({"topology": "fattree"}, (80, 0.5), True),  # as much per switch
        ({"topology": "fattree"}, (90, 0.6), False),
        ({"routing": "ugal"}, (80, 1), True),
        ({"routing": "ugal"}, (10, 0.125), False),
    ],
)
def test_crossbars_may_follow_the_topology(
    change: dict[str, str], crossbars: tuple[object, object], counts: bool
) -> None:
    pairs = orderings([entry(1.0, 1.0), entry(2.0, 2.0, **change, crossbars=crossbars)])
    assert bool(pairs) is counts


TIMES = st.floats(1e-7, 1e2)
ENTRIES = st.lists(
    st.builds(
        entry,
        TIMES,
        TIMES,
        algorithm=st.sampled_from(["ring-1", "ring-4", "burst"]),
        topology=st.sampled_from(["torus", "fattree"]),
        routing=st.sampled_from(["minimal", "ugal"]),
        setting=st.integers(0, 1),
    ),
    max_size=12,
)


@given(ENTRIES)
def test_orderings_are_just_the_pairs_of_the_definition(entries: list[Entry]) -> None:
    expected = set()
    for first, second in itertools.combinations(range(len(entries)), 2):
        a, b = entries[first], entries[second]
        different = [axis for axis in AXES if getattr(a, axis) != getattr(b, axis)]
        far = max(a.theirs, b.theirs) / min(a.theirs, b.theirs)
        if a.setting == b.setting and len(different) == 1 and far > 1.05 and not math.isclose(far, 1.05):
            expected.add((different[0], first, second))
    found = {(pair.axis, pair.first, pair.second) for pair in orderings(entries)}
    assert expected <= found
    assert all(entries[first].theirs != entries[second].theirs for _, first, second in found)


@given(ENTRIES, st.floats(0.1, 10))
def test_times_in_proportion_agree_in_all_orders(entries: list[Entry], factor: float) -> None:
    scaled = [
        entry(e.theirs * factor, e.theirs, e.algorithm, e.topology, e.routing, setting=e.setting) for e in entries
    ]
    assert all(pair.agrees for pair in orderings(scaled))
    turned = [entry(1 / e.theirs, e.theirs, e.algorithm, e.topology, e.routing, setting=e.setting) for e in entries]
    assert not any(pair.agrees for pair in orderings(turned))
