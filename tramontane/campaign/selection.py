"""Chooses points of a campaign by an expression of their coordinates, such as ``ranks == 100000``."""

from collections.abc import Sequence
from pathlib import Path

from tramontane.errors import InputError, closest
from tramontane.results.manifest import Manifest, distinct
from tramontane.study.reading.layers import Origin
from tramontane.study.values.expressions import check_syntax, evaluate, names_in

_ORIGIN = Origin(Path("--where"), "")


def choose(manifests: Sequence[Manifest], where: str) -> set[str]:
    """Return the identities of the points for which `where` holds in one of the experiments at least.

    An experiment that does not have all coordinates of the expression has no such point.

    Parameters
    ----------
    manifests : sequence of Manifest
        The experiments.
    where : str
        An expression of the coordinates, in the language of `exclude`.

    Raises
    ------
    InputError
        If it can't be read, gives no yes or no, uses a name that is a coordinate of no experiment, or holds nowhere.
    """
    check_syntax(where, _ORIGIN)
    used = names_in(where)
    known = sorted({dim["name"] for manifest in manifests for dim in manifest["dims"]})
    for name in sorted(used - set(known)):
        problem = f"unknown name '{name}' in '{where}'"
        raise InputError("--where", "", where, ", ".join(known), problem=problem, hint=closest(name, known))
    chosen = {
        entry["id"]
        for manifest in manifests
        for entry in manifest["points"]
        if "id" in entry and used <= entry["coords"].keys() and _holds(where, entry["coords"])
    }
    if not chosen:
        there = "; ".join(f"{name}: {', '.join(_values(manifests, name))}" for name in sorted(used))
        allowed = f"an expression that holds for a point; {there}" if there else "an expression that holds for a point"
        raise InputError("--where", "", where, allowed, problem=f"no point with {where}")
    return chosen


def _values(manifests: Sequence[Manifest], name: str) -> list[str]:
    """Return the values that a coordinate has in some experiment, texts in quotation marks."""
    found = (
        value for manifest in manifests for dim in manifest["dims"] if dim["name"] == name for value in dim["values"]
    )
    return distinct(map(repr, found))


def _holds(where: str, coords: dict[str, object]) -> bool:
    answer = evaluate(where, coords, _ORIGIN, "")
    if not isinstance(answer, bool):
        raise InputError("--where", "", answer, 'an expression that is true or false, such as "ranks == 100000"')
    return answer
