"""Parts of a grid in programs: messages and work by hand, and one line for what can't be."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tramontane.cli import app
from tramontane.errors import InputError
from tramontane.study import Point, load_point
from tramontane.study.patterns import pattern_makers, patterns
from tramontane.substrates.simulator import schedule

pytestmark = pytest.mark.usefixtures("tables")


def _around(own: set[int], around: list[set[int]], width: int) -> set[int]:
    """Return the cells within so many steps of a part, without its own."""
    reached = set(own)
    for _ in range(width):
        reached = reached.union(*(around[cell] for cell in reached))
    return reached - own


@given(st.integers(2, 6), st.integers(1, 3), st.data())
def test_domains_are_those_of_a_search(parts: int, width: int, data: Any) -> None:
    cells, pairs = pattern_makers.icosahedral(1, "hexagons")
    part = np.array(data.draw(st.lists(st.integers(0, parts - 1), min_size=cells, max_size=cells)))
    around = [set(pairs[1][pairs[0] == cell].tolist()) for cell in range(cells)]
    found = pattern_makers.domains(cells, pairs, part, width)
    needed = {own: _around(set(np.flatnonzero(part == own)), around, width) for own in range(int(part.max()) + 1)}
    boundary = set().union(*needed.values())
    assert found["own"].tolist() == [int((part == own).sum()) for own in needed]
    assert found["boundary"].tolist() == [sum(part[cell] == own for cell in boundary) for own in needed]
    links = zip(*(found[name].tolist() for name in ("source", "target", "cells")), strict=True)
    wanted = {(int(part[cell]), own) for own, reached in needed.items() for cell in reached}
    counted = {(source, target): count for source, target, count in links}
    assert counted == {
        (source, own): sum(part[cell] == source for cell in needed[own]) for source, own in sorted(wanted)
    }


def write(path: Path, **columns: Any) -> None:
    usual = {"source": [0, 1], "target": [1, 0], "cells": [2, 3], "own": [5, 7], "boundary": [2, 3]}
    arrays: Any = {name: np.array(value) for name, value in (usual | columns).items() if value is not None}
    np.savez(path, **arrays)


def point(folder: Path, keys: str, steps: str) -> Point:
    (folder / "x.yaml").write_text(
        f"ranks: 2\nmachine: torus-S\nworkload:\n  kind: program\n  partition: {keys}\n  steps: {steps}\n"
    )
    return load_point(folder / "x.yaml")


def test_a_table_that_another_project_has_is_made_here_too(tmp_path: Path, tables: Path) -> None:
    write(tmp_path / "parts.npz")
    described = (tmp_path, "{file: parts.npz, bytes: 96 B}", "[{pattern: {}}]")
    (digest,) = patterns.named(point(*described).canonical())
    patterns.place(tables, digest).unlink()
    assert patterns.named(point(*described).canonical()) == {digest}
    assert patterns.is_kept(digest)


def test_steps_of_a_program_are_those_of_its_parts(tmp_path: Path, tables: Path) -> None:
    write(tmp_path / "parts.npz")
    overlap = "{overlap: {exchange: {pattern: {}}, work: {cells: inner}}}"
    loop = "{loop: {times: 2, steps: [{work: {cells: own}}]}}"
    steps = f"[{overlap}, {loop}, {{work: {{cells: halo, time: 1 ps}}}}, {{work: {{cells: boundary}}}}]"
    made = point(tmp_path, "{file: parts.npz, bytes: 80 B, messages: 3, per_cell: 2 us}", steps)
    assert "partition" not in made.canonical()["workload"]
    assert Point.from_canonical(made.canonical()).id == made.id
    (origin,) = patterns.origins(tables, made.canonical()).values()
    assert origin == {"made_from": "partition: file parts.npz bytes 80 messages 3"}
    found = schedule(made.workload, 2)
    works = [found.round(0, number).work for number in range(found.rounds)]
    assert [work for work in works if work] == [7_000_000, 12_000_000, 12_000_000, 5_000_001, 5_000_000]
    whole = schedule(point(tmp_path, "{file: parts.npz, bytes: 240 B}", "[{pattern: {}}]").workload, 2)
    several = schedule(point(tmp_path, "{file: parts.npz, bytes: 80 B, messages: 3}", "[{pattern: {}}]").workload, 2)
    assert whole.transfers(0, "send")["bytes"].tolist() == [480, 720]
    assert sorted(several.transfers(0, "send")["bytes"].tolist()) == [160] * 3 + [240] * 3


@pytest.mark.parametrize(
    ("columns", "keys", "said"),
    [
        ({}, "{file: other.npz, bytes: 8 B}", "workload.partition.file: no file 'other.npz'; allowed: a file beside"),
        ({"own": None}, "{file: parts.npz, bytes: 8 B}", "parts.npz: own: no column 'own'; allowed: what `tramontane"),
        ({"own": [0, 7]}, "{file: parts.npz, bytes: 8 B}", "parts.npz: found parts or links that can't be"),
        ({"boundary": [2, 8]}, "{file: parts.npz, bytes: 8 B}", "parts.npz: found parts or links that can't be"),
        ({"cells": [2, 0]}, "{file: parts.npz, bytes: 8 B}", "parts.npz: found parts or links that can't be"),
        ({"target": [1, 2]}, "{file: parts.npz, bytes: 8 B}", "parts.npz: found parts or links that can't be"),
        ({"cells": [1]}, "{file: parts.npz, bytes: 8 B}", "parts.npz: source, target, cells have different lengths"),
        ({}, "{file: parts.npz, bytes: 0 B}", "partition.bytes: found 0 B; allowed: more than 0 B"),
        ({}, "null", "cells: found no parts of a grid, or none with per_cell; allowed: only in a program with part"),
        ({}, "{file: parts.npz, bytes: 8 B}", "steps[0].cells: found no parts of a grid, or none with per_cell; allow"),
        (
            {"own": [5, 7, 1], "boundary": [2, 3, 0]},
            "{file: parts.npz, bytes: 8 B, per_cell: 1 us}",
            "workload.partition.file: found 3 parts; allowed: 2, the ranks",
        ),
        (
            {},
            "{file: parts.npz, bytes: 8 B, per_cell: 1 us}\n  cubed_sphere: {elements: 2, parts: 2}",
            "workload.partition: found some beside cubed_sphere; allowed: one of the two",
        ),
        ({}, "{file: parts.npz, bytes: 8 B, per_cell: 3}", "per_cell: found 3 without a unit"),
    ],
)
def test_what_is_no_partition_is_told_in_one_line(tmp_path: Path, columns: Any, keys: str, said: str) -> None:
    write(tmp_path / "parts.npz", **columns)
    with pytest.raises(InputError) as told:
        point(tmp_path, keys, "[{work: {cells: inner}}]")
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_a_message_that_no_table_may_have_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "parts.npz")
    said = "partition.bytes: found a message of 3 times 500000000000 B; allowed: messages of at most 2^40 B"
    with pytest.raises(InputError, match=re.escape(said)):
        point(tmp_path, "{file: parts.npz, bytes: 500 GB}", "[{pattern: {}}]")


def test_a_halo_may_be_that_of_a_communicator(tmp_path: Path) -> None:
    write(tmp_path / "parts.npz")
    text = "ranks: 5\nmachine: torus-S\nworkload:\n  kind: program\n  partition: {file: parts.npz, bytes: 8 B}\n"
    (tmp_path / "x.yaml").write_text(
        text + "  communicators: {some: {range: [3, 2]}}\n  steps: [{pattern: {communicator: some}}]\n"
    )
    assert set(schedule(load_point(tmp_path / "x.yaml").workload, 5).transfers(0, "send")["source"].tolist()) == {3, 4}


def test_a_command_writes_the_parts_of_a_grid(tmp_path: Path) -> None:
    table = tmp_path / "parts.npz"
    command = ["pattern", "from-partition", "--domains", "--icosahedron", "2", "--cells", "hexagons", "--parts", "4"]
    assert CliRunner().invoke(app, [*command, "--output", str(table)], catch_exceptions=False).exit_code == 0
    with np.load(table) as found:
        assert found["own"].sum() == 162
        assert (found["boundary"] < found["own"]).all()
    for more, said in (
        (["--bytes", "8"], "--bytes: found both; allowed: either --bytes or --domains"),
        (["--messages", "2"], "--messages: found 2; allowed: none with --domains"),
        (["--output", "parts.csv"], "--output: found 'parts.csv'; allowed: with --domains a file that ends in .npz"),
    ):
        with pytest.raises(InputError, match=said):
            CliRunner().invoke(app, [*command, "--output", str(table), *more], catch_exceptions=False)


def test_bytes_of_a_program_are_those_of_its_reads_and_writes(tmp_path: Path) -> None:
    text = "ranks: 4\nmachine: {name: torus-S, storage: {bandwidth: 1 GB/s, node_bandwidth: 1 GB/s, latency: 1 us}}\n"
    text += "workload:\n  kind: program\n"
    (tmp_path / "one.yaml").write_text(text + "  total: 4 MB\n  steps: [{read: {}}, {write: {bytes: 3 B}}]\n")
    (tmp_path / "other.yaml").write_text(text + "  steps: [{read: {total: 4 MB}}, {write: {bytes: 3 B}}]\n")
    assert load_point(tmp_path / "one.yaml").id == load_point(tmp_path / "other.yaml").id
