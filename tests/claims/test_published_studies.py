"""What a study found, kept with the project: tables are made of it where nothing has run."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tramontane.claims import pages, published_studies, share_tables
from tramontane.claims.uncertainty import Answer, as_data
from tramontane.cli import app
from tramontane.errors import InputError
from tramontane.results.published import STUDIES
from tramontane.study.experiments.claims import list_claims, load_claims

from .test_matching import FOUND, answer, tried

ROOT = Path(__file__).parents[2]
CLEAN = frozenset({"0123456789ab"})
NAME = "zheng2018"


def found(commits: Iterable[str] = CLEAN) -> Answer:
    """Return a tiny study with four statements on four machines."""
    return replace(answer(FOUND), commits=frozenset(commits))


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone in which nothing has run."""
    root = tmp_path / "clone"
    root.mkdir()
    for name in ("configs", "Snakefile"):
        (root / name).symlink_to(ROOT / name)
    monkeypatch.chdir(root)
    return root


def test_a_published_study_reads_as_what_was_simulated(clone: Path) -> None:
    path = published_studies.publish(NAME, found(), clone)
    assert path == clone / "published" / "studies" / f"{NAME}-laptop.json"
    data = published_studies.known(NAME, clone, "laptop")
    assert share_tables.markdown(data) == share_tables.markdown(as_data(found()))
    assert data["commits"] == list(CLEAN)
    assert len(data["places"]) == 4
    assert [own["id"] for own in published_studies.known(NAME, clone, "laptop", only=["B"])["claims"]] == ["B"]


def test_a_page_is_filled_from_what_is_published(clone: Path) -> None:
    page = clone / "page.md"
    page.write_text(f"<!-- shares: laptop {NAME} 4 -->\nold\n<!-- end -->\n")
    told: list[str] = []
    assert pages.fill(page, clone, told.append) == (0, False)
    [line] = told
    assert f"page.md: no drawn machine of {NAME} has run at scale laptop; allowed: first: " in line
    assert line.endswith("the table stays as it is")
    published_studies.publish(NAME, found(), clone)
    assert pages.fill(page, clone) == (1, True)
    assert share_tables.markdown(as_data(found())) in page.read_text()
    page.write_text(f"<!-- shares: laptop {NAME} 32 -->\n<!-- end -->\n")
    with pytest.raises(InputError, match=r"page\.md: --size: found 32, which has not run here; allowed: 4, as publ"):
        pages.fill(page, clone)


def test_what_has_not_run_and_is_not_published_is_one_line(clone: Path) -> None:
    asked = ["claims", "--over", NAME]
    told = CliRunner().invoke(app, asked)
    assert isinstance(told.exception, InputError)
    assert str(told.exception) == (
        f"--over: no drawn machine of {NAME} has run at scale laptop; "
        f"allowed: first: tramontane uncertainty {NAME} --scale laptop"
    )
    published_studies.publish(NAME, found(), clone)
    told = CliRunner().invoke(app, asked)
    assert told.exit_code == 0, told.output
    assert "hold on one of 3 drawn machines" in told.stdout
    assert told.stderr == f"published/studies/{NAME}-laptop.json, of 0123456789ab: nothing has run here\n"


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        ("Z-T1", "claim: Z-T1 is arithmetic, which no machine enters: it has no margin; allowed: Z-5a-1, "),
        ("Z-6", "claim: Z-6 is not evaluated: it has no margin; allowed: Z-5a-1, "),
        ("D-1a", f"claim: D-1a is not among the statements of {NAME}; allowed: Z-5a-1, "),
        ("Z-5bb", "claim: found 'Z-5bb'; did you mean 'Z-5b'? allowed: Z-5a-1, "),
    ],
)
def test_a_statement_that_a_study_has_not_is_one_line(clone: Path, claim: str, line: str) -> None:
    told = CliRunner().invoke(app, ["claims", claim, "--over", NAME])
    assert isinstance(told.exception, InputError)
    assert str(told.exception).startswith(line)


def test_a_row_says_at_which_process_counts_and_how_sure_an_index_is() -> None:
    own = as_data(found())["claims"][0]
    index = {"parameter": "packet", "index": 0.6, "low": 0.5, "high": 0.7}
    told = share_tables.row({**own, "influences": [index], "decides": "packet"})
    cells = dict(zip(share_tables.HEAD, told, strict=True))
    assert cells["processes"] == "100 to 1,000"
    assert cells["decides most"] == "packet (0.60, 0.50 to 0.70)"
    for ranks, words in (([1000.0, 1000.0], "1,000"), ([0.0, 0.0], "none")):
        assert share_tables.row({**own, "ranks": ranks})[share_tables.HEAD.index("processes")] == words


def test_what_was_changed_meanwhile_is_not_published(clone: Path) -> None:
    for commits in (["0123456789ab", "ba9876543210-dirty"], ["unknown"], []):
        with pytest.raises(InputError, match=r"--publish: found points of .*; allowed: points that a clean clone"):
            published_studies.publish(NAME, found(commits), clone)
    nothing = answer([tried("D", [float("nan")] * 4, float("nan"))])
    with pytest.raises(InputError, match=r"--publish: no drawn machine"):
        published_studies.publish(NAME, nothing, clone)
    assert not (clone / "published").exists()


@pytest.mark.parametrize("content", ["[]", "{}", '{"claims": []}'])
def test_anything_else_is_one_line(clone: Path, content: str) -> None:
    path = published_studies.file_of(clone, NAME, "laptop")
    path.parent.mkdir(parents=True)
    path.write_text(content)
    with pytest.raises(InputError, match="found something else; allowed: what `tramontane uncertainty STUDY --publish"):
        published_studies.known(NAME, clone, "laptop")


def test_numbers_are_rounded_and_machines_told_by_their_draw() -> None:
    data = published_studies.summary(as_data(found()))
    assert all("values" not in own for own in data["machines"])
    assert all(len(f"{place:.9g}") <= 8 for row in data["places"] for place in row if place > 0.1)
    assert json.loads(json.dumps(data, sort_keys=True)) == data


@pytest.mark.parametrize("page", ["findings.md", "uncertainty.md"])
def test_tables_of_the_documents_are_those_of_the_published_studies(page: str) -> None:
    file = ROOT / "docs" / page
    for kind, scale, names in pages.asked(file):
        path = published_studies.file_of(ROOT, names[0] if names else "", scale)
        if kind == "shares" and path.exists():
            data = published_studies.read(path)
            assert names[1:] in ((), (str(data["size"]),))
            assert share_tables.markdown(data) in file.read_text()


def test_studies_that_come_with_the_project_are_of_clean_clones_and_of_statements_that_are_known() -> None:
    known = {name for each in list_claims(ROOT) for name in load_claims(each, ROOT).claims}
    for path in (ROOT / STUDIES).glob("*.json"):
        data = published_studies.read(path)
        assert {own["id"] for own in data["claims"]} <= known
        assert data["commits"]
        assert all(re.fullmatch(r"[0-9a-f]{7,40}", commit) for commit in data["commits"])
