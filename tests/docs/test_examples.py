"""The notebooks of ``examples/`` run from the first cell to the last, and are kept without what they print."""

from pathlib import Path

import pytest
from nbclient import NotebookClient
from nbformat import reads

EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*.ipynb"))


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 2


@pytest.mark.slow
@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_a_notebook_runs(file: Path, tmp_path: Path) -> None:
    book = reads(file.read_text(encoding="utf-8"), as_version=4)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert not any(cell.outputs for cell in code)
    NotebookClient(book, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert all(cell.execution_count for cell in code)
    assert any(cell.outputs for cell in code)
