"""More ranks than were traced: what is foretold of 144 ranks is what they do, and what can't be foretold is refused."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.messages import Messages
from tests.messages import messages as all_messages
from tests.study.traces import mpi_calls
from tests.study.traces.mpi_calls import Calls, collective
from tramontane import _simulator, cli
from tramontane.errors import InputError
from tramontane.study import Point
from tramontane.study.collectives.collective_calls import DEFAULT_ALGORITHMS, Algorithms, frozen
from tramontane.study.traces import fitted_amounts, rank_grids, traces
from tramontane.study.traces.calls import FIRST_TAG
from tramontane.study.traces.extrapolation import extrapolated
from tramontane.substrates.simulator import Simulator

TRACED = (16, 36, 64)
Amount = Callable[[int], int]
Grid = tuple[int, int]
Sides = tuple[int, ...]
#: What a rank of a grid does beside its halo: its calls, its place, the grid.
More = Callable[[Calls, Grid, Grid], None]


def test_work_that_rows_and_columns_divide_alike_is_divided_by_both_as_much() -> None:
    """On squares nobody can tell which of them; on 2 x 8 they would leave 6 and 1.5 of the 12, and 3 lies between."""
    known = np.array([6.0, 4.0, 3.0])
    time, told = fitted_amounts.work([(2, 2), (3, 3), (4, 4)], known, (2, 8))
    assert [time, *told] == pytest.approx([3, *known])
    time, told = fitted_amounts.work([(2, 3), (3, 3), (4, 5)], known, (2, 8))
    assert [time, *told] == pytest.approx([6, *known]), "here rows divide it"


def goal(folder: Path, ranks: int, workload: dict[str, Any]) -> Path:
    file = folder / f"{ranks}.goal"
    schedule = _simulator.schedule.Schedule(workload, ranks)
    traces.write_goal(schedule, ranks, file)
    return file


def foretold(known: list[Path], ranks: int, algorithms: Algorithms = DEFAULT_ALGORITHMS) -> Path:
    file = known[0].parent / "foretold.goal"
    file.write_text("".join(extrapolated(known, ranks, algorithms).texts()))
    return file


def counts(file: Path, algorithms: Algorithms = DEFAULT_ALGORITHMS) -> traces.Counts:
    table = file.with_suffix(".pattern")
    table.write_bytes(traces.pack(file, algorithms))
    return traces.counts(table)


def messages(file: Path, algorithms: Algorithms = DEFAULT_ALGORITHMS) -> Messages:
    """Return source, target, tag and bytes of all messages."""
    ranks = counts(file, algorithms).ranks
    told = _simulator.schedule.Schedule({"kind": "trace", "table": str(file.with_suffix(".pattern"))}, ranks)
    return all_messages(told)


def neighbours(folder: Path, side: int, size: Amount, work: Amount, *, periodic: bool) -> Path:
    """Write what ranks on a grid do that send to the four next to them, twice."""
    text = f"num_ranks {side * side}\n"
    for rank in range(side * side):
        row, column = divmod(rank, side)
        lines, last = [], ""
        for step in range(2):
            names = []
            for tag, (down, right) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
                if not periodic and not (0 <= row + down < side and 0 <= column + right < side):
                    continue
                peer = (row + down) % side * side + (column + right) % side
                bytes_ = size(side)
                lines.append(f"r{step}{tag}: recv {bytes_}b from {peer} tag {tag ^ 1}")
                lines.append(f"s{step}{tag}: send {bytes_}b to {peer} tag {tag}")
                names += [f"r{step}{tag}", f"s{step}{tag}"]
            lines.append(f"w{step}: calc {work(side)}")
            lines += [f"w{step} requires {name}" for name in names]
            lines += [f"{name} requires {last}" for name in names if last]
            last = f"w{step}"
        body = "\n".join(lines)
        text += f"rank {rank} {{\n{body}\n}}\n"
    file = folder / f"{side}-{periodic}.goal"
    file.write_text(text)
    return file


def cartesian(folder: Path, sides: Sides, closed: Sides, ways: Sequence[Sides], size: Callable[..., int]) -> Path:
    """Write what ranks of a grid do that send to those some way off, around the ends where it is closed, and work."""
    ranks = math.prod(sides)
    text = [f"num_ranks {ranks}\n"]
    for rank in range(ranks):
        here = np.unravel_index(rank, sides)
        lines = []
        for tag, way in enumerate(ways):
            there = [at + step for at, step in zip(here, way, strict=True)]
            if not all(around or 0 <= at < side for around, at, side in zip(closed, there, sides, strict=True)):
                continue
            peer = int(np.ravel_multi_index(tuple(at % side for at, side in zip(there, sides, strict=True)), sides))
            back = ways.index(tuple(-step for step in way))
            lines += [f"r{tag}: recv {size(way, sides)}b from {peer} tag {back}"]
            lines += [f"s{tag}: send {size(way, sides)}b to {peer} tag {tag}", f"s{tag} requires w"]
        body = "\n".join([f"w: calc {144_000_000 // ranks}", *lines])
        text.append(f"rank {rank} {{\n{body}\n}}\n")
    file = folder / f"{'x'.join(map(str, sides))}.goal"
    file.write_text("".join(text))
    return file


CROSS = [(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)]
CUBE = [way for way in itertools.product((-1, 0, 1), repeat=3) if any(way)]


def faces(way: Sides, sides: Sides) -> int:
    """Return the bytes of a halo, two wide, of a grid of 240 points along each dimension, without corners."""
    return 8 * math.prod(2 if step else 240 // side for step, side in zip(way, sides, strict=True))


def test_sizes_that_ranks_share_are_fitted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At nine places, twice, to four neighbours, each of which receives it: fits are most of the time."""
    fitted: list[list[float]] = []

    def sizes(grids: Any, known: Any, *others: Any) -> list[float]:
        fitted.append(known.tolist())
        return of_sizes(grids, known, *others)

    of_sizes = fitted_amounts.sizes
    monkeypatch.setattr(fitted_amounts, "sizes", sizes)
    known = [
        neighbours(tmp_path, side, lambda side: 72_000 // side, lambda _: 5000, periodic=False) for side in (4, 6, 8)
    ]
    assert messages(foretold(known, 144))
    assert fitted == [[18_000, 12_000, 9000]]


@pytest.mark.parametrize("ways", [CROSS, CUBE], ids=["6 neighbours", "26 neighbours"])
@pytest.mark.parametrize("closed", [(0, 0, 0), (1, 1, 1), (1, 1, 0)])
@pytest.mark.parametrize(
    ("grids", "wanted"),
    [
        (((3, 3, 3), (4, 4, 4), (5, 5, 5)), (6, 6, 6)),
        (((3, 3, 3), (4, 3, 3), (4, 4, 3), (4, 4, 4)), (6, 5, 4)),
        (((3, 3, 4), (3, 4, 4), (4, 5, 4)), (4, 6, 4)),
    ],
    ids=["cubes", "nearly", "flat"],
)
def test_grids_of_three_dimensions(
    tmp_path: Path, grids: Sequence[Sides], wanted: Sides, closed: Sides, ways: Sequence[Sides]
) -> None:
    """The time of a rank's work is a whole number everywhere, as are all sizes."""
    known = [cartesian(tmp_path, grid, closed, ways, faces) for grid in grids]
    whole = cartesian(tmp_path, wanted, closed, ways, faces)
    ranks = math.prod(wanted)
    assert extrapolated(known, ranks).grid == wanted
    assert extrapolated(known, ranks).noise == pytest.approx(0, abs=1e-6)
    found = foretold(known, ranks)
    assert messages(found) == messages(whole)
    assert counts(found) == counts(whole)


def staged(way: Sides, sides: Sides) -> int:
    """Return the bytes of a halo, two wide, with corners, which go along one dimension after the other."""
    own = [240 // side for side in sides]
    dim = next(dim for dim, step in enumerate(way) if step)
    return 8 * 2 * math.prod(own[other] + 4 * (other < dim) for other in range(len(sides)) if other != dim)


@pytest.mark.parametrize(
    ("grids", "wanted"),
    [
        (((3, 3, 3), (4, 4, 4), (5, 5, 5), (6, 6, 6)), (8, 8, 8)),
        (((3, 3, 3), (4, 3, 3), (4, 4, 3), (4, 4, 4), (5, 4, 4), (5, 5, 4)), (6, 6, 4)),
    ],
)
def test_halos_with_corners_in_three_dimensions(tmp_path: Path, grids: Sequence[Sides], wanted: Sides) -> None:
    """The last faces have a rim on all sides: four shares in a sum, on cubes three, which fewer traces do not tell."""
    known = [cartesian(tmp_path, grid, (0, 0, 0), CROSS, staged) for grid in grids]
    ranks = math.prod(wanted)
    assert messages(foretold(known, ranks)) == messages(cartesian(tmp_path, wanted, (0, 0, 0), CROSS, staged))
    with pytest.raises(InputError) as told:
        extrapolated(known[:-1], ranks, grid=wanted)
    assert "3x3x3.goal: rank 0, recv at offset (0, 0, 1), tag 5: found " in str(told.value)


def test_sizes_that_sums_fit_by_chance() -> None:
    """Where one of two dimensions is 4 long, (60 + 4) (240 / n + 4) fits both 4 + 960 / ranks and a face with a rim."""
    grids = [(4, 3), (4, 4), (5, 4), (7, 4)]
    known = np.array([(240 / a + 4) * (240 / b + 4) for a, b in grids])
    found = fitted_amounts.sizes(grids, known, (6, 5), fitted_amounts.of_messages)
    assert len(found) == 2
    assert found[0] == pytest.approx(64 * 36)
    assert np.isnan(found[1])
    grids += [(5, 5)]
    known = np.array([(240 / a + 4) * (240 / b + 4) for a, b in grids])
    assert fitted_amounts.sizes(grids, known, (6, 5), fitted_amounts.of_messages) == pytest.approx([44 * 52])


def test_two_lengths_do_not_tell_a_sum() -> None:
    """Two parts fit any two sizes."""
    grids, known = [(3, 3), (4, 3), (4, 4)], np.array([1000.0, 600.0, 600.0])
    assert fitted_amounts.sizes(grids, known, (5, 5), fitted_amounts.of_messages) == []
    known = np.array([120.0, 90.0, 90.0])
    assert fitted_amounts.sizes(grids, known, (5, 5), fitted_amounts.of_messages) == pytest.approx([72])
    grids, known = [*grids, (5, 4)], np.array([120.0, 110.0, 110.0, 104.0])
    assert fitted_amounts.sizes(grids, known, (6, 5), fitted_amounts.of_messages) == pytest.approx([100])


@pytest.mark.parametrize(
    ("grids", "wanted", "closed", "ways"),
    [
        (((1, 5), (1, 6), (1, 8)), (1, 12), (0, 0), [(0, 1), (0, -1), (0, 2), (0, -2)]),
        (((5, 5), (6, 5), (6, 6)), (8, 7), (0, 0), [(2, 0), (-2, 0), (1, 0), (-1, 0), (0, 2), (0, -2)]),
        (((5, 5), (6, 5), (6, 6)), (8, 7), (1, 0), [(2, 0), (-2, 0), (1, 0), (-1, 0), (0, 2), (0, -2)]),
        (((5, 4), (6, 4), (7, 4)), (8, 4), (0, 0), [(1, 0), (-1, 0), (0, 2), (0, -2), (0, 1), (0, -1)]),
        (((1, 7), (1, 8), (1, 9)), (1, 20), (0, 0), [(0, 3), (0, -3)]),
        (((5, 5, 5), (6, 5, 5), (6, 6, 5), (6, 6, 6)), (8, 7, 6), (0, 0, 0), [*CROSS, (2, 0, 0), (-2, 0, 0)]),
    ],
)
def test_halos_that_are_several_ranks_wide(
    tmp_path: Path, grids: Sequence[Sides], wanted: Sides, closed: Sides, ways: Sequence[Sides]
) -> None:
    """As where a rank has fewer points than a halo is wide: the second row does not do what the first one does."""
    known = [cartesian(tmp_path, grid, closed, ways, lambda way, sides: 80) for grid in grids]
    whole = cartesian(tmp_path, wanted, closed, ways, lambda way, sides: 80)
    found = tmp_path / "foretold.goal"
    found.write_text("".join(extrapolated(known, math.prod(wanted), grid=wanted).texts()))
    assert messages(found) == messages(whole)
    assert counts(found) == counts(whole)


def test_communicators_of_three_dimensions() -> None:
    """As MPI_Cart_sub makes them: lines, planes, of which some are no ranks at one distance, and all ranks."""
    grid, seen = (3, 4, 5), set()
    for group in rank_grids.groups(3):
        rest = tuple(at if not is_along else slice(None) for at, is_along in zip((2, 1, 3), group, strict=True))
        expected = np.arange(60).reshape(grid)[rest].ravel().tolist()
        assert list(rank_grids.members(grid, group, 48)) == expected
        assert rank_grids.group_of(grid, expected) == group
        assert rank_grids.may_be_of_a_grid(tuple(expected), 60)
        seen.add(rank_grids.told_group(group))
    assert len(seen) == 7
    assert {"of all ranks", "along dimension 2", "along dimensions 1 and 3"} <= seen
    assert rank_grids.group_of(grid, [0, 5, 10, 16]) is None
    assert rank_grids.group_of(grid, [15, 10, 5, 0]) is None


def test_places_that_narrow_grids_have_not(tmp_path: Path) -> None:
    ways = [(0, 1), (0, -1), (0, 2), (0, -2)]
    known = [cartesian(tmp_path, (1, columns), (0, 0), ways, lambda way, sides: 80) for columns in (4, 5, 6)]
    with pytest.raises(InputError) as told:
        extrapolated(known, 12)
    assert str(told.value).endswith(
        "1x4.goal: rank 2 of 12: found none like it on a grid of 1 x 4: place (only, inner); "
        "allowed: traces with ranks at all places that the wanted grid has"
    )
    known = [cartesian(tmp_path, sides, (0, 0, 0), CROSS, faces) for sides in ((2, 2, 2), (3, 3, 3), (4, 4, 4))]
    with pytest.raises(InputError) as told:
        extrapolated(known, 125)
    assert "2x2x2.goal: rank 1 of 125: found none like it on a grid of 2 x 2 x 2: place (first, first, inner)" in str(
        told.value
    )


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(
    ("size", "work"),
    [(lambda _: 4096, lambda _: 1000), (lambda side: 96 // side * 8, lambda side: 144000000 // side**2)],
)
def test_neighbours_on_a_grid(tmp_path: Path, size: Amount, work: Amount, periodic: bool) -> None:
    known = [neighbours(tmp_path, side, size, work, periodic=periodic) for side in (4, 6, 8)]
    wanted = neighbours(tmp_path, 12, size, work, periodic=periodic)
    assert extrapolated(known, 144).noise == pytest.approx(0, abs=1e-9)
    found = foretold(known, 144)
    assert messages(found) == messages(wanted)
    assert counts(found) == counts(wanted)


def test_a_halo_of_ours(tmp_path: Path) -> None:
    halo = {"kind": "halo", "width": 2, "grid": [96, 96, 4]}
    known = [goal(tmp_path, ranks, halo) for ranks in TRACED]
    assert messages(foretold(known, 144)) == messages(goal(tmp_path, 144, halo))


def test_an_order_of_its_own(tmp_path: Path) -> None:
    """GOAL may tell first what comes last; messages match in the order in which they are told."""

    def ring(ranks: int) -> Path:
        text = f"num_ranks {ranks}\n"
        for rank in range(ranks):
            after, before = (rank + 1) % ranks, (rank - 1) % ranks
            text += (
                f"rank {rank} {{ a: send 80b to {after} b: send 16b to {after} c: calc 50 a requires b b requires c "
            )
            text += f"d: recv 80b from {before} e: recv 16b from {before} }}\n"
        file = tmp_path / f"{ranks}.goal"
        file.write_text(text)
        return file

    found = foretold([ring(ranks) for ranks in (3, 4, 5)], 7)
    assert messages(found) == messages(ring(7))
    assert counts(found) == counts(ring(7))


@pytest.mark.usefixtures("tables")
def test_processors_of_a_rank(tmp_path: Path) -> None:
    """Work beside the messages, and messages of its processor; ranks alike do alike with the same ones."""

    def ring(ranks: int, other: int = 1) -> Path:
        text = f"num_ranks {ranks}\n"
        for rank in range(ranks):
            after, before = (rank + 1) % ranks, (rank - 1) % ranks
            cpu = other if rank == 1 else 1
            text += f"rank {rank} {{ w: calc 9000 v: calc 7000 cpu {cpu} s: send 80b to {after} cpu 1 s requires v "
            text += f"r: recv 80b from {before} u: calc 500 cpu 2 u requires r u requires w }}\n"
        file = tmp_path / f"{ranks}.goal"
        file.write_text(text)
        return file

    def time_of(file: Path) -> float:
        machine = {"topology": "torus", "geometry": [4, 2], "nodes_per_switch": 1}
        data = {"ranks": 7, "workload": {"kind": "trace", "file": str(file)}, "machine": machine}
        return float(Simulator().run(Point.model_validate(data))["time_s"])

    found = foretold([ring(ranks) for ranks in (3, 4, 5)], 7)
    assert counts(found) == counts(ring(7))
    assert counts(found).cpus == 3
    assert messages(found) == messages(ring(7))
    assert time_of(found) == time_of(ring(7))
    assert 9.5e-6 < time_of(found) < 10.5e-6, "the longest work, a message, and what waits for both"
    with pytest.raises(
        InputError, match=r"4\.goal: rank 1: found work of cpu 2 where rank 1 of .* has work of cpu 1; "
    ):
        foretold([ring(3), ring(4, other=2), ring(5)], 7)


def traced(folder: Path, grid: Grid, more: More, halo: Amount | None = lambda _: 960) -> Path:
    """Write the trace of a model: twice a halo to the four next ranks, as far as the grid goes, and more."""
    rows, columns = grid
    to = folder / f"trace-{rows * columns}"
    for rank in range(rows * columns):
        calls = Calls(rank, rows * columns)
        row, column = divmod(rank, columns)
        for _ in range(2):
            ends = []
            for tag, (down, right) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
                if halo is None or not (0 <= row + down < rows and 0 <= column + right < columns):
                    continue
                peer, size = (row + down) * columns + column + right, halo(columns if down else rows)
                calls("Irecv", mpi_calls.begin_receive(1 + tag))
                calls("Isend", mpi_calls.begin_send(11 + tag, peer, tag, size))
                ends += [mpi_calls.end_receive(1 + tag, peer, tag ^ 1, size), mpi_calls.end_send(11 + tag)]
            calls("Waitall", *ends, after=720_000 // (rows * columns))
            more(calls, (row, column), grid)
        calls.write(to)
    return to


def of_everybody(calls: Calls, place: Grid, grid: Grid) -> None:
    """Call what models do: one after the other, and an allreduce beside work."""
    ranks = grid[0] * grid[1]
    calls("Bcast", collective("bcast", 4000))
    calls("Iallreduce", collective("allreduce", 8, request=30))
    calls("Allreduce", collective("allreduce", 20_000))
    calls("Wait", mpi_calls.end_send(30))
    calls("Barrier", collective("barrier"))
    calls("Reduce", collective("reduce", 8 * ranks, root=ranks - 1))
    calls("Allgather", collective("allgather", 576 * 64 // ranks))
    calls("Alltoall", collective("alltoall", 8 * 144**2 * 16 // ranks**2))
    calls("Gather", collective("gather", 16, root=3))
    calls("Exscan", collective("exscan", 4))


@pytest.mark.parametrize(
    "algorithms",
    [
        DEFAULT_ALGORITHMS,
        frozen({"allreduce": {"algorithm": "recursive-k", "radix": 4}, "barrier": {"algorithm": "tree"}}),
        frozen({}, "mpich"),
    ],
    ids=["default", "named", "mpich"],
)
def test_halos_and_collectives_of_all_ranks(tmp_path: Path, algorithms: Algorithms) -> None:
    def halo(side: int) -> int:
        return 960 // side * 8

    known = [traced(tmp_path, (side, side), of_everybody, halo) for side in (4, 6, 8)]
    wanted = traced(tmp_path, (12, 12), of_everybody, halo)
    assert messages(foretold(known, 144, algorithms)) == messages(wanted, algorithms)


def test_a_clock_that_does_not_tick_between_calls(tmp_path: Path) -> None:
    def sums(calls: Calls, place: Grid, grid: Grid) -> None:
        calls("Barrier", collective("barrier"), after=0 if calls.rank % 3 == 0 else 100)
        calls("Allreduce", collective("allreduce", 8), after=100 if calls.rank % 5 == 0 else 0)

    known = [traced(tmp_path, (side, side), sums) for side in (4, 6, 8)]
    assert messages(foretold(known, 144)) == messages(traced(tmp_path, (12, 12), sums))


@pytest.mark.usefixtures("tables")
def test_it_takes_as_long_as_the_trace_of_so_many_ranks(tmp_path: Path) -> None:
    known = [traced(tmp_path, (side, side), of_everybody) for side in (4, 6, 8)]
    wanted = traced(tmp_path, (12, 12), of_everybody)
    net = {"topology": "torus", "geometry": [6, 6, 4], "nodes_per_switch": 1, "protocol": {"negligible_size": "0 B"}}
    times = []
    for file in (foretold(known, 144), wanted):
        point = {"ranks": 144, "machine": net, "workload": {"kind": "trace", "file": str(file)}}
        times.append(Simulator().run(Point.model_validate(point))["time_s"])
    assert times[0] == pytest.approx(times[1], rel=1e-12)


def of_lines(calls: Calls, place: Grid, grid: Grid) -> None:
    """Call collectives of the rank's row and column, and of a second communicator of all ranks."""
    (row, column), (rows, columns) = place, grid
    own_row = calls.split(1, range(row * columns, (row + 1) * columns))
    own_column = calls.split(2, range(column, rows * columns, columns))
    others = calls.split(3, range(rows * columns))
    calls("Allreduce", collective("allreduce", 8, of=others))
    calls("Bcast", collective("bcast", 3600 // rows * 8, root=columns - 1, of=own_row))
    calls("Alltoall", collective("alltoall", 8 * 1728000 // (rows * columns * rows), of=own_column))
    calls("Allreduce", collective("allreduce", 80))


def without_others(found: Messages) -> Messages:
    """Return messages without the tags of communicators other than that of all ranks."""
    named: Messages = Counter()
    for (source, target, tag, size), count in found.items():
        named[source, target, min(tag, FIRST_TAG), size] += count
    return named


@pytest.mark.parametrize(
    ("grids", "wanted"),
    [
        (((4, 4), (6, 6), (8, 8)), (12, 12)),
        (((3, 3), (3, 4), (4, 4)), (4, 5)),
        (((3, 3), (4, 3), (4, 4)), (5, 4)),
        (((1, 4), (1, 6), (1, 9)), (1, 12)),
    ],
)
def test_rows_and_columns(tmp_path: Path, grids: tuple[Grid, ...], wanted: Grid) -> None:
    known = [traced(tmp_path, grid, of_lines) for grid in grids]
    whole = traced(tmp_path, wanted, of_lines)
    assert extrapolated(known, wanted[0] * wanted[1]).grid == wanted
    found = foretold(known, wanted[0] * wanted[1])
    assert without_others(messages(found)) == without_others(messages(whole))


def test_collectives_alone(tmp_path: Path) -> None:
    """Without neighbours, communicators say what the grid is; without these, ranks lie on a line."""

    def transposed(calls: Calls, place: Grid, grid: Grid) -> None:
        (row, _), (rows, columns) = place, grid
        own = calls.split(1, range(row * columns, (row + 1) * columns))
        calls("Alltoall", collective("alltoall", 8 * 14400 // (rows * columns), of=own))

    for number, more in enumerate((of_everybody, transposed)):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        known = [traced(folder, (side, side), more, None) for side in (4, 6, 8)]
        wanted = traced(folder, (12, 12), more, None)
        assert without_others(messages(foretold(known, 144))) == without_others(messages(wanted))
    assert extrapolated([tmp_path / "0" / f"trace-{ranks}" for ranks in TRACED], 7).grid == (1, 7)


def test_which_size_is_rounded_most(tmp_path: Path) -> None:
    def table(calls: Calls, place: Grid, grid: Grid) -> None:
        calls("Allgather", collective("allgather", 1_000_008 // (grid[0] * grid[1])))
        calls("Bcast", collective("bcast", 144 // (grid[0] * grid[1])))

    known = [traced(tmp_path, (1, ranks), table) for ranks in (4, 6, 9)]
    assert extrapolated(known, 12).rounded is None
    where, size = extrapolated(known, 17).rounded or ("", 0)
    assert where == "rank 0, broadcast of all ranks"
    assert size == pytest.approx(144 / 17, rel=1e-12)


@pytest.mark.parametrize("some", [False, True], ids=["Waitany", "Waitsome"])
def test_messages_that_are_awaited_in_any_order(tmp_path: Path, some: bool) -> None:
    """One by one, or some at a time: they end in another order at each rank, with work between that others have not."""

    def trace(side: int) -> Path:
        ranks = side * side
        for rank in range(ranks):
            row, column = divmod(rank, side)
            calls = Calls(rank, ranks)
            for step in range(2):
                ends = []
                for tag, (down, right) in enumerate(((1, 0), (-1, 0), (0, 1), (0, -1))):
                    peer = (row + down) % side * side + (column + right) % side
                    calls("Irecv", mpi_calls.begin_receive(1 + tag))
                    calls("Isend", mpi_calls.begin_send(11 + tag, peer, tag, 80))
                    ends += [mpi_calls.end_receive(1 + tag, peer, tag ^ 1, 80), mpi_calls.end_send(11 + tag)]
                first = (5 * rank + 3 * step) % len(ends)
                ends = ends[first:] + ends[:first]
                at_once = 1 + rank % 3 if some else 1
                for i in range(0, len(ends), at_once):
                    calls("Waitsome" if some else "Waitany", *ends[i : i + at_once], after=7 * (rank % 2))
                if not some:
                    calls("Waitany")
                calls("Allreduce", collective("allreduce", 8))
            calls.write(tmp_path / f"trace-{ranks}")
        return tmp_path / f"trace-{ranks}"

    known = [trace(side) for side in (4, 6, 8)]
    assert messages(foretold(known, 144)) == messages(trace(12))


@pytest.mark.parametrize(
    ("ranks", "workload", "line"),
    [
        (
            TRACED,
            {"kind": "allreduce", "algorithm": "ring", "count": 100},
            "allowed: what every rank at such a place of the grid does, in all traces",
        ),
        (
            TRACED,
            {"kind": "collective", "operation": "barrier", "algorithm": "dissemination"},
            "allowed: the same neighbours on a grid of up to three dimensions in all traces; in GOAL collectives are",
        ),
        ((16, 36), {"kind": "halo", "width": 2, "grid": [96, 96, 4]}, "found 2; allowed: traces of 3 numbers of ranks"),
        (TRACED, {"kind": "halo", "width": 2, "grid": [100, 96, 4]}, "allowed: one size at all such ranks, or one"),
    ],
)
def test_what_is_refused(tmp_path: Path, ranks: tuple[int, ...], workload: dict[str, Any], line: str) -> None:
    files = [goal(tmp_path, each, workload) for each in ranks]
    with pytest.raises(InputError) as told:
        extrapolated(files, 144)
    assert line in str(told.value)
    assert "\n" not in str(told.value)


def all_but_one(calls: Calls, place: Grid, grid: Grid) -> None:
    last = grid[0] * grid[1] - 1
    own = calls.split(1, range(last) if calls.rank < last else [last])
    calls("Allreduce", collective("allreduce", 8, of=own))


def fours(calls: Calls, place: Grid, grid: Grid) -> None:
    first = calls.rank - calls.rank % 4
    calls("Bcast", collective("bcast", 8, of=calls.split(1, range(first, first + 4))))


def backwards(calls: Calls, place: Grid, grid: Grid) -> None:
    calls("Barrier", collective("barrier", of=calls.split(1, range(grid[0] * grid[1])[::-1])))


def sizes_of_blocks(calls: Calls, place: Grid, grid: Grid) -> None:
    calls("Gatherv", collective("gatherv", 8 * calls.rank))


def wandering_root(calls: Calls, place: Grid, grid: Grid) -> None:
    calls("Bcast", collective("bcast", 8, root=grid[0] // 2))


def odd_size(calls: Calls, place: Grid, grid: Grid) -> None:
    calls("Allreduce", collective("allreduce", {4: 8, 6: 80, 8: 16}[grid[0]]))


def more_in_one(calls: Calls, place: Grid, grid: Grid) -> None:
    calls("Barrier", collective("barrier" if grid[0] < 8 else "allreduce", *([8] if grid[0] == 8 else [])))


def regions(calls: Calls, place: Grid, grid: Grid) -> None:
    if calls.rank == 2:
        calls("Pcontrol", mpi_calls.region(5))


def puts(calls: Calls, place: Grid, grid: Grid) -> None:
    calls("Put", *([mpi_calls.put(1, 8)] if calls.rank == 3 else []))
    calls("Win_fence", mpi_calls.fence())


def red_and_black(calls: Calls, place: Grid, grid: Grid) -> None:
    """Send around the row: red ranks before they receive, black ones after."""
    (row, column), (_, columns) = place, grid
    after, before = (row * columns + (column + step) % columns for step in (1, -1))
    both = [("Send", mpi_calls.send(after, 9, 8)), ("Recv", mpi_calls.receive(before, 9, 8))]
    for name, action in both if (row + column) % 2 == 0 else both[::-1]:
        calls(name, action)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            all_but_one,
            "trace-16: rank 0, call 8: found allreduce of a communicator of 15 of 16 ranks; allowed: communicators of ",
        ),
        (
            fours,
            "trace-36: rank 0: found broadcast of a communicator of 4 of 36 ranks on a grid of 6 x 6; allowed: commun",
        ),
        (
            backwards,
            "trace-16: rank 15, call 8: found barrier of a communicator of 16 of 16 ranks; allowed: communicat",
        ),
        (
            sizes_of_blocks,
            "trace-16: rank 0, call 7: found gather of blocks of different sizes among 16 ranks; allowed",
        ),
        (
            wandering_root,
            "trace-16: rank 0, broadcast of all ranks: found roots 2, 3, 4; allowed: one root at all such",
        ),
        (odd_size, "trace-16: rank 0, allreduce of all ranks: found 8 B, 80 B, 16 B; allowed: one size at all such ra"),
        (more_in_one, "trace-64: rank 0: found allreduce of all ranks where rank 0 of"),
        (red_and_black, "trace-16: rank 2: found operations in another order than those of rank 1 of "),
        (regions, "trace-16: rank 2: found a region; allowed: messages, collectives and work"),
        (puts, "trace-16: rank 3: found a one-sided call; allowed: messages, collectives and work"),
    ],
)
def test_calls_that_are_refused(tmp_path: Path, more: More, line: str) -> None:
    known = [traced(tmp_path, (side, side), more) for side in (4, 6, 8)]
    with pytest.raises(InputError) as told:
        extrapolated(known, 144)
    assert line in str(told.value)
    assert "\n" not in str(told.value)


def test_squares_do_not_tell_rows_from_columns(tmp_path: Path) -> None:
    known = [traced(tmp_path, (side, side), of_everybody, lambda side: 960 // side * 8) for side in (4, 6, 8)]
    with pytest.raises(InputError) as told:
        extrapolated(known, 128)
    assert str(told.value).endswith(
        "trace-16: rank 0, recv at offset (1, 0), tag 1: found 1920 B, 1280 B, 960 B, of which 8 x 16 ranks "
        "may have 960 B or 480 B; allowed: a trace more, on a grid of other proportions"
    )
    known.append(traced(tmp_path, (4, 6), of_everybody, lambda side: 960 // side * 8))
    wanted = traced(tmp_path, (8, 16), of_everybody, lambda side: 960 // side * 8)
    assert messages(foretold(known, 128)) == messages(wanted)
    same = [traced(tmp_path, (side, side), of_everybody) for side in (4, 6, 8)]
    assert messages(foretold(same, 128)) == messages(traced(tmp_path, (8, 16), of_everybody))


def test_a_grid_may_be_named(tmp_path: Path) -> None:
    """Where all traces have as many columns, only they know what is divided among these."""

    def halo(side: int) -> int:
        return 960 // side * 8

    known = [traced(tmp_path, grid, of_lines, halo) for grid in ((4, 3), (5, 3), (6, 3))]
    with pytest.raises(InputError) as told:
        extrapolated(known, 20)
    assert str(told.value) == (
        "--ranks: found 20; allowed: a number of ranks on a grid like 4 x 3, 5 x 3, 6 x 3: "
        "3 ranks along dimension 2, as in all traces, or a trace with others"
    )
    with pytest.raises(InputError) as told:
        extrapolated(known, 20, grid=(5, 4))
    assert str(told.value) == (
        "--grid: found 5 x 4; allowed: 3 ranks along dimension 2, as in all traces, or a trace with others"
    )
    with pytest.raises(InputError) as told:
        extrapolated(known, 24, grid=(4, 3, 2))
    assert str(told.value) == "--grid: found 4 x 3 x 2; allowed: 2 dimensions, as 4 x 3 in the traces"
    assert extrapolated(known, 24).grid == (8, 3)
    wanted = traced(tmp_path, (8, 3), of_lines, halo)
    found = tmp_path / "foretold.goal"
    found.write_text("".join(extrapolated(known, 24, grid=(8, 3)).texts()))
    assert without_others(messages(found)) == without_others(messages(wanted))


def sums(calls: Calls, place: Grid, grid: Grid) -> None:
    calls("Allreduce", collective("allreduce", 8))


def test_grids_of_two_rows(tmp_path: Path) -> None:
    """On a line, the rank in the other row would be as far to the right as to the left: one kind of neighbour less."""
    known = [traced(tmp_path, (2, columns), sums) for columns in (4, 5, 6)]
    wanted = traced(tmp_path, (2, 9), sums)
    found = tmp_path / "foretold.goal"
    found.write_text("".join(extrapolated(known, 18, grid=(2, 9)).texts()))
    assert messages(found) == messages(wanted)


def test_places_that_a_trace_has_not(tmp_path: Path) -> None:
    known = [traced(tmp_path, grid, sums) for grid in ((2, 4), (3, 4), (4, 5))]
    with pytest.raises(InputError) as told:
        extrapolated(known, 30)
    assert str(told.value).endswith(
        "trace-8: rank 6 of 30: found none like it on a grid of 2 x 4: place (inner, first); "
        "allowed: traces with ranks at all places that the wanted grid has"
    )


def test_neighbours_of_no_grid(tmp_path: Path) -> None:
    """A hypercube has one more of them each time."""

    def cube(ranks: int) -> Path:
        text = f"num_ranks {ranks}\n"
        for rank in range(ranks):
            near = [rank ^ (1 << bit) for bit in range(ranks.bit_length() - 1)]
            text += f"rank {rank} {{ " + " ".join(f"send 8b to {i} recv 8b from {i}" for i in near) + " }\n"
        (tmp_path / f"{ranks}.goal").write_text(text)
        return tmp_path / f"{ranks}.goal"

    with pytest.raises(InputError) as told:
        extrapolated([cube(ranks) for ranks in (8, 16, 32)], 64)
    assert re.search(
        r"16.goal: found messages to offset \(-2, 0\) on a grid of 4 x 4, and none such on one of 2 x 4 in "
        r"\S*8.goal; allowed: the same neighbours on a grid of up to three dimensions in all traces",
        str(told.value),
    )


def test_numbers_of_ranks_that_have_no_such_grid(tmp_path: Path) -> None:
    known = [traced(tmp_path, (side, side), of_everybody) for side in (4, 6, 8)]
    with pytest.raises(InputError) as told:
        extrapolated(known, 47)
    assert str(told.value) == "--ranks: found 47; allowed: a number of ranks on a grid like 4 x 4, 6 x 6, 8 x 8"


def test_the_command_takes_algorithms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    known = [str(traced(tmp_path, (side, side), of_everybody)) for side in (4, 6, 8)]
    to = tmp_path / "more.goal"

    def run(*more: str, known: list[str] = known, to: Path = to) -> tuple[int, str]:
        words = ["extrapolate", *known, "--ranks", "100", "--output", str(to), *more]
        monkeypatch.setattr("sys.argv", ["tramontane", *words])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), capfd.readouterr().err

    status, said = run(
        "--grid", "10x10", "--collectives", "{allreduce: rabenseifner, alltoall: {algorithm: bruck, radix: 2}}"
    )
    assert status == 0
    assert said == (
        "100 ranks on a grid of 10 x 10; a rank calls broadcast 2 x, allreduce 4 x, barrier 2 x, reduce 2 x, "
        "allgather 2 x, alltoall 2 x, gather 2 x, scan 2 x; work differs by 0% at most from what it is fitted by\n"
        "sizes that this grid does not divide are rounded, most of all 265.42 B to 265 B: "
        "rank 0, alltoall of all ranks\n"
    )
    algorithms = frozen({"allreduce": {"algorithm": "rabenseifner"}, "alltoall": {"algorithm": "bruck", "radix": 2}})
    assert to.read_text() == foretold([Path(each) for each in known], 100, algorithms).read_text()
    assert run("--collectives", "{allreduce: burst}")[1].startswith(
        "--collectives: allreduce: found 'burst'; allowed: recursive-k, "
    )
    assert run("--collectives", "ring")[1] == "--collectives: found 'ring'; allowed: a mapping of keys to values\n"
    assert run("--collectives", "{sum: ring}")[1].startswith(
        "--collectives: found 'sum'; allowed: barrier, broadcast, "
    )
    assert run("--collectives", "{allreduce: ring}", known=[str(to)] * 3, to=tmp_path / "other.goal")[1] == (
        "--collectives: found with traces in GOAL; allowed: with a folder of tramontane trace, or OTF2 (collectives "
        "are messages in GOAL)\n"
    )
    assert run(to=tmp_path / "more.otf2")[1].endswith("; allowed: a file of GOAL, such as more.goal\n")
    for grid in ("10", "10x11", "10x-10", "5x5x2x2"):
        line = f"--grid: found '{grid}'; allowed: two or three numbers whose product is 100, such as 1x100\n"
        assert run("--grid", grid) == (2, line)
