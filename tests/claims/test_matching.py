"""The machine that agrees best with a paper: how machines are ranked, and the file that tells it."""

import resource
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tramontane.claims import nearest
from tramontane.claims.draws import Tried
from tramontane.claims.matching import base_place, centres, matches, own_match
from tramontane.claims.shares import shares
from tramontane.claims.uncertainty import Answer, _near, as_data, best
from tramontane.claims.waves import near
from tramontane.errors import InputError
from tramontane.study import load_machine, validate_file
from tramontane.study.experiments.studies import load_study
from tramontane.support.files import UnwritableError

ROOT = Path(__file__).parents[2]
STUDY = load_study("zheng2018", ROOT)
SIZE = 4


def tried(claim: str, held: list[float], base: float) -> Tried:
    own = np.array(held)
    return Tried(claim, own - 0.5, own, np.zeros(own.size, bool), base - 0.5, base, "share", 1, 1, (100, 1000))


FOUND = [
    tried("A", [1.0, 1.0, 0.5, np.nan], 1.0),
    tried("B", [0.0, 1.0, 0.5, 1.0], 0.5),
    tried("C", [1.0, 0.5, 1.0, 1.0], 0.0),
    tried("D", [np.nan] * 4, np.nan),
]


def answer(found: list[Tried]) -> Answer:
    places = STUDY.sample.places(SIZE)
    ranked = shares(found, places, STUDY.sample.drawn)
    return Answer(STUDY, "laptop", SIZE, ranked, STUDY.sample.draws(SIZE), places, "one run each")


def test_the_best_machine_is_that_of_most_statements_then_of_most_checks() -> None:
    found = matches(FOUND, STUDY.sample.places(SIZE), STUDY.sample.drawn)
    assert [own.draw for own in found] == [1, 0, 2]  # draw 3 could not be decided whole
    assert (found[0].holds, found[0].violated) == (("A", "B"), ("C",))
    assert found[0].checks == pytest.approx(2.5 / 3)
    ours = own_match(FOUND)
    assert ours is not None
    assert (ours.holds, ours.violated, ours.distance) == (("A",), ("B", "C"), 0)


def test_of_equal_machines_the_nearer_one_comes_first() -> None:
    """Of numbers a distance is the part of their range that lies between, of choices a half, whichever other it is."""
    names, base = list(STUDY.sample.drawn), base_place(STUDY.sample.drawn)
    bandwidth, latency, ugal = (names.index(name) for name in ("link_bandwidth", "link_latency", "ugal"))
    places = np.tile(base, (5, 1))
    places[1:3, ugal] = 0.4, 0.9
    places[3:, bandwidth] -= 0.3
    places[4, latency] += 0.3
    found = matches([tried("A", [1.0] * 5, 1.0)], places, STUDY.sample.drawn)
    assert [own.draw for own in found] == [0, 3, 4, 1, 2]
    assert [own.distance for own in found] == pytest.approx([0, 0.3, np.hypot(0.3, 0.3), 0.5, 0.5])


def test_nothing_is_ranked_before_anything_is_decided() -> None:
    empty = [tried("D", [np.nan] * 4, np.nan)]
    assert matches(empty, STUDY.sample.places(SIZE), STUDY.sample.drawn) == []
    assert own_match(empty) is None
    assert best(answer(empty)) == []
    with pytest.raises(InputError, match="no draw has the points of all statements yet"):
        nearest.file_of("zheng2018", answer(empty), ROOT)


def test_the_machine_is_a_valid_file_that_says_what_it_violates(tmp_path: Path) -> None:
    own = answer(FOUND)
    root = tmp_path / "checkout"
    (root / "configs").mkdir(parents=True)
    (root / "configs" / "machines").mkdir()
    for file in (ROOT / "configs" / "machines").iterdir():
        (root / "configs" / "machines" / file.name).symlink_to(file)
    path = root / "configs" / "machines" / "zheng2018-best.yaml"
    found = nearest.write("zheng2018", own, ROOT, path)
    assert found.draw == 1
    text = path.read_text()
    assert "2 hold on it: A, B." in text
    assert "It violates C." in text
    assert "nodes" in text
    assert max(map(len, text.splitlines())) <= 120
    validate_file(path)
    network = root / "configs" / "machines" / "own.yaml"
    network.write_text(
        "description: one\nextends: zheng2018-best\ntopology: torus\ngeometry: [4, 4, 4]\nnodes_per_switch: 4\n"
    )
    machine = load_machine("own", root)
    drawn = own.draws[1]
    assert f"{machine.link.bandwidth} B/s" == drawn["link_bandwidth"]
    assert f"{machine.packet} B" == drawn["packet"]
    assert machine.buffer >= 8 * machine.packet - machine.packet


