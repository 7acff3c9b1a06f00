"""What replaying a trace costs: ``python -m benchmarks.replay POINT.yaml [--runs 5]``.

What the ranks of a point do is written as GOAL and read back. Both are simulated in turns, so that what else the
machine does hits them alike. Printed is processor time, and that of the replay over the point's own: the median of all
turns.
Messages that bypass the packet network there are served in another order, so the point is to have none
(`protocol.negligible_size: 0 B`).
"""

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tramontane import _simulator
from tramontane.study import load_point
from tramontane.study.traces import traces
from tramontane.substrates.simulator import as_simulated, schedule
from tramontane.support.tables import table


def replayed(point_file: Path, folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return a point as it is simulated, and the same as the replay of a trace, which is written into a folder."""
    point = load_point(point_file)
    traces.write_goal(schedule(point.workload, point.ranks), point.ranks, folder / "trace.goal")
    packed = folder / "trace.pattern"
    packed.write_bytes(traces.pack(folder / "trace.goal"))
    own = as_simulated(point)
    return own, own | {"workload": {"kind": "trace", "table": str(packed)}}


def _time(point: dict[str, Any]) -> tuple[float, dict[str, Any]]:
    begun = time.process_time()
    result = _simulator.simulate(point)
    return time.process_time() - begun, result


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("point", type=Path, help="a point whose messages all go through the packet network")
    parser.add_argument("--runs", type=int, default=5, help="turns; default: 5")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        cases = replayed(options.point, Path(folder))
        turns = [[_time(case) for case in cases] for _ in range(options.runs)]
    (_, first), (_, second) = turns[0]
    if any(first[key] != second[key] for key in ("time_s", "hops")):
        sys.exit(f"{options.point}: the replay took {second['time_s']} s, not {first['time_s']} s")
    own, replay = ([turn[place][0] for turn in turns] for place in (0, 1))
    ratios = [each / plain for each, plain in zip(replay, own, strict=True)]
    rows = [
        (name, f"{statistics.median(times):.3f} s", f"{statistics.median(times) / first['hops'] * 1e9:.0f} ns")
        for name, times in (("the point itself", own), ("its replay", replay))
    ]
    print(table(("what", "processor time", "a packet-hop"), rows))
    print(f"ratio: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
