"""What there is of experiments does not depend on how many processes read them."""

from pathlib import Path

import pytest

from tramontane.campaign import overview
from tramontane.campaign.overview import Progress, progress, progress_of_all
from tramontane.results.store import Store


def test_many_experiments_are_read_as_one_by_one(project: Path) -> None:
    first = project / "configs" / "experiments" / "tiny.yaml"
    text = first.read_text(encoding="utf-8")
    names = [f"tiny_{i}" for i in range(overview.FEW)]
    others = [first.with_name(f"{name}.yaml") for name in names]
    for name, file in zip(names, others, strict=True):
        file.write_text(text.replace("tiny", name), encoding="utf-8")
    others[3].write_text("title: [", encoding="utf-8")
    store = Store(project)

    found = progress_of_all([first, *others], store)

    assert [own.experiment.name for own in found if isinstance(own, Progress)] == [
        "tiny",
        *(name for name in names if name != names[3]),
    ]
    assert found[0] == progress(first, store)
    mistake = found[4]
    assert isinstance(mistake, str)
    assert "tiny_3.yaml: not YAML" in mistake


def test_processes_that_read_experiments_import_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overview, "progress", lambda file, _: file.name)  # which only a fork of this process knows
    files = [Path(f"{number}.yaml") for number in range(overview.FEW + 1)]
    assert progress_of_all(files, Store(Path())) == [file.name for file in files]
