"""What the report says beyond its figures: verdicts, tables of the paper, plots, experiments that lack."""

import base64
import gzip
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import xarray as xr

from analysis import report, svg
from analysis.draw import draw_files
from analysis.page import claims, experiments, interactive, machines, papers
from tramontane.claims import VERDICTS
from tramontane.results.datasets import write

from .conftest import Factory

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout's configuration, with no results."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "configs", folder / "configs")
    return folder


@pytest.fixture(scope="module")
def written(factory: Factory, root: Path) -> str:
    """The page of a campaign of two panels of one figure and one experiment without results."""
    scale = root / "results" / "smoke"
    (scale / "datasets").mkdir(parents=True)
    gaps = {(series, 16): "missing" for series in ("burst", "bruck", "ring-1", "ring-4")}
    datasets = {
        "fig05b-topologies": factory(figure={"panel": {"figure": "fig05", "letter": "b"}}, members=2),
        "fig05a-alltoall-algorithms": factory(),
        "fig09a-halo-widths": factory(
            ranks=(16,), gaps=gaps, figure={"panel": {"figure": "fig09", "letter": "a"}}, attrs={"title": "Halos"}
        ),
    }
    files = []
    for name, dataset in datasets.items():
        files.append(scale / "datasets" / f"{name}.nc")
        write(dataset, files[-1])
        draw_files(files[-1:], scale / "figures" / name)
    draw_files(files[:2], scale / "sheets" / "fig05")
    report.write(files, scale / "report.html", "smoke", "make reproduce SCALE=smoke")
    return (scale / "report.html").read_text(encoding="utf-8")


def test_every_statement_stands_on_the_page_with_its_verdict(written: str, root: Path) -> None:
    verdicts = [verdict for subject in claims.subjects(root, "smoke") for verdict in subject.verdicts]
    assert len(verdicts) > 20
    for verdict in verdicts:
        item = re.search(rf'<li id="claim-{re.escape(verdict.id)}">.*?</li>', written, flags=re.DOTALL)
        assert item, verdict.id
        assert f">{claims.SIGNS[verdict.verdict]} {verdict.verdict}<" in item.group()
    for name, sign, number in claims.tally(claims.subjects(root, "smoke")):
        assert number == sum(verdict.verdict == name for verdict in verdicts)
        assert f"<b>{number}</b>{sign} {name}" in written


def test_statements_lead_to_their_experiment(written: str) -> None:
    item = re.search(r'<li id="claim-Z-5a-1">.*?</li>', written, flags=re.DOTALL)
    assert item
    assert 'href="#experiment-fig05a-alltoall-algorithms"' in item.group()


def test_a_folder_without_statements_has_none(tmp_path: Path) -> None:
    assert claims.subjects(tmp_path, "smoke") == []
    assert claims.tally([]) == []
    assert set(claims.SIGNS) == set(VERDICTS)


def test_panels_of_a_figure_stand_together_in_order(written: str) -> None:
    headings = re.findall(r'<h2 id="figure-[^"]*">(.*?)</h2>', written)
    assert headings == ["Figure 5", "Figure 9: Halos"]
    anchors = re.findall(r'<h3 id="(experiment-[^"]*)">', written)
    assert anchors[:2] == ["experiment-fig05a-alltoall-algorithms", "experiment-fig05b-topologies"]
    assert 'href="sheets/fig05.pdf"' in written


def test_what_has_no_results_is_listed_with_its_command(written: str) -> None:
    part = written.split('<h2 id="unrun">')[1]
    for name in ("fig09a-halo-widths", "fig10a-allreduce"):
        assert f"tramontane reproduce --scale smoke --experiments &#34;{name}&#34;" in part
    assert "fig05a-alltoall-algorithms&#34;" not in part.split("</section>")[0]
    assert "No results yet; this runs them:" in written


