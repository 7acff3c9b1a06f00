"""A private Slurm for the tests of this folder; without Slurm's packages they are skipped."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

PRIVATE = Path(__file__).with_name("private.py")
#: After this the cluster ends whatever becomes of the tests [s].
LIFETIME = 420


class PrivateSlurm:
    """A running cluster: how to use it, and how to break it."""

    def __init__(self, folder: Path, process: "subprocess.Popen[str]") -> None:
        self.folder = folder
        self.process = process
        path = os.pathsep.join([str(folder / "bin"), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path}

    def tell(self, order: str) -> None:
        """Kill or start a daemon: ``kill n2``, ``start slurmctld``."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "done\n"

    def ask(self, *command: str) -> str:
        """Return what one of Slurm's commands says; nothing if it fails."""
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=self.environment, timeout=60)
        return done.stdout if done.returncode == 0 else ""

    def jobs(self) -> dict[str, str]:
        """Return the state of every job, also of those that have ended."""
        rows = self.ask("squeue", "--states=all", "-h", "-o", "%i %T").splitlines()
        return dict(tuple(row.split()) for row in rows)  # type: ignore[misc]

    def wait_for(self, condition: Callable[[], object], seconds: float) -> None:
        """Wait until a condition holds; fail if it does not in time."""
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, f"waited in vain; jobs: {self.jobs()}"
            time.sleep(0.2)


def missing() -> list[str]:
    done = subprocess.run([sys.executable, str(PRIVATE), "--missing"], capture_output=True, text=True, check=True)
    return done.stdout.split()


@pytest.fixture(scope="session")
def slurm() -> Iterator[PrivateSlurm]:
    lacking = missing()
    if lacking:
        pytest.skip(f"{', '.join(lacking)} not found (Debian: apt-get install slurm-wlm munge)")
    # Short and of our own: munge's socket lies in it, and no other test may write there.
    with tempfile.TemporaryDirectory(prefix="slurm-") as parent:
        folder = Path(parent, "c")
        Path(parent).chmod(0o755)
        process = subprocess.Popen(
            [sys.executable, str(PRIVATE), str(folder), "--lifetime", str(LIFETIME)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            assert process.stdout is not None
            if process.stdout.readline() != "ready\n":
                pytest.fail(process.communicate()[1])
            yield PrivateSlurm(folder, process)
        finally:
            process.communicate()  # closes its input, which ends it
