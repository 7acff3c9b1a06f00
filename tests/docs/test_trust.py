"""The page of trust has the rows of tests/trust.yaml, with as many tests as there are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.trust import TABLE, rows

ROOT = Path(__file__).parents[2]


def test_the_page_counts_the_tests_that_there_are() -> None:
    files = sorted({test for row in rows() for test in row.tests})
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files]
    told = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert told.returncode == 0, told.stdout
    tests = [line for line in told.stdout.splitlines() if "::" in line]
    table = TABLE.search((ROOT / "docs" / "trust.md").read_text(encoding="utf-8"))
    assert table is not None
    lines = [line.strip("|").split(" | ") for line in table[0].splitlines()[2:]]
    listed = {cells[0].strip(): int(cells[1].replace(",", "")) for cells in lines}
    assert listed == {row.what: sum(map(row.has, tests)) for row in rows()}, "make trust counts them anew"
