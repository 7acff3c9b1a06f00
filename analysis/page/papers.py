"""Tables 1 to 3 of Zheng & Marguinaud 2018: what the paper prints beside what follows from geometry and schedules."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.study import claims
from tramontane.study.catalogue import GRIDS, TABLE1, TABLE2, cached_yaml
from tramontane.study.decomposition import bounds, nearest_square
from tramontane.study.expressions import evaluate
from tramontane.study.layers import Origin
from tramontane.study.network import network
from tramontane.study.workloads import DOUBLE, Transposition
from tramontane.substrates.simulator import schedule
from tramontane.support import formatting

#: The statement of `configs/claims` that holds the numbers of Table 3.
TABLE3 = ("zheng2018.yaml", "Z-T3")
#: Numbers of processes for which Table 2 is worked out, and the radix of ring-k.
PROCESSES, RADIX = (8, 25, 100), 4
#: A round number above 65,536, where cx <= nz binds.
MILLION = 10**6


@dataclass(frozen=True)
class Cell:
    """A number as printed and as it follows."""

    printed: str
    computed: str = ""

    @property
    def agrees(self) -> bool:
        """Whether both are the same, or there is but one."""
        return self.computed in ("", self.printed)


@dataclass(frozen=True)
class PrintedTable:
    """A table of the paper."""

    anchor: str
    title: str
    source: str
    headings: list[str]
    rows: list[list[Cell]]
    remarks: list[str]


def tables(root: Path) -> list[PrintedTable]:
    """Return those of the three tables whose printed numbers are among the configuration below `root`."""
    found = []
    if (root / TABLE1).exists():
        found.append(networks(cached_yaml(root / TABLE1)))
    if (root / TABLE2).exists():
        found.append(stages(cached_yaml(root / TABLE2), Origin(root / TABLE2, "")))
    file = root / claims.CLAIMS / TABLE3[0]
    if file.exists():
        statement = claims.load_claims(file, root).claims[TABLE3[1]]
        printed = next(check.printed for check in statement.checks if isinstance(check, claims.Computed))
        found.append(grid(printed, root, statement.note or ""))
    return found


def networks(printed: dict[str, Any]) -> PrintedTable:
    """Table 1: switches, nodes and radix of each network from its geometry."""
    rows, remarks = [], []
    for name, row in printed.items():
        own = network(row)
        pairs = [
            (row[key], value)
            for key, value in (
                ("switches", own.switches),
                ("nodes_per_switch", own.nodes_per_switch),
                ("nodes", own.nodes),
                ("radix", own.ports),
            )
        ]
        geometry = (
            " × ".join(str(size) for size in row["geometry"])
            if len(row["geometry"]) > 2
            else "{}, {}".format(*row["geometry"])
        )
        rows.append([Cell(name), Cell(geometry), *(Cell(formatting.number(a), formatting.number(b)) for a, b in pairs)])
        if "remark" in row:
            remarks.append(f"{name}: {row['remark']}.")
    headings = ["Network", "Geometry", "Switches", "Nodes per switch", "Nodes", "Radix"]
    return PrintedTable("table-1", "Table 1: networks", "Zheng & Marguinaud 2018, Table 1", headings, rows, remarks)


def stages(printed: dict[str, Any], origin: Origin) -> PrintedTable:
    """Table 2: stages of the all-to-all algorithms, by the printed formula and counted in the schedules."""
    rows = []
    for name, row in printed.items():
        cells = [
            Cell(
                formatting.number(evaluate(row["stages"], {"n": n, "k": RADIX}, origin, name)),
                formatting.number(counted_stages(name, n)),
            )
            for n in PROCESSES
        ]
        rows.append([Cell(name), Cell(row["printed"]), *cells])
    headings = ["Algorithm", "Stages", *(f"n = {n}" for n in PROCESSES)]
    remark = f"Counted in the schedules that are simulated; ring-k with k = {RADIX}."
    return PrintedTable(
        "table-2", "Table 2: all-to-all algorithms", "Zheng & Marguinaud 2018, Table 2", headings, rows, [remark]
    )


def counted_stages(algorithm: str, n: int) -> int:
    """Return the rounds of the all-to-all among n processes in the schedule of a transposition cut in x only."""
    radix = RADIX if algorithm == "ring-k" else None
    plan = schedule(
        Transposition(kind="transposition", algorithm=algorithm, radix=radix, grid=(n, n, n), decomposition=(n, 1)), n
    )
    return sum(plan.round(0, number).phase == 0 for number in range(plan.rounds))


def grid(printed: dict[str, Any], root: Path, note: str) -> PrintedTable:
    """Table 3: size of the grid and the largest partition, from the grid that the experiments use."""
    nx, ny, nz = cached_yaml(root / GRIDS)["paper"]["points"]
    limits = bounds("transposition", (nx, ny, nz))
    most = {side: min(value for own, _, value in limits if own == side) for side in ("cx", "cy")}
    million = nearest_square(MILLION, limits)
    rows = [
        [
            Cell("Grid points in x, y, z"),
            Cell(" × ".join(map(formatting.number, printed["grid"])), " × ".join(map(formatting.number, (nx, ny, nz)))),
        ],
        [Cell("Grid points"), _more(printed["points"], nx * ny * nz, "")],
        [
            Cell("Memory of a field in double precision"),
            _more(printed["bytes"] / 1e9, nx * ny * nz * DOUBLE / 1e9, " GB"),
        ],
        [
            Cell("Most processes of a partition in two directions"),
            Cell(formatting.number(printed["processes"]), formatting.number(most["cx"] * most["cy"])),
        ],
    ]
    remarks = [note] if note else []
    if million:
        columns, rows_of = map(formatting.number, million)
        remarks.append(f"{formatting.number(MILLION)} processes are shared as {columns} × {rows_of}.")
    return PrintedTable(
        "table-3", "Table 3: grid", "Zheng & Marguinaud 2018, Table 3", ["Quantity", "Value"], rows, remarks
    )


def _more(bound: float, value: float, unit: str) -> Cell:
    """Return a number of which the paper prints a lower bound; it agrees if it is larger."""
    text = f"> {formatting.number(bound)}{unit}"
    return (
        Cell(f"{text}: {formatting.number(value)}{unit}")
        if value > bound
        else Cell(text, f"{formatting.number(value)}{unit}")
    )
