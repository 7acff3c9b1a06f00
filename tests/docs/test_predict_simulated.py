"""The second table of predictions on the page of validation is what fits to the measured rows say."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tramontane.calibration.collectives.calibrate import calibrate
from tramontane.calibration.collectives.presentation import as_text

ROOT = Path(__file__).parents[2]
NAMES = {"fugaku": "Fugaku", "leonardo": "Leonardo", "marenostrum5": "MareNostrum 5", "alltoall": "all-to-all"}


@pytest.mark.parametrize("machine", ["marenostrum5", "fugaku", "leonardo"])
@pytest.mark.long
def test_the_page_has_what_leaving_out_costs(machine: str, tmp_path: Path) -> None:
    measured = ROOT / "validation" / "measured" / "pico.csv"
    found, _ = calibrate(measured, machine, tmp_path, ROOT, os.cpu_count() or 1)
    printed = set()
    for line in as_text(found).splitlines():
        match re.sub(r"(?<=\d)%", " %", line).split():
            case [("shape" | "date" | "size" | "algorithm") as left, operation, rows, *shares] if "%" in shares:
                median, _bias, *within = re.findall(r"[\d.]+(?: %)?", " ".join(shares))
                cells = (left, f"{NAMES[machine]}, {NAMES.get(operation, operation)}", rows, median, *within)
                if (left, machine) != ("date", "fugaku"):  # which has one shape a date
                    printed.add(f"| {' | '.join(cells)} |")
    page = (ROOT / "docs" / "validation.md").read_text(encoding="utf-8")
    own = page.split("### By the simulator")[1].split("### Judging predictions")[0]
    table = [line for line in own.splitlines() if re.match(rf"\| \w+ \| {NAMES[machine]},", line)]
    assert printed == set(table)
