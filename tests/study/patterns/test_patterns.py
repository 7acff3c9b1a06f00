"""Tables of messages in points: one table however it is written, and one line for what can't be."""

from __future__ import annotations

import io
import os
import re
import zipfile
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from tramontane.cli import app
from tramontane.errors import InputError
from tramontane.extension import simulator
from tramontane.study import Point, load_point
from tramontane.study.patterns import pattern_makers, pattern_tables, patterns
from tramontane.substrates.simulator import schedule

pytestmark = pytest.mark.usefixtures("tables")

ROWS = [(0, 1, 100, 0, 0), (1, 0, 8, 3, 0), (0, 1, 7, 1, 0), (3, 0, 0, 0, 5)]
NAMES = ("source", "target", "bytes", "tag", "step")
CSV = "source,target,bytes,tag,step\n0,1,100,0,0\n1,0,8,3,0\n0,1,7,1,0\n3,0,0,0,5\n"


def point_of(file: Path, ranks: int = 4, workload: str = "", machine: str = "torus-S") -> Point:
    yaml = file.with_suffix(".yaml")
    yaml.write_text(f"ranks: {ranks}\nmachine: {machine}\nworkload: {{kind: pattern, file: {file.name}{workload}}}\n")
    return load_point(yaml)


def written(folder: Path, text: str) -> Path:
    file = folder / "x.csv"
    file.write_text(text)
    return file


def columns() -> dict[str, Any]:
    return {name: np.array(column) for name, column in zip(NAMES, zip(*ROWS, strict=True), strict=True)}


def test_outside_a_project_tables_do_not_stay_with_who_only_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with patterns.kept_apart_if_need_be():
        kept = point_of(written(tmp_path, CSV))
    (digest,) = patterns.named(kept.canonical())
    assert patterns.table(digest).exists()  # in a project they stay
    monkeypatch.setattr(patterns, "home", lambda root: tmp_path)
    with patterns.kept_apart_if_need_be():
        assert patterns.table(digest).exists()
        (new,) = patterns.named(point_of(written(tmp_path, CSV + "2,1,5,0,0\n")).canonical())
        file = patterns.table(new)
        assert file.exists()
        assert patterns.origins(tmp_path, {"kind": "pattern", "table": new})
    assert not file.exists()
    with pytest.raises(InputError, match="no such file"):
        patterns.table(new)


def test_a_table_is_told_by_what_is_in_it(tmp_path: Path, tables: Path) -> None:
    one = point_of(written(tmp_path, CSV))
    (digest,) = patterns.named(one.canonical())
    assert one.canonical()["workload"] == {"kind": "pattern", "repeats": 1, "table": digest}  # and no path
    assert Point.from_canonical(one.canonical()).id == one.id
    arrays = tmp_path / "other.npz"
    np.savez(arrays, **columns())
    assert point_of(arrays).id == one.id
    netcdf = tmp_path / "another.nc"
    with h5py.File(netcdf, "w") as file:
        for name, column in columns().items():
            file[name] = column.astype(np.int32)
    assert point_of(netcdf).id == one.id
    # Rows of other sources, and numbers of steps beyond their order, say nothing; the order of sends does.
    swapped = "target,source,bytes,tag,step\n0,3,0,0,9\n0,1,8,3,0\n1,0,100,0,0\n1,0,7,1,0\n"
    assert point_of(written(tmp_path, swapped)).id == one.id
    assert point_of(written(tmp_path, CSV.replace("100", "101"))).id != one.id
    assert (
        point_of(
            written(tmp_path, CSV.replace("0,1,100,0,0\n1,0,8,3,0\n0,1,7,1,0", "0,1,7,1,0\n1,0,8,3,0\n0,1,100,0,0"))
        ).id
        != one.id
    )
    assert point_of(arrays, workload=", repeats: 2").id != one.id


