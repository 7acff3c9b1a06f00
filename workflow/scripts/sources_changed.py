"""Print the C++ sources of a build that have changed since a revision, or include what has: ``BUILD REVISION``.

BUILD has CMake's ``compile_commands.json``, which says where each source looks for headers. Each source is printed as a
regular expression, which run-clang-tidy takes. Run in the checkout's root.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


@cache
def _includes(file: Path, folders: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return the headers of the checkout that a file names."""

    def found() -> Iterator[Path]:
        for name in INCLUDE.findall(file.read_text(encoding="utf-8")):
            places = [(folder / name).resolve() for folder in (file.parent, *folders)]
            yield from [place for place in places if place.is_file()][:1]

    return tuple(found())


def comes_from(source: Path, folders: tuple[Path, ...]) -> set[Path]:
    """Return a source and all that it includes, directly or not."""
    known: set[Path] = set()
    left = [source]
    while left:
        file = left.pop()
        if file not in known:
            known.add(file)
            left += _includes(file, folders)
    return known


def main() -> None:
    """Command line."""
    build, revision = sys.argv[1:]
    names = subprocess.run(
        ["git", "diff", "--name-only", revision, "--", "*.cpp", "*.hpp"], capture_output=True, text=True, check=True
    ).stdout.split()
    changed = {Path(name).resolve() for name in names}
    for entry in json.loads(Path(build, "compile_commands.json").read_text(encoding="utf-8")):
        source = Path(entry["file"])
        folders = tuple(Path(word[2:]) for word in shlex.split(entry["command"]) if word.startswith("-I"))
        if ".venv" not in source.parts and changed & comes_from(source, folders):
            print(f"^{re.escape(str(source))}$")


if __name__ == "__main__":
    main()
