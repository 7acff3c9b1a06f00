"""What points have in common."""

from hypothesis import given
from hypothesis import strategies as st

from tramontane.results.manifest import common

VALUES = st.recursive(st.integers(0, 2), lambda inner: st.dictionaries(st.sampled_from("abc"), inner), max_leaves=8)
MAPPINGS = st.dictionaries(st.sampled_from("abc"), VALUES)


def leaves(data: object, path: tuple[str, ...] = ()) -> set[tuple[tuple[str, ...], int]]:
    if isinstance(data, dict):
        return {leaf for key, value in data.items() for leaf in leaves(value, (*path, key))}
    assert isinstance(data, int)
    return {(path, data)}


@given(st.lists(MAPPINGS, min_size=1, max_size=4))
def test_common_holds_the_leaves_that_all_have(mappings: list[dict[str, object]]) -> None:
    assert leaves(common(mappings)) == set.intersection(*(leaves(mapping) for mapping in mappings))


def test_nothing_has_nothing_in_common() -> None:
    assert common([]) == {}
