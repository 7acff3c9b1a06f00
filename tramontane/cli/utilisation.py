"""``tramontane utilisation``."""

from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import of_point
from tramontane.cli.options import PointFile, Threads, stem_to_write

BINS = 64
"""Bins of time, and of ranks."""


def utilisation(
    point_file: PointFile,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The files to write, without their ending; by default NAME-utilisation of NAME.yaml."
        ),
    ] = None,
    threads: Threads = 1,
) -> None:
    """Draw what the links of a point did.

    The point is simulated; drawn are load by place and over time, and why ranks waited.
    """
    import json

    from tramontane.cli.drawing import draw
    from tramontane.errors import display_path
    from tramontane.results.hot_links import hottest
    from tramontane.study import Point, load_point
    from tramontane.study.points.points import EACH, HOTTEST, counts_each
    from tramontane.substrates.simulator import Simulator
    from tramontane.substrates.single import Watch
    from tramontane.support.files import write_atomically
    from tramontane.support.layout import FIGURE_FORMATS

    own = Path(f"{point_file.stem}-utilisation")  # beside NAME.json, which is often what `run` has printed
    stem = stem_to_write("--output", output or own, ("json", *FIGURE_FORMATS), point_file)
    written = load_point(point_file)
    # Of a large network the busiest links are told, and no map of all is drawn.
    links = EACH if written.machine is None or counts_each(written.network) else HOTTEST
    asked = {"congestion": 0, "links": links, "bins": BINS, "waiting": BINS}
    with of_point(point_file), Watch(written, threads) as tell:
        result = Simulator(threads, tell=tell).run(Point.from_canonical(written.canonical() | {"statistics": asked}))
    told = stem.with_name(stem.name + ".json")
    write_atomically(told, json.dumps(result))
    print(*hottest(result), display_path(told), sep="\n")
    draw("analysis.utilisation", str(point_file.absolute()), str(told.absolute()), stem=stem)
