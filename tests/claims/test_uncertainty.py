"""Shares of statements over drawn machines: intervals, the parameter that decides, the box, and the nearest turn."""

import math
import shutil
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ruamel.yaml import YAML

from tramontane.claims import draws
from tramontane.claims.boxes import find_box
from tramontane.claims.draws import TOGETHER, Tried
from tramontane.claims.matching import matches
from tramontane.claims.screening import effects
from tramontane.claims.share_tables import drawn_together, held_on, row
from tramontane.claims.shares import influence, nearest_turn, shares, wilson
from tramontane.claims.uncertainty import Answer, about, as_data, spell
from tramontane.errors import InputError
from tramontane.study import expand, validate_file
from tramontane.study.experiments.expansion import ExpandedPoint
from tramontane.study.experiments.samples import chosen, experiments
from tramontane.study.experiments.studies import load_study, read_study
from tramontane.study.sampling.plausible import Unstated
from tramontane.study.sampling.sampling import in_unit_cube

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(3)
PLACES = RNG.random((400, 6))


def parameters() -> dict[str, Unstated]:
    own: dict[str, Any] = {"range": [0.0, 1.0], "base": 0.5, "sets": {}, "reason": "a test"}
    return {f"p{number}": Unstated.model_validate(own) for number in range(6)}


def tried(margins: np.ndarray[Any, Any], base: float = 1.0) -> Tried:
    held = np.where(np.isnan(margins), np.nan, margins > 0)
    return Tried(
        "X", margins, held, np.zeros(margins.size, bool), base, float(base > 0), "log ratio", 1, 1, (100, 1000)
    )


def test_wilsons_interval_is_that_of_the_textbook() -> None:
    assert wilson(8, 10) == pytest.approx((0.490, 0.943), abs=1e-3)
    assert wilson(0, 0) == (0, 1)


def test_a_known_box_is_found() -> None:
    holds = (PLACES[:, 1] > 0.6) & (PLACES[:, 4] < 0.5)
    box = find_box(PLACES, holds, {})
    assert box is not None
    assert box.cut == [1, 4]
    assert box.low[1] == pytest.approx(0.6, abs=0.08)
    assert box.high[4] == pytest.approx(0.5, abs=0.08)
    assert box.density >= 0.95
    assert box.coverage > 0.7


@pytest.mark.parametrize("ends", [(0, 2 / 3), (1 / 3, 1), (1 / 3, 2 / 3)])
def test_a_box_cuts_choices_whole(ends: tuple[float, float]) -> None:
    low, high = ends
    box = find_box(PLACES, (PLACES[:, 2] > low) & (PLACES[:, 2] < high), {2: 3})
    assert box is not None
    assert box.cut == [2]
    assert (box.low[2], box.high[2]) == pytest.approx(ends)
    assert box.coverage == 1


def test_a_box_cuts_between_whole_numbers() -> None:
    own: dict[str, Any] = {"log": [1, 16], "base": 1, "sets": {}, "reason": "a test"}
    known = {"ratio": Unstated.model_validate(own)}
    places = (np.arange(100)[:, np.newaxis] + 0.5) / 100
    numbers = np.array([known["ratio"].value(at) for at in places.ravel().tolist()])
    for fails in (0.1, 0.3):  # on some machines with 1, and on some with 2
        box = shares([tried(np.where(places.ravel() < fails, -1.0, 1.0))], places, known)[0].box
        assert box is not None
        least = known["ratio"].value(float(box.low[0]))
        assert least == known["ratio"].value(fails) + 1
        assert box.inside == (numbers >= least).sum()


def test_there_is_no_box_where_a_statement_holds_by_chance() -> None:
    assert find_box(PLACES, RNG.random(400) < 0.3, {}) is None


def test_the_parameter_that_decides_stands_out_and_nothing_does_where_none_decides() -> None:
    found, chance = influence(PLACES, np.sin(3 * PLACES[:, 3]) + 0.1 * PLACES[:, 0], parameters())
    assert found[0].parameter == "p3"
    assert found[0].index > chance
    assert found[0].low <= found[0].index <= found[0].high
    noise, chance = influence(PLACES, RNG.random(400), parameters())
    assert noise[0].index < chance
    assert influence(PLACES[:5], np.arange(5.0), parameters()) == ((), math.inf)


