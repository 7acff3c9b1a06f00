"""The experiments as they stand: what they hold, what they share and what they cost."""

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from analysis.figures import FAMILIES, OTHERS
from tramontane.study import SCALES, Expansion, estimate, expand, list_experiments, load_experiment
from tramontane.study.experiments.experiments import Experiment
from tramontane.study.experiments.figures import FIGURE_KINDS, OTHER_KINDS
from tramontane.study.points.cost import Cost, total

# Coverage would take most of the time, and see nothing that other tests don't execute.
pytestmark = pytest.mark.no_cover

ROOT = Path(__file__).parents[3]
FILES = {file.stem: file for file in list_experiments(ROOT)}
MEASURED = {"fig06-real-machine", "grist-mpi", "homme-mpi", "lm-mpi", "lm-mpi-buffers", "monc-mpi"}
"""Experiments that a real machine runs, of whatever size it is."""
PAPER = {name for name in FILES if name.startswith("fig")} - MEASURED
"""Experiments that make a figure of the paper."""
PANELS = {
    "fig05": "abcdef",
    "fig08": "abc",
    "fig09": "abcd",
    "fig10": "abc",
}
"""Figures of several panels, of which each has its experiment."""
DRAGONFLY = "the dragonfly of the scale"
TRANSPOSED = [step * 10**power for power in (2, 3, 4) for step in range(1, 10)] + [100_000, 200_000]
EVERY = sorted({*TRANSPOSED, *(step * 100_000 for step in range(1, 11))})


@cache
def loaded(name: str) -> Experiment:
    return load_experiment(FILES[name])


@cache
def expanded(name: str, scale: str) -> Expansion:
    return expand(loaded(name), scale)


class Expansions(Mapping[tuple[str, str], Expansion]):
    """Those of all experiments by name and scale; each is made when it is asked for, once in a process."""

    def __getitem__(self, key: tuple[str, str]) -> Expansion:
        return expanded(*key)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return ((name, scale) for name in FILES for scale in loaded(name).scales)

    def __len__(self) -> int:
        return sum(1 for _ in self)


@pytest.fixture
def expansions() -> Mapping[tuple[str, str], Expansion]:
    return Expansions()


def full(begin: str) -> str:
    """Return the name of the experiment that begins so."""
    return next(name for name in FILES if name.startswith(begin))


def line(expansion: Expansion, **coords: Any) -> dict[Any, str]:
    """Return the identities along `ranks` and `member` where the other coordinates have the given values."""
    return {
        (entry.coords["ranks"], entry.coords["member"]): entry.point.id
        for entry in expansion.points
        if entry.point and all(entry.coords[name] == value for name, value in coords.items())
    }


#: The papers by their DOI; the slides of the LM have none.
PAPERS = {
    "10.5194/gmd-11-3409-2018": "Z",
    "10.1002/cpe.5008": "B",
    "10.32604/cmc.2020.09701": "W",
    "10.5194/gmd-9-2881-2016": "J",
    "": "D",
}


@pytest.mark.parametrize("name", FILES)
def test_documentation(name: str) -> None:
    experiment = load_experiment(FILES[name])
    assert experiment.name == name
    assert experiment.question.endswith("?")
    assert experiment.paper is not None
    assert PAPERS[experiment.paper.doi or ""] in experiment.references
    assert experiment.figure.caption
    assert tuple(experiment.scales) == SCALES or name in MEASURED


