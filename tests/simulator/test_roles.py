"""Roles: who is in which, what they send to each other, and what waits for what, in closed form."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tramontane import _simulator
from tramontane.study import Point
from tramontane.study.workloads.program_text import lines
from tramontane.study.workloads.programs import Program
from tramontane.substrates.simulator import Simulator, as_simulated, schedule

from .points import TORUS, without_costs

US = 1e-6


def point(roles: dict[str, Any], ranks: int, **more: Any) -> Point:
    workload = {"kind": "program", "roles": roles, **more}
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": TORUS})


def work(us: int) -> dict[str, Any]:
    return {"work": {"time": f"{us} us"}}


def send(target: str, **more: Any) -> dict[str, Any]:
    return {"send": {"target": target, "bytes": "1000 B", **more}}


def receive(source: str, **more: Any) -> dict[str, Any]:
    return {"receive": {"source": source, **more}}


def pairs(described: Point, round_: int) -> list[tuple[int, int, int]]:
    """Return source, target and bytes of each message of a round, and see that both ends agree."""
    plan = schedule(described.workload, described.ranks)
    of_senders, of_receivers = (plan.transfers(round_, side) for side in ("send", "receive"))
    columns = ("source", "destination", "bytes", "tag")
    sent, received = (
        sorted(zip(*(side[c].tolist() for c in columns), strict=True)) for side in (of_senders, of_receivers)
    )
    assert sent == received
    return [row[:3] for row in sent]


RULES = st.sampled_from(
    [
        {"leaders": 4},
        {"range": [3, 5]},
        {"consecutive": 4, "group": 1},
        {"every": 3, "group": 2},
        {"ranks": [9, 1, 6]},
        {"range": [0, 9]},
    ]
)
SETS: dict[str, Callable[[int, dict[str, Any]], list[int]]] = {
    "leaders": lambda n, rule: [r for r in range(n) if r % rule["leaders"] == 0],
    "range": lambda n, rule: [rule["range"][0] + i for i in range(rule["range"][1])],
    "consecutive": lambda n, rule: [r for r in range(n) if r // rule["consecutive"] == rule["group"]],
    "every": lambda n, rule: [r for r in range(n) if r % rule["every"] == rule["group"]],
    "ranks": lambda n, rule: sorted(rule["ranks"]),
}


@given(rule=RULES, ranks=st.integers(10, 30), partners=st.sampled_from(["cyclic", "block", "all"]), total=st.booleans())
@settings(max_examples=60, deadline=None)
def test_partners_are_those_of_the_rule(rule: dict[str, Any], ranks: int, partners: str, total: bool) -> None:
    """Both ways: the larger role sends, and the smaller one answers."""
    amount = {"total": "12345 B", "bytes": None} if total else {"bytes": "1000 B"}
    roles = {
        "some": rule | {"steps": [send("rest", partners=partners, **amount), receive("rest")]},
        "rest": {"others": True, "steps": [receive("some"), send("some", partners=partners)]},
    }
    described = point(roles, ranks)
    some = SETS[next(iter(rule))](ranks, rule)
    rest = [rank for rank in range(ranks) if rank not in some]
    there, back = pairs(described, 0), pairs(described, 1)
    assert [(a, b) for a, b, _ in back] == sorted((b, a) for a, b, _ in there)
    small, large = sorted((some, rest), key=len)
    if partners == "all":
        expected = {(a, b) for a in some for b in rest}
    else:
        partner = {rank: small[i % len(small)] if partners == "cyclic" else None for i, rank in enumerate(large)}
        expected = {(a, b) for a, b, _ in there}
        assert len(there) == len(large)
        by_large = {(a if a in large else b): (b if a in large else a) for a, b in expected}
        if partners == "cyclic" and len(some) != len(rest):
            assert by_large == partner
        if partners == "block":  # consecutive, and as many for each as possible
            order = [small.index(by_large[rank]) for rank in large]
            assert order == sorted(order)
            counts = [order.count(i) for i in range(len(small))]
            assert max(counts) - min(counts) <= 1
    assert {(a, b) for a, b, _ in there} == expected
    if total:
        sizes = [size for *_, size in there]
        assert sum(sizes) == 12345
        assert max(sizes) - min(sizes) <= 1


def test_servers_write_while_the_others_go_on() -> None:
    """The model computes the next fields while servers are busy with the last ones: the longer of the two counts."""
    quick, slow = (
        Simulator().run(
            point(
                {
                    "model": {"others": True, "steps": [work(100), send("servers")]},
                    "servers": {"leaders": 4, "steps": [receive("model"), work(us)]},
                },
                16,
                repeat=5,
            )
        )
        for us in (10, 300)
    )
    assert quick["time_s"] == pytest.approx((5 * 100 + 10) * US, rel=0.01)
    assert slow["time_s"] == pytest.approx((100 + 5 * 300) * US, rel=0.01)
    assert [step["name"] for step in slow["steps"]] == ["servers receive", "servers work", "model work", "model send"]
    of_step = {step["name"]: step for step in slow["steps"]}
    assert of_step["servers work"]["work_s"] == pytest.approx(5 * 300 * US, rel=1e-9)  # the mean over servers only
    assert of_step["model work"]["work_s"] == pytest.approx(5 * 100 * US, rel=1e-9)


def test_numbers_of_steps_may_differ_and_messages_meet() -> None:
    """Of three roles each has messages with both others; what lies between is as long as it likes."""
    reduce = {"allreduce": {"algorithm": "ring", "count": 9}}
    roles = {
        "a": {"every": 3, "group": 0, "steps": [{"loop": {"times": 4, "steps": [reduce]}}, send("b"), receive("c")]},
        "b": {"every": 3, "group": 1, "steps": [receive("a", begin="in"), work(1), {"end": {"of": "in"}}, send("c")]},
        "c": {"every": 3, "group": 2, "steps": [receive("b"), {"barrier": {}}, send("a", name="home", partners="all")]},
    }
    described = point(roles, 14, repeat=2)
    plan = schedule(described.workload, described.ranks)
    for number in range(plan.rounds):
        pairs(described, number)
    result = Simulator().run(described)
    totals = plan.totals()
    assert result["messages"] == sum(messages for messages, _ in totals.values())
    assert totals["c home"] == (2 * 4 * 5, 2 * 4 * 5 * 1000)
    assert totals["b send"][0] == 2 * 5
    assert totals["a receive"] == (0, 0)
    again = Simulator(3).run(described)
    assert without_costs(result) == without_costs(again)


@pytest.mark.parametrize(
    ("last", "phases"),
    [
        ([{"loop": {"times": 2, "steps": [work(1), {"barrier": {}}]}}], ["work", "barrier"]),
        ([{"halo": {"width": 1, "grid": [8, 8, 1]}}], ["halo x-sweep", "halo y-sweep"]),
        (
            [{"halo": {"width": 1, "grid": [8, 8, 1], "begin": "h"}}, work(1), {"end": {"of": "h"}}],
            ["halo x-sweep", "halo y-sweep", "work"],
        ),
    ],
)
def test_who_is_done_before_others_has_the_phases_of_its_steps(last: list[Any], phases: list[str]) -> None:
    others = {"others": True, "steps": [{"loop": {"times": 20, "steps": [work(1)]}}]}
    described = point({"first": {"range": [0, 4], "steps": last}, "rest": others}, 16)
    names = [f"first {phase}" for phase in phases] + ["rest work"]
    assert schedule(described.workload, 16).phases == names
    done = Simulator().run(described)
    assert list(done["phases"]) == names
    assert {step["name"] for step in done["steps"]} == set(names)


@pytest.mark.parametrize("calls", ["irecv-isend", "isend-recv"])
@pytest.mark.parametrize("device", ["cpu", "host"])
def test_a_role_of_all_ranks_is_the_program(calls: str, device: str) -> None:
    grid = {"grid": [40, 30, 4]}
    steps = [{"halo": {"width": 2, "calls": calls, **grid}}, {"work": {"per_point": "3 ns", **grid}}]
    run = Simulator(device=device).run
    whole = run(Point.model_validate({"ranks": 12, "machine": TORUS, "workload": {"kind": "program", "steps": steps}}))
    role = run(point({"everybody": {"others": True, "steps": steps}}, 12))
    for key in ("time_s", "messages", "packets", "hops", "delays"):
        assert role[key] == whole[key], key


def test_receives_in_turn_of_a_role_are_refused_with_progress_by_hardware() -> None:
    halo = {"halo": {"width": 2, "calls": "isend-recv", "grid": [40, 30, 4]}}
    roles = {"model": {"leaders": 4, "steps": [halo]}, "others": {"others": True, "steps": [work(1)]}}
    described = point(roles, 16)
    simulated = as_simulated(described)
    simulated["machine"]["protocol"]["progress"] = "hardware"
    with pytest.raises(ValueError, match="found hardware with receives in turn"):
        _simulator.simulate(simulated)


SERVERS = {"leaders": 4, "steps": [receive("model")]}
MODEL = {"others": True, "steps": [send("servers")]}


@pytest.mark.parametrize(
    ("roles", "found"),
    [
        ({"model": MODEL, "servers": SERVERS | {"steps": [work(1)]}}, "'servers', which has no more steps"),
        ({"model": MODEL, "servers": SERVERS | {"steps": [receive("modle")]}}, "another role of"),
        ({"model": MODEL | {"steps": [send("model")]}, "servers": SERVERS}, "the role itself"),
        ({"model": MODEL, "servers": SERVERS | {"steps": [receive("model")] * 2}}, "'model', which has no more steps"),
        ({"model": MODEL, "servers": SERVERS | {"leaders": None, "range": [3, 99]}}, "[3, 99]"),
        ({"model": MODEL | {"others": None, "range": [0, 5]}, "servers": SERVERS}, "rank 0, which 'model' has"),
        ({"model": MODEL | {"others": None, "range": [1, 3]}, "servers": SERVERS}, "9 of 16 ranks left"),
        ({"model": MODEL, "servers": SERVERS | {"leaders": 1}}, "0 of 16 ranks left"),
        ({"model": MODEL, "servers": SERVERS | {"others": True}}, "found leaders, others"),
        ({"model": MODEL, "servers": SERVERS | {"leaders": None, "every": 4}}, "missing; allowed: a number from 0"),
        ({"model": MODEL, "servers": SERVERS | {"leaders": None, "every": 4, "group": 4}}, "from 0 to 3"),
        ({"model": MODEL, "servers": SERVERS | {"leaders": None, "ranks": [3, 3]}}, "different whole numbers"),
        ({"model": MODEL, "servers": SERVERS | {"leaders": None, "ranks": [16]}}, "ranks below 16"),
        ({"model": MODEL | {"steps": [send("servers", total="1 MB")]}, "servers": SERVERS}, "one of bytes, total"),
        ({"model": MODEL | {"steps": [send("servers", partners="ring")]}, "servers": SERVERS}, "cyclic, block, all"),
        ({"model": MODEL, "servers": SERVERS | {"steps": []}}, "steps"),
        ({"model": MODEL, "i.o": SERVERS}, "found 'i.o'; allowed: names without dots"),
        (
            {
                "model": MODEL | {"steps": [send("servers"), receive("servers")]},
                "servers": SERVERS | {"steps": [send("model"), receive("model")]},
            },
            "is at roles.",
        ),
    ],
)
def test_bad_roles_are_refused(roles: dict[str, Any], found: str) -> None:
    with pytest.raises(ValidationError) as refused:
        point(roles, 16)
    assert found in str(refused.value)
    assert "allowed" in str(refused.value) or "at least" in str(refused.value)


def test_who_waits_for_whom_is_told_by_the_steps_that_were_written() -> None:
    halo = {"kind": "halo", "width": 1, "grid": [8, 8, 1]}
    overlap = {"overlap": {"exchange": halo, "work": {"time": "1 us"}}}
    loop = {"loop": {"times": 1, "steps": [work(1), receive("servers"), send("servers")]}}
    stuck = {"model": MODEL | {"steps": [overlap, loop]}, "servers": SERVERS | {"steps": [receive("model")] * 2}}
    with pytest.raises(ValidationError, match=r"which is at roles\.model\.steps\[1\]\.steps\[1\];"):
        point(stuck, 16)


def test_steps_stand_beside_no_roles_and_send_only_in_them() -> None:
    with pytest.raises(ValidationError, match="found some beside roles"):
        point({"model": MODEL, "servers": SERVERS}, 16, steps=[work(1)])
    with pytest.raises(ValidationError, match="in a program without roles"):
        Point.model_validate({"ranks": 4, "machine": TORUS, "workload": {"kind": "program", "steps": [send("other")]}})


def test_roles_are_told_in_words_and_keep_their_identity() -> None:
    described = point({"model": MODEL, "servers": SERVERS}, 16)
    assert Point.from_canonical(described.canonical()).id == described.id
    assert isinstance(described.workload, Program)
    text = "\n".join(lines(described.workload))
    assert re.search(r"model \(all other ranks\):\n +1. send 1000 B each to servers, in turn", text)
    assert re.search(r"servers \(the first of each 4 consecutive ranks\):\n +1. receive from model", text)
