"""Checks any YAML file of the project: what kind it is follows from where it lies and what it holds."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from tramontane.errors import InputError, closest
from tramontane.study.catalogue import load_base, load_machine
from tramontane.study.experiments.claim_names import check_claims
from tramontane.study.experiments.claims import CLAIMS, JUDGEMENT, load_judgement
from tramontane.study.experiments.consistency import check_experiment
from tramontane.study.experiments.expansion import expand
from tramontane.study.experiments.experiments import Experiment, load_experiment
from tramontane.study.experiments.samples import check_study
from tramontane.study.experiments.studies import SAMPLES
from tramontane.study.networks import network
from tramontane.study.networks.machines import Machine
from tramontane.study.points.loading import load_point
from tramontane.study.points.points import Point
from tramontane.study.reading.layers import Layers, Origin
from tramontane.study.reading.messages import field_names
from tramontane.study.reading.names import check_name
from tramontane.study.reading.project import (
    EXPERIMENTS,
    GRIDS,
    LIBRARIES,
    MACHINES,
    REFERENCES,
    SYSTEMS,
    TABLE1,
    TABLE2,
)
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.reading.typed import validated
from tramontane.study.sampling.plausible import PLAUSIBLE, read_plausible
from tramontane.study.systems.libraries import LibraryAlgorithm
from tramontane.study.systems.systems import read_system
from tramontane.study.values.fields import Choice, Count, Text, WholeList
from tramontane.study.values.settings import Settings


class NamedGrid(Settings):
    """A grid of ``configs/workloads/grids.yaml``."""

    points: Annotated[tuple[int, int, int], WholeList(("nx", "ny", "nz"))] = Field(description="Grid points.")
    description: Text = Field(description="What the grid is, in a sentence.")
    source: Text | None = Field(None, description="Where it comes from.")


class Reference(Settings):
    """A publication of ``configs/references.yaml``."""

    authors: Text = Field(description="Authors, as `Name, I.` joined by `and`.")
    year: Count = Field(description="Year of publication.")
    title: Text = Field(description="Title.")
    journal: Text | None = Field(None, description="Journal or proceedings.")
    volume: Text | None = Field(None, description="Volume.")
    pages: Text | None = Field(None, description="Pages.")
    doi: Text | None = Field(None, description="DOI, without an address before it.")
    url: Text | None = Field(None, description="Address, where there is no DOI.")


class PrintedNetwork(Settings):
    """A row of a paper's table of networks, as printed; see ``configs/paper/table1.yaml``."""

    topology: Annotated[str, Choice(network.TOPOLOGIES)] = Field(description="Kind of network.")
    geometry: Annotated[tuple[int, ...], WholeList(("a", "b", "c"), optional=1)] = Field(description="As printed.")
    switches: Count = Field(description="As printed.")
    nodes_per_switch: Count = Field(description="As printed.")
    nodes: Count = Field(description="As printed.")
    radix: Count = Field(description="As printed.")
    remark: Text | None = Field(None, description="What is wrong with it, if anything.")


class PrintedAlgorithm(Settings):
    """A row of a paper's table of algorithms, as printed; see ``configs/paper/table2.yaml``."""

    printed: Text = Field(description="Number of stages, as printed.")
    stages: Text = Field(description="The same as an expression of n (processes) and k (radix).")


def validate_file(path: str | Path) -> str:
    """Check a file completely; an experiment is expanded at each of its scales.

    Returns
    -------
    str
        What kind of file it is, e.g. "experiment".

    Raises
    ------
    InputError
        The first mistake.
    """
    source = Path(path)
    data = cached_yaml(source)
    resolved = source.resolve()
    for pattern, (kind, check) in _FILES.items():
        if resolved.match(pattern):
            check(source, data)
            return kind
    if _is_experiment(source, data):
        experiment = load_experiment(source)
        check_experiment(experiment, [expand(experiment, scale) for scale in experiment.scales])
        return "experiment"
    load_point(source)
    return "point"


def _is_experiment(source: Path, data: dict[str, Any]) -> bool:
    """Tell an experiment from a point by where it lies, or else by the keys that only one of them has."""
    if source.resolve().match(str(EXPERIMENTS / "*.yaml")):
        return True
    experiment = sum(key in Experiment.model_fields for key in data)
    point = sum(key in Point.model_fields for key in data)
    return experiment > point


def _check_machine(source: Path, data: dict[str, Any]) -> None:
    """Check a machine; a file without topology is a base for others and is checked with a small torus in its place."""
    check_name(source)
    name = source.stem
    if "topology" in data:
        load_machine(name, source.resolve().parents[2])
        return
    names = field_names([Machine])
    for key in data:
        if key not in names:
            raise InputError(
                source, key, key, ", ".join(names), problem=f"unknown key '{key}'", hint=closest(key, names)
            )
    parent = load_base(name, source.resolve().parents[2])
    if "topology" in parent:
        raise InputError(
            source, "topology", None, "a topology of its own, or none in what it extends", problem="missing"
        )
    layers = Layers()
    layers.merge({"topology": "torus", "geometry": [2, 2, 2]}, Origin(source, ""))
    layers.merge({key: value for key, value in data.items() if key != "extends"}, Origin(source, ""))
    validated(Machine, layers.data, source)


def _check_entries(source: Path, data: dict[str, Any], model: type[Settings]) -> None:
    for name, entry in data.items():
        validated(model, entry, source, name)


_Check = Callable[[Path, dict[str, Any]], object]

#: What a file is by where it lies, and what checks it.
_FILES: dict[str, tuple[str, _Check]] = {
    str(MACHINES / "*.yaml"): ("machine", _check_machine),
    str(SYSTEMS / "*.yaml"): ("system", lambda source, data: read_system(source)),
    str(GRIDS): ("grids", partial(_check_entries, model=NamedGrid)),
    str(REFERENCES): ("references", partial(_check_entries, model=Reference)),
    str(LIBRARIES): ("libraries", partial(_check_entries, model=LibraryAlgorithm)),
    str(TABLE1): ("table", partial(_check_entries, model=PrintedNetwork)),
    str(TABLE2): ("table", partial(_check_entries, model=PrintedAlgorithm)),
    str(JUDGEMENT): ("judgement", lambda source, data: load_judgement(source.resolve().parents[2])),
    str(PLAUSIBLE / "*.yaml"): ("plausible", lambda source, data: read_plausible(source, source.resolve().parents[2])),
    str(SAMPLES / "*.yaml"): ("sample", lambda source, data: check_study(source, source.resolve().parents[2])),
    str(CLAIMS / "*.yaml"): ("claims", lambda source, data: check_claims(source, source.resolve().parents[2])),
}
