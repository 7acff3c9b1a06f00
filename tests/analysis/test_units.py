import pytest

from analysis import units


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 B"),
        (212, "212 B"),
        (4096, "4096 B"),
        (8192, "8192 B"),
        (64_000, "64 KB"),
        (65_536, "64 KiB"),
        (10**9, "1 GB"),
    ],
)
def test_sizes_take_the_prefix_that_comes_out_round(value: float, text: str) -> None:
    assert units.size(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (10_000_000_000, "B/s", "10 GB/s"),
        (12_500_000_000, "B/s", "12.5 GB/s"),
        (100_000, "ps", "100 ns"),
        (1_000_000, "ps", "1 µs"),
        (0, "ps", "0 ns"),
        (0.00321, "s", "3.21 ms"),
        (2_000_000_000, "Hz", "2 GHz"),
        (20, "1", "20"),
        (64_000, "byte", "64 KB"),
        ("torus-M", "", "torus-M"),
    ],
)
def test_quantities_carry_readable_units(value: float | str, unit: str, text: str) -> None:
    assert units.quantity(value, unit) == text


def test_numbers_are_grouped_from_five_digits_and_rounded_to_four() -> None:
    assert units.number(1024) == "1024"
    assert units.number(390_625) == "390\u202f625"
    assert units.number(0.123456) == "0.1235"
    assert units.number(1.5e-7) == "1.5×10⁻⁷"
    assert units.number(float("nan")) == "–"


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.5 s"), (59.4, "59.4 s"), (250, "4 min 10 s"), (7500, "2 h 5 min")]
)
def test_durations_are_said_as_people_say_them(value: float, text: str) -> None:
    assert units.duration(value) == text


@pytest.mark.parametrize(
    ("values", "symbol"),
    [([2.0, 40.0], "s"), ([0.0005, 0.4], "ms"), ([3e-5, 9e-5], "µs"), ([2e-8], "ns"), ([], "s")],
)
def test_the_time_unit_fits_the_middle_of_the_range(values: list[float], symbol: str) -> None:
    assert units.time_unit(values)[0] == symbol
