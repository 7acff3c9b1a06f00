"""The pages for newcomers, followed to the letter: commands are run, changes are made, files are written."""

import json
import re
import shutil
import subprocess
import sys
from itertools import dropwhile
from pathlib import Path

import pytest

from tramontane.errors import InputError
from tramontane.study import SCALES, expand, load_experiment, validate_file
from tramontane.study.experiments.claims import list_claims, load_claims
from tramontane.study.experiments.template import new_experiment

ROOT = Path(__file__).parents[2]
PAGE, PROGRAMS = ROOT / "docs" / "new-experiment.md", ROOT / "docs" / "programs.md"
PATTERNS, MACHINES = ROOT / "docs" / "patterns.md", ROOT / "docs" / "machines.md"
TRACES, CLAIMS = ROOT / "docs" / "your-application.md", ROOT / "docs" / "claims.md"
FILE = Path("configs", "experiments", "halo-latency.yaml")


def steps(page: Path = PAGE) -> list[tuple[str, str]]:
    """Return the page's commands (indented), changes (in fences called diff) and files (whose first line is their path
    in a comment), in order.
    """
    pattern = re.compile(
        r"^```diff\n(?P<change>.*?)^```$|^```yaml\n(?P<file># configs/.*?)^```$|^```.*?^```$"
        r"|^    (?P<command>\S[^\n]*)$",
        flags=re.MULTILINE | re.DOTALL,
    )
    found = (own.groupdict().items() for own in pattern.finditer(page.read_text()))
    return [(kind, text) for own in found for kind, text in own if text]


def changed(text: str, change: str) -> str:
    """Return a file's text with a change of the page: lines with - give way to those with +."""
    old = "".join(line[1:] for line in change.splitlines(keepends=True) if line[0] in "- ")
    new = "".join(line[1:] for line in change.splitlines(keepends=True) if line[0] in "+ ")
    assert text.count(old) == 1, f"the page changes what is not in the file once:\n{old}"
    return text.replace(old, new)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A copy of the checkout's configuration in which `.venv/bin/tramontane` is the command."""
    shutil.copytree(ROOT / "configs", tmp_path / "configs")
    command = tmp_path / ".venv" / "bin" / "tramontane"
    command.parent.mkdir(parents=True)
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tramontane "$@"\n')
    command.chmod(0o755)
    return tmp_path