def test_shares_count_what_could_be_decided() -> None:
    margins = np.where(PLACES[:, 0] < 0.25, 1.0, -1.0)
    margins[:40] = np.nan
    own = shares([tried(margins)], PLACES, parameters())[0]
    assert own.of == 360
    assert own.holds == int((margins > 0).sum())
    assert own.together[0] == own.interval[0]  # one statement alone
    two = shares([tried(margins), tried(margins)], PLACES, parameters())[0]
    assert two.together[0] < two.interval[0]
    assert own.decides is not None
    assert own.decides.parameter == "p0"


def test_an_infinite_margin_decides() -> None:
    own = tried(np.repeat([-math.inf, -1.0, 1.0, math.inf], 100), math.inf)
    found = shares([own], PLACES, parameters())[0]
    assert (found.holds, found.of) == (200, 400)
    assert len(matches([own], PLACES, parameters())) == 400
    assert found.turn is not None
    assert found.turn < 200
    assert all(math.isfinite(each.index) for each in found.influences)
    assert draws.whole([own])[0].there.all()


def test_the_nearest_turn_is_nearest_to_our_own_machine() -> None:
    places = np.full((3, 6), 0.5)
    places[:, 0] = 0.6, 0.7, 0.9
    assert nearest_turn(tried(np.array([1.0, -1.0, -1.0])), places, parameters()) == 1
    assert nearest_turn(tried(np.array([1.0, 1.0, np.nan])), places, parameters()) is None
    assert nearest_turn(tried(np.array([1.0, -1.0, -1.0]), -1.0), places, parameters()) == 0


ROUTED: dict[str, dict[str, Any]] = {
    "routing": {"choice": ["minimal", "ugal"], "base": "minimal"},
    "latency": {"range": [0, 1000], "base": 500},
}


@pytest.mark.parametrize(
    "places",
    [
        [[0.001, 0.51], [0.249, 0.60]],  # both are minimal, wherever in its part
        [[0.001, 0.70], [0.51, 0.50]],
        [[0.49, 0.70], [0.51, 0.50]],
    ],
)
def test_another_choice_is_as_far_wherever_in_its_part_a_draw_lies(places: list[list[float]]) -> None:
    known = {name: Unstated.model_validate({"sets": {}, "reason": "a test", **own}) for name, own in ROUTED.items()}
    margins = np.array([-1.0, -1.0])
    assert nearest_turn(tried(margins), np.array(places), known) == 0
    assert [own.draw for own in matches([tried(margins)], np.array(places), known)] == [0, 1]
    assert nearest_turn(tried(margins), np.array(places)[::-1], known) == 1


def test_a_screening_needs_no_decade_of_process_counts_and_other_studies_do() -> None:
    screening = load_study("zheng2018-screening", ROOT)
    own = draws.judgement_at(screening, ROOT, "laptop")
    assert (own.first.value, own.decades.value) == (256, 0)
    usual = draws.judgement_at(load_study("zheng2018", ROOT), ROOT, "laptop")
    assert (usual.first.value, usual.decades.value) == (100, 1)
    assert own.most == usual.most


def test_a_study_runs_what_its_statements_need_with_one_machine_a_draw() -> None:
    study = load_study("zheng2018", ROOT).at_scale("smoke")
    made = experiments(study, ROOT, "smoke", 2)
    assert {name for name, _ in chosen(study, ROOT)} == set(study.claims)
    points = [entry for each in made[:2] for entry in expand(each, "smoke").points]
    machines: dict[Any, set[str]] = {}
    for entry in points:
        assert entry.point is not None
        own = entry.point.network
        machines.setdefault(entry.coords["draw"], set()).add(f"{own.link} {own.packet} {own.protocol} {own.overhead}")
    assert [len(each) for each in machines.values()] == [1, 1]


def test_runs_of_experiments_add_up() -> None:
    assert draws.Ran(9, 5, 1).and_then(draws.Ran(4, 3, 2)) == draws.Ran(13, 8, 3)


