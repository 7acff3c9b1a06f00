"""Files of links: one table however it is written, and one line for what can't be."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tramontane.cli import app
from tramontane.errors import InputError
from tramontane.study import Point, load_machine, load_point
from tramontane.study.networks import graph_makers
from tramontane.study.networks.graphs import pack
from tramontane.study.networks.structure import structure
from tramontane.study.patterns import patterns
from tramontane.substrates.simgrid import platform_lines
from tramontane.substrates.simulator import Simulator
from tramontane.substrates.sstmacro import SstMacro

pytestmark = pytest.mark.usefixtures("tables")

CSV = "source,target\na,b\nb,c\nc,a\n"
WORK = "workload: {kind: allreduce, algorithm: ring, count: 10, repeats: 1}"


def point_of(file: Path, machine: str = "") -> Point:
    yaml = file.with_suffix(".yaml")
    yaml.write_text(f"ranks: 4\nmachine: {{topology: graph, file: {file.name}{machine}}}\n{WORK}\n")
    return load_point(yaml)


def written(folder: Path, text: str, name: str = "x.csv") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def test_a_graph_is_told_by_what_is_in_its_file(tmp_path: Path, tables: Path) -> None:
    one = point_of(written(tmp_path, CSV))
    canonical = one.canonical()
    (digest,) = patterns.named(canonical)
    assert canonical["machine"]["table"] == digest
    assert not {"file", "geometry"} & canonical["machine"].keys()  # and no path
    assert Point.from_canonical(canonical).id == one.id
    assert (tables / f"{digest}.pattern").exists() or patterns.table(digest).exists()
    nodes = [{"id": name} for name in "cab"]
    ends = [("a", "b"), ("b", "c"), ("c", "a")]
    links = [{"source": a, "target": b} for a, b in ends]
    back = [{"source": b, "target": a} for a, b in ends]
    data = {"directed": False, "multigraph": False, "graph": {}, "nodes": nodes, "edges": links}
    assert point_of(written(tmp_path, json.dumps(data), "y.json")).id == one.id
    both = data | {"directed": True, "edges": None, "links": links + back}
    assert point_of(written(tmp_path, json.dumps(both), "z.json")).id == one.id
    assert point_of(written(tmp_path, "# pairs\na b\nb c {}\n\nc a\n", "w.txt")).id == one.id
    assert point_of(written(tmp_path, CSV.replace("c,a\n", ""))).id != one.id
    assert point_of(written(tmp_path, CSV), ", nodes_per_switch: 3").id != one.id


def test_nodes_and_links_are_as_the_file_says(tmp_path: Path) -> None:
    text = "source,target,class,bandwidth,latency\ns2,s10,far,25 GB/s,1 us\ns1,s2,near,10 GB/s,100 ns\n"
    text += "s10,s1,far,25 GB/s,2 us\nn1,s10,node,,\nn0,s10,node,,\nm,s1,node,,\nl,s1,node,,\n"
    machine = point_of(written(tmp_path, text), ", link: {classes: {near: {latency: 70 ns}}}").network.model_copy()
    net = machine.facts
    assert (net.switches, net.nodes, net.nodes_per_switch, net.links) == (3, 4, 2, 3)
    assert net.switches_of(np.arange(4)).tolist() == [0, 0, 2, 2]  # s1, s2, s10
    told = {name: (each.bandwidth, each.latency) for name, each in machine.links.items() if name != "ejection"}
    gb, ns = 10**9, 1000
    assert told == {"far-1": (25 * gb, 1000 * ns), "far-2": (25 * gb, 2000 * ns), "near": (10 * gb, 70 * ns)}


def test_machines_of_graphs_are_made_by_the_commands_they_name(tmp_path: Path) -> None:
    made = {
        "slimfly-S": graph_makers.slim_fly(5),
        "polarfly-S": graph_makers.polarfly(7),
        "jellyfish-M": graph_makers.jellyfish(1000, 12, 1),
        "jellyfish-2048": graph_makers.jellyfish(128, 22, 1),
    }
    for name, links in made.items():
        file = tmp_path / f"{name}.csv"
        graph_makers.write(file, graph_makers.of_links(links))
        assert file.read_text() == Path("configs/machines", f"{name}.csv").read_text()
        assert load_machine(name).facts.links == len(links)
    found = structure(load_machine("slimfly-S"))
    assert (found.longest, found.exact) == (2, True)
    result = CliRunner().invoke(app, ["graph", "from-machine", "torus-S", "--output", str(tmp_path / "torus.csv")])
    assert result.exit_code == 0, result.output
    torus = point_of(tmp_path / "torus.csv").network.facts
    assert (torus.switches, torus.links) == (
        load_machine("torus-S").facts.switches,
        load_machine("torus-S").facts.links,
    )


def test_a_graph_goes_to_no_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"--output: found 'none/x.csv'; allowed: a file in a folder that exists"):
        CliRunner().invoke(app, ["graph", "slim-fly", "5", "--output", "none/x.csv"], catch_exceptions=False)
    assert not Path("none").exists()


LAB = (
    "source,target,class,bandwidth,latency\ns1,s2,rack,25 GB/s,100 ns\n"
    "s1,s3,row,25 GB/s,400 ns\ns2,s3,row,25 GB/s,400 ns\n"
)


def test_the_table_of_a_graph_has_the_rates_of_its_file(tmp_path: Path) -> None:
    drawn = point_of(written(tmp_path, LAB, "lab.csv"))
    again = tmp_path / "again.csv"
    graph_makers.write(again, graph_makers.of_machine(drawn.network))
    made = point_of(again)
    assert made.network.links == drawn.network.links
    assert Simulator(threads=1).run(made)["time_s"] == Simulator(threads=1).run(drawn)["time_s"]


@pytest.mark.parametrize("left_out", [(), ("preference",), ("spread",), ("ring", "dateline"), ("dateline",)])
def test_the_table_of_a_graph_has_what_its_file_says_of_routes(tmp_path: Path, left_out: tuple[str, ...]) -> None:
    """Ports of parallel links may be in another order at each end, and a link may lead to the lower switch."""
    rows = [
        "source,target,class,source_port,target_port,preference,spread,ring,dateline",
        *("0,1,slow,0,5,2,,1,", "0,1,fast,1,4,1,2,1,", "2,1,slow,0,0,,3,1,after", "2,0,slow,1,3,,,7,before"),
        *("a,0,node,,2,,,,", "b,0,node,,4,,,,", "c,2,node,,2,,,,", "d,1,node,,1,,,,"),
    ]
    heading = rows[0].split(",")
    kept = [number for number, name in enumerate(heading) if name not in left_out]
    text = "".join(",".join(row.split(",")[number] for number in kept) + "\n" for row in rows)
    file, again = written(tmp_path, text), tmp_path / "again.csv"
    graph_makers.write(again, graph_makers.of_machine(point_of(file).network))
    assert bytes(pack(again)) == bytes(pack(file))


def test_a_table_has_no_rates_where_links_are_as_those_of_the_machine(tmp_path: Path) -> None:
    [heading, *_] = graph_makers.of_machine(point_of(written(tmp_path, CSV)).network)
    assert not {"bandwidth", "latency"} & set(heading)


def test_other_substrates_run_a_graph_or_say_why_not(tmp_path: Path) -> None:
    point = point_of(written(tmp_path, CSV))
    assert f"table {patterns.table(point.network.table or '')}" in list(platform_lines(point))
    assert SstMacro().refusal(point) is None
    assert Simulator(threads=1).run(point)["time_s"] > 0


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("source,target\na,b\nc,d\n", r"x.csv: found 2 parts: no way from switch 'a' to 'c'; allowed: a graph that is"),
        ("source,target\na,b\nb,a\n", r"row 2: found the link of row 1 the other way round; allowed: a link once"),
        ("source,target\na,a\n", r"row 1, target: found 'a'; allowed: another switch than the source"),
        ("source,target\na,\n", r"row 1, target: found nothing; allowed: a name"),
        ("source,target\na,b,c\n", r"row 1: found 3 values; allowed: 2: source, target"),
        ("source,target\n", r"x.csv: no link in it; allowed: a link or more"),
        ("source,traget\na,b\n", r"unknown column 'traget'; did you mean 'target'\? allowed: source, target; and ma"),
        ("source,target,latency\na,b,\n", r"row 1, latency: found nothing; allowed: "),
        ("source,target,latency\na,b,0 ns\n", r"row 1, latency: found '0 ns'; allowed: more than zero"),
        ("source,target,bandwidth\na,b,7\n", r"row 1, bandwidth: found '7' without a unit; allowed: "),
        ("source,target,class\na,b,ejection\n", r"row 1, class: found 'ejection'; allowed: a name"),
        ("source,target,class\na,b,injection\n", r"row 1, class: found 'injection'; allowed: .*ejection and injection"),
        (
            "source,target,class\na,b,x\nn,a,node\nn,b,node\n",
            r"row 3, source: found node 'n' on switch 'b', on 'a' in row 2; allowed: each node once, on one switch",
        ),
        ("source,target,class\na,b,x\nn,a,node\nn,a,node\n", r"row 3, source: found node 'n' again, as in row 2; all"),
        ("source,target,class\na,b,x\nb,a,node\n", r"row 2, source: found 'b', which is a switch, too; allowed: a na"),
        ("source,target,source_port\na,b,0\n", r"target_port: no column 'target_port'; allowed: both ports, or none"),
        (
            "source,target,source_port,target_port\na,b,0,0\nb,c,0,0\n",
            r"row 2: found port 0 of switch 'b' again, as in row 1; allowed: a port for each",
        ),
        (
            "source,target,source_port,target_port\na,b,65535,0\n",
            r"row 1, source_port: found '65535'; allowed: a whole number, 0 to 65534",
        ),
        ("source,target,dateline\na,b,now\n", r"row 1, dateline: found 'now'; allowed: before, after, or nothing"),
        ("source,target,ring\na,b,256\n", r"row 1, ring: found '256'; allowed: a whole number, 0 to 255"),
        (
            {"nodes": [{"id": 1}, {"id": 2}, {"id": 1}], "edges": []},
            r"nodes\[2\].id: found '1' again; allowed: each name once",
        ),
        (
            {"directed": True, "nodes": [{"id": 1}, {"id": 2}], "edges": [{"source": 1, "target": 2}]},
            r"edges\[0\]: found a link from '1' to '2' with none like it back; allowed: links of both directions",
        ),
        (
            {"nodes": [{"id": 1}, {"id": 2}], "links": [{"source": 1, "target": 3}]},
            r"links\[0\].target: found 3; allowed: the id of one of the nodes",
        ),
        ({"vertices": []}, r"x.json: found something else; allowed: node-link data of networkx"),
        ([1], r"x.json: found something else; allowed: node-link data of networkx"),
    ],
)
def test_what_cannot_be_is_one_line(tmp_path: Path, text: Any, line: str) -> None:
    file = written(tmp_path, text) if isinstance(text, str) else written(tmp_path, json.dumps(text), "x.json")
    with pytest.raises(InputError, match=line):
        pack(file)
    with pytest.raises(InputError, match=line) as told:
        point_of(file)
    assert "machine.file" in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("machine", "line"),
    [
        ("{topology: graph}", r"machine.file: missing; allowed: a graph"),
        ("{topology: graph, file: gone.csv}", r"machine.file: no file 'gone.csv'; allowed: a file beside this one"),
        ("{topology: graph, file: x.csv, geometry: [2]}", r"machine.geometry: found \[2\] for topology graph"),
        ("{topology: torus, geometry: [2, 2, 2], file: x.csv}", r"machine.file: found one for topology torus; allowed"),
        ("{topology: torus}", r"machine.geometry: missing; allowed: \[X, Y, Z\]"),
        ("{topology: graph, file: x.csv, routing: par}", r"machine.routing: found 'par' for topology graph"),
        ("{topology: graph, file: x.csv, model: pisces-16}", r"machine.model: found pisces-16 for topology graph"),
        ("{topology: graph, file: x.csv, link: {classes: {netwrk: {latency: 1 us}}}}", r"did you mean 'network'"),
    ],
)
def test_keys_that_do_not_fit_are_one_line(tmp_path: Path, machine: str, line: str) -> None:
    written(tmp_path, CSV)
    yaml = tmp_path / "point.yaml"
    yaml.write_text(f"ranks: 4\nmachine: {machine}\n{WORK}\n")
    with pytest.raises(InputError, match=line) as told:
        load_point(yaml)
    assert re.match(r".*point.yaml: machine", str(told.value))
