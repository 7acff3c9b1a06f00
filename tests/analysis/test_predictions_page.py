"""Predictions of real machines in the report: those that were judged, with figure and table."""

import re
from pathlib import Path

from analysis import report
from analysis.page.predictions import judged

DRAWN = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="10pt" height="10pt" viewBox="0 0 10 10"><g id="figure_1"/></svg>'
)


def test_what_was_judged_is_shown_and_nothing_else(tmp_path: Path) -> None:
    out = tmp_path / "results" / "smoke" / "report.html"
    assert judged(tmp_path, out) == []
    folder = tmp_path / "results" / "validation"
    folder.mkdir(parents=True)
    (folder / "left-out.svg").write_text(DRAWN)
    assert judged(tmp_path, out) == []  # a figure without its table
    (folder / "left-out.table.txt").write_text("machine  operation  n\nfugaku   alltoall  <3>\n")
    report.write([], out, "smoke", "make reproduce", root=tmp_path)
    page = out.read_text()
    assert "fugaku   alltoall  &lt;3&gt;" in page
    anchors = re.findall(r'<h2 id="([^"]*judged[^"]*)"', page)
    assert len(anchors) == 1
    assert f'href="#{anchors[0]}"' in page
