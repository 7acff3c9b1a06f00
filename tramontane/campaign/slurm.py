"""What a campaign has to know of Slurm: whether it answers, keeps accounts, what a job may ask for, how jobs ended."""

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tramontane.campaign.profiles import read_profile
from tramontane.errors import InputError
from tramontane.support.layout import SHARE
from tramontane.support.slurm_times import seconds

#: How long Slurm's controller is waited for [s].
PATIENCE = 60
#: How long, where it would hold up who asks [s].
_GLANCE = 5

_COMMANDS = ("sbatch", "squeue", "scontrol", "sinfo", "srun")

#: Endings after which a job needs more time, after which it needs no more of anything, and after which more memory.
_OUT_OF_TIME = frozenset({"TIMEOUT", "DEADLINE"})
_NOT_ITS_FAULT = frozenset({"CANCELLED", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "REVOKED", "REQUEUED"})
_FAILED = frozenset({"FAILED", "OUT_OF_MEMORY"})


@dataclass(frozen=True)
class Limits:
    """What a job may ask a partition for.

    Parameters
    ----------
    memory : int or None
        Memory of the largest node [B]; None if unknown.
    minutes : int or None
        Longest time [min]; None if there is no limit.
    gpus : bool
        Whether a node has GPUs, as Slurm knows.
    """

    memory: int | None = None
    minutes: int | None = None
    gpus: bool = False


@dataclass(frozen=True)
class Attempts:
    """How often a batch was sent before, by what it lacked."""

    memory: int = 0
    time: int = 0


@dataclass(frozen=True)
class _Job:
    """A job as Slurm tells of it; the reason is why it waits."""

    number: int
    state: str
    comment: str
    reason: str


def find_limits(profile: Path) -> Limits:
    """Return what a job may ask for in the partition that a profile names, or else in Slurm's default one."""
    partition = read_profile(profile).partition
    chosen = ["--partition", partition] if partition else []
    # Without --exact, nodes with less memory or other devices hide the largest: "1000+" is the memory of the smallest.
    done = _ask("sinfo", "--exact", "--noheader", "--format=%P|%l|%m|%G", *chosen)
    rows = [tuple(line.strip().split("|")) for line in done.splitlines()]
    return limits([row for row in rows if partition or row[0].endswith("*")])


def limits(rows: Iterable[tuple[str, ...]]) -> Limits:
    """Return the limits that rows of ``sinfo`` (partition, time, memory of a node [MB], generic resources) tell."""
    times, sizes, gpus = [], [], False
    for _, time, size, resources in rows:
        times.append(minutes(time))
        sizes.append(int(size.rstrip("+")))
        gpus = gpus or any(resource.split(":")[0] == "gpu" for resource in resources.split(","))
    known = [time for time in times if time is not None]
    # Slurm calls a node's memory 1 MB if nobody has told it.
    largest = max(sizes, default=0)
    longest = max(known) if len(known) == len(times) > 0 else None
    return Limits(largest * 2**20 if largest > 1 else None, longest, gpus)


def minutes(time: str) -> int | None:
    """Return a time as Slurm writes it, ``days-hours:minutes:seconds``, in whole minutes; None without limit."""
    found = seconds(time)
    return None if found is None else found // 60


def attempts(batch: str, number: int) -> Attempts:
    """Return how the last `number` jobs of a batch, sent from here, have ended; Slurm keeps the states for a while.

    Parameters
    ----------
    batch : str
        The batch, with which the comment ends that its jobs carry.
    number : int
        How many jobs were sent; an ending that Slurm has forgotten counts as want of memory.
    """
    ended = {
        job.number: job.state
        for job in _jobs(Path.cwd(), "all")
        if job.comment.endswith(batch) and job.state in _OUT_OF_TIME | _NOT_ITS_FAULT | _FAILED
    }
    known = [ended[job] for job in sorted(ended)][-number:] if number else []
    time = sum(state in _OUT_OF_TIME for state in known)
    others = sum(state in _NOT_ITS_FAULT for state in known)
    return Attempts(memory=number - time - others, time=time)


def cancel_left(root: Path, scale: str) -> int:
    """Cancel the jobs that a campaign has left in the queue when it was killed; return how many there were.

    Others run the same points soon.
    """
    left = [job.number for job in _left(root, scale)]
    if left:
        _ask("scancel", *map(str, left))
    return len(left)


def queue(root: Path, scale: str) -> tuple[int, Counter[str]]:
    """Return how many jobs of a campaign run, and how many wait for which reason; none if Slurm says nothing soon."""
    left = list(_left(root, scale, patience=_GLANCE))
    waiting = Counter(job.reason for job in left if job.state != "RUNNING")
    return len(left) - waiting.total(), waiting


def _left(root: Path, scale: str, patience: float = PATIENCE) -> Iterator[_Job]:
    """Yield the jobs of a campaign that have not ended."""
    found = _jobs(root, "PENDING,RUNNING,SUSPENDED", patience)
    return (job for job in found if f"_wildcards_{scale}_" in job.comment)


def _jobs(folder: Path, states: str, patience: float = PATIENCE) -> Iterator[_Job]:
    """Yield the user's jobs in such a state that were sent from a folder."""
    # The same study has the same batches wherever it runs: others', and those of another checkout, are not these.
    told = _ask("squeue", "--me", f"--states={states}", "--noheader", "--format=%i|%T|%k|%r|%Z", patience=patience)
    for row in (line.split("|", 4) for line in told.splitlines()):
        if len(row) == 5 and row[0].isdigit() and Path(row[4].strip()).resolve() == folder.resolve():
            yield _Job(int(row[0]), row[1], row[2].strip(), row[3].strip())


def _ask(*command: str, patience: float = PATIENCE) -> str:
    """Return what a command of Slurm's says; nothing if it fails: what it would tell is then unknown."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=patience).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def commands_first() -> list[str]:
    """Return the folders to have first in PATH: where Slurm keeps no accounts, that of a `sacct` that answers.

    Raises
    ------
    InputError
        If Slurm is not installed, or does not answer.
    """
    missing = [name for name in _COMMANDS if shutil.which(name) is None]
    if missing:
        problem = f"{', '.join(missing)} not found, so there is no Slurm here; Debian: apt-get install slurm-client"
        raise InputError("--profile", "", "slurm", "default", problem=problem)
    return [] if keeps_accounts(_configuration()) else [str(SHARE / "workflow" / "scripts" / "without-accounting")]


def keeps_accounts(configuration: str) -> bool:
    """Return whether Slurm keeps accounts, as `scontrol show config` tells; without, `sacct` only refuses."""
    found = re.search(r"^AccountingStorageType\s*=\s*(\S+)", configuration, flags=re.MULTILINE)
    return found is not None and found[1] != "accounting_storage/none"


def _configuration() -> str:
    try:
        done = subprocess.run(
            ["scontrol", "show", "config"], capture_output=True, text=True, check=False, timeout=PATIENCE
        )
        said = done.stderr.strip().splitlines()[-1:] if done.returncode else []
    except subprocess.TimeoutExpired:
        said = [f"no answer in {PATIENCE} s"]
    if said:
        problem = f"Slurm's controller does not answer ({said[0]}); see: scontrol ping"
        raise InputError("--profile", "", "slurm", "default", problem=problem)
    return done.stdout