def test_steps_are_rounds_and_receives_come_in_order_of_source(tmp_path: Path) -> None:
    table = "source,target,bytes,step\n3,1,30,-7\n2,1,20,-7\n2,0,10,-7\n0,3,40,2\n"
    found = schedule(point_of(written(tmp_path, table), workload=", repeats: 3").workload, 4)
    assert (found.rounds, found.phases) == (6, ["exchange"])
    for number in (0, 2, 4):
        assert [found.send(2, number, index).bytes for index in range(2)] == [20, 10]
        assert [found.receive(1, number, index).peer for index in range(2)] == [2, 3]
        assert found.round(0, number).sends == 0
    assert found.send(0, 5, 0).bytes == 40


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("source,target,bytes\n0,1,8\n0,-1,8\n", "row 2, target: found -1; allowed: a whole number, 0 to 2147483646"),
        ("source,target,bytes\n0,1,8\n0,1,-8\n", "row 2, bytes: found -8; allowed: a whole number, 0 to 1099511627776"),
        ("source,target,bytes\n0,1,8\n0,x,8\n", "row 2, target: found 'x'; allowed: a whole number"),
        ("source,target,bytes\n0,1,8\n0,1.5,8\n", "row 2, target: found '1.5'; allowed: a whole number"),
        ("source,target,bytes\n0,1,8\n0,2\n", "row 2: found 2 values; allowed: 3: source, target, bytes"),
        ("source,target,bytes\n2,1,8\n3,3,8\n", "row 2, target: found 3; allowed: another rank than the source"),
        ("source,target\n0,1\n", "bytes: no column 'bytes'; allowed: source, target, bytes; and maybe tag, step"),
        ("source,targte,bytes\n0,1,1\n", "targte: unknown column 'targte'; did you mean 'target'? allowed: source, ta"),
        ("source,target,bytes\n", "no message in it; allowed: one message or more"),
        ("", "source: no column 'source'; allowed: source, target, bytes; and maybe tag, step"),
        (
            "source,target,bytes,tag\n0,1,8,2\n1,0,8,2\n0,1,9,2\n",
            "row 3: found step, source, target and tag of row 1 again; allowed: a tag of its own for each of them",
        ),
        ("source,target,bytes,tag\n0,1,8,32768\n", "row 1, tag: found 32768; allowed: a whole number, 0 to 32767"),
        (
            "source,target,bytes\n0,1,8\n0,9,8\n",
            "workload.file: x.csv: row 2, target: found 9; allowed: ranks from 0 to 3",
        ),
    ],
)
def test_what_can_not_be_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)) as told:
        point_of(written(tmp_path, text))
    assert "x.yaml: workload.file: " in str(told.value)
    assert "\n" not in str(told.value)


def test_repeats_of_a_pattern_are_not_cut_short(tmp_path: Path) -> None:
    """Its ranks need not wait for one another."""
    file = written(tmp_path, "source,target,bytes\n0,1,8\n")
    with pytest.raises(
        InputError, match=r"steady.error: found 1 % with workload pattern; allowed: only with allreduce"
    ):
        point_of(file, workload=", repeats: 50}\nsteady: {error: 1 %")


def test_a_header_that_asks_for_more_than_there_is_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.npz"
    with zipfile.ZipFile(file, "w") as bundle:
        for name in ("source", "target", "bytes"):
            header = io.BytesIO()
            np.lib.format.write_array_header_1_0(header, {"descr": "<i8", "fortran_order": False, "shape": (10**15,)})
            bundle.writestr(f"{name}.npy", header.getvalue())
    with pytest.raises(InputError, match=r"x.npz: can't be read \(Unable to allocate"):
        pattern_tables.read(file)


@pytest.mark.parametrize(("name", "content"), [("x.npz", b"PK no"), ("x.nc", b"CDF"), ("x.csv", b"\xff\xfe\x00")])
def test_files_of_anything_are_told_in_one_line(tmp_path: Path, name: str, content: bytes) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(f"{name}")):
        point_of(file)
    with pytest.raises(InputError, match=r"workload.file: no file 'nope.csv'; allowed: a file beside this one"):
        point_of(tmp_path / "nope.csv")
    other = tmp_path / "x.txt"
    other.write_text(CSV)
    with pytest.raises(InputError, match=r"found a file '.txt'; allowed: .csv, .npz, .nc"):
        point_of(other)