def test_a_machine_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "best.yaml"
    file.write_text("as it was\n")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))  # stands in for a full disk
    try:
        with pytest.raises(UnwritableError):
            nearest.write("zheng2018", answer(FOUND), ROOT, file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert file.read_text() == "as it was\n"


def test_what_asks_for_ranks_and_sets_nothing_of_a_machine_is_no_part_of_it() -> None:
    own = answer(FOUND)
    known = dict(own.study.sample.known)
    changes = {"where": "ranks > 20", "sets": {"start_jitter": "str(ranks) + ' ns'"}}
    sample = own.study.sample.model_copy()
    sample._known = known | {"start_skew": known["start_skew"].model_copy(update=changes)}
    changed = replace(own, study=own.study.model_copy(update={"sample": sample}))
    assert nearest.machine_of(changed, 1, ROOT) == nearest.machine_of(own, 1, ROOT)


def test_all_that_a_study_found_is_plain_data() -> None:
    data: dict[str, Any] = as_data(answer(FOUND))
    assert [own["id"] for own in data["claims"]] == ["A", "B", "C", "D"]
    assert [own["id"] for own in as_data(answer(FOUND), ["B"])["claims"]] == ["B"]
    assert data["machines"][0]["draw"] == 1
    assert data["machines"][0]["values"].keys() == STUDY.sample.drawn.keys()
    assert len(data["places"]) == SIZE
    assert "at most 2 of 3 statements hold on one of 3 drawn machines, on ours 1" in best(answer(FOUND))[0]


def test_a_wave_stays_near_the_best_machines_and_inside_what_is_plausible() -> None:
    parameters = list(STUDY.sample.drawn.values())
    centre = np.full((1, len(parameters)), 0.95)
    spread = []
    for wave in (2, 3):
        found = near(centre, parameters, 64, wave, 1)
        assert found.shape == (64, len(parameters))
        assert found.min() >= 0
        assert found.max() <= 1
        numbers = [number for number, each in enumerate(parameters) if each.choice is None]
        spread.append(np.abs(found[:, numbers] - 0.95).max())
    assert spread[0] == pytest.approx(0.25, abs=0.02)
    assert spread[1] == pytest.approx(0.125, abs=0.01)
    choice = next(number for number, each in enumerate(parameters) if each.choice is not None)
    assert (found[:, choice] == 0.95).mean() == pytest.approx(0.5, abs=0.02)
    assert np.array_equal(found, near(centre, parameters, 64, 3, 1))


@pytest.mark.parametrize(
    ("base", "order"),
    [
        (0.0, [1, 0, 2, -1]),
        (0.5, [1, 0, -1, 2]),  # one statement and two thirds of the checks, as draw 2: nothing is nearer to itself
        (1.0, [-1, 1, 0, 2]),  # as good as the best draw
        (np.nan, [1, 0, 2]),  # not decided whole
    ],
)
def test_our_own_machine_is_ranked_among_the_centres_of_a_wave(base: float, order: list[int]) -> None:
    found = [replace(own, base_held=base) if own.claim == "C" else own for own in FOUND]
    places, ours = STUDY.sample.places(SIZE), base_place(STUDY.sample.drawn)
    at = centres(found, places, STUDY.sample.drawn, 4)
    assert np.array_equal(at, [ours if draw < 0 else places[draw] for draw in order])
    assert np.array_equal(centres(found, places, STUDY.sample.drawn, 2), at[:2])


def test_a_wave_draws_near_the_centres_and_waits_for_a_drawn_machine() -> None:
    own = answer(FOUND)
    at = centres(FOUND, own.places, own.parameters, 4)
    wave = _near(own, "zheng2018", 2).sample.places(SIZE)
    assert np.array_equal(wave, near(at, list(own.parameters.values()), SIZE, 2, STUDY.sample.seed))
    only_ours = [replace(each, held=each.held * np.nan) for each in FOUND]
    with pytest.raises(InputError, match="no draw has the points of all statements yet"):
        _near(answer(only_ours), "zheng2018", 2)


def test_later_waves_rank_machines_and_leave_the_shares_alone() -> None:
    first = answer(FOUND)
    later = [tried(own.claim, [1.0], own.base_held) for own in FOUND[:3]] + [tried("D", [np.nan], np.nan)]
    at = np.full((1, len(STUDY.sample.drawn)), 0.5)
    own = replace(
        first, draws=[*first.draws, *STUDY.sample.at(at).draws(1)], places=np.r_[first.places, at], later=[later]
    )
    assert own.matches[0].draw == SIZE
    assert own.matches[0].holds == ("A", "B", "C")
    data: dict[str, Any] = as_data(own)
    assert data["waves"] == [1]
    assert [each["share"] for each in data["claims"]] == [each["share"] for each in as_data(first)["claims"]]
    assert all(len(each["margins"]) == SIZE + 1 for each in data["claims"])
    assert "one of 4 drawn machines, 1 of them in wave 2 near the best, on ours 1" in best(own)[0]
    assert f"--waves 2 --nearest FILE`: draw {SIZE}, the best of 4 whole machines." in " ".join(
        nearest.file_of("zheng2018", own, ROOT).split()
    ).replace("# ", "")