def test_the_library_of_the_plots_is_embedded_once_and_whole(written: str) -> None:
    packed = re.findall(r'<script type="text/plain" id="plotly">(.*?)</script>', written, flags=re.DOTALL)
    assert len(packed) == 1
    text = gzip.decompress(base64.b64decode(packed[0])).decode("utf-8")
    assert text.startswith("/**\n* plotly.js")
    assert len(packed[0]) < 3e6


def test_a_page_without_plots_embeds_no_library(factory: Factory, tmp_path: Path) -> None:
    file = tmp_path / "a.nc"
    write(factory(gaps={}, ranks=(64,), figure={"kind": "radix", "lines": None}, lines="radix", series=(2, 4)), file)
    report.write([file], tmp_path / "report.html", "smoke", "x")
    assert 'id="plotly"' not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_plots_hold_the_curves_of_the_figure(factory: Factory) -> None:
    dataset = factory(("burst", "<ring>"), (10, 100, 1000), members=2, gaps={("<ring>", 100): "failed"})
    text = interactive.plot(dataset)
    assert "<" not in text, "nothing in it may end the element around it"
    plot = json.loads(text)
    lines = {trace["name"]: trace for trace in plot["data"] if trace.get("mode") == "lines+markers"}
    assert list(lines) == ["burst", "<ring>"]
    expected = dataset["time_s"].sel(series="burst").median("member")
    assert lines["burst"]["y"] == pytest.approx(expected.values.tolist())
    assert lines["<ring>"]["y"][1] is None
    assert "%{y:.4g} s%" in lines["burst"]["hovertemplate"]
    bands = [trace for trace in plot["data"] if trace.get("fill") == "toself"]
    assert {band["legendgroup"] for band in bands} == set(lines)
    assert len(bands) == 3
    assert plot["layout"]["xaxis"]["type"] == "log"


def test_under_the_pointer_an_interval_of_sampled_stages_is_no_range_of_members(factory: Factory) -> None:
    dataset = factory(("burst",), (10, 100))
    for name, value in (("stages_left_out", 40.0), ("steady_error", 0.1)):
        dataset[name] = xr.full_like(dataset["time_s"], value)
    (line,) = [trace for trace in json.loads(interactive.plot(dataset))["data"] if "customdata" in trace]
    assert all(text.startswith("<br>95 % interval: ") for text in line["customdata"])


def test_other_figures_and_empty_ones_have_no_plot(factory: Factory) -> None:
    assert interactive.plot(factory(figure={"kind": "pattern"})) == ""
    assert interactive.plot(factory(("x",), (10,), gaps={("x", 10): "missing"})) == ""


def cells(table: Any) -> dict[str, Any]:
    return {row[0].printed: row[1:] for row in table.rows}


def test_tables_of_the_paper_beside_what_follows(root: Path) -> None:
    first, second, third = papers.tables(root)
    networks = cells(first)
    assert [cell.agrees for cell in networks["torus-M"]] == [True] * 5
    switches = networks["dragonfly-SL"][1]
    assert (switches.printed, switches.computed, switches.agrees) == ("15\u202f625", "78\u202f125", False)
    assert [name for name, row in networks.items() if not all(cell.agrees for cell in row)] == [
        "fattree-M",
        "dragonfly-SL",
        "dragonfly-LS",
        "fattree-L",
    ]
    stages = cells(second)
    assert [cell.computed for cell in stages["bruck"][1:]] == ["3", "5", "7"]
    assert [cell.computed for cell in stages["ring-k"][1:]] == ["2", "6", "25"]
    assert all(cell.agrees for row in second.rows for cell in row)
    processes = third.rows[-1][1]
    assert (processes.printed, processes.computed) == ("3\u202f686\u202f400", "3\u202f686\u202f400")
    assert all(cell.agrees for row in third.rows for cell in row)


def test_tables_are_on_the_page(written: str) -> None:
    assert "78\u202f125" in written
    assert re.findall(r'<h2 id="(table-\d)">', written) == ["table-1", "table-2", "table-3"]