def test_every_panel_of_the_paper_has_its_experiment() -> None:
    panels = {name: load_experiment(FILES[name]).figure.panel for name in PAPER}
    found: dict[str, str] = {}
    for name, panel in sorted(panels.items()):
        if panel is not None:
            assert name.startswith(f"{panel.figure}{panel.letter}-")
            found[panel.figure] = found.get(panel.figure, "") + panel.letter
    assert found == PANELS
    assert {name for name, panel in panels.items() if panel is None} == {"fig07-congestion"}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize(
    ("begin", "coords", "whole", "of"),
    [
        ("fig05b", {"machine": DRAGONFLY}, "fig05a", {"series": "ring-4"}),
        ("fig05d", {"routing": "minimal"}, "fig05a", {"series": "ring-4"}),
        ("fig05e", {"bandwidth": "10 GB/s"}, "fig05a", {"series": "ring-4"}),
        ("fig05f", {"latency": "100 ns"}, "fig05a", {"series": "ring-4"}),
        ("fig09a", {"series": "transposition"}, "fig05a", {"series": "ring-4"}),
        ("fig10a", {"series": "transposition"}, "fig05a", {"series": "ring-4"}),
        ("fig09b", {"machine": DRAGONFLY}, "fig09a", {"series": "halo-20"}),
        ("fig09c", {"routing": "minimal"}, "fig09a", {"series": "halo-20"}),
        ("fig10b", {"machine": DRAGONFLY}, "fig10c", {}),
        ("fig10c", {}, "fig10a", {"series": "recursive-k"}),
    ],
)
def test_figures_share_their_points(
    expansions: Mapping[tuple[str, str], Expansion],
    begin: str,
    coords: dict[str, str],
    whole: str,
    of: dict[str, str],
    scale: str,
) -> None:
    """A line of one figure is that of another, with fewer members or at fewer process counts at most."""
    expansion = expansions[full(begin), scale]
    values = {name: str(expansion.dims[name][2]) if value == DRAGONFLY else value for name, value in coords.items()}
    own, other = line(expansion, **values), line(expansions[full(whole), scale], **of)
    shared = own.keys() & other.keys()
    assert shared
    assert all(own[key] == other[key] for key in shared)
    assert {ranks for ranks, _ in shared} == {ranks for ranks, _ in own} & {ranks for ranks, _ in other}


@pytest.mark.parametrize("scale", ["laptop", "paper"])
@pytest.mark.parametrize(
    ("shown", "run"),
    [("fig08a", ("fig05c", "fig05d")), ("fig08b", ("fig05e",)), ("fig08c", ("fig05f",)), ("fig09d", ("fig09a",))],
)
def test_some_figures_show_points_of_others(
    expansions: Mapping[tuple[str, str], Expansion], shown: str, run: tuple[str, ...], scale: str
) -> None:
    others = {key for begin in run for key in expansions[full(begin), scale].unique()}
    assert set(expansions[full(shown), scale].unique()) <= others


@pytest.mark.parametrize("scale", SCALES)
def test_the_matrices_are_those_of_the_delays(expansions: Mapping[tuple[str, str], Expansion], scale: str) -> None:
    """Figs. 7 and 8a show the same four transpositions; a matrix is kept for the former only."""
    matrices, delays = (expansions[full(begin), scale].points for begin in ("fig07", "fig08a"))
    for matrix, delay in zip(matrices, delays, strict=True):
        assert matrix.point is not None
        assert delay.point is not None
        kept = matrix.point.canonical()
        assert kept.pop("statistics")["congestion"] > 0
        assert kept == delay.point.canonical()


def test_paper_scale_is_that_of_the_paper(expansions: Mapping[tuple[str, str], Expansion]) -> None:
    """Section 4.1: 1 to 9 in each decade from 100, to 2e5 for the transposition and 1e6 for the others; Tables 1, 3."""
    for letter in "abcdef":
        expansion = expansions[full(f"fig05{letter}"), "paper"]
        assert expansion.dims["ranks"] == TRANSPOSED
        grids = {tuple(p.point.canonical()["workload"]["grid"]) for p in expansion.points if p.point}
        assert grids == {(28800, 14400, 256)}
    for begin in ("fig09a", "fig09b", "fig09c", "fig10a", "fig10b", "fig10c"):
        assert expansions[full(begin), "paper"].dims["ranks"] == EVERY
    assert expansions[full("fig05b"), "paper"].dims["machine"] == ["torus-M", "fattree-M", "dragonfly-MM"]
    halos = expansions[full("fig09a"), "paper"]
    assert sorted({ranks for ranks, _ in line(halos, series="transposition")}) == TRANSPOSED
    machines = [p.point.machine for p in halos.points if p.point and p.coords["series"] == "halo-20"]
    assert {machine and machine.name for machine in machines} == {"dragonfly-ML"}
    largest = next(p.point for p in halos.points if p.coords == {"series": "halo-20", "ranks": 1_000_000, "member": 0})
    assert largest is not None
    assert largest.canonical()["workload"]["decomposition"] == [1000, 1000]
    for begin in ("fig07", "fig08a", "fig08b", "fig08c"):
        assert {p.point.ranks for p in expansions[full(begin), "paper"].points if p.point} == {10_000}


