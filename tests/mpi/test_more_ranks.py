"""A real program at more ranks than it was fitted on: what is foretold of them is what they do, message by message."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.mpi.conftest import Program
from tests.mpi.test_tracer import OTHERS, compiled
from tramontane import _simulator
from tramontane.study.traces import traces
from tramontane.study.traces.extrapolation import extrapolated
from tramontane.substrates.mpi import tracing

HERE = Path(__file__).parent
Messages = Counter[tuple[int, int, int, int]]


def messages(trace: Path, table: Path) -> tuple[Messages, Messages]:
    """Return source, target, tag and bytes of all messages, and of those of a row or column: these without tags."""
    table.write_bytes(traces.pack(trace))
    ranks = traces.counts(table).ranks
    told = _simulator.schedule.Schedule({"kind": "trace", "table": str(table)}, ranks)
    found: tuple[Messages, Messages] = Counter(), Counter()
    for rank in range(ranks):
        for i in range(told.round(rank, 0).sends):
            sent = told.send(rank, 0, i)
            is_of_a_line = sent.tag >= OTHERS + ORDERED
            found[is_of_a_line][rank, sent.peer, 0 if is_of_a_line else sent.tag, sent.bytes] += 1
    return found


#: Tags that come first in grid.c, at any number of ranks: of collectives of all ranks and of the grid, and its halo.
ORDERED = 6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("known", "wanted"), [((9, 12, 16), 25), pytest.param((16, 36, 64), 144, marks=pytest.mark.long)]
)
def test_a_model_at_more_ranks(
    built: Callable[[str], Program],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    known: tuple[int, ...],
    wanted: int,
) -> None:
    library = built("openmpi").library
    for name, value in library.variables.items():
        monkeypatch.setenv(name, value)
    program = compiled(library, HERE / "grid.c", tmp_path)
    for ranks in (*known, wanted):
        words = [*library.mpirun, str(ranks), program]
        assert tracing.trace(words, tmp_path / f"{ranks}", library.name, strip=True) == (0, True)
    foretold = tmp_path / "foretold.goal"
    foretold.write_text("".join(extrapolated([tmp_path / f"{ranks}" for ranks in known], wanted).texts()))
    ours, theirs = (messages(each, tmp_path / "x.pattern") for each in (foretold, tmp_path / f"{wanted}"))
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert sum(ours[0].values()) > sum(ours[1].values()) > 0
