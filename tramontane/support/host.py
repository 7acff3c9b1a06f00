"""What this machine has to offer a campaign."""

import functools
import os
import socket
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

#: Where Linux shows control groups, and in which of them this process is: a job of Slurm has one, as has a container.
_GROUPS, _OWN = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup")
#: Files with a limit of memory [B], in either version of control groups.
_MEMORY = ("memory.max", "memory.limit_in_bytes")
#: Files with the processor time of a period, and with the period [us]; of the second version in one file.
_QUOTAS = (("cpu.max",), ("cpu.cfs_quota_us", "cpu.cfs_period_us"))

#: Share of the memory that points may take together; the rest is the system's and the workflow's.
USABLE = 0.9


def cores() -> int:
    """Return the number of processor cores this process may use: it may be bound to some, or have a share of all."""
    bound = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    shares = (_numbers(folder, names) for folder in _folders("cpu") for names in _QUOTAS)
    return max(1, min([bound, *(-(-share[0] // share[1]) for share in shares if len(share) == 2 and min(share) > 0)]))


def memory() -> int:
    """Return how much memory points may take together [B], inside a container or a job its limit."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (_numbers(folder, (name,)) for folder in _folders("memory") for name in _MEMORY)
    return int(min([total, *(limit[0] for limit in limits if limit)]) * USABLE)


def _folders(controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups that this process is in, and of those above, which hold for it, too."""
    yield _GROUPS
    yield _GROUPS / controller
    try:
        lines = _OWN.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        controllers, _, path = line.partition(":")[2].partition(":")
        if not controllers or controller in controllers.split(","):
            own = PurePosixPath(path.lstrip("/"))
            base = _GROUPS / controller if controllers else _GROUPS
            yield from (base / folder for folder in (own, *own.parents))


def _numbers(folder: Path, names: tuple[str, ...]) -> list[int]:
    """Return the numbers in files of a folder; none where there is no such file, or no limit."""
    try:
        return [int(word) for name in names for word in (folder / name).read_text(encoding="ascii").split()]
    except (OSError, ValueError):  # no such group, or "max"
        return []


@functools.cache
def names() -> list[str]:
    """Return what this machine is called, in short and with its domain, each once."""
    return list(dict.fromkeys((socket.gethostname(), socket.getfqdn())))
