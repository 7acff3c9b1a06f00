"""Hold the simulator against LogGOPSim where nothing is congested and both can be worked out by hand.

Usage: ``python validation/compare_loggopsim.py`` (from the repository's root) runs each case on the simulator and
prints it beside what LogGOPSim gave for the same file of operations (``validation/loggopsim.csv``) and the closed forms
of both. With ``--measure`` it runs LogGOPSim's ``txt2bin`` and ``LogGOPSim``, which have to be in PATH, and writes that
file anew. With names of files in GOAL, ``*.goal`` or binary, it runs both on these.
"""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tramontane.errors import InputError
from tramontane.study.patterns import patterns
from tramontane.study.points.points import Point
from tramontane.study.traces import traces
from tramontane.substrates.simulator import Simulator, schedule

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "validation" / "loggopsim.csv"
COLUMNS = ("case", "ranks", "bytes", "time_ns")

#: LogGOPSim's parameters [ns, ns/B]: latency, overhead a message, and gap a message and a byte; and the largest eager
#: message [B]. The gap a message is that of a byte, for LogGOPSim adds it to the bytes' and we take the larger.
LATENCY, OVERHEAD, GAP, EAGER = 2500, 1500, 6, 65535
OPTIONS = f"-L {LATENCY} -o {OVERHEAD} -g {GAP} -G {GAP} -O 0 -S {EAGER}".split()
CONTROL = 64
"""Size of our control messages [B]."""


class Case(NamedTuple):
    """Ranks that do something with messages of one size.

    Attributes
    ----------
    name : str
        One of `WORKLOADS`.
    ranks, size : int
        Number of ranks, and bytes of a message.
    """

    name: str
    ranks: int
    size: int


SIZES = (8, 1024, 65528, 65536, 1048576)
CASES = [
    *(Case("ping-pong", 2, size) for size in SIZES),
    *(Case("ring", 8, size) for size in SIZES),
    *(Case("doubling", 16, size) for size in SIZES if size <= EAGER),
    *(Case("tree", 16, size) for size in SIZES if size <= EAGER),
]


