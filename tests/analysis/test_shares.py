"""Pictures of a study: bars of shares, margins and machines; what can't be drawn is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis import report
from analysis.page import shares as page_shares
from analysis.shares import main
from tramontane.campaign.rules import study_outputs
from tramontane.claims import published_studies
from tramontane.claims.screening import MEAN_EFFECT
from tramontane.claims.uncertainty import answer, as_data
from tramontane.errors import InputError
from tramontane.results.published import STUDIES

ROOT = Path(__file__).parents[2]


def claim(name: str, evaluated: int) -> dict[str, Any]:
    own = {"parameter": "packet", "index": 0.6, "low": 0.5, "high": 0.7}
    return {
        "id": name,
        "evaluated": evaluated,
        "holds": evaluated // 4,
        "share": 0.25 if evaluated else None,
        "interval": [0.1, 0.5],
        "base_margin": -0.1,
        "base_holds": False,
        "unit": "log ratio",
        "decides": "packet",
        "influences": [own],
        "chance": 0.3,
        "margins": [0.5, -0.2] if evaluated else [None, None],
        "held": [1.0, 0.5] if evaluated else [None, None],
        "early": [False, evaluated > 0],
        "checks_decided": 3,
        "ranks": [100.0, 1000.0],
        "checks": 4,
    }


def study(**changes: Any) -> dict[str, Any]:
    parameters: list[dict[str, Any]] = [
        {"name": "packet", "choices": ["1024 B", "4096 B"], "ends": None, "base": "4096 B", "base_place": 0.75},
        {"name": "link_latency", "choices": None, "ends": ["50 ns", "300 ns"], "base": "100 ns", "base_place": 0.4},
    ]
    machine = {"draw": 1, "values": {}, "holds": ["Z-5b"], "violated": [], "checks": 1.0, "distance": 0.3}
    found = {
        "claims": [claim("Z-5b", 8), claim("Z-5z", 0)],
        "parameters": parameters,
        "places": [[0.2, 0.9], [0.8, 0.1]],
        "machines": [machine],
        "own_machine": {**machine, "draw": -1},
    }
    return {**found, **changes}


def test_statements_margins_and_machines_are_drawn_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shares.json"
    file.write_text(json.dumps(study()))
    assert main([str(file), str(tmp_path / "shares")]) == 0
    for name, words in {
        "shares": ["Z-5b", "packet", "PAWN index"],
        "shares-margins": ["Z-5b [log ratio]", "packet", "1024 B"],
        "shares-machines": ["draw 1: 1 statements", "link latency", "300 ns"],
    }.items():
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert all(word in drawn for word in words), name
        assert "Z-5z" not in drawn
    assert len(capsys.readouterr().out.splitlines()) == 9
    assert all((tmp_path / Path(name).name).exists() for name in study_outputs())


def test_a_screening_shows_mean_effects(tmp_path: Path) -> None:
    file = tmp_path / "shares.json"
    file.write_text(json.dumps(study(index=MEAN_EFFECT)))
    assert main([str(file), str(tmp_path / "shares")]) == 0
    drawn = (tmp_path / "shares.svg").read_text()
    assert "mean effect on the margin" in drawn
    assert "PAWN" not in drawn


def test_a_screening_has_no_shares(tmp_path: Path) -> None:
    """No prior was drawn for machines along trajectories, so that a count of them says nothing."""
    folder = tmp_path / "results" / "over-own-smoke"
    folder.mkdir(parents=True)
    none = {"share": None, "interval": None, "interval_all": None}
    found = study(index=MEAN_EFFECT, title="Own", about="x", claims=[claim("Z-5b", 8) | none, claim("Z-5z", 0) | none])
    (folder / "shares.json").write_text(json.dumps(found))
    assert main([str(folder / "shares.json"), str(folder / "figures" / "shares")]) == 0
    drawn = (folder / "figures" / "shares.svg").read_text()
    assert "Share of machines" not in drawn
    assert "circle: holds on ours" in drawn
    page = folder / "report.html"
    report.write([], page, "smoke", "tramontane uncertainty own")
    text = page.read_text()
    assert "<td>no share, 8 machines</td><td>–</td>" in text
    assert "<td>not evaluated</td><td>–</td>" in text
    assert "share of the machines on which each statement holds" not in text


def test_what_is_not_decided_yet_is_not_drawn(tmp_path: Path) -> None:
    file = tmp_path / "shares.json"
    file.write_text(json.dumps(study(claims=[claim("Z-5b", 0)], machines=[], own_machine=None)))
    assert main([str(file), str(tmp_path / "shares")]) == 0
    assert list(tmp_path.glob("*.svg")) == []


def test_the_report_has_statements_machines_and_pictures(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "over-own-smoke"
    folder.mkdir(parents=True)
    (folder / "shares.json").write_text(json.dumps(study(title="Own ranges", about="Scale smoke, 8 draws.")))
    assert main([str(folder / "shares.json"), str(folder / "figures" / "shares")]) == 0
    page = folder / "report.html"
    report.write([], page, "smoke", "make uncertainty STUDY=own SCALE=smoke")
    text = page.read_text()
    for words in (
        "Own ranges",
        "<td>Z-5b</td><td>25 % of 8</td>",
        "0.60 (0.50 to 0.70)",
        "<td>100 to 1,000</td>",
        "figures/shares-margins.pdf",
    ):
        assert words in text, words
    assert text.count("<figcaption>") == 3
    drawn = json.loads(page_shares.plot(study()))
    assert [own["label"] for own in drawn["data"][0]["dimensions"]] == ["packet", "link latency", "statements"]
    assert page_shares.plot(study(machines=[])) == ""
    assert page_shares.studies(tmp_path, "laptop", page) == []


def published_in(clone: Path, **changes: Any) -> Path:
    """Publish a study in a clone in which nothing has run; return the file."""
    said: dict[str, Any] = {
        "title": "Own <ranges>",
        "about": "x",
        "sentences": ["Scale laptop; `--json` has more.", "None is best."],
    }
    said |= {"size": 2, "waves": [], "index": "PAWN index", "commits": ["0123456789abcdef"]}
    (clone / "configs").symlink_to(ROOT / "configs")
    (clone / "Snakefile").symlink_to(ROOT / "Snakefile")
    file = clone / STUDIES / "two-generations-laptop.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(study(**said, **changes)))
    return file


def test_the_report_shows_what_is_published_at_its_scale_and_says_so(tmp_path: Path) -> None:
    published_in(tmp_path)
    for name in study_outputs():
        drawn = tmp_path / name.format(scale="laptop", study="two-generations")
        drawn.parent.mkdir(parents=True, exist_ok=True)
        drawn.write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
    page = tmp_path / "results" / "laptop" / "report.html"
    text = report.render(report.Contents("laptop", "", [], studies=page_shares.studies(tmp_path, "laptop", page)))
    for words in (
        '<h2 id="study-over-two-generations-laptop">Own &lt;ranges&gt;</h2>',
        "Published, from commit 0123456789ab</strong> (<code>published/studies/two-generations-laptop.json</code>)",
        "<code>tramontane uncertainty two-generations --scale laptop</code> runs them",
        "Scale laptop; <code>--json</code> has more. None is best.",
        "<td>Z-5b</td><td>25 % of 8</td>",
        '<a href="studies/two-generations/shares-margins.pdf">PDF</a>',
        "parcoords",
    ):
        assert words in text, words
    assert page_shares.studies(tmp_path, "smoke", page) == []
    assert page_shares.studies(tmp_path, "paper", page) == []


def test_what_has_run_here_comes_before_what_is_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published_in(tmp_path)
    page = tmp_path / "results" / "laptop" / "report.html"
    monkeypatch.setattr(page_shares, "is_of", lambda *_: True)

    def shown() -> list[tuple[str, bool]]:
        found = page_shares.studies(tmp_path, "laptop", page)
        return [(own.title, own.origin is not None) for own in found]

    own = tmp_path / "results" / "over-two-generations-laptop" / "shares.json"
    own.parent.mkdir(parents=True)
    own.write_text(json.dumps(study(title="Mine", about="", claims=[claim("Z-5b", 0)])))
    assert shown() == [("Own <ranges>", True)]  # nothing is decided here
    own.write_text(json.dumps(study(title="Mine", about="")))
    assert shown() == [("Mine", False)]
    other = tmp_path / "results" / "over-zheng2018-laptop" / "shares.json"
    other.parent.mkdir()
    other.write_text(json.dumps(study(title="Another of mine", about="")))
    own.unlink()
    assert shown() == [("Another of mine", False), ("Own <ranges>", True)]
    # Points of a study that was stopped: the choice is that of `tramontane claims --over`.
    monkeypatch.setattr(published_studies, "known", lambda *_, **__: study(title="Half of mine", about=""))
    assert shown() == [("Half of mine", False), ("Another of mine", False)]


def test_what_was_found_of_other_machines_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "configs").symlink_to(ROOT / "configs")
    page = tmp_path / "results" / "smoke" / "report.html"
    own = tmp_path / "results" / "over-two-generations-smoke" / "shares.json"
    own.parent.mkdir(parents=True)
    drawn = as_data(answer("two-generations", ROOT, "smoke"))
    own.write_text(
        json.dumps(study(title="Mine", about="") | {key: drawn[key] for key in ("size", "places", "parameters")})
    )
    assert [found.title for found in page_shares.studies(tmp_path, "smoke", page)] == ["Mine"]
    for changed in (
        {"places": [[1 - place for place in row] for row in drawn["places"]]},
        {"parameters": [each | {"ends": ["1 GB/s", "2 GB/s"]} for each in drawn["parameters"]]},
    ):
        own.write_text(json.dumps(json.loads(own.read_text()) | changed))
        assert page_shares.studies(tmp_path, "smoke", page) == []


def test_a_published_file_that_is_no_summary_is_one_line(tmp_path: Path) -> None:
    published_in(tmp_path).write_text('{"claims": []}')
    with pytest.raises(InputError, match=r"two-generations-laptop\.json: found something else"):
        page_shares.studies(tmp_path, "laptop", tmp_path / "report.html")


@pytest.mark.parametrize("content", ["{}", "[]", '{"claims": 3}', "no JSON"])
def test_anything_else_is_one_line(tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text(content)
    assert main([str(tmp_path / "other.json"), str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
