"""The manifest of an experiment: which points it consists of, and what its figure shows.

A manifest is all that collating needs besides the records, so the workflow compares one file to know whether a dataset
is out of date. It holds nothing that differs from one run to the next (no time, no version but the model's, no state
of the points).
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from pathlib import Path
from typing import Any

from tramontane.errors import InputError
from tramontane.results.proof import digest
from tramontane.study import Expansion, Experiment, list_experiments
from tramontane.study.experiments.experiments import DRAW
from tramontane.study.reading.reading import read_json
from tramontane.study.sampling.sampling import Sample
from tramontane.support.layout import Layout

Manifest = dict[str, Any]

_SUM = "sha256"


def manifest(
    experiment: Experiment,
    expansion: Expansion,
    revision: int | None = None,
    changed: Mapping[str, int] | None = None,
    printed: Sequence[Mapping[str, Any]] = (),
) -> Manifest:
    """Return the manifest of `experiment` at the scale it was expanded at, as plain data.

    Parameters
    ----------
    experiment : Experiment
        The experiment as loaded.
    expansion : Expansion
        Its points.
    revision : int, optional
        The simulator's newest model revision.
    changed : mapping of str to int, optional
        Points by identity, with the revision that last changed their results, which tells the results of older ones.
    printed : list of dict
        Times that a paper prints, as `tramontane.study.experiments.claims.printed_times` has them.
    """
    described = experiment.model_dump(mode="json", exclude_none=True)
    points = []
    canonical: list[dict[str, Any]] = []
    machines: dict[str, list[dict[str, Any]]] = {}
    for expanded in expansion.points:
        entry: dict[str, Any] = {"coords": dict(expanded.coords)}
        if expanded.point is None or expanded.excluded:
            entry["excluded"] = True
        else:
            entry["id"] = expanded.point.id
            if changed and expanded.point.id in changed:
                entry["changed"] = changed[expanded.point.id]
            canonical.append(expanded.point.canonical())
            network = canonical[-1].get("machine") or {"system": canonical[-1]["system"]}
            machines.setdefault(expanded.point.place, []).append(network)
        points.append(entry)
    return {
        "name": experiment.name,
        "scale": expansion.scale,
        **({"model_revision": revision} if revision is not None else {}),
        **{
            key: described[key]
            for key in ("title", "question", "description", "paper", "references")
            if key in described
        },
        "figure": described.get("figure", {}),
        **({"printed": list(printed)} if printed else {}),
        "base": common(canonical),
        "grids": distinct(grid for point in canonical for grid in _grids(point["workload"])),
        "machines": {name: common(variants) for name, variants in machines.items()},
        "dims": [{"name": name, "values": list(values)} for name, values in expansion.dims.items()],
        **({"drawn": _drawn(experiment.sample, len(expansion.dims[DRAW]))} if experiment.sample is not None else {}),
        "points": points,
    }


def _drawn(sample: Sample, size: int) -> dict[str, list[Any]]:
    """Return the values of each parameter that is drawn, draw by draw."""
    draws = sample.draws(size)
    return {name: [each[name] for each in draws] for name in sample.drawn}


def _grids(workload: object) -> Iterator[list[int]]:
    """Yield all grids of a workload, those of a program's steps among them."""
    if isinstance(workload, dict):
        if "grid" in workload:
            yield workload["grid"]
        for inner in workload.values():
            yield from _grids(inner)
    elif isinstance(workload, list):
        for inner in workload:
            yield from _grids(inner)


def dump(data: Manifest) -> str:
    """Return the text of a manifest, with its checksum: a line for each point, so that a difference can be read."""
    rest = {_SUM: _checksum(data), **{key: value for key, value in data.items() if key not in (_SUM, "points")}}
    head = json.dumps(rest, ensure_ascii=False, indent=1, allow_nan=False)
    points = ",\n".join("  " + json.dumps(point, ensure_ascii=False, allow_nan=False) for point in data["points"])
    return f'{head.removesuffix("}").rstrip()},\n "points": [\n{points}\n ]\n}}\n'


def identities(data: Manifest) -> set[str]:
    """Return the identities of the points of a manifest, but of those that are excluded."""
    return {point["id"] for point in data["points"] if "id" in point}


def read(path: Path) -> Manifest:
    """Return what is in the file of a manifest.

    Raises
    ------
    InputError
        If it can't be read or is not as it was written.
    """
    data = read_json(path)
    if not isinstance(data, dict) or not is_whole(data):
        raise InputError(path, "", None, "a manifest as `tramontane plan` writes it", problem="its checksum differs")
    return data


def is_whole(data: Manifest) -> bool:
    """Tell whether what was read from a manifest agrees with its checksum."""
    return data.get(_SUM) == _checksum(data)


def _checksum(data: Manifest) -> str:
    return digest({key: value for key, value in data.items() if key != _SUM})


def distinct(values: Iterable[Any]) -> list[Any]:
    """Return each value once, in order of appearance."""
    once: list[Any] = []
    for value in values:
        if value not in once:
            once.append(value)
    return once


def common(mappings: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return what nested mappings have in common: the keys that all have, with the value that all give."""
    every = list(mappings)
    return reduce(_both, every[1:], dict(every[0])) if every else {}


def _both(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    shared: dict[str, Any] = {}
    for key, value in first.items():
        if key not in second:
            continue
        if isinstance(value, Mapping) and isinstance(second[key], Mapping):
            shared[key] = _both(value, second[key])
        elif value == second[key]:
            shared[key] = value
    return shared


def gone(layout: Layout) -> set[str]:
    """Return the experiments that there are results of, but no file any more: removed, or renamed."""
    return {path.stem for path in layout.manifests.glob("*.json")} - {
        path.stem for path in list_experiments(layout.root)
    }
