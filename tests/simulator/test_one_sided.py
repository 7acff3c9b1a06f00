"""One-sided steps in closed form on an idle network: puts, synchronisations, costs; what they send; what is refused.

Two ranks exchange both sides of a halo in x, two puts to the same rank; in y there is nobody, so that the second window
of the step has its synchronisation only.
"""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tramontane.study import Point
from tramontane.study.workloads.program_text import lines
from tramontane.study.workloads.programs import SYNCHRONISATIONS, Program
from tramontane.substrates.simulator import Simulator, schedule
from tramontane.substrates.sstmacro import SstMacro

from .points import PAIR, TORUS, without_costs

NS, US = 1e-9, 1e-6
HALO = {"kind": "halo", "width": 4, "grid": [64, 64, 64], "decomposition": [2, 1]}
EMPTY = 0.2 * US
"""An empty message on its way past the network: 100 ns of the nodes, 100 ns of the hop."""
HEAD = 0.3 * US
"""The head of any other: 100 ns each of injection, link and ejection."""
SIDE = 8 * 4 * 64 * 64 / 10e9
"""Injection of one side."""
SHORT = 64 / 10e9
"""How long an acknowledgement is in its NIC."""
ACKNOWLEDGED = HEAD + SHORT
"""An acknowledgement."""
COSTS = ("put", "post", "start", "complete", "wait", "flush", "fence", "lock", "unlock", "notify")
ZERO = dict.fromkeys(COSTS, "0 s")


def point(steps: list[Any], ranks: int = 2, costs: dict[str, str] | None = None, **more: Any) -> Point:
    program: dict[str, Any] = {key: more.pop(key) for key in ("repeat", "communicators") if key in more}
    net: dict[str, Any] = PAIR if ranks == 2 else TORUS
    machine = net | {"one_sided": ZERO if costs is None else costs}
    workload: dict[str, Any] = {"kind": "program", "steps": steps, **program}
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": machine, **more})


def run(steps: list[Any], ranks: int = 2, threads: int = 1, **more: Any) -> dict[str, Any]:
    return Simulator(threads).run(point(steps, ranks, **more))


def puts(synchronisation: str, **more: str) -> dict[str, Any]:
    return HALO | {"one_sided": {"synchronisation": synchronisation, **more}}


TIMES = st.fixed_dictionaries({cost: st.integers(0, 20_000) for cost in COSTS})


def spelled(costs: dict[str, int]) -> dict[str, str]:
    return {cost: f"{time} ns" for cost, time in costs.items()}


def expected(synchronisation: str, ns: dict[str, int], work: float = 0) -> float:
    """Return how long the step takes, with work between the puts and what closes the window."""
    c = {cost: time * NS for cost, time in ns.items()}
    posted = 2 * c["put"]
    enters = max(posted, c["put"] + SIDE)  # the second put, when the first is through
    first = c["put"] + SIDE + HEAD  # the neighbour's first put is in
    if synchronisation not in ("fence", "post-start") and first <= enters < first + SHORT:
        enters = first + SHORT  # behind its acknowledgement
    last = enters + HEAD + SIDE
    done = posted + work
    match synchronisation:
        case "fence":
            whole = 2 * (c["fence"] + EMPTY)
            return c["fence"] + EMPTY + max(done + c["fence"], last) + EMPTY + whole
        case "post-start":
            told = done + c["complete"] + EMPTY
            return c["post"] + EMPTY + c["start"] + max(told, last) + c["wait"]
        case "passive":
            flushed = max(done + c["flush"], last + ACKNOWLEDGED)
            return 2 * (c["lock"] + c["unlock"]) + flushed + EMPTY
        case _:
            unlocked = max(done + c["unlock"], last + ACKNOWLEDGED)
            return c["lock"] + unlocked + EMPTY + c["lock"] + c["unlock"] + EMPTY


