"""Tables of measured points, small enough to be followed by hand, in a project of their own."""

import csv
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]

#: A row that takes next to nothing to run; its time is ours to choose.
ROW = YAML(typ="safe", pure=True).load("""
  {tag: test, topo: torus444x1, routing: minimal, nodes: 64, P: 4, cx: 2, cy: 2, op: transpose, what: all, alg: ring,
   k: 1, w: 20, reps: 1, nx: 8, ny: 8, nz: 8, bw_GBs: 10, inj_bw_GBs: "10.0", xbar_bw_GBs: 70, lat_ns: 100,
   inj_lat_ns: 100, mtu: 4096, credits: 64KB, eager: 8192B, vshort: 512B, negligible: 0, arb: cut_through,
   xarb: cut_through, allocation: first_available, indexing: block, seed: 42, tspan_s: "1e-06", status: ok}
""")

#: Writes a table of rows, each given by what it has other than `ROW`.
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def function(*rows: dict[str, Any], name: str = "measured.csv", without: tuple[str, ...] = ()) -> Path:
        columns = [column for column in ROW if column not in without]
        with (tmp_path / name).open("w", newline="", encoding="utf-8") as stream:
            table = csv.DictWriter(stream, columns, extrasaction="ignore")
            table.writeheader()
            table.writerows({**ROW, **row} for row in rows)
        return tmp_path / name

    return function


@pytest.fixture
def checkout(project: Path) -> Path:
    """The root of a project that knows the networks of `validation/topologies.csv`."""
    (project / "validation").mkdir()
    shutil.copy(ROOT / "validation" / "topologies.csv", project / "validation")
    return project
