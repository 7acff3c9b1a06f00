"""Compiles what a substrate needs, on demand and once: into ``build/<name>/<digest of all that goes in>``.

The digest names compiler, options and sources, so nothing outdated is ever used, two checkouts never share a build, and
whoever finds the folder needs no compiler. It appears whole or not at all, however many processes want it at once.
"""

import contextlib
import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tramontane.support.processes import processor_time
from tramontane.support.progress_line import clock


def digest(files: Iterable[Path], words: Iterable[str]) -> str:
    """Return 16 hex digits that stand for the content of `files` and for `words`."""
    known = hashlib.sha256()
    for word in words:
        known.update(word.encode() + b"\0")
    for file in files:
        known.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
    return known.hexdigest()[:16]


#: Processor time that compiling has cost in this process [s].
_spent = 0.0


def spent() -> float:
    """Return the processor time that compiling has cost in this process [s], which is no point's."""
    return _spent


@contextlib.contextmanager
def told(what: str) -> Iterator[None]:
    """Say on standard error that something is compiled, which may take minutes, once; and note what it cost."""
    global _spent  # noqa: PLW0603 (a process compiles in one place)
    print(f"compiling {what}, once; this may take some minutes", file=sys.stderr, flush=True)
    begun = processor_time()
    try:
        with clock(f"compiling {what}"):
            yield
    finally:
        _spent += processor_time() - begun


def once(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return `folder`, which `make` fills if it is not there yet; others who want it meanwhile wait."""
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Path(folder.parent, f".{folder.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            temporary.chmod(0o755)
            with told(folder.parent.name):
                make(temporary)
            temporary.rename(folder)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return folder


def options() -> list[str]:
    """Return the compiler options of every program; as for any build, those in ``CXXFLAGS`` come last."""
    return ["-std=c++20", "-O2", *shlex.split(os.environ.get("CXXFLAGS", ""))]


def link(
    compiler: str,
    options: Sequence[str],
    sources: Sequence[Path],
    closing: Sequence[str],
    folder: Path,
    *,
    together: bool = False,
) -> None:
    """Compile C++ files side by side and link them, in `folder`; `closing` are the options of the last step.

    Files that are compiled together, as many at once as there are processors, read the headers that they share once.

    Raises
    ------
    RuntimeError
        If something fails; the message is the compiler's first error.
    """
    workers = os.cpu_count() or 1
    units = min(workers, len(sources)) if together else len(sources)
    objects = [f"{number}.o" for number in range(units)]
    commands = []
    for number, target in enumerate(objects):
        *others, last = sources[number::units]
        included = [word for source in others for word in ("-include", str(source))]
        commands.append([compiler, *options, *included, "-c", str(last), "-o", target])
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(lambda command: _compile(command, folder), commands))
    _compile([compiler, *objects, *closing], folder)
    for name in objects:
        Path(folder, name).unlink()


def _compile(command: Sequence[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        lines = done.stdout.splitlines()
        first = next((line for line in lines if "error" in line.lower()), lines[-1] if lines else "no output")
        raise RuntimeError(f"{Path(command[0]).name} failed with status {done.returncode}: {first}")