@pytest.mark.parametrize("synchronisation", SYNCHRONISATIONS)
@given(ns=TIMES)
@example(ns=dict.fromkeys(COSTS, 0) | {"put": 13_408})
@settings(max_examples=30)
def test_a_step_takes_its_puts_its_synchronisation_and_its_costs(synchronisation: str, ns: dict[str, int]) -> None:
    result = run([puts(synchronisation)], costs=spelled(ns))
    assert result["time_s"] == pytest.approx(expected(synchronisation, ns), rel=1e-9)


@pytest.mark.parametrize("synchronisation", SYNCHRONISATIONS)
@given(ns=TIMES, us=st.integers(1, 200))
@settings(max_examples=20)
def test_puts_travel_while_their_rank_works(synchronisation: str, ns: dict[str, int], us: int) -> None:
    """The epoch stays open across the work, whatever makes progress for messages of two sides."""
    steps = [puts(synchronisation) | {"begin": "h"}, {"work": {"time": f"{us} us"}}, {"kind": "end", "of": "h"}]
    result = run(steps, costs=spelled(ns))
    assert result["time_s"] == pytest.approx(expected(synchronisation, ns, us * US), rel=1e-9)
    overlapped = [{"overlap": {"exchange": puts(synchronisation), "work": {"time": f"{us} us"}}}]
    assert run(overlapped, costs=spelled(ns))["time_s"] == result["time_s"]


def test_puts_need_no_copies_and_no_handshake() -> None:
    """Those of two sides wait for a header and a get request first; puts cost an opening message instead."""
    two_sided = run([HALO])
    one_sided = run([puts("post-start")])
    assert one_sided["time_s"] == pytest.approx(two_sided["time_s"] - EMPTY - ACKNOWLEDGED, abs=2 * EMPTY)
    assert one_sided["control_packets"] == 0


def test_costs_are_time_of_the_processor_and_not_work() -> None:
    costs = ZERO | {"post": "5 us", "wait": "2 us"}
    (step, *_) = run([puts("post-start") | {"name": "h"}], costs=costs)["steps"]
    assert step["work_s"] == 0
    assert step["busy_s"] == pytest.approx(7 * US)


@pytest.mark.parametrize("synchronisation", ["fence", "post-start"])
@pytest.mark.parametrize("repeat", [1, 4])
def test_an_epoch_opened_ahead_costs_the_same_without_skew(synchronisation: str, repeat: int) -> None:
    costs = dict.fromkeys(COSTS, "700 ns")
    before, after = (
        run([puts(synchronisation, opens=opens)], costs=costs, repeat=repeat) for opens in ("before", "after")
    )
    assert after["messages"] == before["messages"]
    assert after["time_s"] == pytest.approx(before["time_s"], rel=1e-9)


def test_an_epoch_opened_ahead_takes_waiting_out_of_the_beginning() -> None:
    """Ranks that work unequally wait for the other's window when they begin; not if it was opened before the work."""

    def times(opens: str) -> tuple[float, dict[str, float]]:
        steps = [
            {"work": {"time": "50 us", "noise": "100 %", "name": "before"}},
            puts("post-start", opens=opens) | {"begin": "h", "name": "initiate"},
            {"work": {"time": "10 us", "name": "during"}},
            {"end": {"of": "h", "name": "complete"}},
        ]
        result = run(steps, repeat=20)
        return result["time_s"], {step["name"]: step["time_s"] for step in result["steps"]}

    (before, of_before), (after, of_after) = times("before"), times("after")
    waited = sum(of_before[key] for key in of_before if key.startswith("initiate"))
    assert waited > 20 * 10 * US
    assert sum(of_after[key] for key in of_after if key.startswith("initiate")) < waited / 10
    assert after == pytest.approx(before, rel=0.01)


