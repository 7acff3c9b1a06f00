"""Which of our own files a module uses, as its source says.

What has made a dataset or a figure is known from what its maker imports, so nobody keeps a list by hand. Imports inside
functions count. A package stands for the modules whose names are taken from it: who imports `Point` from
``tramontane.study`` uses ``points.py``, and not all that ``__init__.py`` lists.
"""

import ast
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

_INIT = "__init__.py"


def imported_names(path: Path) -> tuple[str, ...]:
    """Return the dotted names that a Python file imports, wherever in it."""
    return _imported_names(path, path.stat().st_mtime_ns)


@cache
def _imported_names(path: Path, modified: int) -> tuple[str, ...]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names += (f"{node.module}.{alias.name}" for alias in node.names)
    return tuple(names)


def sources(modules: Iterable[str], root: Path, packages: Collection[str]) -> list[Path]:
    """Return the files of `modules` and of all they import, directly or not, as far as they are of our packages.

    Parameters
    ----------
    modules : iterable of str
        Dotted names.
    root : Path
        The folder that holds the packages, and maybe others: all that an environment has.
    packages : collection of str
        Ours.
    """
    seen: set[Path] = set()
    read: set[Path] = set()
    waiting = list(modules)
    while waiting:
        for file, whole in _files(waiting.pop(), root, packages):
            seen.add(file)
            if whole and file not in read:
                read.add(file)
                waiting += imported_names(file)
    return sorted(seen)


def _files(name: str, root: Path, packages: Collection[str]) -> Iterator[tuple[Path, bool]]:
    """Yield the files that importing `name` reads, and whether all that a file imports is used, too."""
    folder, parts = root, name.split(".")
    if parts[0] not in packages:
        return
    for position, part in enumerate(parts):
        if Path(folder, part, _INIT).is_file():
            folder = folder / part
            yield folder / _INIT, position == len(parts) - 1
        elif Path(folder, f"{part}.py").is_file():
            yield folder / f"{part}.py", True
            return
        elif folder != root:
            yield from _taken_from(folder / _INIT, part, root, packages)
            return
        else:
            return  # is not there


def _taken_from(package: Path, name: str, root: Path, packages: Collection[str]) -> Iterator[tuple[Path, bool]]:
    """Yield the files behind a name of a package: where the package takes it from, or the package as a whole."""
    origins = [origin for origin in imported_names(package) if origin.split(".")[-1] == name]
    if not origins:
        yield package, True
    for origin in origins:
        yield from _files(origin, root, packages)
