"""The house: who may use whom, and what no committed file may hold."""

import ast
import importlib
import itertools
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tramontane.study.experiments.figures import FIGURE_KINDS, OTHER_KINDS
from tramontane.support.imports import imported_names

ROOT = Path(__file__).parents[2]
ARCHITECTURE = ROOT / "docs" / "architecture.md"

#: Which of the house's own rooms a room's Python may import (docs/architecture.md has the same table in words).
MAY_IMPORT = {
    "tramontane": {"tramontane"},
    "analysis": {"analysis", "tramontane"},
    "workflow": {"tramontane"},
    "reframe-checks": {"tramontane"},
    "benchmarks": {"benchmarks", "tramontane"},
    "validation": {"tramontane"},
}
#: Where the headers may lie that a room's C++ includes.
MAY_INCLUDE = {
    "skeleton-src": ("skeleton-src",),
    "simulator": ("simulator", "skeleton-src"),
    "sstmacro": ("sstmacro", "simulator", "skeleton-src"),
    "tracer": ("tracer",),
    "tests/cpp": ("tests/cpp", "simulator", "skeleton-src"),
}
#: Inside the package: what each part may import of the others; the command line may use all of them.
PARTS = {
    "errors": set(),
    "support": {"errors"},
    "extension": {"errors"},
    "study": {"errors", "support", "extension"},
    "results": {"errors", "support", "study"},
    "substrates": {"errors", "support", "extension", "study", "results"},
    "measurement": {"errors", "support", "study", "substrates"},
    "campaign": {"errors", "support", "study", "substrates", "results", "measurement"},
    "calibration": {"errors", "support", "study", "substrates", "results", "measurement"},
    "comparison": {"errors", "support", "study", "substrates", "results", "campaign"},
    "claims": {"errors", "support", "study", "substrates", "results", "campaign"},
    "archive": {"errors", "support", "study", "results", "claims"},
    "api": {"errors", "support", "study", "results", "substrates"},
}
#: Inside study/: what each folder, and the module that finds files by name, may import of the others.
STUDY = {
    "reading": set(),
    "values": {"reading"},
    "patterns": {"reading", "values"},
    "networks": {"reading", "values", "patterns"},
    "collectives": {"reading", "values"},
    "traces": {"collectives"},
    "workloads": {"reading", "values", "patterns", "networks", "collectives", "traces"},
    "catalogue": {"reading", "networks"},
    "points": {"reading", "values", "catalogue", "networks", "workloads"},
    "sampling": {"reading", "values", "networks", "points"},
    "experiments": {"reading", "values", "catalogue", "workloads", "points", "sampling"},
    "systems": {"reading", "values", "catalogue", "workloads"},
}
#: Folders that are built, fetched or written by runs.
NOT_OURS = {".git", ".venv", ".snakemake", "__pycache__"}
NOT_OURS |= {".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis"}
NOT_OURS_AT_THE_ROOT = {"build", "results"}


def files(*patterns: str, below: Path = ROOT) -> Iterator[Path]:
    assert below.is_dir(), f"{below} is no room of the house"
    for pattern in patterns or ("*",):
        for path in sorted(below.rglob(pattern)):
            parts = path.relative_to(ROOT).parts
            if path.is_file() and not NOT_OURS & set(parts) and parts[0] not in NOT_OURS_AT_THE_ROOT:
                yield path


def texts() -> Iterator[tuple[Path, str]]:
    for path in files():
        try:
            yield path.relative_to(ROOT), path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue


