"""Cubed spheres and other grids of elements: closed forms, a slow search, and one line for what can't be."""

from __future__ import annotations

from itertools import pairwise
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
from tramontane.study.patterns import element_makers, patterns
from tramontane.substrates.simulator import schedule

pytestmark = pytest.mark.usefixtures("tables")

ALONG = [1, 2, 3, 4, 5, 7, 10, 30]


@pytest.mark.parametrize("along", ALONG)
def test_a_cubed_sphere_has_as_many_of_all_as_a_cube(along: int) -> None:
    corners = element_makers.cubed_sphere(along)
    found = element_makers.connections(corners, "")
    assert corners.shape == (6 * along**2, 4)
    assert int(corners.max()) + 1 == 6 * along**2 + 2
    assert found.edge.sum() == 2 * 12 * along**2
    assert (~found.edge).sum() == 24 * along**2 - 24  # four others at a vertex, but three elements at eight of them
    degree = np.bincount(corners.ravel())
    assert (degree == 3).sum() == 8
    across = np.bincount(found.element[~found.edge], minlength=found.elements)
    at_corner = (degree[corners] == 3).sum(axis=1)
    assert (across == 4 - at_corner).all()


@pytest.mark.parametrize("along", ALONG)
def test_a_curve_meets_all_elements_each_beside_the_last(along: int) -> None:
    found = element_makers.connections(element_makers.cubed_sphere(along), "").edges_only()
    order = element_makers.curve(along, found)
    assert sorted(order.tolist()) == list(range(6 * along**2))
    beside = set(zip(found.element.tolist(), found.neighbour.tolist(), strict=True))
    assert all(pair in beside for pair in pairwise(order.tolist()))


def test_parts_of_the_papers_tables_are_those_it_prints() -> None:
    held = np.bincount(element_makers.sizes(21_600, 338))
    assert (held[64], held[63]) == (306, 32)
    held = np.bincount(element_makers.sizes(86_400, 338))
    assert (held[256], held[255]) == (210, 128)


@given(st.integers(1, 4), st.integers(1, 7), st.integers(1, 6), st.booleans(), st.data())
def test_messages_are_those_of_a_search(along: int, parts: int, points: int, edges: bool, data: Any) -> None:
    corners = element_makers.cubed_sphere(along)
    part = np.array(data.draw(st.lists(st.integers(0, parts - 1), min_size=len(corners), max_size=len(corners))))
    found = element_makers.connections(corners, "")
    kept = found.edges_only() if edges else found
    wanted: dict[tuple[int, int], int] = {}
    for one, own in enumerate(corners.tolist()):
        for other, its in enumerate(corners.tolist()):
            shared = len(set(own) & set(its))
            values = points if shared == 2 else int(shared == 1 and not edges)
            if one != other and values:
                key = (int(part[one]), int(part[other]))
                wanted[key] = wanted.get(key, 0) + values * 16
    made = element_makers.messages(kept, part, points, 16)
    rows = list(zip(*(made[name].tolist() for name in ("source", "target", "bytes")), strict=True))
    assert rows == sorted((*key, size) for key, size in wanted.items() if key[0] != key[1])
    inside = element_makers.inside(kept, part, points, 16)
    assert inside.tolist() == [wanted.get((own, own), 0) for own in range(int(part.max()) + 1)]


@pytest.mark.parametrize(("neighbours", "count", "values"), [("vertices", 48, 5), ("edges", 24, 4)])
def test_one_element_a_rank_has_closed_forms(tmp_path: Path, neighbours: str, count: int, values: int) -> None:
    along, table = 6, tmp_path / "made.npz"
    call("--cubed-sphere", along, "--parts", 216, "--neighbours", neighbours, "--bytes", 208, "--output", table)
    with np.load(table) as found:
        less = 24 if neighbours == "vertices" else 0
        assert len(found["bytes"]) == count * along**2 - less
        assert found["bytes"].sum() == 208 * (24 * along**2 * values - less)


