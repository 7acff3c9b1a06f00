"""How often a point was killed, over all attempts at its batch."""

from pathlib import Path

from tramontane.campaign.deaths import Deaths


def test_who_came_further_takes_back_the_last_death_only(tmp_path: Path) -> None:
    file = tmp_path / "notes" / "batch.json"
    for _ in range(2):  # attempts that are killed with the point in hand
        Deaths(file).begin("one")
    notes = Deaths(file)
    assert (notes.of("one"), notes.of("other")) == (2, 0)
    notes.forgive(["one", "other"])
    assert (notes.of("one"), notes.of("other")) == (1, 0)
    notes.begin("other")
    assert (Deaths(file).of("one"), Deaths(file).of("other")) == (1, 1)


def test_notes_that_were_half_written_say_nothing(tmp_path: Path) -> None:
    file = tmp_path / "batch.json"
    for text in ('{"one": 2', "[1]", '{"one": null}', ""):
        file.write_text(text)
        assert Deaths(file).of("one") == 0
