"""The four experiments as they stand: what they hold, what they share and what they cost."""

from dataclasses import fields
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from analysis.figures import FAMILIES
from analysis.spec import Best as BestSpec
from analysis.spec import FigureSpec
from tramontane.results import collate
from tramontane.study import SCALES, Cost, Expansion, estimate, expand, list_experiments, load_experiment, validate_file
from tramontane.study.cost import total
from tramontane.study.experiments import FIGURE_KINDS, QUANTITIES, Best, Figure

ROOT = Path(__file__).parents[2]
FILES = {file.stem: file for file in list_experiments(ROOT)}
FOUR = ["fig05a-alltoall-algorithms", "fig05b-topologies", "fig09a-halo-widths", "fig10a-allreduce"]


@pytest.fixture(scope="module")
def expansions() -> dict[tuple[str, str], Expansion]:
    return {(name, scale): expand(load_experiment(FILES[name]), scale) for name in FOUR for scale in SCALES}


def line(expansion: Expansion, **coords: Any) -> dict[Any, str]:
    """Return the identities along `ranks` where the other coordinates have the given values."""
    return {
        entry.coords["ranks"]: entry.point.id
        for entry in expansion.points
        if entry.point and all(entry.coords[name] == value for name, value in coords.items())
    }


def test_all_files_of_configs_are_valid() -> None:
    kinds = {file.stem: validate_file(file) for file in (ROOT / "configs").rglob("*.yaml")}
    assert set(kinds.values()) == {
        "experiment",
        "machine",
        "grids",
        "references",
        "table",
        "claims",
        "judgement",
        "system",
    }
    assert {name for name, kind in kinds.items() if kind == "experiment"} >= set(FOUR)


@pytest.mark.parametrize("name", FOUR)
def test_documentation(name: str) -> None:
    experiment = load_experiment(FILES[name])
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert experiment.paper is not None
    assert experiment.paper.doi == "10.5194/gmd-11-3409-2018"
    assert "Z" in experiment.references
    assert experiment.figure.caption
    assert tuple(experiment.scales) == SCALES


@pytest.mark.parametrize("scale", SCALES)
def test_figures_share_their_points(expansions: dict[tuple[str, str], Expansion], scale: str) -> None:
    """Ring-4 of Fig. 5a is the dragonfly of Fig. 5b and the transposition of Figs. 9a and 10a."""
    algorithms, topologies, halos, allreduces = (expansions[name, scale] for name in FOUR)
    ring = line(algorithms, series="ring-4")
    dragonfly = str(topologies.dims["machine"][2])
    assert dragonfly.startswith("dragonfly")
    assert line(topologies, machine=dragonfly) == ring
    assert line(halos, series="transposition") == ring
    assert line(allreduces, series="transposition") == ring
    assert len(ring) > 4


def test_nothing_else_is_shared(expansions: dict[tuple[str, str], Expansion]) -> None:
    for scale in SCALES:
        ring = set(line(expansions[FOUR[0], scale], series="ring-4").values())
        for first, second in combinations(FOUR, 2):
            shared = set(expansions[first, scale].unique()) & set(expansions[second, scale].unique())
            assert shared == ring


def test_paper_scale_is_that_of_the_paper(expansions: dict[tuple[str, str], Expansion]) -> None:
    """Section 4.1: 1 to 9 in each decade from 100, to 2e5 for the transposition and 1e6 for the others; Tables 1, 3."""
    algorithms, topologies, halos, allreduces = (expansions[name, "paper"] for name in FOUR)
    transposed = [step * 10**power for power in (2, 3, 4) for step in range(1, 10)] + [100_000, 200_000]
    every = sorted({*transposed, *(step * 100_000 for step in range(1, 11))})
    assert algorithms.dims == {"series": ["burst", "bruck", "ring-1", "ring-4"], "ranks": transposed}
    assert topologies.dims == {"machine": ["torus-M", "fattree-M", "dragonfly-MM"], "ranks": transposed}
    assert halos.dims["ranks"] == allreduces.dims["ranks"] == every
    assert sorted(line(halos, series="transposition")) == transposed
    grids = {tuple(p.point.canonical()["workload"]["grid"]) for p in algorithms.points if p.point}
    assert grids == {(28800, 14400, 256)}
    machines = {p.point.machine.name for p in halos.points if p.point and p.coords["series"] == "halo-20"}
    assert machines == {"dragonfly-ML"}
    largest = next(p.point for p in halos.points if p.coords == {"series": "halo-20", "ranks": 1_000_000})
    assert largest is not None
    assert largest.canonical()["workload"]["decomposition"] == [1000, 1000]


def test_laptop_runs_the_real_networks(expansions: dict[tuple[str, str], Expansion]) -> None:
    for name in FOUR:
        for entry in expansions[name, "laptop"].points:
            assert entry.point is not None
            assert entry.point.machine.facts.nodes == 390_625
        ranks = expansions[name, "laptop"].dims["ranks"]
        assert min(ranks) == 100
        assert max(ranks) >= 10_000


def campaign(expansions: dict[tuple[str, str], Expansion], scale: str) -> Cost:
    points = {key: point for name in FOUR for key, point in expansions[name, scale].unique().items()}
    return total([estimate(point.canonical()) for point in points.values()])


def test_figures_can_ask_for_what_there_is() -> None:
    """The words an experiment may use are those of the rooms that collate and draw."""
    assert set(FAMILIES) <= set(FIGURE_KINDS)
    assert {load_experiment(file).figure.kind for file in FILES.values()} <= set(FAMILIES)
    assert set(QUANTITIES) <= {quantity.name for quantity in collate.QUANTITIES} | {"phase_time_s"}
    known = {field.name for field in fields(FigureSpec)}
    assert set(Figure.model_fields) == known
    assert {field.name for field in fields(BestSpec)} == set(Best.model_fields)


def test_smoke_is_small(expansions: dict[tuple[str, str], Expansion]) -> None:
    cost = campaign(expansions, "smoke")
    assert cost.hops < 1e8
    assert cost.seconds < 60


def test_laptop_is_an_evening_at_most(expansions: dict[tuple[str, str], Expansion]) -> None:
    cost = campaign(expansions, "laptop")
    assert 1e9 < cost.hops < 4e9
    assert cost.memory_bytes < 2e9
