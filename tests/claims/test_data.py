"""The shipped statements: all of them are there, and every one can be decided."""

import fnmatch
from collections.abc import Mapping
from pathlib import Path

import pytest

from tramontane.study import SCALES, load_experiment
from tramontane.study.experiments import claims
from tramontane.study.experiments.claims import statements
from tramontane.study.experiments.expansion import swept

ROOT = Path(__file__).parents[2]
CLAIMS = {name: claim for name, (_, claim) in statements(ROOT)}

#: Identifiers of the statements that the project has to show.
WANTED = """
Z-T1 Z-T2 Z-T3 Z-A1 Z-H1 W-T3 B-F9 B-F8 J-T1
Z-5a-1 Z-5a-2 Z-5a-3 Z-5a-4 Z-6 Z-5b Z-5c Z-5d Z-7 Z-8a Z-5e Z-8b Z-5f Z-8c
Z-9a-1 Z-9a-2 Z-9b Z-9c Z-9d Z-10a-1 Z-10a-2 Z-10b Z-10c
B-6 B-6b B-7 B-7b B-10 B-11 B-12 B-12b B-epoch B-copy B-95 B-vol B-save
W-T1 W-T2 W-T2r W-list W-6 W-6r W-7 W-8a W-8b W-8c W-SWO
D-1-s D-1a D-1b D-1c D-1d D-2 D-3 D-4 D-5 D-6
J-SE J-SE-s J-loc J-DG J-DG-s J-vx J-F1 J-F1r J-bit J-bit-DG
T-1 T-2 T-3 T-4 T-5 T-6 T-7
"""


def test_every_statement_is_there() -> None:
    assert sorted(CLAIMS) == sorted(WANTED.split())


def _named(claim: claims.Claim) -> set[str]:
    """Return the curves that the checks of a statement name."""
    names: set[str] = set()
    for check in claim.checks:
        data = check.model_dump()
        names |= {data[key] for key in ("of", "than") if key in data}
        names |= set(data.get("curves", [])) | {name for group in data.get("order", []) for name in group}
    return names


def _is_there(claim: claims.Claim, curve: str, values: Mapping[str, str]) -> bool:
    """Return whether a curve is in its experiment, under one choice, at some scale."""
    own = claim.curves.get(curve)
    experiment = (own.experiment if own else None) or claim.experiment
    assert experiment is not None
    experiment = values[experiment[1:]] if experiment.startswith("$") else experiment
    select = dict(own.select) if own else {str(claim.along): curve}
    if own is None or own.experiment is None:
        select = {**claim.fixed, **select}
    found = {key: values.get(text[1:]) if text.startswith("$") else text for key, text in select.items()}
    texts = {key: text for key, text in found.items() if text is not None}
    path = ROOT / "configs" / "experiments" / f"{experiment}.yaml"
    if own is not None and own.variable.startswith("step_"):  # steps are a dimension of results, no swept one
        step = texts.pop("step")
        named = [word for word in step.split() if not word.endswith("-sweep")]  # of halos, which have two phases
        assert f"name: {named[-1]}" in path.read_text(encoding="utf-8")  # after the role
    loaded = load_experiment(path)
    return any(
        all(any(fnmatch.fnmatchcase(str(value), text) for value in dims.get(key, [])) for key, text in texts.items())
        for dims in (swept(loaded, scale) for scale in SCALES if scale in loaded.scales)
    )


@pytest.mark.parametrize("name", [name for name, claim in CLAIMS.items() if claim.checks])
def test_every_curve_is_in_an_experiment_at_some_scale(name: str) -> None:
    claim = CLAIMS[name]
    own, *others = [*claim.choices.values()] or [dict[str, str]()]
    lacking = [curve for curve in sorted(_named(claim)) if not _is_there(claim, curve, own)]
    assert not lacking
    # A study of a choice may leave out what it can't decide, such as an algorithm, but not everything.
    for values in others:
        there = [curve for curve in _named(claim) if _is_there(claim, curve, values)]
        assert len(there) >= 2, f"under {values} there is only {there}"
