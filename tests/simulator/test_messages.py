"""Messages among the nodes of one switch, against a second model that was written from docs/model.md alone.

It has packets, two servers on their way (injection and ejection), the three protocols, and ranks that look at what
arrives. Buffers are large, the crossbar is unlimited, and no link is faster than the injection.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import random
from collections import defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from tramontane.study import Point
from tramontane.study.patterns import pattern_makers
from tramontane.substrates.simulator import Simulator

pytestmark = pytest.mark.usefixtures("tables")

SHORT, EAGER, CONTROL = 512, 8192, 64
SIZES = (8, 64, 72, 200, 512, 520, 1000, 4096, 8192, 8200, 20_000, 65_536, 300_000)
NS_A_WORD = 1.5  # three instructions at 2 GHz
#: Orders of packets that come at the same time, of which one is the simulator's.
ORDERS = 12


class Message(NamedTuple):
    """What is on its way: an eager payload, a header, a get request, a payload that was pulled, or its like."""

    kind: str
    source: int
    target: int
    size: int  # of the payload
    step: int


class Net(NamedTuple):
    """A machine in nanoseconds and bytes."""

    injection: float  # a byte
    link: float
    injection_latency: float
    link_latency: float
    packet: int
    send: float
    receive: float
    memory: float
    direct: bool


Steps = list[list[tuple[int, int, int]]]


class Model:
    """Runs steps of messages (source, target, bytes)."""

    def __init__(self, ranks: int, steps: Steps, net: Net, seed: int) -> None:
        self.net, self.steps, self.order = net, steps, random.Random(seed)
        self.events: list[tuple[float, int, float, int, Callable[[float], None]]] = []
        self.numbers = itertools.count()
        self.injected, self.ejected = [0.0] * ranks, [0.0] * ranks
        self.came = [-1.0] * ranks
        self.ties = 0
        self.step, self.looks = [-1] * ranks, [False] * ranks
        self.receives, self.unanswered = [0] * ranks, [0] * ranks
        self.inbox: list[deque[tuple[Message, bool]]] = [deque() for _ in range(ranks)]
        self.early: list[defaultdict[int, list[Message]]] = [defaultdict(list) for _ in range(ranks)]
        self.end = [0.0] * ranks

    def run(self) -> float:
        """Return when the last rank ends [ns]."""
        for rank in range(len(self.step)):
            self.begin(0.0, rank)
        while self.events:
            time, _, _, _, what = heapq.heappop(self.events)
            what(time)
        assert self.step == [len(self.steps)] * len(self.step)
        return max(self.end)

    def at(self, time: float, what: Callable[[float], None], *, of_rank: bool = False) -> None:
        """Ranks come first; packets of the same moment in a random order."""
        number = next(self.numbers)
        heapq.heappush(
            self.events, (time, 0, 0.0, number, what) if of_rank else (time, 1, self.order.random(), number, what)
        )

    def copy(self, size: int) -> float:
        words = size // 8
        return words * NS_A_WORD + (size * self.net.memory if words > 8 else 0)

    # The network.

    def post(self, time: float, message: Message) -> None:
        size = message.size if message.kind in {"eager", "pulled", "rendezvous"} else CONTROL
        packets = [min(self.net.packet, size - sent) for sent in range(0, size, self.net.packet)]
        left = [len(packets)]

        def enters_switch(now: float, size: int) -> None:
            self.ties += self.came[message.target] == now
            self.came[message.target] = now
            begin = max(now, self.ejected[message.target])
            self.ejected[message.target] = begin + size * self.net.link
            self.at(self.ejected[message.target] + self.net.link_latency, arrives)

        def arrives(now: float) -> None:
            left[0] -= 1
            if left[0] == 0:
                self.arrive(now, message)

        for size in packets:
            begin = max(time, self.injected[message.source])
            self.injected[message.source] = begin + size * self.net.injection
            self.at(begin + self.net.injection_latency, functools.partial(enters_switch, size=size))

    def arrive(self, time: float, message: Message) -> None:
        if message.kind == "get":  # the interface of the data's owner answers
            kind = "pulled" if message.size <= EAGER else "rendezvous"
            self.post(time, message._replace(kind=kind, source=message.target, target=message.source))
            return
        self.inbox[message.target].append((message, message.step == self.step[message.target]))
        self.look(time, message.target)

    # Ranks.

    def begin(self, time: float, rank: int) -> None:
        """Post receives, answer headers, copy what is there, send."""
        self.step[rank] += 1
        step = self.step[rank]
        self.looks[rank] = False
        if step == len(self.steps):
            self.end[rank] = time
            return
        self.receives[rank] = sum(target == rank for _, target, _ in self.steps[step])
        here = self.early[rank].pop(step, [])
        for message in here:
            if message.kind == "header":
                self.later(time, message._replace(kind="get", source=rank, target=message.source))
            else:
                self.receives[rank] -= 1
        time += sum(self.copy(message.size) for message in here if message.kind != "header")
        for source, target, size in self.steps[step]:
            if source == rank:
                time += self.net.send + (self.copy(size) if size <= SHORT else 0)
                self.unanswered[rank] += size > EAGER
                self.later(time, Message("eager" if size <= SHORT else "header", rank, target, size, step))
        self.at(time, lambda now: self.goes_on(now, rank), of_rank=True)

    def later(self, time: float, message: Message) -> None:
        self.at(time, lambda now: self.post(now, message), of_rank=True)

    def goes_on(self, time: float, rank: int) -> None:
        if self.receives[rank] == 0 and self.unanswered[rank] == 0:
            self.begin(time, rank)
        else:
            self.looks[rank] = True
            self.look(time, rank)

    def look(self, time: float, rank: int) -> None:
        while self.looks[rank] and self.inbox[rank]:
            message, posted = self.inbox[rank].popleft()
            expected = message.step == self.step[rank]
            back = message._replace(source=rank, target=message.source)
            cost, answer = 0.0, None
            if message.kind == "header" and (expected or message.size <= EAGER):
                answer = back._replace(kind="get")
            elif message.kind == "acknowledgement":
                self.unanswered[rank] -= 1
            elif message.kind == "rendezvous":
                cost, answer = self.net.receive, back._replace(kind="acknowledgement")
                self.receives[rank] -= 1
            elif not expected:
                self.early[rank][message.step].append(message)
                if message.kind != "header":
                    cost = self.net.receive
                if message.kind == "eager" and not self.net.direct:  # into a buffer now, out of it later
                    cost += self.copy(message.size)
            else:
                cost = self.net.receive + (0 if self.net.direct and posted else self.copy(message.size))
                self.receives[rank] -= 1
            if cost > 0:
                self.looks[rank] = False
                self.at(time + cost, functools.partial(self.taken, rank=rank, answer=answer), of_rank=True)
                return
            if answer:
                self.post(time, answer)
            self.goes_on(time, rank)

    def taken(self, time: float, rank: int, answer: Message | None) -> None:
        if answer:
            self.post(time, answer)
        self.goes_on(time, rank)


def drawn(seed: int) -> tuple[int, Steps, Net]:
    """Some ranks, what they send, and their machine."""
    pick = random.Random(seed)
    ranks = pick.randint(2, 5)
    pairs = list(itertools.permutations(range(ranks), 2))
    steps = [
        [
            (*pair, max(1, pick.choice(SIZES) + 8 * pick.randint(-5, 5)))
            for pair in pick.sample(pairs, min(len(pairs), many))
        ]
        for many in (pick.randint(1, 8) for _ in range(pick.randint(1, 4)))
    ]
    link = pick.choice([2, 5, 10])
    send, receive = (pick.choice([0, pick.randint(1, 800)]) for _ in range(2))
    return (
        ranks,
        steps,
        Net(
            1 / pick.choice([rate for rate in (2, 5, 10, 20) if rate >= link]),
            1 / link,
            pick.randint(20, 900),
            pick.randint(20, 900),
            pick.choice([1000, 2048, 4096]),
            send,
            receive,
            1 / pick.choice([10, 1000]),
            pick.random() < 0.3,
        ),
    )


def machine(ranks: int, net: Net) -> dict[str, Any]:
    return {
        "topology": "torus",
        "geometry": [1, 1, 1],
        "nodes_per_switch": ranks,
        "link": {"bandwidth": f"{round(1 / net.link)} GB/s", "latency": f"{net.link_latency} ns"},
        "injection": {"bandwidth": f"{round(1 / net.injection)} GB/s", "latency": f"{net.injection_latency} ns"},
        "memory": {"bandwidth": f"{round(1 / net.memory)} GB/s"},
        "processor": {"frequency": "2 GHz"},
        "packet": f"{net.packet} B",
        "buffer": "100 MB",
        "overhead": {"send": f"{net.send} ns", "receive": f"{net.receive} ns"},
        "protocol": {
            "short_limit": f"{SHORT} B",
            "eager_limit": f"{EAGER} B",
            "negligible_size": "0 B",
            "expected_eager": "direct" if net.direct else "copied",
        },
    }


@pytest.mark.parametrize("seed", range(100))
def test_messages_take_as_long_as_in_a_second_model(seed: int, tmp_path: Path) -> None:
    ranks, steps, net = drawn(seed)
    rows = [(source, target, size, step) for step, own in enumerate(steps) for source, target, size in own]
    columns = zip(("source", "target", "bytes", "step"), zip(*rows, strict=True), strict=True)
    pattern_makers.write(tmp_path / "x.npz", {name: np.array(column, dtype=np.int64) for name, column in columns})
    workload = {"kind": "pattern", "file": str(tmp_path / "x.npz")}
    point = Point.model_validate({"ranks": ranks, "workload": workload, "machine": machine(ranks, net)})
    found = Simulator().run(point)["time_s"] * 1e9
    models = [Model(ranks, steps, net, order) for order in range(ORDERS)]
    times = [models[0].run()]
    if models[0].ties:
        times += [model.run() for model in models[1:]]
    # A copy of n bytes and a packet are cut to whole ticks and byte slots.
    assert min(abs(time - found) for time in times) <= 0.5 * len(rows) + 1e-4 * found
