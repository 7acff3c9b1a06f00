"""Measure what a network costs as a graph, beside the same network as a family (docs/machines.md).

    python -m benchmarks.graphs benchmarks/points/torus-1024.yaml [--rounds 5]

writes the point's network down as a graph and runs both in turns, each in a process of its own and in CPU time. Their
times must be the same bit for bit. Set-up, which finds the graph's routes once, is told apart from what packets take.
"""

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import apart, measure
from tramontane.study import Point, load_point
from tramontane.study.networks.graph_makers import of_machine, write
from tramontane.study.networks.graphs import pack
from tramontane.substrates.simulator import as_simulated

SAME = ("time_s", "hops", "messages")


def as_graph(point: Point, folder: Path) -> dict[str, object]:
    """Return what is simulated of a point, its network as a table of links."""
    file = folder / "links.csv"
    write(file, of_machine(point.network))
    packed = folder / "links.pattern"
    packed.write_bytes(pack(file))
    read = as_simulated(point)
    machine = {key: value for key, value in read["machine"].items() if key not in ("geometry", "nodes_per_switch")}
    return read | {"machine": machine | {"topology": "graph", "table": str(packed)}}


def main() -> None:
    """Print the CPU time of both for each round, and what a packet-hop of the graph takes over one of the family."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphs", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("point", type=Path, help="of a torus or mesh, dragonfly, HyperX or tree, with minimal routing")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each")
    arguments = parser.parse_args()
    point = load_point(arguments.point)
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        family, graph = as_simulated(point), as_graph(point, Path(folder))
        for _ in range(arguments.rounds):
            own, other = (apart(measure, each) for each in (family, graph))
            if any(own[key] != other[key] for key in SAME):
                sys.exit(f"{arguments.point}: {[(key, own[key], other[key]) for key in SAME]}")
            ratios.append((other["cpu_s"] - other["setup_s"]) / (own["cpu_s"] - own["setup_s"]))
            setup = f"set-up {own['setup_s']:.2f} s, {other['setup_s']:.2f} s"
            print(f"family {own['cpu_s']:.2f} s, graph {other['cpu_s']:.2f} s; {setup}", flush=True)
    spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
    print(f"a packet-hop of the graph over one of the family: {statistics.median(ratios):.2f} ({spread}), same bits")


if __name__ == "__main__":
    main()
