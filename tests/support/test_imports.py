"""Which of our own files a module uses."""

import subprocess
import sys
from pathlib import Path

import pytest

from tramontane.support.imports import imported_names, sources
from tramontane.support.layout import PACKAGES

ROOT = Path(__file__).parents[2]

FILES = {
    "house/__init__.py": "from house.kitchen import cook\nfrom house.cellar import wine\n\nADDRESS = 1\n",
    "house/kitchen.py": "import os\nfrom house.garden import herbs\n",
    "house/garden/__init__.py": "from house.garden.beds import herbs\nfrom house.garden.shed import spade\n",
    "house/garden/beds.py": "herbs = 1\n",
    "house/garden/shed.py": "spade = 1\n",
    "house/cellar.py": "def wine():\n    from house.kitchen import cook\n    import house.street\n",
    "house/street.py": "from house import ADDRESS\n",
}


@pytest.fixture
def house(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("module", "uses"),
    [
        ("house.garden.beds", ["house/__init__", "house/garden/__init__", "house/garden/beds"]),
        # Only the herbs are taken from the garden: the shed may change.
        ("house.kitchen", ["house/__init__", "house/garden/__init__", "house/garden/beds", "house/kitchen"]),
        # What the package itself defines may rest on all it imports.
        ("house.street", sorted(name.removesuffix(".py") for name in FILES if "shed" not in name)),
        ("house.garden", ["house/__init__", "house/garden/__init__", "house/garden/beds", "house/garden/shed"]),
        ("os.path", []),
    ],
)
def test_a_module_uses_what_it_imports_directly_or_not(house: Path, module: str, uses: list[str]) -> None:
    found = [str(file.relative_to(house).with_suffix("")) for file in sources([module], house, ["house"])]
    assert sorted(found) == sorted(uses)


def test_imports_inside_functions_count_and_changes_are_seen(house: Path) -> None:
    cellar = house / "house" / "cellar.py"
    assert set(imported_names(cellar)) == {"house.kitchen.cook", "house.street"}
    cellar.write_text("wine = 1  # of our own\n")
    assert imported_names(cellar) == ()
    assert house / "house" / "street.py" not in sources(["house.cellar"], house, ["house"])


def test_packages_of_others_beside_ours_are_not_ours(house: Path) -> None:
    """In an environment all packages lie in one folder; some name themselves in ways that lead nowhere."""
    other = house / "other"
    other.mkdir()
    (other / "__init__.py").write_text("from other import ground\n")
    (house / "house" / "street.py").write_text("from other import ground\nfrom house import ADDRESS\n")
    found = sources(["house.street"], house, ["house"])
    assert house / "house" / "street.py" in found
    assert not any(other in file.parents for file in found)


@pytest.mark.parametrize("module", ["tramontane.results.collate", "analysis.draw", "analysis.report"])
def test_nothing_is_missed_that_python_itself_imports(module: str) -> None:
    """Of what `import` loads, only what re-exports load beside what is used may be left out."""
    script = f"import sys, {module}; print(*(m.__file__ for m in sys.modules.values() if getattr(m, '__file__', None)))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    ours = {Path(file) for file in loaded.stdout.split()} & {
        file for room in PACKAGES for file in (ROOT / room).rglob("*.py")
    }
    found = set(sources([module], ROOT, PACKAGES))
    beside = set(sources(["tramontane.study", "tramontane.claims", "tramontane.substrates.mpi"], ROOT, PACKAGES))
    assert ours - found <= beside
    assert ROOT / "tramontane" / "errors.py" in found & ours