def test_metis_cuts_less_than_chance_and_more_than_nothing() -> None:
    found = element_makers.connections(element_makers.cubed_sphere(12), "")
    curve = element_makers.even_parts(element_makers.curve(12, found.edges_only()), 36)
    cut = {}
    for name, part in (("metis", element_makers.metis(found, 36)), ("curve", curve)):
        element_makers.check_parts(part, 36, name)
        cut[name] = element_makers.messages(found.edges_only(), part, 1, 1)["bytes"].sum()
    assert 36 * 4 * 4 < cut["metis"] < 36 * 30  # parts of 24 elements have 20 edges around them or more
    assert 36 * 4 * 4 < cut["curve"] < 36 * 30


def point(tmp_path: Path, sphere: str, steps: str, ranks: int = 24) -> Point:
    yaml = tmp_path / "x.yaml"
    yaml.write_text(
        f"ranks: {ranks}\nmachine: torus-S\nworkload:\n  kind: program\n  cubed_sphere: {sphere}\n  steps: {steps}\n"
    )
    return load_point(yaml)


def test_a_table_that_another_project_has_is_made_here_too(tmp_path: Path, tables: Path) -> None:
    described = (tmp_path, "{elements: 3, parts: 18}", "[{pattern: {}}]", 18)
    (digest,) = patterns.named(point(*described).canonical())
    patterns.place(tables, digest).unlink()
    assert patterns.named(point(*described).canonical()) == {digest}
    assert patterns.is_kept(digest)


def test_steps_of_a_program_are_those_of_its_elements(tmp_path: Path, tables: Path) -> None:
    sphere = "{elements: 4, parts: 24, points: 4, levels: 26, fields: 2}"
    steps = "[{work: {per_element: 3 us}}, {pattern: {}}, {work: {per_inside: 2 ns, time: 1 us}}]"
    made = point(tmp_path, sphere, steps)
    assert len(patterns.named(made.canonical())) == 1
    assert "cubed_sphere" not in made.canonical()["workload"]
    assert Point.from_canonical(made.canonical()).id == made.id
    (origin,) = patterns.origins(tables, made.canonical()).values()
    assert origin["made_from"].startswith("cubed_sphere: elements 4 parts 24")
    found = schedule(made.workload, 24)
    assert {found.round(rank, 0).work for rank in range(24)} == {4 * 3_000_000}
    sent = sum(found.transfers(1, "send")["bytes"].tolist())
    everything = (24 * 16 * 4 + 24 * 16 - 24) * 26 * 2 * 8
    inside = (everything - sent) / 24
    assert found.round(0, 2).work == pytest.approx(inside * 2000 + 1_000_000, abs=2000)
    single = point(tmp_path, "{elements: 2, parts: 24}", "[{work: {per_inside: 2 ns}}, {pattern: {}}]")
    assert schedule(single.workload, 24).round(0, 0).work == 1  # with an element a rank nothing is inside
    metis = point(tmp_path, sphere.replace("parts", "partition: metis, parts"), steps)
    assert metis.id != made.id
    half = point(tmp_path, sphere.replace("parts", "inside_scale: 50 %, parts"), steps)
    assert patterns.named(half.canonical()) == patterns.named(made.canonical())
    assert schedule(half.workload, 24).round(0, 0).work == found.round(0, 0).work
    assert schedule(half.workload, 24).round(0, 2).work == pytest.approx(inside * 1000 + 1_000_000, abs=2000)
    whole = point(tmp_path, sphere.replace("parts", "inside_scale: 100 %, parts"), steps)
    assert whole.id == made.id


