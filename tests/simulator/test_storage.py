"""Steps that read and write, in closed form: the bytes of the node and of all, and a latency."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from tramontane.study import Point
from tramontane.study.workloads.program_text import lines
from tramontane.study.workloads.programs import Program
from tramontane.substrates.simulator import Simulator, schedule
from tramontane.substrates.sstmacro import SstMacro

from .points import TORUS

ALL, NODE, LATENCY = 20e9, 3e9, 1e-3
STORAGE = {"bandwidth": "20 GB/s", "node_bandwidth": "3 GB/s", "latency": "1 ms"}
COMMUNICATORS = {"rows": {"consecutive": 4}, "heads": {"leaders": 3}, "some": {"range": [2, 5]}}


def point(steps: list[Any], ranks: int = 12, storage: dict[str, str] | None = None, **more: Any) -> Point:
    program: dict[str, Any] = {key: more.pop(key) for key in ("repeat", "roles") if key in more}
    whole: dict[str, Any] = {} if "roles" in program else {"steps": steps, "communicators": COMMUNICATORS}
    node: dict[str, Any] = {"node": {"latency": "300 ns", "bandwidth": "20 GB/s"}}
    machine = TORUS | node | {"storage": STORAGE if storage is None else storage}
    workload: dict[str, Any] = {"kind": "program", **whole, **program}
    return Point.model_validate({"ranks": ranks, "workload": workload, "machine": machine, **more})


def expected(bytes_of: dict[int, int], each: int) -> float:
    """Return the time of a step whose ranks move so many bytes, with so many ranks on a node."""
    on_node: dict[int, int] = {}
    for rank, moved in bytes_of.items():
        on_node[rank // each] = on_node.get(rank // each, 0) + moved
    return LATENCY + max(on_node.values()) / NODE + sum(bytes_of.values()) / ALL


@given(
    kind=st.sampled_from(["read", "write"]),
    ranks=st.integers(7, 30),
    each=st.sampled_from([1, 4]),
    among=st.sampled_from([None, "rows", "heads", "some"]),
    size=st.integers(1, 10**9),
    total=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_an_access_takes_the_bytes_of_its_node_and_of_all(
    kind: str, ranks: int, each: int, among: str | None, size: int, total: bool
) -> None:
    step = {kind: {"total" if total else "bytes": f"{size} B"} | ({"communicator": among} if among else {})}
    described = point([step], ranks, ranks_per_node=each)
    clients = {None: range(ranks), "rows": range(ranks), "heads": range(0, ranks, 3), "some": range(2, 7)}[among]
    parts = [size // len(clients) + (i < size % len(clients)) for i in range(len(clients))] if total else None
    bytes_of = {rank: parts[i] if parts else size for i, rank in enumerate(clients)}
    plan = schedule(described.workload, ranks)
    assert [plan.round(rank, 0).bytes for rank in range(ranks)] == [bytes_of.get(rank, 0) for rank in range(ranks)]
    result = Simulator().run(described)
    assert result["time_s"] == pytest.approx(expected(bytes_of, each), rel=1e-9)
    assert result["messages"] == 0
    (phase,) = result["steps"]
    assert (phase["work_s"], phase["busy_s"]) == (0, 0)  # it waits


@given(
    ranks=st.integers(7, 32),
    each=st.sampled_from([1, 4, 24]),
    among=st.sampled_from([None, "heads"]),
    request=st.integers(0, 10**6),
    contention=st.integers(0, 999_999),
)
@settings(max_examples=60, deadline=None)
def test_nodes_that_contend_wait_for_one_another(
    ranks: int, each: int, among: str | None, request: int, contention: int
) -> None:
    """A geometric series over the nodes of those who take part, of what the fullest node needs alone."""
    storage = STORAGE | {"request": f"{request} ns", "contention": f"{contention / 1e4} %"}
    size = 10**7
    step = {"read": {"bytes": f"{size} B"} | ({"communicator": among} if among else {})}
    clients = range(0, ranks, 3 if among else 1)
    nodes: dict[int, int] = {}
    for rank in clients:
        nodes[rank // each] = nodes.get(rank // each, 0) + 1
    share = contention / 1e6
    most = max(nodes.values())
    alone = LATENCY + most * (size / NODE + request * 1e-9)
    expected_s = alone * sum(share**k for k in range(len(nodes))) + len(clients) * size / ALL
    described = point([step], ranks, storage, ranks_per_node=each)
    assert Simulator().run(described)["time_s"] == pytest.approx(expected_s, rel=1e-6)


def test_keys_that_ask_for_nothing_rename_no_point() -> None:
    step: list[Any] = [{"read": {"bytes": "1 B"}}]
    plain = point(step)
    assert point(step, storage=STORAGE | {"request": "0 s", "contention": "0 %"}).id == plain.id
    assert point(step, storage=STORAGE | {"contention": "1 %"}).id != plain.id
    with pytest.raises(ValidationError) as refused:
        point(step, storage=STORAGE | {"contention": "100 %"})
    assert "found 100 %; allowed: less than 100 %" in str(refused.value)


def test_bandwidth_saturates_in_nodes() -> None:
    """All nodes together get what one has, times nodes, as long as they are few; and then what the storage has."""
    rates = []
    for nodes in (1, 2, 4, 32):
        time = Simulator().run(point([{"write": {"bytes": "3 GB"}}], nodes))["time_s"] - LATENCY
        rates.append(nodes * 3e9 / time)
    assert rates == pytest.approx([1 / (1 / (n * NODE) + 1 / ALL) for n in (1, 2, 4, 32)], rel=1e-9)
    assert rates[-1] < ALL


def test_servers_write_while_the_model_goes_on() -> None:
    model = {"others": True, "steps": [{"work": {"time": "200 ms"}}, {"send": {"target": "io", "total": "1 GB"}}]}
    servers = {"leaders": 4, "steps": [{"receive": {"source": "model"}}, {"write": {"total": "1 GB"}}]}
    result = Simulator().run(point([], 16, roles={"model": model, "io": servers}, repeat=4))
    write = LATENCY + 0.25e9 / NODE + 1e9 / ALL
    assert result["time_s"] == pytest.approx(4 * 0.2 + write, rel=0.15)  # the messages take the rest
    assert {step["name"]: step["time_s"] for step in result["steps"]}["io write"] == pytest.approx(4 * write, rel=1e-9)
    noisy = Simulator().run(point([{"write": {"total": "1 GB"}}], noise={"duration": "50 us"}))
    assert noisy["time_s"] == pytest.approx(expected(dict.fromkeys(range(12), 10**9 // 12 + 1), 1), rel=1e-3)


def test_a_storage_that_is_not_stated_is_never_taken_as_free() -> None:
    with pytest.raises(ValidationError) as refused:
        point([{"write": {"bytes": "1 B"}}], storage={"bandwidth": "1 GB/s"})
    assert "found no storage.node_bandwidth, storage.latency" in str(refused.value)
    assert point([{"read": {"bytes": "1 B"}}]).id != point([{"read": {"bytes": "2 B"}}]).id
    assert point([{"work": {"time": "1 s"}}]).id == point([{"work": {"time": "1 s"}}], storage={}).id
    described = point([{"read": {"bytes": "1 B"}}])
    assert Point.from_canonical(described.canonical()) == described
    other = SstMacro().refusal(point([{"read": {"bytes": "1 B"}}], substrate="sstmacro"))
    assert "it has no storage" in str(other)


@pytest.mark.parametrize(
    ("step", "more", "found"),
    [
        ({"write": {}}, {}, "one of bytes, total"),
        ({"write": {"bytes": "1 B", "total": "2 B"}}, {}, "found total beside it"),
        ({"write": {"total": "0 B"}}, {}, "found 0 B; allowed: more than 0 B"),
        ({"read": {"bytes": "1 B", "communicator": "cells"}}, {}, "found 'cells'"),
        ({"write": {"bytes": "1 TB", "begin": "a"}}, {}, "begin"),
        ({"write": {"bytes": "1 B"}}, {"mapping": "cyclic", "ranks_per_node": 4}, "by nodes; allowed: block"),
    ],
)
def test_bad_accesses_are_refused(step: dict[str, Any], more: dict[str, Any], found: str) -> None:
    with pytest.raises(ValidationError) as refused:
        point([step], **more)
    assert found in str(refused.value)


def test_an_access_of_hours_is_refused() -> None:
    with pytest.raises(ValueError, match="found more than 1000 s of write"):
        Simulator().run(point([{"write": {"bytes": "10 TB"}}]))


def test_accesses_are_told_in_words() -> None:
    workload = point([{"read": {"total": "2 GB"}}, {"write": {"bytes": "1 MB", "communicator": "heads"}}]).workload
    assert isinstance(workload, Program)
    text = "\n".join(lines(workload))
    assert "1. read 2 GB in all" in text
    assert "2. write 1 MB each by heads" in text
