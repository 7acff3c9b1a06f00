"""The picture of shares: a bar for each statement that could be evaluated, and what can't be drawn is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from analysis.shares import main


def found(name: str, evaluated: int) -> dict[str, Any]:
    own = {"parameter": "packet", "index": 0.6, "low": 0.5, "high": 0.7}
    return {
        "id": name,
        "evaluated": evaluated,
        "share": 0.25 if evaluated else None,
        "interval": [0.1, 0.5],
        "base_margin": -0.1,
        "influences": [own],
        "chance": 0.3,
    }


def test_statements_are_drawn_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shares.json"
    file.write_text(json.dumps([found("Z-5b", 8), found("Z-5z", 0)]))
    assert main([str(file), str(tmp_path / "shares")]) == 0
    drawn = (tmp_path / "shares.svg").read_text()
    assert "Z-5b" in drawn
    assert "Z-5z" not in drawn
    assert "packet" in drawn
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_anything_else_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text("{}")
    assert main([str(tmp_path / "other.json"), str(tmp_path / "x")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
