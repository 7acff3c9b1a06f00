"""Tables of plain text and of Markdown."""

from tramontane.support.tables import markdown, table


def test_tables_are_aligned() -> None:
    assert table(("name", "n"), [("a", 1), ("longer", 10)], right=(1,)) == "name     n\na        1\nlonger  10"


def test_cells_are_taken_as_they_are_and_lines_are_not_folded() -> None:
    long = "word " * 60 + "end"
    assert table(("[bold]a[/]", ""), [("[red]:warning:", long), ("", "x")]) == (
        f"[bold]a[/]\n[red]:warning:  {long}\n{'':16}x"
    )


def test_a_table_of_markdown_has_a_rule_for_each_column_and_keeps_bars_in_cells() -> None:
    made = markdown(("name", "n"), iter([("a|b", "1")]), right=(1,))
    assert made == "| name | n |\n| --- | ---: |\n| a\\|b | 1 |"
