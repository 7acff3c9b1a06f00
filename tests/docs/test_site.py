"""The documentation as a site: every page is listed, every link leads somewhere, and nothing is fetched."""

import importlib
import re
from pathlib import Path
from types import ModuleType
from urllib.parse import unquote

import pytest


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "workflow" / "scripts")
    return importlib.import_module("site_pages")


@pytest.mark.slow
def test_the_site_is_built_and_opens_without_a_network(site: ModuleType, tmp_path: Path) -> None:
    html = tmp_path / "html"
    assert site.build(tmp_path / "pages", html, "no-such-scale") == 0
    pages = [page for page in html.rglob("*.html") if page.name != "404.html"]  # which only a server shows
    assert len(pages) > 30
    for page in pages:
        text = page.read_text(encoding="utf-8")
        fetched = re.findall(r'<(?:script|img|link)\b[^>]*\b(?:src|href)="(https?:[^"]+)"', text)
        assert not fetched, f"{page.name} fetches {fetched}"
        near = [unquote(link) for link in re.findall(r'\b(?:src|href)="(?!\w+:)([^"#]+)', text)]
        assert not [link for link in near if not (page.parent / link).is_file()]
        words = re.sub(r"<(pre|script|style)\b.*?</\1>|<code>.*?</code>", "", text, flags=re.DOTALL)
        assert not re.findall(r"```|<blockquote|:(?:meth|func|class|mod):", words), page.name
    reference = (html / "python.html").read_text(encoding="utf-8")
    assert "tramontane.api.simulate" in reference
    assert "Run one point, on the simulator unless it says otherwise." in reference
    walkthrough = (html / "CONTRIBUTING.html").read_text(encoding="utf-8")
    assert '<span class="filename">simulator/topologies/full_mesh.hpp</span>' in walkthrough


def test_the_gallery_has_each_figure_of_a_campaign(
    site: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    figures = tmp_path / "results" / "smoke" / "figures"
    figures.mkdir(parents=True)
    (figures / "one.svg").write_text("<svg/>", encoding="utf-8")
    (figures / "one.txt").write_text("What it shows.\n", encoding="utf-8")
    monkeypatch.setattr(site, "ROOT", tmp_path)
    pages = tmp_path / "pages"
    pages.mkdir()
    lines = list(site.gallery(pages, "smoke"))
    assert "![one](gallery/one.svg)" in lines
    assert lines[-1] == "What it shows."
    assert (pages / "gallery" / "one.svg").is_file()
