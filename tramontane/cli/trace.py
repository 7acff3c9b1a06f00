"""``tramontane trace``."""

import sys
from pathlib import Path
from typing import Annotated

import typer


def trace(
    command: Annotated[
        list[str], typer.Argument(help="What starts the program, after --: mpirun -n 8 ./model.", metavar="COMMAND...")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder of the trace; an older trace there is replaced.")
    ] = Path("trace"),
    environment: Annotated[
        str | None,
        typer.Option(help="MPI library of the program, e.g. openmpi. Default: that of the command.", metavar="NAME"),
    ] = None,
    strip: Annotated[bool, typer.Option("--strip", help="Leave out the names of program and host.")] = False,
) -> None:
    """Run an MPI program and write down what each rank does.

    See `tramontane docs your-application`.
    """
    from tramontane.cli.exit import FAILURE, fail
    from tramontane.errors import InputError, display_path
    from tramontane.study.traces import mpi_traces
    from tramontane.substrates.mpi import tracing
    from tramontane.support.formatting import plural, rounded, size_unit

    try:
        status, written = tracing.trace(command, output, environment, strip=strip)
    except RuntimeError as error:  # no compiler took the tracing library
        fail(f"tramontane trace: {error}", FAILURE)
    failed = typer.Exit(status if status >= 0 else 128 - status)  # as a shell tells of a signal
    if not written:
        if status == 0:
            allowed = (
                "a program that calls MPI_Init, of that MPI library as a shared one, and a folder with space for it"
            )
            raise InputError("tramontane trace", "", None, allowed, problem="found no trace of a rank")
        raise failed
    try:
        found = mpi_traces.summary(output)
    except InputError:
        if status == 0:
            raise
        raise failed from None
    print(display_path(output))
    ended = f"; without the end of {plural(found.cut, 'rank')}, so what others expected then is left out" * (
        found.cut > 0
    )
    unit, factor = size_unit(found.files_bytes)
    print(
        f"{plural(found.ranks, 'rank')}, {plural(found.calls, 'call')}, {rounded(found.files_bytes / factor)} {unit}, "
        f"{found.time_s:.4g} s{ended}",
        file=sys.stderr,
    )
    if status:
        raise failed
