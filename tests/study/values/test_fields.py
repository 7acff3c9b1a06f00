"""What a field reads, and that whatever else stands there is refused in words."""

import pytest
from pydantic_core import PydanticCustomError

from tramontane.study.networks.mapping import RANK_MAPPING
from tramontane.study.values.fields import Words


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("block", "block"),
        ({"tile": [4, 2]}, ("tile", (4, 2))),
        (("tile", (4, 2)), ("tile", (4, 2))),  # has been read before
        ({"nodes": [1, 0]}, ("nodes", (1, 0))),
    ],
)
def test_a_word_or_a_list_is_read(value: object, read: object) -> None:
    assert RANK_MAPPING.read(value) == read


@pytest.mark.parametrize(
    "value",
    ["no", "", None, 2, [4, 2], (), ("tile", (4, 2), 1), {}, {"tile": [4, 2], "nodes": [0]}, {"tile": [4, 2, 1]}],
)
def test_what_is_neither_a_word_nor_a_list_is_refused(value: object) -> None:
    with pytest.raises(PydanticCustomError, match="allowed: block, cyclic, random"):
        RANK_MAPPING.read(value)


@pytest.mark.parametrize(("value", "read"), [(" two words ", "two words"), (5, "5"), (0.5, "0.5")])
def test_a_text_has_no_blanks_around_it(value: object, read: str) -> None:
    assert Words().read(value) == read


@pytest.mark.parametrize("value", ["", "  ", None, True, ["a"], {"a": 1}])
def test_what_is_no_text_is_refused(value: object) -> None:
    with pytest.raises(PydanticCustomError, match="allowed: a text"):
        Words().read(value)
