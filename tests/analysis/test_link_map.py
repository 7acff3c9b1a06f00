"""Maps of busy links: two panels a network, one scale of colours, and the links between switches by name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import xarray as xr

from analysis.figures import draw, show
from tramontane.results.collate import single
from tramontane.study import Point, load_point
from tramontane.substrates.simulator import Simulator

MACHINES: dict[str, dict[str, Any]] = {
    "small": {"topology": "torus", "geometry": [4, 3, 2], "nodes_per_switch": 2},
    "tree": {"topology": "fattree", "geometry": [3, 3]},
}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """The same transposition on two networks, each of whose links is counted."""
    folder = tmp_path_factory.mktemp("points")
    found, machines = [], {}
    for name, machine in MACHINES.items():
        workload = {"kind": "transposition", "algorithm": "ring-k", "radix": 2, "grid": [48, 48, 8]}
        file = folder / f"{name}.yaml"
        file.write_text(json.dumps({"ranks": 24, "workload": workload, "machine": machine}))
        point = Point.from_canonical(load_point(file).canonical() | {"statistics": {"congestion": 0, "links": "each"}})
        machines[name] = point.canonical()["machine"]
        told = single({"id": name, **Simulator().run(point)})
        found.append(told.assign_coords(single_link=np.arange(told.sizes["single_link"])))
    joined = xr.concat(found, xr.DataArray(list(MACHINES), dims="machine", name="machine"), join="outer")
    figure = {"kind": "link-map", "lines": "machine", "panel": {"figure": "here", "letter": "c"}}
    return joined.assign_attrs(figure_json=json.dumps(figure), machines_json=json.dumps(machines))


def test_each_network_has_two_panels_on_one_scale(counted: xr.Dataset) -> None:
    figure = draw(counted)
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0] == "(c) small: between groups"
    assert titles[1:4] == ["small: in the busiest group", "tree: between groups", "tree: in the busiest group"]
    assert len(figure.axes) == 5, "one colour bar"
    most = float(counted["single_link_load"].where(counted["single_link_class"] != "ejection").max())
    assert figure.axes[4].get_ylim() == pytest.approx((0, most))


def test_the_table_names_links_between_switches_the_busiest_first(counted: xr.Dataset) -> None:
    rows = [row for row in show(counted).numbers.rows if row[0] == "small"]
    assert rows[0][1].startswith("dimension-")
    assert not any("node" in row[1] for row in rows)
    loads = [float(row[2]) for row in rows]
    assert loads == sorted(loads, reverse=True)


def test_several_points_of_a_machine_are_refused(counted: xr.Dataset) -> None:
    both = xr.concat([counted, counted], xr.DataArray([1, 2], dims="size", name="size")).transpose("machine", ...)
    with pytest.raises(ValueError, match="one point a machine, found several by size"):
        show(both)


def test_no_single_links_are_refused(counted: xr.Dataset) -> None:
    with pytest.raises(ValueError, match="no point tells single links"):
        show(counted.drop_vars("single_link_load"))


def test_a_network_without_a_result_is_left_out(counted: xr.Dataset) -> None:
    counted = counted.copy(deep=True)
    counted["single_link_load"][1] = np.nan
    assert len(show(counted).panels) == 2
