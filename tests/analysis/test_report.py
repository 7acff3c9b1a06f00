import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis import draw, report, svg
from analysis.figures import show
from analysis.page.experiments import section
from tramontane.campaign.plan import Plan
from tramontane.errors import InputError
from tramontane.results.datasets import write

from .conftest import Factory

ROOT = Path(__file__).parents[2]
VOID = {"meta", "link", "br", "hr", "img", "input"}
COMMAND = 'make reproduce SCALE=smoke EXPERIMENTS="a & <b>"'

#: The folder of a scale and its datasets.
Campaign = tuple[Path, list[Path]]


class Page(HTMLParser):
    """What a page consists of; complains of elements that are not closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.ids: list[str | None] = []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {key: value or "" for key, value in attrs}))
        self.ids += [value for key, value in attrs if key == "id"]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    def all(self, tag: str) -> list[dict[str, str]]:
        return [attrs for name, attrs in self.elements if name == tag]


@pytest.fixture(scope="module")
def campaign(factory: Factory, tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """Results of three experiments as they lie on disk: one complete, one with gaps, one that was not drawn."""
    tmp_path = tmp_path_factory.mktemp("campaign")
    scale = tmp_path / "results" / "smoke"
    datasets = {
        "fig05a": factory(ranks=(16, 64, 256)),
        "fig05b": factory(ranks=(16, 64, 256), gaps={("bruck", 64): "failed", ("burst", 256): "missing"}),
        "fig09a": factory(("transposition", "halo-3"), (16, 64), attrs={"title": "Halo <wide> & narrow"}),
    }
    (scale / "datasets").mkdir(parents=True)
    files = []
    for name, dataset in datasets.items():
        file = scale / "datasets" / f"{name}.nc"
        write(dataset, file)
        files.append(file)
        if name != "fig09a":
            assert draw.main([str(file), str(scale / "figures" / name)]) == 0
    identity = str(datasets["fig05b"]["id"].sel(series="bruck", ranks=64).item())
    record = tmp_path / "results" / "points" / identity[:2] / f"{identity}.failed.json"
    record.parent.mkdir(parents=True)
    record.write_text(json.dumps({"id": identity, "message": "deadlock: rank 3 waits for <rank 5>"}))
    (record.parent / "0123.json.damaged-1").touch()
    return scale, files


@pytest.fixture(scope="module")
def page(campaign: Campaign) -> Page:
    scale, files = campaign
    out = scale / "report.html"
    assert report.main(["--scale", "smoke", "--command", COMMAND, "--out", str(out), *map(str, files)]) == 0
    return Page(out.read_text(encoding="utf-8"))


def test_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    assert not [attrs for tag, attrs in page.elements if "src" in attrs or tag in ("link", "iframe", "img")]
    targets = [value for _, attrs in page.elements for key, value in attrs.items() if key.endswith("href")]
    assert targets
    assert not [target for target in targets if "//" in target or target.startswith(("/", "data:"))]
    style = "".join(page.texts)
    assert "@import" not in style
    assert "url(" not in style


def test_damaged_files_are_counted_and_named(page: Page) -> None:
    assert "1 damaged file in results/points was set aside, and not used: 0123.json.damaged-1 ." in page.text


def test_identifiers_are_unique_and_all_references_lead_to_one(page: Page) -> None:
    assert [name for name, number in Counter(page.ids).items() if number > 1] == []
    known = set(page.ids)
    for _, attrs in page.elements:
        for key, value in attrs.items():
            if key == "href" and value.startswith("#"):
                assert value[1:] in known
            if key in ("aria-labelledby",):
                assert value in known
            for reference in svg._URL.findall(value):
                assert reference in known


def test_two_figures_of_the_same_shape_have_clip_paths_of_their_own(page: Page) -> None:
    clips = [attrs["id"] for attrs in page.all("clippath") if attrs["id"].startswith("experiment-")]
    assert len(clips) == 2
    assert clips[0].startswith("experiment-fig05a-")
    assert clips[1].startswith("experiment-fig05b-")


def test_links_lead_to_the_files_beside_the_page(page: Page, campaign: Campaign) -> None:
    scale, _ = campaign
    links = {attrs["href"] for attrs in page.all("a") if not attrs["href"].startswith("#")}
    assert "figures/fig05a.pdf" in links
    assert "datasets/fig09a.nc" in links
    assert "figures/fig09a.svg" not in links, "it was not drawn"
    assert len(links) == 2 * 5 + 1
    assert all((scale / link).is_file() for link in links)


def test_the_page_says_how_it_was_made(page: Page) -> None:
    assert COMMAND in page.text
    assert "3 experiments, 26 of 28 points done, 1 failed , 1 missing" in page.text
    assert "This is the smoke scale" in page.text


def test_each_experiment_has_figure_caption_and_data(page: Page) -> None:
    assert len(page.all("figure")) == 3
    assert len(page.all("svg")) == 2 + 1, "of two figures, and of one machine"
    assert all(attrs["role"] == "img" for attrs in page.all("svg"))
    assert "The figure has not been drawn." in page.text
    assert page.text.count("Run on the embedded packet-flow simulator, model revision 3") == 3
    assert page.text.count("Numbers") == 3
    assert len([attrs for attrs in page.all("details") if attrs.get("class") == "plot"]) == 3


def test_text_from_datasets_and_records_is_escaped(page: Page, campaign: Campaign) -> None:
    text = (campaign[0] / "report.html").read_text(encoding="utf-8")
    assert "<wide>" not in text
    assert "Halo <wide> & narrow" in page.text
    assert "<rank 5>" not in text


def test_failures_are_listed_with_their_message(page: Page) -> None:
    assert "series bruck, ranks 64 deadlock: rank 3 waits for <rank 5>" in page.text


def test_a_failure_without_record_is_listed_too(campaign: Campaign) -> None:
    scale, files = campaign
    report.write(files, scale / "other.html", "smoke", "x", points=scale / "nowhere")
    text = (scale / "other.html").read_text(encoding="utf-8")
    assert "no message was recorded" in text


def test_what_is_open_is_printed(page: Page) -> None:
    """Statements stand in elements that a reader may close."""
    style = next(text for text in page.texts if "@media print" in text)
    hidden = re.findall(r"^ *(.*) \{ display: none; \}", style[style.index("@media print") :], re.MULTILINE)
    assert hidden == [".links, nav, details:not([open])"]


def test_formulas_in_names_are_drawn_in_tables_and_plots(factory: Factory, tmp_path: Path) -> None:
    file, out = tmp_path / "a.nc", tmp_path / "results" / "smoke" / "report.html"
    write(factory(("with $A r$", r"for 5 \$", "b < c"), (16, 64)), file)
    assert report.main(["--scale", "smoke", "--command", COMMAND, "--out", str(out), str(file)]) == 0
    page = Page(out.read_text(encoding="utf-8"))
    drawn = [own for tag, own in page.elements if tag == "svg" and own.get("class") == "formula"]
    assert [own["aria-label"] for own in drawn] == ["A r"]
    path = next(own["d"] for tag, own in page.elements if tag == "path" and own.get("fill") == "currentColor")
    assert re.fullmatch(r"(?:[MLQC][-\d. ]+|Z)+", path)
    assert path.count("M") == 3, "an A with its hole, and an r"
    headings = [text for text in page.texts if text.endswith(", s")]
    assert headings == [", s", "for 5 $, s", "b < c, s"]
    assert '"name":"with A r"' in page.text


def test_provenance_is_stated(page: Page) -> None:
    for fact in ("tramontane 0.1.0", "0123456789abcdef", "2026-01-02T03:04:05Z", "matplotlib"):
        assert fact in page.text


def test_references_are_resolved_by_their_key(factory: Factory, tmp_path: Path) -> None:
    references = tmp_path / "configs" / "references.yaml"
    references.parent.mkdir()
    references.write_text("Z: {authors: 'Zheng, Y.', year: 2018, title: Simulation, pages: 3-9, doi: 10.5194/x}\n")
    file = tmp_path / "a.nc"
    write(factory(attrs={"references": "Z, Unknown2000"}), file)
    report.write([file], tmp_path / "report.html", "paper", "make reproduce", root=tmp_path)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Zheng, Y. (2018): Simulation, 3–9, doi:10.5194/x" in page.text
    assert "reference-Z" in page.ids
    assert "reference-Unknown2000" not in page.ids
    assert "Unknown2000" in page.text
    assert "smaller than" not in page.text


@pytest.mark.skipif(shutil.which("chromium") is None, reason="Chromium is not installed")
def test_a_plot_that_the_browser_has_opened_is_drawn(factory: Factory, tmp_path: Path) -> None:
    """Restoring a page, a browser opens it before scripts run: they hear of no change."""
    write(factory(), tmp_path / "a.nc")
    page = tmp_path / "report.html"
    report.write([tmp_path / "a.nc"], page, "paper", "make reproduce", root=tmp_path)
    text = page.read_text(encoding="utf-8")
    assert '<details class="plot"' in text
    unheard = '<script>document.addEventListener("toggle", (e) => e.stopImmediatePropagation(), true);</script>'
    text = text.replace('<details class="plot"', '<details open class="plot"').replace("</head>", f"{unheard}</head>")
    page.write_text(text, encoding="utf-8")
    options = ("--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'user'}")
    shown = subprocess.run(
        ["chromium", *options, "--virtual-time-budget=10000", "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    assert shown.count('class="plot-container') == 1


@pytest.mark.parametrize(
    ("doi", "words"),
    [
        ("10.5194/x", "of Zheng, Y. (2018)."),
        ("10.32604/y", "of Working group 2: weather (2020)."),
        ("10.1/unknown", "of doi:10.1/unknown."),
        ("", "of the paper."),
    ],
)
def test_a_figure_is_compared_with_that_of_its_own_paper(
    factory: Factory, tmp_path: Path, doi: str, words: str
) -> None:
    references = tmp_path / "configs" / "references.yaml"
    references.parent.mkdir()
    references.write_text(
        "Z: {authors: 'Zheng, Y.', year: 2018, title: Simulation, doi: 10.5194/x}\n"
        "W: {authors: 'Working group 2: weather', year: 2020, title: Another, doi: 10.32604/y}\n"
    )
    file = tmp_path / "a.nc"
    write(factory(attrs={"paper_figure": "6", "paper_doi": doi}), file)
    report.write([file], tmp_path / "report.html", "paper", "make reproduce", root=tmp_path)
    assert f"Compare Fig. 6 {words}" in Page((tmp_path / "report.html").read_text(encoding="utf-8")).text


def test_the_same_results_give_the_same_page(campaign: Campaign) -> None:
    scale, files = campaign
    pages = []
    for name in ("one.html", "two.html"):
        report.write(files, scale / name, "smoke", COMMAND)
        pages.append((scale / name).read_text(encoding="utf-8"))
    assert pages[0] == pages[1]


def test_a_campaign_without_datasets_has_a_page(tmp_path: Path) -> None:
    report.write([], tmp_path / "report.html", "smoke", "make reproduce")
    assert "No experiment has been collated yet." in Page((tmp_path / "report.html").read_text(encoding="utf-8")).text


def test_wide_tables_scroll_and_the_page_fits_a_phone(page: Page) -> None:
    assert {"name": "viewport", "content": "width=device-width, initial-scale=1"} in page.all("meta")
    scrolling = [attrs for attrs in page.all("div") if attrs.get("class") == "scroll"]
    assert len(scrolling) == len(page.all("table"))
    assert all("width" not in attrs for attrs in page.all("svg")), "figures take the width there is"


def test_the_data_table_has_a_column_for_each_series_and_says_why_there_is_a_gap(factory: Factory) -> None:
    dataset = factory(("burst", "bruck"), (100, 10_000), gaps={("bruck", 10_000): "failed"})
    table = show(dataset).numbers
    assert table.headings == ["Number of MPI processes", "burst, ms", "bruck, ms"]
    assert table.rows == [["100", "400", "680"], ["10\u202f000", "6.34", "failed"]]


def test_the_data_table_names_the_best_and_the_range(factory: Factory) -> None:
    best = {"best": [{"series": "recursive-k", "of": "recursive-*", "label": "best"}]}
    dataset = factory(("recursive-2", "recursive-4"), (100,), members=2, figure=best)
    assert show(dataset).numbers.rows == [["100", "0.406 [0.4–0.412] (recursive-2)"]]


def test_simulation_time_and_largest_count_of_processes(factory: Factory, tmp_path: Path) -> None:
    dataset = factory(("burst", "bruck"), (16, 64, 256), gaps={("burst", 256): "failed", ("bruck", 256): "missing"})
    found = section(dataset, tmp_path / "x.nc", tmp_path, tmp_path, tmp_path / "report.html", tmp_path)
    assert found.largest == "64"
    assert found.simulation_time == "10 s"
    assert (found.counts.ok, found.counts.failed, found.counts.missing) == (4, 1, 1)


def test_what_is_no_svg_is_refused() -> None:
    with pytest.raises(ValueError, match="not an SVG file"):
        svg.inline("<html></html>", "a", "b")
    with pytest.raises(ValueError, match="not an SVG file"):
        svg.inline("nothing", "a", "b")


def test_a_figure_that_is_damaged_is_named(tmp_path: Path) -> None:
    file = tmp_path / "figure.svg"
    for content in (b"", b"<svg><g>", b"\xff"):
        file.write_bytes(content)
        with pytest.raises(InputError, match=r"figure\.svg: .*; allowed: a figure as it was drawn"):
            svg.inline_file(file, "a", "b")


@pytest.mark.parametrize("module", ["analysis.draw", "analysis.report"])
def test_errors_are_one_line_and_exit_code_2(factory: Factory, tmp_path: Path, module: str) -> None:
    file = tmp_path / "bad.nc"
    write(factory(figure={"y": "hops"}), file)
    arguments = {
        "analysis.draw": [str(file), str(tmp_path / "figure")],
        "analysis.report": ["--scale", "smoke", "--command", "x", "--out", str(tmp_path / "r.html"), str(file)],
    }[module]
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == f"{file}: figure.y: found 'hops', allowed: packets, setup_s, time_s, wall_s\n"


def test_drawing_writes_three_formats_the_caption_and_the_tables(factory: Factory, tmp_path: Path) -> None:
    file = tmp_path / "a.nc"
    write(factory(), file)
    assert draw.main([str(file), str(tmp_path / "deep" / "figure.v1")]) == 0
    written = sorted(path.name for path in (tmp_path / "deep").iterdir())
    assert written == [f"figure.v1.{form}" for form in ("md", "pdf", "png", "svg", "txt")]
    title, _, headings, *_ = (tmp_path / "deep" / "figure.v1.md").read_text().splitlines()
    assert title == "# All-to-all algorithms in the transposition"
    assert headings == "| Number of MPI processes | burst, ms | bruck, ms | ring-1, ms | ring-4, ms |"
    assert (tmp_path / "deep" / "figure.v1.txt").read_text().startswith("(a) Time of one transposition. Smoke scale")


def test_a_figure_that_can_not_be_drawn_is_named_beside_the_others(factory: Factory, tmp_path: Path) -> None:
    scale = tmp_path / "results" / "smoke"
    (scale / "datasets").mkdir(parents=True)
    files = {name: scale / "datasets" / f"{name}.nc" for name in ("bad", "good")}
    write(factory(ranks=(16, 64), figure={"y": "hops"}), files["bad"])
    write(factory(ranks=(16, 64)), files["good"])
    stems = {name: scale / "figures" / name for name in files}
    for name, file in files.items():
        assert draw.main([str(file), str(stems[name]), "--or-say-why"]) == 0
    problem = "figure.y: found 'hops', allowed: packets, setup_s, time_s, wall_s"
    assert stems["bad"].with_suffix(".failed").read_text() == f"{problem}\n"
    assert all(stems["bad"].with_suffix(f".{form}").exists() for form in ("svg", "png", "pdf", "txt", "md"))
    assert not stems["good"].with_suffix(".failed").exists()
    out = scale / "report.html"
    arguments = ["--scale", "smoke", "--command", COMMAND, "--out", str(out), *map(str, files.values())]
    assert report.main(arguments) == 0
    page = Page(out.read_text(encoding="utf-8"))
    assert f"The figure could not be drawn: {problem}" in page.text
    assert page.text.count("Interactive plot") == 1
    linked = {own["href"] for tag, own in page.elements if tag == "a" and "/" in own["href"]}
    assert {"figures/good.svg", "datasets/good.nc", "datasets/bad.nc"} <= linked
    assert not any(file.startswith("figures/bad.") for file in linked), "words stand in its place"
    # Once it can be drawn, nothing says otherwise.
    write(factory(ranks=(16, 64)), files["bad"])
    assert draw.main([str(files["bad"]), str(stems["bad"]), "--or-say-why"]) == 0
    assert not stems["bad"].with_suffix(".failed").exists()


def test_a_label_that_can_not_be_drawn_is_words_in_its_place(factory: Factory, tmp_path: Path) -> None:
    file = tmp_path / "a.nc"
    write(factory(("$x_{$", "b"), (16, 64)), file)
    assert draw.main([str(file), str(tmp_path / "a"), "--or-say-why"]) == 0
    assert (tmp_path / "a.failed").exists()
    assert "could not be drawn" in (tmp_path / "a.txt").read_text()


def test_records_are_made_a_dataset_and_drawn_at_once(
    project: Path, execute: Callable[..., Plan], capsys: pytest.CaptureFixture[str]
) -> None:
    layout = execute(project).layout
    file, stem = layout.dataset("tiny"), layout.folder / "figures" / "tiny"
    asked = ["--collate", str(layout.manifest("tiny")), str(file), str(stem), "--or-say-why"]
    assert draw.main(asked) == 0
    drawn = {path: path.read_bytes() for path in layout.figures("tiny")}
    assert draw.main([str(file), str(stem)]) == 0, "what is written is what was drawn"
    assert {path: path.read_bytes() for path in layout.figures("tiny")} == drawn
    layout.manifest("tiny").write_text("{}")
    file.unlink()
    assert draw.main(asked) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not file.exists()


def test_a_dataset_that_can_not_be_read_is_no_figure(tmp_path: Path) -> None:
    (tmp_path / "a.nc").write_text("damaged")
    assert draw.main([str(tmp_path / "a.nc"), str(tmp_path / "a"), "--or-say-why"]) == 2
    assert not list(tmp_path.glob("a.[!n]*"))


def test_a_figure_that_can_not_be_written_is_told_by_its_own_name(
    factory: Factory, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, there = tmp_path / "a.nc", tmp_path / "there"
    write(factory(("a", "b"), (16, 64)), file)
    there.write_text("no folder")
    assert draw.main([str(file), str(there / "a"), "--or-say-why"]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"{there}")
    assert "Errno" not in told
