"""Reads files that say which node each rank is on."""

from pathlib import Path

from tramontane.errors import InputError
from tramontane.study.networks.mapping import MAX_RANK
from tramontane.support.csv_tables import read_table

COLUMNS = ("rank", "node")


def nodes_of_ranks(path: Path) -> list[int]:
    """Return the node of each rank, from a CSV file with the columns rank and node, in any order of its lines.

    Raises
    ------
    InputError
        For a rank that is there twice or is missing, and for what is no number.
    """
    nodes: dict[int, int] = {}
    lines = read_table(path, COLUMNS, "a CSV file with the node of each rank", f"the columns {', '.join(COLUMNS)}")
    for line, cells in lines:
        rank, node = (_number(path, line, column, cells[column]) for column in COLUMNS)
        if rank in nodes:
            raise InputError(path, f"line {line}, rank", rank, "each rank once", problem=f"found rank {rank} again")
        nodes[rank] = node
    missing = next((rank for rank in range(len(nodes)) if rank not in nodes), None)
    if missing is not None:
        allowed = f"all ranks from 0 to {max(nodes)}"
        raise InputError(path, "", missing, allowed, problem=f"found no rank {missing}")
    return [nodes[rank] for rank in range(len(nodes))]


def _number(path: Path, line: int, column: str, text: str) -> int:
    word = text.strip()
    if not (word.isascii() and word.isdigit() and int(word) <= MAX_RANK):
        raise InputError(path, f"line {line}, {column}", word, f"a whole number, 0 to {MAX_RANK}")
    return int(word)
