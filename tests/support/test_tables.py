"""Tables of plain text."""

from tramontane.support.tables import table


def test_tables_are_aligned() -> None:
    assert table(("name", "n"), [("a", 1), ("longer", 10)], right=(1,)) == "name     n\na        1\nlonger  10"


def test_cells_are_taken_as_they_are_and_lines_are_not_folded() -> None:
    long = "word " * 60 + "end"
    assert table(("[bold]a[/]", ""), [("[red]:warning:", long), ("", "x")]) == (
        f"[bold]a[/]\n[red]:warning:  {long}\n{'':16}x"
    )
