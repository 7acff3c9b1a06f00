"""Builds the documentation as a site in build/site/html.

    python workflow/scripts/site_pages.py [SCALE]

The pages are those of the checkout, at their own places. Two are made here: the public Python, from its docstrings, and
a gallery of the figures of a campaign at SCALE (smoke, unless said otherwise), where there is one.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site"
CONFIGURATION = ROOT / "docs" / "site.yml"

#: The pages of the checkout, and how the site shows them.
LOOKS = Path("docs", "site.css")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/*.md", "validation/**/README.md", "published/README.md")

#: What others may call: a heading, and the objects it shows.
PYTHON = {
    "One point": ("tramontane.api.simulate", "tramontane.api.Result", "tramontane.errors.InputError"),
    "What to study": (
        "tramontane.study.points.points.Point",
        "tramontane.study.points.loading.load_point",
        "tramontane.study.catalogue.load_machine",
        "tramontane.study.experiments.experiments.load_experiment",
        "tramontane.study.experiments.expansion.expand",
        "tramontane.study.points.cost.estimate",
    ),
    "Results": (
        "tramontane.results.store.Store",
        "tramontane.results.collate.collate",
        "tramontane.results.datasets.read",
    ),
    "Statements": ("tramontane.claims.evaluate",),
}

_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")

#: The beginning of code that names its file, which the site's Markdown knows as a title.
_OF_FILE = re.compile(r"^```(\w+) (\S+)$", re.MULTILINE)


def gather(pages: Path, scale: str) -> None:
    """Put all pages and what they link to below `pages`.

    Parameters
    ----------
    pages : Path
        An empty folder.
    scale : str
        The campaign whose figures the gallery shows.
    """
    listed = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    for page in listed:
        text = page.read_text(encoding="utf-8")
        _copy(page, pages).write_text(_OF_FILE.sub(r'```\1 title="\2"', text), encoding="utf-8")
        for target in _LINK.findall(text):
            file = (page.parent / target).resolve()
            if file.is_file() and file.is_relative_to(ROOT) and file not in listed:
                _copy(file, pages)
    _copy(ROOT / LOOKS, pages)
    (pages / "python.md").write_text(python_page(), encoding="utf-8")
    (pages / "gallery.md").write_text("\n".join(gallery(pages, scale)) + "\n", encoding="utf-8")


def _copy(file: Path, pages: Path) -> Path:
    copy = pages / file.relative_to(ROOT)
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copy)
    return copy


def python_page() -> str:
    """Return the page of the public Python, for mkdocstrings to fill."""
    lines = ["# Python", "", "[Without a checkout, and from Python](docs/package.md) has examples.", ""]
    for heading, objects in PYTHON.items():
        lines += [f"## {heading}", ""]
        for name in objects:
            lines += [f"::: {name}", ""]
    return "\n".join(lines)


def gallery(pages: Path, scale: str) -> Iterator[str]:
    """Yield the lines of the gallery, having copied its figures."""
    yield from ("# Gallery", "")
    drawn = sorted((ROOT / "results" / scale / "figures").glob("*.svg"))
    figures = [figure for figure in drawn if not figure.with_suffix(".failed").exists()]
    if not figures:
        yield f"No figures yet: `make reproduce SCALE={scale}`, and then `make site` again."
        return
    yield f"The figures of the campaign at scale `{scale}`. Each is a file of `configs/experiments`."
    (pages / "gallery").mkdir()
    for figure in figures:
        shutil.copyfile(figure, pages / "gallery" / figure.name)
        words = figure.with_suffix(".txt")
        caption = words.read_text(encoding="utf-8").strip() if words.is_file() else ""
        yield from ("", f"## {figure.stem}", "", f"![{figure.stem}](gallery/{figure.name})", "", caption)


def build(pages: Path, html: Path, scale: str) -> int:
    """Gather the pages and build the site; return mkdocs' exit status.

    A link that leads nowhere, or a page that nobody lists, fails.
    """
    for folder in (pages, html):
        shutil.rmtree(folder, ignore_errors=True)
    pages.mkdir(parents=True)
    gather(pages, scale)
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet"]
    # The last variable is about versions to come.
    variables = {**os.environ, "TRAMONTANE_PAGES": str(pages), "NO_MKDOCS_2_WARNING": "1"}
    command += ["--config-file", str(CONFIGURATION), "--site-dir", str(html)]
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


if __name__ == "__main__":
    status = build(SITE / "pages", SITE / "html", *(sys.argv[1:] or ["smoke"]))
    if status == 0:
        print((SITE / "html" / "index.html").relative_to(ROOT))
    sys.exit(status)
