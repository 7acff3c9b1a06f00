"""How far a point is, said while it is simulated."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest
import yaml

from tramontane.study import Point
from tramontane.study.points.cost import estimate
from tramontane.substrates import single
from tramontane.substrates.simulator import Simulator

RING = {"kind": "transposition", "algorithm": "ring-k", "radix": 4, "grid": [1440, 720, 64]}
WIDE = {"topology": "torus", "geometry": [8, 8, 16], "nodes_per_switch": 2}
SEARCH = {"kind": "allreduce", "algorithm": "recursive-k", "radix": "optimal", "radices": [2, 3]}


def given(ranks: int, **more: Any) -> dict[str, Any]:
    machine = {"topology": "torus", "geometry": [8, 8, 8], "nodes_per_switch": 2}
    return {"ranks": ranks, "machine": machine, "workload": RING} | more


def made(ranks: int, **more: Any) -> Point:
    return Point.model_validate(given(ranks, **more))


@pytest.fixture
def shares(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], float] | None]:
    """What lines on a terminal are given that tells them how far a point is."""
    given: list[Callable[[], float] | None] = []

    def clock(_: str, __: float, share: Callable[[], float] | None) -> AbstractContextManager[None]:
        given.append(share)
        return nullcontext()

    monkeypatch.setattr(single, "can_change", lambda _: True)
    monkeypatch.setattr(single, "clock", clock)
    return given


@pytest.mark.parametrize("device", ["cpu", "host"])
@pytest.mark.parametrize("threads", [1, 2])
def test_the_simulator_tells_how_many_switches_packets_have_visited(device: str, threads: int) -> None:
    told: list[int] = []
    result = Simulator(threads, device=device, tell=told.append).run(made(512))
    assert told == sorted(told)
    assert 0 < told[-1] <= result["hops"]


def test_an_error_of_who_is_told_ends_the_simulation() -> None:
    def fail(_: int) -> None:
        raise OSError("no terminal")

    with pytest.raises(OSError, match="no terminal"):
        Simulator(tell=fail).run(made(512))


def test_a_line_sees_how_far_another_process_has_come(tmp_path: Path, shares: list[Callable[[], float] | None]) -> None:
    file = tmp_path / "point.yaml"
    file.write_text(yaml.safe_dump(given(512)))
    single.run_file(file, memory=1 << 32)
    (share,) = shares
    assert share is not None
    assert 0.5 < share() < 1.1


@pytest.mark.parametrize(
    ("ranks", "more", "one_run"),
    [
        (64, {}, True),
        (64, {"workload": SEARCH}, False),
        (64, {"workload": SEARCH | {"radix": 2, "radices": None, "repeats": 100}, "steady": {"error": "1 %"}}, False),
        (1600, {"machine": WIDE, "workload": RING | {"radix": 1}, "steady": {"stages": "90 %"}}, False),
        (
            64,
            {"workload": {"kind": "jobs", "jobs": [{"name": name, "ranks": 32, "workload": RING} for name in "ab"]}},
            False,
        ),
    ],
)
def test_no_part_is_said_of_several_runs_and_of_one_that_may_end_early(
    shares: list[Callable[[], float] | None], ranks: int, more: dict[str, Any], one_run: bool
) -> None:
    point = made(ranks, **more)
    with single.Watch(point) as tell:
        assert tell is not None
        tell(123)
    (share,) = shares
    assert (share is not None) == one_run
    if share is not None:
        assert share() == 123 / estimate(point).hops


def test_nothing_is_told_where_nobody_sees_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(single, "can_change", lambda _: False)
    with single.Watch(made(64)) as tell:
        assert tell is None
