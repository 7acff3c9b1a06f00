"""OTF2, the trace format of Score-P, Vampir, TAU and Scalasca, through the library that its developers provide.

That library is compiled, and there are wheels for some Pythons only, so it is optional. An archive is an anchor file
`NAME.otf2`, definitions `NAME.def`, and a folder `NAME` with the events of each location.
"""

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tramontane.errors import InputError, display_path
from tramontane.support.files import UnwritableError, folder_beside

INSTALL = ".venv/bin/python -m pip install otf2, or Debian's python3-otf2"
SUFFIX = ".otf2"
PER_SECOND = 10**12
"""Ticks of the clocks that we write."""


def library(file: Path) -> Any:
    """Return OTF2's library; InputError with what installs it, if it is not there."""
    try:
        import otf2  # noqa: PLC0415
    except ImportError:
        raise InputError(
            file, "", None, f"OTF2 where its library is installed: {INSTALL}", problem="OTF2's library is missing"
        ) from None
    return otf2


@contextlib.contextmanager
def quietly() -> Iterator[None]:
    """Keep the library from writing to standard error, where it tells of a broken archive in lines of its own."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


class Archive:
    """An archive that is being written, with a location for each rank of one job.

    Parameters
    ----------
    writer : otf2.writer.Writer
        Of the library.
    ranks : sequence of int
        Those that have a location.
    title : str
        Of the job.
    """

    def __init__(self, otf2: Any, writer: Any, ranks: list[int], title: str) -> None:
        self.otf2, self.definitions = otf2, writer.definitions
        self._writer = writer
        root = self.definitions.system_tree_node(title, class_name="job")
        self._groups = {
            rank: self.definitions.location_group(f"rank {rank}", system_tree_parent=root) for rank in ranks
        }
        self.locations = {
            rank: self.definitions.location(f"rank {rank}", group=group) for rank, group in self._groups.items()
        }

    def events(self, rank: int, name: str = "") -> Any:
        """Return the writer of events of a rank, or of what works beside it; their times may not go back [ps]."""
        location = self.locations[rank]
        if name not in ("", location.name):
            location = self.definitions.location(name, group=self._groups[rank])
        return self._writer.event_writer_from_location(location)


@contextlib.contextmanager
def archive(file: Path, ranks: list[int], title: str) -> Iterator[Archive]:
    """Write an archive: whole, or not at all; one that is there is replaced.

    Raises
    ------
    InputError
        If the library is missing, or what lies where the archive goes is none.
    UnwritableError
        If the library fails.
    """
    otf2 = check(file)
    # The library's own destructor tries again to close what could not be closed, as on a full disk.
    writer_of = type("Writer", (otf2.writer.Writer,), {"__del__": lambda _: None})
    places = parts_of(file)
    with folder_beside(file) as folder:
        try:
            with (
                quietly(),
                contextlib.closing(writer_of(str(folder / "new"), file.stem, timer_resolution=PER_SECOND)) as writer,
            ):
                yield Archive(otf2, writer, ranks, title)
        except otf2.writer._otf2.Error as error:
            words = "OTF2's library can't write it, as where no space is left"
            raise UnwritableError(errno.EIO, words, str(file)) from error
        for place in places:
            if place.is_dir():
                shutil.rmtree(place)
            (folder / "new" / place.name).replace(place)


def parts_of(file: Path) -> list[Path]:
    """Return what an archive consists of, its anchor file last."""
    return [file.with_suffix(""), file.with_suffix(".def"), file]


def check(file: Path) -> Any:
    """Return the library, if an archive can be written; else InputError."""
    otf2 = library(file)
    events, definitions, anchor = parts_of(file)
    for place in (events, definitions):
        if place.exists() and not anchor.exists():
            problem = f"{display_path(place)} is there and belongs to no archive"
            raise InputError(file, "", None, f"a name whose {place.name} is free", problem=problem)
    if events.exists() and not (
        events.is_dir() and all(each.suffix in {".evt", ".def", ".snap"} for each in events.iterdir())
    ):
        problem = f"{display_path(events)} holds more than events of an archive"
        raise InputError(file, "", None, "a name whose folder is an archive's", problem=problem)
    return otf2
