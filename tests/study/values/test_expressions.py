"""What the functions of an expression return; ``tests/study/experiments`` has its mistakes."""

from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study.reading.layers import Origin
from tramontane.study.values.expressions import evaluate

ORIGIN = Origin(Path("x.yaml"), "derive.seed")


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("divisor_near(12, 1)", 1),  # a ratio of 1, the least that is asked for of square grids
        ("divisor_near(12, 0.1)", 1),
        ("divisor_near(12, 2.4)", 2),  # 2.4 / 2 < 3 / 2.4
        ("divisor_near(12, 2.5)", 3),
        ("divisor_near(12, 100)", 12),
        ("divisor_near(ranks, sqrt(ranks))", 8),
        ("divisor_near(10**10, 1)", 1),
    ],
)
def test_a_divisor_is_the_nearest_by_its_ratio(expression: str, value: int) -> None:
    assert evaluate(expression, {"ranks": 64}, ORIGIN, "") == value


@pytest.mark.parametrize("arguments", ["12, 0", "12, -1", "0, 1", "-12, 1", "2.5, 1", "10**10 + 1, 1"])
def test_what_has_no_divisor_is_refused(arguments: str) -> None:
    with pytest.raises(InputError, match="a whole number from 1 to 10000000000 and one above 0 are needed"):
        evaluate(f"divisor_near({arguments})", {}, ORIGIN, "")
