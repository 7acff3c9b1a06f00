"""The conda environments hold the pins of requirements.lock, and every rule that runs something has one."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("environments", ROOT / "workflow" / "scripts" / "environments.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_files_are_what_the_lock_makes_of_them(writer: ModuleType) -> None:
    texts = writer.environments((ROOT / "requirements.lock").read_text())
    there = {path.stem: path.read_text() for path in (ROOT / "workflow" / "envs").glob("*.yaml")}
    assert there == texts, "run: make lock, or python workflow/scripts/environments.py"


def test_of_several_pins_the_newest_python_has_its_own(writer: ModuleType) -> None:
    lock = "numpy==2.4.6 ; python_full_version < '3.12' \\\nnumpy==2.10.5 ; python_full_version >= '3.12' \\\n"
    assert writer.pins(lock) == {"numpy": "2.10.5"}


def test_files_are_conda_environments(writer: ModuleType) -> None:
    for path in (ROOT / "workflow" / "envs").glob("*.yaml"):
        described = YAML(typ="safe", pure=True).load(path.read_text())
        assert described["channels"] == ["conda-forge", "bioconda"]
        assert all(re.fullmatch(r"[a-z0-9.-]+( (>=|=)[\w.]+)?", entry) for entry in described["dependencies"])


def test_rules_use_the_environment_of_their_family(writer: ModuleType) -> None:
    for path in (ROOT / "workflow" / "rules").glob("*.smk"):
        for name in re.findall(r'"\.\./envs/([\w-]+)\.yaml"', path.read_text()):
            assert name in writer.FAMILIES
            assert name == path.stem
