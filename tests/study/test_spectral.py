"""Spectral models in programs: closed forms, a slow count, what is sent and done, and one line for what can't be."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.study.spectral import AMOUNTS, TRANSPOSES, Spectral, legendre, waves
from tramontane.substrates.simulator import schedule


@pytest.mark.parametrize("half", [4, 10, 100, 1280, 7200])
def test_wave_numbers_grow_from_the_pole_to_the_truncation_and_no_further(half: int) -> None:
    kept = waves(half)
    points = 4 * np.arange(1, half + 1) + 16
    assert (np.diff(kept) >= 0).all()
    assert kept[-1] == half  # at the equator 4 N + 16 points carry N - 1 and more
    assert (2 * kept <= points).all()  # no more than the points of a latitude can tell
    model = Spectral(latitudes=2 * half, levels=1, parts=2)
    assert 2 * points.sum() == model.points


@given(st.integers(4, 60), st.integers(1, 60))
def test_the_largest_set_of_wave_numbers_is_that_of_a_slow_count(half: int, sets: int) -> None:
    dealt = [0] * sets
    for wave in range(half):
        turn, place = divmod(wave, sets)
        own = place if turn % 2 == 0 else sets - 1 - place
        latitudes = sum(1 for kept in waves(half).tolist() if kept > wave)
        dealt[own] += latitudes * (half - wave)
    assert legendre(half, sets) == max(dealt)


@given(st.integers(8, 60), st.integers(1, 20), st.integers(1, 4), st.integers(2, 200))
def test_ranks_have_all_that_there_is_and_little_more(half: int, levels: int, fields: int, parts: int) -> None:
    try:
        model = Spectral(latitudes=2 * half, levels=levels, fields=fields, parts=parts)
    except ValueError:
        assert not any(parts % each == 0 and parts // each <= half for each in range(1, levels + 1))
        return
    latitudes, along = model.sets
    assert latitudes * along == parts
    everything = {
        TRANSPOSES[0]: model.points * levels * fields,
        TRANSPOSES[1]: 4 * int(waves(half).sum()) * levels * fields,
        TRANSPOSES[2]: half * (half + 1) * levels * fields,
    }
    for transposes, partners in zip(TRANSPOSES, (along, latitudes, along), strict=True):
        got = model.block(transposes) * parts * partners
        assert everything[transposes] <= got < everything[transposes] + parts * partners
    for of, whole in zip(AMOUNTS[:2], (1, fields), strict=True):
        assert 0 <= model.amount(of) * parts - model.points * levels * whole < parts


def point(tmp_path: Path, model: str, steps: str, ranks: int = 24, more: str = "") -> Point:
    yaml = tmp_path / "x.yaml"
    yaml.write_text(
        f"ranks: {ranks}\nmachine: torus-S\nworkload:\n  kind: program\n  spectral: {model}\n  steps: {steps}\n{more}"
    )
    return load_point(yaml)


def test_steps_of_a_program_are_those_of_its_model(tmp_path: Path) -> None:
    steps = "[{alltoall: {transposes: fourier-spectral, algorithm: burst}}, {work: {of: points, each: 3 ns}}]"
    made = point(tmp_path, "{latitudes: 40, levels: 8, fields: 2, parts: 24}", steps)
    assert "spectral" not in made.canonical()["workload"]
    assert Point.from_canonical(made.canonical()).id == made.id
    model = Spectral(latitudes=40, levels=8, fields=2, parts=24)
    found = schedule(made.workload, 24)
    sent = found.transfers(0, "send")["bytes"]
    latitudes, levels = model.sets
    assert set(sent.tolist()) == {8 * model.block("fourier-spectral")}
    assert len(sent) == 24 * (latitudes - 1)
    senders = found.transfers(0, "send")
    assert ((senders["destination"] - senders["source"]) % levels == 0).all()
    assert {found.round(rank, 1).work for rank in range(24)} == {3000 * -(-model.points * 8 // 24)}


def test_work_is_scaled_and_grids_of_halos_that_have_one_stay(tmp_path: Path) -> None:
    steps = "[{work: {of: solve, each: 2 us}}, {work: {time: 7 us}}, "
    steps += "{halo: {width: 1, grid: [8, 8, 1]}}, {halo: {width: 1}}]"
    model = "{latitudes: 40, levels: 8, parts: 24}"
    whole = schedule(point(tmp_path, model, steps).workload, 24)
    tenth = schedule(point(tmp_path, model, steps, more="  work_scale: 10 %\n").workload, 24)
    assert [tenth.round(0, each).work for each in (0, 1)] == [whole.round(0, each).work // 10 for each in (0, 1)]
    halos = point(tmp_path, model, steps).canonical()["workload"]["steps"][2:]
    assert [each["grid"] for each in halos] == [[8, 8, 1], [58, 40, 8]]


@pytest.mark.parametrize(
    ("model", "steps", "said"),
    [
        ("{latitudes: 41, levels: 8, parts: 24}", "[{halo: {width: 1}}]", "latitudes: found 41; allowed: an even num"),
        ("{latitudes: 40, levels: 8, parts: 1}", "[{halo: {width: 1}}]", "parts: found 1; allowed: 2 or more"),
        ("{latitudes: 40, levels: 8, parts: 23}", "[{halo: {width: 1}}]", "parts: found 23; allowed: at most 20 sets"),
        ("{latitudes: 40, levels: 8, parts: 24}", "[{work: {of: points, each: 3}}]", "each: found 3 without a unit"),
        ("{latitudes: 40, levels: 8, parts: 24}", "[{work: {of: points}}]", "of: found no spectral model; allowed: bo"),
        ("null", "[{work: {of: points, each: 3 ns}}]", "of: found no spectral model"),
        (
            "null",
            "[{alltoall: {transposes: grid-fourier, algorithm: burst, count: 1}}]",
            "transposes: found an unknown key",
        ),
    ],
)
def test_what_no_model_is_is_told_in_one_line(tmp_path: Path, model: str, steps: str, said: str) -> None:
    with pytest.raises(InputError) as told:
        point(tmp_path, model, steps)
    assert said in str(told.value)
    assert "\n" not in str(told.value)