def imports(path: Path) -> Iterator[str]:
    """Yield the dotted names that a Python file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        assert not isinstance(node, ast.ImportFrom) or node.level == 0, f"{path}: relative import"
    yield from imported_names(path)


@pytest.mark.parametrize("room", [room for room in MAY_IMPORT if (ROOT / room).is_dir()])
def test_a_room_imports_only_what_it_may(room: str) -> None:
    rooms = set(MAY_IMPORT) | {"tests", "simulator"}
    for path in files("*.py", below=ROOT / room):
        used = {name.split(".")[0] for name in imports(path)} & rooms
        assert used <= MAY_IMPORT[room], f"{path.relative_to(ROOT)} imports {used - MAY_IMPORT[room]}"


@pytest.mark.parametrize("part", PARTS)
def test_a_part_of_the_package_imports_only_what_it_may(part: str) -> None:
    folder = ROOT / "tramontane" / part
    sources = list(files("*.py", below=folder)) if folder.is_dir() else [folder.with_suffix(".py")]
    assert sources
    for path in sources:
        names = {name.split(".")[1] for name in imports(path) if name.startswith("tramontane.")}
        own = {"__version__", "_simulator", part}
        assert names - own <= PARTS[part], f"{path.relative_to(ROOT)} imports {names - own - PARTS[part]}"


def test_the_study_room_has_its_tests_in_folders_of_the_same_names() -> None:
    folders = {path.parent.name for path in files("test_*.py", below=ROOT / "tests" / "study")}
    assert folders - {"study"} <= STUDY.keys()


@pytest.mark.parametrize("part", STUDY)
def test_a_folder_of_the_study_imports_what_it_may_and_nothing_that_imports_it(part: str) -> None:
    folder = ROOT / "tramontane" / "study"
    sources = list(files("*.py", below=folder / part)) if (folder / part).is_dir() else [folder / f"{part}.py"]
    names = {name.split(".")[2] for path in sources for name in imports(path) if name.startswith("tramontane.study.")}
    assert names - {part} == STUDY[part]
    order = list(STUDY)
    assert all(order.index(other) < order.index(part) for other in STUDY[part]), "two folders use each other"


def rows(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of a page's table that begins with this heading."""
    lines = iter(page.read_text(encoding="utf-8").splitlines())
    assert any(line.startswith(f"| {heading} |") for line in lines), f"no table of {heading} in {page}"
    found = itertools.takewhile(lambda line: line.startswith("|"), itertools.islice(lines, 1, None))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found]


def test_the_documentation_has_the_parts_and_what_they_may_use() -> None:
    listed = {cells[0].strip("`/").removesuffix(".py"): cells[2] for cells in rows(ARCHITECTURE, "part")}
    assert listed.pop("cli") == "everything"
    said = {part: set(re.findall(r"`(\w+)`", text)) for part, text in listed.items()}
    assert said == {part: may - {"errors", "support"} for part, may in PARTS.items() if part != "errors"}


def test_the_documentation_has_the_folders_of_the_study_and_what_they_may_use() -> None:
    listed = {cells[0].strip("`/"): set(re.findall(r"`(\w+)`", cells[2])) for cells in rows(ARCHITECTURE, "folder")}
    assert listed == {part: may - {"reading", "values"} for part, may in STUDY.items() if part != "catalogue"}
    there = {path.name for path in (ROOT / "tramontane" / "study").iterdir() if (path / "__init__.py").is_file()}
    assert there == listed.keys()


@pytest.fixture
def architecture(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "workflow" / "scripts")
    return importlib.import_module("architecture")


def test_the_map_is_drawn_from_the_sources_as_they_are(architecture: ModuleType) -> None:
    assert architecture.MAP.read_text(encoding="utf-8") == architecture.picture(), "make map draws it anew"


def test_words_of_the_map_fit_into_their_boxes(architecture: ModuleType) -> None:
    boxes = re.findall(r'<rect [^>]*width="([\d.]+)"[^>]*/><text [^>]*>([^<]+)<', architecture.picture())
    assert len(boxes) > 20
    letter = 6.5  # of a font of 12 px, about
    assert [words for width, words in boxes if letter * len(words) > float(width)] == []


def test_the_map_has_all_parts_and_rooms_and_what_they_may_use(architecture: ModuleType) -> None:
    parts = {part: used for part, used in architecture.part_uses().items() if part != "cli"}
    assert parts == {part: may - {"errors", "support"} for part, may in PARTS.items() if part in parts}
    assert parts.keys() == PARTS.keys() - {"errors", "support"}
    rooms = {label.split(", ")[-1].strip("/"): label for label in architecture.ROOMS}
    assert rooms.keys() == MAY_IMPORT.keys() | MAY_INCLUDE.keys() - {"tests/cpp"}
    for room, label in rooms.items():
        may = {*MAY_IMPORT.get(room, ()), *MAY_INCLUDE.get(room, ()), *({"simulator"} if room == "tramontane" else ())}
        used = {other for other, name in rooms.items() if name in architecture.room_uses()[label]}
        assert used == may & rooms.keys() - {room}


def test_a_use_that_another_one_implies_is_not_drawn(architecture: ModuleType) -> None:
    uses = {"a": {"b", "c"}, "b": {"c"}, "c": set()}
    assert list(architecture.drawn(uses)) == [("a", "b"), ("b", "c")]


