"""Finds the project's folder."""

from pathlib import Path

from tramontane.errors import InputError

EXPERIMENTS = Path("configs/experiments")


def find_root(start: str | Path | None = None) -> Path:
    """Return the project's folder: the nearest one upward from `start` that holds ``configs/experiments``.

    Where there is none above `start`, the working directory and then the checkout this package lies in are tried, so
    that a point file may lie anywhere.

    Raises
    ------
    InputError
        If there is no such folder.
    """
    begin = Path(start) if start is not None else Path.cwd()
    for origin in (begin, Path.cwd(), Path(__file__)):
        folder = origin.resolve()
        for candidate in (folder, *folder.parents):
            if (candidate / EXPERIMENTS).is_dir():
                return candidate
    raise InputError(
        begin, "", None, "a folder inside a checkout of Tramontane", problem=f"no folder {EXPERIMENTS} here or above"
    )
