"""The command `make uncertainty`, from a file of ranges to shares, figures, a report and a machine."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Python module in a checkout, which must succeed."""
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False, timeout=900)
    assert done.returncode == 0, f"{arguments}\n{done.stdout}{done.stderr}"
    return done


@pytest.mark.long
def test_the_study_at_scale_smoke_leads_to_shares_figures_a_report_and_a_machine(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    machine = tmp_path / "configs" / "machines" / "zheng2018-near.yaml"
    study = ("tramontane", "uncertainty", "zheng2018", "--scale", "smoke", "--cores", "2")
    first = run(tmp_path, *study, "--nearest", str(machine))
    assert " 0 were done" in first.stderr
    assert "statements hold on one of 1 drawn machines" in first.stdout
    again = run(tmp_path, *study)
    assert re.search(r"^(\d+) points, \1 were done$", again.stderr, flags=re.MULTILINE)
    assert again.stdout == first.stdout  # the same points give the same shares
    run(tmp_path, "tramontane", "validate", str(machine))
    folder = tmp_path / "results" / "over-zheng2018-smoke"
    data = json.loads((folder / "shares.json").read_text())
    assert {own["id"] for own in data["claims"] if own["evaluated"] == 1} == {"Z-7", "Z-8a", "Z-8b", "Z-8c"}
    run(tmp_path, "analysis.shares", str(folder / "shares.json"), str(folder / "figures" / "shares"))
    page = folder / "report.html"
    run(tmp_path, "analysis.report", "--scale", "smoke", "--command", "make uncertainty", "--out", str(page))
    text = page.read_text()
    for claim in data["claims"]:
        assert f"<td>{claim['id']}</td>" in text
    assert text.count("<svg") >= 4
    assert "8a, our machine" in (folder / "figures" / "shares-nearest-fig08.svg").read_text()
    assert "parcoords" in text
