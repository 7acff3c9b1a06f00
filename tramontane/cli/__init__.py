"""The command line: one module a command. Answers go to standard output, everything else to standard error.

A mistake in the input is one line and exit status 2 (see :mod:`tramontane.errors`). Commands read options, call the
room whose work it is, and print; they import what they need when they run, so that each is as quick as it can be.
"""

import codecs
import errno
import gc
import io
import os
import select
import sys
from typing import Annotated, Any

import typer

from tramontane import __version__
from tramontane.cli.archive import archive
from tramontane.cli.calibrate import calibrate
from tramontane.cli.claims import claims
from tramontane.cli.collate import collate
from tramontane.cli.compare import compare
from tramontane.cli.critical_path import critical_path
from tramontane.cli.describe import describe
from tramontane.cli.docs import docs
from tramontane.cli.estimate import estimate
from tramontane.cli.exit import FAILURE, MISTAKE, fail
from tramontane.cli.extrapolate import extrapolate
from tramontane.cli.goal import goal
from tramontane.cli.graph import graph
from tramontane.cli.init import init
from tramontane.cli.listing import list_experiments
from tramontane.cli.measured import measured
from tramontane.cli.new_experiment import new_experiment
from tramontane.cli.pattern import pattern
from tramontane.cli.picture import picture
from tramontane.cli.plan import plan
from tramontane.cli.publish import publish
from tramontane.cli.reproduce import reproduce
from tramontane.cli.run import run
from tramontane.cli.run_batch import run_batch
from tramontane.cli.timeline import timeline
from tramontane.cli.trace import trace
from tramontane.cli.uncertainty import uncertainty
from tramontane.cli.utilisation import utilisation
from tramontane.cli.validate import validate
from tramontane.cli.verify import verify
from tramontane.errors import LIMITS, InputError, refused_by_system
from tramontane.support.files import UnwritableError

#: What the system may refuse to anybody: files, and what a user's limits are for. Else it is a defect, and shows where.
_NOT_OURS = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE, errno.EFBIG, *LIMITS}
)

#: The descriptor of standard output, whatever stands in its place in Python.
_STDOUT = 1

#: How what is printed is encoded where the encoding of a stream lacks it.
_AS_IT_CAME = "tramontane-as-it-came"

#: Exit status of a command that SIGINT has ended.
_INTERRUPTED = 130

app = typer.Typer(
    name="tramontane",
    help="The communication of weather and climate models at a million processes, studied on one desktop.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

# In the order of `tramontane --help`.
app.command()(init)
app.command("list")(list_experiments)
app.command()(describe)
app.command()(picture)
app.command()(validate)
app.command("new-experiment")(new_experiment)
app.command()(run)
app.command(context_settings={"ignore_unknown_options": True})(trace)
app.command()(timeline)
app.command()(utilisation)
app.command("critical-path")(critical_path)
app.command()(estimate)
app.command()(reproduce)
app.command()(claims)
app.command()(uncertainty)
app.command()(verify)
app.command()(archive)
app.command()(compare)
app.command()(calibrate)
app.command()(measured)
app.add_typer(pattern, name="pattern")
app.add_typer(graph, name="graph")
app.command()(goal)
app.command()(extrapolate)
app.command()(docs)
# For the workflow, and for the project itself.
app.command(hidden=True)(plan)
app.command(hidden=True)(publish)
app.command("run-batch", hidden=True)(run_batch)
app.command(hidden=True)(collate)


class _StandardOutput(io.FileIO):
    """Standard output, which what the system says of it names."""

    NAME = "standard output"

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            error.filename = self.NAME
            raise


def main() -> None:
    """Run the command line and exit."""
    # A command keeps what it has read until it ends: to look for garbage among it often takes time and finds none.
    gc.set_threshold(100_000)
    if type(sys.stdout) is io.TextIOWrapper:  # else who calls this reads it
        lines = sys.stdout.line_buffering or sys.stdout.write_through
        buffer = io.BufferedWriter(_StandardOutput(_STDOUT, "w", closefd=False))
        sys.stdout = io.TextIOWrapper(buffer, sys.stdout.encoding, line_buffering=lines)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_AS_IT_CAME)
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()  # what is left when Python ends and can't be written is lost, at times with status 0
    except InputError as error:
        fail(str(error), MISTAKE)
    except typer.Abort:
        status = _INTERRUPTED
    except typer.TyperException as error:
        fail(_usage(error), MISTAKE)
    except (BrokenPipeError, SystemExit) as end:
        # `tramontane list | head`: where typer meets the error of a pipe, it ends with 1.
        if BrokenPipeError not in (type(end), type(end.__context__)) or not _unread():
            raise
        _drop_answer()
        sys.exit(0)
    except OSError as error:
        if error.errno not in _NOT_OURS and not isinstance(error, UnwritableError):
            raise
        if error.filename == _StandardOutput.NAME:
            _drop_answer()
        fail(refused_by_system(error), FAILURE)
    if status == _INTERRUPTED:  # typer's word for Ctrl-C; a campaign that was stopped has said more, and ended
        fail("stopped", _INTERRUPTED)
    sys.exit(status if isinstance(status, int) else 0)


def _as_it_came(error: UnicodeError) -> tuple[str | bytes, int]:
    """Give names of files as the system has them, whatever their encoding, and else what a stream lacks as its code."""
    try:
        return codecs.lookup_error("surrogateescape")(error)
    except UnicodeError:
        return codecs.lookup_error("backslashreplace")(error)


codecs.register_error(_AS_IT_CAME, _as_it_came)


def _drop_answer() -> None:
    """Let Python, as it ends, write what is left of an answer to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)


def _unread() -> bool:
    """Whether standard output is a pipe that nobody reads any more."""
    asked = select.poll()
    asked.register(_STDOUT, select.POLLOUT)
    return any(event & select.POLLERR for _, event in asked.poll(0))


def _usage(error: Exception) -> str:
    """Return a mistake in the use of the command line as one line; of who only names a group of commands, its help."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    if context is not None and message == context.get_help():
        return message
    command = context.command_path if context is not None else "tramontane"
    return " ".join(f"{command}: {message} (see {command} --help)".split())


def _print_version(asked: bool) -> None:
    if asked:
        print(f"tramontane {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass
