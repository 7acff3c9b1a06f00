"""spack.yaml and our recipes, as far as they can be checked without Spack; with it, by Spack itself."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
REPOSITORY = ROOT / "spack_repo" / "tramontane"
RECIPES = sorted(REPOSITORY.glob("packages/*/package.py"))

#: Files whose environments may say what Spack is to build.
SYSTEMS = sorted((ROOT / "configs" / "systems").glob("*.yaml"))

#: What Spack 0.23 and 1.x both take, of the parts that we use; a stricter schema than either's own.
SCHEMA = {
    "type": "object",
    "required": ["spack"],
    "additionalProperties": False,
    "properties": {
        "spack": {
            "type": "object",
            "required": ["specs", "view", "concretizer", "repos", "develop"],
            "additionalProperties": False,
            "properties": {
                "specs": {"type": "array", "items": {"type": "string", "pattern": r"^[a-z0-9][a-z0-9-]*(@[\w.:-]+)?$"}},
                "view": {"type": "boolean"},
                "concretizer": {
                    "type": "object",
                    "additionalProperties": False,
                    "properties": {"unify": {"enum": [True, False, "when_possible"]}},
                },
                "repos": {"type": "array", "items": {"type": "string"}},
                "develop": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "required": ["spec", "path"],
                        "additionalProperties": False,
                        "properties": {"spec": {"type": "string"}, "path": {"type": "string"}},
                    },
                },
            },
        }
    },
}


def environment() -> dict[str, Any]:
    loaded: dict[str, Any] = YAML(typ="safe", pure=True).load((ROOT / "spack.yaml").read_text())
    return loaded


def test_the_environment_is_what_both_spacks_read() -> None:
    jsonschema.validate(environment(), SCHEMA)


def test_the_environment_names_what_a_campaign_needs() -> None:
    names = {spec.split("@")[0] for spec in environment()["spack"]["specs"]}
    # ReFrame comes with the packages of requirements.lock, which our own package installs.
    assert names == {"sst-macro", "simgrid", "python"} | {recipe.parent.name for recipe in RECIPES}
    assert "sst-macro@16.0.0" in environment()["spack"]["specs"]


def test_places_in_the_environment_exist() -> None:
    spack = environment()["spack"]
    assert [(ROOT / place / "repo.yaml").is_file() for place in spack["repos"]] == [True]
    for name, entry in spack["develop"].items():
        assert (ROOT / entry["path"] / "CMakeLists.txt").is_file()
        assert entry["spec"].split("@")[0] == name
        assert (REPOSITORY / "packages" / name / "package.py").is_file()
        assert entry["spec"] in spack["specs"]


def test_the_repository_has_the_name_of_its_folder() -> None:
    described = YAML(typ="safe", pure=True).load((REPOSITORY / "repo.yaml").read_text())
    assert described == {"repo": {"namespace": REPOSITORY.name}}


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
def test_a_recipe_is_python_and_says_what_it_is(recipe: Path) -> None:
    tree = ast.parse(recipe.read_text())
    [described] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    words = recipe.parent.name.split("-")
    assert described.name == "".join(word.capitalize() for word in words)
    assert ast.get_docstring(described)
    calls = [node for node in ast.walk(described) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    called = {node.func.id for node in calls if isinstance(node.func, ast.Name)}
    assert {"license", "version", "depends_on"} <= called
    # Our own code only: nothing is downloaded.
    assert not re.search(r"\b(url|resource|patch)\b *[=(]", recipe.read_text())


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
def test_what_a_recipe_builds_exists(recipe: Path) -> None:
    text = recipe.read_text()
    cmake = (ROOT / "CMakeLists.txt").read_text()
    for option in re.findall(r'define\("(TRAMONTANE_\w+)"', text):
        assert f"option({option} " in cmake
    for target in re.findall(r'build_targets = \["([\w-]+)"\]', text):
        assert f"add_executable({target} " in cmake
    for folder in re.findall(r'build_directory = "(\w+)"', text):
        assert (ROOT / folder / "Makefile").is_file()


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.parent.name)
@pytest.mark.parametrize("generation", ["0.23", "1.x"])
def test_a_recipe_can_be_imported(recipe: Path, generation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spack is played: directives are noted, base classes are empty and lie where the generation has them."""
    said: list[str] = []
    package = types.ModuleType("spack.package")
    for name in ("version", "depends_on", "license", "conflicts", "variant"):
        setattr(package, name, lambda *words, name=name, **_: said.append(" ".join([name, *words])))
    places = {f"spack_repo.builtin.build_systems.{kind}": types.ModuleType(kind) for kind in ("cmake", "generic")}
    for owner in [package] if generation == "0.23" else places.values():
        for name in ("Package", "CMakePackage"):
            setattr(owner, name, type(name, (), {}))
    builtin = dict.fromkeys(places) if generation == "0.23" else places
    for name, module in ({"spack": types.ModuleType("spack"), "spack.package": package} | builtin).items():
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("recipe", recipe)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    assert "version main" in said
    assert any(line.startswith("depends_on") for line in said)
    [described] = [each for each in vars(loaded).values() if getattr(each, "__module__", "") == "recipe"]
    assert described.git == ROOT.as_uri()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("spack") is None, reason="Spack is not installed: docs/spack.md")
def test_the_environment_fits_spacks_own_schema(tmp_path: Path) -> None:
    script = tmp_path / "check.py"
    script.write_text(
        "import spack.schema.env\n"
        "try:  # from 1.1 on Spack's libraries have a room of their own\n"
        "    from spack.vendor import jsonschema\n"
        "    from spack.vendor.ruamel.yaml import YAML\n"
        "except ImportError:\n"
        "    import jsonschema\n"
        "    from ruamel.yaml import YAML\n"
        f"found = YAML(typ='safe').load(open({str(ROOT / 'spack.yaml')!r}))\n"
        "jsonschema.validate(found, spack.schema.env.schema)\n"
    )
    done = subprocess.run(["spack", "python", str(script)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("spack") is None, reason="Spack is not installed: docs/spack.md")
def test_spack_concretizes_our_own_packages(tmp_path: Path) -> None:
    # What others' packages resolve to is their repository's business; of ours, all must resolve.
    described = environment()
    described["spack"]["specs"] = ["tramontane-skeleton@main", "tramontane@main"]
    described["spack"]["repos"] = [str(REPOSITORY)]
    described["spack"]["develop"] = {
        name: {**entry, "path": str(ROOT)}
        for name, entry in described["spack"]["develop"].items()
        if entry["spec"] in described["spack"]["specs"]
    }
    with (tmp_path / "spack.yaml").open("w") as stream:
        YAML(typ="safe", pure=True).dump(described, stream)
    done = subprocess.run(
        ["spack", "-e", str(tmp_path), "concretize", "--force"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SPACK_COLOR": "never"},
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "spack.lock").is_file()


def test_specs_of_systems_name_a_package_that_builds_the_program() -> None:
    specs = [
        environment["spec"]
        for file in SYSTEMS
        for environment in YAML(typ="safe").load(file.read_text())["environments"].values()
        if "spec" in environment
    ]
    assert specs
    for spec in specs:
        [name] = re.findall(r"^[a-z0-9-]+", spec)
        recipe = REPOSITORY / "packages" / name / "package.py"
        assert 'build_targets = ["tramontane-mpi"]' in recipe.read_text(), spec
