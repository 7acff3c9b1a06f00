"""Compilers: what they lay out in different ways."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECORDS = ("rules/records.hpp", "rules/node_records.hpp")


@pytest.mark.skipif(shutil.which("g++") is None, reason="GCC is not installed")
@pytest.mark.parametrize("header", RECORDS)
def test_records_are_as_small_in_the_layout_of_gcc_11(header: str) -> None:
    options = [
        "-std=c++20",
        "-fsyntax-only",
        "-fabi-version=16",
        f"-I{ROOT / 'simulator'}",
        f"-I{ROOT / 'skeleton-src'}",
    ]
    command = ["g++", *options, "-xc++", str(ROOT / "simulator" / header)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