def test_a_table_that_has_changed_is_refused(tmp_path: Path, tables: Path) -> None:
    file = written(tmp_path, CSV)
    planned = point_of(file)
    (digest,) = patterns.named(planned.canonical())
    pinned = point_of(file, workload=f", table: {digest}")
    assert pinned.id == planned.id
    file.write_text(CSV.replace("100", "1000"))
    with pytest.raises(
        InputError, match=rf"workload.file: found one with digest \w+; allowed: the one planned, {digest}"
    ):
        point_of(file, workload=f", table: {digest}")
    assert Point.from_canonical(planned.canonical()).id == planned.id  # what was planned is kept
    kept = patterns.place(tables, digest)
    kept.write_bytes(kept.read_bytes()[:-8] + bytes(8))
    with pytest.raises(ValueError, match=r"its content has changed; allowed: what its name says"):
        Point.from_canonical(planned.canonical())
    with pytest.raises(InputError, match="its content has changed"):
        planned.workload.schedule_keys()
    kept.unlink()
    with pytest.raises(ValueError, match="no such file; allowed: the table of a point, made when its YAML file is re"):
        Point.from_canonical(planned.canonical())
    file.write_text(CSV)
    assert point_of(file).id == planned.id
    assert Point.from_canonical(planned.canonical()).id == planned.id
    for wrong in ("abc", "../../x", "g" * 64):
        with pytest.raises(ValueError, match="64 hexadecimal digits"):
            Point.from_canonical({**planned.canonical(), "workload": {"kind": "pattern", "table": wrong, "repeats": 1}})


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: data[:20]])
def test_a_broken_table_is_not_mapped(tmp_path: Path, tables: Path, change: Any) -> None:
    (digest,) = patterns.named(point_of(written(tmp_path, CSV)).canonical())
    broken = tmp_path / "broken.pattern"
    broken.write_bytes(change(patterns.place(tables, digest).read_bytes()))
    with pytest.raises(ValueError, match="are no table of messages, allowed: a table that is whole"):
        simulator().schedule.Workload({"kind": "pattern", "table": str(broken), "repeats": 1}, 4)


def test_what_a_table_was_made_from_is_known(tmp_path: Path, tables: Path) -> None:
    file = tables / "configs" / "own.csv"
    file.write_text(CSV.replace("100", "123"))
    made = point_of(file)
    (digest,) = patterns.named(made.canonical())
    (origin,) = patterns.origins(tables, made.canonical()).values()
    assert origin["file"] == "configs/own.csv"
    assert patterns.origins(tables, {"workload": {"steps": [made.canonical()["workload"]]}}) == {digest: origin}
    assert patterns.origins(tmp_path, made.canonical()) == {}


def test_a_file_is_found_below_the_project(tmp_path: Path, tables: Path) -> None:
    (tables / "configs" / "far.csv").write_text(CSV)
    yaml = tables / "configs" / "experiments" / "x.yaml"
    yaml.write_text("ranks: 4\nmachine: torus-S\nworkload: {kind: pattern, file: configs/far.csv}\n")
    assert load_point(yaml).ranks == 4


messages = st.lists(
    st.tuples(*(st.integers(0, most) for most in (11, 11, 5000, 3, 2))),
    min_size=1,
    max_size=60,
    unique_by=lambda row: (row[0], row[1], row[3], row[4]),
).map(lambda rows: [row for row in rows if row[0] != row[1]] or [(0, 1, 1, 0, 0)])


@given(messages)
def test_every_message_is_sent_and_received_once(tables: Path, rows: list[tuple[int, ...]]) -> None:
    file = written(tables, "\n".join([",".join(NAMES), *(",".join(map(str, row)) for row in rows)]))
    os.utime(file, ns=(0, hash(tuple(rows)) % 10**15))
    found = schedule(point_of(file, 12).workload, 12)
    steps = sorted({row[4] for row in rows})
    assert found.rounds == len(steps)
    for number, step in enumerate(steps):
        wanted = sorted(row[:4] for row in rows if row[4] == step)
        for side in ("send", "receive"):
            sent = found.transfers(number, side)
            names = ("source", "destination", "bytes", "tag")
            assert sorted(zip(*(sent[name].tolist() for name in names), strict=True)) == wanted
        sends = found.transfers(number, "send")
        own = [(row[1], row[3]) for source in range(12) for row in rows if row[4] == step and row[0] == source]
        assert list(zip(sends["destination"].tolist(), sends["tag"].tolist(), strict=True)) == own


# Making patterns.


