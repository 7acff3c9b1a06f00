"""Provenance: enough to tell results apart, nothing about people and hosts."""

import getpass
import json
import platform
import subprocess
from pathlib import Path

from tramontane import __version__
from tramontane.results import provenance as module
from tramontane.results.provenance import provenance


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Nobody", "-c", "user.email=nobody@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def test_without_version_control_the_commit_is_unknown(tmp_path: Path) -> None:
    known = provenance(tmp_path, 3, "GNU 12")
    assert known["git_commit"] == "unknown"
    assert known["git_dirty"] is None
    assert known["version"] == __version__
    assert known["model_revision"] == 3
    assert known["compiler"] == "GNU 12"
    assert known["python"] == platform.python_version()


def test_the_commit_and_whether_files_differ_from_it(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "file").write_text("one")
    git(tmp_path, "add", "file")
    git(tmp_path, "commit", "-q", "-m", "first")
    (tmp_path / "untracked").write_text("results, say")
    assert provenance(tmp_path)["git_commit"] == git(tmp_path, "rev-parse", "HEAD")
    assert provenance(tmp_path)["git_dirty"] is False

    (tmp_path / "file").write_text("two")
    module._commit.cache_clear()
    assert provenance(tmp_path)["git_dirty"] is True


def test_a_copy_inside_another_repository_does_not_claim_its_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "of somebody else")
    (tmp_path / "copy").mkdir()
    assert provenance(tmp_path / "copy")["git_commit"] == "unknown"


def test_hosts_and_users_are_left_out(tmp_path: Path) -> None:
    known = provenance(tmp_path)
    assert set(known) == {
        *("version", "git_commit", "git_dirty", "model_revision", "compiler", "built_by", "simulator_build"),
        *("python", "packages", "system", "processor", "command", "created"),
    }
    values = {str(value) for key, value in known.items() if key != "command"}
    assert platform.node() not in values
    assert getpass.getuser() not in values
    assert json.loads(json.dumps(known)) == known
