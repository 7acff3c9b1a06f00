"""Numbers of the page on uncertainty about sampled stages are those that their command prints."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_says_what_the_command_prints() -> None:
    command = [sys.executable, str(ROOT / "validation" / "sampled_stages.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    told = [line for line in printed.splitlines() if line.startswith("|") or "intervals hold" in line]
    assert len([line for line in told if "intervals hold" in line]) == 1
    cases = [line.split(" | ")[: told[0].split(" | ").index("time")] for line in told if line.startswith("| ")]
    assert len({*map(tuple, cases)}) == len(cases)  # a reader can tell them apart
    page = (ROOT / "docs" / "uncertainty.md").read_text()
    lines = set(page.splitlines())
    assert [line for line in told if line not in lines] == []
    assert "not measured" not in printed