def shell(command: str, scratch: Path) -> subprocess.CompletedProcess[str]:
    """Run a page's command, which must succeed."""
    done = subprocess.run(["sh", "-c", command], cwd=scratch, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done


def test_a_workload_leads_to_a_trace_and_an_experiment(scratch: Path) -> None:
    printed = ""
    # What comes before needs an MPI program of the reader's; tests/mpi/test_tracer.py does that with its own.
    for kind, text in dropwhile(lambda step: "configs/my-model.yaml" not in step[1], steps(TRACES)):
        if kind == "file":
            (scratch / text.split()[1]).write_text(text)
        elif "reproduce" not in text and "extrapolate" not in text:  # as on the other pages; in its own tests
            printed += shell(text, scratch).stdout
    assert "trace, at 9 points: 64 ranks, 1600 messages, 384 pieces of work, 6720 dependencies" in printed


@pytest.mark.long
def test_a_program_leads_to_a_figure(scratch: Path) -> None:
    printed = ""
    for kind, text in steps(PROGRAMS):
        if kind == "file":
            (scratch / text.split()[1]).write_text(text)
        else:
            printed += shell(text, scratch).stdout
    words = re.search(r"```\n(program of a rank.*?)```", PROGRAMS.read_text(), flags=re.DOTALL)
    assert words is not None
    assert words[1] in printed
    assert printed.splitlines()[-1] == "results/smoke/report.html"
    table = (scratch / "results" / "smoke" / "figures" / "hidden-halo.md").read_text()
    assert all(f"| {series} | 64 |" in table for series in ("plain", "overlap", "overlap by hardware"))


@pytest.mark.long
def test_a_table_leads_to_a_figure(scratch: Path) -> None:
    for kind, text in steps(PATTERNS):
        if kind == "file":
            (scratch / text.split()[1]).write_text(text)
        else:
            shell(text, scratch)
    table = (scratch / "configs" / "my-16.csv").read_text()
    assert table.startswith("source,target,bytes\n0,1,")
    figure = (scratch / "results" / "smoke" / "figures" / "my-halo.md").read_text()
    assert "| 64 |" in figure


def test_a_data_sheet_leads_to_a_picture_and_a_time(scratch: Path) -> None:
    printed = []
    for kind, text in steps(MACHINES):
        if kind == "file":
            (scratch / text.split()[1]).write_text(text)
        else:
            printed.append(shell(text, scratch).stdout)
    assert re.search(r"^global +\d+ of 25 GB/s, 600 ns$", printed[1], flags=re.MULTILINE)
    assert (scratch / "our-cluster.svg").read_text().startswith("<?xml")
    assert json.loads(printed[2])["time_s"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("figures_drawn", [1, pytest.param(2, marks=pytest.mark.long)])
def test_the_page_leads_to_a_figure(scratch: Path, figures_drawn: int) -> None:
    page = steps()
    commands = [text for kind, text in page if kind == "command"]
    assert len(commands) >= 6
    assert {text.split()[1] for text in commands} >= {"new-experiment", "validate", "reproduce"}
    campaign = next(step for step in page if " reproduce " in step[1])
    assert page.count(campaign) == 2
    if figures_drawn == 1:
        page.remove(campaign)  # of the file as it was written
    figures = []
    for kind, text in page:
        if kind == "change":
            (scratch / FILE).write_text(changed((scratch / FILE).read_text(), text))
            continue
        done = shell(text, scratch)
        if " reproduce " in text:
            assert done.stdout.splitlines()[-1] == "results/smoke/report.html"
            figures.append((scratch / "results" / "smoke" / "figures" / "halo-latency.svg").read_text())
    assert len(set(figures)) == figures_drawn
    assert "10 us" in figures[-1] or "10 µs" in figures[-1]


@pytest.mark.long
def test_a_paper_leads_to_a_verdict(scratch: Path) -> None:
    printed = ""
    for kind, text in dropwhile(lambda step: "new-experiment" not in step[1], steps(CLAIMS)):
        if kind == "file":
            with (scratch / text.split()[1]).open("a") as file:
                file.write(text)
        else:
            printed = shell(text, scratch).stdout
    assert "O-1" in printed
    assert "at 64 to 256 processes" in printed
    assert "1 not reproduced, 0 not evaluated" in printed


def test_the_page_on_claims_says_whose_letters_these_are() -> None:
    told = re.findall(r"^\| ([A-Z]) \|", CLAIMS.read_text(), flags=re.MULTILINE)
    assert sorted(told) == sorted(load_claims(path, ROOT).paper for path in list_claims(ROOT))


def test_a_new_experiment_is_valid_at_all_its_scales_and_small(scratch: Path) -> None:
    path = new_experiment(scratch, "halo-latency")
    assert path == scratch / FILE
    assert validate_file(path) == "experiment"
    experiment = load_experiment(path)
    sizes = {scale: len(expand(experiment, scale).points) for scale in experiment.scales}
    assert sizes["smoke"] <= 50
    assert set(sizes) <= set(SCALES)
    assert "NAME" not in path.read_text()


@pytest.mark.parametrize("name", ["Halo latency", "../outside", "", "-x", "a_b", "all", "none", "x" * 61, "a.yaml"])
def test_a_bad_name_is_refused_in_one_line(scratch: Path, name: str) -> None:
    before = sorted(scratch.rglob("*"))
    with pytest.raises(InputError, match="allowed: small letters, digits and hyphens") as caught:
        new_experiment(scratch, name)
    assert "\n" not in str(caught.value)
    if name == "Halo latency":
        assert "did you mean 'halo-latency'?" in str(caught.value)
    assert sorted(scratch.rglob("*")) == before


def test_an_experiment_is_never_overwritten(scratch: Path) -> None:
    path = new_experiment(scratch, "halo-latency")
    path.write_text("mine")
    with pytest.raises(
        InputError, match=r"halo-latency\.yaml: is there already; allowed: a name that no experiment has"
    ):
        new_experiment(scratch, "halo-latency")
    assert path.read_text() == "mine"