@pytest.mark.parametrize("there", [True, False])
def test_a_study_runs_whole_machines_one_after_the_other(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    ran: list[list[ExpandedPoint]] = []

    def run(name: str, entries: Iterable[ExpandedPoint], root: Path, scale: str, cores: int) -> draws.Ran:
        ran.append(list(entries))
        return draws.Ran(len(ran[-1]), 0 if there else 1)

    monkeypatch.setattr(draws, "run", run)
    told: list[str] = []
    study = load_study("zheng2018-networks", ROOT)
    size = 2 * TOGETHER
    draws.simulate("own", study, ROOT, "smoke", size, 1, told.append)
    whole = [entry for each in draws.drawn(study, ROOT, "smoke", size) for entry in each.points]
    for part, span in zip(ran, (range(TOGETHER), range(TOGETHER, size)), strict=True):
        wanted = {entry.point.id for entry in whole if entry.point and entry.coords["draw"] in span}
        assert {entry.point.id for entry in part if entry.point} == wanted
    left = "" if there else "; less than 1 s left"
    assert told == [f"own: {TOGETHER} of {size} machines{left}", f"own: {size} of {size} machines"]


def test_an_experiment_may_have_process_counts_of_its_own() -> None:
    study = load_study("zheng2018", ROOT)
    counts = study.scales["laptop"].processes_of["fig10c-optimal-radix"]
    made = {each.name: each.scales["laptop"]["processes"] for each in experiments(study, ROOT, "laptop", 2)}
    assert made["fig10c-optimal-radix"] == counts
    assert made["fig10b-topologies"] == study.scales["laptop"].processes


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("claims", ["Z-T1"], "claims[0]: found 'Z-T1'; allowed: a statement that simulations decide"),
        ("claims", ["Z-5z"], "claims[0]: found 'Z-5z'"),
        (
            "scales",
            {"smoke": {"size": 3, "processes": [16]}},
            "scales.smoke.size: found 3; allowed: with sobol a power",
        ),
        ("scales", {"smoky": {"size": 4, "processes": [16]}}, "did you mean 'smoke'?"),
        (
            "scales",
            {"smoke": {"size": 4, "processes": [16], "processes_of": {"fig5b": [16]}}},
            "scales.smoke.processes_of.fig5b: found 'fig5b'; allowed: an experiment of configs/experiments",
        ),
        (
            "scales",
            {"smoke": {"size": 4, "race": True}},
            "scales.smoke.processes: missing; allowed: process counts, where a study races",
        ),
        (
            "scales",
            {"smoke": {"size": 4, "processes": [160, 16]}},
            "scales.smoke.processes: found [160, 16]; allowed: ascending process counts",
        ),
        (
            "scales",
            {"smoke": {"size": 4, "processes": [16], "claims": ["Z-5b", "Z-5z"]}},
            "scales.smoke.claims[1]: found 'Z-5z'",
        ),
        (
            "scales",
            {"smoke": {"size": 4, "processes": [16], "claims": ["Z-7"], "values": {"bin": 8}}},
            "scales.smoke.values.bin: found 'bin'; did you mean 'bins'? allowed: a name of the scale of one of",
        ),
        (
            "claims",
            ["J-F1", "Z-7", "Z-8a", "Z-8b", "Z-8c"],
            "scales.laptop.processes: homme-messages has no processes at scale laptop; allowed: none for this",
        ),
        ("only", {"fig05a": {"series": ["burst"]}}, "only.fig05a: found 'fig05a'; allowed: an experiment"),
        (
            "sample",
            {"method": "lhs", "size": 4, "parameters": {"seed": {"range": [1, 9]}}},
            "sample.plausible: missing",
        ),
        (
            "sample",
            {"plausible": "zheng2018", "method": "sobol", "size": 64},
            "sample.size: found 64; allowed: $size: each scale has its own",
        ),
        (
            "sample",
            {"plausible": "zheng2018", "method": "saltelli", "size": "$size"},
            "sample.method: found 'saltelli'; allowed: lhs, sobol, morris: others draw machines that",
        ),
        ("paper", "Y", "paper: found 'Y'; allowed: Z"),
        ("claims", ["Z-5b", "Z-7", "Z-5b"], "claims[2]: found 'Z-5b' twice; allowed: each statement once"),
        (
            "scales",
            {"smoke": {"size": 4, "processes": [16], "claims": ["Z-7", "Z-7"]}},
            "scales.smoke.claims[1]: found 'Z-7' twice; allowed: each statement once",
        ),
        (
            "scales",
            {"smoke": {"size": 4, "processes": [16], "processes_of": {"fig05b-topologies": [64, 16]}}},
            "scales.smoke.processes_of.fig05b-topologies: found [64, 16]; allowed: ascending process counts",
        ),
    ],
)
def test_what_a_study_can_not_be_is_one_line(tmp_path: Path, key: str, value: object, line: str) -> None:
    data = YAML(typ="safe").load((ROOT / "configs" / "samples" / "zheng2018.yaml").read_text())
    path = tmp_path / "own.yaml"
    with path.open("w") as stream:
        YAML(typ="safe").dump({**data, key: value}, stream)
    with pytest.raises(InputError) as caught:
        read_study(path, ROOT)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("file", "old", "new", "line"),
    [
        (
            "samples",
            "processes: [100, 1000], values",
            "processes: [100, 10000000], values",
            "samples/two-generations.yaml: scales.laptop: fig05b-topologies: scales.laptop.processes: found 10000000",
        ),
        (
            "samples",
            "members: 1, few: 1, many_up_to: 1000, grid: tiny",
            "grid: tinny",
            "samples/two-generations.yaml: scales.smoke: fig05b-topologies: scales.smoke.grid: found",
        ),
        (
            "plausible",
            "choice: [2048 B, 4096 B]",
            "choice: [2048 s, 4096 B]",
            "plausible/two-generations.yaml: parameters.packet.sets.machine.packet: found unit 's' in '2048 s'",
        ),
        (
            "plausible",
            "choice: [first-available, random, round-robin-groups]",
            "choice: [first-available, random, round-robin]",
            "plausible/two-generations.yaml: parameters.nodes.sets.allocation: found 'round-robin'",
        ),
        (
            "plausible",
            "seed: value + (1 if seed is None else seed)",
            "seed: 7 / value",
            "parameters.luck.sets.seed: '7 / value' cannot be evaluated (division by zero); allowed: an "
            "expression that has a value where value = 0",
        ),
    ],
)
def test_a_study_whose_draws_can_not_be_points_is_not_valid(
    tmp_path: Path, file: str, old: str, new: str, line: str
) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    path = tmp_path / "configs" / file / "two-generations.yaml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError) as caught:
        validate_file(tmp_path / "configs" / "samples" / "two-generations.yaml")
    assert line in str(caught.value)
    assert "draw=" not in str(caught.value)  # none that the study has


