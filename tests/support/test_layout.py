"""Where files lie."""

import os
from pathlib import Path

import pytest

from tramontane.support import layout


def test_who_has_no_home_builds_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that runs under a number without a name."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_000)
    monkeypatch.chdir(tmp_path)
    assert layout._cache() == tmp_path / "results" / "build"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert layout._cache() == tmp_path / ".cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert layout._cache() == tmp_path / "caches"
