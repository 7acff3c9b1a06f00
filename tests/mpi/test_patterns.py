"""Patterns with real MPI: the messages of the table, every byte of them checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.mpi.conftest import Program
from tramontane.study import Point
from tramontane.study.patterns import patterns
from tramontane.substrates.mpi import result_of
from tramontane.substrates.mpi.program import workload_arguments
from tramontane.substrates.simulator import Simulator

pytestmark = pytest.mark.usefixtures("tables")

RANKS = 12
TABLE = [
    (source, (source + hop) % RANKS, 1 + 97 * hop, tag, hop % 2)
    for source in range(RANKS)
    for hop, tag in ((1, 0), (1, 3), (4, 0), (5, 2))
]
MACHINE = {"topology": "torus", "geometry": [4, 3, 1], "nodes_per_switch": 1}


def pattern(folder: Path, rows: Sequence[tuple[int, ...]]) -> Point:
    file = folder / f"{abs(hash(tuple(rows)))}.csv"
    lines = ["source,target,bytes,tag,step", *(",".join(map(str, row)) for row in rows)]
    file.write_text("\n".join(lines))
    workload = {"kind": "pattern", "file": str(file), "repeats": 2}
    return Point.model_validate({"ranks": RANKS, "workload": workload, "machine": MACHINE})


def line_of(point: Point) -> str:
    return " ".join([*workload_arguments(point.workload), "data=real", "verify=1"])


def test_messages_are_those_of_the_simulator_and_hold_what_they_should(mpi: Program, tmp_path: Path) -> None:
    point = pattern(tmp_path, TABLE)
    printed = mpi(RANKS, line_of(point))
    simulated = Simulator().run(point)
    assert printed["verified"] is True
    assert printed["elements_wrong"] == 0
    assert printed["messages"] == simulated["messages"] == 2 * len(TABLE)
    assert printed["bytes"] == simulated["bytes"] == 2 * sum(row[2] for row in TABLE)
    told = result_of(point, printed, {})["measurement"]["workload"]
    assert {told["table"]} == patterns.named(point.canonical())  # no path of this machine


def test_a_table_is_a_step_of_a_program(any_mpi: Program, tmp_path: Path) -> None:
    own = pattern(tmp_path, TABLE).canonical()["workload"]
    steps = [own, {"kind": "overlap", "exchange": {**own, "name": "again"}, "work": {"kind": "work", "time": "10 us"}}]
    program = {"ranks": RANKS, "workload": {"kind": "program", "steps": steps}, "machine": MACHINE}
    printed = any_mpi(RANKS, line_of(Point.model_validate(program)))
    assert printed["verified"] is True
    assert printed["messages"] == 4 * len(TABLE)


rows = st.lists(
    st.tuples(*(st.integers(0, most) for most in (RANKS - 1, RANKS - 1, 9000, 2, 2))),
    min_size=1,
    max_size=40,
    unique_by=lambda row: (row[0], row[1], row[3], row[4]),
).map(lambda drawn: [row for row in drawn if row[0] != row[1]] or [(0, 1, 1, 0, 0)])


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows)
def test_any_pattern_arrives(any_mpi: Program, tables: Path, drawn: list[tuple[int, ...]]) -> None:
    printed = any_mpi(RANKS, line_of(pattern(tables, drawn)))
    assert printed["verified"] is True
    assert printed["messages"] == 2 * len(drawn)


@pytest.mark.parametrize("fault", ["value", "missing"])
def test_a_wrong_byte_is_found(any_mpi: Program, tmp_path: Path, fault: str) -> None:
    words = line_of(pattern(tmp_path, TABLE)).split()
    done = any_mpi.start(RANKS, *words, f"fault={fault}", "warmup=0", "repetitions=1")
    assert done.status == 1
    assert '"verified": false' in done.stdout


def test_a_table_that_is_not_whole_is_refused_in_one_line(any_mpi: Program, tmp_path: Path, tables: Path) -> None:
    (digest,) = patterns.named(pattern(tmp_path, TABLE).canonical())
    broken = tmp_path / "broken.pattern"
    broken.write_bytes(patterns.place(tables, digest).read_bytes()[:-1])
    for table in (broken, tmp_path / "none"):
        done = any_mpi.start(RANKS, "kind=pattern", f"table={table}", "repetitions=1")
        assert done.status != 0
        assert "table: found '" in done.stderr