@pytest.mark.parametrize("synchronisation", SYNCHRONISATIONS)
def test_who_is_not_in_the_communicator_pays_nothing(synchronisation: str) -> None:
    among = {"pair": {"range": [0, 2]}}
    step, costs = puts(synchronisation) | {"communicator": "pair"}, dict.fromkeys(COSTS, "5 us")

    def busy(ranks: int) -> float:
        result = run([step], ranks, costs=costs, communicators=among)
        return ranks * sum(float(each["busy_s"]) for each in result["steps"])

    assert busy(5) == pytest.approx(busy(2), rel=1e-9)


def test_messages_are_puts_and_those_of_the_synchronisation() -> None:
    ranks, stages = 32, 5
    halo = {"kind": "halo", "width": 2, "grid": [64, 64, 4], "decomposition": [8, 4]}
    sides = 4 * ranks

    def sent(synchronisation: str, **more: str) -> int:
        keys = {"one_sided": {"synchronisation": synchronisation, **more}}
        return int(run([halo | keys], ranks)["messages"]) - sides

    barrier = ranks * stages
    assert sent("fence") == 2 * 2 * barrier
    assert sent("fence", scope="neighbours") == 2 * sides
    assert sent("post-start") == 2 * sides
    assert sent("passive") == sides
    assert sent("passive", scope="all") == 2 * barrier
    assert sent("lock") == 2 * barrier
    assert sent("lock", scope="neighbours") == sides


def test_the_lock_of_a_passive_target_is_taken_once() -> None:
    costs = ZERO | {"lock": "10 us", "unlock": "20 us"}
    once, four = (run([puts("passive")], costs=costs, repeat=repeat)["time_s"] for repeat in (1, 4))
    assert four - 60 * US == pytest.approx(4 * (once - 60 * US), rel=1e-9)


@pytest.mark.parametrize("synchronisation", ["passive", "lock"])
def test_a_flush_waits_for_no_puts_of_others(synchronisation: str) -> None:
    """Rank 3 of a ring of four is late: its neighbours wait for what it puts, but tell the rank between them before."""
    late = {"broadcast": {"algorithm": "linear", "count": 2**20, "root": 1, "communicator": "late"}}
    told = {"synchronisation": synchronisation, "scope": "neighbours"}
    ring = HALO | {"decomposition": [4, 1], "communicator": "ring", "one_sided": told}
    among = {"late": {"range": [3, 2]}, "ring": {"range": [0, 4]}}
    waiting = run([late, ring], 5, communicators=among, statistics={"waiting": 5})["waiting"]
    waited = [sum(seconds) for seconds in zip(*(waiting[key] for key in waiting if key.endswith("_s")), strict=True)]
    assert min(waited[0], waited[2]) > 800 * US  # of 8 MiB
    assert waited[1] < 100 * US


def test_a_step_on_rows_is_that_of_each_row_alone() -> None:
    fence = {
        "kind": "halo",
        "width": 4,
        "grid": [64, 16, 4],
        "decomposition": [4, 1],
        "one_sided": {"synchronisation": "fence"},
    }
    net = {"topology": "torus", "geometry": [4, 4, 1], "nodes_per_switch": 1, "one_sided": ZERO}
    rows = Point.model_validate(
        {
            "ranks": 16,
            "machine": net,
            "workload": {
                "kind": "program",
                "communicators": {"rows": {"consecutive": 4}},
                "steps": [fence | {"communicator": "rows"}],
            },
        }
    )
    alone = Point.model_validate(
        {
            "ranks": 4,
            "machine": net | {"geometry": [4, 1, 1]},
            "workload": {"kind": "program", "steps": [fence]},
        }
    )
    of_rows, of_one = Simulator().run(rows), Simulator().run(alone)
    assert of_rows["time_s"] == of_one["time_s"]
    assert of_rows["messages"] == 4 * of_one["messages"]


