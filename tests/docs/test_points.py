"""Points, and parts of points, that pages show are points that run."""

import re
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from tramontane.study import Point, load_point

ROOT = Path(__file__).parents[2]
PAGES = ("collectives", "configuration", "model", "one-sided", "programs", "routing")
#: What a part of a point is completed by.
REST = {"ranks": 16, "machine": "torus-M", "workload": {"kind": "halo", "width": 1, "grid": "tiny"}}
BLOCK = re.compile(r"^```yaml\n(.*?)^```$|((?:^    [^\n]*\n)+)", flags=re.MULTILINE | re.DOTALL)


def parts(page: str) -> list[dict[str, Any]]:
    """Return what a page shows of points: mappings of a point's keys, of which machine or workload is one."""
    found = []
    for block in BLOCK.finditer((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")):
        try:
            part = YAML(typ="safe", pure=True).load(block[1] or re.sub("^    ", "", block[2], flags=re.MULTILINE))
        except YAMLError:  # a command
            continue
        if (
            isinstance(part, dict)
            and part.keys() <= Point.model_fields.keys()
            and part.keys() & {"machine", "workload"}
        ):
            found.append(dict(part))
    return found


@pytest.mark.parametrize("page", PAGES)
def test_points_that_a_page_shows_are_points(page: str, tmp_path: Path) -> None:
    shown = parts(page)
    assert shown
    for part in shown:
        file = tmp_path / "point.yaml"
        YAML().dump(REST | part, file)
        load_point(file)
