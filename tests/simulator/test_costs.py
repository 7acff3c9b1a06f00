"""Costs of steps in closed form: bytes, protocols, matching, posting, shared copies, unpacking, threads, staging."""

from __future__ import annotations

from typing import Any

import pytest

from tramontane.study import Point
from tramontane.substrates.simulator import Simulator

from .points import PAIR, copy_ns

NS, US = 1e-9, 1e-6
STAR = {"topology": "torus", "geometry": [1, 1, 1], "nodes_per_switch": 16}
SIZES = [16, 512, 1024, 8192, 8208, 2**20]
"""Of messages by each of the three protocols [B]."""


def described(ranks: int, workload: dict[str, Any], **machine: Any) -> Point:
    net = (PAIR if ranks == 2 else STAR) | machine
    more = {key: net.pop(key) for key in ("ranks_per_node", "mapping") if key in net}
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": net, **more})


def exchange(n: int) -> dict[str, Any]:
    """Return a workload in which two ranks send each other n bytes at once."""
    return {"kind": "collective", "operation": "alltoall", "algorithm": "burst", "count": n // 8}


def seconds(ranks: int, workload: dict[str, Any], **machine: Any) -> float:
    return float(Simulator().run(described(ranks, workload, **machine))["time_s"])


def program(*steps: tuple[int, int, int]) -> dict[str, Any]:
    """Return steps in which ranks `first` ... `last` send one another n bytes."""
    communicators = {f"c{i}": {"range": [first, last - first + 1]} for i, (_, first, last) in enumerate(steps)}
    exchanges = [
        {"alltoall": {"algorithm": "burst", "count": n // 8, "communicator": f"c{i}"}}
        for i, (n, *_) in enumerate(steps)
    ]
    return {"kind": "program", "steps": exchanges, "communicators": communicators}


LONG = 2**20
"""A message that takes 105 us."""


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(
    ("machine", "fixed", "per_byte"),
    [
        ({"overhead": {"send_per_byte": "300 ps", "receive_per_byte": "50 ps"}}, 0, 350e-12),
        ({"overhead": {"post": "70 ns"}}, 70 * NS, 0),
        ({"matching": {"posted": "40 ns"}}, 40 * NS, 0),  # the one receive
        ({"matching": {"unexpected": "40 ns"}}, 0, 0),  # there is none
        ({"unpack": {"per_byte": "20 ps"}}, 0, 20e-12),
        ({"unpack": {"per_byte": "20 ps", "order": "fixed"}}, 0, 20e-12),
        ({"unpack": {"per_byte": "20 ps"}, "protocol": {"progress": "hardware"}}, 0, 20e-12),
        ({"unpack": {"per_byte": "20 ps"}, "threads": {"count": 4, "lock_time": "0 s"}}, 0, 5e-12),
        ({"threads": {"count": 2, "lock_time": "90 ns"}}, 3 * 90 * NS, 0),  # to post, to send, to take
        ({"accelerator": {"copy_bandwidth": "50 GB/s", "copy_latency": "4 us"}}, 8 * US, 2 / 50e9),
    ],
)
def test_an_exchange_takes_longer_by_its_costs(n: int, machine: dict[str, Any], fixed: float, per_byte: float) -> None:
    protocol = {key: value for key, value in machine.items() if key == "protocol"}
    free = seconds(2, exchange(n), **protocol)
    longer = fixed + n * per_byte
    if "unpack" in machine and n > 8192:  # while the acknowledgement is on its way
        longer = max(0, longer - 306.4 * NS)
    assert seconds(2, exchange(n), **machine) - free == pytest.approx(longer, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("n", SIZES)
def test_a_rendezvous_may_cost_more(n: int) -> None:
    free, paid = (seconds(2, exchange(n), overhead=costs) for costs in ({}, {"rendezvous": "300 ns"}))
    assert paid - free == pytest.approx(600 * NS if n > 8192 else 0, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("messages", [2, 5, 15])
def test_sends_under_way_make_a_send_dearer(messages: int) -> None:
    """The root of a scatter hands over one after the other, and looks at no acknowledgement meanwhile."""
    each, n = 10 * US, 2**15
    scatter = {"kind": "collective", "operation": "scatter", "algorithm": "linear", "count": n // 8}
    alone = seconds(2, scatter, **STAR)
    paid = seconds(messages + 1, scatter, overhead={"under_way": "10 us"})
    assert paid == pytest.approx(alone + each * messages * (messages - 1) / 2, rel=1e-9)
    # Those of an open round count, too.
    steps = [{**scatter, "begin": label} for label in "ab"] + [{"end": {"of": label}} for label in "ab"]
    twice = {"kind": "program", "steps": steps}
    paid = seconds(messages + 1, twice, overhead={"under_way": "10 us"})
    assert paid == pytest.approx(alone + each * messages * (2 * messages - 1), rel=1e-9)


def test_eager_sends_and_few_at_a_time_are_not_dearer() -> None:
    dear = {"overhead": {"under_way": "10 us"}}
    assert seconds(9, exchange(8192), **dear) == seconds(9, exchange(8192))
    one_at_a_time = {**exchange(2**15), "algorithm": "ring-k", "radix": 1}
    assert seconds(9, one_at_a_time, **dear) == seconds(9, one_at_a_time)
    window = {**exchange(2**15), "algorithm": "sliding-window", "radix": 2}
    assert seconds(9, one_at_a_time) < seconds(9, window, **dear) < seconds(9, exchange(2**15), **dear)


@pytest.mark.parametrize("ranks", [3, 9, 16])
def test_messages_of_an_interface_keep_their_distance(ranks: int) -> None:
    n = 64
    paid = seconds(ranks, exchange(n), overhead={"gap": "10 us"})
    # The last of them begins ranks - 2 gaps after the first.
    assert paid == pytest.approx((ranks - 2) * 10 * US + 0.2 * US + n / 10e9 + 2 * copy_ns(n) * NS, rel=1e-9)


def test_control_messages_keep_their_distance_too() -> None:
    # Header, get request, payload and acknowledgement, which has 0.3 us and 64 B to go.
    paid = seconds(2, exchange(2**15), overhead={"gap": "10 us"})
    assert paid == pytest.approx(3 * 10 * US + 0.3 * US + 64 / 10e9, rel=1e-9)
    assert seconds(2, exchange(2**15), overhead={"gap": "1 ns"}) == seconds(2, exchange(2**15))


def test_a_message_walks_half_of_the_posted_receives() -> None:
    """All arrive before the first is matched; a receive that is left is one of fewer."""
    for ranks in (3, 9, 16):
        paid = seconds(ranks, exchange(64), matching={"posted": "10 us"})
        entries = sum((left + 1) / 2 for left in range(1, ranks))
        assert paid == pytest.approx(entries * 10 * US, abs=0.1 * 10 * US)


def test_4096_requests_are_not_free() -> None:
    """The root of a gather posts them all and looks at nothing meanwhile; then it takes what has arrived."""
    posted, n = 4096, 64
    gather = {"kind": "collective", "operation": "gather", "algorithm": "linear", "count": n // 8}
    copies = posted * copy_ns(n) * NS
    for costs, time in (
        ({"overhead": {"post": "70 ns"}}, posted * 70 * NS),
        ({"matching": {"posted": "10 ns"}}, sum((left + 1) / 2 for left in range(1, posted + 1)) * 10 * NS),
    ):
        assert seconds(posted + 1, gather, nodes_per_switch=posted + 1, **costs) == pytest.approx(
            time + copies, rel=1e-3
        )


@pytest.mark.parametrize("n", [64, 2**15])
def test_a_receive_walks_the_unexpected_messages(n: int) -> None:
    """Ranks 2 ... send to ranks 0 and 1 while these wait for each other."""
    ranks, early = 8, 6
    late = program((LONG, 0, 1), (n, 0, ranks - 1))
    free = seconds(ranks, late)
    paid = seconds(ranks, late, matching={"unexpected": "30 ns"})
    # Of 7 receives, 6 find their messages halfway on average, and one does not.
    assert paid - free == pytest.approx((early * (early + 1) / 2 + early) * 30 * NS, rel=1e-6)


def busy_seconds(ranks: int, *steps: tuple[int, int, int], **machine: Any) -> float:
    """Return how long all ranks together are busy for the messages of all steps."""
    result = Simulator().run(described(ranks, program(*steps), **machine))
    return ranks * sum(float(step["busy_s"]) for step in result["steps"])


def test_a_message_that_has_been_taken_is_walked_no_more() -> None:
    """Ranks 0 and 1 walk past six messages; then only rank 1 finds one, of rank 0, to which it is late again."""
    steps = ((LONG, 0, 1), (64, 0, 7), (LONG, 1, 2), (64, 0, 1))
    paid = busy_seconds(8, *steps, matching={"unexpected": "30 ns"}) - busy_seconds(8, *steps)
    assert paid == pytest.approx((2 * (6 * 7 / 2 + 6) + 1) * 30 * NS, rel=1e-9)


def test_nobody_walks_past_headers_that_an_interface_keeps() -> None:
    steps = ((LONG, 0, 1), (2**15, 0, 7))
    dear: dict[str, Any] = {"matching": {"unexpected": "30 ns"}}
    for progress, walks in (("calls", True), ("hardware", False)):
        net = {"protocol": {"progress": progress}}
        assert (busy_seconds(8, *steps, **net, **dear) > busy_seconds(8, *steps, **net)) == walks


@pytest.mark.parametrize(("calls", "entries"), [("irecv-isend", 1.5 + 1), ("isend-recv", 1 + 1)])
def test_who_receives_in_turn_has_one_receive_posted(calls: str, entries: float) -> None:
    """A ring of three ranks, each with two messages: both receives are posted at once, or one after the other."""
    work = {"kind": "halo", "width": 1, "grid": [6, 1, 2], "decomposition": [3, 1], "calls": calls}
    ring = {"geometry": [3, 1, 1], "nodes_per_switch": 1}
    free, paid = (seconds(3, work, **ring, **matching) for matching in ({}, {"matching": {"posted": "1 us"}}))
    assert paid - free == pytest.approx(entries * US, rel=1e-6)


def ring_in_turn(levels: int, **machine: Any) -> float:
    """Return how long ranks are busy that receive in turn in a ring of ranks 0 to 2, the last of which is late."""
    late = {"algorithm": "burst", "count": LONG // 8, "communicator": "late"}
    halo = {"width": 1, "grid": [6, 1, levels], "decomposition": [3, 1], "calls": "isend-recv", "communicator": "ring"}
    communicators = {"late": {"range": [2, 2]}, "ring": {"range": [0, 3]}}
    work = {"kind": "program", "steps": [{"alltoall": late}, {"halo": halo}], "communicators": communicators}
    return 4 * float(Simulator().run(described(4, work, **machine))["steps"][1]["busy_s"])


@pytest.mark.parametrize("levels", [2, 100, 1200])  # messages of 16, 800 and 9600 B, by each of the three protocols
@pytest.mark.parametrize(
    ("costs", "each"),
    [
        # The late one finds the first of two, and then the other. Of the others, one waits for the late one first.
        ({"matching": {"unexpected": "1 us"}}, 1.5 + 1 + 1),
        # Both messages walk past the long one's receive, and later past none. One comes before its receive.
        ({"matching": {"posted": "1 us"}}, 4),
        ({"overhead": {"post": "1 us"}}, 6),
    ],
)
def test_who_receives_in_turn_finds_what_came_before(costs: dict[str, Any], each: float, levels: int) -> None:
    assert ring_in_turn(levels, **costs) - ring_in_turn(levels) == pytest.approx(each * US, rel=1e-6)


def passed_on(n: int, send: float, **machine: Any) -> float:
    """Return when 64 bytes are passed on from rank 1 to 2 to 3, where rank 1 has begun to send n bytes to 0 before."""

    def to(name: str, size: int, root: int) -> dict[str, Any]:
        return {"algorithm": "binomial", "count": size // 8, "root": root, "communicator": name}

    steps = [
        {"broadcast": {**to("first", n, 1), "begin": "first"}},
        {"broadcast": to("second", 64, 0)},
        {"broadcast": to("third", 64, 0)},
        {"end": {"of": "first"}},
    ]
    communicators = {name: {"range": [first, 2]} for first, name in enumerate(("first", "second", "third"))}
    work = {"kind": "program", "steps": steps, "communicators": communicators}
    return seconds(4, work, overhead={"send": f"{send * 1e6:.0f} us"}, **machine)


def test_what_is_prepared_does_not_leave_before_although_its_interface_is_busy() -> None:
    n, send, flight = 2**20, 200 * US, 0.2 * US + 64 / 10e9
    copies = 1.5 * n / 8 * NS + 4 * copy_ns(64) * NS
    eager = {"protocol": {"short_limit": "1 MiB", "eager_limit": "1 MiB"}, "memory": {"bandwidth": "200 TB/s"}}
    assert passed_on(n, send, **eager) == pytest.approx(3 * send + copies + 2 * flight, abs=0.05 * US)


def test_what_is_prepared_holds_up_no_rank_beside_it() -> None:
    """Two ranks of a node prepare 240 and 80 B, and then 80 and 240 B, at 1 us a byte: their interface serves both."""
    blocks = {"algorithm": "burst", "count": 20, "spread": "0 %", "communicator": "columns"}
    steps = [{"alltoallv": blocks | {"groups": groups}} for groups in ([3, 1], [1, 3])]
    work = {"kind": "program", "steps": steps, "communicators": {"columns": {"every": 2}}}
    net = {"geometry": [2, 1, 1], "nodes_per_switch": 1, "node": {"latency": "500 ns", "bandwidth": "10 GB/s"}}
    paid = seconds(4, work, **net, ranks_per_node=2, overhead={"send_per_byte": "1 us"})
    assert paid == pytest.approx(320 * US, abs=1 * US)


def test_an_interface_answers_while_its_rank_prepares_a_message() -> None:
    """Rank 1 prepares two messages for 200 us each; in between it is asked for a receive of 105 us."""

    def to(name: str, size: int) -> dict[str, Any]:
        return {"algorithm": "binomial", "count": size // 8, "root": 0, "communicator": name}

    steps = [{"broadcast": {**to("first", LONG), "begin": "long"}}, *[{"broadcast": to("second", 64)}] * 2]
    communicators = {"first": {"range": [0, 2]}, "second": {"range": [1, 2]}}
    work = {"kind": "program", "steps": [*steps, {"end": {"of": "long"}}], "communicators": communicators}
    paid = seconds(4, work, overhead={"send": "200 us"}, protocol={"progress": "hardware"})
    assert paid == pytest.approx(400 * US, abs=1 * US)


@pytest.mark.parametrize("n", [16, 512, 1024, 8192, 8208])
def test_an_expected_message_needs_no_copy(n: int) -> None:
    copied, direct = (seconds(2, exchange(n), protocol={"expected_eager": how}) for how in ("copied", "direct"))
    assert copied - direct == pytest.approx(copy_ns(n) * NS if n <= 8192 else 0, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("expected", ["copied", "direct"])
def test_an_unexpected_message_needs_one(expected: str) -> None:
    n, slow = 512, {"memory": {"bandwidth": "1 GB/s"}, "protocol": {"expected_eager": expected}}
    before, both = (seconds(3, program(*steps), **slow) for steps in ([(LONG, 1, 2)], [(LONG, 1, 2), (n, 0, 1)]))
    copy = (1.5 * n / 8 + n) * NS
    # Rank 1 copies what came meanwhile, then what it sends. Rank 0 has waited for that.
    last = 0.2 * US + n / 10e9 + (copy if expected == "copied" else 0)
    assert both - before == pytest.approx(copy + copy + last, rel=1e-6)


@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_copies_of_a_node_share_its_memory(ranks: int) -> None:
    """Each copies what it sends, and then what it got; the memory, with 1 us each, is never idle."""
    n = 512
    node = {"latency": "500 ns", "bandwidth": "10 GB/s", "memory_bandwidth": "512 MB/s"}
    split = {"ranks_per_node": ranks, "mapping": {"nodes": [0] * ranks + [1] * ranks}}
    pairs = {"alltoall": {"algorithm": "burst", "count": n // 8, "communicator": "pairs"}}
    work = {"kind": "program", "steps": [pairs], "communicators": {"pairs": {"every": ranks}}}
    net = {"topology": "torus", "geometry": [2, 1, 1], "nodes_per_switch": 1}
    shared = seconds(2 * ranks, work, **net, **split, node=node | {"copies": "shared"})
    own = seconds(2 * ranks, work, **net, **split, node=node)
    assert shared == pytest.approx(2 * ranks * US, rel=1e-9)
    assert own < US


def test_an_unexpected_message_passes_the_memory_twice() -> None:
    """512 B take 1 us: rank 1 copies what comes while it is late, and what it sends; rank 0 what it sends and gets."""
    node = {"latency": "500 ns", "bandwidth": "10 GB/s", "memory_bandwidth": "512 MB/s", "copies": "shared"}
    net = {"geometry": [2, 1, 1], "nodes_per_switch": 2, "node": node, "ranks_per_node": 2, "mapping": "cyclic"}
    assert busy_seconds(4, (512, 0, 1), **net) == pytest.approx(4 * US, rel=1e-9)
    assert busy_seconds(4, (LONG, 1, 2), (512, 0, 1), **net) == pytest.approx(5 * US, rel=1e-9)


def test_a_shared_memory_that_is_faster_than_a_copy_costs_nothing() -> None:
    node = {"latency": "500 ns", "bandwidth": "10 GB/s", "memory_bandwidth": "512 MB/s"}
    net = {"geometry": [2, 1, 1], "node": node, "ranks_per_node": 2, "memory": {"bandwidth": "100 MB/s"}}
    own, shared = (seconds(2, exchange(512), **net | {"node": node | more}) for more in ({}, {"copies": "shared"}))
    assert own == shared > 10 * US


def test_what_came_early_is_unpacked_while_its_rank_waits_for_more() -> None:
    """Rank 1 has the message of rank 2 long before that of rank 3, which is all that it unpacks then."""
    gather = {"gather": {"algorithm": "linear", "count": 32, "root": 0, "communicator": "three"}}
    late = program((LONG, 0, 1), (2 * LONG, 3, 4))
    work = late | {
        "steps": [*late["steps"], gather],
        "communicators": late["communicators"] | {"three": {"range": [1, 3]}},
    }
    free, paid = (
        seconds(5, work, **unpack) - seconds(5, late, **unpack) for unpack in ({}, {"unpack": {"per_byte": "10 ns"}})
    )
    assert paid - free == pytest.approx(256 * 10 * NS, rel=1e-6)


@pytest.mark.parametrize("picoseconds", [100, 400, 2000])
def test_in_a_fixed_order_the_first_holds_up_the_others(picoseconds: int) -> None:
    """Of ranks 0 to 3 the last is late; of the i-th to whom it sends it is the i-th source."""
    n = 256

    def second_step(**machine: Any) -> float:
        steps = [(LONG, 3, 4), (n, 0, 3)]
        return seconds(5, program(*steps), **machine) - seconds(5, program(*steps[:1]), **machine)

    free = second_step()
    arrival, fixed = (
        second_step(unpack={"per_byte": f"{picoseconds} ps", "order": order}) for order in ("arrival", "fixed")
    )
    unpack, copy, flight = n * picoseconds * 1e-12, copy_ns(n) * NS, 0.2 * US + n / 10e9
    own = 3 * unpack - copy - flight  # of the late one itself
    assert arrival - free == pytest.approx(max(unpack, own), rel=1e-5)
    assert fixed - free == pytest.approx(max(own, *((i - 3) * copy + (4 - i) * unpack for i in (1, 2, 3))), rel=1e-5)


def test_what_says_nothing_renames_no_point() -> None:
    plain = described(2, exchange(64))
    for nothing in (
        {"overhead": dict.fromkeys(["send", "post", "send_per_byte", "gap", "rendezvous", "under_way"], "0 s")},
        {"matching": {"posted": "0 s"}},
        {"unpack": {"order": "fixed"}},
        {"threads": {"count": 1, "lock_time": "5 ns"}},
        {"accelerator": {"copy_bandwidth": "50 GB/s", "copy_latency": "4 us", "nic": "device"}},
        {"protocol": {"expected_eager": "copied"}},
    ):
        assert described(2, exchange(64), **nothing).canonical() == plain.canonical()
    old = described(2, exchange(64), overhead={"send": "1 us"})
    assert old.canonical()["machine"]["overhead"] == {"send": 1_000_000, "receive": 0}
    staged = described(
        2, exchange(64), accelerator={"copy_bandwidth": "50 GB/s", "copy_latency": "4 us", "nic": "host"}
    )
    assert Point.from_canonical(staged.canonical()).id == staged.id != plain.id
