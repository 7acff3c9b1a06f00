"""Why a workflow failed, in one line: from Snakemake's log, the logs of its jobs, and what the file system says."""

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
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
#: The logs of a job: its own, and an absolute path that Slurm's plug-in adds, to one below a folder of that name.
_LOGS_OF_JOB = re.compile(r"^\s*log: (.+) \(check log", re.MULTILINE)
_NEXT_LOG = re.compile(r", (?=/)")
_SLURMS = "slurm_logs"
#: What Slurm says where it takes no job, how one has ended, and what it writes into the job's log when it ends it.
_REFUSED = re.compile(r"The error message was '(?:sbatch: )?(?:error: )?(.+?)'?\.?$", re.MULTILINE)
_STATUS = re.compile(r"SLURM-job '(\w+)' failed, SLURM status is: '(\w+)'")
_OF_SLURM = re.compile(r"^slurmstepd\S*: error: (.+)", re.MULTILINE)
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


@dataclass(frozen=True)
class _Failure:
    """The last attempt at a job.

    Attributes
    ----------
    rule : str
        The job's rule.
    logs : list of str
        The job's own logs, and Slurm's of the job.
    said : str
        What Slurm says of the job; empty if nothing.
    """

    rule: str
    logs: list[str]
    said: str


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
    causes = [*filter(None, [system_cause(log.parent)]), *(said or _of_silence(log.parent)), *_of_snakemake(text)]
    if status < 0:
        causes = [ended_by_signal(-status)]
    elif not failed:
        causes += [_short(line) for line in text.splitlines() if line.strip()][-1:]
    cause = causes[0] if causes else ""
    if not failed:
        what = "ended early" if _FINISHED.search(text) else "did not run"
        return f"the workflow {what}: {cause or 'it said nothing'}; all of it in {display_path(log.absolute())}"
    rules = dict.fromkeys(failure.rule for failure in failed)
    logs = list(dict.fromkeys(display_path(Path(root, name)) for failure in failed for name in failure.logs))
    places = [*logs[:_LOGS], *(["..."] if len(logs) > _LOGS else []), display_path(log.absolute())]
    return f"{', '.join(rules)} failed{': ' if cause else ''}{cause}; see {', '.join(places)}"


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


def _failures(text: str) -> list[_Failure]:
    """Return the jobs that failed, each by its last attempt; one that was tried again and succeeded has not failed."""
    failures: dict[str, _Failure] = {}
    for block in _BLOCK.finditer(text):
        job = re.search(r"^\s*jobid: (\d+)$", block[2], re.MULTILINE)
        if job and re.search(rf"^Finished job(?:id: )?\s*{job[1]}\b", text[block.end() :], re.MULTILINE):
            continue
        logs = [name for found in _LOGS_OF_JOB.findall(block[2]) for name in _NEXT_LOG.split(found)]
        refused, ended = _REFUSED.search(block[2]), _STATUS.search(block[2])
        said = refused[1] if refused else f"job {ended[1]} {ended[2]}" if ended else ""
        failures[job[1] if job else block[0]] = _Failure(block[1], logs, said)
    return list(failures.values())


def _of_silence(folder: Path) -> Iterator[str]:
    """Yield what it probably means that no job could say why it failed: logs lie on the disk that is full."""
    free = shutil.disk_usage(folder).free
    if free < _LITTLE:
        words = f"{os.strerror(errno.ENOSPC)}, it seems: {free >> 10} KiB are free, and no job left a word"
        yield f"{display_path(folder.absolute())}: {words}"


def _of_jobs(failed: list[_Failure], root: Path) -> Iterator[str]:
    """Yield what jobs said last, and what the batch system says of them."""
    for failure in failed:
        for name in failure.logs:
            last = _last_line(Path(root, name))
            if last:
                yield last
        if failure.said:
            yield _short(failure.said)


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
    """Return the last line of a job's own log, or what Slurm has written first into its log of the job."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    if _SLURMS in log.parts:  # else it is Snakemake's, of no use
        found = _OF_SLURM.search(text)
        return _short(found[1]) if found else ""
    last = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return "" if _POINT.match(last) else _short(last)


def _short(line: str) -> str:
    text = " ".join(line.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