def test_values_are_spelled_with_their_units() -> None:
    assert spell("4710000000 B/s") == "4.71 GB/s"
    assert spell("123456 ps") == "123 ns"
    assert spell("10000000 ps") == "10,000 ns"
    assert [spell(f"{number} ps") for number in (999_499, 1_234_000)] == ["999 ns", "1,234 ns"]
    assert spell(0.123456) == "0.123"
    assert spell("crossbar fixed") == "crossbar fixed"


@pytest.mark.parametrize(
    ("name", "runs"),
    [
        ("brown2018", "3 runs each"),
        ("dwd2004", "2 runs each"),
        ("two-generations", "one run each"),
        ("zheng2018", "1 to 2 runs each"),  # those of the delays have one
    ],
)
def test_a_study_says_how_many_runs_a_machine_has(name: str, runs: str) -> None:
    study = load_study(name, ROOT).at_scale("laptop")
    assert draws.runs(study, ROOT, "laptop") == runs
    of: Any = SimpleNamespace(study=study, scale="laptop", found=[None] * 30, size=4, runs=runs)
    assert f" {runs}. Of 30 intervals at 95 % about 1.5 miss by chance" in about(of)


def test_where_a_study_does_not_say_how_many_runs_its_experiments_do() -> None:
    study = load_study("two-generations", ROOT)
    laptop = study.scales["laptop"].model_copy(update={"values": {}})
    assert draws.runs(study.model_copy(update={"scales": {"laptop": laptop}}), ROOT, "laptop") == "5 runs each"


