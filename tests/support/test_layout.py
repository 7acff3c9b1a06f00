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
    assert layout.cache() == tmp_path / "results" / "build"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert layout.cache() == tmp_path / ".cache"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert layout.cache() == tmp_path / "caches"


def test_who_may_not_write_to_the_home_has_a_cache_in_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What exists decides: the cache itself, or else the folder that it would be made in."""
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    home, there = tmp_path / "home", tmp_path / "there"
    for folder in (home, there / ".cache"):
        folder.mkdir(parents=True)
    refused = {home, there / ".cache"}
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) not in refused)
    monkeypatch.chdir(tmp_path)
    for value in (home, there):
        monkeypatch.setenv("HOME", str(value))
        assert layout.cache() == tmp_path / "results" / "build"
    refused = {tmp_path}
    assert layout.cache() == there / ".cache"
