"""Plausible ranges of what a paper does not state: what they set, whom they leave alone, and what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from tramontane.claims import draws
from tramontane.errors import InputError
from tramontane.study import expand, load_experiment
from tramontane.study.experiments.expansion import ExpandedPoint
from tramontane.study.experiments.studies import load_study
from tramontane.study.sampling.plausible import read_plausible
from tramontane.study.sampling.sampling import Sample

ROOT = Path(__file__).parents[3]
PAPER = ROOT / "configs" / "plausible" / "zheng2018.yaml"


def drawn(name: str, only: list[str], size: int = 6, **values: Any) -> list[ExpandedPoint]:
    """Return the points of an experiment at the scale smoke, with some parameters of the paper drawn."""
    experiment = load_experiment(ROOT / "configs" / "experiments" / f"{name}.yaml")
    sample = Sample.model_validate({"plausible": "zheng2018", "method": "lhs", "size": size, "only": only})
    sample.choose(read_plausible(PAPER, ROOT).parameters, experiment.path, "sample")
    scales = {"smoke": {**experiment.scales["smoke"], **values}}
    return expand(experiment.model_copy(update={"sample": sample, "scales": scales}), "smoke").points


def test_all_parameters_of_the_paper_together_make_possible_points_of_every_figure() -> None:
    for name in ("fig05d-routings", "fig05e-bandwidths", "fig09b-topologies", "fig10a-allreduce"):
        points = drawn(name, [], size=8, processes=[64], members=1)
        assert len({entry.point.id for entry in points if entry.point}) == len(points)


@pytest.mark.long
@pytest.mark.parametrize("name", ["wang2020", "brown2018", "dwd2004", "jamroz2016"])
def test_all_draws_of_the_other_papers_make_possible_points(name: str) -> None:
    study = load_study(name, ROOT)
    made = draws.drawn(study, ROOT, "laptop", 16)
    assert made
    assert all(entry.point is not None for each in made for entry in each.points if not entry.excluded)


def test_sides_of_a_comparison_have_the_same_machine() -> None:
    points = drawn("fig05a-alltoall-algorithms", [], size=4, processes=[64], members=1)
    machines: dict[Any, set[str]] = {}
    for entry in points:
        assert entry.point is not None
        machines.setdefault(entry.coords["draw"], set()).add(str(entry.point.canonical()["machine"]))
    assert [len(each) for each in machines.values()] == [1] * 4
    assert len(set.union(*machines.values())) == 4


def test_what_an_experiment_sweeps_stays_and_what_follows_it_follows() -> None:
    points = drawn("fig05e-bandwidths", ["link_bandwidth", "injection_ratio"], processes=[16], members=1)
    for entry in points:
        assert entry.point is not None
        machine = entry.point.network
        swept = int(str(entry.coords["bandwidth"]).split()[0]) * 10**9
        assert machine.link.bandwidth == swept
        assert 0.5 * swept <= machine.injection.bandwidth <= 4 * swept
        assert machine.packet == 4096  # not drawn


def test_a_bandwidth_that_was_not_scaled_stays_at_that_of_the_drawn_links() -> None:
    points = drawn("fig05e-bandwidths", ["link_bandwidth", "injection_ratio", "scaled"], 24, processes=[16], members=1)
    injections: dict[Any, set[int]] = {}
    for entry in points:
        assert entry.point is not None
        injections.setdefault(entry.coords["draw"], set()).add(entry.point.network.injection.bandwidth)
    assert {len(each) for each in injections.values()} == {1, 4}


def test_luck_draws_random_numbers_for_all_members_and_leaves_our_own_as_they_are() -> None:
    points = drawn("fig05d-routings", ["luck"], size=4, processes=[16], members=2)
    seeds: dict[Any, set[int]] = {}
    for entry in points:
        assert entry.point is not None
        seeds.setdefault(entry.coords["draw"], set()).add(entry.point.seed)
    assert sorted(map(sorted, seeds.values())) == [[1 + base, 2 + base] for base in (0, 1000, 2000, 3000)]


@pytest.mark.parametrize("name", ["zheng2018", "brown2018", "wang2020", "dwd2004", "jamroz2016"])
def test_what_joined_later_moved_no_draw(name: str) -> None:
    sample = load_study(name, ROOT).sample
    later = [key for key, parameter in sample.drawn.items() if parameter.later]
    assert later[0] == "luck"
    assert list(sample.drawn)[-len(later) :] == later
    for most in range(len(later)):
        only = list(sample.drawn)[: len(sample.drawn) - len(later) + most]
        before = sample.model_copy(update={"only": only})
        assert np.array_equal(sample.places(32)[:, : len(only)], before.places(32))


def test_ranks_and_partners_are_in_other_orders() -> None:
    points = drawn("fig05a-alltoall-algorithms", ["placement", "partners"], 8, processes=[16], members=1)
    found: dict[Any, set[Any]] = {}
    for entry in points:
        assert entry.point is not None
        chosen = (entry.point.workload.chosen, entry.point.mapping)
        found.setdefault(entry.coords["series"], set()).add(chosen)
    assert found["burst"] == {(name, rule) for name in ("burst", "burst-ascending") for rule in ("block", "random")}
    assert found["ring-4"] == {("ring-k", "block"), ("ring-k", "random")}


def test_the_rule_of_a_routing_is_drawn_where_it_is_used() -> None:
    points = drawn("fig05d-routings", ["ugal", "valiant"], 8, processes=[16], members=1)
    found: dict[Any, set[str | None]] = {}
    for entry in points:
        assert entry.point is not None
        found.setdefault(entry.coords["routing"], set()).add(entry.point.network.routing)
    assert found["minimal"] == {"minimal"}
    assert found["valiant"] == {"valiant", "valiant-global"}
    assert found["ugal"] == {"ugal", "ugal-g", "par", "ugal-sstmacro71"}


def changed(folder: Path, **changes: Any) -> Path:
    """Write the paper's file with keys of its parameter `packet` changed; None removes one."""
    data = YAML(typ="safe").load(PAPER.read_text())
    packet = {**data["parameters"]["packet"], **changes}
    data["parameters"]["packet"] = {key: value for key, value in packet.items() if value is not None}
    path = folder / "broken.yaml"
    with path.open("w") as stream:
        YAML(typ="safe").dump(data, stream)
    return path


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"choice": None, "log": ["8 KB", "1 KB"]}, "packet.log: found"),
        ({"choice": None, "log": ["0 B", "8 KB"]}, "packet.log: found ['0 B', '8 KB']; allowed: ends above zero"),
        ({"choice": ["4096 B"]}, "packet.choice: found ['4096 B']; allowed: two values or more"),
        ({"base": "3 B"}, "packet.base: found '3 B'; allowed: a value in choice 1024 B, 2048 B"),
        (
            {"choice": None, "log": ["1 KB", "8 KB"], "base": "-1 KB"},
            "packet.base: found '-1 KB'; allowed: a value in log",
        ),
        ({"reason": None}, "packet.reason: missing; allowed: Why this range"),
        ({"sets": {"machine.paket": "value"}}, "unknown key 'paket' in 'machine.paket'; did you mean 'packet'?"),
        ({"sets": {"machine.packet": "packets"}}, "unknown name 'packets' in 'packets'; did you mean 'packet'?"),
        ({"sets": {"machine.packet": "value +"}}, "which cannot be read"),
        ({"where": "rank > 3"}, "packet.where: unknown name 'rank'"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, changes: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as caught:
        read_plausible(changed(tmp_path, **changes), ROOT)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sample", "line"),
    [
        (
            "{plausible: zheng2019, method: lhs, size: 4}",
            "sample.plausible: found 'zheng2019'; did you mean 'zheng2018'?",
        ),
        (
            "{plausible: zheng2018, only: [pakcet], method: lhs, size: 4}",
            "sample.only[0]: found 'pakcet'; did you mean 'packet'?",
        ),
        (
            "{plausible: zheng2018, only: [packet, link_latency, packet], method: lhs, size: 4}",
            "sample.only[2]: found 'packet' twice; allowed: each parameter once",
        ),
        (
            "{only: [packet], method: lhs, size: 4, parameters: {seed: {range: [1, 9]}}}",
            "sample.only: found ['packet'] without plausible",
        ),
        ("{plausible: zheng2018, method: morris, size: 4}", "allowed: with morris a multiple of 25"),
        ("{method: lhs, size: 4}", "sample.parameters: found none"),
    ],
)
def test_a_sample_that_names_what_is_not_there_is_one_line(tmp_path: Path, sample: str, line: str) -> None:
    folder = tmp_path / "configs" / "experiments"
    folder.mkdir(parents=True)
    for name in ("machines", "plausible", "references.yaml"):
        (tmp_path / "configs" / name).symlink_to(ROOT / "configs" / name)
    text = (ROOT / "configs" / "experiments" / "fig05d-routings.yaml").read_text()
    (folder / "own.yaml").write_text(text.replace("ensemble:", f"sample: {sample}\nensemble:"))
    with pytest.raises(InputError) as caught:
        expand(load_experiment(folder / "own.yaml"), "smoke")
    assert line in str(caught.value)
