"""Reading measured points: what is taken, and one line for each mistake."""

from pathlib import Path

import pytest

from tramontane.comparison.rows import COLUMNS, read_rows
from tramontane.errors import InputError

from .conftest import ROOT, Write


def mistake(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_rows(path)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_operations_are_taken_and_phases_left(write: Write) -> None:
    rows = read_rows(write({}, {"what": "ab"}, {"what": "", "status": "timeout"}, {"what": ""}))
    assert [(row.line, row.ok) for row in rows] == [(2, True), (4, False)]


def test_a_row_of_no_known_part_is_refused(write: Write) -> None:
    assert "line 3, what: found 'All'; did you mean 'all'? allowed: all, ab, bc, cd" in mistake(
        write({}, {"what": "All"})
    )
    again = write({}, {"what": "what", "status": "status"})  # headings, of tables put one below the other
    assert "line 3, what: found 'what'; allowed: all, ab, bc, cd" in mistake(again)


def test_a_byte_order_mark_and_empty_lines_are_harmless(write: Write) -> None:
    path = write({}, {})
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\r\n", b"\n\n"))
    assert len(read_rows(path)) == 2


def test_columns_that_may_be_left_out(write: Write) -> None:
    row = read_rows(write({}, without=("indexing", "arb", "xarb", "seed", "tag")))[0]
    assert (row["indexing"], row["arb"], row.whole("seed", least=0)) == ("block", "cut_through", 1)


@pytest.mark.parametrize("column", COLUMNS)
def test_a_missing_column_is_named(write: Write, column: str) -> None:
    assert f"line 1: column missing: {column};" in mistake(write({}, without=(column,)))


def test_several_missing_columns_are_named(write: Write) -> None:
    assert "columns missing: topo, status;" in mistake(write({}, without=("topo", "status")))


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "the file is empty"),
        (b"\n\n", "the file is empty"),
        (b"ranks: 8\nworkload: {kind: halo}\n", "columns missing: topo, routing"),
        (b"\x89PNG\r\n\x1a\n\x00\xff\xfe", "not a CSV file"),
        (b'topo,"unfinished\n', "not a CSV file"),
    ],
)
def test_what_is_no_such_table_is_said_in_one_line(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "measured.csv"
    path.write_bytes(content)
    assert part in mistake(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in mistake(tmp_path / "measured.csv")
    assert "found a folder" in mistake(tmp_path)


def test_a_line_with_too_few_cells(write: Write) -> None:
    path = write({}, {})
    path.write_text(path.read_text().rstrip().rsplit(",", 3)[0] + "\n")
    assert "line 3: found 30 cells; allowed: 33, as in line 1" in mistake(path)


@pytest.mark.parametrize(
    ("column", "text", "how"),
    [
        ("P", "four", "whole"),
        ("P", "0", "whole"),
        ("P", "-4", "whole"),
        ("P", "4.5", "whole"),
        ("P", "\u00b2", "whole"),
        ("mtu", "4096 bits", "size"),
        ("mtu", "0.5B", "size"),
        ("mtu", "", "size"),
        ("tspan_s", "nan", "seconds"),
        ("tspan_s", "-1", "seconds"),
        ("tspan_s", "", "seconds"),
        ("tspan_s", "inf", "seconds"),
        ("tspan_s", "1_05", "seconds"),
    ],
)
def test_values_that_are_none(write: Write, column: str, text: str, how: str) -> None:
    row = read_rows(write({column: text}))[0]
    with pytest.raises(InputError, match=f"measured.csv: line 2, {column}: found "):
        getattr(row, how)(column)


@pytest.mark.parametrize(("text", "value"), [("100", 100_000), ("10000.0", 10_000_000), ("0.5", 500), ("1e2", 100_000)])
def test_decimal_numbers_are_read_exactly(write: Write, text: str, value: int) -> None:
    assert read_rows(write({"lat_ns": text}))[0].scaled("lat_ns", 1000) == value


@pytest.mark.parametrize("text", ["x", "", "0", "-1", "0.0001", "1/0"])
def test_numbers_of_less_than_a_base_unit_are_refused(write: Write, text: str) -> None:
    with pytest.raises(InputError, match="a multiple of 1/1000"):
        read_rows(write({"lat_ns": text}))[0].scaled("lat_ns", 1000)


@pytest.mark.parametrize(("text", "value"), [("64KB", 64_000), ("8192B", 8192), ("4096", 4096), ("1.5MB", 1_500_000)])
def test_sizes_are_decimal(write: Write, text: str, value: int) -> None:
    assert read_rows(write({"credits": text}))[0].size("credits") == value


def test_the_projects_own_tables_can_be_read() -> None:
    assert len(read_rows(ROOT / "validation" / "sstmacro-16.0.csv")) == 400
    assert len(read_rows(ROOT / "validation" / "simgrid-3.32.csv")) == 97