def test_the_readme_says_how_large_smoke_is(expansions: Mapping[tuple[str, str], Expansion]) -> None:
    smoke = [expansions[name, "smoke"] for name in FILES if "smoke" in loaded(name).scales]
    points = {identity: point for expansion in smoke for identity, point in expansion.unique().items()}
    absent = sum(point.substrate == "sstmacro" for point in points.values())
    counted = f"{len(smoke)} experiments, {len(points)} points, 0 done, {len(points) - absent} to run in "
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"    smoke: {counted}" in text
    assert f"    {absent} points left out: substrate sstmacro: " in text


def test_laptop_runs_the_real_networks(expansions: Mapping[tuple[str, str], Expansion]) -> None:
    for name in PAPER:
        expansion = expansions[name, "laptop"]
        machines = [entry.point.machine for entry in expansion.points if entry.point]
        assert all(machine and machine.facts.nodes == 390_625 for machine in machines)
        ranks = expansion.dims.get("ranks", [])
        assert len(ranks) <= 1 or (min(ranks), max(ranks)) == (100, 10_000)


@pytest.mark.parametrize("name", sorted(PAPER))
def test_members_differ_in_their_seed_only(expansions: Mapping[tuple[str, str], Expansion], name: str) -> None:
    """All start within the same microsecond, so that points of one figure are those of another."""
    for entry in expansions[name, "laptop"].points:
        if entry.point is not None:
            assert entry.point.seed == 1 + int(entry.coords.get("member", 0))
            assert entry.point.start_jitter == 1_000_000


def test_curves_are_ensembles_at_laptop(expansions: Mapping[tuple[str, str], Expansion]) -> None:
    for name in PAPER:
        expansion = expansions[name, "laptop"]
        if load_experiment(FILES[name]).figure.kind == "scaling":
            assert len(expansion.dims["member"]) >= 3
            few = [entry for entry in expansion.points if int(entry.coords["ranks"]) <= 1000 and not entry.point]
            assert not few, "all members where points are cheap"


def campaign(expansions: Mapping[tuple[str, str], Expansion], scale: str) -> Cost:
    chosen = [expansion for (_, at), expansion in expansions.items() if at == scale]
    points = {key: point for expansion in chosen for key, point in expansion.unique().items()}
    return total([estimate(point) for point in points.values()])


def test_figures_can_ask_for_what_there_is() -> None:
    """The words an experiment may use are those of the rooms that collate and draw."""
    assert set(FAMILIES) == set(FIGURE_KINDS)
    assert set(OTHERS) == set(OTHER_KINDS)
    assert {load_experiment(file).figure.kind for file in FILES.values()} <= set(FAMILIES)


def test_smoke_is_small(expansions: Mapping[tuple[str, str], Expansion]) -> None:
    cost = campaign(expansions, "smoke")
    assert cost.hops < 2e8
    assert cost.seconds < 240, "two minutes on two cores"


def test_laptop_is_an_evening_at_most(expansions: Mapping[tuple[str, str], Expansion]) -> None:
    cost = campaign(expansions, "laptop")
    assert cost.seconds < 3600, "half an hour on two cores"
    assert cost.memory_bytes < 4e9
