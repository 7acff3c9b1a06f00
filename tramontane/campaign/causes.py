"""Why a workflow failed, in one line: from Snakemake's log, the logs of its jobs, and what the file system says."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tramontane.errors import display_path
from tramontane.substrates.isolation import ended_by_signal

#: How much the file system is asked to take [B]: more than it may have left of a block.
_PROBE = 1 << 16
#: With less left [B], a job that said nothing probably had no room to say it: its outputs are gone by now.
_LITTLE = 1 << 20
#: How many logs are named.
_LOGS = 3
#: How long a cause may be.
_LONGEST = 300

_BLOCK = re.compile(r"^Error in rule (\w+).*?:\n((?:[ \t]+\S.*\n?|\n(?=[ \t]))*)", re.MULTILINE)
#: What Slurm says of a job, and what it says where it takes none.
_SAID = (
    re.compile(r"The error message was '(?:sbatch: )?(?:error: )?(.+?)'?\.?$", re.MULTILINE),
    re.compile(r"SLURM status is: '(\w+)'"),
)
#: What is wrong with a job before it is sent, such as its account; in lines of its own, up to the time of what follows.
_UNSENT = re.compile(r"^Exception in run_job for rule \w+: (.+?)(?=\n\[|\Z)", re.MULTILINE | re.DOTALL)
#: How a job's command ended that said nothing itself.
_ENDED = re.compile(
    r"^Command '.*' (?:died with <Signals\.\w+: (\d+)>|returned non-zero exit status (\d+))", re.MULTILINE
)
#: What a batch says of a point that has ended: whatever ended the batch came later, and left it no word.
_POINT = re.compile(r"[0-9a-f]{16} (?:\S+ s (?:simulated|measured)|failed:)")
_SNAKEMAKE = re.compile(r"^(?:\w+Error|\w+Exception)\b.*", re.MULTILINE)
_FINISHED = re.compile(r"^Finished job", re.MULTILINE)
_CAUSED = re.compile(r"\[Errno \d+\] (.*)")
#: Said by Snakemake when something else has failed: never a cause.
_CONSEQUENCE = ("At least one job did not complete", "Exiting because a job execution failed")


@dataclass
class _Failure:
    """What failed of one rule."""

    logs: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)


def why(log: Path, root: Path, status: int = 1) -> str:
    """Return why a workflow failed, and where more of it stands.

    Parameters
    ----------
    log : Path
        Snakemake's log.
    root : Path
        Where its jobs ran, and where their logs lie.
    status : int, optional
        Exit status of the workflow; negative if a signal ended it.
    """
    text = log.read_text(encoding="utf-8", errors="replace")
    failed = _failures(text)
    said = list(_of_jobs(failed, root))
    causes = [*_of_file_system(log.parent), *(said or _of_silence(log.parent)), *_of_snakemake(text)]
    if status < 0:
        causes = [ended_by_signal(-status)]
    elif not failed:
        causes += [_short(line) for line in text.splitlines() if line.strip()][-1:]
    cause = causes[0] if causes else ""
    if not failed:
        what = "ended early" if _FINISHED.search(text) else "did not run"
        return f"the workflow {what}: {cause or 'it said nothing'}; all of it in {display_path(log.absolute())}"
    logs = list(dict.fromkeys(name for failure in failed.values() for name in failure.logs))
    places = [*logs[:_LOGS], *(["..."] if len(logs) > _LOGS else []), display_path(log.absolute())]
    return f"{', '.join(failed)} failed{': ' if cause else ''}{cause}; see {', '.join(places)}"


def system_cause(folder: Path) -> str | None:
    """Return why nothing can be written to a folder, in the system's words; None if it can."""
    try:
        with tempfile.TemporaryFile(dir=folder) as stream:
            stream.write(b"x" * _PROBE)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        return f"{display_path(folder.absolute())}: {error.strerror}"
    return None


def _failures(text: str) -> dict[str, _Failure]:
    """Return what failed, by rule; a job that was tried again and succeeded then has not failed."""
    failures: dict[str, _Failure] = {}
    for block in _BLOCK.finditer(text):
        job = re.search(r"^\s*jobid: (\d+)$", block[2], re.MULTILINE)
        if job and re.search(rf"^Finished job(?:id: )?\s*{job[1]}\b", text[block.end() :], re.MULTILINE):
            continue
        failure = failures.setdefault(block[1], _Failure())
        failure.logs += re.findall(r"^\s*log: (\S+) \(check log", block[2], re.MULTILINE)
        failure.said += [found[1] for pattern in _SAID if (found := pattern.search(block[2]))]
    return failures


def _of_file_system(folder: Path) -> Iterator[str]:
    cause = system_cause(folder)
    if cause is not None:
        yield cause


def _of_silence(folder: Path) -> Iterator[str]:
    """Yield what it probably means that no job could say why it failed: logs lie on the disk that is full."""
    free = shutil.disk_usage(folder).free
    if free < _LITTLE:
        words = f"{os.strerror(errno.ENOSPC)}, it seems: {free >> 10} KiB are free, and no job left a word"
        yield f"{display_path(folder.absolute())}: {words}"


def _of_jobs(failed: dict[str, _Failure], root: Path) -> Iterator[str]:
    """Yield what jobs said last, and what the batch system says of them."""
    for failure in failed.values():
        for name in failure.logs:
            last = _last_line(Path(root, name))
            if last:
                yield last
        yield from map(_short, failure.said)


def _of_snakemake(text: str) -> Iterator[str]:
    """Yield Snakemake's own errors, those of the system and of jobs it could not send before its general ones."""
    yield from (found[1].strip() for found in _CAUSED.finditer(text))
    yield from (_short(found[1]) for found in _UNSENT.finditer(text))
    for found in list(_ENDED.finditer(text))[-1:]:  # earlier ones may have been tried again
        yield (
            ended_by_signal(int(found[1])) if found[1] else f"its process ended with status {found[2]} and said nothing"
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if _SNAKEMAKE.match(line) and not any(words in line for words in _CONSEQUENCE):
            # "WorkflowError:" alone: what it is about stands in the next line.
            following = lines[number + 1] if line.endswith(":") and number + 1 < len(lines) else ""
            if not any(words in following for words in _CONSEQUENCE):
                yield _short(f"{line} {following}")


def _last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    last = next((line for line in reversed(lines) if line.strip()), "")
    return "" if _POINT.match(last) else _short(last)


def _short(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
