"""The first table of predictions on the page of validation is what its command prints."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
NAMES = {"bytes": "size", "fugaku": "Fugaku", "leonardo": "Leonardo", "mare_nostrum": "MareNostrum 5"}
NAMES |= {"alltoall": "all-to-all"}


def test_the_page_has_what_leaving_out_costs(capsys: pytest.CaptureFixture[str]) -> None:
    program = ROOT / "validation" / "predict_measured.py"
    spec = importlib.util.spec_from_file_location("predict_measured", program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = pd.read_csv(ROOT / "validation" / "measured" / "pico.csv", dtype={"shape": str})
    given = given[given.algorithm != "library-default"].reset_index(drop=True)
    for column in ("shape", "date", "bytes"):
        module.report(module.left_out(given, column), column)
    printed = set()
    for line in capsys.readouterr().out.splitlines():
        left, machine, operation = (NAMES.get(word, word) for word in line.split()[2:5])
        rows, *shares = re.findall(r"(\d+)(?:%|(?= median))", line)
        cells = (left, f"{machine}, {operation}", rows, *(f"{share} %" for share in shares))
        if (left, machine) != ("date", "Fugaku"):  # which has one shape a date
            printed.add(f"| {' | '.join(cells)} |")
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    own = page.split("## Predictions of real machines")[1].split("### By the simulator")[0]
    assert printed == {line for line in own.splitlines() if re.match(r"\| (shape|date|size) ", line)}
