"""What studies of uncertainty found, kept with the project: a fresh clone can make the tables of its pages anew.

A study takes an hour or more, and its points would be thousands of files. So what is kept is its summary
(`published/studies`), from which tables and figures are made as from the points themselves.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tramontane.claims import draws
from tramontane.claims.uncertainty import Answer, answer, as_data, size_of
from tramontane.errors import InputError
from tramontane.results.published import STUDIES
from tramontane.study.experiments.studies import load_study
from tramontane.study.reading.reading import read_json
from tramontane.support.files import dump, write_if_changed

_DIGITS = 6
"""Of the numbers that are kept: more than any table shows."""
_DIRTY = "-dirty"
_KEYS = {
    "about",
    "claims",
    "commits",
    "index",
    "machines",
    "parameters",
    "places",
    "sentences",
    "size",
    "title",
    "waves",
}
"""What a summary has at least."""


class NothingRunError(InputError):
    """No drawn machine of a study has run, and nothing of it is published."""


def file_of(root: Path, name: str, scale: str) -> Path:
    """Return where the summary of a study lies, or would lie."""
    return root / STUDIES / f"{name}-{scale}.json"


def publish(name: str, of: Answer, root: Path) -> Path:
    """Write the summary of a study; return the file.

    Raises
    ------
    InputError
        If no drawn machine decides a statement, or points are of a checkout that had changes.
    """
    if not any(own.of for own in of.found):
        raise _nothing("--publish", name, of.scale)
    unclean = [commit for commit in sorted(of.commits) if commit.endswith(_DIRTY) or commit == "unknown"]
    if unclean or not of.commits:
        found = ", ".join(unclean) or "none"
        problem = f"found points of {found}"
        raise InputError("--publish", "", found, "points that a clean clone has simulated", problem=problem)
    path = file_of(root, name, of.scale)
    write_if_changed(path, dump(summary(as_data(of))))
    return path


def summary(data: dict[str, Any]) -> dict[str, Any]:
    """Return what a study found in a compact form: numbers are rounded, and machines are told by their draw alone."""
    machines = [{key: value for key, value in own.items() if key != "values"} for own in data["machines"]]
    rounded: dict[str, Any] = _rounded({**data, "machines": machines})
    return rounded


def known(
    name: str,
    root: Path,
    scale: str,
    size: int | None = None,
    waves: int = 1,
    only: Sequence[str] = (),
    source: str = "--over",
) -> dict[str, Any]:
    """Return what a study found as plain data: by the points that are there, or else as it was `published` in a file.

    Parameters
    ----------
    name, root, scale, size, waves
        As in :func:`tramontane.claims.uncertainty.answer`.
    only : sequence of str, optional
        Statements; by default all.
    source : str, optional
        What asks, for error lines.

    Raises
    ------
    NothingRunError
        If there is neither.
    InputError
        If what is published is of another size.
    """
    study = load_study(name, root, source)
    wanted = size_of(study, name, scale, size)
    if draws.begun(study.at_scale(scale), root, scale, wanted):
        found = answer(name, root, scale, size, waves)
        if any(own.of for own in found.found):
            return as_data(found, only)
    path = file_of(root, name, scale)
    if not path.exists():
        raise _nothing(source, name, scale)
    data = read(path)
    for option, asked, default, there in (
        ("--size", size, None, data["size"]),
        ("--waves", waves, 1, len(data["waves"]) + 1),
    ):
        if asked not in (default, there):
            allowed = f"{there}, as published; or first: {command(name, scale)} {option} {asked}"
            raise InputError(source, option, asked, allowed, problem=f"found {asked}, which has not run here")
    asked_for = [own for own in data["claims"] if not only or own["id"] in only]
    return {**data, "claims": asked_for, "published": str(path.relative_to(root))}


def read(path: Path) -> dict[str, Any]:
    """Return a summary (InputError)."""
    data = read_json(path)
    if not isinstance(data, dict) or not data.keys() >= _KEYS:
        allowed = "what `tramontane uncertainty STUDY --publish` writes"
        raise InputError(path, "", None, allowed, problem="found something else")
    return data


def _nothing(source: str, name: str, scale: str) -> NothingRunError:
    problem = f"no drawn machine of {name} has run at scale {scale}"
    return NothingRunError(source, "", name, f"first: {command(name, scale)}", problem=problem)


def command(name: str, scale: str) -> str:
    """Return the command that runs the machines of a study."""
    return f"tramontane uncertainty {name} --scale {scale}"


def _rounded(value: Any) -> Any:
    """Return plain data with its numbers rounded."""
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, dict):
        return {key: _rounded(own) for key, own in value.items()}
    return [_rounded(own) for own in value] if isinstance(value, list) else value