def call(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["pattern", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("bisections", [0, 1, 3])
def test_an_icosahedron_has_twenty_times_four_to_the_n_triangles(bisections: int) -> None:
    cells, (cell, neighbour) = pattern_makers.icosahedral(bisections)
    assert cells == 20 * 4**bisections
    assert np.bincount(cell).tolist() == [3] * cells
    assert sorted(zip(cell.tolist(), neighbour.tolist(), strict=True)) == sorted(
        zip(neighbour.tolist(), cell.tolist(), strict=True)
    )


@pytest.mark.parametrize("bisections", [0, 1, 4])
def test_around_its_points_are_hexagons_and_twelve_pentagons(bisections: int) -> None:
    cells, (cell, neighbour) = pattern_makers.icosahedral(bisections, "hexagons")
    assert cells == 10 * 4**bisections + 2
    around = np.bincount(cell)
    assert sorted(around.tolist()) == [5] * 12 + [6] * (cells - 12)
    assert set(zip(cell.tolist(), neighbour.tolist(), strict=True)) == set(
        zip(neighbour.tolist(), cell.tolist(), strict=True)
    )
    assert cells - len(cell) // 2 + pattern_makers.icosahedral(bisections)[0] == 2  # Euler: it is closed


@pytest.mark.parametrize("width", [1, 3])
def test_a_halo_of_one_cell_has_its_layers_around_it(width: int) -> None:
    """Far from a pentagon the w-th layer of a hexagon has 6 w cells; the other part needs that one cell."""
    cells, pairs = pattern_makers.icosahedral(4, "hexagons")
    far = np.full(cells, True)
    far[np.bincount(pairs[0]) == 5] = False
    for _ in range(width):
        far[pairs[1][~far[pairs[0]]]] = False
    part = (np.arange(cells) == np.flatnonzero(far)[0]).astype(np.int64)
    found = pattern_makers.halo(cells, pairs, part, width, 8)
    assert {name: column.tolist() for name, column in found.items()} == {
        "source": [0, 1],
        "target": [1, 0],
        "bytes": [8 * 3 * width * (width + 1), 8],
    }
    several = pattern_makers.halo(cells, pairs, part, width, 8, messages=3)
    assert several["tag"].tolist() == [0, 1, 2, 0, 1, 2]
    assert several["bytes"].sum() == 3 * found["bytes"].sum()


@given(st.integers(2, 9), st.integers(1, 4), st.integers(1, 3), st.data())
def test_halos_are_those_of_a_search_from_each_part(side: int, parts: int, width: int, data: Any) -> None:
    edges = [(x * side + y, ((x + 1) % side) * side + y) for x in range(side) for y in range(side)]
    edges += [(x * side + y, x * side + (y + 1) % side) for x in range(side) for y in range(side - 1)]
    beside = {cell: {b for a, b in edges if a == cell} | {a for a, b in edges if b == cell} for cell in range(side**2)}
    both = np.array(sorted((a, b) for a in beside for b in beside[a])).T
    part = np.array(data.draw(st.lists(st.integers(0, parts - 1), min_size=side**2, max_size=side**2)))
    found = pattern_makers.halo(side**2, (both[0], both[1]), part, width, 16)
    wanted: dict[tuple[int, int], int] = {}
    for own in range(int(part.max()) + 1):
        reached = {cell for cell in beside if part[cell] == own}
        for _ in range(width):
            reached |= {other for cell in reached for other in beside[cell]}
        for cell in reached:
            if part[cell] != own:
                key = (int(part[cell]), own)
                wanted[key] = wanted.get(key, 0) + 16
    rows = list(zip(*(found[name].tolist() for name in ("source", "target", "bytes")), strict=True))
    assert rows == sorted((*key, size) for key, size in wanted.items())


def test_a_partition_of_metis_makes_a_pattern_that_runs(tmp_path: Path) -> None:
    table = tmp_path / "halo.csv"
    said = call("from-partition", "--icosahedron", 4, "--parts", 16, "--bytes", 512, "--output", table)
    assert "halo.csv" in said
    rows = np.loadtxt(table, delimiter=",", skiprows=1, dtype=int)
    assert set(rows[:, 0]) == set(range(16))
    assert sorted(map(tuple, rows[:, :2])) == sorted((b, a) for a, b in rows[:, :2])  # who gets something gives, too
    # Far from all pairs, and far from all cells: METIS's parts are compact.
    assert len(rows) < 16 * 8
    assert rows[:, 2].sum() < 512 * 5120 / 2
    assert point_of(table, 16).id
    again = tmp_path / "again.npz"
    call("from-partition", "--icosahedron", 4, "--parts", 16, "--bytes", 512, "--output", again)
    assert point_of(again, 16).id == point_of(table, 16).id


@pytest.mark.parametrize("form", ["pairs.csv", "pairs.npz", "neighbours.npz", "mpas.nc", "icon.nc"])
def test_grids_of_many_models_are_read(tmp_path: Path, form: str) -> None:
    """A ring of four cells, each a part."""
    file = tmp_path / form
    ring = np.array([[(cell - 1) % 4, (cell + 1) % 4, -1] for cell in range(4)])
    if form == "pairs.csv":
        file.write_text("cell,neighbour\n0,1\n1,2\n2,3\n3,0\n")
    elif form == "pairs.npz":
        np.savez(file, cell=np.arange(4), neighbour=(np.arange(4) + 1) % 4)
    elif form == "neighbours.npz":
        np.savez(file, neighbours=ring)
    else:
        with h5py.File(file, "w") as netcdf:
            name, neighbours = ("cellsOnCell", ring + 1) if form == "mpas.nc" else ("neighbor_cell_index", (ring + 1).T)
            netcdf[name] = neighbours.astype(np.int32)
    parts, table = tmp_path / "parts.csv", tmp_path / "made.csv"
    parts.write_text("part\n0\n1\n2\n3\n")
    call("from-partition", "--grid", file, "--partition", parts, "--bytes", 8, "--output", table)
    assert table.read_text() == "source,target,bytes\n0,1,8\n0,3,8\n1,0,8\n1,2,8\n2,1,8\n2,3,8\n3,0,8\n3,2,8\n"
    call("from-partition", "--grid", file, "--partition", parts, "--bytes", 8, "--width", 2, "--output", table)
    assert len(table.read_text().splitlines()) == 1 + 12


@pytest.mark.parametrize("form", ["large.nc", "large.npz", "group.nc"])
def test_a_small_file_that_claims_to_hold_a_large_grid_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    file, allowed = tmp_path / form, "at most 500000000 numbers"
    if form == "large.npz":
        allowed = "at most 1000 numbers"
        monkeypatch.setattr(pattern_makers, "_MOST_VALUES", 1000)
        np.savez_compressed(file, cell=np.zeros(1001, dtype=np.int64))
    else:
        with h5py.File(file, "w") as netcdf:
            if form == "large.nc":
                netcdf.create_dataset("cell", shape=(10**12,), dtype="i8", chunks=(1000,))
            else:
                allowed = "numbers"
                netcdf.create_group("cell")
    with pytest.raises(InputError, match=f"cell: found .*; allowed: {allowed}"):
        pattern_makers.read_grid(file)


MATRIX = np.array([[9, 5, 0], [0, 0, 7], [2**33, 0, 0]])


@pytest.mark.parametrize("form", ["csv", "dense", "csr", "csc", "coo"])
def test_a_matrix_becomes_its_messages(tmp_path: Path, form: str) -> None:
    file, table = tmp_path / ("x.csv" if form == "csv" else "x.npz"), tmp_path / "made.csv"
    row, column = np.nonzero(MATRIX)
    if form == "csv":
        np.savetxt(file, MATRIX, fmt="%d", delimiter=",")
    elif form == "dense":
        np.savez(file, MATRIX)
    else:
        order = np.lexsort((row, column)) if form == "csc" else np.arange(len(row))
        row, column = row[order], column[order]
        begins = [0, *np.cumsum(np.bincount(column if form == "csc" else row, minlength=3))]
        inner = {"indices": row if form == "csc" else column, "indptr": begins}
        where = {"row": row, "col": column} if form == "coo" else inner
        np.savez(file, format=np.array(form.encode()), shape=(3, 3), data=MATRIX[row, column], **where)
    call("from-matrix", file, "--output", table)
    assert table.read_text() == "source,target,bytes\n0,1,5\n1,2,7\n2,0,8589934592\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            "from-matrix bad.csv --output x.csv",
            "bad.csv: row 2, column 1: found -3.0; allowed: a whole number of bytes, 0",
        ),
        ("from-matrix long.csv --output x.csv", "long.csv: found 1 x 3 numbers; allowed: a square matrix of bytes"),
        ("from-matrix zero.csv --output x.csv", "zero.csv: no message in it; allowed: a message or more"),
        ("from-matrix none.csv --output x.csv", "none.csv: no such file; allowed: a square matrix of bytes, .csv or"),
        ("from-matrix empty.csv --output x.csv", "empty.csv: found 0 x 1 numbers; allowed: a square matrix of bytes"),
        ("from-matrix good.csv --output good.csv", "--output: good.csv is what is read; allowed: another file"),
        (
            "from-matrix good.csv --output none/x.csv",
            "--output: found 'none/x.csv'; allowed: a file in a folder that exists",
        ),
        (
            "from-partition --output half.csv --bytes 8 --parts 2 --grid half.csv",
            "--output: half.csv is what is read; allowe",
        ),
        (
            "from-partition --output part.csv --bytes 8 --icosahedron 0 --partition part.csv",
            "--output: part.csv is what is read; allowed",
        ),
        (
            "from-partition --output x.csv --bytes 1099511627776 --icosahedron 0 --parts 2",
            "--bytes: found a message of ",
        ),
        ("elements --output x.csv --bytes 1099511627776 --cubed-sphere 2 --parts 2", "--bytes: found a message of "),
        ("from-matrix good.csv --output x.txt", "x.txt: found a file '.txt'; allowed: .csv, .npz"),
        (
            "from-partition --output x.csv --bytes 8 --parts 2",
            "--grid: found neither; allowed: either --grid or --ico",
        ),
        ("from-partition --output x.csv --bytes 8 --icosahedron 0", "--parts: found neither; allowed: either --parts"),
        (
            "from-partition --output x.csv --bytes 8 --icosahedron 0 --parts 21",
            "--parts: found 21; allowed: at most 20, t",
        ),
        (
            "from-partition --output x.csv --bytes 8 --parts 2 --grid bad.csv",
            "bad.csv: cell: no column 'cell'; allowed: c",
        ),
        (
            "from-partition --output x.csv --bytes 8 --parts 2 --grid own.csv",
            "own.csv: row 1: found cell 1 beside cell 1;",
        ),
        (
            "from-partition --output x.csv --bytes 8 --icosahedron 0 --partition own.csv",
            "own.csv: part: no column 'part'",
        ),
        (
            "from-partition --output x.csv --bytes 8 --icosahedron 0 --partition gap.csv",
            "gap.csv: no cell in part 1; allowed: a cell",
        ),
        (
            "from-partition --output x.csv --bytes 8 --icosahedron 0 --parts 2 --cells squares",
            "--cells: found 'squares'; al",
        ),
        (
            "from-partition --output x.csv --bytes 8 --icosahedron 0 --partition part.csv",
            "part.csv: part: found 2; allowe",
        ),
        (
            "from-partition --output x.csv --bytes 8 --icosahedron 0 --partition ragged.csv",
            "ragged.csv: row 2: found 2 values; allowed: 1: part",
        ),
        (
            "from-partition --output x.csv --bytes 8 --parts 2 --grid half.csv",
            "half.csv: row 1, neighbour: found '1.5'; allowed: a whole number",
        ),
    ],
)
def test_what_makes_no_pattern_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder, arguments: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "bad": "0,1\n-3,0\n",
        "long": "1,2,3\n",
        "zero": "4,0\n0,0\n",
        "good": "0,1\n1,0\n",
        "empty": "",
        "own": "cell,neighbour\n1,1\n",
        "part": "part\n0\n1\n",
        "ragged": "part\n0\n1,1\n",
        "half": "cell,neighbour\n0,1.5\n",
        "gap": "part\n" + "0\n2\n" * 10,
    }.items():
        Path(f"{name}.csv").write_text(text)
    there = {file.name: file.read_bytes() for file in Path().iterdir()}
    with pytest.raises(InputError, match=re.escape(said)):
        CliRunner().invoke(app, ["pattern", *arguments.split()], catch_exceptions=False)
    assert {file.name: file.read_bytes() for file in Path().iterdir()} == there
    assert not recwarn.list
