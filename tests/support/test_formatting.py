import pytest

from tramontane.support import formatting
from tramontane.support.formatting import about_bytes, about_seconds, plural


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
    assert formatting.size(value) == text


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
    assert formatting.quantity(value, unit) == text


def test_numbers_are_grouped_from_five_digits_and_rounded_to_four() -> None:
    assert formatting.number(1024) == "1024"
    assert formatting.number(390_625) == "390\u202f625"
    assert formatting.number(0.123456) == "0.1235"
    assert formatting.number(1.5e-7) == "1.5×10⁻⁷"
    assert formatting.number(float("nan")) == "–"


@pytest.mark.parametrize(
    ("value", "text"), [(0.5, "0.5 s"), (59.4, "59.4 s"), (250, "4 min 10 s"), (7500, "2 h 5 min")]
)
def test_durations_are_said_as_people_say_them(value: float, text: str) -> None:
    assert formatting.duration(value) == text


@pytest.mark.parametrize(
    ("values", "symbol"),
    [([2.0, 40.0], "s"), ([0.0005, 0.4], "ms"), ([3e-5, 9e-5], "µs"), ([2e-8], "ns"), ([], "s")],
)
def test_the_time_unit_fits_the_middle_of_the_range(values: list[float], symbol: str) -> None:
    assert formatting.time_unit(values)[0] == symbol


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "less than 1 s"), (119, "119 s"), (120, "2 min"), (7140, "119 min"), (7200, "2.0 h"), (250_000, "2.9 days")],
)
def test_durations_in_words(seconds: float, text: str) -> None:
    assert about_seconds(seconds) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.214, "+21 %"),
        (-0.006, "-1 %"),
        (-0.004, "0 %"),
        (0.0, "0 %"),
        (-0.0, "0 %"),
        (0.0049, "0 %"),
        (12, "+1200 %"),
    ],
)
def test_what_rounds_to_nothing_has_no_sign(share: float, text: str) -> None:
    assert formatting.difference(share) == text


def test_other_words() -> None:
    assert about_bytes(11.44e9) == "11.4 GB"
    assert about_bytes(2.5e8) == "250 MB"
    assert [plural(1, "batch"), plural(2, "batch"), plural(0, "point")] == ["1 batch", "2 batches", "0 points"]
