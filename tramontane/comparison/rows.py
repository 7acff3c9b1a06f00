"""Reads measured points: a table with one column for every parameter, laid out as ``validation/sstmacro-16.0.csv``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from tramontane.errors import InputError, closest
from tramontane.support.csv_tables import positive, read_table

#: Columns that every file must have; ``validation/README.md`` says what they mean.
COLUMNS = (
    *("topo", "routing", "P", "cx", "cy", "op", "what", "alg", "k", "w", "reps", "nx", "ny", "nz"),
    *("bw_GBs", "inj_bw_GBs", "xbar_bw_GBs", "lat_ns", "inj_lat_ns", "mtu", "credits", "eager", "vshort", "negligible"),
    *("allocation", "tspan_s", "status"),
)
#: Columns that may be left out, with the value this stands for.
OPTIONAL = {"indexing": "block", "arb": "cut_through", "xarb": "cut_through", "seed": "1", "tag": ""}

#: Column ``what``: the whole operation, and the phases of a transposition.
WHOLE, PHASES = "all", ("ab", "bc", "cd")

_NUMBER = re.compile(r"\d{1,15}(\.\d{0,15})?([eE][+-]?\d{1,2})?", re.ASCII)
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)\s*(B|KB|MB|GB)?", re.ASCII)
#: Sizes in these files are decimal: 64KB is 64000 B.
_SIZES = {None: 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True)
class Row:
    """One measurement of a whole operation.

    Parameters
    ----------
    source : Path
        File it stands in.
    line : int
        Number of its line there; the header is line 1.
    values : mapping
        Column to text.
    """

    source: Path
    line: int
    values: Mapping[str, str] = field(hash=False)

    def __getitem__(self, column: str) -> str:
        return self.values.get(column) or OPTIONAL.get(column, "")

    @property
    def ok(self) -> bool:
        """Whether the measurement came to its end."""
        return self["status"] == "ok"

    def whole(self, column: str, least: int = 1) -> int:
        """Return a whole number of at least `least`.

        Raises
        ------
        InputError
            If there is none in the column.
        """
        text = self[column]
        if not re.fullmatch(r"[0-9]{1,15}", text) or int(text) < least:
            raise self.mistake(column, f"a whole number, {least} or more")
        return int(text)

    def scaled(self, column: str, factor: int) -> int:
        """Return a decimal number times `factor`, exactly, as a positive whole number.

        Raises
        ------
        InputError
            If there is no such number in the column.
        """
        value = Fraction(self[column]) * factor if _NUMBER.fullmatch(self[column]) else Fraction(0)
        if value <= 0 or value.denominator != 1:
            raise self.mistake(column, f"a positive number, a multiple of 1/{factor}")
        return value.numerator

    def size(self, column: str) -> int:
        """Return a size such as 4096, 8192B or 64KB in bytes.

        Raises
        ------
        InputError
            If there is none in the column.
        """
        match = _SIZE.fullmatch(self[column])
        value = Fraction(match[1]) * _SIZES[match[2]] if match else Fraction(1, 2)
        if value.denominator != 1:
            raise self.mistake(column, f"a size in bytes ({', '.join(str(unit) for unit in _SIZES if unit)})")
        return value.numerator

    def seconds(self, column: str) -> float:
        """Return a positive time in seconds.

        Raises
        ------
        InputError
            If there is none in the column.
        """
        value = positive(self[column])
        if value is None:
            raise self.mistake(column, "a positive time in seconds")
        return value

    def mistake(self, column: str, allowed: str, hint: str | None = None) -> InputError:
        """Return the error for a column of this row."""
        return InputError(self.source, f"line {self.line}, {column}", self[column], allowed, hint=hint)


def read_rows(path: Path) -> list[Row]:
    """Return the measurements of whole operations (column ``what`` is ``all``) and those that did not end.

    Raises
    ------
    InputError
        If the file can't be read, is no such table, lacks a column, or a row is of no known part.
    """
    lines = read_table(path, COLUMNS, "a CSV file of measured points", "the columns of validation/sstmacro-16.0.csv")
    rows = [Row(path, number, cells) for number, cells in lines]
    known = (WHOLE, *PHASES)
    for row in rows:
        if row["what"] and row["what"] not in known:
            raise row.mistake("what", ", ".join(known), closest(row["what"], known))
    # A measurement that did not end may not have come to name its parts.
    return [row for row in rows if row["what"] == WHOLE or (not row["what"] and not row.ok)]
