"""Tables of messages travel with a campaign: they are bundled, verified, and found again by those who run a record."""

import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis import report
from analysis.draw import draw_files
from tests.archive.test_archive import ROOT, forged, rewritten
from tests.conftest import TINY
from tramontane.archive import verify_archive, write_archive
from tramontane.campaign.plan import Plan
from tramontane.errors import InputError
from tramontane.results.collate import collate_manifest
from tramontane.results.datasets import write
from tramontane.results.store import Store
from tramontane.study.patterns.patterns import PROJECT
from tramontane.substrates.simulator import Simulator

PATTERN = (
    TINY.replace("{kind: allreduce, algorithm: recursive-k, repeats: 1}", "{kind: pattern, file: ring.csv}")
    .replace("rec-2: {workload.radix: 2}", "rec-2: {workload.repeats: 1}")
    .replace("rec-3: {workload.radix: 3}", "rec-3: {workload.repeats: 3}")
)


RING = "source,target,bytes\n0,1,100\n1,0,5000\n"


@pytest.fixture
def campaign(project: Path, execute: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch) -> Path:
    """The root of a project whose campaign of patterns has ended with a report."""
    return ended(project, execute, monkeypatch, "ring.csv", project / "configs" / "experiments" / "ring.csv")


def ended(project: Path, execute: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch, name: str, file: Path) -> Path:
    """Run a campaign of patterns, in a file that the experiment calls so, to its report."""
    monkeypatch.setenv(PROJECT, str(project))
    for folder in ("claims", "machines", "paper", "workloads"):
        shutil.copytree(ROOT / "configs" / folder, project / "configs" / folder)
    shutil.copy(ROOT / "configs" / "references.yaml", project / "configs")
    (project / "configs" / "experiments" / "tiny.yaml").write_text(PATTERN.replace("ring.csv", name))
    file.parent.mkdir(exist_ok=True)
    file.write_text(RING)
    plan = execute(project, substrate=Simulator())
    (experiment,) = plan.experiments
    dataset = plan.layout.dataset(experiment.name)
    write(collate_manifest(experiment.manifest, Store(project)), dataset)
    draw_files([dataset], plan.layout.figures(experiment.name)[0].with_suffix(""))
    report.write([dataset], plan.layout.report, "smoke", "make reproduce SCALE=smoke")
    return project


def test_tables_travel_in_archives_and_records_find_them(
    campaign: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table,) = (campaign / "results" / "tables").glob("*.pattern")
    records = list((campaign / "results" / "points").rglob("*.json"))
    assert len(records) == 5
    known = Store(campaign).read(records[0].stem)
    assert known["point"]["workload"]["table"] == table.stem
    assert known["provenance"]["tables"][table.stem]["file"] == "configs/experiments/ring.csv"

    bundle = tmp_path / "campaign.zip"
    write_archive(campaign, "smoke", bundle)
    assert verify_archive(bundle).problems == ()
    name = f"results/tables/{table.name}"
    assert (
        f"{name} is missing"
        in verify_archive(rewritten(bundle, lambda own, data: None if own == name else data)).problems
    )
    assert (
        f"{name} is not what its name says"
        in verify_archive(rewritten(bundle, lambda own, data: data[:-1] + b"x" if own == name else data)).problems
    )

    # Elsewhere, without the file that the table was made of, records run again.
    elsewhere = tmp_path / "elsewhere"
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(elsewhere)
    monkeypatch.delenv(PROJECT)
    source = elsewhere / "configs" / "experiments" / "ring.csv"
    moved = source.rename(tmp_path / "ring.csv")
    record = next((elsewhere / "results" / "points").rglob("*.json"))
    assert called(elsewhere, "-c", AGAIN, str(record)) == (0, "")
    # All experiments, with it; the table is made anew.
    moved.rename(source)
    (elsewhere / name).unlink()
    assert called(elsewhere, "-m", "tramontane", "verify", "--scale", "smoke", "--sample", "2")[0] == 0
    assert (elsewhere / name).read_bytes() == table.read_bytes()
    (elsewhere / name).unlink()
    status, said = called(elsewhere, "-c", AGAIN, str(record))
    assert status != 0
    assert f"{table.name}: no such file; allowed: the table of a point" in said.splitlines()[-1]


def test_files_that_experiments_name_travel_with_them(
    project: Path, execute: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(project, execute, monkeypatch, "inputs/ring.csv", project / "inputs" / "ring.csv")
    bundle = tmp_path / "campaign.zip"
    write_archive(project, "smoke", bundle)
    assert verify_archive(bundle).problems == ()
    other = forged(bundle, "inputs/ring.csv", lambda data: None)
    assert verify_archive(other).problems == ("inputs/ring.csv is missing",)
    with zipfile.ZipFile(bundle) as opened:
        opened.extractall(tmp_path / "elsewhere")
    monkeypatch.delenv(PROJECT)
    assert called(tmp_path / "elsewhere", "-m", "tramontane", "plan", "--scale", "smoke")[0] == 0


@pytest.mark.parametrize("name", ["../outside/ring.csv", "{}/configs/ring.csv"])
def test_a_file_that_others_would_not_find_is_refused(
    project: Path, execute: Callable[..., Plan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    name = name.format(project)
    ended(project, execute, monkeypatch, name, project / name)
    with pytest.raises(InputError) as caught:
        write_archive(project, "smoke", tmp_path / "campaign.zip")
    assert "configs/experiments/tiny.yaml: base.workload.file: found " in str(caught.value)
    assert "; allowed: a relative path of a file below " in str(caught.value)


AGAIN = """
import json, pathlib, sys
from tramontane.study.points.loading import canonical_point
from tramontane.substrates.simulator import Simulator
known = json.loads(pathlib.Path(sys.argv[1]).read_text())
again = Simulator().run(canonical_point(known["point"], sys.argv[1], "point"))
assert all(again[key] == known["result"][key] for key in ("time_s", "phases", "messages", "packets"))
"""


def called(folder: Path, *arguments: str) -> tuple[int, str]:
    """Return status and complaints of Python, run in a folder."""
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr
