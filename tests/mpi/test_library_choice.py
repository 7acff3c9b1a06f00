"""The choice of an MPI library, held against the library: who sends how many messages and bytes to whom.

Open MPI counts the messages of its collectives itself (its component `pml/monitoring`).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.messages import messages as all_messages
from tests.mpi.conftest import Program
from tests.mpi.test_tracer import compiled
from tramontane.study.collectives.collective_calls import Exchange, frozen, schedules
from tramontane.study.collectives.library_choice import rule_of_open_mpi
from tramontane.substrates.mpi.launch import start

pytestmark = pytest.mark.slow
ROOTED = ("broadcast", "reduce", "gather", "scatter")
OPERATIONS = ("barrier", *ROOTED, "allreduce", "allgather", "alltoall")
SIZES = (1, 2, 7, 15, 96, 480, 960, 2880, 9600, 38400, 153600)
"""Doubles; where halves are halved again they remain whole, for we round others otherwise."""
MOST = 4 * 1024**2
"""Of the blocks that a rank has [B]."""
Call = tuple[str, int, int]
"""Operation, doubles, root."""
Sent = Counter[tuple[int, int, str]]
"""Messages and bytes, by source and target."""


def calls(ranks: int) -> Iterator[Call]:
    for operation in OPERATIONS:
        for size in (0,) if operation == "barrier" else SIZES:
            root = (7 * size) % ranks if operation in ROOTED else 0
            rule = rule_of_open_mpi(operation, 8 * size, ranks)
            # Blocks that the root asks for, in two parts, are none of ours; persistent requests are not counted.
            if (operation, rule) in {("gather", "linear_sync"), ("alltoall", "linear")}:
                continue
            if operation not in ("broadcast", "reduce", "allreduce") and 8 * size * ranks > MOST:
                continue
            yield operation, size, root


def counted_by_open_mpi(folder: Path) -> Sent:
    found: Sent = Counter()
    for file in folder.iterdir():
        for source, target, size, messages in re.findall(
            r"^I\t(\d+)\t(\d+)\t(\d+) bytes\t(\d+) msgs", file.read_text(), re.MULTILINE
        ):
            found[int(source), int(target), "messages"] += int(messages)
            found[int(source), int(target), "bytes"] += int(size)
    return found


def as_chosen(ranks: int, call: Call) -> Sent:
    operation, size, root = call
    found: Sent = Counter()
    for told in schedules(Exchange(operation, range(ranks), root, 8 * size), frozen({}, "open-mpi")):
        for source, target, _, length in all_messages(told).elements():
            found[source, target, "messages"] += 1
            found[source, target, "bytes"] += length
    return found


@pytest.mark.parametrize(
    "ranks", [2, 3, 5, 8, 13, 16, 33, *(pytest.param(n, marks=pytest.mark.long) for n in (24, 64, 130))]
)
def test_open_mpi_sends_what_its_rules_say(
    ranks: int, built: Callable[[str], Program], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mpi = built("openmpi")
    program = compiled(mpi.library, Path(__file__).with_name("collectives.c"), tmp_path)
    folder = tmp_path / "counted"
    folder.mkdir()
    monkeypatch.setenv("OMPI_MCA_pml", "ob1,monitoring")
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_enable", "2")
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_enable_output", "3")
    monkeypatch.setenv("OMPI_MCA_pml_monitoring_filename", str(folder / "rank"))
    asked = list(calls(ranks))
    done = start(mpi.library, ranks, [program, *(str(word) for call in asked for word in call)])
    if done.status != 0 and "Component: monitoring" in done.stderr:
        pytest.skip("this Open MPI has no component pml/monitoring; that of Debian's openmpi-bin has")
    assert done.status == 0, done.stderr
    expected: Sent = Counter()
    for call in asked:
        expected += as_chosen(ranks, call)
    assert counted_by_open_mpi(folder) == expected