def test_the_documentation_has_all_families_of_figures() -> None:
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([^`.]+)` \|", page, flags=re.MULTILINE)
    assert sorted(listed) == sorted([*FIGURE_KINDS, *OTHER_KINDS])


def test_the_documentation_has_all_rooms() -> None:
    listed = {name.strip("/") for cells in rows(ARCHITECTURE, "room") for name in cells[0].split("`")}
    folders = {path.parts[0] for path in (file.relative_to(ROOT) for file in files()) if len(path.parts) > 1}
    assert {folder for folder in folders if not folder.startswith(".")} <= listed


def test_the_documentation_has_all_folders_of_the_simulator() -> None:
    listed = {cells[0].strip("`/") for cells in rows(ARCHITECTURE, "folder of `simulator/`")}
    assert listed == {path.name for path in (ROOT / "simulator").iterdir() if any(path.glob("*.?pp"))}


def test_the_compiled_extension_is_loaded_in_one_place() -> None:
    users = [path for path in files("*.py", below=ROOT / "tramontane") if "tramontane._simulator" in path.read_text()]
    assert [str(path.relative_to(ROOT)) for path in users] == ["tramontane/extension.py"]


def test_rules_use_nothing_but_the_package() -> None:
    for path in [ROOT / "Snakefile", *files("*.smk", below=ROOT / "workflow")]:
        for line in re.findall(r"^(?:from|import) +([\w.]+)", path.read_text(), flags=re.MULTILINE):
            assert line.split(".")[0] in {"tramontane", "snakemake"}, f"{path}: {line}"


@pytest.mark.parametrize("room", [room for room in MAY_INCLUDE if (ROOT / room).is_dir()])
def test_cpp_includes_only_what_it_may(room: str) -> None:
    for path in files("*.hpp", "*.cpp", below=ROOT / room):
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), flags=re.MULTILINE):
            places = [path.parent / name, *(ROOT / folder / name for folder in MAY_INCLUDE[room])]
            found = [place.resolve().relative_to(ROOT) for place in places if place.exists()]
            assert found, f"{path.relative_to(ROOT)} includes {name}, which is in none of {MAY_INCLUDE[room]}"
            assert str(found[0]).startswith(MAY_INCLUDE[room])


def test_schedules_know_no_mpi() -> None:
    executor = ROOT / "skeleton-src" / "executor"  # whose business is MPI
    for path in files("*.hpp", below=ROOT / "skeleton-src"):
        assert executor in path.parents or not re.search(r"\bMPI_\w+\(|#include <mpi", path.read_text()), path


def test_no_file_names_a_registry() -> None:
    # Put together here, so that this file does not name them either.
    hosts = [
        ".".join(parts) for parts in (("pypi", "org"), ("files", "pythonhosted"), ("anaconda", "org"), ("npmjs", "com"))
    ]
    for path, text in texts():
        for host in hosts:
            assert host not in text, f"{path} names {host}"


def test_no_file_holds_a_path_of_some_machine() -> None:
    pattern = re.compile(r"(?<![\w.}$])/(?:home|root|Users|work|mnt|scratch|tmp)/\w+")
    for path, text in texts():
        found = pattern.search(text)
        assert found is None, f"{path} holds {found.group() if found else ''}"


def test_the_lock_holds_hashes_and_no_address() -> None:
    text = (ROOT / "requirements.lock").read_text()
    assert "://" not in text
    assert "--index" not in text
    assert "--find-links" not in text
    entries = re.split(r"\n(?=\S)", text.strip())
    assert len(entries) > 60
    assert all(re.match(r"[a-z0-9._-]+==\S+", entry) and "--hash=sha256:" in entry for entry in entries)


def test_the_lock_covers_what_the_project_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    asked = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    asked += [name for group in project["dependency-groups"].values() for name in group]
    locked = set(re.findall(r"^([a-z0-9._-]+)==", (ROOT / "requirements.lock").read_text(), flags=re.MULTILINE))
    names = {re.split(r"[<>=\[ ]", name)[0].lower().replace(".", "-").replace("_", "-") for name in asked}
    assert names <= {name.replace(".", "-").replace("_", "-") for name in locked}