HALOS = st.builds(
    lambda width, one_sided, split: (
        {"halo": {"width": width, "grid": [40, 30, 4], **({"one_sided": one_sided} if one_sided else {})}}
        if not split
        else {
            "overlap": {
                "exchange": {
                    "kind": "halo",
                    "width": width,
                    "grid": [40, 30, 4],
                    **({"one_sided": one_sided} if one_sided else {}),
                },
                "work": {"time": "4 us", "imbalance": "80 %"},
            }
        }
    ),
    st.integers(1, 12),
    st.sampled_from(
        [
            None,
            *({"synchronisation": name} for name in SYNCHRONISATIONS),
            *({"synchronisation": name, "scope": "neighbours"} for name in ("fence", "lock")),
            *({"synchronisation": name, "opens": "after"} for name in ("fence", "post-start")),
            {"synchronisation": "passive", "scope": "all"},
        ]
    ),
    st.booleans(),
)
OTHERS = st.sampled_from(
    [
        {"notify": {"offsets": [1, -2, 5]}},
        {"allreduce": {"algorithm": "ring", "count": 900}},
        {"work": {"time": "3 us", "imbalance": "90 %", "noise": "30 %"}},
    ]
)


@given(
    steps=st.lists(HALOS | OTHERS, min_size=1, max_size=5),
    ranks=st.integers(3, 24),
    repeat=st.integers(1, 3),
    threads=st.integers(2, 4),
    cost=st.sampled_from(["0 s", "400 ns"]),
    progress=st.sampled_from(["calls", "hardware"]),
    node=st.sampled_from([1, 3]),
)
@settings(max_examples=60, deadline=None)
def test_threads_never_matter_and_every_byte_arrives(
    steps: list[Any], ranks: int, repeat: int, threads: int, cost: str, progress: str, node: int
) -> None:
    machine = TORUS | {
        "one_sided": dict.fromkeys(COSTS, cost),
        "overhead": {"send": cost, "receive": cost},
        "protocol": {"progress": progress},
        "node": {"latency": "300 ns", "bandwidth": "20 GB/s"},
    }
    given_point = Point.model_validate(
        {
            "ranks": ranks,
            "ranks_per_node": node,
            "machine": machine,
            "workload": {"kind": "program", "steps": steps, "repeat": repeat},
            "start_jitter": "2 us",
        }
    )
    first, second = (without_costs(Simulator(n).run(given_point)) for n in (1, threads))
    assert first == second
    totals = schedule(given_point.workload, ranks).totals().values()
    assert first["messages"] == sum(messages for messages, _ in totals)
    assert first["bytes"] == sum(length for _, length in totals)


@pytest.mark.parametrize("synchronisation", SYNCHRONISATIONS)
def test_costs_that_are_not_stated_are_never_taken_as_zero(synchronisation: str) -> None:
    needed = SYNCHRONISATIONS[synchronisation]
    with pytest.raises(ValidationError) as refused:
        point([puts(synchronisation)], costs={needed[0]: "1 us"})
    missing = ", ".join(f"one_sided.{cost}" for cost in needed[1:])
    assert f"found no {missing}" in str(refused.value)
    assert "the one-sided steps need it" in str(refused.value)


def test_costs_that_no_step_needs_rename_no_point() -> None:
    some = {"put": "1 us", "fence": "1 us"}
    assert point([puts("fence")], costs=some).id == point([puts("fence")], costs=some | {"flush": "9 us"}).id
    assert point([puts("fence")], costs=some).id != point([puts("fence")], costs=some | {"fence": "9 us"}).id
    assert point([HALO], costs=some).id == point([HALO], costs={}).id
    assert "one_sided" not in point([HALO], costs=some).canonical()["machine"]
    full = point([puts("fence", scope="all", opens="before")], costs=some)
    assert full.id == point([puts("fence")], costs=some).id
    assert Point.from_canonical(full.canonical()) == full


