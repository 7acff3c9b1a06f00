"""A network that can't be is told in the same words, wherever it stands: in a file, a canonical point, or a table."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tramontane import cli
from tramontane.study import Point

from .conftest import Write

WORKLOAD = {"kind": "transposition", "algorithm": "ring-k", "radix": 1, "grid": [8, 8, 8]}
WIRINGS = [
    ("torus", f"{[2] * 9}", 2, "geometry: found 9 dimensions; allowed: at most 8 dimensions"),
    ("torus", "{sizes: [4, 4], wraps: [2, 1]}", 2, "geometry: found 2 among wraps; allowed: 0 (a mesh) or 1 (a ring)"),
    ("torus", "{sizes: [4, 4], wraps: [1]}", 2, "geometry: found {sizes: [4, 4], wraps: [1]} for topology torus; all"),
    (
        "dragonfly-plus",
        "{leaves: 2, spines: 2, nodes_per_leaf: 2, groups: 6, global_links: 2}",
        2,
        "geometry: found 2 spines of 2 global links in each of 6 groups; allowed: a global link of a group to each",
    ),
    ("torus", "[4, 0, 4]", 2, "geometry: found 0 as a torus dimension; allowed: 1 to 2147483647"),
    ("torus", "[2000, 2000, 2000]", 2, "geometry: found a network of 8000000000 switches; allowed: at most"),
    ("torus", "[4, 4, 4]", 70_000, "geometry: found a switch of 70006 ports; allowed: at most 65535 ports"),
    ("fattree", "[3, 4, 5, 6]", 4, "geometry: found [3, 4, 5, 6] for topology fattree; allowed: [n, d]: n switch"),
    ("dragonfly1d", "[4, 9]", 2, "global_links: missing, but topology dragonfly1d needs it; allowed: an even number"),
    ("hyperx", "[1, 4]", 2, "geometry: found 1 as the switches along a dimension; allowed: 2 to 2147483647"),
    ("hyperx", "{switches: [4, 4], links: [1, 0]}", 2, "geometry: found 0 as the links between two switches of a dim"),
    ("hyperx", "{switches: [4, 4], links: [1]}", 2, "geometry: found {switches: [4, 4], links: [1]} for topology hyp"),
    (
        "hyperx",
        "{switches: [4, 4], link: [1, 1]}",
        2,
        "geometry: found {switches: [4, 4], link: [1, 1]}; allowed: a list",
    ),
    (
        "hyperx",
        "[4.5, 4]",
        2,
        "geometry: found [4.5, 4]; allowed: a list of whole numbers, each 1 or more, or a mapping",
    ),
    ("hyperx", "[]", 2, "geometry: found []; allowed: a list of whole numbers, each 1 or more, or a mapping"),
    ("hyperx", "[4, -4]", 2, "geometry: found -4 as the switches along a dimension; allowed: 2 to 2147483647"),
    ("hyperx", "[60000, 60000]", 2, "geometry: found a switch of 119998 ports; allowed: at most 65535 ports"),
    ("hyperx", "{switches: [100], links: [1000]}", 2, "geometry: found a switch of 99000 ports; allowed: at most 6553"),
    ("hyperx", "[2000, 2000, 2000]", 2, "geometry: found a network of 8000000000 switches; allowed: at most 214748"),
    ("hyperx", f"{[2] * 31}", 2, "geometry: found 31 dimensions; allowed: at most 30 dimensions"),
    ("hyperx", f"{[2] * 30}", 2, "geometry: found a network of 2147483648 nodes; allowed: at most 2147483647 nodes"),
    ("hypertorus", "[4, 9]", 2, "topology: found 'hypertorus'; did you mean 'torus'? allowed: torus, fattree"),
]
ROUTINGS = [
    ("torus", "[4, 4, 4]", "par", "minimal, valiant, ugal"),
    ("fattree", "[3, 4]", "valiant", "d-mod-k, round-robin, adaptive"),
    ("hyperx", "[4, 4]", "par", "minimal, valiant, ugal, dal"),
    ("torus", "[4, 4, 4]", "dal", "minimal, valiant, ugal"),
    ("torus", "[4, 4, 4]", "psychic", "minimal, valiant, ugal"),
    ("dragonfly", "[2, 2, 2]", "adaptive", "minimal, valiant, valiant-global, ugal, ugal-g, par, ugal-sstmacro71"),
]

Run = Callable[..., str]


@pytest.fixture
def run(checkout: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Run:
    """Run a command line that is refused; return its one line."""
    monkeypatch.chdir(checkout)

    def function(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["tramontane", *arguments])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
        out, err = capfd.readouterr()
        assert (caught.value.code, out, err.count("\n")) == (2, "", 1)
        return err.strip()

    return function


def files(machine: dict[str, Any], write: Write, checkout: Path) -> Path:
    """Write a point of this machine as x.yaml and x.json, and a table that names its network; return the table."""
    workload = json.dumps(WORKLOAD)
    (checkout / "x.yaml").write_text(f"ranks: 4\nworkload: {workload}\nmachine: {json.dumps(machine)}\n")
    possible = {"topology": "torus", "geometry": [2, 2, 2]}
    canonical = Point.model_validate({"ranks": 4, "workload": WORKLOAD, "machine": possible}).canonical()
    for key in ("routing", "nodes_per_switch"):
        del canonical["machine"][key]
    canonical["machine"] |= machine
    (checkout / "x.json").write_text(json.dumps(canonical))
    nodes = machine.get("nodes_per_switch", 2)
    with (checkout / "validation" / "topologies.csv").open("a", encoding="utf-8") as table:
        table.write(
            f'mine,{machine["topology"]},"{json.dumps(machine["geometry"]).replace(chr(34), "")}",{nodes},,8,8\n'
        )
    return write({"topo": "mine", "routing": machine.get("routing", "minimal")})


@pytest.mark.parametrize(("topology", "geometry", "nodes", "said"), WIRINGS)
def test_wirings(topology: str, geometry: str, nodes: int, said: str, write: Write, checkout: Path, run: Run) -> None:
    sizes = YAML(typ="safe", pure=True).load(geometry)
    table = files({"topology": topology, "geometry": sizes, "nodes_per_switch": nodes}, write, checkout)
    rest = run("run", "x.yaml").removeprefix("x.yaml: machine.")
    assert rest.startswith(said)
    assert run("run", "x.json") == f"x.json: machine.{rest}"
    lines = (checkout / "validation" / "topologies.csv").read_text().count("\n")
    assert run("compare", str(table)) == f"validation/topologies.csv: line {lines}, {rest}"


@pytest.mark.parametrize(("topology", "geometry", "routing", "allowed"), ROUTINGS)
def test_routings(
    topology: str, geometry: str, routing: str, allowed: str, write: Write, checkout: Path, run: Run
) -> None:
    sizes = YAML(typ="safe", pure=True).load(geometry)
    machine = {"topology": topology, "geometry": sizes, "routing": routing}
    table = files(machine, write, checkout)
    said = f"routing: found '{routing}' for topology {topology}; allowed: {allowed}"
    assert run("run", "x.yaml") == f"x.yaml: machine.{said}"
    assert run("run", "x.json") == f"x.json: machine.{said}"
    assert run("compare", str(table)) == f"{table}: line 2, {said}"
