"""``tramontane timeline``."""

import json
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from tramontane.cli.exit import of_point
from tramontane.cli.options import MOST_RANKS, PointFile, Threads, to_write


def timeline(
    point_file: PointFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="Trace events (.json), for Perfetto, or OTF2 (.otf2).", metavar="FILE"),
    ],
    ranks: Annotated[
        str, typer.Option("--ranks", help="Those of which it is told, e.g. 0-63 or 0,5,8-11.", metavar="RANKS")
    ] = "0-63",
    threads: Threads = 1,
) -> None:
    """Write what ranks of a point did when, and why they waited.

    The point is simulated for it.
    """
    from tramontane.errors import InputError, display_path
    from tramontane.results.timeline import trace_events
    from tramontane.results.timeline_otf2 import write_otf2
    from tramontane.study import load_point
    from tramontane.substrates.simulator import Simulator
    from tramontane.substrates.single import Watch
    from tramontane.support import otf2
    from tramontane.support.files import write_atomically
    from tramontane.support.formatting import plural

    to_write("--output", output, point_file)
    if output.suffix not in {".json", otf2.SUFFIX}:
        raise InputError("--output", "", output.name, "FILE.json: trace events; FILE.otf2: an archive of OTF2")
    if output.suffix == otf2.SUFFIX:
        otf2.check(output)
    point = load_point(point_file)
    chosen = _numbers(ranks, point.ranks)
    with of_point(point_file), Watch(point, threads) as tell:
        result, stretches = Simulator(threads, tell=tell).timeline(point, chosen)
    title = f"{point_file.stem}: {result['time_s']:.6g} s"
    if output.suffix == otf2.SUFFIX:
        write_otf2(stretches, title, chosen, output)
    else:
        write_atomically(output, json.dumps(trace_events(stretches, title)))
    print(display_path(output))
    reader = "Vampir or otf2-print" if output.suffix == otf2.SUFFIX else "https://ui.perfetto.dev"
    told = f"{plural(len(chosen), 'rank')}, {plural(len(stretches), 'stretch')} of time"
    print(f"{told}; open it in {reader}", file=sys.stderr)


def _numbers(text: str, ranks: int) -> list[int]:
    """Return the numbers of a list like "0,5,8-11"; the default stands for as many as there are."""
    from tramontane.errors import InputError

    allowed = f"ranks 0 ... {ranks - 1}, at most {MOST_RANKS}, e.g. 0-{min(ranks, 64) - 1}"
    found: set[int] = set()
    for part in text.split(","):
        if not (match := re.fullmatch(r"(\d{1,9})(?:-(\d{1,9}))?", part.strip())):
            raise InputError("--ranks", "", text, allowed)
        first, last = int(match[1]), int(match[2] or match[1])
        if text == "0-63":
            last = min(last, ranks - 1)
        if last < first or last >= ranks or last - first >= MOST_RANKS:
            raise InputError("--ranks", "", text, allowed)
        found |= set(range(first, last + 1))
    if len(found) > MOST_RANKS:
        raise InputError("--ranks", "", text, allowed)
    return sorted(found)
