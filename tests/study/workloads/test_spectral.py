"""Spectral models in programs: closed forms, a slow count, what is sent and done, and one line for what can't be."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.study.workloads.spectral import AMOUNTS, BACK, TRANSPOSES, Spectral, legendre, of_bands, waves
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


@pytest.mark.parametrize("half", [4, 5, 40, 160])
def test_wave_numbers_are_those_of_the_gaussian_latitudes(half: int) -> None:
    """At the roots of the Legendre polynomial, x = sin latitude, of which the model takes an approximation."""
    roots = np.sort(np.polynomial.legendre.leggauss(2 * half)[0])[:half]
    kept = (4 * np.arange(1, half + 1) + 15) / (3 - roots**2)
    assert waves(half).tolist() == np.minimum(np.maximum.accumulate(kept.astype(int)), half).tolist()


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
    for transposes, partners in zip(TRANSPOSES[:3], (along, latitudes, along), strict=True):
        got = model.block(transposes) * parts * partners
        assert everything[transposes] <= got < everything[transposes] + parts * partners
    assert 0 <= model.amount(AMOUNTS[0]) * parts - model.points * levels < parts
    # with the most that a set has of latitudes, and of levels
    assert model.points * levels * fields <= model.amount(AMOUNTS[1]) * parts


@given(st.integers(8, 200), st.data())
def test_bands_of_latitudes_have_all_and_are_as_even_as_whole_latitudes_can_be(half: int, data: st.DataObject) -> None:
    sets = data.draw(st.integers(1, half))
    points, kept = of_bands(half, sets)
    assert points.sum() == 4 * half * (half + 9)
    assert kept.sum() == 2 * waves(half).sum()
    assert points.min() > 0
    # Each end of a band is off by half a latitude at most, so both together by one.
    assert np.abs(points - points.sum() / sets).max() <= 4 * half + 16


def slow_blocks(model: Spectral, transposes: str) -> dict[tuple[int, int], int]:
    """Return the doubles of each message, counted one latitude and one wave number after the other."""
    half, (sets, along) = model.half, model.sets
    points = [4 * min(i, 2 * half - 1 - i) + 20 for i in range(2 * half)]
    kept = [int(waves(half)[min(i, 2 * half - 1 - i)]) for i in range(2 * half)]
    before = np.cumsum([0, *points])
    band = [int((before[i] + before[i + 1]) / 2 * sets // before[-1]) for i in range(2 * half)]
    owner = [m % sets if m // sets % 2 == 0 else sets - 1 - m % sets for m in range(half)]
    levels = np.bincount(np.arange(model.levels * model.fields) % along, minlength=along)
    found = {}
    for w in range(sets):
        own = [i for i in range(2 * half) if band[i] == w]
        for v in range(along):
            rank = w * along + v
            if transposes == TRANSPOSES[1]:
                for other in range(sets):
                    common = sum(1 for i in own for m in range(kept[i]) if owner[m] == other)
                    found[rank, other * along + v] = 2 * common * int(levels[v])
            for other in range(along if transposes != TRANSPOSES[1] else 0):
                if transposes == TRANSPOSES[0]:
                    found[rank, w * along + other] = round(sum(points[i] for i in own) / along * levels[other])
                else:
                    coefficients = sum(2 * (half - m) for m in range(half) if owner[m] == w)
                    found[rank, w * along + other] = round(coefficients / along * levels[v])
    return found


@pytest.mark.parametrize("transposes", TRANSPOSES)
@pytest.mark.parametrize(("latitudes", "levels", "fields", "parts"), [(40, 8, 2, 24), (90, 7, 3, 60), (64, 5, 1, 32)])
def test_blocks_are_those_of_a_slow_count(
    tmp_path: Path, transposes: str, latitudes: int, levels: int, fields: int, parts: int
) -> None:
    model = Spectral(latitudes=latitudes, levels=levels, fields=fields, parts=parts)
    steps = f"[{{alltoallv: {{transposes: {transposes}, algorithm: burst}}}}]"
    text = f"{{latitudes: {latitudes}, levels: {levels}, fields: {fields}, parts: {parts}}}"
    sent = schedule(point(tmp_path, text, steps, parts, machine="dragonfly-S").workload, parts).transfers(0, "send")
    got = {
        (int(a), int(b)): int(c) // 8
        for a, b, c in zip(sent["source"], sent["destination"], sent["bytes"], strict=True)
    }
    known = slow_blocks(model, BACK.get(transposes, transposes))
    if transposes in BACK:
        known = {(b, a): size for (a, b), size in known.items()}
    assert set(got) == {pair for pair in known if pair[0] != pair[1]}
    off = {pair: abs(got[pair] - known[pair]) for pair in got}
    if BACK.get(transposes, transposes) == TRANSPOSES[1]:
        # Of a latitude that does not keep all wave numbers a set has its share, give or take one wave number.
        most_latitudes = 2 * model.half / model.sets[0] * 4
        most_levels = -(-levels * fields // model.sets[1])
        assert max(off.values()) <= 2 * most_latitudes * most_levels
        assert sum(got.values()) == pytest.approx(sum(known[pair] for pair in got), rel=0.02)
    else:
        # The mean is rounded up before it is multiplied by weights of at most 2.
        assert max(off.values()) <= 4


def point(tmp_path: Path, model: str, steps: str, ranks: int = 24, more: str = "", machine: str = "torus-S") -> Point:
    yaml = tmp_path / "x.yaml"
    yaml.write_text(
        f"ranks: {ranks}\nmachine: {machine}\nworkload:\n  kind: program\n  spectral: {model}\n  steps: {steps}\n{more}"
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


@pytest.mark.parametrize(
    ("share", "said"), [("0 %", "found 0 %; allowed: more"), ("-1 %", "found '-1 %'; allowed: zero")]
)
def test_work_of_no_share_is_refused(tmp_path: Path, share: str, said: str) -> None:
    with pytest.raises(InputError, match=f"workload.work_scale: {said}"):
        point(tmp_path, "null", "[{work: {time: 7 us}}]", more=f"  work_scale: {share}\n")


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
        (
            "{latitudes: 40, levels: 8, parts: 23}",
            "[{halo: {width: 1}}]",
            "parts: found 23; allowed: the product of at most 20 sets of latitudes and at most 8 of levels",
        ),
        ("{latitudes: 40, levels: 8, parts: 12}", "[{halo: {width: 1}}]", "parts: found 12 parts; allowed: 24, the ra"),
        ("{latitudes: 40, levels: 8, parts: 24}", "[{work: {of: points, each: 3}}]", "each: found 3 without a unit"),
        (
            "{latitudes: 40, levels: 8, parts: 24}",
            "[{work: {of: points}}]",
            "of: found no each beside it; allowed: both",
        ),
        ("{latitudes: 40, levels: 8, parts: 24}", "[{work: {each: 3 ns}}]", "each: found no of beside it; allowed: b"),
        (
            "{latitudes: 40, levels: 8, parts: 24}",
            "[{work: {of: points, each: 0 ns}}]",
            "steps[0].each: found '0 ns'; allowed: more than zero",
        ),
        (
            "{latitudes: 40, levels: 8, parts: 24}",
            "[{loop: {times: 2, steps: [{work: {of: points, each: 3 ells}}]}}]",
            "workload.steps[0].steps[0].each: found unit 'ells'",
        ),
        (
            "{latitudes: 40, levels: 8, parts: 24}",
            "[{broadcast: {transposes: grid-fourier, algorithm: binomial}}]",
            "steps[0].transposes: found 'grid-fourier' with operation broadcast; allowed: only with alltoall, alltoal",
        ),
        (
            "{latitudes: 40, levels: 8, parts: 24}",
            "[{alltoall: {transposes: grid-fourier, algorithm: burst, count: 3}}]",
            "steps[0].count: found some beside transposes, which says it; allowed: one of the two",
        ),
        (
            "{latitudes: 40, levels: 8, parts: 24}\n  communicators: [rows]",
            "[{alltoall: {transposes: grid-fourier, algorithm: burst}}]",
            "communicators: found",
        ),
        ("null", "[{work: {of: points, each: 3 ns}}]", "of: found no spectral model"),
        (
            "null",
            "[{alltoall: {transposes: grid-fourier, algorithm: burst}}]",
            "steps[0].transposes: found no spectral model; allowed: only in a program with spectral",
        ),
    ],
)
def test_what_no_model_is_is_told_in_one_line(tmp_path: Path, model: str, steps: str, said: str) -> None:
    with pytest.raises(InputError) as told:
        point(tmp_path, model, steps)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("step", ["{alltoall: {transposes: grid-fourier, algorithm: burst}}", "{halo: {width: 1}}"])
@pytest.mark.parametrize("ranks", [12, 25, 48])
def test_a_model_is_for_as_many_ranks_as_there_are(tmp_path: Path, step: str, ranks: int) -> None:
    with pytest.raises(InputError, match=rf"workload.spectral.parts: found 24 parts; allowed: {ranks}, the ranks"):
        point(tmp_path, "{latitudes: 40, levels: 8, parts: 24}", f"[{step}]", ranks)


def test_a_model_may_be_that_of_a_role(tmp_path: Path) -> None:
    transposition = "[{alltoallv: {transposes: grid-fourier, algorithm: burst}}]"
    alone = point(tmp_path, "{latitudes: 40, levels: 8, parts: 24}", transposition)
    roles = "[]\n  roles:\n    servers: {range: [0, 4], steps: [{work: {time: 1 us}}]}\n"
    roles += f"    model: {{others: true, steps: {transposition}}}"
    beside = point(tmp_path, "{latitudes: 40, levels: 8, parts: 24}", roles, 28)
    columns = ("source", "destination", "bytes")
    sent, own = (schedule(each.workload, each.ranks).transfers(0, "send") for each in (beside, alone))
    got = sorted(zip(*(sent[name].tolist() for name in columns), strict=True))
    assert got == sorted(
        (a + 4, b + 4, size) for a, b, size in zip(*(own[name].tolist() for name in columns), strict=True)
    )
    with pytest.raises(InputError, match=r"spectral.parts: found 20 parts; allowed: 4, 24, the ranks of a role"):
        point(tmp_path, "{latitudes: 40, levels: 8, parts: 20}", roles, 28)
