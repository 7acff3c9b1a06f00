"""Finds the project's folder: a checkout, or a folder that ``tramontane init`` has made."""

from pathlib import Path

from tramontane.errors import InputError
from tramontane.support.layout import INSTALLED, SHARE

EXPERIMENTS = Path("configs/experiments")
MACHINES = Path("configs/machines")
SYSTEMS = Path("configs/systems")
GRIDS = Path("configs/workloads/grids.yaml")
REFERENCES = Path("configs/references.yaml")
LIBRARIES = Path("configs/libraries.yaml")
TABLE1 = Path("configs/paper/table1.yaml")
TABLE2 = Path("configs/paper/table2.yaml")


def working_folder() -> Path:
    """Return the working directory (InputError: somebody has removed it)."""
    try:
        return Path.cwd()
    except OSError as error:
        raise InputError("", "working directory", None, "one that exists", problem=f"{error.strerror}") from None


def find_root(start: str | Path | None = None) -> Path:
    """Return the project's folder: the nearest one upward from `start` that holds ``configs/experiments``.

    Where there is none above `start`, the working directory is tried, and then what came with this package, so that a
    point file may lie anywhere.

    Raises
    ------
    InputError
        If there is no such folder, or no working directory.
    """
    here = working_folder()
    begin = here if start is None else Path(start).resolve()  # a working directory has no links in it
    found = _project(begin) or _project(here) or _project(SHARE.resolve())
    if found is None:
        raise _no_project(Path(start or begin))
    return found


def find_project() -> Path:
    """Return the project's folder, in which campaigns write; never that of an installed package.

    Raises
    ------
    InputError
        If the working directory is in no project.
    """
    found = find_root()
    if INSTALLED and found == SHARE:
        raise _no_project(Path.cwd())
    return found


def _project(folder: Path) -> Path | None:
    return next((place for place in (folder, *folder.parents) if (place / EXPERIMENTS).is_dir()), None)


def _no_project(start: Path) -> InputError:
    allowed = "a folder inside a checkout of Tramontane, or inside one made by: tramontane init DIR"
    return InputError(start, "", None, allowed, problem=f"no folder {EXPERIMENTS} here or above")
