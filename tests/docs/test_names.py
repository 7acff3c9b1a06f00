"""What the documentation names exists: files, and functions of the code."""

import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
ROOMS = ("simulator", "skeleton-src", "sstmacro", "tramontane", "analysis")
SOURCES = tuple(f"{room}/*.{suffix}" for room in ROOMS for suffix in ("cpp", "hpp", "py"))
#: Rooms that are built or written by runs.
MADE_ROOMS = {"build", "results"}
#: Files that a reader makes, and those of other projects.
NOT_HERE = {"configs/experiments/halo-latency.yaml", "packages.yaml", "spack.lock", "one_sided.lock"}
#: Functions of other projects: SST/macro.
FOREIGN = {"PiscesNIC::doSend", "NIC::internodeSend"}
SUFFIX = re.compile(r"\.(?:cpp|hpp|py|sh|smk|yaml|toml|json|md|csv|lock)$")


@cache
def files() -> frozenset[str]:
    """Return the paths of all files of the project and of the folders they lie in, as version control knows them."""
    done = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip("no checkout of git")
    paths = [Path(line) for line in done.stdout.splitlines()]
    return frozenset(str(place) for path in paths for place in (path, *path.parents))


@cache
def sources() -> tuple[str, ...]:
    return tuple((ROOT / path).read_text(encoding="utf-8") for path in sorted(files()) if fits(path, *SOURCES))


def fits(path: str, *patterns: str) -> bool:
    return (ROOT / path).is_file() and any(fnmatchcase(path, pattern) for pattern in patterns)


def words(page: Path) -> Iterator[str]:
    """Yield what a page sets as code inside its lines."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    yield from re.findall(r"(?<!`)`([^`\n]+)`(?!`)", text)


def is_path(word: str) -> bool:
    """Tell whether a word names a file or folder of the project: it begins with a room, or ends as our files do."""
    room = word.split("/", maxsplit=1)[0]
    if not re.fullmatch(r"[\w.*/-]+", word) or room in MADE_ROOMS or word in NOT_HERE:
        return False
    return ("/" in word and room in files()) or SUFFIX.search(word) is not None


def exists(word: str) -> bool:
    pattern = word.removesuffix("/")
    return any(fnmatchcase(path, pattern) or fnmatchcase(path, f"*/{pattern}") for path in files())


def is_defined(name: str) -> bool:
    """Tell whether some source has the class (or namespace) and, in it or in full, the member."""
    *_, owner, member = name.split("::")
    defined = re.compile(rf"\b(?:class|struct|namespace|enum class)\s+(?:\w+::)*{owner}\b")
    return any(
        re.search(rf"\b{owner}::{member}\b", text) or (defined.search(text) and re.search(rf"\b{member}\b", text))
        for text in sources()
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_and_functions_that_a_page_names_exist(page: Path) -> None:
    paths = [word for word in words(page) if is_path(word)]
    assert [path for path in paths if not exists(path)] == []
    names = [name for word in words(page) for name in re.findall(r"\w+(?:::\w+)+", word) if name not in FOREIGN]
    assert [name for name in names if not is_defined(name)] == []


def test_what_does_not_exist_is_found() -> None:
    assert is_path("docs/nothing.md")
    assert not exists("docs/nothing.md")
    assert exists("study/networks/network.py")
    assert not is_path("KB/s")
    assert is_defined("Schedule::send")
    assert not is_defined("Schedule::walk")