def workload(case: Case) -> dict[str, Any]:
    """Return a case as our workload."""
    one: dict[str, Any] = {"kind": "collective", "count": case.size // 8}
    broadcast = {**one, "operation": "broadcast", "algorithm": "binomial"}
    return {
        "ping-pong": {"kind": "program", "steps": [broadcast, {**broadcast, "root": 1}]},
        "ring": {**one, "operation": "allgather", "algorithm": "ring"},
        "doubling": {**one, "operation": "allreduce", "algorithm": "recursive-doubling"},
        "tree": broadcast,
    }[case.name]


def machine(ranks: int) -> dict[str, Any]:
    """Return the machine that is LogGOPSim's network: all nodes at one switch, whose ports alone are shared."""
    path = {"bandwidth": f"{round(1e9 / GAP)} B/s", "latency": f"{LATENCY // 2} ns"}
    return {
        "topology": "torus",
        "geometry": [1, 1, 1],
        "nodes_per_switch": ranks,
        "link": path,
        "injection": path,
        "packet": "2 MB",
        "buffer": "64 MB",
        "overhead": {"send": f"{OVERHEAD} ns", "receive": f"{OVERHEAD} ns", "gap": f"{GAP} ns"},
        # LogGOPSim copies nothing: as fast as may be.
        "memory": {"bandwidth": "200 TB/s"},
        "processor": {"frequency": "1 THz"},
        "protocol": {"short_limit": f"{EAGER} B", "eager_limit": f"{EAGER} B", "negligible_size": "0 B"},
    }


def write(case: Case, file: Path) -> None:
    """Write a case as GOAL, for both."""
    point = Point.model_validate({"ranks": case.ranks, "workload": workload(case), "machine": machine(case.ranks)})
    traces.write_goal(schedule(point.workload, point.ranks), point.ranks, file)


def ours(ranks: int, file: Path) -> float:
    """Return the time that the simulator gives for a file [ns]."""
    described = {"ranks": ranks, "workload": {"kind": "trace", "file": str(file)}, "machine": machine(ranks)}
    return float(Simulator().run(Point.model_validate(described))["time_s"]) * 1e9


def theirs(file: Path) -> int:
    """Return the time that LogGOPSim gives for a file [ns]: the last host's.

    Raises
    ------
    RuntimeError
        If it does not print it.
    """
    with tempfile.TemporaryDirectory(prefix="tramontane-loggopsim-") as folder:
        binary = Path(folder, "trace.bin") if file.suffix == ".goal" else file
        if binary != file:
            subprocess.run(["txt2bin", "-i", str(file), "-o", str(binary)], check=True, capture_output=True)
        command = ["LogGOPSim", "-f", str(binary), *OPTIONS]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    hosts = re.findall(r"^(?:Host|Maximum finishing time at host) \d+: (\d+)", printed, re.MULTILINE)
    if not hosts:
        raise RuntimeError(f"LogGOPSim printed no times of hosts: {printed.strip()}")
    return max(map(int, hosts))


def is_installed() -> bool:
    """Tell whether LogGOPSim's programs are in PATH."""
    return shutil.which("txt2bin") is not None and shutil.which("LogGOPSim") is not None


def their_form(case: Case) -> int:
    """Return LogGOPSim's time by hand [ns]: of n bytes, it charges n - 1, and for a rendezvous nothing."""
    hop = 2 * OVERHEAD + LATENCY + (case.size - 1) * GAP
    return {
        "ping-pong": 2 * hop,
        "ring": (case.ranks - 1) * hop,
        "doubling": (case.ranks.bit_length() - 1) * hop,
        "tree": round(_tree(case.ranks, hop, max(OVERHEAD, case.size * GAP))),
    }[case.name]


def our_form(case: Case) -> float:
    """Return our time by hand [ns]: all n bytes, copies of eager messages, and a rendezvous' control messages."""
    is_eager = case.size <= EAGER
    # Three instructions a word, and beyond 64 B the memory's time.
    copy = 3e-3 * (case.size // 8) + (case.size * 5e-6 if case.size > 64 else 0) if is_eager else 0.0
    control = LATENCY + CONTROL * GAP
    hop = 2 * OVERHEAD + LATENCY + case.size * GAP + (2 * copy if is_eager else 2 * control)
    acknowledged = 0 if is_eager else control
    return {
        "ping-pong": 2 * hop + acknowledged,
        "ring": (case.ranks - 1) * (hop + acknowledged),
        "doubling": (case.ranks.bit_length() - 1) * hop,
        "tree": _tree(case.ranks, hop, max(OVERHEAD + copy, case.size * GAP)),
    }[case.name]


def _tree(ranks: int, hop: float, gap: float) -> float:
    """Return when the last rank of a binomial tree has a message; whoever has it sends on every `gap`."""
    ends, half = [0.0], ranks // 2
    sent = [0]
    while half:
        for parent in range(len(ends)):
            ends.append(ends[parent] + sent[parent] * gap + hop)
            sent[parent] += 1
            sent.append(0)
        half //= 2
    return max(ends)


def read_rows(table: Path = TABLE) -> dict[Case, int]:
    """Return what LogGOPSim gave [ns]."""
    with table.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(line for line in stream if not line.startswith("#"))
        return {Case(row["case"], int(row["ranks"]), int(row["bytes"])): int(row["time_ns"]) for row in rows}


def measured(folder: Path) -> Iterator[tuple[Case, int]]:
    """Yield what LogGOPSim gives now, case by case."""
    for case in CASES:
        file = folder / f"{case.name}-{case.size}.goal"
        write(case, file)
        yield case, theirs(file)


def measure(folder: Path) -> None:
    """Write the table anew."""
    rows = [(case.name, case.ranks, case.size, time) for case, time in measured(folder)]
    with TABLE.open("w", encoding="utf-8", newline="") as stream:
        stream.write(f"# LogGOPSim 76451de, {' '.join(OPTIONS)}: end of the last host\n")
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)


def show(folder: Path) -> None:
    """Print the comparison."""
    heads = ("case", "ranks", "bytes", "LogGOPSim", "by hand", "ours", "by hand", "ours/LogGOPSim")
    print("times in us\n" + "".join(f"{head:>15}" for head in heads))
    for case, their in read_rows().items():
        file = folder / f"{case.name}-{case.size}.goal"
        write(case, file)
        our = ours(case.ranks, file)
        times = (their, their_form(case), our, our_form(case))
        cells = (case.name, case.ranks, case.size, *(f"{time / 1e3:.3f}" for time in times), f"{our / their:.5f}")
        print("".join(f"{cell:>15}" for cell in cells))


def show_files(files: list[Path]) -> None:
    """Print what both give for files that somebody else has made."""
    print("times in us\n" + "".join(f"{head:>15}" for head in ("ranks", "LogGOPSim", "ours", "ours/LogGOPSim")))
    for file in files:
        ranks = traces.counts(patterns.table(patterns.kept(file, traces.pack))).ranks
        their, our = theirs(file), ours(ranks, file)
        cells = (ranks, f"{their / 1e3:.3f}", f"{our / 1e3:.3f}", f"{our / their:.5f}")
        print("".join(f"{cell:>15}" for cell in cells) + f"  {file.name}")


def main() -> None:
    """Measure if asked to; print."""
    asked = sys.argv[1:]
    if asked and not is_installed():
        sys.exit("txt2bin and LogGOPSim not found in PATH (github.com/spcl/LogGOPSim)")
    with tempfile.TemporaryDirectory(prefix="tramontane-loggopsim-") as folder:
        if asked == ["--measure"]:
            measure(Path(folder))
        if asked in ([], ["--measure"]):
            show(Path(folder))
        else:
            try:
                show_files([Path(name) for name in asked])
            except InputError as error:
                print(error, file=sys.stderr)
                sys.exit(2)


if __name__ == "__main__":
    main()
