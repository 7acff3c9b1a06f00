"""Where a result came from. Provenance stands beside a result and is never part of a point's identity."""

import contextlib
import datetime
import functools
import importlib.metadata
import platform
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

from tramontane import __version__

#: Key of the digest of the simulator.
BUILD = "simulator_build"

#: Packages that points and results pass through.
PACKAGES = ("numpy", "pydantic", "pyyaml", "snakemake")


def provenance(
    root: Path,
    model_revision: int | None = None,
    compiler: str | None = None,
    builder: str | None = None,
    build: str | None = None,
) -> dict[str, Any]:
    """Return what is needed to tell one result from another of the same point.

    Parameters
    ----------
    root : Path
        Root of the checkout whose state of version control is meant.
    model_revision : int, optional
        Revision of the substrate's model.
    compiler : str, optional
        What compiled the substrate.
    builder : str, optional
        What drove the compiler: CMake, or a package of Spack.
    build : str, optional
        Digest of the simulator, which tells one build from another.

    Notes
    -----
    The processor's model is kept because wall times depend on it; names of hosts and users are nobody's business.
    """
    commit, dirty = _commit(root)
    return {
        "version": __version__,
        "git_commit": commit,
        "git_dirty": dirty,
        "model_revision": model_revision,
        "compiler": compiler,
        "built_by": builder,
        BUILD: build,
        "python": platform.python_version(),
        "packages": _packages(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "command": shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        "created": now(),
    }


@functools.cache
def _packages() -> dict[str, str]:
    """Return the versions of what reads, expands and stores points."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def now() -> str:
    """Return the time in UTC, to the second, as ISO 8601."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@functools.cache
def _commit(root: Path) -> tuple[str, bool | None]:
    """Return the commit of the checkout and whether files that it tracks differ; ("unknown", None) without git."""
    top = _git(root, "rev-parse", "--show-toplevel")
    commit = _git(root, "rev-parse", "HEAD")
    # A copy without its own history may lie inside somebody else's repository: that commit would say nothing.
    if top is None or commit is None or Path(top).resolve() != Path(root).resolve():
        return "unknown", None
    status = _git(root, "status", "--porcelain", "--untracked-files=no")
    return commit, None if status is None else bool(status)


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


@functools.cache
def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
