"""Tables 1 to 3 of Zheng & Marguinaud 2018: what the paper prints beside what follows from geometry and schedules."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tramontane.claims import tables as computed
from tramontane.study.experiments import claims
from tramontane.study.reading.layers import Origin
from tramontane.study.reading.project import GRIDS, TABLE1, TABLE2
from tramontane.study.reading.reading import cached_yaml
from tramontane.study.values.expressions import evaluate
from tramontane.support import formatting

#: The statement of `configs/claims` that holds the numbers of Table 3.
TABLE3 = ("zheng2018.yaml", "Z-T3")
#: Numbers of processes for which Table 2 is worked out, and the radix of ring-k.
PROCESSES, RADIX = (8, 25, 100), 4


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
        found.append(networks(root))
    if (root / TABLE2).exists():
        found.append(stages(cached_yaml(root / TABLE2), Origin(root / TABLE2, "")))
    file = root / claims.CLAIMS / TABLE3[0]
    if file.exists():
        statement = claims.load_claims(file, root).claims[TABLE3[1]]
        printed = next(check.printed for check in statement.checks if isinstance(check, claims.Computed))
        found.append(grid(printed, root, statement.note or ""))
    return found


def networks(root: Path) -> PrintedTable:
    """Table 1: switches, nodes and radix of each network from its geometry."""
    rows, remarks = [], []
    for row in computed.networks(root):
        sizes = [str(size) for size in row.geometry]
        pairs = [(row.printed[key], row.built[key]) for key in computed.NUMBERS]
        rows.append(
            [
                Cell(row.name),
                Cell(" × ".join(sizes) if len(sizes) > 2 else ", ".join(sizes)),
                *(Cell(formatting.number(a), formatting.number(b)) for a, b in pairs),
            ]
        )
        if row.remark:
            remarks.append(f"{row.name}: {row.remark}.")
    headings = ["Network", "Geometry", "Switches", "Nodes per switch", "Nodes", "Radix"]
    return PrintedTable("table-1", "Table 1: networks", "Zheng & Marguinaud 2018, Table 1", headings, rows, remarks)


def stages(printed: dict[str, Any], origin: Origin) -> PrintedTable:
    """Table 2: stages of the all-to-all algorithms, by the printed formula and counted in the schedules."""
    rows = []
    for name, row in printed.items():
        cells = [
            Cell(
                formatting.number(evaluate(row["stages"], {"n": n, "k": RADIX}, origin, name)),
                formatting.number(computed.stages(name, RADIX if name == "ring-k" else None, n)),
            )
            for n in PROCESSES
        ]
        rows.append([Cell(name), Cell(row["printed"]), *cells])
    headings = ["Algorithm", "Stages", *(f"n = {n}" for n in PROCESSES)]
    remark = f"Counted in the schedules that are simulated; ring-k with k = {RADIX}."
    return PrintedTable(
        "table-2", "Table 2: all-to-all algorithms", "Zheng & Marguinaud 2018, Table 2", headings, rows, [remark]
    )


def grid(printed: dict[str, Any], root: Path, note: str) -> PrintedTable:
    """Table 3: size of the grid and the largest partition, from the grid that the experiments use."""
    extents = cached_yaml(root / GRIDS)["paper"]["points"]
    own = computed.grid(extents)
    rows = [
        [
            Cell("Grid points in x, y, z"),
            Cell(" × ".join(map(formatting.number, printed["grid"])), " × ".join(map(formatting.number, extents))),
        ],
        [Cell("Grid points"), _more(printed["points"], own.points, "")],
        [
            Cell("Memory of a field in double precision"),
            _more(printed["bytes"] / 1e9, own.bytes / 1e9, " GB"),
        ],
        [
            Cell("Most processes of a partition in two directions"),
            Cell(formatting.number(printed["processes"]), formatting.number(own.processes)),
        ],
    ]
    remarks = [note] if note else []
    if own.million:
        columns, rows_of = map(formatting.number, own.million)
        remarks.append(f"{formatting.number(computed.MILLION)} processes are shared as {columns} × {rows_of}.")
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