def test_a_wide_figure_is_moved_on_a_phone_not_shrunk() -> None:
    wide = svg.inline('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 480 300"/>', "a", "b")
    narrow = svg.inline('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 236 170"/>', "a", "b")
    assert "min-width: 700px" in wide
    assert "min-width" not in narrow


def test_pictures_inside_a_drawing_are_kept() -> None:
    picture = "data:image/png;base64,AAAA"
    text = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<image xlink:href="{picture}"/><image xlink:href="file.png"/></svg>'
    )
    inlined = svg.inline(text, "a", "b")
    assert picture in inlined
    assert "file.png" not in inlined


def test_the_page_shows_the_networks_that_were_used(factory: Factory) -> None:
    """One entry a network, whoever used it; what a sweep changed is no number of the table."""
    link = {"bandwidth": 10**10, "latency": 10**5}
    known = {"topology": "torus", "geometry": [4, 4, 4], "nodes_per_switch": 1, "link": link, "routing": "minimal"}
    fast = known | {"injection": {"bandwidth": 10**10}}
    swept = fast | {"link": {"latency": 10**5}}
    tree = {"topology": "fattree", "link": link}
    datasets = {
        "one": factory(attrs={"machines_json": json.dumps({"small": fast, "any-size": tree})}),
        "two": factory(attrs={"machines_json": json.dumps({"small": fast})}),
        "three": factory(attrs={"machines_json": json.dumps({"swept": swept, "site": {"system": {"name": "site"}}})}),
    }
    found = {each.name: each for each in machines.used(datasets)}
    assert [*found] == ["any-size", "small", "swept"]
    assert found["small"].experiments == ["one", "two"]
    assert str(found["small"].picture).startswith("<svg")
    assert ("nodes", "64") in found["small"].rows
    assert ("dimension-3", "64 of 10 GB/s, 100 ns") in found["small"].rows
    assert ("per node, over injection", "1") in found["small"].rows
    assert ("dimension-3", "64 of various rates") in found["swept"].rows
    assert found["any-size"].picture is None
    assert found["any-size"].remark == "Experiments change its size."


def test_figures_of_several_papers_are_not_put_together(tmp_path: Path) -> None:
    def section(name: str, figure: str, letter: str = "") -> Any:
        return SimpleNamespace(name=name, title=f"About {name}", paper_figure=figure, letter=letter)

    sections = [
        ("", section("grist-scaling", "6")),
        ("fig05", section("fig05b-topologies", "5b", "b")),
        ("", section("fig06-real-machine", "6")),
        ("fig05", section("fig05a-algorithms", "5a", "a")),
        ("", section("busy-links", "5b")),
    ]
    groups = experiments.group(sections, tmp_path, tmp_path / "report.html")
    assert [(own.heading, [member.name for member in own.sections]) for own in groups] == [
        ("Figure 5", ["fig05a-algorithms", "fig05b-topologies"]),
        ("Figure 6: About fig06-real-machine", ["fig06-real-machine"]),
        ("About grist-scaling", ["grist-scaling"]),
        ("About busy-links", ["busy-links"]),
    ]


def test_what_is_drawn_again_replaces_files_whole(tmp_path: Path, factory: Factory) -> None:
    """Who has one open, or a link to it, never sees half of it."""
    write(factory(), tmp_path / "a.nc")

    def made() -> dict[str, int]:
        paths = draw_files([tmp_path / "a.nc"], tmp_path / "figures" / "a")
        report.write([tmp_path / "a.nc"], tmp_path / "report.html", "smoke", "x", root=tmp_path)
        return {path.name: path.stat().st_ino for path in (*paths, tmp_path / "report.html")}

    first = made()
    kept = [(tmp_path / "figures" / name if name.startswith("a.") else tmp_path / name).open() for name in first]
    again = made()
    assert {"a.svg", "a.txt", "a.md", "report.html"} <= again.keys()
    assert [name for name in first if first[name] == again[name]] == []
    for file in kept:
        file.close()
