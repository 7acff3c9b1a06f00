"""More ranks than were traced: what is foretold of 144 ranks is what they do, and what can't be foretold is refused."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tramontane import _simulator
from tramontane.errors import InputError
from tramontane.study import traces
from tramontane.study.extrapolation import extrapolated

TRACED = (16, 36, 64)
Messages = Counter[tuple[int, int, int, int]]
Amount = Callable[[int], int]


def goal(folder: Path, ranks: int, workload: dict[str, Any]) -> Path:
    file = folder / f"{ranks}.goal"
    schedule = _simulator.schedule.Schedule(workload, ranks)
    traces.write_goal(schedule, ranks, file)
    return file


def messages(file: Path) -> Messages:
    """Return source, target, tag and bytes of all messages."""
    table = file.with_suffix(".pattern")
    table.write_bytes(traces.pack(file))
    ranks = traces.counts(table).ranks
    told = _simulator.schedule.Schedule({"kind": "trace", "table": str(table)}, ranks)
    found: Messages = Counter()
    for rank in range(ranks):
        for i in range(told.round(rank, 0).sends):
            sent = told.send(rank, 0, i)
            found[rank, sent.peer, sent.tag, sent.bytes] += 1
    return found


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


@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize(
    ("size", "work"),
    [(lambda _: 4096, lambda _: 1000), (lambda side: 96 // side * 8, lambda side: 144000000 // side**2)],
)
def test_neighbours_on_a_grid(tmp_path: Path, size: Amount, work: Amount, periodic: bool) -> None:
    known = [neighbours(tmp_path, side, size, work, periodic=periodic) for side in (4, 6, 8)]
    text, noise = extrapolated(known, 144)
    foretold = tmp_path / "foretold.goal"
    foretold.write_text(text)
    wanted = neighbours(tmp_path, 12, size, work, periodic=periodic)
    assert messages(foretold) == messages(wanted)
    assert noise == pytest.approx(0, abs=1e-9)
    as_run = []
    for file in (foretold, wanted):
        table = file.with_suffix(".pattern")
        table.write_bytes(traces.pack(file))
        counts = traces.counts(table)
        as_run.append(counts)
    assert as_run[0] == as_run[1]


def test_a_halo_of_ours(tmp_path: Path) -> None:
    halo = {"kind": "halo", "width": 2, "grid": [96, 96, 4]}
    text, _ = extrapolated([goal(tmp_path, ranks, halo) for ranks in TRACED], 144)
    foretold = tmp_path / "foretold.goal"
    foretold.write_text(text)
    assert messages(foretold) == messages(goal(tmp_path, 144, halo))


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
            "allowed: the same neighbours on a grid as in that of 16 ranks; collectives have others",
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