@pytest.mark.parametrize(
    ("step", "found", "allowed"),
    [
        (puts("fance"), "found 'fance'", "fence, post-start, passive, lock"),
        (puts("post-start", scope="all"), "found all with post-start, which is between neighbours", "none"),
        (puts("passive", opens="after"), "found after with passive, whose targets open nothing", "before"),
        (puts("fence", scope="some"), "found 'some'", "all, neighbours"),
        (HALO | {"one_sided": {}}, "synchronisation", ""),
        ({"kind": "allreduce", "algorithm": "ring", "one_sided": {"synchronisation": "fence"}}, "one_sided", ""),
    ],
)
def test_bad_keys_are_refused(step: dict[str, Any], found: str, allowed: str) -> None:
    with pytest.raises(ValidationError) as refused:
        point([step])
    assert found in str(refused.value)
    assert allowed in str(refused.value)


def test_who_has_no_puts_says_so() -> None:
    refused = SstMacro().refusal(point([puts("passive")], substrate="sstmacro"))
    assert "passive" in str(refused)
    assert "messages of two sides" in str(refused)


def test_puts_are_told_in_words() -> None:
    workload = point([puts("passive"), puts("fence", opens="after")]).workload
    assert isinstance(workload, Program)
    text = "\n".join(lines(workload))
    assert "by puts, passive of neighbours" in text
    assert "by puts, fence of all ranks, windows open for the next time at once" in text


def notify(*offsets: int, **more: Any) -> dict[str, Any]:
    return {"notify": {"offsets": list(offsets), **more}}


@given(ns=st.integers(0, 20_000), us=st.integers(0, 30), count=st.integers(1, 4))
@settings(max_examples=30, deadline=None)
def test_a_notification_takes_its_cost_and_a_way(ns: int, us: int, count: int) -> None:
    """On a ring of two, odd offsets lead to the other rank; the last is on its way while the rank works."""
    offsets = [2 * i + 1 for i in range(count)]
    costs = {"notify": f"{ns} ns"}
    whole = run([notify(*offsets)], costs=costs)
    assert whole["time_s"] == pytest.approx(count * ns * NS + EMPTY, rel=1e-9)
    assert (whole["messages"], whole["bytes"]) == (2 * count, 0)
    (step,) = whole["steps"]
    assert step["work_s"] == 0
    work = [{"work": {"time": f"{us} us"}}] if us else []
    split = run([notify(*offsets, begin="n"), *work, {"end": {"of": "n"}}], costs=costs)
    assert split["time_s"] == pytest.approx(count * ns * NS + max(EMPTY, us * US), rel=1e-9)


def test_who_is_notified_waits_for_it() -> None:
    steps = [{"barrier": {}}, {"work": {"time": "100 us", "imbalance": "50 %"}}, notify(1)]
    result = run(steps, 8, costs={"notify": "0 s"})
    alone = run(steps[:2], 8, costs={})
    assert alone["time_s"] <= result["time_s"] < alone["time_s"] + 2 * US
    rows = run(
        [notify(1, 4, communicator="rows")], 12, costs={"notify": "0 s"}, communicators={"rows": {"consecutive": 4}}
    )
    assert rows["messages"] == 12  # four further is the rank itself


def test_bad_notifications_are_refused() -> None:
    for step, found in (
        (notify(0), "none 0"),
        (notify(), "a list of different whole numbers"),
        (notify(1, 1), "a list of different whole numbers"),
        (notify(1, communicator="cells"), "found 'cells'"),
    ):
        with pytest.raises(ValidationError) as refused:
            point([step], costs={"notify": "1 us"})
        assert found in str(refused.value)
    with pytest.raises(ValidationError, match=r"found no one_sided.notify; allowed: a time"):
        point([notify(1)], costs={"put": "1 us"})
    text = "\n".join(
        lines(Program.model_validate({"kind": "program", "steps": [notify(1, -1, begin="n"), {"end": {"of": "n"}}]}))
    )
    assert "notify ranks at +1, -1; goes on at once, n is waited for later" in text
