"""The one kind of error a user of Tramontane can cause, always told in one line.

Whoever edits an experiment should never meet a traceback: a mistake in the input is reported as *file, key, what was
found, what is allowed*, and the command line ends with exit status 2. Everything that reads input raises
:class:`InputError`; nothing else is caught and turned into such a line, so that real defects stay visible.
"""

import difflib
import errno
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

LIMITS = {
    errno.EMFILE: "ulimit -n",
    errno.ENFILE: "fs.file-max",
    errno.EAGAIN: "ulimit -u, or pids.max of the cgroup",
    errno.ENOMEM: "ulimit -v",
}
"""What tells how many files, processes and bytes of memory the system grants, by what it says beyond that."""

MOST = 1000
"""Characters of each part of an error line that repeats what somebody wrote."""


class Line(NamedTuple):
    """What the extension says of what it refuses: "<key>: <found>, allowed: <allowed>"; `found` begins with "found"."""

    key: str
    found: str
    allowed: str

    @classmethod
    def of(cls, error: Exception) -> "Line | None":
        """Return the parts of such a line; None for anything else."""
        # What is quoted of a file need not be UTF-8; then this is all that Python says of the line.
        text = error.object.decode(errors="backslashreplace") if isinstance(error, UnicodeDecodeError) else str(error)
        found = re.fullmatch(r"(.*?): (found .*?), allowed: (.*)", text, re.DOTALL)
        return None if found is None else cls(*found.groups())


class InputError(Exception):
    """A mistake in what the user wrote.

    Parameters
    ----------
    source : str or Path
        The file (or command-line argument) that holds the mistake.
    key : str
        Dotted path of the key inside the file; empty for the file as a whole.
    found : object
        The value that was found.
    allowed : str
        What may stand there instead.
    problem : str, optional
        Says what is wrong when "found <value>" would not, e.g. ``unknown key 'topolgy'``.
    hint : str, optional
        The value that was probably meant.
    where : str, optional
        The point of an experiment at which the mistake shows.
    more : int, optional
        Number of further mistakes that were found in the same input.
    """

    def __init__(
        self,
        source: str | Path,
        key: str,
        found: object,
        allowed: str,
        *,
        problem: str | None = None,
        hint: str | None = None,
        where: str | None = None,
        more: int = 0,
    ) -> None:
        self.source = source
        self.key = key
        self.found = found
        self.allowed = allowed
        self.problem = problem or f"found {show(found)}"
        self.hint = hint
        self.where = where
        self.more = more
        super().__init__(str(self))

    def at(self, place: str | Path) -> "InputError":
        """Return the same of a point's file: as the source, if it has none, else as where the mistake shows."""
        source, where = (self.source, str(display_path(place))) if str(self.source) else (place, self.where)
        return InputError(**{**vars(self), "source": source, "where": where})

    @classmethod
    def of_line(cls, source: str | Path, error: Exception) -> "InputError | None":
        """Return what a line of the extension says of a file; None for anything else."""
        line = Line.of(error)
        return None if line is None else cls(source, line.key, None, line.allowed, problem=line.found)

    def __str__(self) -> str:
        head = ": ".join(_cut(part, MOST) for part in (display_path(self.source), self.key, self.problem) if part)
        hint = f" did you mean '{self.hint}'?" if self.hint else ""
        where = f" (at {self.where})" if self.where else ""
        more = f" (and {self.more} more mistake{'s' if self.more > 1 else ''})" if self.more else ""
        line = f"{head};{hint} allowed: {self.allowed or 'nothing'}{where}{more}"
        return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in " ".join(line.split()))


def refused_by_system(error: OSError) -> str:
    """Return one line for what the system refused: the file, why, and what tells of the limit."""
    place = f"{display_path(error.filename)}: " if isinstance(error.filename, str | Path) else ""
    limit = f" (limit: {LIMITS[error.errno]})" if error.errno in LIMITS else ""
    return f"{place}{error.strerror or error}{limit}"


def why_unread(error: Exception) -> str:
    """Return why a file can't be read, in the words that all lines about files have."""
    if isinstance(error, FileNotFoundError):
        return "no such file"
    if isinstance(error, IsADirectoryError):
        return "found a folder"
    words = getattr(error, "strerror", None) or error
    return f"can't be read ({' '.join(str(words).split())[:200]})"


def display_path(source: str | Path) -> str:
    """Return `source` as the user would type it: relative to the working directory where it lies below it."""
    path = Path(source)
    try:
        return str(path.relative_to(Path.cwd())) if path.is_absolute() else str(source)
    except (ValueError, FileNotFoundError):  # it lies elsewhere, or the working directory is gone
        return str(source)


def show(value: Any, limit: int = 60) -> str:
    """Return a short text for any value read from a file, cut at `limit` characters."""
    if value is None:
        text = "nothing"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, str):
        text = f"'{value}'"
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{key}: {show(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list | tuple):
        text = "[" + ", ".join(show(item) for item in value) + "]"
    else:
        text = str(value)
    return _cut(text, limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def closest(word: object, candidates: Iterable[str]) -> str | None:
    """Return the candidate that `word` is most likely a misspelling of, or None if none is close."""
    names = list(candidates)
    folded = {name.casefold(): name for name in reversed(names)}
    found = difflib.get_close_matches(str(word).casefold(), folded, n=1, cutoff=0.6)
    return folded[found[0]] if found else None
