"""``tramontane critical-path``."""

from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import of_point
from tramontane.cli.options import MOST_RANKS, PointFile, Threads, to_write

MOST = 8
"""Ranks and links that are named."""


def critical_path(
    point_file: PointFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where all parts go, as JSON.", metavar="FILE.json")
    ] = None,
    threads: Threads = 1,
) -> None:
    """Tell what the time of a point went to.

    The point is simulated, and the path that decided its time followed through ranks and links.
    """
    import json
    from collections import Counter
    from itertools import pairwise

    from tramontane.errors import InputError, display_path
    from tramontane.extension import simulator
    from tramontane.results import critical_path as paths
    from tramontane.results.timeline import WAITING
    from tramontane.study import load_point
    from tramontane.study.networks.link_names import LinkNames
    from tramontane.substrates.simulator import Simulator
    from tramontane.substrates.single import Watch
    from tramontane.support.files import write_atomically
    from tramontane.support.formatting import plural

    if output is not None:
        to_write("--output", output, point_file)
    point = load_point(point_file)
    if point.ranks > MOST_RANKS:
        raise InputError(str(display_path(point_file)), "ranks", point.ranks, f"at most {MOST_RANKS}, for a path")
    with of_point(point_file), Watch(point, threads) as tell:
        result, stretches = Simulator(threads, tell=tell).timeline(point, range(point.ranks))
    if not stretches:
        allowed, problem = "one in which some rank works, sends or receives", "no critical path: no rank does anything"
        raise InputError(str(display_path(point_file)), "workload", "", allowed, problem=problem)
    path = paths.critical_path(stretches, result["span_s"])
    nodes, machine = Simulator().nodes(point), point.canonical()["machine"]
    names = LinkNames(point.network.topology, point.network.facts)
    links: Counter[tuple[int, int]] = Counter()
    for (source, target), share in paths.shares_of_pairs(path).items():
        for link in pairwise(simulator().minimal_route(machine, nodes[source], nodes[target])):
            links[link] += share  # type: ignore[assignment]  # a share, not a count

    ranks = len({part.rank for part in path})
    parts, all_ranks = plural(len(path), "part"), plural(point.ranks, "rank")
    print(f"{result['time_s']:.6g} s; the critical path has {parts}, through {ranks} of {all_ranks}")
    for what, share in paths.shares(path).items():
        print(f"{share:6.1%}  {WAITING.get(what, what)}")
    own = list(paths.shares_of_ranks(path).items())[:MOST]
    if own:
        print("at work or busy")
    for rank, share in own:
        print(f"{share:6.1%}  rank {rank}")
    if links:
        print("messages under way, by the links of minimal routes")
    for (source, target), share in links.most_common(MOST):
        print(f"{share:6.1%}  {names.switch(source)} to {names.switch(target).removeprefix('switch ')}")
    if output is not None:
        told = {"time_s": result["time_s"], "parts": [part._asdict() for part in path]}
        write_atomically(output, json.dumps(told))
