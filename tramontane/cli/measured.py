"""``tramontane measured``."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tramontane.cli.options import to_write
from tramontane.errors import InputError, closest

if TYPE_CHECKING:
    from tramontane.study.systems.benchmark_output import Block


def measured(
    outputs: Annotated[
        list[str],
        typer.Argument(help="What osu_alltoall, osu_allreduce or IMB-MPI1 printed.", metavar="ALGORITHM=FILE"),
    ],
    machine: Annotated[str, typer.Option("--machine", help="A machine of configs/machines.", metavar="NAME")],
    nodes: Annotated[int, typer.Option("--nodes", min=2, help="Nodes of the job, a process each.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Table to write.", metavar="MEASURED.csv")],
    shape: Annotated[
        str | None, typer.Option("--shape", help="Job in nodes on a torus, e.g. 4x4x4.", metavar="SHAPE")
    ] = None,
    date: Annotated[str, typer.Option("--date", help="When it was measured.", metavar="DATE")] = "",
) -> None:
    """Make a table for `calibrate --measured`.

    It is made of what benchmarks of MPI printed; see `tramontane docs calibration`.
    """
    from tramontane.study import find_root, list_machines
    from tramontane.study.systems.timed_collectives import KEYS, MEDIAN, MOST_NODES, fits
    from tramontane.support.files import write_atomically
    from tramontane.support.formatting import plural

    to_write("--output", output)
    machines = list_machines(find_root())
    if machine not in machines:
        raise InputError("--machine", "", machine, ", ".join(machines), hint=closest(machine, machines))
    if nodes > MOST_NODES:
        raise InputError("--nodes", "", nodes, f"2 ... {MOST_NODES}")
    job = shape or str(nodes)
    if not fits(job, nodes):
        raise InputError("--shape", "", job, f"sides whose product is the number of nodes, {nodes}")
    lines = {}
    for text in outputs:
        algorithm, _, name = text.partition("=")
        for block in _blocks(algorithm, Path(name), text, nodes):
            for size, (time, number) in block.times.items():
                keys = (machine, job, nodes, block.operation, algorithm, size)
                if keys in lines:
                    allowed = "each algorithm and size once"
                    problem = f"found {block.operation} {algorithm} of {size} B again"
                    raise InputError(name, f"line {number}", None, allowed, problem=problem)
                lines[keys] = (date, block.program, *keys, time)
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerows([("date", "variant", *KEYS, MEDIAN), *lines.values()])
    write_atomically(output, table.getvalue())
    print(f"{output}: {plural(len(lines), 'row')}")


def _blocks(algorithm: str, file: Path, text: str, nodes: int) -> "Iterator[Block]":
    """Yield the tables of a file that have so many processes, or don't say how many."""
    from tramontane.study.systems.benchmark_output import read_output
    from tramontane.study.systems.timed_collectives import ALGORITHMS

    if not file.name:
        raise InputError("ALGORITHM=FILE", "", text, "e.g. linear=osu_alltoall-linear.txt")
    blocks = read_output(file)
    own = [block for block in blocks if block.processes in {None, nodes}]
    if not own:
        counts = ", ".join(str(block.processes) for block in blocks)
        raise InputError("--nodes", "", nodes, f"a number of processes in {file}: {counts}")
    for block in own:
        known = list(ALGORITHMS[block.operation])
        if algorithm not in known:
            allowed = f"of {block.operation}: {', '.join(known)}"
            raise InputError("ALGORITHM=FILE", "", algorithm, allowed, hint=closest(algorithm, known))
        yield block