def test_a_share_of_the_work_inside_is_that_of_all_bytes_not_of_each(tmp_path: Path, tables: Path) -> None:
    sphere, steps = "{elements: 4, parts: 24, %s}", "[{work: {per_inside: 1 ps}}, {pattern: {}}]"
    whole, half, more = (
        schedule(point(tmp_path, sphere % f"inside_scale: {share} %", steps).workload, 24).round(0, 0).work
        for share in (100, 50, 150)
    )
    assert (half, more) == (whole // 2, 3 * whole // 2)


@pytest.mark.parametrize(
    ("sphere", "steps", "said"),
    [
        ("{elements: 2, parts: 25}", "[{pattern: {}}]", "cubed_sphere.parts: found 25; allowed: at most 24, the elem"),
        ("{elements: 2, parts: 1}", "[{pattern: {}}]", "cubed_sphere.parts: found 1; allowed: 2 or more"),
        ("{elements: 0, parts: 2}", "[{pattern: {}}]", "cubed_sphere.elements: found 0"),
        ("{elements: 2, parts: 4, partition: x}", "[{pattern: {}}]", "cubed_sphere.partition: found 'x'; allowed: c"),
        ("{elements: 2, parts: 4}", "[{work: {per_inside: 3}}]", "per_inside: found 3 without a unit; allowed: a num"),
        ("null", "[{work: {per_element: 3 us}}]", "per_element: found no elements; allowed: only in a program with c"),
        ("{elements: 2, parts: 12}", "[{pattern: {}}]", "cubed_sphere.parts: found 12 parts; allowed: 24, the ranks"),
        ("{elements: 2, parts: 24}", "[{work: {per_inside: 3 ells}}]", "workload.steps[0].per_inside: found unit 'el"),
        ("{elements: 2, parts: 24}", "[{work: {per_inside: 0 ns}}]", "steps[0].per_inside: found '0 ns'; allowed: mor"),
        (
            "{elements: 2, parts: 24}\n  grid: [24, 24, 2]",
            "[{work: {per_element: 1 us, per_point: 3 ns}}]",
            "steps[0].per_element: found per_point, grid or decomposition beside it; allowed: none of them",
        ),
        (
            "{elements: 2, parts: 24, levels: 2000000000, fields: 2000000000}",
            "[{pattern: {}}]",
            "workload.cubed_sphere.levels: found a message of 4 times 32000000000000000000 B; allowed: messages of at",
        ),
    ],
)
def test_what_no_elements_are_is_told_in_one_line(tmp_path: Path, sphere: str, steps: str, said: str) -> None:
    with pytest.raises(InputError) as told:
        point(tmp_path, sphere, steps)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def call(*arguments: object) -> str:
    done = CliRunner().invoke(app, ["pattern", "elements", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_a_mesh_of_a_file_is_as_one_of_ours(tmp_path: Path) -> None:
    corners = element_makers.cubed_sphere(3)
    np.savez(tmp_path / "mesh.npz", corners=corners)
    np.savez(tmp_path / "exodus.npz", connect1=corners + 1)
    parts = tmp_path / "parts.csv"
    edges = element_makers.connections(corners, "").edges_only()
    owners = element_makers.even_parts(element_makers.curve(3, edges), 6)
    parts.write_text("part\n" + "\n".join(map(str, owners.tolist())) + "\n")
    call("--cubed-sphere", 3, "--parts", 6, "--output", tmp_path / "curve.csv")
    for mesh in ("mesh", "exodus"):
        call("--mesh", tmp_path / f"{mesh}.npz", "--partition", parts, "--output", tmp_path / "file.csv")
        assert (tmp_path / "file.csv").read_text() == (tmp_path / "curve.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--mesh open.npz --partition metis --parts 2", "open.npz: element 1: not closed: its edge from vertex 1 to"),
        ("--mesh same.npz --partition metis --parts 2", "same.npz: corners, row 1: found [0, 0, 1, 2]; allowed: four"),
        ("--mesh none.npz --partition metis --parts 2", "none.npz: no table 'corners'; allowed: a table of four vert"),
        ("--cubed-sphere 1 --partition gap.csv", "--partition gap.csv: no element in part 1; allowed: an element or"),
        ("--cubed-sphere 1 --parts 7", "--parts: found 7; allowed: 2 to 6, the elements"),
        ("--mesh closed.npz --parts 2", "--partition: found 'curve'; allowed: metis or a file, for a mesh"),
        ("--parts 7", "--cubed-sphere: found neither; allowed: either --cubed-sphere or --mesh"),
        ("--cubed-sphere 1 --parts 2 --neighbours x", "--neighbours: found 'x'; allowed: vertices, edges"),
    ],
)
def test_what_is_no_grid_is_told_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    np.savez("closed.npz", corners=element_makers.cubed_sphere(1))
    np.savez("open.npz", corners=element_makers.cubed_sphere(1)[:5])
    np.savez("same.npz", corners=[[0, 0, 1, 2]])
    np.savez("none.npz", other=[1])
    Path("gap.csv").write_text("part\n0\n0\n2\n2\n2\n2\n")
    with pytest.raises(InputError) as told:
        CliRunner().invoke(
            app, ["pattern", "elements", *arguments.split(), "--output", "x.csv"], catch_exceptions=False
        )
    assert said in str(told.value)
    assert not Path("x.csv").exists()