@pytest.mark.parametrize(
    ("holds", "of", "words"),
    [
        (199, 200, "more than 99 % of 200"),
        (200, 200, "100 % of 200"),
        (1, 256, "less than 1 % of 256"),
        (0, 256, "0 % of 256"),
        (63, 64, "98 % of 64"),
        (0, 0, "none of 0"),
    ],
)
def test_a_share_is_all_or_nothing_only_where_it_is(holds: int, of: int, words: str) -> None:
    assert held_on({"holds": holds, "evaluated": of}) == words


def test_parameters_that_few_draws_do_not_tell_apart_are_named() -> None:
    at = np.linspace(0.05, 0.95, 10)
    data: dict[str, Any] = {
        "index": "PAWN index",
        "size": 10,
        "parameters": [{"name": name} for name in ("a", "b", "c")],
        "places": np.stack([at, 1 - at**2, np.tile([0.2, 0.8], 5)], axis=1).tolist(),
        "claims": [{"decides": "b"}, {"decides": None}],
    }
    said = "Drawn together, so that either may be what decides: a and b (rank correlation -1.00)."
    assert drawn_together(data) == [said]
    assert drawn_together(data | {"places": data["places"] + [[0.9, 0.9, 0.9]] * 20}) == [said], "waves are no draws"
    assert not drawn_together(data | {"claims": [{"decides": "c"}]})
    assert not drawn_together(data | {"index": "mean effect"}), "trajectories change one after the other"


@pytest.mark.parametrize("few", [{"choice": ["a", "b", "c"], "base": "a"}, {"range": [7, 9], "base": 7}])
def test_few_values_are_held_one_by_one(few: dict[str, Any]) -> None:
    """Slices of equal size would mix three choices, and tell of them less than there is: two thirds in the median."""
    known = parameters() | {"p0": Unstated.model_validate({**few, "sets": {}, "reason": "a test"})}
    margins = np.floor(3 * PLACES[:, 0])
    for machines in (64, 400):
        found, chance = influence(PLACES[:machines], margins[:machines], known)
        assert found[0].parameter == "p0"
        first, last = ((margins[:machines] // 1 == value).mean() for value in (0, 2))
        assert found[0].index == pytest.approx(np.median([1 - first, max(first, last), 1 - last]))
        assert found[0].index > chance


def test_a_range_that_decides_less_than_a_choice_does_not_stand_before_it() -> None:
    known = parameters() | {
        "p0": Unstated.model_validate({"choice": ["a", "b", "c"], "base": "a", "sets": {}, "reason": "a test"})
    }
    places = in_unit_cube("sobol", 64, 6, 1)
    found, _ = influence(places, np.floor(3 * places[:, 0]) / 2 + 1.4 * places[:, 1], known)
    assert [each.parameter for each in found[:2]] == ["p0", "p1"]


@pytest.mark.parametrize("method", ["morris", "lhs"])
def test_shares_are_read_off_machines_that_a_prior_was_drawn_for(method: str) -> None:
    study = load_study("zheng2018-screening", ROOT)
    study = study.model_copy(update={"sample": study.sample.model_copy(update={"method": method})})
    places, drawn = study.sample.places(50), study.sample.drawn
    own = tried(np.where(places[:, 0] < 0.5, 1.0, -1.0))
    made = shares([own], places, drawn, effects if method == "morris" else None)
    data = as_data(Answer(study, "laptop", 50, made, study.sample.draws(50), places, "one run each"))
    (found,) = data["claims"]
    (cells,) = [row(each) for each in data["claims"]]
    if method == "morris":
        assert [found[key] for key in ("share", "interval", "interval_all", "box", "box_inside")] == [None] * 5
        assert cells[1:3] == ["no share, 50 machines", "none"]
        assert "No shares" in data["about"]
        assert "intervals" not in data["about"]
    else:
        assert cells[1] == f"{100 * found['share']:.0f} % of 50"
        assert "Of 1 intervals at 95 %" in data["about"]
