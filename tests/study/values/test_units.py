"""Quantities are converted exactly, and what is not one is refused with the units that are allowed."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from tramontane.study.values.units import (
    BANDWIDTH,
    FRACTION,
    FREQUENCY,
    SIZE,
    TIME,
    Dimension,
    format_quantity,
    parse_quantity,
)

DIMENSIONS = [TIME, SIZE, BANDWIDTH, FREQUENCY, FRACTION]


@pytest.mark.parametrize(
    ("text", "dimension", "value"),
    [
        ("100 ns", TIME, 100_000),
        ("0.1 us", TIME, 100_000),
        ("1e-7 s", TIME, 100_000),
        ("0 ns", TIME, 0),
        ("1.5 µs", TIME, 1_500_000),
        ("1.5 \N{GREEK SMALL LETTER MU}s", TIME, 1_500_000),
        ("4096 B", SIZE, 4096),
        ("64 KB", SIZE, 64_000),
        ("64 kB", SIZE, 64_000),
        ("32 KiB", SIZE, 32_768),
        ("1 GiB", SIZE, 2**30),
        ("10 GB/s", BANDWIDTH, 10**10),
        ("0.5 %", FRACTION, 5000),
        ("10000 MB/s", BANDWIDTH, 10**10),
        ("80 Gbit/s", BANDWIDTH, 10**10),
        (" 10GB/s ", BANDWIDTH, 10**10),
        ("2 GHz", FREQUENCY, 2 * 10**9),
    ],
)
def test_conversion(text: str, dimension: Dimension, value: int) -> None:
    assert parse_quantity(text, dimension, least=0) == value


@pytest.mark.parametrize(
    ("text", "dimension", "found"),
    [
        (10, BANDWIDTH, "found 10 without a unit"),
        ("10", BANDWIDTH, "found '10' without a unit"),
        ("10 ns", BANDWIDTH, "found unit 'ns' in '10 ns'"),
        ("10 gb/s", BANDWIDTH, "found unit 'gb/s' in '10 gb/s'"),
        ("-1 ns", TIME, "found '-1 ns'"),
        ("0 B", SIZE, "found '0 B'"),
        ("0.5 ps", TIME, "found '0.5 ps'"),
        ("fast", BANDWIDTH, "found 'fast'"),
        ("1e99999999 s", TIME, "found '1e99999999 s'"),
        ("1.2.3 s", TIME, "found '1.2.3 s'"),
        ("1 2 s", TIME, "found '1 2 s'"),
        (True, TIME, "found true"),
        ([1], TIME, "found [1]"),
        (None, TIME, "found nothing"),
    ],
)
def test_refusal(text: object, dimension: Dimension, found: str) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        parse_quantity(text, dimension)
    context = caught.value.context
    assert context is not None
    assert context["problem"] == found
    assert all(unit in context["allowed"] for unit in dimension.units)


def test_a_long_exponent_is_told_as_such() -> None:
    with pytest.raises(PydanticCustomError, match="allowed: an exponent of two digits at most; a number with a unit"):
        parse_quantity("1e-300 s", TIME)


@pytest.mark.parametrize(
    ("text", "dimension", "hint"),
    [
        ("10 gb/s", BANDWIDTH, "10 GB/s"),
        ("1 kb/s", BANDWIDTH, ""),  # 1 kB/s is less than the least one
        ("10 Gb/s", BANDWIDTH, "10 Gbit/s"),  # an eighth of 10 GB/s
        ("100 Gbps", BANDWIDTH, "100 Gbit/s"),
        ("1 PB/s", BANDWIDTH, ""),
        ("1 PB", SIZE, ""),
        ("1 usec", TIME, "1 us"),
        ("0.5 PS", TIME, ""),  # no whole number of ps
    ],
)
def test_only_what_is_allowed_is_proposed(text: str, dimension: Dimension, hint: str) -> None:
    with pytest.raises(PydanticCustomError) as caught:
        parse_quantity(text, dimension, least=10**6 if dimension is BANDWIDTH else 1)
    assert (caught.value.context or {})["hint"] == hint


@pytest.mark.parametrize(
    ("value", "dimension", "text"),
    [
        (0, TIME, "0 ns"),
        (1, TIME, "1 ps"),
        (1000, TIME, "1 ns"),
        (1500, TIME, "1500 ps"),
        (0, FRACTION, "0 %"),
        (1, FRACTION, "1 ppm"),
        (10**6, FRACTION, "100 %"),
        (9000, SIZE, "9000 B"),
        (10000, SIZE, "10 KB"),
        (2 * 10**9, FREQUENCY, "2 GHz"),
    ],
)
def test_the_largest_unit_without_a_fraction_is_told(value: int, dimension: Dimension, text: str) -> None:
    assert format_quantity(value, dimension) == text


@given(st.sampled_from(DIMENSIONS), st.integers(0, 10**15))
def test_formatted_quantities_read_back(dimension: Dimension, value: int) -> None:
    assert parse_quantity(format_quantity(value, dimension), dimension, least=0) == value


@given(st.sampled_from(DIMENSIONS), st.decimals(0, 10**6, places=3), st.data())
def test_every_unit_is_exact(dimension: Dimension, number: object, data: st.DataObject) -> None:
    unit = data.draw(st.sampled_from(sorted(dimension.units)))
    exact = Fraction(str(number)) * dimension.units[unit]
    if exact.denominator == 1:
        assert parse_quantity(f"{number} {unit}", dimension, least=0) == exact
    else:
        with pytest.raises(PydanticCustomError):
            parse_quantity(f"{number} {unit}", dimension, least=0)
