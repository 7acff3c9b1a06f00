"""Programs in closed form: overlap, imbalance, split phase; and as the sum of their parts."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tramontane.study import Point
from tramontane.substrates.simulator import Simulator, schedule

from .points import PAIR, TORUS, without_costs

US = 1e-6
GRID = [64, 64, 64]
HALO = {"kind": "halo", "width": 4, "grid": GRID, "decomposition": [2, 1]}  # 256 KiB to either side: rendezvous
EAGER = {"kind": "halo", "width": 1, "grid": [64, 64, 1], "decomposition": [2, 1]}  # 512 B


def point(steps: list[Any], ranks: int = 2, net: dict[str, Any] | None = None, **more: Any) -> Point:
    machine = dict(net or (PAIR if ranks == 2 else TORUS))
    protocol = {key: more.pop(key) for key in ("progress", "eager_limit", "short_limit") if key in more}
    program: dict[str, Any] = {key: more.pop(key) for key in ("repeat", "communicators") if key in more}
    workload = {"kind": "program", "steps": steps, **program}
    return Point.model_validate(
        {"ranks": ranks, "workload": workload, "machine": machine | {"protocol": protocol}, **more}
    )


def run(steps: list[Any], ranks: int = 2, threads: int = 1, **more: Any) -> dict[str, Any]:
    return Simulator(threads).run(point(steps, ranks, **more))


def steps_of(result: dict[str, Any]) -> dict[str, Any]:
    """Return what a result says of each step, by name."""
    return {step["name"]: {key: step[key] for key in step if key != "name"} for step in result["steps"]}


def work(time: str, **more: Any) -> dict[str, Any]:
    return {"kind": "work", "time": time, **more}


@pytest.mark.parametrize("microseconds", [5, 20, 27, 28, 100])
def test_overlap_takes_as_long_as_the_longer_of_the_two(microseconds: int) -> None:
    alone = run([HALO])["time_s"]
    both = run([{"overlap": {"exchange": HALO, "work": {"time": f"{microseconds} us"}}}], progress="hardware")
    assert both["time_s"] == pytest.approx(max(alone, microseconds * US), rel=1e-12)


@pytest.mark.parametrize("microseconds", [5, 100])
def test_without_progress_a_rendezvous_waits_for_the_end_of_the_work(microseconds: int) -> None:
    """Only the header is on its way meanwhile; it bypasses no work, and saves what it takes."""
    alone = run([HALO])["time_s"]
    both = run([{"overlap": {"exchange": HALO, "work": {"time": f"{microseconds} us"}}}])["time_s"]
    saved = alone + microseconds * US - both
    assert 0 < saved < 0.5 * US
    again = run([{"overlap": {"exchange": HALO, "work": {"time": f"{2 * microseconds} us"}}}])["time_s"]
    assert again - both == pytest.approx(microseconds * US, rel=1e-9)


@pytest.mark.parametrize("progress", ["calls", "hardware"])
def test_eager_messages_travel_during_work_whatever_makes_progress(progress: str) -> None:
    alone = run([EAGER])["time_s"]
    both = run([{"overlap": {"exchange": EAGER, "work": {"time": "50 us"}}}], progress=progress)
    # What is left is copying them out of the buffer.
    assert 50 * US <= both["time_s"] < 50 * US + alone


def test_work_takes_its_time_and_waits_for_nobody() -> None:
    result = run([work("70 us"), work("30 us", name="more")], ranks=8)
    assert result["time_s"] == pytest.approx(100 * US, rel=1e-12)
    assert result["messages"] == 0
    assert steps_of(result)["more"] == pytest.approx({"time_s": 30 * US, "work_s": 30 * US, "busy_s": 0}, rel=1e-12)


def test_work_per_point_is_that_of_the_block() -> None:
    """19 points over 4 ranks in x: 5, 5, 5, 4; 7 over 2 in y: 4, 3; 3 levels."""
    result = run([work("0 s", per_point="10 ns", grid=[19, 7, 3], decomposition=[4, 2])], ranks=8)
    assert result["time_s"] == pytest.approx(5 * 4 * 3 * 10e-9, rel=1e-12)
    assert steps_of(result)["work"]["work_s"] == pytest.approx(19 * 7 * 3 * 10e-9 / 8, rel=1e-12)


def test_imbalance_moves_to_where_ranks_wait() -> None:
    """All ranks end the allreduce at nearly one time, so who works less waits more."""
    even = run([work("100 us"), {"kind": "allreduce", "algorithm": "recursive-doubling"}], ranks=32)
    uneven = run([work("100 us", imbalance="50 %"), {"kind": "allreduce", "algorithm": "recursive-doubling"}], ranks=32)
    extra = uneven["time_s"] - even["time_s"]
    assert 40 * US < extra <= 50 * US  # the largest of 32 factors up to 1.5
    steps = steps_of(uneven)
    waiting = steps["allreduce"]["time_s"] - steps_of(even)["allreduce"]["time_s"]
    assert waiting == pytest.approx(uneven["time_s"] - even["time_s"] + 100 * US - steps["work"]["work_s"], abs=2 * US)
    whole = sum(step["time_s"] for step in steps.values())
    assert uneven["time_s"] - 3 * US < whole <= uneven["time_s"]


def test_noise_differs_from_time_to_time_and_imbalance_does_not() -> None:
    def of_repetitions(**spread: str) -> list[float]:
        times = [run([work("100 us", **spread)], repeat=n)["time_s"] for n in (1, 2, 3)]
        return [times[0], times[1] - times[0], times[2] - times[1]]

    assert of_repetitions(imbalance="20 %") == pytest.approx([of_repetitions(imbalance="20 %")[0]] * 3, rel=1e-9)
    noisy = of_repetitions(noise="20 %")
    assert len({round(time, 12) for time in noisy}) == 3
    assert all(0 < time <= 120 * US for time in noisy)


def test_steps_of_one_seed_draw_the_same_noise_whatever_the_seed_of_the_point() -> None:
    noisy = [work("100 us", noise="20 %", name=name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("other", 2))]
    worked = [[steps_of(run(noisy, seed=seed))[name]["work_s"] for name in ("a", "b", "other")] for seed in (1, 2)]
    assert worked[0] == worked[1]
    a, b, other = worked[0]
    assert a == b != other


ALONE = {
    "halo": {"kind": "halo", "width": 3, "grid": [128, 64, 16]},
    "transposition": {"kind": "transposition", "algorithm": "ring-k", "radix": 3, "grid": [128, 64, 16]},
    "allreduce": {"kind": "allreduce", "algorithm": "rabenseifner", "count": 1000, "repeats": 4},
}


@pytest.mark.parametrize("kind", ALONE)
def test_a_program_of_one_step_is_that_workload(kind: str) -> None:
    common = {"ranks": 32, "machine": TORUS, "start_jitter": "20 ns"}
    alone = Simulator().run(Point.model_validate({**common, "workload": ALONE[kind]}))
    program = run([ALONE[kind]], ranks=32, start_jitter="20 ns")
    for key in ("time_s", "messages", "packets", "control_packets", "bytes", "hops", "events", "delays"):
        assert program[key] == alone[key], key
    assert list(program["phases"].values()) == list(alone["phases"].values())


def test_a_begun_exchange_that_ends_at_once_is_whole() -> None:
    whole = run([HALO])
    split = run([HALO | {"begin": "h"}, {"kind": "end", "of": "h"}])
    for key in ("time_s", "messages", "packets", "hops"):
        assert split[key] == whole[key], key


def test_a_step_on_rows_is_that_of_each_row_alone() -> None:
    """Rows of a torus that is a line of switches share no link in the direction of their messages."""
    reduce = {"kind": "allreduce", "algorithm": "ring", "count": 100_000}
    of_one = run([reduce], ranks=4, net={"topology": "torus", "geometry": [4, 1, 1], "nodes_per_switch": 1})
    net = {"topology": "torus", "geometry": [4, 4, 1], "nodes_per_switch": 1}
    rows = run([reduce | {"communicator": "rows"}], 16, net=net, communicators={"rows": {"consecutive": 4}})
    assert rows["time_s"] == of_one["time_s"]
    assert rows["messages"] == 4 * of_one["messages"]


def test_ranks_outside_a_communicator_pass_by() -> None:
    some = {"some": {"range": [3, 4]}, "first": {"leaders": 8}}
    reduce = {"kind": "allreduce", "algorithm": "ring", "count": 100}
    result = run(
        [reduce | {"communicator": "some"}, reduce | {"communicator": "first", "name": "f"}], 32, communicators=some
    )
    alone = run([reduce], ranks=4)
    assert result["messages"] == 2 * alone["messages"]  # 4 ranks, and 4 leaders


STEPS = st.lists(
    st.sampled_from(
        [
            {"kind": "halo", "width": 2, "grid": [40, 30, 4]},
            {"kind": "transposition", "algorithm": "burst", "grid": [40, 30, 40]},
            {"kind": "transposition", "algorithm": "sliding-window", "radix": 2, "grid": [40, 30, 40]},
            {"kind": "allreduce", "algorithm": "recursive-k", "radix": 3, "count": 700, "communicator": "rows"},
            {"kind": "allreduce", "algorithm": "ring", "count": 9, "communicator": "columns"},
            {"overlap": {"exchange": {"kind": "halo", "width": 3, "grid": [40, 30, 9]}, "work": {"time": "9 us"}}},
            {"work": {"time": "3 us", "imbalance": "90 %", "noise": "30 %"}},
        ]
    ),
    min_size=1,
    max_size=6,
)


@given(steps=STEPS, ranks=st.integers(5, 24), repeat=st.integers(1, 3), progress=st.sampled_from(["calls", "hardware"]))
def test_threads_never_matter_and_every_byte_arrives(steps: list[Any], ranks: int, repeat: int, progress: str) -> None:
    communicators = {"rows": {"consecutive": 5}, "columns": {"every": 3}}
    more: dict[str, Any] = {
        "repeat": repeat,
        "communicators": communicators,
        "progress": progress,
        "start_jitter": "1 us",
    }
    first = run(steps, ranks, **more)
    second = run(steps, ranks, threads=3, **more)
    assert without_costs(first) == without_costs(second)
    assert first["time_s"] <= sum(phase for phase in first["phases"].values()) * repeat + 1e-9
    assert first["delays"]["packets"] is not None


@pytest.mark.parametrize(
    ("steps", "found", "allowed"),
    [
        ([HALO | {"communicator": "cells"}], "found 'cells'", "all, or a name of workload.communicators"),
        ([{"kind": "end", "of": "h"}], "found 'h'", "the label of an exchange that is begun before"),
        ([HALO | {"begin": "h"}], "found no end of 'h'", "an end of each exchange that is begun"),
        ([HALO | {"begin": "h"}] * 2, "found 'h', which has not ended", "another label"),
        ([{"kind": "work"}], "found no work", "time or per_point of more than 0 s"),
        ([work("1 us", imbalance="101 %")], "found 101 %", "at most 100 %"),
        ([work("0 s", per_point="1 ns")], "missing, but per_point needs it", "Grid points"),
        ([work("0 s", per_point="900 s", grid=[4000, 4000, 100])], "found 900", "at most 1000 s of work in all"),
        ([HALO | {"width": 0}], "found 0", "a whole number, 1 or more"),
        ([{"kind": "allreduce", "algorithm": "library"}], "found 'library' in a program", "recursive-k"),
        (
            [{"kind": "allreduce", "algorithm": "recursive-k", "radix": "optimal"}],
            "found optimal in a program",
            "whole",
        ),
        ([HALO | {"buffers": "datatypes"}], "found datatypes in a step", "explicit, or a halo of its own"),
        ([HALO | {"decomposition": [3, 1]}], "found [3, 1], that is 3 processes", "cx * cy = 2"),
        ([{"kind": "program", "steps": []}], "program", "transposition"),
        ([{"hallo": {"width": 2}}], "hallo", "halo"),
        ([], "", ""),
    ],
)
def test_bad_steps_are_refused(steps: list[Any], found: str, allowed: str) -> None:
    with pytest.raises(ValidationError) as refused:
        point(steps)
    assert found in str(refused.value)
    assert allowed in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "found", "key"),
    [
        ({"consecutive": 3}, "found 3", "workload.communicators.c.consecutive"),
        ({"range": [1, 2]}, "found [1, 2]", "workload.communicators.c.range"),
        ({}, "found no rule", ""),
        ({"consecutive": 1, "every": 1}, "found consecutive, every", ""),
    ],
)
@pytest.mark.parametrize("looped", [False, True])
def test_bad_communicators_are_refused(rule: dict[str, Any], found: str, key: str, looped: bool) -> None:
    steps = [HALO | {"communicator": "c"}]
    with pytest.raises(ValidationError) as refused:
        point([{"loop": {"times": 2, "steps": steps}}] if looped else steps, communicators={"c": rule})
    assert found in str(refused.value)
    assert refused.value.errors()[0]["ctx"]["key"] == key


def test_a_program_takes_what_it_shares_and_keeps_its_identity() -> None:
    short = {"kind": "program", "grid": GRID, "steps": [{"halo": {"width": 4}}, {"work": {"time": "1 us"}}]}
    full = {
        "kind": "program",
        "steps": [{"kind": "halo", "width": 4, "grid": GRID}, {"kind": "work", "time": "1000 ns"}],
    }
    made = [Point.model_validate({"ranks": 2, "workload": each, "machine": PAIR}) for each in (short, full)]
    assert made[0].id == made[1].id
    assert Point.from_canonical(made[0].canonical()) == made[0]


PUTS = {"put": "1 ns", "lock": "1 us", "unlock": "1 us", "flush": "1 ns"}


def test_a_loop_is_its_steps_one_after_the_other() -> None:
    body = [{"overlap": {"exchange": EAGER, "work": work("3 us", imbalance="10 %")}}, HALO]
    looped = run([work("1 us"), {"loop": {"times": 3, "steps": body}}, EAGER], repeat=2)
    apart = run([work("1 us"), *body * 3, EAGER], repeat=2)
    assert looped["time_s"] == apart["time_s"]
    assert steps_of(looped) == steps_of(apart)


def test_however_often_a_loop_is_done_it_is_kept_once() -> None:
    program = point([{"loop": {"times": 100_000, "steps": [HALO | {"name": "swap"}]}}])
    keys = program.schedule_keys()
    assert [step["kind"] for step in keys["steps"]] == ["loop"]
    rounds = schedule(program.workload, 2)
    assert rounds.rounds == 100_000 * schedule(point([HALO]).workload, 2).rounds
    assert any(rounds.round(0, rounds.rounds - 1 - last).sends > 0 for last in range(2))


def test_noise_is_drawn_anew_in_each_pass() -> None:
    """The sum of as many draws, and not one of them so many times."""
    passes, repeats = 4, 25
    one = {"kind": "work", "time": "1 us", "noise": "100 %"}
    looped = run([{"loop": {"times": passes, "steps": [one]}}], repeat=repeats)
    assert looped["time_s"] == run([one], repeat=passes * repeats)["time_s"]


def test_a_window_of_a_loop_is_locked_once() -> None:
    """A passive target is locked before the first time and unlocked after the last, as in a program that repeats."""
    put = EAGER | {"one_sided": {"synchronisation": "passive"}}
    net = PAIR | {"one_sided": PUTS}
    looped = run([{"loop": {"times": 3, "steps": [put]}}], net=net, repeat=2)
    assert looped["time_s"] == run([put], net=net, repeat=6)["time_s"]


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        ([EAGER | {"begin": "a"}, {"loop": {"times": 2, "steps": [{"end": {"of": "a"}}]}}], "found 'a'"),
        ([{"loop": {"times": 2, "steps": [EAGER | {"begin": "a"}]}}], "found no end of 'a'"),
        (
            [
                EAGER | {"begin": "a"},
                {"loop": {"times": 2, "steps": [EAGER | {"begin": "a"}, {"end": {"of": "a"}}]}},
                {"end": {"of": "a"}},
            ],
            "found 'a', which has not ended",
        ),
        ([{"loop": {"times": 2**31, "steps": [EAGER]}}], "found 2147483648 steps, those of loops each time"),
    ],
)
def test_what_a_loop_cannot_have_is_a_line(steps: list[Any], line: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(line)):
        point(steps)


def test_loops_that_draw_noise_are_of_the_third_revision() -> None:
    noisy = {"kind": "work", "time": "1 us", "noise": "2 %"}
    revisions = [
        Simulator().revision(point(steps))
        for steps in ([noisy], [{"loop": {"times": 2, "steps": [noisy]}}], [{"loop": {"times": 2, "steps": [HALO]}}])
    ]
    assert revisions == [2, 3, 2]


def test_receives_in_turn_that_take_time_to_post_are_of_the_fifth_revision() -> None:
    in_turn = {**HALO, "calls": "isend-recv"}
    costs: list[dict[str, Any]] = [
        {},
        {"overhead": {"send": "1 us", "receive": "1 us"}},
        {"matching": {"posted": "1 ns"}},
    ]
    revisions = [[Simulator().revision(point([step], net=PAIR | each)) for each in costs] for step in (HALO, in_turn)]
    assert revisions == [[2, 2, 2], [2, 2, 5]]


def test_blocks_of_groups_are_rounded_to_elements() -> None:
    """Groups with 2/3 and 4/3 of the mean: of 2 elements 1.33 and 2.67, so 1 and 3."""
    blocks = {"algorithm": "burst", "count": 2, "spread": "0 %", "communicator": "pairs", "groups": [1, 2]}
    result = run([{"alltoallv": blocks}], ranks=4, communicators={"pairs": {"consecutive": 2}})
    assert (result["messages"], result["bytes"]) == (4, 2 * 8 * (1 + 3))