def test_all_files_agree_on_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f'__version__ = "{version}"' in (ROOT / "tramontane" / "__init__.py").read_text()
    assert f"project(tramontane VERSION {version} " in (ROOT / "CMakeLists.txt").read_text()
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_the_oldest_cmake_reads_the_presets() -> None:
    [release] = re.findall(r"cmake_minimum_required\(VERSION 3\.(\d+)\)", (ROOT / "CMakeLists.txt").read_text())
    brought_by = {1: 19, 2: 20, 3: 21, 4: 23, 5: 24, 6: 25}
    assert brought_by[json.loads((ROOT / "CMakePresets.json").read_text())["version"]] <= int(release)


def test_pages_that_the_package_names_exist() -> None:
    """A wheel brings the pages, and `tramontane docs` shows them: helps name that command, not a file of a checkout."""
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")}
    named: dict[tuple[str, str], Path] = {}
    for path in files("*.py", below=ROOT / "tramontane"):
        text = path.read_text(encoding="utf-8")
        named |= dict.fromkeys(re.findall(r"tramontane docs ([a-z-]+)|\bdocs/([\w-]+)\.md", text), path)
        if path.parent.name == "cli" and path.name != "docs.py":
            assert "docs/" not in text, path
    unknown = {page: path for found, path in named.items() if (page := "".join(found)) not in pages}
    assert len(named) > 20
    assert not unknown


def test_commands_in_the_documentation_exist() -> None:
    from tramontane.cli import app

    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    commands = {str(command.name or getattr(command.callback, "__name__", "")) for command in app.registered_commands}
    commands |= {str(group.name) for group in app.registered_groups}
    found = 0
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *files("*.md", below=ROOT / "docs")]:
        for code in re.findall(r"^(?:    |\t)(.*)$|`([^`\n]+)`", path.read_text(), flags=re.MULTILINE):
            line = "".join(code)
            for target in re.findall(r"^\s*make ([a-z]+)", line):
                assert target in targets, f"{path.name}: make {target}"
                found += 1
            for command in re.findall(r"^\s*(?:\.venv/bin/)?tramontane ([a-z][a-z-]*)", line):
                assert command in commands, f"{path.name}: tramontane {command}"
                found += 1
    assert found >= 8


def test_the_readme_shows_an_experiment_as_it_is() -> None:
    text = (ROOT / "README.md").read_text()
    excerpt = re.search(r"without its words:\n\n(.*?)\n\n\S", text, flags=re.DOTALL)
    assert excerpt is not None
    lines = [line[4:] for line in excerpt[1].splitlines() if line.strip()]
    experiment = (ROOT / "configs" / "experiments" / "fig05a-alltoall-algorithms.yaml").read_text().splitlines()
    assert len(lines) > 10
    assert [line for line in experiment if line in lines] == lines


def test_points_in_the_documentation_exist() -> None:
    text = (ROOT / "README.md").read_text()
    names = re.findall(r"tramontane run ([\w./-]+\.yaml)", text)
    assert names
    assert all((ROOT / name).is_file() for name in names)


def test_links_in_the_documentation_lead_somewhere() -> None:
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *files("*.md", below=ROOT / "docs")]:
        prose = re.sub(r"^```.*?^```$", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", prose):
            assert (path.parent / link).exists(), f"{path.relative_to(ROOT)} links to {link}"


def environment_of_make() -> dict[str, str]:
    """The tests may have been started by make, whose options are not for another one."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_validates_all_tables_of_the_page() -> None:
    command = ["make", "-n", "-o", "setup", "validate"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, env=environment_of_make())
    asked = done.stdout.splitlines()[-1].split()
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    [default] = re.findall(r"\$\{\*:-([A-Z ]+)\}", (ROOT / "workflow" / "scripts" / "validate.sh").read_text())
    assert (asked[2:] or default.split()) == re.findall(r"^\| ([A-Z]) \|", page, flags=re.MULTILINE)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_says_what_it_would_do() -> None:
    environment = environment_of_make()
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    assert {"reproduce", "test", "bench", "setup", "lint", "schemas"} <= set(targets)
    for target in targets:
        done = subprocess.run(
            ["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False, env=environment
        )
        assert done.returncode == 0, done.stderr
    done = subprocess.run(
        ["make", "-n", "reproduce", "SCALE=smoke", "EXPERIMENTS=a b", "REFRESH=1", "CORES=3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    line = " ".join(done.stdout.replace("\\\n", " ").splitlines()[-1].split())
    assert line == (
        ".venv/bin/tramontane reproduce --scale 'smoke' --experiments 'a b' --profile 'default' --refresh --cores '3'"
    )
