"""A real program at more ranks than it was fitted on: what is foretold of them is what they do, message by message."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.messages import Messages, sent
from tests.mpi.conftest import Program
from tests.mpi.test_tracer import OTHERS, compiled
from tramontane import _simulator
from tramontane.study.traces import traces
from tramontane.study.traces.extrapolation import extrapolated
from tramontane.substrates.mpi import tracing

HERE = Path(__file__).parent


def messages(trace: Path, table: Path, ordered: int) -> tuple[Messages, Messages]:
    """Return source, target, tag and bytes of all messages, and without tags of those that have no ordered one."""
    table.write_bytes(traces.pack(trace))
    ranks = traces.counts(table).ranks
    told = _simulator.schedule.Schedule({"kind": "trace", "table": str(table)}, ranks)
    found: tuple[Messages, Messages] = Counter(), Counter()
    for source, target, tag, size in sent(told, 0):
        is_other = tag >= OTHERS + ordered
        found[is_other][source, target, 0 if is_other else tag, size] += 1
    return found


#: Tags that come first, at any number of ranks: in grid.c of collectives of all ranks and of the grid, and its halo; in
#: blocks.c others come between those of its halo.
ORDERED = {"grid.c": 6, "blocks.c": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "known", "wanted"),
    [
        ("grid.c", (9, 12, 16), 25),
        pytest.param("grid.c", (16, 36, 64), 144, marks=pytest.mark.long),
        pytest.param("blocks.c", (27, 36, 48), 60, marks=pytest.mark.long),
        pytest.param("blocks.c", (27, 36, 48, 64), 125, marks=pytest.mark.long),
    ],
)
def test_a_model_at_more_ranks(
    built: Callable[[str], Program],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    known: tuple[int, ...],
    wanted: int,
) -> None:
    library = built("openmpi").library
    for name, value in library.variables.items():
        monkeypatch.setenv(name, value)
    program = compiled(library, HERE / source, tmp_path)
    for ranks in (*known, wanted):
        words = [*library.mpirun, str(ranks), program]
        assert tracing.trace(words, tmp_path / f"{ranks}", library.name, strip=True) == (0, True)
    foretold = tmp_path / "foretold.goal"
    foretold.write_text("".join(extrapolated([tmp_path / f"{ranks}" for ranks in known], wanted).texts()))
    ours, theirs = (
        messages(each, tmp_path / "x.pattern", ORDERED[source]) for each in (foretold, tmp_path / f"{wanted}")
    )
    assert ours[0] == theirs[0]
    assert ours[1] == theirs[1]
    assert ours[1]
